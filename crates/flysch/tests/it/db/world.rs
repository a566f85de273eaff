//! Small chips, a schema, and rows whose content follows from their number.

use std::sync::Arc;

use flysch::db::{Db, DbError, Direction, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, RowView, Schema, Table, Value};
use flysch_chip::{Chip, Clock, FaultInjector, Part};

use super::image::{Image, geometry};

pub(super) const fn index(columns: &[u8], kind: IndexKind, is_unique: bool) -> Index<'_> {
    Index { columns, kind, is_unique }
}

/// The number that is a row's first column.
pub(super) fn id_of(row: &RowView<'_, '_>) -> i64 {
    let Ok(Value::Integer(id)) = row.column(0) else { panic!("a number comes first") };
    id
}

/// Readings of sensors, and notes of any length.
pub(super) const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "reading",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("sensor", ColumnType::Integer),
                Column::nullable("value", ColumnType::Integer),
                Column::required("label", ColumnType::Text),
            ],
            indexes: &[
                Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
                Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
            ],
            zone: Some(0),
            keep: None,
        },
        Table {
            name: "note",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("text", ColumnType::Blob),
            ],
            indexes: &[Index { columns: &[0], kind: IndexKind::Hash, is_unique: true }],
            zone: None,
            keep: None,
        },
    ],
};
const _: () = assert!(SCHEMA.check().is_ok());

pub(super) const OPTIONS: Options = Options { partition: None, seed: 7, capacity: 100_000 };

/// A chip of blocks of eight pages.
pub(super) fn chip(page_size: u32, block_count: u32) -> FaultInjector {
    chip_of(page_size, 8, block_count)
}

pub(super) fn chip_of(page_size: u32, pages_per_block: u32, block_count: u32) -> FaultInjector {
    let part = Part::builtin("gemalto-vfl").unwrap();
    let geometry = geometry(page_size, pages_per_block, block_count);
    let part = Part { geometry, ..part };
    FaultInjector::new(Chip::new(Arc::new(part), Clock::new(), 1))
}

/// A chip of pages of 512 bytes that holds an empty database.
pub(super) fn created(blocks: u32, ram: usize) -> Image {
    let mut image = Image::blank(512, blocks);
    Db::create(&mut image, &SCHEMA, OPTIONS, &mut vec![0; ram]).map(drop).unwrap();
    image
}

/// A row as the tests know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Row {
    Reading(i64, String),
    Note(i64, Vec<u8>),
}

/// The row of a number: mostly readings, and notes of up to `note_max` bytes.
pub(super) fn row(number: i64, note_max: usize) -> Row {
    let mixed = number.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    if mixed.is_multiple_of(5) && note_max > 0 {
        let len = mixed as usize / 5 % note_max;
        return Row::Note(
            number,
            (0..len).map(|at| ((at as u64).wrapping_mul(mixed) >> 3) as u8).collect(),
        );
    }
    Row::Reading(number, "x".repeat(mixed as usize % 40))
}

impl Row {
    pub(super) fn insert<N: flysch_nand::Nand>(
        &self,
        tx: &mut flysch::db::Transaction<'_, '_, '_, N>,
    ) -> Result<(), DbError> {
        match self {
            Self::Reading(id, label) => tx.insert(
                0,
                &[
                    Value::Integer(*id),
                    Value::Integer(id % 10),
                    if id % 3 == 0 { Value::Null } else { Value::Integer(id * 7) },
                    Value::Text(label),
                ],
            ),
            Self::Note(id, text) => tx.insert(1, &[Value::Integer(*id), Value::Blob(text)]),
        }
    }
}

