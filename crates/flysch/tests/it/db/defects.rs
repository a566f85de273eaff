//! Defects of the index layer before this one, each with its story, on the database.

use flysch::db::{Db, DbError, Direction, Durability, MountError};
use flysch::media::MediaError;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value, ValueError};
use flysch_chip::{Ending, FaultPlan, Prng};

use super::forge::{Forge, Stream, kind};
use super::image::Image;
use super::world::{OPTIONS, Row, SCHEMA, ask_indexes, chip, expected, insert, row, rows};

const RAM: usize = 9_000;
const LOST: DbError = DbError::Media(MediaError::PowerLost);

fn create(image: &mut Image) {
    let mut ram = vec![0; RAM];
    Db::create(image, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
}

/// Open an image, and give what becomes of it.
fn with<T>(image: &mut Image, work: impl FnOnce(Db<'_, '_, &mut Image>) -> T) -> T {
    let mut ram = vec![0; RAM];
    work(Db::open(image, &SCHEMA, OPTIONS, &mut ram).unwrap())
}

/// Insert transactions of a few rows until one is refused; give the numbers that were taken.
fn fill(db: &mut Db<'_, '_, &mut Image>, from: i64) -> (Vec<i64>, DbError) {
    let mut numbers = Vec::new();
    for first in (from..).step_by(5) {
        let some: Vec<i64> = (first..first + 5).collect();
        match insert(db, &some, 300, Durability::Durable) {
            Ok(()) => numbers.extend(some),
            Err(error) => return (numbers, error),
        }
    }
    unreachable!("a device is full at some time")
}

fn found(image: &mut Image) -> Vec<Row> {
    with(image, |mut db| rows(&mut db, Direction::Forward).unwrap())
}

/// D2. The insert after `TableFull` panicked: the memory table had stayed full, and the next call
/// asserted that it was not. Here every call after `Full` says `Full` again, and reads answer.
#[test]
fn d2_calls_after_full_answer_again() {
    for (page_size, blocks) in [(512, 48), (1024, 40), (2048, 24)] {
        let mut image = Image::blank(page_size, blocks);
        create(&mut image);
        with(&mut image, |mut db| {
            let (numbers, error) = fill(&mut db, 0);
            assert_eq!(error, DbError::Full, "pages of {page_size} bytes");
            for turn in 0..40 {
                let some = [100_000 + 2 * turn, 100_001 + 2 * turn];
                let refused = insert(&mut db, &some, 300, Durability::Durable);
                assert!(matches!(refused, Ok(()) | Err(DbError::Full)), "{refused:?}");
            }
            let all = rows(&mut db, Direction::Forward).unwrap();
            assert!(all.len() >= numbers.len());
            ask_indexes(&mut db, &all, "a full device").unwrap();
        });
    }
}

/// D9. A full chip was the end: no insert, no delete, for ever. Here a full device goes on with
/// reads, closes, and mounts again, as often as one likes.
#[test]
fn d9_a_full_device_reads_closes_and_mounts_again() {
    for (page_size, blocks) in [(512, 48), (1024, 40), (2048, 24)] {
        let mut image = Image::blank(page_size, blocks);
        create(&mut image);
        let (mut kept, error) = with(&mut image, |mut db| fill(&mut db, 0));
        assert_eq!(error, DbError::Full);
        for life in 0..12 {
            let story = format!("life {life}, pages of {page_size} bytes");
            let all = found(&mut image);
            assert!(is_same(&all, &expected(&kept, 300)), "{} rows, {story}", all.len());
            with(&mut image, |mut db| {
                ask_indexes(&mut db, &all, &story).unwrap();
                let (more, error) = fill(&mut db, 10_000 * (life + 1));
                kept.extend(more);
                assert_eq!(error, DbError::Full, "{story}");
                if life % 2 == 0 {
                    let closed = db.close().map(drop);
                    assert!(matches!(closed, Ok(()) | Err(DbError::Full)), "{closed:?}, {story}");
                }
            });
        }
    }
}

/// F1. An index well within its declared size could not be mounted after a clean power-off: blocks
/// that were let go already were counted as held. Here the power goes after every commit of a
/// history, and every copy of the chip mounts with all rows.
#[test]
fn f1_every_clean_power_off_mounts() {
    let mut image = Image::blank(512, 160);
    create(&mut image);
    with(&mut image, |mut db| {
        for first in (0..1500).step_by(6) {
            let numbers: Vec<i64> = (first..first + 6).collect();
            insert(&mut db, &numbers, 0, Durability::Durable).unwrap();
            let mut copy = Image::clone(db.nand());
            let count = found(&mut copy).len();
            assert_eq!(i64::try_from(count), Ok(first + 6), "rows after the commit of {first}");
        }
    });
}

/// F2. After `Full` most indexes could never be mounted again: the commit at the end of a mount
/// needed a free block. Here a full device is cut at every operation of its next life, and mounts.
#[test]
fn f2_a_full_device_mounts_after_any_cut() {
    let mut image = Image::blank(512, 48);
    create(&mut image);
    let (kept, error) = with(&mut image, |mut db| fill(&mut db, 0));
    assert_eq!(error, DbError::Full);
    for cut in 0..30 {
        let mut copy = image.clone();
        copy.cut_in = Some(cut);
        let (more, _) = with(&mut copy, |mut db| fill(&mut db, 50_000));
        copy.cut_in = None;
        let all = found(&mut copy);
        let least = kept.len() + more.len();
        assert!((least..=least + 5).contains(&all.len()), "{} rows, cut {cut}", all.len());
    }
}

/// Whether these are the same rows, in any order.
fn is_same(rows: &[Row], others: &[Row]) -> bool {
    let sorted = |rows: &[Row]| {
        let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        rows
    };
    sorted(rows) == sorted(others)
}

/// F3. A mount was refused though no operation ever had been, on nearly full chips after a few
/// cuts. Here a chip fills up over many lives, each cut at some operation.
#[test]
fn f3_a_nearly_full_device_mounts_after_cuts() {
    for seed in 0..12 {
        let mut prng = Prng::new(seed);
        let mut image = Image::blank(512, 48);
        create(&mut image);
        let (mut kept, mut from) = (Vec::new(), 0);
        for life in 0..30 {
            image.cut_in = Some(prng.below(90));
            let (more, error) = with(&mut image, |mut db| fill(&mut db, from));
            image.cut_in = None;
            assert!(error == LOST || error == DbError::Full, "{error:?}");
            kept.extend(&more);
            from += i64::try_from(more.len()).unwrap();
            let all = found(&mut image);
            let with_last: Vec<i64> = kept.iter().copied().chain(from..from + 5).collect();
            // Blocks that ended early are moved when there are many: their rows come last.
            if is_same(&all, &expected(&with_last, 300)) {
                kept = with_last;
            }
            let is_kept = is_same(&all, &expected(&kept, 300));
            assert!(is_kept, "{} rows, seed {seed}, life {life}", all.len());
            from = (from / 10_000 + 1) * 10_000;
        }
    }
}

/// F5. A commit record with a right CRC and wild numbers made the mount or an insert panic. Here
/// each byte of the last record, and of the newest root, is changed and sealed.
#[test]
fn f5_records_that_lie_are_refused() {
    let mut image = Image::blank(512, 64);
    create(&mut image);
    with(&mut image, |mut db| {
        for first in (0..240).step_by(6) {
            let numbers: Vec<i64> = (first..first + 6).collect();
            insert(&mut db, &numbers, 0, Durability::Durable).unwrap();
        }
    });
    let forge = Forge::of(&image);
    for kind in [kind::RECORD, kind::ROOT] {
        let pages = Forge::newest(&image, kind);
        let begins = |page: &&usize| image.bytes(**page)[1].trailing_zeros() >= 7;
        let page = *pages.iter().find(begins).unwrap();
        let size = Stream::read(&image, page).unwrap().bytes.len();
        for (at, byte) in (0..size).flat_map(|at| [0, 0x7F, 0x80, 0xFF].map(|byte| (at, byte))) {
            let mut copy = image.clone();
            let mut stream = Stream::read(&copy, page).unwrap();
            stream.bytes[at] = byte;
            stream.write(&mut copy, &forge);
            copy.reads_max = 5_000;
            let mut ram = vec![0; RAM];
            let Ok(mut db) = Db::open(&mut copy, &SCHEMA, OPTIONS, &mut ram) else { continue };
            let mut out = [0; 512];
            let _answer = db.get(0, 0, &[Value::Integer(77)], &mut out).map(drop);
            let _answer = insert(&mut db, &[5000, 5001], 0, Durability::Durable);
        }
    }
}

/// F7. A log page that read well once and badly the next time made the mount say that nothing was
/// there, and whoever then created a database wiped everything. Here each read of a mount fails
/// once: the mount answers with every row or says what is wrong, and never that nothing is there.
#[test]
fn f7_a_page_that_reads_badly_once_is_not_an_empty_chip() {
    let mut image = Image::blank(512, 64);
    create(&mut image);
    for life in 0..3 {
        with(&mut image, |mut db| {
            for first in (life * 200..life * 200 + 120).step_by(6) {
                let numbers: Vec<i64> = (first..first + 6).collect();
                insert(&mut db, &numbers, 0, Durability::Durable).unwrap();
            }
        });
    }
    let wanted = found(&mut image);
    image.reads = 0;
    with(&mut image, |_| ());
    for read in 1..=image.reads {
        let mut copy = image.clone();
        (copy.reads, copy.noise_at) = (0, Some(read));
        let mut ram = vec![0; RAM];
        match Db::open(&mut copy, &SCHEMA, OPTIONS, &mut ram) {
            Ok(mut db) => {
                let all = rows(&mut db, Direction::Forward).unwrap();
                assert!(all == wanted, "{} of {} rows, read {read}", all.len(), wanted.len());
            }
            Err(error) => assert_ne!(error, DbError::Mount(MountError::Missing), "read {read}"),
        }
    }
}

/// One transaction takes more blocks than a record can tell, and than the device has: it is refused
/// by name, and taken back.
#[test]
fn d2_a_transaction_as_long_as_the_device_is_refused() {
    let mut image = Image::blank(512, 160);
    create(&mut image);
    with(&mut image, |mut db| {
        for _ in 0..3 {
            let mut tx = db.begin().unwrap();
            let mut notes = (0..1000).map(|id| Row::Note(id, vec![7; 3000]));
            let refused = notes.try_for_each(|note| note.insert(&mut tx));
            assert_eq!(refused, Err(DbError::Full));
            tx.roll_back().unwrap();
            assert_eq!(rows(&mut db, Direction::Forward), Ok(Vec::new()));
        }
        insert(&mut db, &[1, 2, 3], 0, Durability::Durable).unwrap();
    });
    assert_eq!(found(&mut image), expected(&[1, 2, 3], 0));
}

/// A row longer than a page, with a column of an index on its second page: its entries could not be
/// derived again, and the database could not be opened any more. Such a row is refused, and one
/// whose indexed columns end on its first page is found after a mount.
#[test]
fn an_indexed_column_behind_the_first_page_is_refused() {
    let columns =
        [Column::required("data", ColumnType::Blob), Column::required("id", ColumnType::Integer)];
    let indexes = [Index { columns: &[1], kind: IndexKind::Hash, is_unique: true }];
    let tables =
        [Table { name: "t", columns: &columns, indexes: &indexes, zone: None, keep: None }];
    let schema = Schema { tables: &tables };
    let mut image = Image::blank(512, 64);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &schema, OPTIONS, &mut ram).unwrap();
    let (mut lens, size) = (Vec::new(), |len: i64| usize::try_from(len).unwrap());
    for len in (440..520).chain([3000]) {
        let mut tx = db.begin().unwrap();
        let data = vec![7; size(len)];
        match tx.insert(0, &[Value::Blob(&data), Value::Integer(len)]) {
            Ok(()) => lens.push(len),
            refused => {
                let too_far = DbError::Value(ValueError::KeyTooFar { column: 1 });
                assert_eq!(refused, Err(too_far), "{len} bytes");
            }
        }
        tx.commit(Durability::Durable).unwrap();
    }
    assert!(lens.iter().copied().eq((440..).take(lens.len())), "short rows alone are taken");
    assert!(lens.len() > 20);
    let mut ram = vec![0; RAM];
    let mut db = Db::open(&mut image, &schema, OPTIONS, &mut ram).unwrap();
    let mut out = vec![0; 4096];
    for len in lens {
        let row = db.get(0, 0, &[Value::Integer(len)], &mut out).unwrap().unwrap();
        assert!(matches!(row.column(0), Ok(Value::Blob(data)) if data.len() == size(len)));
    }
}

