//! Pages of indexes that cannot be read any more: what they held is put together from the rows.

use std::collections::BTreeSet;

use flysch::db::{Budget, Db, DbError, Direction, MountError, Options, Repaired};
use flysch::media::MediaError;
use flysch_chip::Prng;

use super::image::{Doubt, Image};
use super::ledger::{Bounds, Ledger, SCHEMA, bounds};

#[derive(Debug)]
struct Case {
    page_size: u32,
    block_count: u32,
    bounds: Bounds,
    ram: usize,
    capacity: u32,
    /// Transactions.
    turns: u32,
    /// Consecutive pages that are lost together.
    stretch: usize,
}

const CASES: [Case; 5] = [
    case((512, 64), bounds(150, 40, 60), (7500, 100_000), (250, 1)),
    case((512, 64), bounds(200, 20, 20), (7500, 2), (250, 1)),
    case((512, 48), bounds(120, 60, 90), (7500, 16), (400, 3)),
    case((2048, 32), bounds(500, 60, 100), (12_000, 1000), (300, 1)),
    case((1024, 48), bounds(300, 60, 1500), (10_000, 2), (300, 8)),
];

const fn case(
    (page_size, block_count): (u32, u32),
    bounds: Bounds,
    (ram, capacity): (usize, u32),
    (turns, stretch): (u32, usize),
) -> Case {
    Case { page_size, block_count, bounds, ram, capacity, turns, stretch }
}

/// Devices of each case.
const SEEDS: [u64; 4] = [40, 100, 101, 500];

/// Each case with its number and each seed.
fn devices() -> impl Iterator<Item = (usize, &'static Case, u64)> {
    let cases = CASES.iter().enumerate();
    cases.flat_map(|(number, case)| SEEDS.map(|seed| (number, case, seed)))
}

fn options(case: &Case) -> Options {
    Options { partition: None, seed: 7, capacity: case.capacity }
}

/// A device on which rows came, changed and went, and what it ought to hold.
fn device(case: &Case, seed: u64) -> (Image, Ledger) {
    let mut image = Image::blank(case.page_size, case.block_count);
    let mut ram = vec![0; case.ram];
    let mut db = Db::create(&mut image, &SCHEMA, options(case), &mut ram).unwrap();
    let (mut kept, mut prng) = (Ledger::default(), Prng::new(seed));
    for _ in 0..case.turns {
        let mut after = kept.clone();
        match kept.transact(&mut db, &mut prng, (6, case.bounds), &mut after) {
            Ok(()) => kept = after,
            Err(DbError::Full) => {}
            Err(error) => panic!("{error}: {case:?}"),
        }
    }
    db.close().unwrap();
    (image, kept)
}

/// The pages that look like those of runs, in stretches.
fn stretches(image: &Image, len: usize) -> Vec<BTreeSet<usize>> {
    image.run_pages().chunks(len).map(|some| some.iter().copied().collect()).collect()
}

/// Compare what the database holds with what it ought to. More rows than that are those which were
/// deleted long ago.
fn compare(
    db: &mut Db<'_, 'static, &mut Image>,
    kept: &Ledger,
    (case, repaired): (&Case, &Repaired),
    story: &str,
) -> usize {
    let found = Ledger::scanned(db, Direction::Forward).unwrap();
    let risen = found.beyond(kept, story);
    assert!(risen <= repaired.doubtful as usize, "{risen} rows rose, {repaired:?}: {story}");
    if risen == 0 {
        kept.ask(db, case.bounds, story).unwrap();
    }
    risen
}

/// Some stretches whose loss a repair sees, at most; with `is_exact` those alone of which no row
/// rises.
fn losses(
    case: &Case,
    (image, kept): (&Image, &Ledger),
    is_exact: bool,
    most: usize,
) -> Vec<BTreeSet<usize>> {
    let is_seen = |rotten: &BTreeSet<usize>| {
        let mut image = rotting(image, rotten);
        let mut ram = vec![0; case.ram];
        let mut db = Db::open(&mut image, &SCHEMA, options(case), &mut ram).unwrap();
        let repaired = db.repair().unwrap();
        let story = format!("pages {rotten:?}");
        let mut rose =
            || Ledger::scanned(&mut db, Direction::Forward).unwrap().beyond(kept, &story);
        repaired.lost_pages > 0 && (!is_exact || rose() == 0)
    };
    let all: Vec<_> = stretches(image, case.stretch).into_iter().filter(is_seen).collect();
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step).collect()
}

