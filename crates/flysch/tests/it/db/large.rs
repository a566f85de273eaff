//! Transactions larger than the RAM, the memory table's runs and what a record can name: committed,
//! rolled back and cut.

use std::ops::Range;

use flysch::db::{Db, DbError, Direction, Durability, Transaction};
use flysch_chip::Prng;
use flysch_nand::WriteRule;

use super::image::{Doubt, Image};
use super::nvram::{Memory, lent};
use super::world::{OPTIONS, SCHEMA, ask_indexes, expected, insert, row, rows};

/// A device, and what its transactions insert.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) page_size: u32,
    pub(super) pages_per_block: u32,
    pub(super) blocks: u32,
    pub(super) ram: usize,
    /// Rows of a transaction.
    pub(super) rows: i64,
    /// Bytes of the longest note.
    pub(super) note_max: usize,
    /// Bytes of memory beside the chip, which takes commits; 0 where there is none.
    pub(super) nvram: usize,
}

/// Many blocks with the whole block table in the checkpoint, and with a page of it ahead; many
/// entries on few blocks; commits beside the chip.
pub(super) const CASES: [Case; 4] = [
    Case {
        page_size: 512,
        pages_per_block: 8,
        blocks: 150,
        ram: 8_000,
        rows: 900,
        note_max: 900,
        nvram: 0,
    },
    Case {
        page_size: 512,
        pages_per_block: 8,
        blocks: 300,
        ram: 10_000,
        rows: 1_200,
        note_max: 1_500,
        nvram: 0,
    },
    Case {
        page_size: 2048,
        pages_per_block: 32,
        blocks: 64,
        ram: 16_384,
        rows: 12_000,
        note_max: 0,
        nvram: 0,
    },
    Case {
        page_size: 512,
        pages_per_block: 8,
        blocks: 150,
        ram: 10_000,
        rows: 600,
        note_max: 900,
        nvram: 4_096,
    },
];

pub(super) type Small<'ram, 'i> = Db<'ram, 'static, &'i mut Image>;

/// A chip, and the memory beside it.
#[derive(Clone)]
pub(super) struct Device {
    image: Image,
    memory: Option<Memory>,
}

impl Device {
    /// A device that holds rows 0 to 19, each of them committed for itself.
    pub(super) fn begun(case: &Case) -> (Self, Vec<i64>) {
        let mut image = Image::of(case.page_size, case.pages_per_block, case.blocks);
        let has_memory = case.nvram > 0;
        let mut memory = has_memory.then(|| Memory::new(case.nvram, WriteRule::Overwrite));
        let kept: Vec<i64> = (0..20).collect();
        let (mut ram, nvram) = (vec![0; case.ram], lent(&mut memory));
        let mut db = Db::create_with_nvram(&mut image, nvram, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for id in &kept {
            insert(&mut db, &[*id], case.note_max, Durability::Durable).unwrap();
        }
        (Self { image, memory }, kept)
    }

    pub(super) fn with<T>(&mut self, case: &Case, f: impl FnOnce(&mut Small<'_, '_>) -> T) -> T {
        let (mut ram, nvram) = (vec![0; case.ram], lent(&mut self.memory));
        let opened = Db::open_with_nvram(&mut self.image, nvram, &SCHEMA, OPTIONS, &mut ram);
        f(&mut opened.unwrap())
    }
}

/// Check that a device has these rows and no others, by scans and by its indexes.
pub(super) fn check(db: &mut Small<'_, '_>, case: &Case, kept: &[i64], story: &str) {
    let found = rows(db, Direction::Forward).unwrap();
    assert!(found == expected(kept, case.note_max), "{story}: {} for {}", found.len(), kept.len());
    ask_indexes(db, &found, story).unwrap();
}

/// Insert the rows of a large transaction, some of which are taken back amid them.
pub(super) fn fill(
    tx: &mut Transaction<'_, '_, '_, &mut Image>,
    case: &Case,
    from: i64,
) -> Result<(), DbError> {
    let insert = |tx: &mut Transaction<'_, '_, '_, &mut Image>, ids: Range<i64>| {
        ids.into_iter().try_for_each(|id| row(id, case.note_max).insert(tx))
    };
    let (third, tenth) = (case.rows / 3, case.rows / 10);
    insert(tx, from..from + third)?;
    let savepoint = tx.savepoint()?;
    insert(tx, from + third..from + third + tenth)?;
    tx.roll_back_to(savepoint)?;
    insert(tx, from + third..from + case.rows)
}

