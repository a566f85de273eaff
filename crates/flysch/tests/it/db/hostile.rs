//! Any image is opened or refused: an error or an answer, never a panic, never a loop without end.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};

use flysch::db::{Db, DbError, Direction, Durability, MountError, Options};
use flysch::media::{MediaError, Partition, VERSION};
use flysch::query::Cursor;
use flysch::row::{Difference, Schema, Value};
use flysch_chip::Prng;

use super::forge::{Body, Forge, Stream, kind};
use super::image::Image;
use super::lies::{History, spoil};
use super::world::{OPTIONS, SCHEMA, insert, row};
use crate::told;

const RAM: usize = 10_000;

/// How a history goes: page size, blocks, rows, rows of a transaction, note lengths, and its end.
struct Plan {
    page_size: u32,
    block_count: u32,
    rows: i64,
    batch: usize,
    note_max: usize,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Closed,
    Left,
    Cut,
}

const fn plan(
    (page_size, block_count): (u32, u32),
    (rows, batch): (i64, usize),
    note_max: usize,
    ending: Ending,
) -> Plan {
    Plan { page_size, block_count, rows, batch, note_max, ending }
}

const PLANS: [Plan; 8] = [
    plan((512, 64), (0, 1), 0, Ending::Left),
    plan((512, 64), (40, 3), 0, Ending::Left),
    plan((512, 96), (400, 9), 30, Ending::Closed),
    plan((512, 128), (700, 20), 0, Ending::Cut),
    plan((1024, 64), (600, 30), 1500, Ending::Left),
    plan((1024, 48), (300, 1), 60, Ending::Cut),
    plan((2048, 40), (900, 40), 100, Ending::Left),
    plan((2048, 40), (500, 7), 9000, Ending::Closed),
];

/// An honest image, its forger, and the chip at earlier moments.
fn history(plan: &Plan) -> History {
    let mut image = Image::blank(plan.page_size, plan.block_count);
    let mut earlier = Vec::new();
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let numbers: Vec<i64> = (0..plan.rows).collect();
    for (turn, numbers) in numbers.chunks(plan.batch).enumerate() {
        if turn % 7 == 3 {
            let mut tx = db.begin().unwrap();
            let mut numbers = numbers.iter();
            let full = numbers.try_for_each(|n| row(n + 100_000, plan.note_max).insert(&mut tx));
            assert!(matches!(full, Ok(()) | Err(DbError::Full)));
            tx.roll_back().unwrap();
        }
        match insert(&mut db, numbers, plan.note_max, Durability::Durable) {
            Err(DbError::Full) => break,
            inserted => inserted.unwrap(),
        }
        if turn % 9 == 8 {
            earlier.push(Image::clone(db.nand()));
        }
    }
    match plan.ending {
        Ending::Closed => assert!(matches!(db.close(), Ok(_) | Err(DbError::Full))),
        Ending::Left => (),
        Ending::Cut => {
            db.nand_mut().cut_in = Some(5);
            let numbers: Vec<i64> = (plan.rows..plan.rows + 500).collect();
            let cut = numbers.chunks(9).try_for_each(|numbers| {
                insert(&mut db, numbers, plan.note_max, Durability::Durable)
            });
            assert!(cut.is_err());
        }
    }
    image.cut_in = None;
    image.reads = 0;
    History::new(image, earlier)
}

/// How much is done with an image that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// It is asked for rows.
    Mount,
    /// It is written to as well, closed, and opened again.
    Write,
    /// It is scanned besides, and written to until merges go on.
    Thorough,
}

impl Depth {
    /// Most images are mounted only: it is the mount that believes most.
    const fn of(seed: u64) -> Self {
        match seed / 8 % 8 {
            0 => Self::Thorough,
            1 | 2 => Self::Write,
            3.. => Self::Mount,
        }
    }
}

/// The plan of a seed: mostly one of small pages, which are quick to check.
const fn plan_of(seed: u64) -> usize {
    (if seed.is_multiple_of(8) { 4 + seed / 8 % 4 } else { seed % 4 }) as usize
}

