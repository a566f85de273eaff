//! Rows as owned values, and calls that read or write them inside a transaction or outside of one.

use flysch::db::{Direction, ListedKey, Reader, Transaction};
use flysch::row::{RowView, Value};
use flysch_nand::Nand;
use flysch_sqlite::Value as Cell;

use super::super::error::TpccError;
use super::super::relation::Relation;
use super::schema::KEY;

/// Bytes of the largest row: a customer with all data.
const ROW_SIZE: usize = 1024;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    relation: Relation,
}

impl Row {
    fn read(relation: Relation, view: &RowView<'_, '_>) -> Result<Self, TpccError> {
        let cells = view.values().map(|value| {
            Ok(match value.map_err(|error| failed(relation)(error.into()))? {
                Value::Integer(number) => Cell::Integer(number),
                Value::Text(text) => Cell::Text(text.as_bytes().to_vec()),
                Value::Null | Value::Bool(_) | Value::Real(_) | Value::Blob(_) | Value::Time(_) => {
                    Cell::Null
                }
            })
        });
        Ok(Self { cells: cells.collect::<Result<_, TpccError>>()?, relation })
    }

    /// The integer in a column.
    pub(super) fn integer(&self, column: usize) -> Result<i64, TpccError> {
        match self.cells.get(column) {
            Some(Cell::Integer(number)) => Ok(*number),
            _ => Err(TpccError::Unexpected { statement: self.relation.insert() }),
        }
    }

