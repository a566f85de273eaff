//! Sorts against what a stable sort in memory says: of few and of many rows, by several columns,
//! among commits, where programs fail, and where the power goes.

use flysch::db::{Db, DbError, Direction, Durability, MountError, Options, Reader, Transaction};
use flysch::media::{Cause, MediaError};
use flysch::query::{Cursor, Groups, Merge, Order, Sort};
use flysch::row::{Column, ColumnType, Index, IndexKind, RowView, Schema, Table, Value};
use flysch_chip::{FaultPlan, Prng};
use flysch_nand::Nand;

use super::image::Image;
use super::world::{chip, chip_of};

/// Entries by number, in groups.
const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "entry",
            columns: &[
                Column::required("number", ColumnType::Integer),
                Column::nullable("group", ColumnType::Integer),
                Column::required("text", ColumnType::Text),
                Column::required("filling", ColumnType::Blob),
            ],
            indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
            zone: None,
            keep: None,
        },
        Table {
            name: "group",
            columns: &[Column::nullable("group", ColumnType::Integer)],
            indexes: &[],
            zone: None,
            keep: None,
        },
    ],
};
const _: () = assert!(SCHEMA.check().is_ok());

const OPTIONS: Options = Options { partition: None, seed: 5, capacity: 8000 };
const LOST: DbError = DbError::Media(MediaError::PowerLost);
const MOUNT_LOST: DbError = DbError::Mount(MountError::Media(MediaError::PowerLost));
const GROUPS: i64 = 9;
/// Bytes of the longest row.
const ROW_MAX: usize = 200;
/// Texts that agree in their first bytes.
const TEXTS: [&str; 5] = ["the house, above", "the house, below", "", "the", "the house\0"];

/// An entry as the tests know it: number, group, text, and bytes of its filling.
type Entry = (i64, Option<i64>, &'static str, usize);

fn entry(number: i64, prng: &mut Prng) -> Entry {
    let group = prng.below(GROUPS.unsigned_abs() + 1).cast_signed();
    let filling = prng.below(100) as usize;
    (number, (group < GROUPS).then_some(group - 3), TEXTS[prng.below(5) as usize], filling)
}

fn read(row: &RowView<'_, '_>) -> Entry {
    let group = match row.column(1).unwrap() {
        Value::Integer(group) => Some(group),
        _ => None,
    };
    let (Ok(Value::Integer(number)), Ok(Value::Text(text)), Ok(Value::Blob(bytes))) =
        (row.column(0), row.column(2), row.column(3))
    else {
        panic!("the columns have their types")
    };
    assert!(bytes.iter().all(|byte| *byte == filling(number)), "the row is whole");
    let text = TEXTS.into_iter().find(|known| *known == text).expect("it is one of them");
    (number, group, text, bytes.len())
}

/// The byte that fills an entry.
fn filling(number: i64) -> u8 {
    number.to_le_bytes()[0]
}

fn put<N: Nand>(
    tx: &mut Transaction<'_, '_, '_, N>,
    &(number, group, text, len): &Entry,
) -> Result<(), DbError> {
    let group = group.map_or(Value::Null, Value::Integer);
    let filling = vec![filling(number); len];
    tx.insert(0, &[Value::Integer(number), group, Value::Text(text), Value::Blob(&filling)])
}

fn insert<N: Nand>(db: &mut Db<'_, '_, N>, entries: &[Entry]) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    entries.iter().try_for_each(|entry| put(&mut tx, entry))?;
    tx.commit(Durability::Durable)
}

/// Insert the entry behind the last one.
fn grow<N: Nand>(
    db: &mut Db<'_, '_, N>,
    entries: &mut Vec<Entry>,
    prng: &mut Prng,
) -> Result<(), DbError> {
    let number = entries.last().map_or(0, |last| last.0 + 1);
    entries.push(entry(number, prng));
    insert(db, &entries[entries.len() - 1..])
}

