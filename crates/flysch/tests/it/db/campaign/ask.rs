//! What a database is asked, and what it has to answer.

use std::borrow::Cow;
use std::rc::Rc;

use flysch::db::{Criterion, Db, DbError, Direction, ListedKey, Reader, Scan, Snapshot};
use flysch::query::{Cursor, Order, Sort};
use flysch::row::{Column, ColumnType, Index, IndexKind, Keep, Table};
use flysch_chip::Prng;
use flysch_nand::Nand;

use super::rows::{Row, Rows, State, Val, key_of, read, values};
use super::world::World;

/// Bytes of the longest row.
const ROW_MAX: usize = 1 << 17;
/// Bytes of the longest row that is sorted.
const SORTED_MAX: usize = 300;
/// Bytes of a text or blob that a sort compares for certain.
const FRONT_MAX: usize = 30;

/// What is read: the database as it is, or as it was.
#[derive(Clone, Copy, Debug)]
pub(super) enum When<'s> {
    Now,
    At(&'s Snapshot),
    /// After so many commits.
    AsOf(u32),
}

/// Which of some states a database holds, as a scan of all tables tells: the newest such one.
pub(super) fn which<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    world: &World,
    states: &[State],
) -> Result<usize, DbError> {
    let (mut found, mut came) = (Vec::new(), Vec::new());
    for table in 0..world.schema.tables.len() as u8 {
        let scan = db.scan(table, Direction::Forward)?;
        let mut rows = pull(db, When::Now, scan)?;
        came.push(rows.clone());
        rows.sort();
        found.push(rows);
    }
    let is_found = |state: &&State| {
        let tables = state.iter().zip(&found).zip(&came).zip(world.schema.tables);
        tables.into_iter().all(|(((rows, found), came), table)| {
            // States of the same rows are told apart by their order, which says what a ring gives
            // back first.
            let is_ordered = table.keep.is_none() || rows.came_so(table, came);
            let rows = shown(rows, table, found, When::Now);
            is_ordered && rows.is_some_and(|rows| rows.sorted().into_iter().eq(found))
        })
    };
    let place = states.iter().rev().position(|state| is_found(&state));
    Ok(place.map_or_else(
        || {
            panic!("{} states, and not one of them was found: {}", states.len(), {
                differences(&found, states.last().expect("there is a state"))
            })
        },
        |place| states.len() - 1 - place,
    ))
}

/// Whether a database shows rows beyond those of the newest state, as many as `doubtful` at most.
/// All of the state's own have to be there, but for rings, which give rows back.
pub(super) fn has_risen<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    world: &World,
    states: &[State],
    doubtful: u32,
) -> Result<bool, DbError> {
    let mut found = Vec::new();
    for table in 0..world.schema.tables.len() as u8 {
        let scan = db.scan(table, Direction::Forward)?;
        found.push(pull(db, When::Now, scan)?);
    }
    let extra = |state: &State| -> Option<usize> {
        let tables = state.iter().zip(&found).zip(world.schema.tables);
        let extra = tables.map(|((rows, found), table)| {
            let wanted = rows.sorted();
            let is_there = wanted.iter().all(|row| found.contains(row)) || table.keep.is_some();
            is_there.then(|| found.iter().filter(|row| !wanted.contains(row)).count())
        });
        extra.sum()
    };
    let Some(risen) = states.iter().filter_map(extra).min() else {
        let newest = states.last().expect("there is a state");
        panic!("a repair lost rows: {}", differences(&found, newest))
    };
    assert!(risen <= doubtful as usize, "{risen} rows rose, {doubtful} were doubtful");
    Ok(risen > 0)
}

/// What a table shows, as far as a ring has not given it back, of which these rows were found. A
/// ring keeps what a snapshot shows.
fn shown<'r>(
    rows: &'r Rows,
    table: &Table<'_>,
    found: &[Row],
    when: When<'_>,
) -> Option<Cow<'r, Rows>> {
    let Some(keep) = table.keep.filter(|_| !matches!(when, When::At(_))) else {
        return Some(Cow::Borrowed(rows));
    };
    let is_now = matches!((when, keep), (When::Now, Keep::Rows(_) | Keep::Bytes(_)));
    if is_now && found.is_empty() && rows.ends_in_row() {
        return None;
    }
    rows.since(table, found).map(Cow::Owned)
}

/// Forget what the rings gave back. `given` are the blocks that they gave back in this session when
/// that was done last: where there are no more of them, nothing is asked.
pub(super) fn learn<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    world: &World,
    (state, given): (&mut State, &mut Option<u32>),
) -> Result<(), DbError> {
    let known = reader.reading()?.stats();
    let now = Some(known.returned_blocks + known.pressed_blocks);
    if *given == now {
        return Ok(());
    }
    *given = now;
    let mut out = vec![0; ROW_MAX];
    for (number, table) in (0..).zip(world.schema.tables) {
        if table.keep.is_none() {
            continue;
        }
        let mut oldest = reader.reading()?.scan(number, Direction::Forward)?;
        let found: Vec<Row> = oldest.next(reader, &mut out)?.iter().map(read).collect();
        let rows = &mut state[usize::from(number)];
        let left = shown(rows, table, &found, When::Now);
        let left = left.unwrap_or_else(|| panic!("{} gave back too much", table.name));
        *rows = Rc::new(left.into_owned());
    }
    Ok(())
}