    /// The text in a column.
    pub(super) fn text(&self, column: usize) -> Result<String, TpccError> {
        match self.cells.get(column) {
            Some(Cell::Text(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            _ => Err(TpccError::Unexpected { statement: self.relation.insert() }),
        }
    }

    /// Put an integer into a column.
    pub(super) fn set(&mut self, column: usize, number: i64) {
        self.cells[column] = Cell::Integer(number);
    }

    /// Add to the integer in a column.
    pub(super) fn add(&mut self, column: usize, number: i64) -> Result<(), TpccError> {
        self.set(column, self.integer(column)? + number);
        Ok(())
    }
}

/// The values in the form in which the engine takes them.
pub(super) fn values(cells: &[Cell]) -> Result<Vec<Value<'_>>, TpccError> {
    let value = |cell| match cell {
        &Cell::Integer(number) => Ok(Value::Integer(number)),
        Cell::Text(bytes) => std::str::from_utf8(bytes).map(Value::Text).map_err(drop),
        Cell::Null => Ok(Value::Null),
        Cell::Real(_) | Cell::Blob(_) => Err(()),
    };
    let all: Result<Vec<_>, ()> = cells.iter().map(value).collect();
    all.map_err(|()| TpccError::Unexpected { statement: "a value" })
}

/// Makes the error of an engine call on a table.
pub(super) fn failed(relation: Relation) -> impl Fn(flysch::db::DbError) -> TpccError {
    move |error| TpccError::Engine { statement: relation.insert(), error }
}

/// The row with this primary key. None if there is none.
pub(super) fn find<'ram, 's, N: Nand>(
    reader: &mut impl Reader<'ram, 's, N>,
    relation: Relation,
    key: &[i64],
) -> Result<Option<Row>, TpccError> {
    let key: Vec<_> = key.iter().map(|&number| Value::Integer(number)).collect();
    let mut out = [0; ROW_SIZE];
    let failed = failed(relation);
    let db = reader.reading().map_err(&failed)?;
    let mut found = db.find(relation as u8, KEY, &key).map_err(&failed)?;
    let row = found.next(reader, &mut out).map_err(&failed)?;
    row.map(|view| Row::read(relation, &view)).transpose()
}

/// The row with this primary key. It is an error if there is none.
pub(super) fn fetch<'ram, 's, N: Nand>(
    reader: &mut impl Reader<'ram, 's, N>,
    relation: Relation,
    key: &[i64],
) -> Result<Row, TpccError> {
    let row = find(reader, relation, key)?;
    row.ok_or(TpccError::Unexpected { statement: relation.insert() })
}

/// Call `see` with each row that has one of these primary keys, in no particular order. It is an
/// error if one of them is missing.
pub(super) fn each_of<'ram, 's, N: Nand, const COLUMNS: usize>(
    reader: &mut impl Reader<'ram, 's, N>,
    relation: Relation,
    keys: impl ExactSizeIterator<Item = [i64; COLUMNS]>,
    mut see: impl FnMut(Row) -> Result<(), TpccError>,
) -> Result<(), TpccError> {
    let (mut out, count) = ([0; ROW_SIZE], keys.len());
    let mut listed = vec![ListedKey::default(); count];
    let failed = failed(relation);
    let db = reader.reading().map_err(&failed)?;
    let mut list = db.list(relation as u8, KEY, &mut listed).map_err(&failed)?;
    for key in keys {
        list.put(db, &key.map(Value::Integer)).map_err(&failed)?;
    }
    let mut found = 0;
    while let Some((_, view)) = list.next(reader, &mut out).map_err(&failed)? {
        see(Row::read(relation, &view)?)?;
        found += 1;
    }
    if found == count {
        Ok(())
    } else {
        Err(TpccError::Unexpected { statement: relation.insert() })
    }
}

/// The rows that have this key in a secondary index.
pub(super) fn matching<'ram, 's, N: Nand>(
    reader: &mut impl Reader<'ram, 's, N>,
    (relation, index): (Relation, u8),
    key: &[Value<'_>],
) -> Result<Vec<Row>, TpccError> {
    let (mut out, mut rows) = ([0; ROW_SIZE], Vec::new());
    let failed = failed(relation);
    let db = reader.reading().map_err(&failed)?;
    let mut found = db.find(relation as u8, index, key).map_err(&failed)?;
    while let Some(view) = found.next(reader, &mut out).map_err(&failed)? {
        rows.push(Row::read(relation, &view)?);
    }
    Ok(rows)
}

/// At most `count` rows whose keys in an ordered index lie between `least` and `greatest`, which
/// may be prefixes of keys.
pub(super) fn between<'ram, 's, N: Nand>(
    reader: &mut impl Reader<'ram, 's, N>,
    (relation, index): (Relation, u8),
    (least, greatest): (&[i64], &[i64]),
    (direction, count): (Direction, usize),
) -> Result<Vec<Row>, TpccError> {
    let [least, greatest] = [least, greatest]
        .map(|key| key.iter().map(|&number| Value::Integer(number)).collect::<Vec<_>>());
    let (mut out, mut rows) = ([0; ROW_SIZE], Vec::new());
    let failed = failed(relation);
    let db = reader.reading().map_err(&failed)?;
    let range = db.range_of(relation as u8, index, (&least, &greatest), direction);
    let mut range = range.map_err(&failed)?;
    while rows.len() < count {
        let Some(view) = range.next(reader, &mut out).map_err(&failed)? else { break };
        rows.push(Row::read(relation, &view)?);
    }
    Ok(rows)
}

/// Call `see` with every row of a table.
pub(super) fn each<'ram, 's, N: Nand>(
    reader: &mut impl Reader<'ram, 's, N>,
    relation: Relation,
    mut see: impl FnMut(Row) -> Result<(), TpccError>,
) -> Result<(), TpccError> {
    let mut out = [0; ROW_SIZE];
    let failed = failed(relation);
    let db = reader.reading().map_err(&failed)?;
    let mut scan = db.scan(relation as u8, Direction::Forward).map_err(&failed)?;
    while let Some(view) = scan.next(reader, &mut out).map_err(&failed)? {
        see(Row::read(relation, &view)?)?;
    }
    Ok(())
}

pub(super) fn insert<N: Nand>(
    transaction: &mut Transaction<'_, '_, '_, N>,
    relation: Relation,
    cells: &[Cell],
) -> Result<(), TpccError> {
    transaction.insert(relation as u8, &values(cells)?).map_err(failed(relation))
}

/// Replace the row with the same primary key.
pub(super) fn update<N: Nand>(
    transaction: &mut Transaction<'_, '_, '_, N>,
    row: &Row,
) -> Result<(), TpccError> {
    let relation = row.relation;
    let done = transaction.update(relation as u8, &values(&row.cells)?);
    let was_there = done.map_err(failed(relation))?;
    if was_there { Ok(()) } else { Err(TpccError::Unexpected { statement: relation.insert() }) }
}
