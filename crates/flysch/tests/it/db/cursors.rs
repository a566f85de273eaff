//! Cursors while rows change between their calls: each row that stays comes once, or the cursor
//! says that it has lost its place.

use flysch::db::{At, Budget, Criterion, Db, DbError, Direction, Durability, Options};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};

use super::image::Image;
use super::world::{id_of, index};

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "part",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("kind", ColumnType::Integer),
            Column::required("name", ColumnType::Text),
        ],
        indexes: &[
            index(&[0], IndexKind::Ordered, true),
            index(&[1], IndexKind::Hash, false),
            index(&[1], IndexKind::Ordered, false),
            index(&[2], IndexKind::Ordered, false),
        ],
        zone: None,
        keep: None,
    }],
};
const OPTIONS: Options = Options { partition: None, seed: 7, capacity: 1000 };
const LEAST: [Value<'static>; 1] = [Value::Integer(i64::MIN)];
const GREATEST: [Value<'static>; 1] = [Value::Integer(i64::MAX)];
const KIND: [Value<'static>; 1] = [Value::Integer(1)];
const NAMES: [[Value<'static>; 1]; 2] = [[Value::Text("beginning")], [Value::Text("z")]];

type Store<'a> = Db<'a, 'static, &'a mut Image>;
type Past<'d, 'a> = At<'d, 'a, 'static, &'a mut Image>;

/// What happens after two of six rows were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    RolledBack,
    BackToSavepoint,
    Committed,
}

fn put(db: &mut Store<'_>, ids: core::ops::Range<i64>, kind: i64) {
    let mut tx = db.begin().unwrap();
    for id in ids {
        let name = format!("beginning {id}");
        tx.insert(0, &[id.into(), kind.into(), Value::Text(&name)]).unwrap();
    }
    tx.commit(Durability::Durable).unwrap();
}

fn happen(db: &mut Store<'_>, event: Event) {
    let mut tx = db.begin().unwrap();
    let here = tx.savepoint().unwrap();
    for id in 100..400 {
        tx.insert(0, &[id.into(), 2.into(), Value::Text("a")]).unwrap();
    }
    match event {
        Event::RolledBack => tx.roll_back().unwrap(),
        Event::BackToSavepoint => {
            tx.roll_back_to(here).unwrap();
            tx.commit(Durability::Durable).unwrap();
        }
        Event::Committed => tx.commit(Durability::Durable).unwrap(),
    }
}

/// Pull two rows, let something happen, and pull the others; live, or at a snapshot.
fn pull<C: Cursor>(
    event: Event,
    live: impl Fn(&Store<'_>) -> C,
    past: Option<&dyn Fn(&Past<'_, '_>) -> C>,
) -> Result<Vec<i64>, DbError> {
    let (mut image, mut ram) = (Image::of(2048, 16, 64), vec![0; 20_000]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    put(&mut db, 0..6, 1);
    let snapshot = db.snapshot().unwrap();
    let mut cursor = match past {
        Some(past) => past(&db.at(&snapshot).unwrap()),
        None => live(&db),
    };
    let mut given = Vec::new();
    let mut out = [0; 200];
    for turn in 0.. {
        let row = match past {
            Some(_) => cursor.next(&mut db.at(&snapshot)?, &mut out)?,
            None => cursor.next(&mut db, &mut out)?,
        };
        let Some(row) = row else { break };
        let Value::Integer(id) = row.column(0).unwrap() else { panic!("a number was inserted") };
        given.push(id);
        if turn == 1 {
            happen(&mut db, event);
        }
    }
    Ok(given)
}

/// Pages that a transaction programmed are not used again after it was rolled back, so the rows of
/// the tail come to another page, and entries are given new pointers.
#[test]
fn a_cursor_that_would_lose_its_place_says_so() {
    let mut stale = 0;
    for event in [Event::RolledBack, Event::BackToSavepoint, Event::Committed] {
        for is_past in [false, true] {
            let mut check = |name: &str, given: Result<Vec<i64>, DbError>| match given {
                Ok(given) => {
                    let mut old: Vec<i64> = given.into_iter().filter(|id| *id < 6).collect();
                    old.sort_unstable();
                    assert_eq!(old, [0, 1, 2, 3, 4, 5], "{name}, {event:?}, past: {is_past}");
                }
                Err(error) => {
                    assert_eq!(
                        (error, event == Event::Committed),
                        (DbError::Stale, false),
                        "{name}"
                    );
                    stale += 1;
                }
            };
            macro_rules! check {
                ($name:ident ( $($argument:expr),* )) => {
                    let past = |db: &Past<'_, '_>| db.$name($($argument),*).unwrap();
                    let past: Option<&dyn Fn(&Past<'_, '_>) -> _> =
                        if is_past { Some(&past) } else { None };
                    let live = |db: &Store<'_>| db.$name($($argument),*).unwrap();
                    check(stringify!($name ( $($argument),* )), pull(event, live, past));
                };
            }
            check!(scan(0, Direction::Forward));
            check!(scan(0, Direction::Backward));
            check!(find(0, 1, &KIND));
            check!(range_of(0, 0, (&LEAST, &GREATEST), Direction::Forward));
            check!(range_of(0, 0, (&LEAST, &GREATEST), Direction::Backward));
            check!(range_of(0, 2, (&KIND, &KIND), Direction::Forward));
            check!(range_of(0, 2, (&KIND, &KIND), Direction::Backward));
            check!(range_of(0, 3, (&NAMES[0], &NAMES[1]), Direction::Forward));
            check!(range_of(0, 3, (&NAMES[0], &NAMES[1]), Direction::Backward));
            check!(matching(0, [Criterion::is(1, &KIND), Criterion::is(2, &KIND)]));
        }
    }
    assert!(stale > 10, "{stale} cursors had lost their place");
}

/// Each row is replaced, or deleted, as soon as it was given.
#[test]
fn a_range_of_unique_keys_gives_each_row_once_while_they_are_replaced() {
    for (rows, step) in [(4, 1), (60, 1), (900, 1), (900, 7)] {
        for direction in [Direction::Forward, Direction::Backward] {
            let (mut image, mut ram) = (Image::of(1024, 32, 64), vec![0; 12_000]);
            let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
            put(&mut db, 0..rows, 0);
            let mut tx = db.begin().unwrap();
            let mut range = tx.range_of(0, 0, (&LEAST, &GREATEST), direction).unwrap();
            let (mut given, mut out) = (Vec::new(), [0; 200]);
            while let Some(row) = range.next(&mut tx, &mut out).unwrap() {
                let [Value::Integer(id), Value::Integer(kind)] =
                    [0, 1].map(|column| row.column(column).unwrap())
                else {
                    panic!("numbers were inserted")
                };
                assert_eq!(kind, 0, "row {id} is given as it was");
                given.push(id);
                if id % step == 0 {
                    tx.update(0, &[id.into(), 1.into(), Value::Text("other")]).unwrap();
                } else {
                    assert!(tx.delete(0, &[id.into()]).unwrap());
                }
            }
            if direction == Direction::Backward {
                given.reverse();
            }
            assert_eq!(given, (0..rows).collect::<Vec<_>>(), "{direction:?}");
            tx.commit(Durability::Durable).unwrap();
            let left = db.scan(0, direction).unwrap().count(&mut db, &mut out).unwrap();
            assert_eq!(left, u64::try_from((rows + step - 1) / step).unwrap());
        }
    }
}

/// Tables whose keys an entry tells from others by its code: never, and always.
const SEVERAL: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "named",
            columns: &[
                Column::required("name", ColumnType::Text),
                Column::required("id", ColumnType::Integer),
                Column::required("kind", ColumnType::Integer),
            ],
            indexes: &[index(&[0], IndexKind::Ordered, true)],
            zone: None,
            keep: None,
        },
        Table {
            name: "numbered",
            columns: &[
                Column::required("half", ColumnType::Integer),
                Column::required("id", ColumnType::Integer),
                Column::required("kind", ColumnType::Integer),
            ],
            indexes: &[index(&[0, 1], IndexKind::Ordered, true)],
            zone: None,
            keep: None,
        },
    ],
};

/// Each row is replaced or deleted as soon as it was given, where codes alone tell no keys apart,
/// after a call with too little memory for it, and with something written between the two calls.
#[test]
fn a_range_of_keys_that_share_codes_gives_each_row_once_while_they_are_replaced() {
    let names: Vec<String> = (0..90).map(|id| format!("beginning {id:03}")).collect();
    let row = |table: u8, id: i64, kind: i64| {
        let first = match table {
            0 => Value::Text(&names[id.cast_unsigned() as usize]),
            _ => (id / 2).into(),
        };
        [first, id.into(), kind.into()]
    };
    for turn in 0..4 {
        let (table, other) = (turn % 2, 1 - turn % 2);
        let direction = if turn < 2 { Direction::Forward } else { Direction::Backward };
        let (mut image, mut ram) = (Image::of(1024, 32, 64), vec![0; 12_000]);
        let mut db = Db::create(&mut image, &SEVERAL, OPTIONS, &mut ram).unwrap();
        let mut tx = db.begin().unwrap();
        for id in 0..90 {
            tx.insert(table, &row(table, id, 0)).unwrap();
        }
        let (least, greatest) = (row(table, 0, 0), row(table, 89, 0));
        let mut range = tx.range_of(table, 0, (&least[..1], &greatest[..1]), direction).unwrap();
        let (mut given, mut out) = (Vec::new(), [0; 200]);
        while let Err(error) = range.next(&mut tx, &mut out[..1]) {
            assert!(matches!(error, DbError::RowTooLong { .. }), "{error:?}");
            tx.insert(other, &row(other, i64::try_from(given.len()).unwrap(), 0)).unwrap();
            let came = range.next(&mut tx, &mut out).unwrap().expect("the row fits now");
            let [Value::Integer(id), kind] = [1, 2].map(|column| came.column(column).unwrap())
            else {
                panic!("a number was inserted")
            };
            assert_eq!(kind, 0.into(), "row {id} is given as it was");
            given.push(id);
            if id % 3 == 0 {
                let key = &row(table, id, 0)[..=usize::from(table)];
                assert!(tx.delete(table, key).unwrap());
            } else {
                assert!(tx.update(table, &row(table, id, 1)).unwrap());
            }
        }
        if direction == Direction::Backward {
            given.reverse();
        }
        assert_eq!(given, (0..90).collect::<Vec<_>>(), "table {table}, {direction:?}");
    }
}

/// More rows of one text than a pass over them keeps.
#[test]
fn all_rows_of_one_key_come_however_many_they_are() {
    let (mut image, mut ram) = (Image::of(1024, 32, 64), vec![0; 12_000]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut tx = db.begin().unwrap();
    for id in 0..50 {
        tx.insert(0, &[id.into(), 1.into(), NAMES[0][0]]).unwrap();
    }
    tx.commit(Durability::Durable).unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let mut range = db.prefix(0, 3, &NAMES[0], direction).unwrap();
        assert_eq!(range.count(&mut db, &mut [0; 200]).unwrap(), 50, "{direction:?}");
    }
}

/// A block goes of which all rows are dead, and with it rows that a cursor was to look at. No entry
/// changes by that.
#[test]
fn rows_that_go_with_their_block_are_passed_over() {
    let mut whole = 0;
    let name = format!("beginning {}", "n".repeat(380));
    for (rows, operations) in (60..160).flat_map(|rows| [5, 40].map(|budget| (rows, budget))) {
        let (mut image, mut ram) = (Image::of(512, 8, 40), vec![0; 12_000]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for turn in 0..rows {
            let mut tx = db.begin().unwrap();
            tx.upsert(0, &[(turn / 20).into(), turn.into(), Value::Text(&name)]).unwrap();
            tx.commit(Durability::Durable).unwrap();
        }
        let mut range = db.range_of(0, 3, (&NAMES[0], &NAMES[1]), Direction::Backward).unwrap();
        let (mut given, mut out) = (Vec::new(), [0; 500]);
        let end = loop {
            match range.next(&mut db, &mut out).map(|row| row.map(|row| id_of(&row))) {
                Ok(Some(id)) => given.push(id),
                end => break end,
            }
            db.maintain(Budget { operations }).unwrap();
        };
        match end {
            Ok(_) => {
                given.sort_unstable();
                let all: Vec<i64> = (0..=(rows - 1) / 20).collect();
                assert_eq!(given, all, "{rows} rows, {operations} operations");
                whole += 1;
            }
            Err(error) => assert_eq!(error, DbError::Stale, "{rows} rows, {operations} operations"),
        }
    }
    assert!(whole > 40, "{whole} ranges came to their ends");
}

/// Rows are added to the page on which a backward scan stands, or taken back from it.
#[test]
fn a_backward_scan_keeps_its_place_on_the_last_page() {
    for is_taken_back in [false, true] {
        let (mut image, mut ram) = (Image::of(2048, 16, 64), vec![0; 20_000]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        put(&mut db, 0..6, 1);
        let (mut given, mut out) = (Vec::new(), [0; 200]);
        let mut tx = db.begin().unwrap();
        let mut scan = tx.scan(0, Direction::Backward).unwrap();
        if is_taken_back {
            tx.insert(0, &[6.into(), 1.into(), Value::Text("a")]).unwrap();
        }
        for turn in 0.. {
            let Some(row) = scan.next(&mut tx, &mut out).unwrap() else { break };
            given.push(row.column(0).map(|id| id == Value::Integer(6)).unwrap());
            if turn == 0 && is_taken_back {
                tx.roll_back().unwrap();
                tx = db.begin().unwrap();
            } else if turn == 0 {
                tx.insert(0, &[7.into(), 1.into(), Value::Text("a")]).unwrap();
            }
        }
        assert_eq!(given.iter().filter(|is_new| !**is_new).count(), 6, "{is_taken_back}");
    }
}

/// Pull all rows with too little memory first, and then with enough.
fn pull_twice<C: Cursor>(db: &mut Store<'_>, mut cursor: C) -> usize {
    let mut count = 0;
    loop {
        let needed = match cursor.next(db, &mut [0; 20]) {
            Err(DbError::RowTooLong { needed }) => needed,
            Ok(None) => return count,
            row => panic!("{row:?} fits into no 20 bytes"),
        };
        assert!(cursor.next(db, &mut vec![0; needed]).unwrap().is_some(), "row {count}");
        count += 1;
    }
}

#[test]
fn a_row_that_did_not_fit_comes_with_more_memory() {
    let (mut image, mut ram) = (Image::of(1024, 16, 64), vec![0; 20_000]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let name = format!("beginning {}", "z".repeat(300));
    for id in 0..5 {
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[id.into(), 1.into(), Value::Text(&name)]).unwrap();
        tx.commit(Durability::Durable).unwrap();
    }
    let directions = [Direction::Forward, Direction::Backward];
    for cursor in directions.map(|direction| db.scan(0, direction).unwrap()) {
        assert_eq!(pull_twice(&mut db, cursor), 5);
    }
    for cursor in directions.map(|it| db.range_of(0, 0, (&LEAST, &GREATEST), it).unwrap()) {
        assert_eq!(pull_twice(&mut db, cursor), 5);
    }
    for cursor in directions.map(|it| db.range_of(0, 3, (&NAMES[0], &NAMES[1]), it).unwrap()) {
        assert_eq!(pull_twice(&mut db, cursor), 5);
    }
    let find = db.find(0, 1, &KIND).unwrap();
    assert_eq!(pull_twice(&mut db, find), 5);
    let find = db.find(0, 0, &[2.into()]).unwrap();
    assert_eq!(pull_twice(&mut db, find), 1);
    let matching = db.matching(0, [Criterion::is(1, &KIND)]).unwrap();
    assert_eq!(pull_twice(&mut db, matching), 5);
}