/// Fill a database with so many entries.
fn filled<N: Nand>(db: &mut Db<'_, '_, N>, count: i64, prng: &mut Prng) -> Vec<Entry> {
    let entries: Vec<Entry> = (0..count).map(|number| entry(number, prng)).collect();
    for some in entries.chunks(40) {
        insert(db, some).unwrap();
    }
    entries
}

/// What a sort by these columns gives.
fn sorted(entries: &[Entry], columns: &[u8], order: Order) -> Vec<Entry> {
    let mut sorted = entries.to_vec();
    sorted.sort_by(|one, other| {
        let all = columns.iter().map(|column| match column {
            0 => one.0.cmp(&other.0),
            1 => one.1.cmp(&other.1),
            _ => one.2.cmp(other.2),
        });
        let by_all = all.reduce(core::cmp::Ordering::then).expect("there is a column");
        if order == Order::Descending { by_all.reverse() } else { by_all }
    });
    sorted
}

/// Offer all entries to a sort.
fn offer<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    sort: &mut Sort<'_>,
) -> Result<(), DbError> {
    let mut scan = reader.reading()?.scan(0, Direction::Forward)?;
    sort.collect(reader, &mut scan, &mut [0; ROW_MAX])
}

/// Pull a cursor to its end.
fn pull<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    cursor: &mut impl Cursor,
) -> Result<Vec<Entry>, DbError> {
    let (mut out, mut found) = ([0; ROW_MAX], Vec::new());
    while let Some(row) = cursor.next(reader, &mut out)? {
        found.push(read(&row));
    }
    Ok(found)
}

#[test]
fn rows_come_in_the_order_of_their_columns() {
    let orders = [Order::Ascending, Order::Descending];
    let columns: [&[u8]; 4] = [&[2, 1], &[1], &[2], &[0]];
    for (count, memory, spills) in [
        (0_i64, 600, false),
        (1, 600, false),
        (30, 4000, false),
        (60, 600, true),
        (900, 1900, true),
        (2500, 700, true),
        (2500, 9000, true),
    ] {
        let mut prng = Prng::new(count.unsigned_abs());
        let (mut nand, mut ram) = (chip_of(512, 16, 400), vec![0; 12_000]);
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let entries = filled(&mut db, count, &mut prng);
        for (order, columns) in orders.iter().flat_map(|o| columns.map(|columns| (*o, columns))) {
            let story = format!("{count} rows, {memory} bytes, {columns:?} {order:?}");
            let mut memory = vec![0; memory];
            let mut sort = Sort::new(&mut memory, ROW_MAX, columns, order).unwrap();
            let before = db.stats().counts.programs_for(Cause::Sort);
            offer(&mut db, &mut sort).unwrap();
            let found = pull(&mut db, &mut sort).unwrap();
            assert!(found == sorted(&entries, columns, order), "{story}");
            let programs = db.stats().counts.programs_for(Cause::Sort) - before;
            assert_eq!(programs > 0, spills, "{story}");
            assert!(sort.next(&mut db, &mut [0; ROW_MAX]).unwrap().is_none(), "{story}");
        }
        // Records let the blocks of each sort go.
        let free = db.stats().free_blocks;
        insert(&mut db, &[entry(count, &mut prng)]).unwrap();
        let now = db.stats().free_blocks;
        assert!(now + 4 >= free && db.stats().run_blocks < 60, "{now} of {free} are free");
    }
}