/// A sync behind a transaction that was dropped panicked. The transaction is taken back.
#[test]
fn a_sync_takes_back_what_a_dropped_transaction_left() {
    let mut image = Image::blank(512, 64);
    create(&mut image);
    with(&mut image, |mut db| {
        insert(&mut db, &[1, 2], 0, Durability::Lazy).unwrap();
        row(3, 0).insert(&mut db.begin().unwrap()).unwrap();
        db.sync().unwrap();
    });
    assert_eq!(found(&mut image), expected(&[1, 2], 0));
}

/// A page that was under way at a cut is whole at one look of a mount and not at the next. The
/// mount said that the log is not whole. It goes on without the page, or with it.
#[test]
fn a_page_may_read_otherwise_at_each_look_of_a_mount() {
    for seed in 0..120 {
        let mut nand = chip(512, 48);
        let mut ram = vec![0; RAM];
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for id in 0..5 {
            insert(&mut db, &[id], 0, Durability::Durable).unwrap();
        }
        nand.arm(FaultPlan {
            seed,
            cut_at_change: Some(seed % 12),
            ending: Some(Ending::Unsteady),
            ..FaultPlan::default()
        });
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let cut = (5..30).find(|&id| insert(&mut db, &[id], 0, Durability::Durable).is_err());
        let kept = cut.unwrap();
        nand.power_up();
        nand.arm(FaultPlan::default());
        for mount in 0..8 {
            let mut ram = vec![0; RAM];
            let opened = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram);
            let mut db = opened.unwrap_or_else(|error| panic!("{error:?}, seed {seed}, {mount}"));
            let all = rows(&mut db, Direction::Forward).unwrap();
            let is_kept = [kept, kept + 1].contains(&i64::try_from(all.len()).unwrap());
            assert!(is_kept, "{} rows, not {kept}: seed {seed}, mount {mount}", all.len());
        }
    }
}

