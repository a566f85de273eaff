//! Few rows that come and go for ever: what is dead makes room, and nothing is ever refused.

use std::collections::{BTreeSet, VecDeque};

use flysch::db::{Db, DbError, Direction, Durability, MountError, Options};
use flysch::media::MediaError;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use crate::told;

const COLUMNS: [Column<'static>; 3] = [
    Column::required("id", ColumnType::Integer),
    Column::required("sensor", ColumnType::Integer),
    Column::required("text", ColumnType::Blob),
];
const INDEXES: [Index<'static>; 3] = [
    Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
    Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
    Index { columns: &[1], kind: IndexKind::Ordered, is_unique: false },
];
const ORDERED: [Index<'static>; 1] =
    [Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }];

const fn table(indexes: &'static [Index<'static>]) -> Table<'static> {
    Table { name: "job", columns: &COLUMNS, indexes, zone: None, keep: None }
}

const HASHED: Schema<'static> = Schema { tables: &[table(INDEXES.split_at(1).0)] };
const MANY: Schema<'static> = Schema { tables: &[table(&INDEXES)] };
const QUEUE: Schema<'static> = Schema { tables: &[table(&ORDERED)] };

/// Which keys rows have, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// The same few again and again.
    Fixed,
    /// Many, each again after a while.
    Cycling,
    /// Each one greater than those before it: a queue.
    Ascending,
}

