//! What a database is asked by key, and what it has to answer.

use std::borrow::Cow;

use flysch::db::{Criterion, Db, DbError, Direction, ListedKey, Reader, Scan, Snapshot};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, Index, IndexKind, Table};
use flysch_chip::Prng;
use flysch_nand::Nand;

use super::found::shown;
use super::queries;
use super::rows::{Row, Rows, State, Val, key_of, read, values};
use super::world::{Asked, World, one};

/// Bytes of the longest row.
pub(super) const ROW_MAX: usize = 1 << 17;

/// What is read: the database as it is, as a snapshot keeps it, or as of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Now,
    Kept,
    AsOf,
}

/// The rows of a cursor.
pub(super) fn pull<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    mut cursor: impl Cursor,
) -> Result<Vec<Row>, DbError> {
    let (mut found, mut out) = (Vec::new(), vec![0; ROW_MAX]);
    while let Some(row) = cursor.next(reader, &mut out)? {
        found.push(read(&row));
    }
    Ok(found)
}

/// A scan of a snapshot that others write meanwhile.
pub(super) struct Slow {
    table: u8,
    scan: Scan,
    found: Vec<Row>,
}

impl Slow {
    pub(super) fn begin<N: Nand>(
        db: &mut Db<'_, 'static, N>,
        snapshot: &Snapshot,
        table: u8,
        direction: Direction,
    ) -> Result<Self, DbError> {
        let scan = db.at(snapshot)?.scan(table, direction)?;
        Ok(Self { table, scan, found: Vec::new() })
    }

    /// Pull some rows. At the end it has shown each row of the state once; then it says so.
    pub(super) fn pull<N: Nand>(
        &mut self,
        db: &mut Db<'_, 'static, N>,
        (snapshot, state): (&Snapshot, &State),
        count: u64,
    ) -> Result<bool, DbError> {
        let mut out = vec![0; ROW_MAX];
        for _ in 0..count {
            if let Some(row) = self.scan.next(&mut db.at(snapshot)?, &mut out)? {
                self.found.push(read(&row));
                continue;
            }
            self.found.sort();
            let wanted = state[usize::from(self.table)].sorted();
            assert!(wanted.into_iter().eq(&self.found), "a scan of {} among writes", self.table);
            return Ok(true);
        }
        Ok(false)
    }
}

/// The rows of a table, sorted.
fn scan<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    table: u8,
    direction: Direction,
) -> Result<Vec<Row>, DbError> {
    let scan = reader.reading()?.scan(table, direction)?;
    let mut found = pull(reader, scan)?;
    found.sort();
    Ok(found)
}

/// Ask every index for every key, scan both ways, and ask for what queries make of it. As of a
/// commit some tables may say that they know nothing any more.
pub(super) fn everything<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    world: &World,
    state: &State,
    when: When,
) -> Result<(), DbError> {
    let mut shown = Vec::new();
    for number in 0..world.schema.tables.len() as u8 {
        match (when, table_of(reader, world, (number, &state[usize::from(number)]), when)) {
            (When::AsOf, Err(DbError::Stale)) => {}
            (_, asked) => shown.push(asked?),
        }
    }
    if world.asked >= Asked::Everything && shown.len() == world.schema.tables.len() {
        queries::joins(reader, world, &shown)?;
    }
    Ok(())
}

/// Ask for a table in every way; gives the rows that it shows.
fn table_of<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    world: &World,
    (number, rows): (u8, &Rows),
    when: When,
) -> Result<Rows, DbError> {
    let table = &world.schema.tables[usize::from(number)];
    let rows = shown_by(reader, (number, table), rows, when)?;
    for direction in [Direction::Backward, Direction::Forward] {
        let found = scan(reader, number, direction)?;
        assert!(rows.sorted().into_iter().eq(&found), "table {} {direction:?}", table.name);
    }
    if table.primary_key().is_some() {
        let all = reader.reading()?.all(number)?;
        let mut found = pull(reader, all)?;
        found.sort();
        assert!(rows.sorted().into_iter().eq(&found), "all of table {}", table.name);
    }
    for (at, index) in (0..).zip(table.indexes) {
        let keys = rows.keys_of(index);
        if index.is_unique && world.asked >= Asked::Together {
            listed(reader, (number, at), (&keys, &rows))?;
        }
        for key in keys.iter().chain(&absent(table, index)) {
            by_key(reader, (number, at, index), (key, &rows), when)?;
        }
        if index.kind == IndexKind::Ordered && keys.len() > 1 {
            queries::range(reader, (number, at, index), &keys, &rows)?;
        }
    }
    if world.asked >= Asked::Everything {
        queries::table(reader, (number, table), &rows)?;
    }
    let Some(last) = table.indexes.len().checked_sub(1) else { return Ok(rows.into_owned()) };
    let last = last as u8;
    let mut some: Vec<&Row> = rows.iter().collect();
    some.sort();
    if let (Some(one), Some(other)) = (some.get(some.len() / 3), some.get(some.len() / 2)) {
        for keys in [[*one, *one], [*one, *other]] {
            several(reader, (number, table), [0, last], keys, &some)?;
        }
    }
    Ok(rows.into_owned())
}

/// The rows that a table still shows, as a scan of it tells.
fn shown_by<'r, 'd, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, table): (u8, &Table<'_>),
    rows: &'r Rows,
    when: When,
) -> Result<Cow<'r, Rows>, DbError> {
    let shown = shown(rows, table, &scan(reader, number, Direction::Forward)?, when);
    Ok(shown.unwrap_or_else(|| panic!("table {} shows older rows", table.name)))
}

