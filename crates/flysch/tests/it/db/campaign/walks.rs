//! Cursors that go on among changes. What they give is there at that moment, and rows that stay as
//! they are come once, unless the cursor says that it has lost its place.

use std::collections::BTreeMap;

use flysch::db::{Criterion, DbError, Direction, Find, KeyRange, Matches, Reader, Scan};
use flysch::row::{Index, IndexKind, Table};
use flysch_chip::Prng;
use flysch_nand::Nand;

use super::ask::ROW_MAX;
use super::device::Tally;
use super::queries::{is_crowded, unless_long};
use super::rows::{Row, Rows, State, key_of, read, values};
use super::world::one;

/// Cursors that are under way at a time.
const WALKS_MAX: usize = 3;

enum Way {
    Scan(Scan),
    Range(Box<KeyRange>),
    Find(Find),
    Matches(Matches<1>),
}

/// A cursor that is under way.
pub(super) struct Walk {
    number: u8,
    table: &'static Table<'static>,
    way: Way,
    /// The index whose keys it asks for, the least and the greatest of them; None: it gives all.
    asked: Option<(&'static Index<'static>, [Row; 2])>,
    direction: Direction,
    /// The rows that have been as they are since its first call, by their keys.
    steady: Option<BTreeMap<Row, (u64, Row)>>,
    given: Vec<Row>,
}

impl Walk {
    /// A walk through a table; None where what is drawn is none.
    fn draw<'d, N: Nand + 'd>(
        reader: &mut impl Reader<'d, 'static, N>,
        state: &State,
        prng: &mut Prng,
    ) -> Result<Option<Self>, DbError> {
        let db = reader.reading()?;
        let number = prng.below(state.len() as u64) as u8;
        let direction = one(prng, &[Direction::Forward, Direction::Backward]);
        let table = &db.schema().tables[usize::from(number)];
        let walk = |way, asked| {
            let (steady, given) = (None, Vec::new());
            Self { number, table, way, asked, direction, steady, given }
        };
        let rows: Vec<&Row> = state[usize::from(number)].iter().collect();
        if rows.is_empty() || table.indexes.is_empty() || prng.below(5) == 0 {
            if table.primary_key().is_some() && prng.below(2) == 0 {
                return Ok(Some(walk(Way::Range(Box::new(db.all(number)?)), None)));
            }
            return Ok(Some(walk(Way::Scan(db.scan(number, direction)?), None)));
        }
        let at = prng.below(table.indexes.len() as u64) as u8;
        let index = &table.indexes[usize::from(at)];
        let mut ends = [0; 2].map(|_| key_of(one::<&Row>(prng, &rows), index));
        ends.sort();
        if index.kind == IndexKind::Ordered && prng.below(3) > 0 {
            if is_crowded(index, &state[usize::from(number)]) {
                return Ok(None);
            }
            let [least, greatest] = ends.each_ref().map(|end| values(end));
            let range = db.range_of(number, at, (&least, &greatest), direction);
            let range = unless_long(range, ends.each_ref().map(Vec::as_slice))?;
            return Ok(range.map(|range| walk(Way::Range(Box::new(range)), Some((index, ends)))));
        }
        let [key, _] = ends;
        let asked = Some((index, [key.clone(), key.clone()]));
        let key = values(&key);
        let way = match prng.below(2) {
            0 => Way::Find(db.find(number, at, &key)?),
            _ => Way::Matches(db.matching(number, [Criterion::is(at, &key)])?),
        };
        Ok(Some(walk(way, asked)))
    }

    /// The next row; None behind the last one.
    fn next<'d, N: Nand + 'd>(
        &mut self,
        reader: &mut impl Reader<'d, 'static, N>,
        state: &State,
    ) -> Result<Option<Row>, DbError> {
        let rows = &state[usize::from(self.number)];
        self.keep_steady(rows);
        let mut out = vec![0; ROW_MAX];
        let row = match &mut self.way {
            Way::Scan(scan) => scan.next(reader, &mut out),
            Way::Range(range) => range.next(reader, &mut out),
            Way::Find(find) => find.next(reader, &mut out),
            Way::Matches(matches) => matches.next(reader, &mut out),
        };
        let row = row?.map(|row| read(&row));
        match &row {
            Some(row) => self.take(row, rows),
            None => self.end(),
        }
        Ok(row)
    }