/// The rows of a sort can be grouped and merged as those of an index.
#[test]
fn a_sort_is_a_cursor() {
    let (mut nand, mut ram, mut prng) = (chip(512, 200), vec![0; 12_000], Prng::new(4));
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let entries = filled(&mut db, 300, &mut prng);
    let mut tx = db.begin().unwrap();
    for group in (0..GROUPS).rev() {
        tx.insert(1, &[Value::Integer(group - 3)]).unwrap();
    }
    tx.commit(Durability::Durable).unwrap();

    let mut memory = vec![0; 1500];
    let mut sort = Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending).unwrap();
    offer(&mut db, &mut sort).unwrap();
    let (mut first, mut ahead) = ([0; ROW_MAX], [0; ROW_MAX]);
    let mut groups = Groups::new(sort, &[1], 0);
    let mut found = Vec::new();
    while let Some((row, total)) = groups.next(&mut db, &mut first, &mut ahead).unwrap() {
        found.push((read(&row).1, total.count as usize));
    }
    let count = |group| entries.iter().filter(|entry| entry.1 == group).count();
    let groups = core::iter::once(None).chain((0..GROUPS).map(|group| Some(group - 3)));
    assert!(found.into_iter().eq(groups.map(|group| (group, count(group)))));

    // One sort has pages, the other one fits the RAM.
    let (mut memory, mut other) = (vec![0; 1500], vec![0; 1500]);
    let mut left = Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending).unwrap();
    offer(&mut db, &mut left).unwrap();
    let mut right = Sort::new(&mut other, 20, &[0], Order::Ascending).unwrap();
    let mut scan = db.scan(1, Direction::Forward).unwrap();
    right.collect(&mut db, &mut scan, &mut [0; 20]).unwrap();
    let mut merge = Merge::new(left, right, (&[1], &[0]));
    let mut pairs = 0;
    while let Some((entry, group)) = merge.next(&mut db, &mut first, &mut ahead).unwrap() {
        assert_eq!(entry.column(1), group.column(0));
        pairs += 1;
    }
    assert_eq!(pairs, entries.iter().filter(|entry| entry.1.is_some()).count());
}

/// Rows are inserted while a sort of those before is under way, at a snapshot and without one, and
/// its blocks stay while they are needed. A second sort that goes to flash ends the first.
#[test]
fn a_sort_goes_on_among_commits_until_another_one_begins() {
    let (mut nand, mut ram, mut prng) = (chip(512, 400), vec![0; 12_000], Prng::new(8));
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let entries = filled(&mut db, 500, &mut prng);
    let snapshot = db.snapshot().unwrap();
    let mut memory = vec![0; 1500];
    let mut sort = Sort::new(&mut memory, ROW_MAX, &[2, 1], Order::Descending).unwrap();
    let (mut out, mut found) = ([0; ROW_MAX], Vec::new());
    let mut scan = db.scan(0, Direction::Forward).unwrap();
    for number in 500.. {
        let Some(row) = scan.next(&mut db.at(&snapshot).unwrap(), &mut out).unwrap() else { break };
        let len = row.row_len;
        sort.offer(&mut db.at(&snapshot).unwrap(), &out[..len]).unwrap();
        insert(&mut db, &[entry(number, &mut prng)]).unwrap();
    }
    for number in 1500.. {
        let Some(row) = sort.next(&mut db, &mut out).unwrap() else { break };
        found.push(read(&row));
        insert(&mut db, &[entry(number, &mut prng)]).unwrap();
    }
    assert!(found == sorted(&entries, &[2, 1], Order::Descending));
    db.release(snapshot);

    let mut other = vec![0; 1500];
    let mut first = Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending).unwrap();
    let mut second = Sort::new(&mut other, ROW_MAX, &[1], Order::Ascending).unwrap();
    offer(&mut db, &mut first).unwrap();
    assert!(first.next(&mut db, &mut out).unwrap().is_some());
    offer(&mut db, &mut second).unwrap();
    let gone = (0..).find_map(|_| first.next(&mut db, &mut out).map(|row| row.is_none()).err());
    assert_eq!(gone, Some(DbError::Stale));
    assert_eq!(first.end(&mut db), Ok(()), "what is gone can be ended");
    assert_eq!(pull(&mut db, &mut second).unwrap().len(), 1500 - 500 + 500);
}

