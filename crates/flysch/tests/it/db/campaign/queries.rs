//! What a database is asked beyond keys: ranges, zones, joins, groups, the first rows, and sorts.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use flysch::db::{Db, DbError, Direction, KeyRange, Reader};
use flysch::query::{Cursor, Groups, Lookup, Merge, Order, Sort, Top, Total};
use flysch::row::{ColumnType, Index, IndexKind, Table, Value, ValueError};
use flysch_chip::Prng;
use flysch_nand::Nand;

use super::ask::{ROW_MAX, When, pull};
use super::constraints::Rules;
use super::found::shown;
use super::rows::{Row, Rows, State, Val, key_of, read, values};
use super::world::{Asked, World};

/// The seed from which on databases are asked such things in every way, also within transactions,
/// where tables have ordered indexes over several columns and columns that copy their parents'
/// values, and where sessions have more memory than those before. Histories of before stay as they
/// were.
pub(super) const FROM: u64 = 110_000_000;

/// Bytes of the longest row that is sorted.
const SORTED_MAX: usize = 300;
/// Bytes of a text or blob that a sort compares for certain.
const FRONT_MAX: usize = 30;
/// Rows that are kept of those that come first.
const FIRST: usize = 7;
/// Bytes of a key that an ordered index tells apart by itself, and how many rows may agree in them.
const CODE_SIZE: usize = 8;
const CROWD: usize = 300;

/// Ranges of an ordered index give the rows within, in the order of their keys, either way. Its
/// ends are taken from the keys of rows, some of them cut short.
pub(super) fn range<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (table, at, index): (u8, u8, &Index<'_>),
    keys: &[Row],
    rows: &Rows,
) -> Result<(), DbError> {
    if is_crowded(index, rows) {
        return Ok(());
    }
    let (least, greatest) = (&keys[keys.len() / 4], &keys[keys.len() * 3 / 4]);
    let count = index.columns.len();
    let cuts: &[_] = if count == 1 { &[(1, 1)] } else { &[(1, 1), (count, 1), (1, count), (2, 2)] };
    for &(from, to) in cuts {
        let ends = (&least[..from], &greatest[..to]);
        let is_within = |row: &&Row| {
            let key = key_of(row, index);
            key[..from] >= *ends.0 && key[..to] <= *ends.1
        };
        let mut wanted: Vec<&Row> = rows.iter().filter(is_within).collect();
        wanted.sort();
        for direction in [Direction::Forward, Direction::Backward] {
            let (least, greatest) = (values(ends.0), values(ends.1));
            let range = reader.reading()?.range_of(table, at, (&least, &greatest), direction);
            let Some(range) = unless_long(range, [ends.0, ends.1])? else { continue };
            let mut found = pull(reader, range)?;
            let came = found.iter().map(|row| key_of(row, index));
            let is_sorted = match direction {
                Direction::Forward => came.is_sorted(),
                Direction::Backward => came.rev().is_sorted(),
            };
            assert!(is_sorted, "a range of {at} of {table} is in order, {direction:?}: {found:?}");
            found.sort();
            let is_right = found.iter().eq(wanted.iter().copied());
            assert!(is_right, "{ends:?} of index {at} of table {table}: {found:?}, not {wanted:?}");
        }
    }
    Ok(())
}

/// Whether so many rows agree in the first bytes of their keys that a range, which reads all of
/// them for every few that it gives, would take most of the time of a history.
pub(super) fn is_crowded(index: &Index<'_>, rows: &Rows) -> bool {
    let mut counts: BTreeMap<Row, usize> = BTreeMap::new();
    for row in rows.iter() {
        *counts.entry(front(index, row)).or_default() += 1;
    }
    counts.values().any(|count| *count > CROWD)
}

/// The values of a key of which its first bytes tell, the last one cut.
fn front(index: &Index<'_>, row: &Row) -> Row {
    let mut left = CODE_SIZE;
    let cut = |bytes: &[u8], left: usize| Val::Blob(bytes[..bytes.len().min(left)].to_vec());
    let mut front = Row::new();
    for value in key_of(row, index) {
        let (size, value) = match value {
            Val::Null | Val::Bool(_) => (1, value),
            Val::Integer(_) | Val::Real(_) | Val::Time(_) => (CODE_SIZE, value),
            Val::Text(text) => (text.len(), cut(text.as_bytes(), left)),
            Val::Blob(blob) => (blob.len(), cut(&blob, left)),
        };
        front.push(value);
        left = left.saturating_sub(size);
        if left == 0 {
            break;
        }
    }
    front
}

