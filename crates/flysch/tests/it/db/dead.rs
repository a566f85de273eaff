//! Entries of rows that are gone: readers of names in their order take them back, and readers of
//! the oldest snapshot, and nobody takes back what another reader needs.

use flysch::db::{Db, DbError, Direction, Durability, Options, Reader};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};

use super::image::Image;
use super::world::{OPTIONS, id_of, index};

/// People with their names and the city in which they live.
const PEOPLE: Schema<'static> = Schema {
    tables: &[Table {
        name: "person",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("name", ColumnType::Text),
            Column::required("city", ColumnType::Integer),
            Column::nullable("note", ColumnType::Text),
        ],
        indexes: &[
            index(&[0], IndexKind::Ordered, true),
            index(&[1], IndexKind::Ordered, false),
            index(&[2], IndexKind::Hash, false),
        ],
        zone: None,
        keep: None,
    }],
};
const NAME_COUNT: i64 = 5;
/// Some of them agree in the eight bytes that an entry holds.
const NAMES: [&str; NAME_COUNT as usize] =
    ["anderson", "anderson jr", "anderson-lee", "miller", "o'neill"];
const COUNT: i64 = 100;
const CITIES: i64 = 4;

type Store<'a> = Db<'a, 'static, &'a mut Image>;

fn name_of(id: i64) -> &'static str {
    NAMES[(id % NAME_COUNT).cast_unsigned() as usize]
}

fn put(db: &mut Store<'_>, id: i64, city: i64) {
    put_with(db, id, city, Value::Null);
}

fn put_with(db: &mut Store<'_>, id: i64, city: i64, note: Value<'_>) {
    let mut tx = db.begin().unwrap();
    tx.upsert(0, &[id.into(), Value::Text(name_of(id)), city.into(), note]).unwrap();
    tx.commit(Durability::Durable).unwrap();
}

fn pull<'d>(
    reader: &mut impl Reader<'d, 'static, &'d mut Image>,
    mut cursor: impl Cursor,
) -> Result<Vec<i64>, DbError> {
    let (mut out, mut found) = ([0; 400], Vec::new());
    while let Some(row) = cursor.next(reader, &mut out)? {
        found.push(id_of(&row));
    }
    Ok(found)
}

/// The people of a city, by their numbers.
fn in_city<'d>(
    reader: &mut impl Reader<'d, 'static, &'d mut Image>,
    city: i64,
) -> Result<Vec<i64>, DbError> {
    let find = reader.reading()?.find(0, 2, &[city.into()])?;
    let mut found = pull(reader, find)?;
    found.sort_unstable();
    Ok(found)
}

/// People move, and are asked for in the order of their names. All rows of the names that agree
/// were read at each look, those that were gone among them: 77,871 reads of short rows after 6,000
/// moves, and 254,783 of long ones, of which more are gone than the RAM can take back at a look.
#[test]
fn names_in_their_order_cost_as_much_after_many_updates_as_after_few() {
    for note in [Value::Null, Value::Text(&"a".repeat(300))] {
        let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 20_000]);
        let mut db = Db::create(&mut image, &PEOPLE, OPTIONS, &mut ram).unwrap();
        (0..COUNT).for_each(|id| put_with(&mut db, id, 0, note));
        let mut most = [0; 2];
        for turn in 0..60 {
            // One of each name stays, so that the others come behind it.
            (NAME_COUNT..COUNT).for_each(|id| put_with(&mut db, id, turn, note));
            let before = db.stats().counts.reads;
            let range = db.range(0, 1, (&Value::Text("a"), &Value::Text("z")), Direction::Forward);
            let found = pull(&mut db, range.unwrap()).unwrap();
            let reads = db.stats().counts.reads - before;
            let names: Vec<_> = found.iter().map(|id| name_of(*id)).collect();
            assert!(names.is_sorted() && found.len() == COUNT as usize, "{names:?}");
            most[usize::from(turn >= 5)] = reads.max(most[usize::from(turn >= 5)]);
        }
        println!("most reads of {COUNT} people, {note:?}: {most:?}, {:?}", db.stats().counts);
        assert!(most[1] <= most[0] * 3 / 2, "{most:?} reads");
    }
}

/// What was taken back is in RAM until it is flushed: after a power cut the entries are there
/// again, and have to find room in the same RAM.
#[test]
fn entries_that_were_taken_back_have_room_after_a_cut() {
    for (size, count) in [(9_500, 1), (9_500, 5), (12_000, 5), (16_000, 1)] {
        let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; size]);
        let mut db = Db::create(&mut image, &PEOPLE, OPTIONS, &mut ram).unwrap();
        let note = "a".repeat(200);
        for step in 0..400 {
            put_with(&mut db, step % count, step, Value::Text(&note));
            assert!(in_city(&mut db, step - count).unwrap().is_empty(), "all have moved on");
            let range = db.range(0, 1, (&Value::Text("a"), &Value::Text("z")), Direction::Forward);
            let found = pull(&mut db, range.unwrap()).unwrap().len();
            assert!(found == count.min(step + 1).cast_unsigned() as usize);
            let mut cut = Image::clone(db.nand());
            let mut ram = vec![0; size];
            let found = Db::open(&mut cut, &PEOPLE, OPTIONS, &mut ram).map(drop);
            assert_eq!(found, Ok(()), "{count} people, {size} bytes of RAM, step {step}");
        }
    }
}

