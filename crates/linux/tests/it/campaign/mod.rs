//! Random lives of every stack, under every fault of the chip.
//!
//! A seed gives a stack, a chip with factory-bad blocks, and a script: some lives, each of them
//! calls on files or commits of a database, and a power cut, which ends in one of the ways of
//! [`Mode`]. The mounts that follow may be cut, too. Some devices are nearly full, and some come to
//! the end of their lives. After each life the file system must hold what it promised, its free
//! space must be that of a fresh mount, and it must be usable. No rule of the chip may be broken.
//!
//! `cargo xtask campaign --stack all` runs as many as there is time for. A failure is made small
//! and printed as a line for `--replay`.

mod database;
mod life;
mod losses;
mod promise;
mod script;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};

use flysch_linux::ubifs::Compressor;

use crate::jffs2::patience;
use crate::machine::{FASTMAP, KINDS, Kind, LZO};
use life::{Tally, play};
use losses::loses;
use script::{Mode, Script};

/// Name of a stack, as the command line and the documents have it.
pub(crate) const fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Jffs2 => "jffs2",
        Kind::Yaffs2 => "yaffs2",
        Kind::Ubifs { fastmap: true, .. } => "ubifs+fastmap",
        Kind::Ubifs { compressor: Compressor::Zstd, .. } => "ubifs+zstd",
        Kind::Ubifs { .. } => "ubifs",
        Kind::Ftl(mapping) => match mapping {
            crate::ftl::LOG_BLOCK => "ftl-log-block",
            crate::ftl::PAGE_MAP => "ftl",
            _ => "ftl-cost-benefit",
        },
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Play a script. What went wrong, if anything did; a panic is a breach of the chip's rules, or a
/// defect.
fn verdict(script: &Script, tally: &mut Tally) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| play(script, tally)));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Make a script that fails as small as it goes.
fn shrink(mut script: Script) -> Script {
    let tries = number("FLYSCH_TRIES").unwrap_or(200);
    for _ in 0..tries {
        let fails = |smaller: &Script| verdict(smaller, &mut Tally::default()).is_err();
        match script.smaller().into_iter().find(fails) {
            Some(smaller) => script = smaller,
            None => break,
        }
    }
    script
}

#[expect(clippy::print_stdout, reason = "the campaign reads it")]
fn tell(line: &str) {
    println!("{line}");
}

/// Play the scripts of a stack, and count what they did. A failure is shrunk and told, and the next
/// script is played.
fn run(kind: Kind, seeds: impl Iterator<Item = u64>, failures: &mut Vec<String>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let script = Script::draw(kind, seed, None);
        if verdict(&script, &mut tally).is_err() {
            let small = shrink(script);
            let why = verdict(&small, &mut Tally::default()).expect_err("it fails");
            let failure = format!("--replay '{}:{small}': {why}", name_of(kind));
            tell(&failure);
            failures.push(failure);
        }
    }
    tally
}

#[test]
fn every_stack_keeps_its_promises() {
    if let Ok(line) = std::env::var("FLYSCH_REPLAY") {
        let (name, text) = line.split_once(':').expect("STACK:SCRIPT");
        let kind = KINDS.into_iter().find(|&kind| name_of(kind) == name).expect("a stack");
        let script = Script::parse(kind, text).expect("a script");
        let verdict = verdict(&script, &mut Tally::default());
        println!("{verdict:?}");
        assert_eq!(verdict, Ok(()));
        return;
    }
    let first = number("FLYSCH_SEED").unwrap_or(0);
    let count = number("FLYSCH_HISTORIES").unwrap_or(24 * patience());
    let wanted = std::env::var("FLYSCH_STACK").unwrap_or_else(|_| "all".to_owned());
    let (mut all, mut failures) = (Tally::default(), Vec::new());
    for kind in KINDS.into_iter().filter(|&kind| wanted == "all" || name_of(kind) == wanted) {
        let tally = run(kind, first..first + count, &mut failures);
        println!("{}: {tally}", name_of(kind));
        all.add(&tally);
    }
    println!("seeds from {first}: cuts: {}, {all}", all.cuts);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(all.cuts >= count, "{all}");
}

fn replay(kind: Kind, text: &str) {
    let script = Script::parse(kind, text).expect("a script");
    assert_eq!(verdict(&script, &mut Tally::default()), Ok(()));
}

/// A regression. A file was cut and synced. The journal still held older data of its last page, and
/// the mount took the file's end to be that data's.
#[test]
fn a_truncation_is_not_undone_by_older_data() {
    replay(LZO, "3+17/0.15.0.2");
}

/// A regression. A write beyond the end was cut before its commit, and left its bytes in the last
/// block. When the file grew later without a write, they showed.
#[test]
fn bytes_beyond_the_end_do_not_come_to_light() {
    replay(KINDS[5], "1041+38/0.16.0.11,3.2.0.3");
}

/// A regression. The block of the LEB that UBIFS keeps for its collector was unmapped and not yet
/// erased when the power went. So the LEB was mapped again, and the collector programmed its pages.
#[test]
fn the_collector_writes_to_no_leb_that_came_back() {
    replay(LZO, "1033+0+92/3.8.0.0");
    replay(FASTMAP, "1057+0+92/0.7.0.4,2.1.0.0");
}

