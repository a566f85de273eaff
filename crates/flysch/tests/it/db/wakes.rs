//! A device that wakes often: what a mount costs, and how its blocks wear.

use flysch::db::{Db, Direction, Durability, OpenReport, Options};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};

use super::forge::kind;
use super::image::Image;
use super::world::{self, OPTIONS, index};
use super::worst::{self, counted};
use crate::told;

/// A table with six indexes.
const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("a", ColumnType::Integer),
            Column::required("b", ColumnType::Integer),
            Column::required("c", ColumnType::Integer),
            Column::required("d", ColumnType::Integer),
            Column::required("e", ColumnType::Text),
        ],
        indexes: &[
            index(&[0], IndexKind::Ordered, true),
            index(&[1], IndexKind::Hash, false),
            index(&[2], IndexKind::Hash, false),
            index(&[3], IndexKind::Ordered, false),
            index(&[4], IndexKind::Hash, false),
            index(&[5], IndexKind::Hash, false),
        ],
        zone: Some(0),
        keep: None,
    }],
};

/// A table of a few rows that are written again and again.
const COUNTERS: Schema<'static> = Schema {
    tables: &[Table {
        name: "counter",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("count", ColumnType::Integer),
        ],
        indexes: &[index(&[0], IndexKind::Hash, true)],
        zone: None,
        keep: None,
    }],
};

fn put(db: &mut Db<'_, '_, &mut Image>, id: i64) {
    let integer = |by: i64| Value::Integer(id.wrapping_mul(by) % 1009);
    let row =
        [Value::Integer(id), integer(3), integer(7), integer(11), integer(13), Value::Text("text")];
    let mut tx = db.begin().unwrap();
    tx.upsert(0, &row).unwrap();
    tx.commit(Durability::Durable).unwrap();
}

fn count(db: &mut Db<'_, '_, &mut Image>, id: i64) {
    let mut tx = db.begin().unwrap();
    tx.upsert(0, &[Value::Integer(id % 50), Value::Integer(id)]).unwrap();
    tx.commit(Durability::Durable).unwrap();
}

type Write = fn(&mut Db<'_, '_, &mut Image>, i64);

/// A device, with its RAM.
struct Device {
    schema: &'static Schema<'static>,
    /// Commits the row of a number.
    write: Write,
    options: Options,
    image: Image,
    ram: Vec<u8>,
    /// Operations that pay debts ahead, in each life.
    budget: u32,
    /// Blocks of rows at the end of the last life.
    row_blocks: u32,
}

impl Device {
    fn new(
        (schema, write): (&'static Schema<'static>, Write),
        (page_size, pages, blocks): (u32, u32, u32),
        (ram, capacity): (usize, u32),
    ) -> Self {
        let (mut image, mut ram) = (Image::of(page_size, pages, blocks), vec![0; ram]);
        let options = Options { partition: None, seed: 3, capacity };
        Db::create(&mut image, schema, options, &mut ram).map(drop).unwrap();
        let budget = told("FLYSCH_BUDGET").unwrap_or(200) as u32;
        Self { schema, write, options, image, ram, budget, row_blocks: 0 }
    }

    /// Wake, commit some rows, and leave. Gives what the mount reported, and the programs and
    /// erases of the first commit.
    fn wake(&mut self, rows: core::ops::Range<i64>, is_clean: bool) -> (OpenReport, [u64; 2]) {
        let mut db = Db::open(&mut self.image, self.schema, self.options, &mut self.ram).unwrap();
        let report = *db.report();
        let row_blocks = db.stats().row_blocks;
        assert!(row_blocks <= self.row_blocks, "{row_blocks} blocks of rows, no block comes back");
        let before = db.nand().changes;
        let mut first = [0; 2];
        for (number, id) in rows.enumerate() {
            (self.write)(&mut db, id);
            if number == 0 {
                let after = db.nand().changes;
                first = [after[0] - before[0], after[1] - before[1]];
            }
        }
        db.maintain(flysch::db::Budget { operations: self.budget }).unwrap();
        self.row_blocks = db.stats().row_blocks;
        if is_clean {
            db.close().unwrap();
        }
        (report, first)
    }

    /// Wake so many times, for a commit of one row each. Gives the most blocks of rows at an end.
    fn live(&mut self, lives: i64, is_clean: bool) -> u32 {
        let mut most = 0;
        for wake in 0..lives {
            self.wake(wake..wake + 1, is_clean);
            most = most.max(self.row_blocks);
        }
        most
    }

    /// The mean wear, the greatest, and the greatest of blocks that hold roots or name them.
    fn wear(&self) -> (f64, u32, u32) {
        let pages = self.image.geometry.pages_per_block as usize;
        let of_roots = self.image.worn.iter().enumerate().filter(|(block, _)| {
            self.image.pages[block * pages]
                .as_ref()
                .is_some_and(|page| matches!(page[0], kind::ROOT | kind::ANCHOR))
        });
        let most_of_roots = of_roots.map(|(_, worn)| *worn).max().unwrap_or(0);
        let worn = &self.image.worn;
        let mean = f64::from(worn.iter().sum::<u32>()) / f64::from(worn.len() as u32);
        (mean, worn.iter().copied().max().unwrap_or(0), most_of_roots)
    }
}