/// Rows that were found and are not in a state, and the other way round.
fn differences(found: &[Vec<Row>], state: &State) -> String {
    let tables = found.iter().zip(state).map(|(found, rows)| {
        let wanted = rows.sorted();
        let extra = found.iter().filter(|row| !wanted.contains(row)).count();
        let lost = wanted.iter().filter(|row| !found.contains(row)).count();
        format!("{} of {} rows, {lost} lost, {extra} others", found.len(), wanted.len())
    });
    tables.collect::<Vec<_>>().join("; ")
}

/// The next row of a cursor.
fn next<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    when: When<'_>,
    cursor: &mut impl Cursor,
    out: &mut [u8],
) -> Result<Option<Row>, DbError> {
    let mut past = match when {
        When::Now => return Ok(cursor.next(db, out)?.map(|row| read(&row))),
        When::At(snapshot) => db.at(snapshot)?,
        When::AsOf(commits) => db.as_of(commits)?,
    };
    Ok(cursor.next(&mut past, out)?.map(|row| read(&row)))
}

/// The rows of a cursor.
fn pull<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    when: When<'_>,
    mut cursor: impl Cursor,
) -> Result<Vec<Row>, DbError> {
    let (mut found, mut out) = (Vec::new(), vec![0; ROW_MAX]);
    while let Some(row) = next(db, when, &mut cursor, &mut out)? {
        found.push(row);
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
            if let Some(row) = next(db, When::At(snapshot), &mut self.scan, &mut out)? {
                self.found.push(row);
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
fn scan<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    when: When<'_>,
    table: u8,
    direction: Direction,
) -> Result<Vec<Row>, DbError> {
    let scan = db.scan(table, direction)?;
    let mut found = pull(db, when, scan)?;
    found.sort();
    Ok(found)
}

/// Ask every index for every key, and scan both ways. As of a commit some tables may say that they
/// know nothing any more.
pub(super) fn everything<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    world: &World,
    state: &State,
    when: When<'_>,
) -> Result<(), DbError> {
    for number in 0..world.schema.tables.len() as u8 {
        match (when, table(db, world, (number, &state[usize::from(number)]), when)) {
            (When::AsOf(_), Err(DbError::Stale)) => {}
            (_, asked) => asked?,
        }
    }
    Ok(())
}

fn table<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    world: &World,
    (number, rows): (u8, &Rows),
    when: When<'_>,
) -> Result<(), DbError> {
    let table = &world.schema.tables[usize::from(number)];
    let found = scan(db, when, number, Direction::Forward)?;
    let rows = shown(rows, table, &found, when);
    let rows = rows.unwrap_or_else(|| panic!("table {} shows older rows", table.name));
    for direction in [Direction::Backward, Direction::Forward] {
        let found = scan(db, when, number, direction)?;
        assert!(rows.sorted().into_iter().eq(&found), "table {} {direction:?}", table.name);
    }
    for (at, index) in (0..).zip(table.indexes) {
        let mut keys: Vec<Row> = rows.iter().map(|row| key_of(row, index)).collect();
        keys.sort();
        keys.dedup();
        if index.is_unique && world.looks_up_together {
            listed(db, when, (number, at), (&keys, &rows))?;
        }
        for key in keys.iter().chain(&absent(table, index)) {
            let mut wanted: Vec<&Row> =
                rows.iter().filter(|row| key_of(row, index) == *key).collect();
            wanted.sort();
            let found = find(db, when, (number, at), key)?;
            let is_right = found.iter().eq(wanted.iter().copied());
            assert!(is_right, "{key:?} in index {at} of {number}: {found:?}, not {wanted:?}");
        }
        if index.kind == IndexKind::Ordered && keys.len() > 1 {
            let ends = (&keys[keys.len() / 4][0], &keys[keys.len() * 3 / 4][0]);
            let column = index.columns[0];
            let within = |row: &&Row| {
                let order = row[usize::from(column)].order();
                (ends.0.order()..=ends.1.order()).contains(&order)
            };
            let mut wanted: Vec<&Row> = rows.iter().filter(within).collect();
            wanted.sort();
            range(db, when, (number, at, column), ends, &wanted)?;
        }
    }
    let Some(last) = table.indexes.len().checked_sub(1) else { return Ok(()) };
    let last = last as u8;
    let mut some: Vec<&Row> = rows.iter().collect();
    some.sort();
    if let (Some(one), Some(other)) = (some.get(some.len() / 3), some.get(some.len() / 2)) {
        for keys in [[*one, *one], [*one, *other]] {
            several(db, when, (number, table), [0, last], keys, &some)?;
        }
    }
    Ok(())
}

