//! Lost pages of an index in which many keys have one code. A repair puts their entries again in
//! the order of their rows' ages, however many they are.

use std::collections::BTreeMap;

use flysch::db::{Budget, Db, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "address",
        columns: &[
            Column::required("host", ColumnType::Text),
            Column::required("count", ColumnType::Integer),
        ],
        indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
        zone: None,
        keep: None,
    }],
};
const _: () = assert!(SCHEMA.check().is_ok());
const OPTIONS: Options = Options { partition: None, seed: 7, capacity: 1000 };
const RAM: usize = 12_000;

/// The number from which on a cell takes one key.
const LONG: usize = 10_000;

/// How many keys have one code: the first eight bytes.
#[derive(Clone, Copy)]
struct Hosts {
    of_a_code: usize,
}

impl Hosts {
    fn host(self, number: usize) -> String {
        let rest = if number < LONG { "" } else { &"long".repeat(90) };
        format!("www.{:03}.{}{rest}", number / self.of_a_code, number % self.of_a_code)
    }
}

/// Few keys are replaced often and many seldom, in 60 transactions of 8.
fn at_random() -> Vec<Vec<usize>> {
    let mut prng = Prng::new(11);
    let mut some = || (0..8).map(|_| (prng.below(60) * prng.below(60) / 60) as usize).collect();
    (0..60).map(|_| some()).collect()
}

/// Twenty keys come at once. All but the first are replaced later, each in another cell, so that
/// the first one's cell calls for many others. Each of their cells calls for one that is replaced
/// later still, and not for the next in turn.
fn in_turn() -> Vec<Vec<usize>> {
    let before = (1..80).map(|number| (number * 20..number * 20 + 20).collect());
    let later = |number: usize| number + if number.is_multiple_of(2) { 1 } else { 4 };
    let turns = (1..20).map(|number| vec![number, later(number), LONG + number]);
    [(0..20).collect()].into_iter().chain(before).chain(turns).collect()
}

/// A device on which these keys were inserted, and replaced where they were there, and the count in
/// each row.
fn device(page_size: u32, hosts: Hosts, batches: &[Vec<usize>]) -> (Image, BTreeMap<usize, i64>) {
    let mut image = Image::of(page_size, 8, 64);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let (mut counts, mut count) = (BTreeMap::new(), 0);
    for batch in batches {
        let mut tx = db.begin().unwrap();
        for &number in batch {
            let host = hosts.host(number);
            count += 1;
            let values = [Value::Text(&host), Value::Integer(count)];
            if counts.insert(number, count).is_none() {
                tx.insert(0, &values).unwrap();
            } else {
                assert_eq!(tx.update(0, &values), Ok(true), "{host} is there");
            }
        }
        tx.commit(Durability::Durable).unwrap();
        while batch.len() >= 20 && db.maintain(Budget { operations: 50 }).unwrap() {}
    }
    db.close().unwrap();
    (image, counts)
}

/// Every key leads to its newest row.
fn check(
    db: &mut Db<'_, '_, &mut Image>,
    hosts: Hosts,
    counts: &BTreeMap<usize, i64>,
    story: &str,
) {
    let mut out = [0; 512];
    for (&number, &count) in counts {
        let host = hosts.host(number);
        let row = db.get(0, 0, &[Value::Text(&host)], &mut out).unwrap();
        let found = row.map(|row| row.column(1).unwrap());
        assert_eq!(found, Some(Value::Integer(count)), "{host}: {story}");
    }
}

/// A repair refused keys of which more than eight lay in one cell with one code, and those whose
/// entries called for more than eight others: `TransactionTooLong`, at any RAM.
#[test]
fn many_keys_of_one_code_are_put_together_again() {
    let mut entries = 0;
    for (page_size, of_a_code, batches) in [
        (512, 5, at_random()),
        (512, 40, at_random()),
        (4096, 60, at_random()),
        (512, 20, in_turn()),
        (1024, 20, in_turn()),
    ] {
        let hosts = Hosts { of_a_code };
        let (image, counts) = device(page_size, hosts, &batches);
        for page in image.run_pages() {
            let story = format!("page {page} of {page_size} bytes, {of_a_code} keys of a code");
            let mut image = image.clone();
            image.rotten.insert(page);
            let mut ram = vec![0; RAM];
            let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
            let repaired = db.repair().unwrap_or_else(|error| panic!("{error}: {story}"));
            entries += repaired.entries;
            check(&mut db, hosts, &counts, &story);
            while db.maintain(Budget { operations: 50 }).unwrap() {}
            db.close().unwrap();
            let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
            check(&mut db, hosts, &counts, &story);
        }
    }
    assert!(entries > 100, "{entries} entries were put again");
}
