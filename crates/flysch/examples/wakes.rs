//! How evenly the blocks of a device wear that wakes, commits one row, and sleeps again. A life
//! ends by a cut behind its commit, or by a close. After a cut the next mount programs a root.
//!
//! `cargo run --profile sim -p flysch --example wakes -- [CUTS] [CLOSES] [BLOCKS]`

#![expect(clippy::print_stdout, reason = "what it measures is printed")]

mod parts;

use std::sync::Arc;

use flysch::db::{Db, DbError, Durability, Options};
use flysch::media::Partition;
use flysch::row::Value;
use flysch_chip::{Chip, Clock, Part, Prng};
use flysch_nand::Geometry;
use parts::{NOTE, SCHEMA};

/// Bytes of the database's memory, its fields apart.
const RAM: usize = 16_384;
/// Rows of some 100 bytes. Each life updates one of them.
const ROWS: i64 = 1_000;

type Store<'ram, 'chip> = Db<'ram, 'static, &'chip mut Chip>;

/// How a life ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Cut,
    Closed,
}

/// What lives took.
#[derive(Default)]
struct Tally {
    lives: u32,
    reads: u32,
    most_reads: u32,
}

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u32>().ok());
    let (cuts, closes) = (args.next().unwrap_or(100_000), args.next().unwrap_or(1_000_000));
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let block_count = args.next().unwrap_or(part.geometry.block_count);
    let geometry = Geometry { block_count, ..part.geometry };
    let mut chip = Chip::new(Arc::new(Part { geometry, ..part }), Clock::new(), 1);
    let partition = Partition { first: 0, count: block_count };
    let options = Options { partition: Some(partition), seed: 7, capacity: 10_000 };
    create(&mut chip, options)?;
    println!(
        "| lives | end by | reads of a mount | most | erases a life | erases: mean | most | most \
         over mean |"
    );
    println!("{}|", "|--:".repeat(8));
    let mut prng = Prng::new(5);
    for (lives, ending) in [(cuts, Ending::Cut), (closes, Ending::Closed)] {
        let parts = (0..10).map(|tenth| lives * (tenth + 1) / 10 - lives * tenth / 10);
        for part in parts.filter(|&part| part > 0) {
            let before: u32 = chip.erase_counts().iter().sum();
            let mut tally = Tally::default();
            for _ in 0..part {
                live(&mut chip, options, ending, &mut prng, &mut tally)?;
            }
            show(&chip, ending, before, &tally);
        }
    }
    Ok(())
}

/// Create the database with all of its rows.
fn create(chip: &mut Chip, options: Options) -> Result<(), DbError> {
    let mut memory = vec![0; RAM - size_of::<Store<'_, '_>>()];
    let mut db = Db::create(chip, &SCHEMA, options, &mut memory)?;
    let mut tx = db.begin()?;
    for id in 0..ROWS {
        tx.insert(0, &values(id, 0))?;
    }
    tx.commit(Durability::Durable)?;
    db.close().map(drop)
}

fn values(id: i64, version: i64) -> [Value<'static>; 4] {
    [Value::Integer(id), Value::Integer(id % 97), Value::Integer(version), Value::Text(NOTE)]
}

/// One life: a mount, one update, and the end.
fn live(
    chip: &mut Chip,
    options: Options,
    ending: Ending,
    prng: &mut Prng,
    tally: &mut Tally,
) -> Result<(), DbError> {
    let mut memory = vec![0; RAM - size_of::<Store<'_, '_>>()];
    let mut db = Db::open(chip, &SCHEMA, options, &mut memory)?;
    let reads = db.report().reads;
    tally.reads += reads;
    tally.most_reads = tally.most_reads.max(reads);
    tally.lives += 1;
    let id = prng.below(ROWS.unsigned_abs()).cast_signed();
    let mut tx = db.begin()?;
    assert!(tx.update(0, &values(id, tally.lives.into()))?, "row {id} is there");
    tx.commit(Durability::Durable)?;
    if ending == Ending::Closed { db.close().map(drop) } else { Ok(()) }
}

fn show(chip: &Chip, ending: Ending, before: u32, tally: &Tally) {
    let erases = chip.erase_counts();
    let (most, all) = (erases.iter().max().copied().unwrap_or(0), erases.iter().sum::<u32>());
    let blocks = u32::try_from(erases.len()).expect("a part has fewer");
    let (lives, mean) = (f64::from(tally.lives), f64::from(all) / f64::from(blocks));
    println!(
        "| {} | {} | {:.1} | {} | {:.2} | {mean:.1} | {most} | {:.2} |",
        tally.lives,
        if ending == Ending::Cut { "a cut" } else { "a close" },
        f64::from(tally.reads) / lives,
        tally.most_reads,
        f64::from(all - before) / lives,
        f64::from(most) / mean
    );
}