/// Programs and erases that fail, and reads with errors that ECC corrects, change no order.
#[test]
fn a_sort_survives_programs_that_fail() {
    let mut failed = 0;
    // Of a page of several cells, a program that failed may leave the first ones as they should be.
    for seed in 0..24_u32 {
        let page_size = if seed % 2 == 0 { 512 } else { 2048 };
        let (mut nand, mut ram) = (chip(page_size, 400), vec![0; 12_000]);
        let mut prng = Prng::new(seed.into());
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let entries = filled(&mut db, 400, &mut prng);
        let mut memory = vec![0; 700 + 100 * seed as usize];
        let mut sort = Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending).unwrap();
        db.nand_mut().arm(FaultPlan {
            seed: seed.into(),
            program_failures_ppm: 80_000,
            erase_failures_ppm: 80_000,
            read_errors_ppm: 20_000,
            read_error_bits_max: 1,
            ..FaultPlan::default()
        });
        let before = db.stats().bad_blocks;
        offer(&mut db, &mut sort).unwrap();
        let found = pull(&mut db, &mut sort).unwrap();
        assert!(found == sorted(&entries, &[1], Order::Ascending), "seed {seed}");
        failed += db.stats().bad_blocks - before;
    }
    assert!(failed > 50, "{failed} blocks failed");
}

/// The power goes while rows are sorted and others inserted. What was committed is there, and the
/// blocks of the sorts that were cut are free once a commit was made.
#[test]
fn a_cut_sort_leaves_nothing_behind() {
    let mut cuts = 0;
    for seed in 0..20 {
        let (mut nand, mut ram, mut prng) = (chip(512, 300), vec![0; 12_000], Prng::new(seed));
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let mut entries = filled(&mut db, 200, &mut prng);
        let runs = db.stats().run_blocks;

        for life in 0..8 {
            let story = format!("seed {seed}, life {life}");
            let cut_at = Some(prng.below(1500));
            nand.arm(FaultPlan { seed: prng.next(), cut_at, ..FaultPlan::default() });
            let lost = sort_until_lost(&mut nand, &mut entries, &mut prng);
            assert_eq!(lost, Ok(()), "{story}");
            cuts += u32::from(!nand.is_on());
            nand.power_up();
            nand.arm(FaultPlan::default());
            let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
            let mut scan = db.scan(0, Direction::Forward).unwrap();
            let found = pull(&mut db, &mut scan).unwrap();
            // The last commit may have been cut.
            assert!(found.len() + 1 >= entries.len(), "{story}");
            entries.truncate(found.len());
            assert!(found == entries, "{story}");
            grow(&mut db, &mut entries, &mut prng).unwrap();
            let now = db.stats().run_blocks;
            assert!(now <= runs + 12, "{now} blocks of runs, {runs} at first: {story}");
        }
    }
    assert!(cuts > 100, "{cuts} cuts");
}

/// Sort, and insert between two rows, until the power goes or the rows are through.
fn sort_until_lost(
    nand: impl Nand,
    entries: &mut Vec<Entry>,
    prng: &mut Prng,
) -> Result<(), DbError> {
    let mut ram = vec![0; 12_000];
    let lives = || -> Result<(), DbError> {
        let mut db = Db::open(nand, &SCHEMA, OPTIONS, &mut ram)?;
        let wanted = sorted(entries, &[2], Order::Ascending);
        let (mut memory, mut out, mut found) = (vec![0; 900], [0; ROW_MAX], Vec::new());
        let mut sort = Sort::new(&mut memory, ROW_MAX, &[2], Order::Ascending)?;
        offer(&mut db, &mut sort)?;
        while let Some(row) = sort.next(&mut db, &mut out)? {
            found.push(read(&row));
            if prng.below(8) == 0 {
                grow(&mut db, entries, prng)?;
            }
        }
        assert!(found == wanted, "the rows are in order");
        Ok(())
    };
    match lives() {
        Err(error) if error == LOST || error == MOUNT_LOST => Ok(()),
        done => done,
    }
}