/// All rows of the database, of both tables, by number.
pub(super) fn rows<N: flysch_nand::Nand>(
    db: &mut Db<'_, '_, N>,
    direction: Direction,
) -> Result<Vec<Row>, DbError> {
    let mut all = Vec::new();
    let mut out = vec![0; 1 << 16];
    let mut scan = db.scan(0, direction)?;
    while let Some(row) = scan.next(db, &mut out)? {
        let (Value::Integer(id), Value::Text(label)) = (row.column(0)?, row.column(3)?) else {
            panic!("the columns have their types");
        };
        all.push(Row::Reading(id, label.to_owned()));
    }
    let mut scan = db.scan(1, direction)?;
    while let Some(row) = scan.next(db, &mut out)? {
        let (Value::Integer(id), Value::Blob(text)) = (row.column(0)?, row.column(1)?) else {
            panic!("the columns have their types");
        };
        all.push(Row::Note(id, text.to_owned()));
    }
    Ok(all)
}

/// The rows of numbers, as [`rows`] gives them.
pub(super) fn expected(numbers: &[i64], note_max: usize) -> Vec<Row> {
    let all: Vec<Row> = numbers.iter().map(|&number| row(number, note_max)).collect();
    let of = |is_note: bool| {
        let is = move |row: &&Row| matches!(row, Row::Note(..)) == is_note;
        all.iter().filter(is).cloned().collect::<Vec<_>>()
    };
    [of(false), of(true)].concat()
}

/// Insert rows in one transaction.
pub(super) fn insert<N: flysch_nand::Nand>(
    db: &mut Db<'_, '_, N>,
    numbers: &[i64],
    note_max: usize,
    durability: Durability,
) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    for &number in numbers {
        row(number, note_max).insert(&mut tx)?;
    }
    tx.commit(durability)
}

/// Ask the indexes for every row, for some that are absent, for all rows of each sensor, and for
/// the readings in the order of their numbers.
pub(super) fn ask_indexes<N: flysch_nand::Nand>(
    db: &mut Db<'_, '_, N>,
    rows: &[Row],
    story: &str,
) -> Result<(), DbError> {
    let mut out = vec![0; 1 << 16];
    let readings: Vec<i64> = rows.iter().filter_map(Row::reading).collect();
    for row in rows {
        let (table, id) = match row {
            Row::Reading(id, _) => (0, *id),
            Row::Note(id, _) => (1, *id),
        };
        let found = db.get(table, 0, &[Value::Integer(id)], &mut out)?;
        assert!(found.is_some(), "row {id} of table {table} is in its index: {story}");
        let absent = db.get(table, 0, &[Value::Integer(-1 - id)], &mut out)?;
        assert!(absent.is_none(), "no row {} of table {table}: {story}", -1 - id);
    }
    for sensor in 0..10 {
        let mut found = Vec::new();
        let mut find = db.find(0, 1, &[Value::Integer(sensor)])?;
        while let Some(row) = find.next(db, &mut out)? {
            let Value::Integer(id) = row.column(0)? else { panic!("an id is an integer") };
            found.push(id);
        }
        found.sort_unstable();
        let mut wanted: Vec<i64> =
            readings.iter().copied().filter(|id| id % 10 == sensor).collect();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "rows of sensor {sensor}: {story}");
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let (least, greatest) = (Value::Integer(3), Value::Integer(120));
        let mut range = db.range(0, 0, (&least, &greatest), direction)?;
        let mut found = Vec::new();
        while let Some(row) = range.next(db, &mut out)? {
            let Value::Integer(id) = row.column(0)? else { panic!("an id is an integer") };
            found.push(id);
        }
        let mut wanted: Vec<i64> =
            readings.iter().copied().filter(|id| (3..=120).contains(id)).collect();
        wanted.sort_unstable();
        if direction == Direction::Backward {
            wanted.reverse();
        }
        assert_eq!(found, wanted, "a range, {direction:?}: {story}");
    }
    Ok(())
}

impl Row {
    fn reading(&self) -> Option<i64> {
        match self {
            Self::Reading(id, _) => Some(*id),
            Self::Note(..) => None,
        }
    }
}
