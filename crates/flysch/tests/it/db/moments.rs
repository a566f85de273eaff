//! The power goes after any operation at all: what was committed is there, in every index.
//!
//! Each program, erase and mark of a history leaves a copy of the chip. Each copy is opened. What a
//! block held that was erased too early, or a record that said too much or too little, is missed
//! in one of them.

use flysch::db::{Budget, Db, DbError, Direction, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use super::ledger::{Bounds, Ledger, SCHEMA};
use super::world;

const OPTIONS: Options = Options { partition: None, seed: 11, capacity: 100 };

/// A device, and what happens on it.
#[derive(Clone, Copy, Debug)]
struct Case {
    page_size: u32,
    block_count: u32,
    bounds: Bounds,
    /// Changes of a transaction, at most.
    transaction_max: u64,
    transactions: u64,
    /// One operation in so many fails.
    fails_every: Option<u64>,
    /// Of the copies behind a program, one in so many is opened; behind an erase or a mark, all.
    every: usize,
}

const fn bounds(keys: u64, label_max: u64, data_max: u64) -> Bounds {
    Bounds { keys, label_max, data_max }
}

const CASES: [Case; 5] = [
    // Space is short: blocks are moved, copied and let go.
    Case {
        page_size: 512,
        block_count: 28,
        bounds: bounds(90, 80, 80),
        transaction_max: 6,
        transactions: 900,
        fails_every: None,
        every: 9,
    },
    Case {
        page_size: 512,
        block_count: 90,
        bounds: bounds(60, 60, 900),
        transaction_max: 5,
        transactions: 500,
        fails_every: Some(53),
        every: 9,
    },
    Case {
        page_size: 1024,
        block_count: 32,
        bounds: bounds(90, 120, 120),
        transaction_max: 40,
        transactions: 200,
        fails_every: None,
        every: 9,
    },
    // Many records lie on one tail.
    Case {
        page_size: 4096,
        block_count: 24,
        bounds: bounds(30, 3, 3),
        transaction_max: 1,
        transactions: 400,
        fails_every: None,
        every: 3,
    },
    Case {
        page_size: 16_384,
        block_count: 24,
        bounds: bounds(30, 9, 9),
        transaction_max: 1,
        transactions: 800,
        fails_every: None,
        every: 6,
    },
];

/// What a transaction left, and the copies between which it was under way.
struct State {
    ledger: Ledger,
    from: usize,
    upto: usize,
}

impl Case {
    fn ram(&self) -> Vec<u8> {
        vec![0; 6500 + 3 * self.page_size as usize]
    }

    /// Live through the history. Gives a copy of the chip for each operation, and the states.
    fn run(&self) -> (Vec<Image>, Vec<State>) {
        let mut prng = Prng::new(u64::from(self.page_size + self.block_count));
        let mut image = Image::blank(self.page_size, self.block_count);
        let mut ram = self.ram();
        Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
        image.moments = Some(Vec::new());
        image.fails_every = self.fails_every;
        let mut states = vec![State { ledger: Ledger::default(), from: 0, upto: 0 }];
        let mut left = self.transactions;
        while left > 0 {
            let life = left.min(1 + prng.below(100));
            left -= life;
            let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
            for _ in 0..life {
                self.transact(&mut db, &mut prng, &mut states);
            }
            if prng.below(2) == 0 {
                let closed = db.close().map(drop);
                assert!(matches!(closed, Ok(()) | Err(DbError::Full)), "{closed:?}: {self:?}");
            }
        }
        (image.moments.take().unwrap(), states)
    }

    /// Change some rows, and pay debts now and then.
    fn transact(
        &self,
        db: &mut Db<'_, 'static, &mut Image>,
        prng: &mut Prng,
        states: &mut Vec<State>,
    ) {
        let count = |db: &Db<'_, 'static, &mut Image>| db.nand().moments.as_ref().unwrap().len();
        if prng.below(12) == 0 {
            let done = db.maintain(Budget { operations: prng.below(120) as u32 });
            assert!(matches!(done, Ok(_) | Err(DbError::Full)), "{done:?}");
        }
        let from = count(db);
        let kept = &states.last().unwrap().ledger;
        let mut ledger = kept.clone();
        let changes = 1 + prng.below(self.transaction_max);
        match kept.transact(db, prng, (changes, self.bounds), &mut ledger) {
            Ok(()) => states.push(State { ledger, from, upto: count(db) }),
            // Nothing is said of a transaction that was refused at its commit.
            Err(DbError::Full | DbError::TransactionTooLong) => {
                db.begin().map_or_else(|error| assert_eq!(error, DbError::Full), drop);
            }
            Err(error) => panic!("{error:?}: {self:?}"),
        }
    }

    /// Open a copy: it holds what was acknowledged before, or what was under way. Some copies go on
    /// from there.
    fn check(&self, number: usize, mut image: Image, states: &[State]) {
        let story = format!("copy {number}, {self:?}");
        let mut ram = self.ram();
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram)
            .unwrap_or_else(|error| panic!("{error:?}: {story}"));
        let found = Ledger::scanned(&mut db, Direction::Forward)
            .unwrap_or_else(|error| panic!("{error:?}: {story}"));
        let done = states.iter().rposition(|state| state.upto <= number + 1).unwrap();
        let may_be = states[done..].iter().take_while(|state| state.from <= number + 1);
        let is_one = may_be.map(|state| &state.ledger).any(|ledger| *ledger == found);
        assert!(is_one, "after state {done}: {story}");
        if !number.is_multiple_of(5) {
            return;
        }
        found.ask(&mut db, self.bounds, &story).unwrap();
        let mut prng = Prng::new(number as u64);
        let mut after = found.clone();
        match found.transact(&mut db, &mut prng, (3, self.bounds), &mut after) {
            Ok(()) => {}
            Err(DbError::Full) => return,
            Err(error) => panic!("{error:?}: {story}"),
        }
        let mut ram = self.ram();
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram)
            .unwrap_or_else(|error| panic!("{error:?} after a commit: {story}"));
        let found = Ledger::scanned(&mut db, Direction::Backward).unwrap();
        assert!(found == after, "after a commit: {story}");
    }
}