/// One after another is rolled back and committed; a small one follows each, and the last one is
/// there in the next session.
#[test]
fn a_transaction_has_any_number_of_blocks_and_entries() {
    for case in &CASES {
        let (mut device, mut kept) = Device::begun(case);
        for life in 0..2 {
            let from = 1_000_000 * (life + 1);
            let story = format!("{case:?}, life {life}");
            device.with(case, |db| {
                let mut tx = db.begin().unwrap();
                fill(&mut tx, case, from).unwrap_or_else(|error| panic!("{error:?}: {story}"));
                tx.roll_back().unwrap();
                check(db, case, &kept, &story);
                insert(db, &[from - 1], case.note_max, Durability::Durable).unwrap();
                kept.push(from - 1);
                if life == 0 {
                    let mut tx = db.begin().unwrap();
                    fill(&mut tx, case, from).unwrap_or_else(|error| panic!("{error:?}: {story}"));
                    tx.commit(Durability::Durable).unwrap();
                    kept.extend(from..from + case.rows);
                }
                check(db, case, &kept, &story);
            });
            device.with(case, |db| check(db, case, &kept, &story));
        }
    }
}

/// The power goes at any operation of a large transaction: all of its rows are there or none, and
/// the sessions that follow go on.
#[test]
fn a_large_transaction_is_cut_anywhere() {
    for (case, tries) in CASES.iter().zip([24, 16, 6, 12]) {
        let (device, kept) = Device::begun(case);
        let before = device.image.changes;
        let mut whole = device.clone();
        whole.with(case, |db| {
            let mut tx = db.begin().unwrap();
            fill(&mut tx, case, 1_000).unwrap();
            tx.commit(Durability::Durable).unwrap();
        });
        let changes = whole.image.changes;
        let all = (changes[0] + changes[1]) - (before[0] + before[1]);
        let mut prng = Prng::new(u64::from(case.blocks));
        let mut done = 0;
        for turn in 0..tries {
            // The last operations are those of the commit.
            let late = prng.below(12.min(all));
            let cut_in = if turn % 3 == 0 { all - 1 - late } else { prng.below(all) };
            let story = format!("{case:?}, cut in {cut_in} of {all}");
            let mut cut = device.clone();
            cut.image.power_up(Some(cut_in), Doubt { seed: prng.next(), is_fickle: turn % 2 == 0 });
            cut.with(case, |db| {
                let mut tx = db.begin()?;
                fill(&mut tx, case, 1_000)?;
                tx.commit(Durability::Durable)
            })
            .expect_err(&story);
            cut.image.power_up(None, Doubt { seed: turn, is_fickle: turn % 2 == 0 });
            let mut kept = kept.clone();
            cut.with(case, |db| {
                if rows(db, Direction::Forward).unwrap().len() > kept.len() {
                    kept.extend(1_000..1_000 + case.rows);
                    done += 1;
                }
                check(db, case, &kept, &story);
                insert(db, &[500, 501], case.note_max, Durability::Durable).unwrap();
                kept.extend([500, 501]);
            });
            kept.sort_unstable();
            cut.with(case, |db| {
                let mut found = rows(db, Direction::Forward).unwrap();
                let mut wanted = expected(&kept, case.note_max);
                found.sort();
                wanted.sort();
                assert!(found == wanted, "{story}");
            });
        }
        println!("{case:?}: {tries} cuts in {all} operations, {done} of them behind the commit");
    }
}
