//! Power cuts under inserts, updates, deletes and rollbacks, on devices that fill up: what was
//! acknowledged is there, whole transactions only, in every index.

use flysch::db::{Budget, Db, DbError, Direction, MountError, Options};
use flysch::media::{Cause, MediaError};
use flysch_chip::{FaultInjector, FaultPlan, Prng};
use flysch_nand::WriteRule;

use super::ledger::{Bounds, Ledger, SCHEMA, bounds};
use super::nvram::{Memory, lent};
use super::world::chip;
use crate::told;

const LOST: DbError = DbError::Media(MediaError::PowerLost);
const MOUNT_LOST: DbError = DbError::Mount(MountError::Media(MediaError::PowerLost));

#[derive(Debug)]
struct Case {
    page_size: u32,
    block_count: u32,
    bounds: Bounds,
    /// Changes of a transaction, at most.
    transaction_max: u64,
    ram: usize,
    /// Rows that the hashes are made for: few, and many keys share one.
    capacity: u32,
    /// Bytes of memory beside the chip.
    nvram: usize,
}

const CASES: [Case; 6] = [
    Case {
        page_size: 512,
        block_count: 24,
        bounds: bounds(130, 150, 150),
        transaction_max: 8,
        ram: 7500,
        capacity: 100_000,
        nvram: 0,
    },
    Case {
        page_size: 512,
        block_count: 32,
        bounds: bounds(200, 120, 120),
        transaction_max: 12,
        ram: 7500,
        capacity: 2,
        nvram: 0,
    },
    Case {
        page_size: 2048,
        block_count: 24,
        bounds: bounds(150, 600, 900),
        transaction_max: 10,
        ram: 12_000,
        capacity: 16,
        nvram: 0,
    },
    Case {
        page_size: 1024,
        block_count: 36,
        bounds: bounds(50, 100, 3000),
        transaction_max: 5,
        ram: 12_000,
        capacity: 1000,
        nvram: 0,
    },
    Case {
        page_size: 1024,
        block_count: 48,
        bounds: bounds(400, 100, 300),
        transaction_max: 120,
        ram: 10_000,
        capacity: 2,
        nvram: 0,
    },
    Case {
        page_size: 512,
        block_count: 28,
        bounds: bounds(130, 150, 150),
        transaction_max: 8,
        ram: 7500,
        capacity: 2,
        nvram: 3000,
    },
];

/// What came about in histories.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    commits: u64,
    /// Pages that compaction moved in the liveliest life.
    moves: u32,
    /// Transactions for which there was no space.
    refused: u64,
    /// Pages of blocks that were copied as they are.
    copied: u64,
}

fn options(case: &Case) -> Options {
    Options { partition: None, seed: 7, capacity: case.capacity }
}

/// One life of a device after another, each ended by a cut or a close.
fn history(case: &Case, seed: u64) -> Tally {
    let mut prng = Prng::new(seed);
    let mut nand = chip(case.page_size, case.block_count);
    let mut ram = vec![0; case.ram];
    let mut memory = (case.nvram > 0).then(|| Memory::new(case.nvram, WriteRule::Overwrite));
    Db::create_with_nvram(&mut nand, lent(&mut memory), &SCHEMA, options(case), &mut ram).unwrap();
    let (mut kept, mut tally) = (Ledger::default(), Tally::default());
    for life in 0..24 {
        let story = format!("seed {seed}, life {life}, {case:?}");
        // The first life is long: what follows happens on a device that has been full.
        let reach = match life % 4 {
            0 if life == 0 => 4000,
            0 => 12,
            1 => 60,
            2 => 150,
            _ => 900,
        };
        let ppm = if seed % 4 == 1 { 3000 } else { 0 };
        nand.arm(FaultPlan {
            seed: prng.next(),
            cut_at: Some(prng.below(reach)),
            program_failures_ppm: ppm,
            erase_failures_ppm: ppm,
            // Bits that ECC corrects: blocks are copied.
            read_errors_ppm: if seed.is_multiple_of(3) { 10_000 } else { 0 },
            read_error_bits_max: 1,
            ..FaultPlan::default()
        });
        let mut doubtful = kept.clone();
        if let Some(memory) = &mut memory {
            memory.cut_in = (life % 3 == 1).then(|| prng.below(30_000) as usize);
        }
        let device = (&mut nand, &mut memory);
        let lost = live(device, case, &mut prng, (&mut kept, &mut doubtful), &mut tally);
        tally.cuts += u64::from(lost.unwrap_or_else(|error| panic!("{error:?}: {story}")));
        nand.power_up();
        nand.arm(FaultPlan::default());
        if let Some(memory) = &mut memory {
            memory.cut_in = None;
        }
        let mut ram = vec![0; case.ram];
        let opened =
            Db::open_with_nvram(&mut nand, lent(&mut memory), &SCHEMA, options(case), &mut ram);
        let mut db = opened.unwrap_or_else(|error| panic!("{error:?}: {story}"));
        let found = Ledger::scanned(&mut db, Direction::Forward);
        let found = found.unwrap_or_else(|error| panic!("{error:?}: {story}"));
        if found == doubtful {
            kept = doubtful;
        }
        assert!(found == kept, "{}: {story}", difference(&found, &kept));
        if life % 3 == 2 {
            let found = Ledger::scanned(&mut db, Direction::Backward).unwrap();
            assert!(found == kept, "backward: {story}");
        }
        // To ask for everything takes longer than all else.
        if life % 6 == 5 {
            kept.ask(&mut db, case.bounds, &story).unwrap();
        }
    }
    tally
}