/// A regression. A program failed, and so did that of the block to which the LEB was to move. The
/// new block had a newer header without a checksum, and what was durable in the old one was lost.
#[test]
fn a_move_away_from_a_failed_program_is_checked() {
    replay(LZO, "12008+0+0/1.3.0.5,3.1.0.5,4.4.0.12");
    replay(FASTMAP, "11255+0+0/3.5.0.0,4.2.0.12");
}

/// A regression. The last page before a sync of a new file held its inode and not its name. The
/// sync does not bring that, as in Linux: the test promised too much.
#[test]
fn a_sync_of_a_new_file_need_not_bring_its_name() {
    replay(Kind::Jffs2, "9259+135+0/0.2.0.2,1.16.0.11,2.17.0.11");
}

/// A regression. Many mounts that were cut had left a nearly full device without an empty LEB for
/// the index, so that the commit at the end of the recovery failed.
#[test]
fn a_recovery_makes_room_for_the_index() {
    replay(LZO, "20829+106+75/0.15.1.4,1.17.2.4,2.10.2.3,3.6.2.3");
}

/// A regression. The journal of a nearly full device took the last empty LEB, and the commit found
/// none for the index: a sync failed for want of space.
#[test]
fn a_commit_on_a_nearly_full_device_finds_a_leb_for_the_index() {
    replay(LZO, "7001100+59+75/0.16.0.10,1.5.0.3,2.0.0.0,3.8.0.4,4.12.0.0");
    replay(LZO, "7001592+91+75/0.11.0.5,1.0.0.4,2.7.0.0");
    replay(FASTMAP, "3001350+144+75/0.0.0.11,1.0.0.5,2.16.0.2");
    replay(FASTMAP, "3002760+93+75/0.13.0.3,1.6.0.2");
}

/// A regression. Each mount after a cut gave up the rest of the LEBs that the journal was in. On a
/// nearly full device no space was left to remove a name. Linux goes on in them.
#[test]
fn a_recovery_goes_on_in_the_lebs_of_the_journal() {
    replay(LZO, "9001353+75+75/0.6.0.0,1.0.0.10,2.8.0.11");
    replay(LZO, "9002070+74+75/0.0.0.2,1.3.0.11,2.10.0.5");
    replay(LZO, "3001981+46+75/0.0.0.4,1.12.0.11");
    replay(LZO, "7000906+94+75/0.8.0.3,1.11.0.1,2.6.0.10,3.5.0.2");
}

/// A block that was erased already was erased again, and that was cut. Its EC header was intact, so
/// that it was taken to be free, as in Linux: what was synced there was lost.
#[test]
fn an_attach_believes_a_block_that_was_erased_in_part() {
    let is_lost = |seed: u64| {
        let script = format!("{seed}+0+0/0.5.0.4,1.0.1.2,2.1.1.5,3.1.2.11,4.2.0.12");
        let script = Script::parse(FASTMAP, &script).expect("a script");
        let mut tally = Tally::default();
        assert_eq!(verdict(&script, &mut tally), Ok(()), "{script}");
        tally.half_erased == 1
    };
    let found = (9000..9200).find(|&seed| is_lost(seed));
    assert!(found.is_some(), "no attach believed a block that was erased in part");
}

/// Of a directory that was made just before a cut the inode was lost, and its own name and one in
/// it were kept. The latter made an inode without nodes of it, which cannot be read, as in Linux.
#[test]
fn a_name_may_outlive_its_inode() {
    let mut tally = Tally::default();
    let script = Script::parse(Kind::Jffs2, "7001146+5+0/0.8.0.3").expect("a script");
    assert_eq!((verdict(&script, &mut tally), tally.orphaned), (Ok(()), 1));
}

/// A regression. Garbage was collected while a rename replaced a file on a nearly full device. The
/// header of the new name was copied without saying whom it replaces, and the power went before
/// that was written: the name was there twice.
#[test]
fn a_file_that_was_replaced_on_a_nearly_full_device_stays_gone() {
    replay(Kind::Yaffs2, "11002180+134+92/0.1.0.3,1.2.2.10");
}

/// A regression. A file without a name was open and grew. Its inode was written before its data,
/// which removed it, and the data was in no file.
#[test]
fn an_open_file_without_a_name_leaves_no_data() {
    replay(LZO, "3000571+45+75/3.11.0.1");
}

/// A device that is worn out has no block for the nodes of a page that failed. What they superseded
/// is erased all the same, as in Linux: a file loses data although nobody changes it.
#[test]
fn jffs2_loses_what_it_cannot_rescue() {
    assert!(loses(Kind::Jffs2, Mode::Worn).is_some());
    let is_lost = |seed: u64| {
        let script = format!("{seed}+115+75/0.10.1.5,1.2.2.5,2.9.2.12");
        let script = Script::parse(Kind::Jffs2, &script).expect("a script");
        verdict(&script, &mut Tally::default()).is_err()
    };
    let found = (20_319..20_519).find(|&seed| is_lost(seed));
    assert!(found.is_some(), "no device that was worn out lost a file");
}

/// A regression. The only program of a new device was torn before its tags, so that all tags were
/// blank. The checkpoint went to the same page.
#[test]
fn a_checkpoint_is_not_written_over_a_torn_page() {
    replay(Kind::Yaffs2, "9314+0+0/0.1.0.1");
}