    /// What the cursor gives, for the report of a failure.
    fn asked_for(&self) -> String {
        let way = match &self.way {
            Way::Scan(_) => "by a scan",
            Way::Range(_) => "by a range",
            Way::Find(_) => "by a key",
            Way::Matches(_) => "by criteria",
        };
        format!("{way} of {:?}", self.asked)
    }

    fn is_asked_for(&self, row: &Row) -> bool {
        self.asked.as_ref().is_none_or(|(index, [least, greatest])| {
            let key = key_of(row, index);
            *least <= key && key <= *greatest
        })
    }

    /// Forget rows that are not any more as they were.
    fn keep_steady(&mut self, rows: &Rows) {
        let now = |(key, stamp, row): (&Row, u64, &Row)| (key.clone(), (stamp, row.clone()));
        let Some(mut steady) = self.steady.take() else {
            let asked_for = rows.stamped().filter(|(.., row)| self.is_asked_for(row));
            self.steady = Some(asked_for.map(now).collect());
            return;
        };
        steady.retain(|key, (stamp, row)| {
            rows.stamp(key) == Some(*stamp) && rows.find(key) == Some(row)
        });
        self.steady = Some(steady);
    }

    fn take(&mut self, row: &Row, rows: &Rows) {
        let is_there = rows.iter().any(|other| other == row) && self.is_asked_for(row);
        assert!(is_there, "{row:?} of table {} is given, and is not there", self.table.name);
        if let (Way::Range(_), Some((index, _)), Some(before)) =
            (&self.way, &self.asked, self.given.last())
        {
            let [before, key] = [before, row].map(|row| key_of(row, index));
            let (least, greatest) = match self.direction {
                Direction::Forward => (&before, &key),
                Direction::Backward => (&key, &before),
            };
            let is_in_order = least < greatest || least == greatest && !index.is_unique;
            assert!(
                is_in_order,
                "{key:?} behind {before:?} in a range of table {}",
                self.table.name
            );
        }
        self.given.push(row.clone());
    }

    fn end(&self) {
        let steady = || self.steady.iter().flat_map(BTreeMap::values).map(|(_, row)| row);
        for row in steady() {
            let wanted = steady().filter(|other| *other == row).count();
            let given = self.given.iter().filter(|other| *other == row).count();
            let is_right = match (self.table.keep, self.table.primary_key()) {
                // It may have given back what had still to come.
                (Some(_), _) => given <= wanted,
                // The same row may have come again.
                (None, None) => given >= wanted,
                (None, Some(_)) => given == wanted,
            };
            assert!(
                is_right,
                "{row:?} of table {} stayed, and came {given} times, {:?}, {}",
                self.table.name,
                self.direction,
                self.asked_for(),
            );
        }
    }
}

/// Begin a walk, or go on with one that is under way; gives the table and the row that came, if one
/// did.
pub(super) fn go_on<'d, N: Nand + 'd>(
    (walks, tally): (&mut Vec<Walk>, &mut Tally),
    reader: &mut impl Reader<'d, 'static, N>,
    state: &State,
    prng: &mut Prng,
) -> Result<Option<(u8, Row)>, DbError> {
    let place = prng.below(WALKS_MAX as u64) as usize;
    if place >= walks.len() {
        walks.extend(Walk::draw(reader, state, prng)?);
    }
    let Some(walk) = walks.get_mut(place) else { return Ok(None) };
    let mut last = None;
    for _ in 0..=prng.below(6) {
        match walk.next(reader, state) {
            Ok(Some(row)) => last = Some((walk.number, row)),
            Ok(None) => {
                tally.walked += 1;
                walks.swap_remove(place);
                break;
            }
            Err(DbError::Stale) => {
                tally.lost += 1;
                walks.swap_remove(place);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(last)
}
