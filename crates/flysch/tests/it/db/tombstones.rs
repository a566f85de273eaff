//! Rows that are deleted and inserted again, while their tombstones are moved and merges drop them.
//!
//! A tombstone that was looked up waits in the window of compaction to be moved. Meanwhile a merge
//! may drop it together with the row that it ends, and the key may be inserted again. Moved all the
//! same, the tombstone would be newer than the new row.

use flysch::db::{Db, DbError, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use crate::told;

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "member",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("body", ColumnType::Blob),
        ],
        indexes: &[Index { columns: &[0], kind: IndexKind::Hash, is_unique: true }],
        zone: None,
        keep: None,
    }],
};
const OPTIONS: Options = Options { partition: None, seed: 3, capacity: 1000 };

/// Members that there may be: as many as make the device so full that rows are moved all the time.
const MEMBERS: u64 = 650;
/// Of these, the ones that never leave, and whose rows are replaced. They make blocks with
/// tombstones worth moving.
const LASTING: u64 = 20;
/// Of ten changes, those that replace the row of such a member.
const REPLACED: u64 = 8;
/// About how many have left at a time: few, so that a tombstone's member soon comes back.
const ABSENT: u64 = 60;
/// The longest body of a row.
const BODY_MAX: u64 = 63;

fn key_of(member: usize) -> Value<'static> {
    Value::Integer(i64::try_from(member).expect("there are few members"))
}

/// Members that come and go.
struct Club<'d> {
    db: Db<'d, 'd, &'d mut Image>,
    prng: Prng,
    /// For each member, how long the body of the row is; None while it is absent.
    bodies: Vec<Option<usize>>,
}

impl Club<'_> {
    /// Who comes, leaves or gets another row next, and the new body.
    fn draw(&mut self) -> (usize, Option<usize>) {
        let body = self.prng.below(BODY_MAX + 1) as usize;
        if self.prng.below(10) < REPLACED {
            return (self.prng.below(LASTING) as usize, Some(body));
        }
        let absent: Vec<usize> =
            (0..self.bodies.len()).filter(|id| self.bodies[*id].is_none()).collect();
        let comes = absent.len() as u64 > self.prng.below(2 * ABSENT);
        let id = if comes {
            absent[self.prng.below(absent.len() as u64) as usize]
        } else {
            (LASTING + self.prng.below(MEMBERS - LASTING)) as usize
        };
        (id, self.bodies[id].is_none().then_some(body))
    }

    fn change(&mut self) -> Result<(), DbError> {
        let (id, body) = self.draw();
        let key = key_of(id);
        let mut tx = self.db.begin()?;
        let was_there = match body {
            Some(len) => tx.upsert(0, &[key, Value::Blob(&[7; BODY_MAX as usize][..len])])?,
            None => tx.delete(0, &[key])?,
        };
        assert_eq!(was_there, self.bodies[id].is_some(), "whether {id} was a member");
        tx.commit(Durability::Lazy)?;
        self.bodies[id] = body;
        Ok(())
    }

    /// Every member that left comes back.
    fn invite(&mut self) -> Result<(), DbError> {
        let mut tx = self.db.begin()?;
        for (id, body) in (0..).zip(&mut self.bodies).filter(|(_, body)| body.is_none()) {
            assert!(!tx.upsert(0, &[key_of(id), Value::Blob(&[])])?, "{id} had left");
            *body = Some(0);
        }
        tx.commit(Durability::Lazy)
    }

    /// Change a row. Whenever a full merge ends by that, all come back: the tombstones of those who
    /// had left may be dropped, and wait in a window.
    fn go_on(&mut self) -> Result<(), DbError> {
        let merges = self.db.stats().full_merges;
        self.change()?;
        if merges == self.db.stats().full_merges { Ok(()) } else { self.invite() }
    }

    fn check(&mut self) {
        let mut out = [0; 128];
        for (id, body) in self.bodies.iter().enumerate() {
            let row = self.db.get(0, 0, &[key_of(id)], &mut out).unwrap();
            let found = row.map(|row| match row.column(1) {
                Ok(Value::Blob(bytes)) => bytes.len(),
                other => panic!("{id}: {other:?}"),
            });
            assert_eq!(found, *body, "member {id}");
        }
    }
}

/// `FLYSCH_HISTORIES` clubs from `FLYSCH_SEED` on.
#[test]
fn a_tombstone_that_a_merge_dropped_is_not_moved() {
    let first = told("FLYSCH_SEED").unwrap_or(0);
    for seed in first..first + told("FLYSCH_HISTORIES").unwrap_or(8) {
        let (mut image, mut ram) = (Image::of(512, 8, 30), [0; 6000]);
        let db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let bodies = vec![None; MEMBERS as usize];
        let mut club = Club { db, prng: Prng::new(seed), bodies };
        for round in 0..200 {
            let changed = (0..40).try_for_each(|_| club.go_on());
            assert_eq!(changed, Ok(()), "round {round} of seed {seed}");
            if round % 4 == 0 {
                club.check();
            }
        }
        let merges = club.db.stats().full_merges;
        assert!(merges > 1, "{merges} full merges ended");
        assert!(club.db.moved_pages() > 100, "{} pages were moved", club.db.moved_pages());
    }
}