/// What became of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    Failed,
    Answered,
}

/// Open an image and do everything with it. Gives the reads of the mount as well.
fn use_all(image: &mut Image, rows: i64, depth: Depth) -> (Outcome, u64) {
    let mut ram = vec![0; RAM];
    image.reads = 0;
    let Ok(mut db) = Db::open(&mut *image, &SCHEMA, OPTIONS, &mut ram) else {
        return (Outcome::Refused, image.reads);
    };
    let reads = db.nand().reads;
    if depth == Depth::Mount {
        let failed = get(&mut db, rows / 2).is_err();
        return (if failed { Outcome::Failed } else { Outcome::Answered }, reads);
    }
    let mut failed = ask(&mut db, rows).is_err();
    failed |= depth == Depth::Thorough && scan(&mut db).is_err();
    failed |= write(&mut db, rows, if depth == Depth::Thorough { 12 } else { 1 }).is_err();
    failed |= db.close().is_err();
    let mut ram = vec![0; RAM];
    let again = Db::open(&mut *image, &SCHEMA, OPTIONS, &mut ram);
    failed |= again.is_ok_and(|mut db| ask(&mut db, rows).is_err());
    (if failed { Outcome::Failed } else { Outcome::Answered }, reads)
}

fn scan(db: &mut Db<'_, '_, &mut Image>) -> Result<(), DbError> {
    let mut result = Ok(());
    let places = db.nand().geometry.page_count() * db.nand().geometry.page_size;
    for (table, direction) in [(0, Direction::Forward), (1, Direction::Backward)] {
        let mut scan = db.scan(table, direction)?;
        result = result.and(read_all(db, &mut scan, places));
        let mut all = db.all(table)?;
        result = result.and(read_all(db, &mut all, places));
    }
    result
}

/// Pull all rows of a cursor, which comes to an end.
fn read_all(
    db: &mut Db<'_, '_, &mut Image>,
    cursor: &mut impl Cursor,
    rows_max: u32,
) -> Result<(), DbError> {
    let mut out = vec![0; 1 << 14];
    for _ in 0..rows_max {
        if cursor.next(db, &mut out)?.is_none() {
            return Ok(());
        }
    }
    panic!("a cursor ends");
}

/// Look for a number in both tables.
fn get(db: &mut Db<'_, '_, &mut Image>, id: i64) -> Result<(), DbError> {
    let mut out = vec![0; 1 << 14];
    let reading = db.get(0, 0, &[Value::Integer(id)], &mut out).map(drop);
    reading.and(db.get(1, 0, &[Value::Integer(id)], &mut out).map(drop))
}

fn ask(db: &mut Db<'_, '_, &mut Image>, rows: i64) -> Result<(), DbError> {
    let mut out = vec![0; 1 << 14];
    let mut result = Ok(());
    for id in [0, rows / 2, rows - 1, rows + 7] {
        result = result.and(get(db, id));
    }
    let mut find = db.find(0, 1, &[Value::Integer(rows % 10)])?;
    for _ in 0..40 {
        match find.next(db, &mut out) {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => return Err(error),
        }
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let (least, greatest) = (Value::Integer(rows / 3), Value::Integer(rows / 3 + 60));
        let mut range = db.range(0, 0, (&least, &greatest), direction)?;
        for _ in 0..80 {
            match range.next(db, &mut out) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(error),
            }
        }
    }
    result
}

fn write(db: &mut Db<'_, '_, &mut Image>, rows: i64, turns: i64) -> Result<(), DbError> {
    let first = rows + 1_000_000;
    insert(db, &[first, first + 1, first + 2], 0, Durability::Durable)?;
    for turn in 0..turns {
        let numbers: Vec<i64> = (0..6).map(|n| first + 10 + turn * 6 + n).collect();
        insert(db, &numbers, 100, Durability::Durable)?;
    }
    Ok(())
}