/// A page of rows or of an index that went wrong, with a clean verdict of the ECC, is an error
/// where it is needed. No row is given that was not inserted, and none is changed.
#[test]
fn a_page_that_went_wrong_gives_no_wrong_row() {
    let mut image = Image::blank(512, 96);
    create(&mut image);
    with(&mut image, |mut db| {
        for first in (0..600).step_by(6) {
            let numbers: Vec<i64> = (first..first + 6).collect();
            insert(&mut db, &numbers, 200, Durability::Durable).unwrap();
        }
    });
    let wanted = found(&mut image);
    let mut told = 0;
    for page in image.written() {
        let bytes = image.bytes(page);
        if matches!(bytes[0], kind::ROOT | kind::NAME | kind::RECORD) {
            continue;
        }
        for at in [30, 200, 480] {
            let mut copy = image.clone();
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x41;
            copy.set(page, &bytes);
            let mut ram = vec![0; RAM];
            let Ok(mut db) = Db::open(&mut copy, &SCHEMA, OPTIONS, &mut ram) else {
                told += 1;
                continue;
            };
            let story = format!("byte {at} of page {page}");
            match rows(&mut db, Direction::Forward) {
                Ok(all) => assert!(all == wanted, "{} rows, {story}", all.len()),
                Err(_) => told += 1,
            }
            let mut out = vec![0; 1024];
            let asked = (0..600).step_by(37).flat_map(|id| [(0, id), (1, id)]);
            for (table, id) in asked {
                let Ok(answer) = db.get(table, 0, &[Value::Integer(id)], &mut out) else {
                    continue;
                };
                let is_there = answer.is_some_and(|row| row.column(0) == Ok(Value::Integer(id)));
                let is_wanted = wanted.iter().any(|row| match row {
                    Row::Reading(number, _) => (0, id) == (table, *number),
                    Row::Note(number, _) => (1, id) == (table, *number),
                });
                assert_eq!(is_there, is_wanted, "row {id} of table {table}, {story}");
            }
        }
    }
    assert!(told > 100, "{told} pages were told");
}