fn rotting(image: &Image, rotten: &BTreeSet<usize>) -> Image {
    let mut image = image.clone();
    image.rotten.clone_from(rotten);
    image
}

/// Make some changes of a device. Those that come to a lost page fail, and change nothing; their
/// number is given.
fn go_on(db: &mut Db<'_, 'static, &mut Image>, kept: &mut Ledger, turns: u64, case: &Case) -> u32 {
    let (mut prng, mut failed) = (Prng::new(turns), 0);
    for _ in 0..turns {
        let mut after = kept.clone();
        let commits = db.stats().commits;
        match kept.transact(db, &mut prng, (6, case.bounds), &mut after) {
            Ok(()) | Err(DbError::Full) => {}
            Err(DbError::Media(MediaError::Corrupt(_))) => failed += 1,
            Err(error) => panic!("{error}: {case:?}"),
        }
        // A commit may be complete although what it had to do besides was not.
        if db.stats().commits > commits {
            *kept = after;
        }
    }
    failed
}

#[test]
fn what_a_lost_page_held_is_put_together_again() {
    let (mut failures, mut entries, mut risen) = (0, 0, 0);
    for (number, case, seed) in devices() {
        let (image, kept) = device(case, seed);
        for rotten in losses(case, (&image, &kept), false, 6) {
            let story = format!("pages {rotten:?} of case {number}, seed {seed}");
            let mut image = rotting(&image, &rotten);
            let mut ram = vec![0; case.ram];
            let mut db = Db::open(&mut image, &SCHEMA, options(case), &mut ram).unwrap();
            // No answer is wrong before either.
            failures += u32::from(kept.ask(&mut db, case.bounds, &story).is_err());
            let repaired = db.repair().unwrap_or_else(|error| panic!("{error}: {story}"));
            assert!(repaired.lost_pages > 0, "{story}");
            entries += repaired.entries;
            let rose = compare(&mut db, &kept, (case, &repaired), &story);
            risen += rose;
            assert_eq!(db.repair().unwrap(), Repaired::default(), "nothing is left: {story}");
            while db.maintain(Budget { operations: 50 }).unwrap() {}
            compare(&mut db, &kept, (case, &repaired), &story);
            db.close().unwrap();
            let mut db = Db::open(&mut image, &SCHEMA, options(case), &mut ram).unwrap();
            compare(&mut db, &kept, (case, &repaired), &story);
            if rose == 0 {
                let mut kept = kept.clone();
                assert_eq!(go_on(&mut db, &mut kept, 30, case), 0, "{story}");
                compare(&mut db, &kept, (case, &repaired), &story);
            }
        }
    }
    assert!(failures > 20 && entries > 1000, "{failures} failed, {entries} entries, {risen} rose");
}

/// Where compaction looked rows up, and a read failed amid them, it looked the same rows up again.
/// It took what it had found for later rows, and moved rows that had been replaced.
#[test]
fn a_read_fails_once_while_rows_are_moved() {
    let (mut failures, mut moved) = (0, 0);
    for (number, case, seed) in devices() {
        let (mut image, mut kept) = device(case, seed);
        let mut ram = vec![0; case.ram];
        let mut db = Db::open(&mut image, &SCHEMA, options(case), &mut ram).unwrap();
        let mut prng = Prng::new(seed);
        for round in 0..40 {
            let at = db.nand().reads + prng.below(300);
            db.nand_mut().noise_at = Some(at);
            failures += go_on(&mut db, &mut kept, 1 + prng.below(20), case);
            db.nand_mut().noise_at = None;
            let found = Ledger::scanned(&mut db, Direction::Forward).unwrap();
            let story = format!("round {round} of case {number}, seed {seed}");
            assert_eq!(found.beyond(&kept, &story), 0, "rows that were replaced: {story}");
        }
        moved += db.moved_pages();
    }
    assert!(failures > 100 && moved > 40, "{failures} reads failed, {moved} pages were moved to");
}

