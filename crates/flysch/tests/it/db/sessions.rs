//! Sessions in one call: they leave on flash what an open and a close leave.

use flysch::db::{Db, DbError, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_nand::WriteRule;

use super::image::Image;
use super::nvram::{Memory, lent};

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "counter",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("count", ColumnType::Integer),
        ],
        indexes: &[Index { columns: &[0], kind: IndexKind::Hash, is_unique: true }],
        zone: None,
        keep: None,
    }],
};
const OPTIONS: Options = Options { partition: None, seed: 5, capacity: 1000 };

/// A session that counts a row up, and gives what it opened on: whether that was clean, the commits
/// and the row's count.
fn count_up(db: &mut Db<'_, '_, &mut Image>) -> Result<(bool, u32, i64), DbError> {
    let (is_clean, commits) = (db.report().is_clean, db.report().commits);
    let mut out = [0; 64];
    let before = match db.get(0, 0, &[Value::Integer(1)], &mut out)? {
        Some(row) => match row.column(1)? {
            Value::Integer(count) => count,
            other => panic!("{other:?} is no count"),
        },
        None => 0,
    };
    let mut tx = db.begin()?;
    tx.upsert(0, &[Value::Integer(1), Value::Integer(before + 1)])?;
    tx.commit(Durability::Durable)?;
    Ok((is_clean, commits, before))
}

#[test]
fn a_session_opens_and_closes_as_two_calls_do() {
    for has_nvram in [false, true] {
        let mut memory = has_nvram.then(|| Memory::new(8192, WriteRule::Overwrite));
        let (mut image, mut ram) = (Image::blank(512, 24), [0; 12_000]);
        Db::format(&mut image, lent(&mut memory), &SCHEMA, OPTIONS, &mut ram).unwrap();
        for life in 0..40 {
            let nvram = lent(&mut memory);
            let seen = Db::session(&mut image, nvram, &SCHEMA, OPTIONS, &mut ram, count_up);
            assert_eq!(seen, Ok((true, life, life.into())), "with a memory beside: {has_nvram}");
        }
        // What fails ends as at a cut, and what it had committed stays.
        for life in 40..50 {
            let nvram = lent(&mut memory);
            let seen = Db::session(&mut image, nvram, &SCHEMA, OPTIONS, &mut ram, |db| {
                count_up(db)?;
                Err::<(), _>(DbError::Unknown)
            });
            assert_eq!(seen, Err(DbError::Unknown));
            let nvram = lent(&mut memory);
            let mut db =
                Db::open_with_nvram(&mut image, nvram, &SCHEMA, OPTIONS, &mut ram).unwrap();
            assert_eq!(count_up(&mut db).map(|seen| (seen.0, seen.2)), Ok((false, 2 * life - 39)));
        }
    }
}

#[test]
fn what_cannot_be_opened_is_not_worked_on() {
    let (mut image, mut ram) = (Image::blank(512, 24), [0; 12_000]);
    Db::format(&mut image, None, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let before = image.changes;
    let other = Options { seed: 6, ..OPTIONS };
    let seen = Db::session(&mut image, None, &SCHEMA, other, &mut ram, |_| -> Result<(), _> {
        panic!("the database is another one")
    });
    assert!(matches!(seen, Err(DbError::Mount(_))), "{seen:?}");
    let seen = Db::session(&mut image, None, &SCHEMA, OPTIONS, &mut ram[..100], |_| Ok(()));
    assert!(matches!(seen, Err(DbError::RamTooSmall { .. })), "{seen:?}");
    assert_eq!(image.changes, before, "nothing was written");
}