/// A range between these ends; None where it is refused because one of them is too long.
pub(super) fn unless_long(
    range: Result<KeyRange, DbError>,
    ends: [&[Val]; 2],
) -> Result<Option<KeyRange>, DbError> {
    if range.as_ref().err() != Some(&DbError::Value(ValueError::EndTooLong)) {
        return range.map(Some);
    }
    // A number has nine bytes at most, and each byte of a text may take two.
    let most = |value: &Val| value.text_len().map_or(9, |len| 2 * len + 2);
    let is_long = ends.iter().any(|end| end.iter().map(most).sum::<usize>() > 64);
    assert!(is_long, "{ends:?} are no long ends");
    Ok(None)
}

/// Zones, groups and the first rows of a table.
pub(super) fn table<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, table): (u8, &Table<'_>),
    rows: &Rows,
) -> Result<(), DbError> {
    for (at, index) in (0..).zip(table.indexes) {
        if index.kind == IndexKind::Ordered && !is_crowded(index, rows) {
            groups(reader, (number, at, index), (table, rows))?;
        }
    }
    if let Some(zone) = table.zone {
        zones(reader, (number, zone), rows)?;
        first(reader, (number, zone), rows)?;
    }
    Ok(())
}

const fn whole(value: &Val) -> Option<i64> {
    match value {
        Val::Integer(number) | Val::Time(number) => Some(*number),
        _ => None,
    }
}

/// A scan of some zones shows each row within, and none twice.
fn zones<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, zone): (u8, u8),
    rows: &Rows,
) -> Result<(), DbError> {
    let mut numbers: Vec<i64> =
        rows.iter().filter_map(|row| whole(&row[usize::from(zone)])).collect();
    numbers.sort_unstable();
    let [from, to] = [1, 2].map(|third| numbers.get(numbers.len() * third / 3).copied());
    let (Some(least), Some(greatest)) = (from, to) else { return Ok(()) };
    for direction in [Direction::Forward, Direction::Backward] {
        let scan = reader.reading()?.scan_zone(number, direction, least, greatest)?;
        let mut left = rows.sorted();
        for row in pull(reader, scan)? {
            let place = left.binary_search(&&row);
            left.remove(place.expect("a scan shows rows that are there, each once"));
        }
        let is_outside = |row: &&Row| {
            let value = whole(&row[usize::from(zone)]);
            value.is_none_or(|value| !(least..=greatest).contains(&value))
        };
        assert!(left.iter().all(is_outside), "zones of table {number}: {left:?} are missing");
    }
    Ok(())
}

/// The first rows by a column.
fn first<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, column): (u8, u8),
    rows: &Rows,
) -> Result<(), DbError> {
    let mut memory = vec![0; FIRST * (ROW_MAX / 4)];
    let mut top = Top::new(&mut memory, ROW_MAX / 4 - 10, Order::Descending);
    let mut out = vec![0; ROW_MAX];
    let scan = reader.reading()?.scan(number, Direction::Forward)?;
    let mut some = scan.filter(|row| Ok(row.column(column)? != Value::Null));
    while let Some(row) = some.next(reader, &mut out)? {
        let (len, value) = (row.row_len, row.column(column)?);
        if len > ROW_MAX / 4 - 10 {
            return Ok(());
        }
        let value = Val::of(value);
        top.offer(&value.value(), &out[..len])?;
    }
    let of = |row: &Row| whole(&row[usize::from(column)]);
    let mut wanted: Vec<i64> = rows.iter().filter_map(of).collect();
    wanted.sort_unstable_by(|one, other| other.cmp(one));
    wanted.truncate(FIRST);
    let schema = reader.reading()?.schema();
    let mut found = Vec::new();
    while let Some(row) = top.row(schema, found.len())? {
        found.push(of(&read(&row)).expect("a row without a number was left out"));
    }
    assert_eq!(found, wanted, "the first rows of table {number} by {column}");
    Ok(())
}