/// `FLYSCH_CUT_WAKES` and `FLYSCH_CLEAN_WAKES` of a row each, on `FLYSCH_BLOCKS` blocks.
#[test]
fn wakes_do_not_wear_root_blocks_out() {
    let blocks = told("FLYSCH_BLOCKS").unwrap_or(96) as u32;
    let shape = if blocks > 96 { (2048, 64, blocks) } else { (512, 16, blocks) };
    let mut device = Device::new((&COUNTERS, count), shape, (20_000, 100));
    let (cut, clean) =
        (told("FLYSCH_CUT_WAKES").unwrap_or(7000), told("FLYSCH_CLEAN_WAKES").unwrap_or(4000));
    let mut not_clean = 0;
    device.live(cut.cast_signed(), false);
    let after_cuts = device.wear();
    device.wake(0..1, true);
    for wake in 0..clean.cast_signed() {
        let (report, _) = device.wake(wake..wake + 1, true);
        not_clean += u32::from(!report.is_clean);
    }
    let (mean, most, of_roots) = device.wear();
    println!("{blocks} blocks, {cut} cut wakes: mean, most, most of roots {after_cuts:?}");
    println!("and {clean} clean ones: {mean:.1}, {most}, {of_roots}; {not_clean} were not clean");
    for (mean, most, of_roots) in [after_cuts, (mean, most, of_roots)] {
        let is_kept = f64::from(of_roots) <= 2.0 * mean;
        assert!(is_kept, "a root block is worn {of_roots} times, the mean {mean:.1}");
        // Of as many wakes one block was once worn by a third: no checkpoint told of its erases.
        let is_even = f64::from(most) <= 2.0 * mean;
        assert!(is_even, "a block is worn {most} times, the mean {mean:.1}");
    }
    assert!(not_clean <= 4, "{not_clean} mounts after a close were not clean");
}

/// Mounts of 16 MB, 128 MB and 1 GB.
#[test]
fn mounts_read_little() {
    let rows = told("FLYSCH_ROWS").unwrap_or(1500).cast_signed();
    for blocks in [128, 1024, 8192] {
        let ram = if blocks > 4096 { 65_536 } else { 20_000 };
        let mut device = Device::new((&SCHEMA, put), (2048, 64, blocks), (ram, 100_000));
        let (mut id, mut cut, mut clean) = (0, [0; 3], [0; 3]);
        let note = |most: &mut [u64; 3], (report, first): (OpenReport, [u64; 2])| {
            for (most, one) in most.iter_mut().zip([u64::from(report.reads), first[0], first[1]]) {
                *most = (*most).max(one);
            }
        };
        while id < rows {
            for (turn, len) in [1, 2, 3, 5, 8, 13, 21, 34, 300, 300].into_iter().enumerate() {
                let is_clean = turn % 2 == 1;
                let seen = device.wake(id..id + len, is_clean);
                id += len;
                let was_clean = seen.0.is_clean;
                note(if was_clean { &mut clean } else { &mut cut }, seen);
            }
        }
        println!("{blocks} blocks, {id} rows: most reads of a mount, programs and erases of the");
        println!("first commit: after a cut {cut:?}, after a close {clean:?}");
        assert!(cut[0] <= 110 && clean[0] <= 110, "{blocks} blocks: {cut:?}, {clean:?}");
    }
}

/// Rows that fill their pages, in one transaction: their entries fit into RAM, and a mount would
/// read each page for them.
#[test]
fn a_mount_after_a_long_transaction_reads_little() {
    for (rows, size, ram) in [(20, 1900, 16_384), (60, 1900, 16_384), (500, 1900, 65_536)] {
        for is_closed in [false, true] {
            let (mut image, mut memory) = (Image::of(2048, 64, 1024), vec![0; ram]);
            let mut db = Db::create(&mut image, &world::SCHEMA, OPTIONS, &mut memory).unwrap();
            let mut tx = db.begin().unwrap();
            for id in 0..rows {
                tx.insert(1, &[Value::Integer(id), Value::Blob(&vec![7; size])]).unwrap();
            }
            tx.commit(Durability::Durable).unwrap();
            if is_closed {
                db.close().unwrap();
            }
            let mut db = Db::open(&mut image, &world::SCHEMA, OPTIONS, &mut memory).unwrap();
            let reads = db.report().reads;
            assert!(reads <= 110, "{rows} rows, closed: {is_closed}: {reads} reads");
            let left = db.scan(1, Direction::Forward).unwrap().count(&mut db, &mut [0; 2000]);
            assert_eq!(left, Ok(rows.cast_unsigned()));
        }
    }
}

