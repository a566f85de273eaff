//! Rows of ever new keys that come and go: what is dead leaves the indexes too, however short the
//! sessions are.

use std::collections::VecDeque;

use flysch::db::{Db, DbError, Durability, Options};
use flysch::row::{Schema, Value};

use super::image::Image;
use super::world::{OPTIONS, Row, SCHEMA, row};

/// Rows that are there at a time.
const LIVE: usize = 20;

/// A queue of rows on a small device.
struct Queue {
    image: Image,
    ram: Vec<u8>,
    there: VecDeque<i64>,
    /// The most blocks that runs took.
    run_blocks: u32,
    /// The row of a number.
    row: fn(i64) -> Row,
}

impl Queue {
    fn new(row: fn(i64) -> Row) -> Self {
        let (mut image, mut ram) = (Image::blank(512, 96), vec![0; 9000]);
        Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
        Self { image, ram, there: VecDeque::new(), run_blocks: 0, row }
    }

    /// A session: these rows come, and as many go; then a close, or a cut.
    fn live(&mut self, numbers: core::ops::Range<i64>, is_closed: bool) -> Result<(), DbError> {
        let (schema, options): (&Schema<'_>, Options) = (&SCHEMA, OPTIONS);
        let mut db = Db::open(&mut self.image, schema, options, &mut self.ram)?;
        for number in numbers {
            let mut tx = db.begin()?;
            (self.row)(number).insert(&mut tx)?;
            tx.commit(Durability::Durable)?;
            self.there.push_back(number);
            if self.there.len() > LIVE {
                let number = self.there.pop_front().unwrap();
                let table = u8::from(matches!((self.row)(number), Row::Note(..)));
                let mut tx = db.begin()?;
                assert!(tx.delete(table, &[Value::Integer(number)])?, "row {number} is there");
                tx.commit(Durability::Durable)?;
            }
            self.run_blocks = self.run_blocks.max(db.stats().run_blocks);
        }
        if is_closed { db.close().map(drop) } else { Ok(()) }
    }

    /// Let so many rows come, in sessions of `rows`.
    fn run(&mut self, count: i64, rows: i64, is_closed: bool) {
        let mut from = 0;
        while from < count {
            let to = (from + rows).min(count);
            let lived = self.live(from..to, is_closed);
            let blocks = self.run_blocks;
            assert_eq!(lived, Ok(()), "sessions of {rows}, row {from}, {blocks} blocks of runs");
            from = to;
        }
    }
}

/// Sessions that end before a merge is done: the next one begins it anew, and learns the filters of
/// all recent runs again. In sessions of seven rows one recent run came to 13,404 entries, and a
/// device with 20 rows was full after 20,593.
#[test]
fn runs_do_not_grow_in_short_sessions() {
    let cases = [(22_000, 7, true), (3000, 1, true), (3000, 2, false), (12_000, 12_000, false)];
    for (count, rows, is_closed) in cases {
        let mut queue = Queue::new(|number| row(number, 40));
        queue.run(count, rows, is_closed);
        assert!(queue.run_blocks <= 26, "{} blocks of runs, sessions of {rows}", queue.run_blocks);
    }
}

/// An index of unique keys is as large as the rows that are there, not those that were: a merge
/// drops the tombstone with the row that it ends.
#[test]
fn an_index_of_few_live_rows_stays_small() {
    let mut queue = Queue::new(|number| Row::Note(number, vec![7; 12]));
    queue.run(8000, 30_000, false);
    assert!(queue.run_blocks <= 4, "{} blocks of runs for {LIVE} rows", queue.run_blocks);
}