/// The rows of an ordered index, group by group.
fn groups<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, at, index): (u8, u8, &Index<'_>),
    (table, rows): (&Table<'_>, &Rows),
) -> Result<(), DbError> {
    let by = &index.columns[..1];
    let of = table.columns.len() as u8 - 1;
    let mut wanted: BTreeMap<Val, Total> = BTreeMap::new();
    for row in rows.iter() {
        let total = wanted.entry(row[usize::from(by[0])].clone()).or_default();
        total.add(&row[usize::from(of)].value());
    }
    let Some((least, _)) = wanted.first_key_value() else { return Ok(()) };
    let (greatest, _) = wanted.last_key_value().expect("there is a first one");
    let range = reader.reading()?.range(
        number,
        at,
        (&least.value(), &greatest.value()),
        Direction::Forward,
    );
    let ends = [least, greatest].map(core::slice::from_ref);
    let Some(range) = unless_long(range, ends)? else { return Ok(()) };
    let mut groups = Groups::new(range, by, of);
    let (mut one, mut ahead) = (vec![0; ROW_MAX], vec![0; ROW_MAX]);
    let mut found = Vec::new();
    while let Some((row, total)) = groups.next(reader, &mut one, &mut ahead)? {
        found.push((read(&row)[usize::from(by[0])].clone(), total));
    }
    let wanted: Vec<_> = wanted.into_iter().collect();
    assert_eq!(found, wanted, "groups of table {number} by index {at}");
    Ok(())
}

/// What was committed by a time was not committed later.
pub(super) fn times<N: Nand>(
    db: &mut Db<'_, 'static, N>,
    world: &World,
    times: &BTreeMap<u32, u64>,
) -> Result<(), DbError> {
    let count = times.len();
    let some = times.values().skip(count / 3).step_by((count / 4).max(1));
    for &time in some.filter(|_| world.asked >= Asked::Everything) {
        for table in 0..world.schema.tables.len() as u8 {
            let Some(commits) = db.commits_at(table, time)? else { continue };
            let last = times.range(..=commits).next_back();
            let is_right = last.is_none_or(|(_, then)| *then <= time);
            assert!(is_right, "{commits} commits by {time}, of {last:?}, as table {table} tells");
        }
    }
    Ok(())
}

/// Rows of tables with those to which they refer, by lookups from either side, and by a merge.
pub(super) fn joins<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    world: &World,
    shown: &[impl Borrow<Rows>],
) -> Result<(), DbError> {
    let tables = world.schema.tables;
    for key in world.constraints.foreign_keys {
        let primary = tables[usize::from(key.parent)].primary_key().expect("a parent has a key");
        let index = Rules::of(world).index(*key);
        let [children, parents] = [key.table, key.parent].map(|at| shown[usize::from(at)].borrow());
        let mut wanted: Vec<(Row, Row)> = Vec::new();
        for child in children.iter() {
            let parent = parents.iter().find(|row| key_of(row, primary) == key_of(child, index));
            wanted.extend(parent.map(|parent| (child.clone(), parent.clone())));
        }
        wanted.sort();
        let scan = reader.reading()?.scan(key.table, Direction::Forward)?;
        let up = Lookup::new(scan, (key.parent, 0), index.columns);
        let mut found = pairs(reader, up)?;
        found.sort();
        assert_eq!(found, wanted, "rows of {} with their parents", key.table);
        let scan = reader.reading()?.scan(key.parent, Direction::Backward)?;
        let down = Lookup::new(scan, (key.table, key.index), primary.columns);
        let found = pairs(reader, down)?.into_iter();
        let mut found: Pairs = found.map(|(parent, child)| (child, parent)).collect();
        found.sort();
        assert_eq!(found, wanted, "rows of {} with their children", key.parent);
        let kind = tables[usize::from(key.parent)].columns[usize::from(primary.columns[0])].kind;
        let is_number = matches!(kind, ColumnType::Integer | ColumnType::Time);
        let is_ordered = [index, primary].iter().all(|index| index.kind == IndexKind::Ordered);
        if is_ordered && is_number && primary.columns.len() == 1 {
            let ends = match kind {
                ColumnType::Integer => (Value::Integer(i64::MIN), Value::Integer(i64::MAX)),
                _ => (Value::Time(i64::MIN), Value::Time(i64::MAX)),
            };
            let ends = (&ends.0, &ends.1);
            let left = reader.reading()?.range(key.table, key.index, ends, Direction::Forward)?;
            let right = reader.reading()?.range(key.parent, 0, ends, Direction::Forward)?;
            let merge = Merge::new(left, right, (index.columns, primary.columns));
            let mut found = merged(reader, merge)?;
            found.sort();
            assert_eq!(found, wanted, "rows of {} beside their parents", key.table);
        }
    }
    Ok(())
}

type Pairs = Vec<(Row, Row)>;

fn pairs<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    mut lookup: Lookup<'_, impl Cursor>,
) -> Result<Pairs, DbError> {
    let (mut found, mut left, mut right) = (Vec::new(), vec![0; ROW_MAX], vec![0; ROW_MAX]);
    while let Some((one, other)) = lookup.next(reader, &mut left, &mut right)? {
        found.push((read(&one), read(&other)));
    }
    Ok(found)
}

fn merged<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    mut merge: Merge<'_, impl Cursor, impl Cursor>,
) -> Result<Pairs, DbError> {
    let (mut found, mut left, mut right) = (Vec::new(), vec![0; ROW_MAX], vec![0; ROW_MAX]);
    while let Some((one, other)) = merge.next(reader, &mut left, &mut right)? {
        found.push((read(&one), read(&other)));
    }
    Ok(found)
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