/// Ask a table for one thing that is drawn.
pub(super) fn something<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (world, state): (&World, &State),
    when: When,
    prng: &mut Prng,
) -> Result<(), DbError> {
    let number = prng.below(state.len() as u64) as u8;
    let table = &world.schema.tables[usize::from(number)];
    let rows = &state[usize::from(number)];
    let rows = match table.keep {
        Some(_) if prng.below(6) > 0 => return Ok(()),
        None => Cow::Borrowed(&**rows),
        Some(_) => shown_by(reader, (number, table), rows, when)?,
    };
    let rows = &*rows;
    let all: Vec<&Row> = rows.sorted();
    if all.is_empty() || table.indexes.is_empty() {
        let found = scan(reader, number, one(prng, &[Direction::Forward, Direction::Backward]))?;
        assert!(all.into_iter().eq(&found), "table {} {when:?}", table.name);
        return Ok(());
    }
    let at = prng.below(table.indexes.len() as u64) as u8;
    let other = prng.below(table.indexes.len() as u64) as u8;
    let index = &table.indexes[usize::from(at)];
    let pair = [0; 2].map(|_| one(prng, &all));
    match prng.below(12) {
        0 if prng.below(3) == 0 => queries::table(reader, (number, table), rows),
        1 if index.kind == IndexKind::Ordered => {
            queries::range(reader, (number, at, index), &rows.keys_of(index), rows)
        }
        2 if index.is_unique => listed(reader, (number, at), (&rows.keys_of(index), rows)),
        3 if prng.below(3) == 0 => queries::joins(reader, world, state),
        4..6 => several(reader, (number, table), [at, other], pair, &all),
        6 => {
            by_key(reader, (number, at, index), (&vec![Val::Null; index.columns.len()], rows), when)
        }
        _ => by_key(reader, (number, at, index), (&key_of(pair[0], index), rows), when),
    }
}

/// The rows of a key are those that have it.
fn by_key<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, at, index): (u8, u8, &Index<'_>),
    (key, rows): (&Row, &Rows),
    when: When,
) -> Result<(), DbError> {
    let mut wanted: Vec<&Row> = rows.iter().filter(|row| key_of(row, index) == *key).collect();
    wanted.sort();
    let found = find(reader, (number, at), key)?;
    let is_right = found.iter().eq(wanted.iter().copied());
    assert!(is_right, "{when:?} {key:?} in index {at} of {number}: {found:?}, not {wanted:?}");
    Ok(())
}

/// Rows that have the keys of two rows in two indexes, or one of them.
fn several<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, table): (u8, &Table<'_>),
    indexes: [u8; 2],
    keys: [&Row; 2],
    rows: &[&Row],
) -> Result<(), DbError> {
    let declared = indexes.map(|index| &table.indexes[usize::from(index)]);
    let keys = [key_of(keys[0], declared[0]), key_of(keys[1], declared[1])];
    let values = keys.each_ref().map(|key| values(key));
    let is_met = |row: &Row| [0, 1].map(|at| key_of(row, declared[at]) == keys[at]);
    for is_all in [true, false] {
        let second = if is_all { Criterion::is } else { Criterion::or };
        let criteria = [Criterion::is(indexes[0], &values[0]), second(indexes[1], &values[1])];
        let matches = reader.reading()?.matching(number, criteria)?;
        let mut found = pull(reader, matches)?;
        found.sort();
        let meets = |row: &&&Row| {
            let met = is_met(row);
            if is_all { met == [true, true] } else { met != [false, false] }
        };
        let wanted = rows.iter().filter(meets).copied();
        let is_right = wanted.eq(&found);
        assert!(is_right, "{keys:?} in indexes {indexes:?} of {number}, all: {is_all}: {found:?}");
    }
    Ok(())
}

/// Keys of a unique index that are looked up together give each row once.
fn listed<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (table, index): (u8, u8),
    (keys, rows): (&[Row], &Rows),
) -> Result<(), DbError> {
    let mut places = vec![ListedKey::default(); keys.len()];
    let mut list = reader.reading()?.list(table, index, &mut places)?;
    for key in keys {
        let values = values(key);
        assert!(list.put(reader.reading()?, &values)?, "there is a place for each key");
    }
    let (mut found, mut out) = (Vec::new(), vec![0; ROW_MAX]);
    while let Some((number, row)) = list.next(reader, &mut out)? {
        let key = key_of(&read(&row), &row.table.indexes[usize::from(index)]);
        assert_eq!(key, keys[usize::from(number)], "a list of index {index} of table {table}");
        found.push(read(&row));
    }
    found.sort();
    assert!(rows.sorted().into_iter().eq(&found), "a list of index {index} of table {table}");
    Ok(())
}

/// A key that no row has; none where every value of a column may be there.
fn absent(table: &Table<'_>, index: &Index<'_>) -> Option<Row> {
    let columns = index.columns.iter().map(|column| &table.columns[usize::from(*column)]);
    let value = |column: &Column<'_>| match column.kind {
        ColumnType::Bool => None,
        ColumnType::Integer => Some(Val::Integer(7_777_777)),
        ColumnType::Real => Some(Val::Real(7_777_777)),
        ColumnType::Text => Some(Val::Text("nothing".to_owned())),
        ColumnType::Blob => Some(Val::Blob(vec![9; 9])),
        ColumnType::Time => Some(Val::Time(7)),
    };
    columns.map(value).collect()
}

fn find<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (table, index): (u8, u8),
    key: &Row,
) -> Result<Vec<Row>, DbError> {
    let values = values(key);
    let find = reader.reading()?.find(table, index, &values)?;
    let mut found = pull(reader, find)?;
    found.sort();
    Ok(found)
}
