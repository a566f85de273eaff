//! Power cuts at every kind of operation: what was acknowledged is there, whole transactions only.

use flysch::db::MountError;
use flysch::db::{Db, DbError, Direction, Durability};
use flysch::media::MediaError;
use flysch_chip::{FaultInjector, FaultPlan, Prng};
use flysch_nand::Nand;

use super::world::{OPTIONS, SCHEMA, ask_indexes, chip, expected, insert, rows};
use crate::told;

const LOST: DbError = DbError::Media(MediaError::PowerLost);
const MOUNT_LOST: DbError = DbError::Mount(MountError::Media(MediaError::PowerLost));

struct Case {
    page_size: u32,
    block_count: u32,
    note_max: usize,
    transaction_max: u64,
    ram: usize,
}

const CASES: [Case; 4] = [
    Case { page_size: 512, block_count: 120, note_max: 0, transaction_max: 3, ram: 6500 },
    Case { page_size: 2048, block_count: 64, note_max: 60, transaction_max: 5, ram: 9000 },
    Case { page_size: 1024, block_count: 200, note_max: 5000, transaction_max: 4, ram: 10000 },
    Case { page_size: 2048, block_count: 128, note_max: 200, transaction_max: 150, ram: 16384 },
];

#[test]
fn rows_come_back_in_both_directions() {
    for case in &CASES {
        let mut ram = vec![0; case.ram];
        let mut nand = chip(case.page_size, case.block_count);
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let numbers: Vec<i64> = (0..200).collect();
        for some in numbers.chunks(7) {
            insert(&mut db, some, case.note_max, Durability::Durable).unwrap();
        }
        let wanted = expected(&numbers, case.note_max);
        assert_eq!(rows(&mut db, Direction::Forward).unwrap(), wanted);
        db.close().unwrap();
        let mut ram = vec![0; case.ram];
        let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        assert!(db.report().is_clean);
        assert_eq!(rows(&mut db, Direction::Forward).unwrap(), wanted);
        let backward = expected(&numbers.iter().rev().copied().collect::<Vec<_>>(), case.note_max);
        assert_eq!(rows(&mut db, Direction::Backward).unwrap(), backward);
    }
}

/// One life of a device after another, each ended by a cut or a close; what follows a mount is cut
/// as well, and so is what makes the mount certain.
fn history(case: &Case, seed: u64) -> u64 {
    let mut prng = Prng::new(seed);
    let mut nand = chip(case.page_size, case.block_count);
    let mut ram = vec![0; case.ram];
    Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let (mut kept, mut next, mut cuts) = (Vec::new(), 0, 0);
    for life in 0..12 {
        let story = format!("seed {seed}, life {life}, page {}", case.page_size);
        let cut_at = Some(prng.below(if life % 3 == 0 { 12 } else { 120 }));
        let ppm = if seed % 4 == 1 { 4000 } else { 0 };
        let failures = FaultPlan {
            program_failures_ppm: ppm,
            erase_failures_ppm: ppm,
            read_errors_ppm: if seed % 3 == 2 { 10_000 } else { 0 },
            read_error_bits_max: 1,
            ..FaultPlan::default()
        };
        nand.arm(FaultPlan { seed: prng.next(), cut_at, ..failures });
        let mut doubtful = Vec::new();
        let lost = live(&mut nand, case, &mut prng, (&mut kept, &mut doubtful, &mut next));
        cuts += u64::from(lost.unwrap_or_else(|error| panic!("{error:?}: {story}")));
        nand.power_up();
        nand.arm(FaultPlan::default());
        let mut ram = vec![0; case.ram];
        let opened = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram);
        let mut db = opened.unwrap_or_else(|error| panic!("{error:?}: {story}"));
        let found = rows(&mut db, Direction::Forward).unwrap();
        let with: Vec<i64> = kept.iter().chain(&doubtful).copied().collect();
        if found == expected(&with, case.note_max) {
            kept = with;
        } else {
            let wanted = expected(&kept, case.note_max);
            assert!(found == wanted, "{} rows, not {}: {story}", found.len(), wanted.len());
        }
        if life % 3 == 2 {
            ask_indexes(&mut db, &found, &story).unwrap();
        }
    }
    cuts
}

/// Insert until the power goes, the device is full, or the database is left. True where it was cut.
fn live(
    nand: &mut FaultInjector,
    case: &Case,
    prng: &mut Prng,
    (kept, doubtful, next): (&mut Vec<i64>, &mut Vec<i64>, &mut i64),
) -> Result<bool, DbError> {
    let mut ram = vec![0; case.ram];
    let mut db = match Db::open(nand, &SCHEMA, OPTIONS, &mut ram) {
        Err(error) if error == LOST || error == MOUNT_LOST => return Ok(true),
        opened => opened?,
    };
    // Some lives are short, and end by a close that may be cut.
    let patience = if prng.below(4) == 0 { 4 } else { 60 };
    loop {
        let whim = prng.below(patience);
        if whim == 0 && patience > 4 {
            return Ok(false);
        }
        if whim == 1 {
            return match db.close() {
                Err(error) if error == LOST => Ok(true),
                closed => closed.map(|_| false),
            };
        }
        let count = 1 + prng.below(case.transaction_max).cast_signed();
        let numbers: Vec<i64> = (*next..*next + count).collect();
        *next += count;
        let done = if prng.below(5) == 0 {
            take_back(&mut db, &numbers, case.note_max)
        } else {
            doubtful.clone_from(&numbers);
            insert(&mut db, &numbers, case.note_max, Durability::Durable)
        };
        match done {
            Ok(()) => kept.append(doubtful),
            Err(error) if error == LOST => return Ok(true),
            Err(DbError::Full) => {
                doubtful.clear();
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
}

fn take_back<N: Nand>(
    db: &mut Db<'_, '_, N>,
    numbers: &[i64],
    note_max: usize,
) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    for &number in numbers {
        super::world::row(number, note_max).insert(&mut tx)?;
    }
    tx.roll_back()
}

/// `FLYSCH_SEEDS` histories of each case; 40 where it does not say.
#[test]
fn what_was_acknowledged_survives_cuts() {
    let seeds = told("FLYSCH_SEEDS");
    let mut cuts = 0;
    for case in &CASES {
        for seed in 0..seeds.unwrap_or(40) {
            cuts += history(case, seed);
        }
    }
    println!("{cuts} cuts");
}