#[test]
fn every_operation_may_be_the_last() {
    for case in CASES {
        let (moments, states) = case.run();
        let erased = |image: &Image| image.pages.iter().filter(|page| page.is_none()).count();
        let mut before = usize::MAX;
        for (number, image) in moments.into_iter().enumerate() {
            let now = erased(&image);
            let is_program = now + 1 == before;
            before = now;
            if !is_program || number % case.every == 0 {
                case.check(number, image, &states);
            }
        }
    }
}

/// Commits of a few bytes, whose records rest on many before them: each is there at once.
#[test]
fn tiny_commits_are_found_one_by_one() {
    for (page_size, count) in [(1024, 200), (4096, 700)] {
        let mut image = Image::blank(page_size, 24);
        let size = 12_000 + 4 * page_size as usize;
        let (mut ram, mut other) = (vec![0; size], vec![0; size]);
        let mut db = Db::create(&mut image, &world::SCHEMA, world::OPTIONS, &mut ram).unwrap();
        for id in 0..count {
            let mut tx = db.begin().unwrap();
            let values = [Value::Integer(id), Value::Integer(0), Value::Null, Value::Text("")];
            tx.insert(0, &values).unwrap();
            tx.commit(Durability::Durable).unwrap();
            let mut copy = Image::clone(db.nand());
            let opened = Db::open(&mut copy, &world::SCHEMA, world::OPTIONS, &mut other);
            let mut found = opened.unwrap_or_else(|error| panic!("{error:?}, {id}, {page_size}"));
            let mut out = [0; 64];
            let mut has = |id| found.get(0, 0, &[Value::Integer(id)], &mut out).unwrap().is_some();
            assert!(has(id) && has(id / 2) && !has(id + 1), "{id}, pages of {page_size}");
        }
    }
}

/// Rows of a few bytes in log blocks of many pages: records rest on one another until so many do.
#[test]
fn records_rest_on_a_bounded_number_of_others() {
    const TICK: Table<'static> = Table {
        name: "tick",
        columns: &[Column::required("id", ColumnType::Integer)],
        indexes: &[Index { columns: &[0], kind: IndexKind::Hash, is_unique: false }],
        zone: None,
        keep: None,
    };
    const TICKS: Schema<'static> = Schema { tables: &[TICK] };
    let mut image = Image::of(2048, 64, 24);
    let (mut ram, mut other) = (vec![0; 20_000], vec![0; 20_000]);
    let mut db = Db::create(&mut image, &TICKS, OPTIONS, &mut ram).unwrap();
    for id in 0..600 {
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[Value::Integer(id)]).unwrap();
        tx.commit(Durability::Durable).unwrap();
        if id % 2 == 1 {
            continue;
        }
        let mut copy = Image::clone(db.nand());
        let opened = Db::open(&mut copy, &TICKS, OPTIONS, &mut other);
        let mut found = opened.unwrap_or_else(|error| panic!("{error:?} after row {id}"));
        let (mut scan, mut out) = (found.scan(0, Direction::Backward).unwrap(), [0; 64]);
        let newest = scan.next(&mut found, &mut out).unwrap().unwrap();
        assert_eq!(newest.column(0), Ok(Value::Integer(id)));
    }
}