/// Once readers fell behind, updates take back the entries of the rows that they replace; but not
/// those that the new row has as well.
#[test]
fn a_row_that_is_replaced_in_its_cell_is_found() {
    let note = "a".repeat(120);
    for size in (10_000..16_000).step_by(300) {
        let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; size]);
        let mut db = Db::create(&mut image, &PEOPLE, OPTIONS, &mut ram).unwrap();
        for turn in 0..8 {
            for id in 0..COUNT {
                put_with(&mut db, id, turn, Value::Text(&note));
                if turn > 3 {
                    put_with(&mut db, id, turn, Value::Text(&note));
                }
            }
            for city in 0..=turn {
                let found = in_city(&mut db, city).unwrap();
                let wanted = if city == turn { 0..COUNT } else { 0..0 };
                assert!(found.into_iter().eq(wanted), "{size} bytes, turn {turn}, city {city}");
            }
        }
    }
}

/// A report is made from a snapshot while people move, again and again. It met all people who ever
/// lived in the city, more and more of them.
#[test]
fn reports_from_snapshots_cost_as_much_after_many_updates_as_after_few() {
    let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 20_000]);
    let mut db = Db::create(&mut image, &PEOPLE, OPTIONS, &mut ram).unwrap();
    (0..COUNT).for_each(|id| put(&mut db, id, id % CITIES));
    let mut most = [0; 2];
    for turn in 0..60 {
        let snapshot = db.snapshot().unwrap();
        for id in 0..COUNT {
            put(&mut db, id, (id + turn + 1) % CITIES);
        }
        let before = db.stats().counts.reads;
        let mut past = db.at(&snapshot).unwrap();
        let lived_here = (0..COUNT).filter(|id| (id + turn) % CITIES == 1);
        assert!(in_city(&mut past, 1).unwrap().into_iter().eq(lived_here), "turn {turn}");
        let found = in_city(&mut past, 1).unwrap();
        let all = past.all(0).unwrap();
        assert!(pull(&mut past, all).unwrap().into_iter().eq(0..COUNT), "turn {turn}");
        drop(past);
        let reads = db.stats().counts.reads - before;
        most[usize::from(turn >= 5)] = reads.max(most[usize::from(turn >= 5)]);
        db.release(snapshot);
        assert_eq!(found.len(), COUNT as usize / CITIES as usize);
    }
    println!("most reads of two looks at a city and of all people: {most:?}");
    assert!(most[1] <= most[0] * 2, "{most:?} reads");
}

/// What one snapshot does not show, an older one may.
#[test]
fn a_snapshot_takes_back_nothing_that_an_older_one_shows() {
    let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 20_000]);
    let mut db = Db::create(&mut image, &PEOPLE, OPTIONS, &mut ram).unwrap();
    (0..COUNT).for_each(|id| put(&mut db, id, 1));
    let old = db.snapshot().unwrap();
    (0..COUNT / 2).for_each(|id| put(&mut db, id, 2));
    let young = db.snapshot().unwrap();
    (0..COUNT).for_each(|id| put(&mut db, id, 3));
    for _ in 0..2 {
        assert!(in_city(&mut db, 1).unwrap().is_empty() && in_city(&mut db, 2).unwrap().is_empty());
        let mut past = db.at(&young).unwrap();
        assert!(in_city(&mut past, 1).unwrap().into_iter().eq(COUNT / 2..COUNT));
        assert!(in_city(&mut past, 2).unwrap().into_iter().eq(0..COUNT / 2));
        drop(past);
        let mut past = db.at(&old).unwrap();
        assert!(in_city(&mut past, 1).unwrap().into_iter().eq(0..COUNT));
        assert!(in_city(&mut past, 2).unwrap().is_empty());
    }
}

/// A row that a snapshot does not show may lie in the cell of one that was gone before it.
#[test]
fn a_snapshot_takes_back_no_entry_of_a_newer_row() {
    for capacity in [100_000, 2] {
        let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 20_000]);
        let options = Options { capacity, ..OPTIONS };
        let mut db = Db::create(&mut image, &PEOPLE, options, &mut ram).unwrap();
        put(&mut db, 1, 1);
        put(&mut db, 1, 2);
        let snapshot = db.snapshot().unwrap();
        put(&mut db, 2, 1);
        let mut past = db.at(&snapshot).unwrap();
        assert!(in_city(&mut past, 1).unwrap().is_empty());
        assert_eq!(in_city(&mut past, 2).unwrap(), [1]);
        drop(past);
        db.release(snapshot);
        assert_eq!(in_city(&mut db, 1).unwrap(), [2]);
    }
}
