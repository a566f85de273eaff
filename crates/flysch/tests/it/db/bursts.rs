//! Bursts: calls that do the work of hundreds of others. With six indexes in little RAM, and in
//! sessions half of which end by a cut, merges and moves of rows still go on bit by bit.

use flysch::db::{Db, Durability, Options};
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use super::world::index;
use super::worst::{self, Most, counted};

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("at", ColumnType::Time),
            Column::required("sensor", ColumnType::Integer),
            Column::required("value", ColumnType::Real),
        ],
        indexes: &[
            index(&[0], IndexKind::Ordered, true),
            index(&[1], IndexKind::Hash, false),
            index(&[2], IndexKind::Ordered, false),
            index(&[1, 0], IndexKind::Ordered, true),
            index(&[2], IndexKind::Hash, false),
            index(&[1], IndexKind::Ordered, false),
        ],
        zone: Some(0),
        keep: None,
    }],
};
const _: () = assert!(SCHEMA.check().is_ok());
const OPTIONS: Options = Options { partition: None, seed: 3, capacity: 100_000 };

/// Rows that come, change and go.
struct Readings {
    prng: Prng,
    live: Vec<i64>,
    next: i64,
}

impl Readings {
    fn new(seed: u64) -> Self {
        Self { prng: Prng::new(seed), live: Vec::new(), next: 0 }
    }

    fn row(&mut self, at: i64) -> [Value<'static>; 3] {
        let value = f64::from(self.prng.below(1 << 20) as u32);
        let sensor = self.prng.below(16).cast_signed();
        [Value::Time(at), Value::Integer(sensor), Value::Real(value.into())]
    }

    fn pick(&mut self) -> usize {
        self.prng.below(self.live.len() as u64) as usize
    }

    /// Commit a new row, or sometimes another change, and note what the call did.
    fn change(&mut self, db: &mut Db<'_, '_, &mut Image>, most: &mut Most, may_change: bool) {
        let before = counted(db.nand());
        let mut tx = db.begin().unwrap();
        match if may_change && !self.live.is_empty() { self.prng.below(3) } else { 0 } {
            0 => {
                let row = self.row(self.next);
                tx.insert(0, &row).unwrap();
                self.live.push(self.next);
                self.next += 1;
            }
            1 => {
                let at = self.pick();
                let row = self.row(self.live[at]);
                assert_eq!(tx.update(0, &row), Ok(true));
            }
            _ => {
                let at = self.pick();
                let row = self.live.swap_remove(at);
                assert_eq!(tx.delete(0, &[Value::Time(row)]), Ok(true));
            }
        }
        tx.commit(Durability::Durable).unwrap();
        worst::note(most, before, counted(db.nand()));
    }
}

/// The table of runs was full amid a round of merges, and one insert did what was left of it: up to
/// 300 programs.
#[test]
fn an_insert_waits_for_no_round_of_merges() {
    for (seed, ram) in [(1, 10_240), (2, 10_240), (1, 12_288), (1, 16_384)] {
        let mut image = Image::of(2048, 64, 64);
        let mut ram = vec![0; ram];
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let (mut readings, mut most) = (Readings::new(seed), [0; 3]);
        for _ in 0..12_000 {
            readings.change(&mut db, &mut most, false);
        }
        println!("{} bytes: reads, programs and erases of a call {most:?}", ram.len());
        assert!(most[1] <= 12, "{} bytes, seed {seed}: {most:?}", ram.len());
    }
}

/// A cut before the summary of a block put it in doubt, so the state had to keep the block's void
/// spans. Where too many came together, one call moved the rows of whole blocks: up to 725
/// programs.
#[test]
fn a_cut_seldom_puts_a_summary_in_doubt() {
    let chips = [((512, 32, 256), 10_000), ((2048, 64, 64), 12_288)];
    for ((page_size, pages, blocks), ram) in chips {
        for seed in [1, 2] {
            let mut image = Image::of(page_size, pages, blocks);
            let mut ram = vec![0; ram];
            Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
            let (mut readings, mut most) = (Readings::new(seed), [0; 3]);
            for _ in 0..350 {
                let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
                let may_change = readings.prng.below(2) == 0;
                for _ in 0..20 + readings.prng.below(40) {
                    readings.change(&mut db, &mut most, may_change);
                }
                if readings.prng.below(2) == 0 {
                    db.close().unwrap();
                }
            }
            println!("{page_size}: reads, programs and erases of a call {most:?}");
            // On pages of 512 bytes every ten rows of six indexes take a run of some pages, which
            // small merges soon write again.
            let limit = if page_size == 512 { 100 } else { 12 };
            assert!(most[1] <= limit, "{page_size}, seed {seed}: {most:?}");
        }
    }
}