/// Reads of a mount of a spoilt image, at most, as a multiple of those of the honest one.
const READS_FACTOR: u64 = 2;

/// What became of some images.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<Outcome, u64>,
    /// The most reads of a mount, in per cent of those of the honest image, and its seed.
    worst: (u64, u64),
    /// Seeds whose mounts read more than [`READS_FACTOR`] times as much as the honest image's.
    beyond: Vec<u64>,
    panicked: Vec<u64>,
}

/// Mount the images of some seeds.
fn mount_all(seeds: impl Iterator<Item = u64>) -> Tally {
    let histories: Vec<History> = PLANS.iter().map(history).collect();
    let honest: Vec<u64> = histories
        .iter()
        .zip(&PLANS)
        .map(|(history, plan)| {
            let (outcome, reads) =
                use_all(&mut history.image().clone(), plan.rows, Depth::Thorough);
            assert!(outcome != Outcome::Refused, "an honest image of {} rows", plan.rows);
            reads
        })
        .collect();
    let mut tally = Tally::default();
    for seed in seeds {
        let which = plan_of(seed);
        let mut image = spoil(&mut Prng::new(seed), &histories[which]);
        // Pages of rows, and those that end their blocks: a lie about the flush mark makes a mount
        // derive the entries of all of them again.
        let is_rows = |page: &usize| (0x14..=0x16).contains(&image.bytes(*page)[0]);
        let rows_pages = image.written().iter().filter(|page| is_rows(page)).count() as u64;
        image.reads_max = 20_000;
        let rows = PLANS[which].rows;
        let use_it = || use_all(&mut image, rows, Depth::of(seed));
        let used = panic::catch_unwind(AssertUnwindSafe(use_it));
        let Ok((outcome, reads)) = used else {
            tally.panicked.push(seed);
            continue;
        };
        *tally.counts.entry(outcome).or_insert(0) += 1;
        tally.worst = tally.worst.max((reads * 100 / honest[which], seed));
        let most = READS_FACTOR * honest[which] + rows_pages;
        if reads > most {
            tally.beyond.push(seed);
        }
        let is_bounded = reads <= most + honest[which];
        assert!(is_bounded, "{reads} reads of seed {seed}, {} honest ones", honest[which]);
    }
    tally
}

/// Images that made it panic once: a table with a number that no space has; runs with entries
/// beyond the bounds that the table of runs tells; void spans of which each begins where the other
/// ends.
#[test]
fn images_that_made_it_panic_once_are_answered_or_refused() {
    let tally =
        mount_all([777_003_786, 777_013_314, 777_066_694, 777_074_374, 902_199_883].into_iter());
    assert_eq!(tally.panicked, []);
}

/// Images whose mounts read more than twice as much as an honest one: lists and sets of root blocks
/// that name a block again and again, and lost roots behind which names were sought.
#[test]
fn images_that_were_read_too_much_once_are_read_less() {
    let seeds = [
        900_045_172,
        900_173_924,
        900_183_740,
        901_064_780,
        901_129_108,
        901_164_060,
        901_164_988,
        901_175_212,
        902_040_684,
        902_110_404,
        902_115_252,
        902_187_692,
        902_238_444,
        903_017_220,
        903_022_060,
        903_047_332,
        903_127_884,
    ];
    assert_eq!(mount_all(seeds.into_iter()).beyond, []);
}

