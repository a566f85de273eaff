//! Faults of the chip other than power cuts: bad blocks, failing programs and erases, bit errors.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::{Chip, Clock, EventKind, FaultInjector, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_nand::{BlockAddr, PageAddr};

use super::admit::History;
use super::operation::{Mix, Operation, User};
use super::state::{State, difference, inodes, read_all, read_named};
use super::{Bench, patience, small_part};

/// Run random operations with faults. No fault may be visible, during the run or after a mount.
fn check_unseen(what: &str, chip: &Chip, plan: &FaultPlan) {
    let bench = Bench::of_chip(chip);
    bench.format().unwrap();
    let mut user = User::new(bench.mount().unwrap());
    bench.arm(plan.clone());
    let mut prng = Prng::new(plan.seed);
    let mut history = History::new(State::default());
    for place in 0..400 {
        let story = format_args!("{what}, seed {}, {place}", plan.seed);
        history = history.step(&mut user, &mut prng, Mix::SHORT, story);
        if place % 20 == 0 {
            user.vfs.drop_caches().unwrap();
            let found = read_all(&mut user.vfs).unwrap();
            let why = difference(&found, &history.last().visible());
            assert_eq!(why, None, "{what}, seed {}, after {place}", plan.seed);
        }
    }
    user.perform(&Operation::LetGo).unwrap();
    history.push(Operation::LetGo);
    // What was synced is on flash, whatever failed meanwhile. Power is cut without a warning.
    user.vfs.sync().unwrap();
    let found = read_all(&mut bench.fork().mount().unwrap()).unwrap();
    assert_eq!(difference(&found, &history.last().visible()), None, "{what}, seed {}", plan.seed);
}

#[test]
fn bad_blocks_failures_and_correctable_bits_are_not_seen() {
    for seed in 0..10 * patience() {
        let chip = || Chip::new(small_part(8, 64), Clock::new(), seed);
        let none = FaultPlan { seed, ..FaultPlan::default() };
        let factory = FaultInjector::with_factory_bad_rate(chip(), 200_000, seed);
        check_unseen("factory bad blocks", factory.chip(), &none);
        let programs = FaultPlan { program_failures_ppm: 15_000, ..none.clone() };
        check_unseen("program failures", &chip(), &programs);
        let erases = FaultPlan { erase_failures_ppm: 100_000, ..none.clone() };
        check_unseen("erase failures", &chip(), &erases);
        let grown = (0..16).map(|block| (BlockAddr(block * 4 + 1), u64::from(block) * 150));
        let grown = FaultPlan { grown_bad_blocks: grown.collect(), ..none.clone() };
        check_unseen("grown bad blocks", &chip(), &grown);
        let bits = FaultPlan { read_errors_ppm: 300_000, read_error_bits_max: 2, ..none.clone() };
        check_unseen("correctable bits", &chip(), &bits);
    }
}

/// Make files that share no page, and return the pages of each.
fn files_apart(bench: &Bench) -> (User, BTreeMap<String, BTreeSet<PageAddr>>) {
    let mut user = User::new(bench.mount().unwrap());
    let mut pages = BTreeMap::new();
    for number in 0..6_u8 {
        user.vfs.sync().unwrap();
        bench.recorder.reset();
        let name = format!("file{number}");
        user.perform(&Operation::Create { name: name.clone() }).unwrap();
        user.vfs.sync().unwrap();
        bench.recorder.reset();
        let mut bytes = vec![number; 12_000];
        Prng::new(u64::from(number)).fill(&mut bytes[..9000]);
        user.perform(&Operation::Write { name: name.clone(), at: 0, bytes }).unwrap();
        user.vfs.sync().unwrap();
        let geometry = bench.device.borrow().chip().part().geometry;
        let trace = bench.recorder.take(geometry);
        let programs = trace.events.iter().filter(|event| event.kind == EventKind::Program);
        pages.insert(name, programs.map(|event| PageAddr(event.addr)).collect());
    }
    (user, pages)
}

#[test]
fn damage_is_told_with_its_place_and_hurts_one_file() {
    let template = Bench::new(small_part(8, 24));
    template.format().unwrap();
    let victims = files_apart(&template.fork()).1;
    for (victim, page) in
        victims.iter().flat_map(|(name, pages)| pages.iter().map(move |page| (name, *page)))
    {
        let bench = template.fork();
        let (mut user, _) = files_apart(&bench);
        let wanted = read_all(&mut user.vfs).unwrap();
        let ino = inodes(&mut user.vfs).unwrap()[victim];
        let flawed_pages = BTreeMap::from([(page, 200)]);
        bench.arm(FaultPlan { flawed_pages, ..FaultPlan::default() });
        user.vfs.drop_caches().unwrap();
        for (name, content) in &wanted {
            let found = read_named(&mut user.vfs, name);
            if name == victim {
                let is_told = matches!(found, Err(FsError::Damaged { ino: of, offset })
                    if of == ino && offset < 12_000);
                assert!(is_told, "{name}, {page}: {found:?}");
            } else {
                assert_eq!(found.as_ref(), Ok(&**content.as_ref().unwrap()), "{name}, {page}");
            }
        }
        check_usable_beside_damage(&mut user, victim, page);
        let bench = bench.fork();
        bench
            .arm(FaultPlan { flawed_pages: BTreeMap::from([(page, 200)]), ..FaultPlan::default() });
        let mut vfs = bench.mount().unwrap();
        for (name, content) in wanted.iter().filter(|(name, _)| *name != victim) {
            let found = read_named(&mut vfs, name);
            assert_eq!(found.as_ref(), Ok(&**content.as_ref().unwrap()), "{name}, {page}");
        }
    }
}

/// Write other files until all blocks have been used. The collector must move the damaged node
/// away.
fn check_usable_beside_damage(user: &mut User, victim: &str, page: PageAddr) {
    let name = "other".to_owned();
    user.perform(&Operation::Create { name: name.clone() }).unwrap();
    for round in 0..150_u64 {
        let mut bytes = vec![0; 4096];
        Prng::new(round).fill(&mut bytes);
        let at = usize::try_from(round % 7).unwrap() * 4096;
        let outcome = user.perform(&Operation::Write { name: name.clone(), at, bytes });
        assert_eq!(outcome, Ok(()), "{victim}, {page}, round {round}");
        user.vfs.sleep(60_000_000);
    }
    user.perform(&Operation::Fsync { name: name.clone() }).unwrap();
    user.perform(&Operation::Unlink { name }).unwrap();
}

/// Bit errors that do not occur at the next read: the second read returns the data.
#[test]
fn uncorrectable_reads_that_do_not_last_lose_nothing() {
    for seed in 0..5 * patience() {
        let plan = FaultPlan {
            seed,
            read_errors_ppm: 3000,
            read_error_bits_max: 40,
            ..FaultPlan::default()
        };
        check_unseen("passing errors", &Chip::new(small_part(8, 64), Clock::new(), seed), &plan);
    }
}