/// The first keys in which two ledgers differ.
fn difference(found: &Ledger, wanted: &Ledger) -> String {
    let accounts = found.accounts.keys().chain(wanted.accounts.keys());
    let account = accounts.copied().find(|id| found.accounts.get(id) != wanted.accounts.get(id));
    let items = found.items.keys().chain(wanted.items.keys());
    let mut items = items.filter(|name| found.items.get(*name) != wanted.items.get(*name));
    let item = items.next().cloned();
    let account =
        account.map(|id| (id, found.accounts.get(&id).cloned(), wanted.accounts.get(&id).cloned()));
    let item = item.map(|name| {
        let lens = [found, wanted].map(|ledger| ledger.items.contains_key(&name));
        (name, lens)
    });
    format!("found and wanted differ in {account:?}, {item:?}")
}

/// Change rows until the power goes, or the database is left. True where it was cut.
fn live(
    (nand, memory): (&mut FaultInjector, &mut Option<Memory>),
    case: &Case,
    prng: &mut Prng,
    (kept, doubtful): (&mut Ledger, &mut Ledger),
    tally: &mut Tally,
) -> Result<bool, DbError> {
    let mut ram = vec![0; case.ram];
    let opened = Db::open_with_nvram(nand, lent(memory), &SCHEMA, options(case), &mut ram);
    let mut db = match opened {
        Err(error) if error == LOST || error == MOUNT_LOST => return Ok(true),
        opened => opened?,
    };
    let patience = if prng.below(4) == 0 { 4 } else { 700 };
    let mut refused = 0;
    let mut copied = 0;
    loop {
        let before = core::mem::replace(&mut copied, db.stats().counts.programs_for(Cause::Scrub));
        tally.copied += u64::from(copied - before);
        let whim = prng.below(patience);
        if whim == 0 && patience > 4 || refused > 20 {
            return Ok(false);
        }
        if whim == 1 {
            return match db.close() {
                Err(error) if error == LOST => Ok(true),
                Err(DbError::Full) => Ok(false),
                closed => closed.map(|_| false),
            };
        }
        doubtful.clone_from(kept);
        if whim == 2 {
            let budget = Budget { operations: prng.below(200) as u32 };
            match db.maintain(budget) {
                Err(error) if error == LOST => return Ok(true),
                Err(DbError::Full) => {}
                done => done.map(|_| ())?,
            }
        }
        let count = 1 + prng.below(case.transaction_max);
        match kept.transact(&mut db, prng, (count, case.bounds), doubtful) {
            Ok(()) => {
                kept.clone_from(doubtful);
                tally.commits += 1;
                tally.moves = tally.moves.max(db.moved_pages());
            }
            Err(error) if error == LOST => return Ok(true),
            Err(DbError::Full | DbError::TransactionTooLong) => {
                doubtful.clone_from(kept);
                refused += 1;
                tally.refused += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// `FLYSCH_SEEDS` histories of each case; 12 where it does not say.
#[test]
fn changes_survive_cuts() {
    let seeds = told("FLYSCH_SEEDS");
    for case in &CASES {
        let mut all = Tally::default();
        for seed in 0..seeds.unwrap_or(12) {
            let Tally { cuts, commits, moves, refused, copied } = history(case, seed);
            all.cuts += cuts;
            all.commits += commits;
            all.moves += moves;
            all.refused += refused;
            all.copied += copied;
        }
        assert!(all.copied > 0, "blocks are copied: {all:?}");
        println!("{all:?}");
    }
}