/// Rows that have the keys of two rows in two indexes, or one of them.
fn several<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    when: When<'_>,
    (number, table): (u8, &Table<'_>),
    indexes: [u8; 2],
    keys: [&Row; 2],
    rows: &[&Row],
) -> Result<(), DbError> {
    let declared = indexes.map(|index| &table.indexes[usize::from(index)]);
    let keys = [key_of(keys[0], declared[0]), key_of(keys[1], declared[1])];
    let values = keys.each_ref().map(values);
    let is_met = |row: &Row| [0, 1].map(|at| key_of(row, declared[at]) == keys[at]);
    for is_all in [true, false] {
        let second = if is_all { Criterion::is } else { Criterion::or };
        let criteria = [Criterion::is(indexes[0], &values[0]), second(indexes[1], &values[1])];
        let matches = db.matching(number, criteria)?;
        let mut found = pull(db, when, matches)?;
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

/// A table comes in the order of a column, each row once, as far as the sort is not left.
pub(super) fn in_order<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    world: &World,
    state: &State,
    prng: &mut Prng,
) -> Result<(), DbError> {
    let number = prng.below(world.schema.tables.len() as u64) as u8;
    let table = &world.schema.tables[usize::from(number)];
    let columns = [0; 2].map(|_| prng.below(table.columns.len() as u64) as u8);
    let order = if prng.below(2) == 0 { Order::Ascending } else { Order::Descending };
    let (mut memory, mut out) = (vec![0; 800 + prng.below(2000) as usize], vec![0; ROW_MAX]);
    let mut sort = Sort::new(&mut memory, SORTED_MAX, &columns, order)?;
    let mut scan = db.scan(number, Direction::Forward)?;
    match sort.collect(db, &mut scan, &mut out) {
        // Some rows are longer than a page.
        Err(DbError::RowTooLong { .. }) => return Ok(()),
        collected => collected?,
    }
    let patience = if prng.below(3) == 0 { prng.below(20) } else { u64::MAX };
    let mut found: Vec<Row> = Vec::new();
    for _ in 0..patience {
        let Some(row) = sort.next(db, &mut out)? else { break };
        found.push(read(&row));
    }
    let fronts: Vec<Val> =
        found.iter().map(|row| row[usize::from(columns[0])].front(FRONT_MAX)).collect();
    let is_sorted = match order {
        Order::Ascending => fronts.is_sorted(),
        Order::Descending => fronts.iter().rev().is_sorted(),
    };
    assert!(is_sorted, "table {} by {columns:?} {order:?}: {found:?}", table.name);
    if patience < u64::MAX {
        return if patience % 2 == 0 { sort.end(db) } else { Ok(()) };
    }
    found.sort();
    let rows = shown(&state[usize::from(number)], table, &found, When::Now);
    let is_whole = rows.is_some_and(|rows| rows.sorted().into_iter().eq(&found));
    assert!(is_whole, "a sort of {} gives each row once", table.name);
    Ok(())
}

/// Keys of a unique index that are looked up together give each row once.
fn listed<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    when: When<'_>,
    (table, index): (u8, u8),
    (keys, rows): (&[Row], &Rows),
) -> Result<(), DbError> {
    let mut places = vec![ListedKey::default(); keys.len()];
    let mut list = db.list(table, index, &mut places)?;
    for key in keys {
        let values = values(key);
        assert!(list.put(db, &values)?, "there is a place for each key");
    }
    let (mut found, mut out) = (Vec::new(), vec![0; ROW_MAX]);
    loop {
        let row = match when {
            When::Now => list.next(db, &mut out)?,
            When::At(snapshot) => list.next(&mut db.at(snapshot)?, &mut out)?,
            When::AsOf(commits) => list.next(&mut db.as_of(commits)?, &mut out)?,
        };
        let Some((number, row)) = row else { break };
        assert!(
            key_of(&read(&row), &row.table.indexes[usize::from(index)])
                == keys[usize::from(number)]
        );
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

fn find<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    when: When<'_>,
    (table, index): (u8, u8),
    key: &Row,
) -> Result<Vec<Row>, DbError> {
    let values = values(key);
    let find = db.find(table, index, &values)?;
    let mut found = pull(db, when, find)?;
    found.sort();
    Ok(found)
}

/// A range gives the rows within, in the order of their keys, either way.
fn range<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    when: When<'_>,
    (table, index, column): (u8, u8, u8),
    (least, greatest): (&Val, &Val),
    wanted: &[&Row],
) -> Result<(), DbError> {
    for direction in [Direction::Forward, Direction::Backward] {
        let ends = (&least.value(), &greatest.value());
        let range = db.range(table, index, ends, direction)?;
        let mut found = pull(db, when, range)?;
        let orders = found.iter().map(|row| row[usize::from(column)].order());
        let is_sorted = match direction {
            Direction::Forward => orders.is_sorted(),
            Direction::Backward => orders.rev().is_sorted(),
        };
        assert!(is_sorted, "a range is in order, {direction:?}");
        found.sort();
        assert!(
            found.iter().eq(wanted.iter().copied()),
            "range of index {index} of table {table}, {direction:?}: {found:?}, not {wanted:?}"
        );
    }
    Ok(())
}