/// A device that is full refuses a sort, and so does a transaction that has taken many blocks.
/// Neither loses anything.
#[test]
fn a_sort_takes_no_space_that_others_need() {
    let (mut image, mut ram, mut prng) = (Image::blank(512, 128), vec![0; 12_000], Prng::new(1));
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut entries = filled(&mut db, 100, &mut prng);
    let (mut memory, mut in_transactions) = (vec![0; 900], [0; 2]);
    loop {
        let mut sort = Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending).unwrap();
        match offer(&mut db, &mut sort).and_then(|()| pull(&mut db, &mut sort)) {
            Ok(found) => assert!(found == sorted(&entries, &[1], Order::Ascending)),
            Err(error) => assert_eq!(error, DbError::Full),
        }
        let mut tx = db.begin().unwrap();
        let next = entries.last().map_or(0, |last| last.0 + 1);
        let new: Vec<Entry> = (next..next + 20).map(|number| entry(number, &mut prng)).collect();
        match new.iter().try_for_each(|entry| put(&mut tx, entry)) {
            Ok(()) => entries.extend(new),
            Err(DbError::Full) => break,
            Err(error) => panic!("{error:?}"),
        }
        let mut sort = Sort::new(&mut memory, ROW_MAX, &[1], Order::Descending).unwrap();
        let sorted_there = offer(&mut tx, &mut sort).and_then(|()| pull(&mut tx, &mut sort));
        in_transactions[usize::from(sorted_there.is_err())] += 1;
        match sorted_there {
            Ok(found) => assert!(found == sorted(&entries, &[1], Order::Descending)),
            Err(error) => {
                assert!(matches!(error, DbError::TransactionTooLong | DbError::Full), "{error:?}");
            }
        }
        tx.commit(Durability::Durable).unwrap();
    }
    println!("{} rows, sorts in transactions {in_transactions:?}", entries.len());
    assert!(in_transactions.iter().all(|count| *count > 3), "{in_transactions:?}");
    let mut scan = db.scan(0, Direction::Forward).unwrap();
    let mut found = pull(&mut db, &mut scan).unwrap();
    found.sort_unstable();
    assert!(found == entries);
    // A sort that was refused and not ended leaves enough for deletes.
    let mut sort = Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending).unwrap();
    assert_eq!(offer(&mut db, &mut sort), Err(DbError::Full));
    for number in 0..60 {
        let mut tx = db.begin().unwrap();
        assert_eq!(tx.delete(0, &[Value::Integer(number)]), Ok(true), "{number}");
        tx.commit(Durability::Durable).unwrap();
    }
}

#[test]
fn what_a_sort_cannot_do_is_refused_by_name() {
    let (mut nand, mut ram, mut prng) = (chip(512, 200), vec![0; 12_000], Prng::new(8));
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    filled(&mut db, 20, &mut prng);
    let mut memory = [0; 500];
    let needed = match Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending) {
        Err(DbError::RamTooSmall { needed }) => needed,
        made => panic!("{made:?}"),
    };
    let mut enough = vec![0; needed];
    Sort::new(&mut enough, ROW_MAX, &[1], Order::Ascending).expect("that is enough");
    let mut sort = Sort::new(&mut memory, 40, &[1], Order::Ascending).unwrap();
    assert!(matches!(offer(&mut db, &mut sort), Err(DbError::RowTooLong { .. })));
    let mut sort = Sort::new(&mut memory, 100, &[7], Order::Ascending).unwrap();
    assert_eq!(offer(&mut db, &mut sort), Err(DbError::Unknown));
    // A row has to fit a page together with its key.
    let mut wide = vec![0; 4000];
    let mut sort = Sort::new(&mut wide, 1000, &[0], Order::Ascending).unwrap();
    let mut out = [0; 1000];
    let filling = [0; 480];
    let mut tx = db.begin().unwrap();
    let values = [Value::Integer(20), Value::Null, Value::Text(""), Value::Blob(&filling)];
    tx.insert(0, &values).unwrap();
    tx.commit(Durability::Durable).unwrap();
    let len = db.get(0, 0, &[Value::Integer(20)], &mut out).unwrap().unwrap().row_len;
    assert_eq!(sort.offer(&mut db, &out[..len]), Err(DbError::RowTooLong { needed: len }));
    assert!(sort.next(&mut db, &mut out).unwrap().is_none(), "the sort goes on without it");
}