/// Lives of one commit, after which the power goes. Blocks of runs that such a life let go were
/// taken for used by the next one, and after 6,000 lives a device of 50 rows was full. A block that
/// was copied and let go by the same life came back, without what told of its void pages. Blocks
/// that mounts left are emptied once space is short, and not before.
#[test]
fn short_lives_let_blocks_go_for_good() {
    let mut device = Device::new((&COUNTERS, count), (512, 16, 64), (20_000, 100));
    let most = device.live(9000, false);
    assert!(most < 45, "{most} of 64 blocks for 50 rows");
}

/// Lives of one commit that pay little ahead: each leaves a void span in its block, and its mount
/// forgets the victim of compaction. On 1,024 blocks rows were refused after some thousands of
/// them, with 992 blocks free.
#[test]
fn short_lives_that_pay_little_ahead_are_never_refused() {
    let mut device = Device::new((&COUNTERS, count), (2048, 64, 1024), (20_000, 100));
    device.budget = 16;
    device.live(6000, false);
}

/// Lives of one commit that do so little compaction that no block is moved in any of them. Each
/// leaves a page out. The head of new rows came round to the number of the oldest block, and the
/// database could not be opened any more: on 96 blocks of 16 pages after 17,000 lives.
#[test]
fn short_lives_never_run_out_of_numbers() {
    let mut device = Device::new((&COUNTERS, count), (512, 8, 24), (20_000, 100));
    device.budget = 16;
    device.live(3000, false);
}

/// Each life goes on in another log block. A session erased a block ahead at its first commit,
/// which no life so short needs: two erases each.
#[test]
fn closed_lives_erase_one_block_each() {
    let mut device = Device::new((&COUNTERS, count), (2048, 64, 1024), (20_000, 100));
    (device.budget, device.image.changes) = (0, [0; 2]);
    device.live(500, true);
    let [_, erases] = device.image.changes;
    assert!((500..600).contains(&erases), "{erases} erases in 500 lives");
}

/// Lives of some commits that pay nothing ahead, for a table of six indexes. Each began its merges
/// anew, behind the learning of all filters, until the table of runs was full. Then one insert did
/// them all: 80 pages of them, with 1,100 reads and five erases. All but the first commit of each
/// life, which makes certain what the mount found, now do what those of a long session do.
#[test]
fn short_lives_do_their_merges_bit_by_bit() {
    for (pages, len) in [(16, 3), (32, 7), (64, 11)] {
        let mut device = Device::new((&SCHEMA, put), (2048, pages, 8192 / pages), (20_000, 20_000));
        let mut most = [0; 3];
        for life in 0..12_000 / len {
            let (image, ram) = (&mut device.image, &mut device.ram);
            let mut db = Db::open(image, &SCHEMA, device.options, ram).unwrap();
            put(&mut db, life * len);
            for id in life * len + 1..(life + 1) * len {
                let (before, has_runs) = (counted(db.nand()), db.stats().run_blocks > 0);
                put(&mut db, id);
                let after = counted(db.nand());
                let erases = after[2] - before[2];
                // The first page of rows and the first run each take a block.
                assert!(erases <= 1 + u64::from(!has_runs), "{pages} pages, row {id}: {erases}");
                worst::note(&mut most, before, after);
            }
            db.close().unwrap();
        }
        println!("{pages} pages, {len} rows each: reads, programs and erases {most:?}");
        assert!(most[0] <= 24 && most[1] <= 6, "{pages} pages, {len} rows each: {most:?}");
    }
}

/// Lives of some commits that end by a cut, on a device with space. Each leaves void spans. Where
/// many had come together, one call moved the rows of two blocks: 286 programs, 7,900 reads.
#[test]
fn lives_that_end_by_a_cut_move_no_rows_while_there_is_space() {
    let mut device = Device::new((&SCHEMA, put), (2048, 64, 128), (16_384, 100_000));
    let (mut most, mut id) = ([0; 3], 0);
    for life in 0..400 {
        let (image, ram) = (&mut device.image, &mut device.ram);
        let mut db = Db::open(image, &SCHEMA, device.options, ram).unwrap();
        for _ in 0..20 + life % 20 {
            let before = counted(db.nand());
            put(&mut db, id);
            worst::note(&mut most, before, counted(db.nand()));
            id += 1;
        }
        assert_eq!(db.moved_pages(), 0, "life {life}");
    }
    println!("{id} rows: reads, programs and erases of a call {most:?}");
    assert!(most[0] <= 80 && most[1] <= 12, "{most:?}");
}

/// Lives of one commit that are closed. None told the next which rows it had replaced, so all
/// blocks filled up with dead rows, and then each life looked through them.
#[test]
fn clean_lives_tell_what_is_dead() {
    let mut device = Device::new((&COUNTERS, count), (512, 8, 64), (20_000, 100));
    let most = device.live(4000, true);
    assert!(most < 8, "{most} of 64 blocks for 50 rows");
}