impl Keys {
    fn at(self, turn: i64, live: i64) -> i64 {
        match self {
            Self::Fixed => turn % (live + 1),
            Self::Cycling => turn % 1000,
            Self::Ascending => turn,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Churn {
    page_size: u32,
    block_count: u32,
    schema: &'static Schema<'static>,
    keys: Keys,
    /// Rows that are there at a time.
    live: i64,
    /// Whether a row comes and another goes in one transaction.
    is_paired: bool,
    /// Whether the power goes now and then.
    is_cut: bool,
    /// Rows that hashes are made for: few, and dead rows of many keys share one.
    capacity: u32,
}

const CASES: [Churn; 10] = [
    case((512, 64), &MANY, Keys::Ascending, 1, 2),
    case((512, 24), &MANY, Keys::Fixed, 3, 2),
    case((512, 24), &HASHED, Keys::Ascending, 0, 100),
    case((512, 64), &MANY, Keys::Cycling, 20, 100),
    case((512, 128), &QUEUE, Keys::Ascending, 40, 100),
    case((2048, 24), &HASHED, Keys::Fixed, 3, 100),
    case((2048, 64), &MANY, Keys::Ascending, 20, 100),
    case((2048, 128), &QUEUE, Keys::Cycling, 1, 100),
    case((16_384, 24), &HASHED, Keys::Cycling, 40, 1000),
    case((16_384, 64), &MANY, Keys::Fixed, 3, 1000),
];

const fn case(
    (page_size, block_count): (u32, u32),
    schema: &'static Schema<'static>,
    keys: Keys,
    live: i64,
    capacity: u32,
) -> Churn {
    let (is_paired, is_cut) = (live == 40, live == 20);
    Churn { page_size, block_count, schema, keys, live, is_paired, is_cut, capacity }
}

fn is_lost(error: DbError) -> bool {
    error == DbError::Media(MediaError::PowerLost)
        || error == DbError::Mount(MountError::Media(MediaError::PowerLost))
}

/// One of the two changes of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Insert(i64),
    Delete(i64),
}

impl Churn {
    /// The changes of a turn: a transaction each, or one for both.
    fn transactions(&self, turn: i64) -> Vec<Vec<Change>> {
        let come = Change::Insert(self.keys.at(turn, self.live));
        let gone =
            (turn >= self.live).then(|| Change::Delete(self.keys.at(turn - self.live, self.live)));
        let all = [Some(come), gone].into_iter().flatten();
        if self.is_paired { vec![all.collect()] } else { all.map(|change| vec![change]).collect() }
    }

    /// Insert so many rows and delete as many, from one cut to the next.
    fn run(&self, pairs: i64) {
        let mut prng = Prng::new(u64::from(self.page_size + self.block_count));
        let mut image = Image::blank(self.page_size, self.block_count);
        let mut ram = vec![0; 5000 + 3 * self.page_size as usize];
        let options = Options { partition: None, seed: 5, capacity: self.capacity };
        Db::create(&mut image, self.schema, options, &mut ram).unwrap();
        let mut rows = Rows::default();
        while rows.turn < pairs {
            image.cut_in = self.is_cut.then(|| prng.below(4000));
            match Db::open(&mut image, self.schema, options, &mut ram) {
                Ok(mut db) => {
                    rows.check(&mut db);
                    while rows.turn < pairs && self.live_on(&mut db, &mut rows) {}
                }
                Err(error) => assert!(is_lost(error), "{error:?}, turn {}: {self:?}", rows.turn),
            }
        }
        image.cut_in = None;
        rows.check(&mut Db::open(&mut image, self.schema, options, &mut ram).unwrap());
    }

    /// Do the next transaction; false where the power went.
    fn live_on(&self, db: &mut Db<'_, 'static, &mut Image>, rows: &mut Rows) -> bool {
        if rows.todo.is_empty() {
            rows.todo.extend(self.transactions(rows.turn));
            rows.turn += 1;
        }
        match transact(db, &rows.todo[0]) {
            Ok(()) => {
                rows.note();
                true
            }
            Err(error) => {
                assert!(is_lost(error), "{error:?}, turn {}: {self:?}", rows.turn);
                false
            }
        }
    }
}

/// What is there, and what is to be done.
#[derive(Debug, Default)]
struct Rows {
    there: BTreeSet<i64>,
    todo: VecDeque<Vec<Change>>,
    turn: i64,
}

impl Rows {
    /// The next transaction is done.
    fn note(&mut self) {
        for change in self.todo.pop_front().unwrap_or_default() {
            let has_changed = match change {
                Change::Insert(id) => self.there.insert(id),
                Change::Delete(id) => self.there.remove(&id),
            };
            assert!(has_changed, "{change:?} changes what is there");
        }
    }

    /// See what is there: a transaction that a cut met was done, or was not.
    fn check(&mut self, db: &mut Db<'_, 'static, &mut Image>) {
        let (mut out, mut found) = ([0; 256], BTreeSet::new());
        let mut scan = db.scan(0, Direction::Forward).unwrap();
        while let Some(row) = scan.next(db, &mut out).unwrap() {
            let Ok(Value::Integer(id)) = row.column(0) else { panic!("an id is an integer") };
            assert!(found.insert(id), "row {id} is there once");
        }
        if found != self.there {
            self.note();
        }
        assert_eq!(found, self.there, "turn {}", self.turn);
        for id in found {
            assert!(db.get(0, 0, &[Value::Integer(id)], &mut out).unwrap().is_some());
        }
    }
}

fn transact(db: &mut Db<'_, 'static, &mut Image>, changes: &[Change]) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    for change in changes {
        match *change {
            Change::Insert(id) => {
                let text = [id.to_le_bytes()[0]; 24];
                tx.insert(0, &[Value::Integer(id), Value::Integer(id % 7), Value::Blob(&text)])?;
            }
            Change::Delete(id) => {
                assert!(tx.delete(0, &[Value::Integer(id)])?, "row {id} is there");
            }
        }
    }
    tx.commit(Durability::Durable)
}

/// What is dead makes room, on parts of all sizes, whatever the keys are: `FLYSCH_PAIRS` rows that
/// come and go in each case. The first case was once full for good after 3,667.
#[test]
fn few_rows_come_and_go_for_ever() {
    let pairs = told("FLYSCH_PAIRS");
    for case in &CASES {
        case.run(pairs.unwrap_or(5000).cast_signed());
    }
}