const LOST: DbError = DbError::Media(MediaError::PowerLost);
const MOUNT_LOST: DbError = DbError::Mount(MountError::Media(MediaError::PowerLost));

/// Open and repair a device; whether the power went meanwhile.
fn is_cut(image: &mut Image, kept: &Ledger, case: &Case, story: &str) -> bool {
    let mut ram = vec![0; case.ram];
    let opened = Db::open(image, &SCHEMA, options(case), &mut ram);
    let repaired = opened.and_then(|mut db| Ok((db.repair()?, db)));
    match repaired {
        Err(LOST | MOUNT_LOST) => true,
        Err(error) => panic!("{error}: {story}"),
        Ok((repaired, mut db)) => {
            compare(&mut db, kept, (case, &repaired), story);
            false
        }
    }
}

/// Repair a device while the power goes at one operation after another, and once more in the repair
/// that follows.
#[test]
fn a_repair_that_is_cut_begins_anew() {
    let mut cuts = 0;
    for (number, case, seed) in devices().step_by(3) {
        let (image, kept) = device(case, seed);
        for rotten in losses(case, (&image, &kept), true, 2) {
            for at in (0..).map(|at| at * 3) {
                let story = format!("pages {rotten:?} of case {number}, seed {seed}, cut at {at}");
                let mut image = rotting(&image, &rotten);
                let mut prng = Prng::new(at);
                let mut some = 0;
                for cut_in in [Some(at), Some(prng.below(at + 2)), None] {
                    image.power_up(cut_in, Doubt { seed: at, is_fickle: at % 2 == 0 });
                    some += u32::from(is_cut(&mut image, &kept, case, &story));
                }
                cuts += some;
                if some == 0 {
                    break;
                }
            }
        }
    }
    assert!(cuts > 50, "{cuts} cuts");
}

/// A repair that is dropped after any step leaves a database that gives no wrong answer.
#[test]
fn a_repair_that_is_dropped_leaves_no_trace() {
    let (mut failed, mut steps) = (0, 0);
    for (number, case, seed) in devices().step_by(3) {
        let (image, kept) = device(case, seed);
        for rotten in losses(case, (&image, &kept), true, 2) {
            let story = format!("pages {rotten:?} of case {number}, seed {seed}");
            let (mut image, mut kept) = (rotting(&image, &rotten), kept.clone());
            let mut ram = vec![0; case.ram];
            let mut db = Db::open(&mut image, &SCHEMA, options(case), &mut ram).unwrap();
            let mut prng = Prng::new(3);
            for turns in 1..12 {
                let mut repair = db.begin_repair().unwrap();
                for _ in 0..prng.below(400) {
                    steps += u32::from(repair.step().unwrap());
                }
                drop(repair);
                failed += go_on(&mut db, &mut kept, turns, case);
            }
            let repaired = db.repair().unwrap_or_else(|error| panic!("{error}: {story}"));
            compare(&mut db, &kept, (case, &repaired), &story);
        }
    }
    assert!(failed > 10 && steps > 500, "{failed} failed, {steps} steps");
}

/// A repair of a device without losses does nothing.
#[test]
fn a_repair_of_a_sound_device_writes_nothing() {
    let case = &CASES[0];
    let (mut image, kept) = device(case, SEEDS[0]);
    let mut ram = vec![0; case.ram];
    let mut db = Db::open(&mut image, &SCHEMA, options(case), &mut ram).unwrap();
    let programs = db.stats().programs;
    let repaired = db.repair().unwrap();
    assert_eq!(repaired, Repaired::default());
    assert_eq!(db.stats().programs, programs, "nothing was lost, so nothing is written");
    compare(&mut db, &kept, (case, &repaired), "a sound device");
}
