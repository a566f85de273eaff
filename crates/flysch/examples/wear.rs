//! How evenly the blocks of a small part wear while the device is programmed from end to end many
//! times, and what levelling costs. Half of the rows never change.
//!
//! `cargo run --profile sim -p flysch --example wear -- [FULLS] [BLOCKS] [CASE]`. The cases are
//! numbered from 0; without a number all are measured.

#![expect(clippy::print_stdout, reason = "what it measures is printed")]

mod parts;

use std::sync::Arc;

use flysch::db::{Db, DbError, Durability, Options};
use flysch::media::{Cause, Partition};
use flysch::row::Value;
use flysch_chip::{Chip, Clock, Part, Prng};
use flysch_nand::Geometry;
use parts::{NOTE, SCHEMA};

/// Bytes of the database's memory, its fields apart.
const RAM: usize = 16_384;
/// Blocks that hold no rows where a device counts as full of them: log, roots, runs, free ones.
const OTHERS: u32 = 30;
/// Rows of some 100 bytes on a page of 2 KB.
const ROWS_A_PAGE: u32 = 20;

type Store<'ram, 'chip> = Db<'ram, 'static, &'chip mut Chip>;

/// What is done with the rows that change.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Rows that each transaction updates.
    batch: u32,
    /// How many of 100 blocks for rows are in use.
    percent: u32,
}

const CASES: [Case; 4] = [
    Case { batch: 1, percent: 50 },
    Case { batch: 1, percent: 70 },
    Case { batch: 64, percent: 50 },
    Case { batch: 64, percent: 70 },
];

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u32>().ok());
    let (fulls, blocks) = (args.next().unwrap_or(50), args.next().unwrap_or(128));
    println!(
        "| rows a commit | % full | device-fulls | programs a commit | of them copies | reads a commit \
         | erases: mean | least | most | most over mean | hardly erased \
         | most over the others' mean |"
    );
    println!("{}|", "|--:".repeat(12));
    let case = args.next();
    let is_wanted = |&(number, _): &(u32, Case)| case.is_none_or(|case| case == number);
    let mut cases = (0..).zip(CASES).filter(is_wanted);
    cases.try_for_each(|(_, case)| measure(case, fulls, blocks))
}

/// A row of some 100 bytes of values.
fn values(id: u32, version: u32) -> [Value<'static>; 4] {
    let number = |number: u32| Value::Integer(number.into());
    [number(id), number(id % 997), number(version), Value::Text(NOTE)]
}

/// Fill the share of the device, then update the rows of the second half until all pages were
/// programmed so many times in the mean.
fn measure(case: Case, fulls: u32, blocks: u32) -> Result<(), DbError> {
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let geometry = Geometry { block_count: blocks, ..part.geometry };
    let pages = geometry.pages_per_block;
    let mut chip = Chip::new(Arc::new(Part { geometry, ..part }), Clock::new(), 1);
    let rows = (blocks - OTHERS) * case.percent / 100 * (pages - 1) * ROWS_A_PAGE;
    let partition = Partition { first: 0, count: blocks };
    let options = Options { partition: Some(partition), seed: 7, capacity: rows };
    let mut memory = vec![0; RAM - size_of::<Store<'_, '_>>()];
    let mut db = Db::create(&mut chip, &SCHEMA, options, &mut memory)?;
    for first in (0..rows).step_by(64) {
        let mut tx = db.begin()?;
        for id in first..rows.min(first + 64) {
            tx.insert(0, &values(id, 0))?;
        }
        tx.commit(Durability::Durable)?;
    }
    let mut prng = Prng::new(5);
    let (mut commits, mut version) = (0_u32, 0_u32);
    let begun = db.stats().counts;
    for full in 1..=fulls {
        let goal = u64::from(full) * u64::from(blocks) * u64::from(pages);
        while db.stats().programs < goal {
            // The statistics go through the block table, so they are asked now and then.
            for _ in 0..(64 / case.batch) {
                let mut tx = db.begin()?;
                for _ in 0..case.batch {
                    let drawn = prng.below(u64::from(rows - rows / 2));
                    let id = rows / 2 + u32::try_from(drawn).expect("below 32 bits");
                    version += 1;
                    assert!(tx.update(0, &values(id, version))?, "row {id} is there");
                }
                tx.commit(Durability::Durable)?;
                commits += 1;
            }
        }
        if full % 10 == 0 || full == fulls {
            let counts = db.stats().counts;
            let copies = counts.programs_for(Cause::Scrub) - begun.programs_for(Cause::Scrub);
            let programs = counts.programs_in_all() - begun.programs_in_all();
            let reads = counts.reads.wrapping_sub(begun.reads);
            let each = |count: u32| f64::from(count) / f64::from(commits);
            let Case { batch, percent } = case;
            println!(
                "| {batch} | {percent} | {full} | {:.3} | {:.3} | {:.1} | {}",
                each(programs),
                each(copies),
                each(reads),
                wear(db.nand())
            );
        }
    }
    Ok(())
}

/// The erases of a block: mean, least, greatest, and the greatest over the mean. Then the blocks
/// that are hardly erased, as those of roots are, and the greatest over the mean of the others.
fn wear(chip: &Chip) -> String {
    let erases = chip.erase_counts();
    let (most, least) = (erases.iter().max(), erases.iter().min());
    let (most, least) = (most.copied().unwrap_or(0), least.copied().unwrap_or(0));
    let blocks = u32::try_from(erases.len()).expect("a part has fewer");
    let mean = f64::from(erases.iter().sum::<u32>()) / f64::from(blocks);
    let others = || erases.iter().copied().filter(|&count| f64::from(count) > mean / 2.0);
    let busy = u32::try_from(others().count()).expect("as many as there are");
    let of_others = f64::from(others().sum::<u32>()) / f64::from(busy);
    format!(
        "{mean:.1} | {least} | {most} | {:.2} | {} | {:.2} |",
        f64::from(most) / mean,
        blocks - busy,
        f64::from(most) / of_others
    )
}