/// `FLYSCH_SEEDS` times a hundred mounts, 20,000 where it does not say, from seed `FLYSCH_SEED` on;
/// that seed alone where only it is told.
#[test]
fn spoilt_images_are_answered_or_refused() {
    let (first, seeds) = (told("FLYSCH_SEED"), told("FLYSCH_SEEDS"));
    let count = match (first, seeds) {
        (Some(_), None) => 1,
        (_, seeds) => seeds.unwrap_or(200) * 100,
    };
    let (from, threads) = (first.unwrap_or(0), 2);
    let of = |thread: u64| move || mount_all((from..from + count).skip(thread as usize).step_by(2));
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(of(thread))).collect();
        for worker in workers {
            let Tally { counts, worst, beyond, panicked } = worker.join().unwrap();
            for (outcome, count) in counts {
                *all.counts.entry(outcome).or_insert(0) += count;
            }
            all.worst = all.worst.max(worst);
            all.beyond.extend(beyond);
            all.panicked.extend(panicked);
        }
    });
    let Tally { counts, worst, beyond, panicked } = all;
    println!("images: {counts:?}; most reads, in per cent of honest ones, and the seed: {worst:?}");
    let many = beyond.len();
    println!("{many} mounts read more than {READS_FACTOR} times as much as an honest one");
    assert!(beyond.is_empty(), "{many} of {count} mounts read too much, seeds {beyond:?}");
    assert!(panicked.is_empty(), "{} images made it panic, seeds {panicked:?}", panicked.len());
}

/// The forger knows the format: what it reads and seals again is what it was.
#[test]
fn the_forger_writes_what_the_engine_writes() {
    for plan in &PLANS {
        let image = history(plan).image().clone();
        let forge = Forge::of(&image);
        let kinds = [kind::ROOT, kind::RECORD, kind::ROWS, kind::RUN];
        for page in kinds.into_iter().flat_map(|kind| Forge::newest(&image, kind)) {
            let bytes = image.bytes(page);
            let is_current = forge.is_sealed(&bytes, page);
            assert!(is_current || bytes[0] == kind::RUN || bytes[0] == kind::ROWS);
            let is_first = bytes[1].trailing_zeros() >= 7;
            if !matches!(bytes[0], kind::ROOT | kind::RECORD) || !is_first {
                continue;
            }
            let Some(stream) = Stream::read(&image, page) else { continue };
            let mut copy = image.clone();
            stream.write(&mut copy, &forge);
            assert!(copy.pages == image.pages, "page {page} is written as it was");
            let front = stream.body_at(bytes[0]);
            if stream.bytes.len() > front {
                let body = Body::parse(&stream.bytes[front..]).unwrap();
                assert_eq!(body.emit(), stream.bytes[front..], "page {page} has a body");
            }
        }
    }
}

/// A database of another schema, capacity or partition is refused by name, and so is a newer one.
#[test]
fn what_is_not_ours_is_refused_by_name() {
    let honest = history(&PLANS[1]).image().clone();
    let forge = Forge::of(&honest);
    let open = |image: &mut Image, schema, options| {
        let mut ram = vec![0; RAM];
        Db::open(image, schema, options, &mut ram).map(drop)
    };
    let other = Schema { tables: &SCHEMA.tables[..1] };
    let made_otherwise = |part| Err(DbError::Mount(MountError::Schema(part)));
    let less = made_otherwise(Difference::Table { table: 1 });
    assert_eq!(open(&mut honest.clone(), &other, OPTIONS), less);
    let larger = Options { capacity: OPTIONS.capacity * 2, ..OPTIONS };
    assert_eq!(open(&mut honest.clone(), &SCHEMA, larger), made_otherwise(Difference::Options));
    let fewer = Partition { first: 0, count: 63 };
    let part = Options { partition: Some(fewer), ..OPTIONS };
    let refused = Err(DbError::Mount(MountError::Partition));
    assert_eq!(open(&mut honest.clone(), &SCHEMA, part), refused);
    let refused = Err(DbError::Mount(MountError::Missing));
    assert_eq!(open(&mut Image::blank(512, 64), &SCHEMA, OPTIONS), refused);
    let record = Forge::newest(&honest, kind::RECORD)[..1].to_vec();
    for pages in [honest.written(), record] {
        let newer = Err(DbError::Mount(MountError::Media(MediaError::Version(VERSION + 1))));
        let mut image = honest.clone();
        for page in pages {
            let mut bytes = image.bytes(page);
            bytes[0] += 0x10;
            forge.put(&mut image, page, &mut bytes);
        }
        assert_eq!(open(&mut image, &SCHEMA, OPTIONS), newer);
    }
}
