//! Cursors that go on among changes. What they give is there at that moment, and rows that stay as
//! they are come once, unless the cursor says that it has lost its place.

use std::collections::BTreeMap;

use flysch::db::{
    Criterion, DbError, Direction, Find, KeyList, KeyRange, ListedKey, Matches, Reader, Scan,
};
use flysch::row::{Index, IndexKind, Table};
use flysch_chip::Prng;
use flysch_nand::Nand;

use super::ask::ROW_MAX;
use super::device::Tally;
use super::queries::{is_crowded, unless_long};
use super::rows::{Row, Rows, State, key_of, read, values};
use super::world::{self, World, one};

/// Cursors that are under way at a time.
const WALKS_MAX: usize = 3;

enum Way {
    Scan(Scan),
    Range(Box<KeyRange>),
    Find(Box<Find>),
    Matches(Box<Matches<1>>),
    Several(Box<Matches<2>>),
    List(KeyList<'static>),
}

/// The rows that a cursor gives.
#[derive(Debug)]
enum Asked {
    All,
    /// Those whose keys in an index, as far as these tell, lie between them.
    Within(&'static Index<'static>, [Row; 2]),
    /// Those that have two keys, or one of them.
    Keys([(&'static Index<'static>, Row); 2], bool),
    /// Those that have one of some keys of an index.
    AnyOf(&'static Index<'static>, Vec<Row>),
}

impl Asked {
    fn has(&self, row: &Row) -> bool {
        match self {
            Self::All => true,
            Self::Within(index, [least, greatest]) => {
                let key = key_of(row, index);
                least[..] <= key[..least.len()] && key[..greatest.len()] <= greatest[..]
            }
            Self::Keys(keys, is_all) => {
                let met = keys.iter().filter(|(index, key)| key_of(row, index) == *key).count();
                met > usize::from(*is_all)
            }
            Self::AnyOf(index, keys) => keys.contains(&key_of(row, index)),
        }
    }
}

/// A cursor that is under way.
pub(super) struct Walk {
    number: u8,
    table: &'static Table<'static>,
    way: Way,
    asked: Asked,
    direction: Direction,
    /// The rows that have been as they are since its first call, by their keys.
    steady: Option<BTreeMap<Row, (u64, Row)>>,
    given: Vec<Row>,
}

impl Walk {
    /// A walk through a table; None where what is drawn is none.
    fn draw<'d, N: Nand + 'd>(
        reader: &mut impl Reader<'d, 'static, N>,
        (world, state): (&World, &State),
        prng: &mut Prng,
    ) -> Result<Option<Self>, DbError> {
        let asks_more = world.asked >= world::Asked::InEveryWay;
        let db = reader.reading()?;
        let number = prng.below(state.len() as u64) as u8;
        let direction = one(prng, &[Direction::Forward, Direction::Backward]);
        let table = &db.schema().tables[usize::from(number)];
        let walk = |(way, asked)| {
            let (steady, given) = (None, Vec::new());
            Self { number, table, way, asked, direction, steady, given }
        };
        let rows: Vec<&Row> = state[usize::from(number)].iter().collect();
        if rows.is_empty() || table.indexes.is_empty() || prng.below(5) == 0 {
            if table.primary_key().is_some() && prng.below(2) == 0 {
                return Ok(Some(walk((Way::Range(Box::new(db.all(number)?)), Asked::All))));
            }
            return Ok(Some(walk((Way::Scan(db.scan(number, direction)?), Asked::All))));
        }
        if asks_more && prng.below(3) == 0 {
            let way = draw_several(reader, (number, table), &rows, prng)?;
            return Ok(Some(walk(way)));
        }
        let at = prng.below(table.indexes.len() as u64) as u8;
        let index = &table.indexes[usize::from(at)];
        let mut ends = [0; 2].map(|_| key_of(one::<&Row>(prng, &rows), index));
        ends.sort();
        if index.kind == IndexKind::Ordered && prng.below(3) > 0 {
            if is_crowded(index, &state[usize::from(number)]) {
                return Ok(None);
            }
            for end in ends.iter_mut().filter(|_| asks_more) {
                end.truncate(1 + prng.below(end.len() as u64) as usize);
            }
            let [least, greatest] = ends.each_ref().map(|end| values(end));
            let range = db.range_of(number, at, (&least, &greatest), direction);
            let range = unless_long(range, ends.each_ref().map(Vec::as_slice))?;
            let asked = Asked::Within(index, ends);
            return Ok(range.map(|range| walk((Way::Range(Box::new(range)), asked))));
        }
        let [key, _] = ends;
        let asked = Asked::Within(index, [key.clone(), key.clone()]);
        let key = values(&key);
        let way = match prng.below(2) {
            0 => Way::Find(Box::new(db.find(number, at, &key)?)),
            _ => Way::Matches(Box::new(db.matching(number, [Criterion::is(at, &key)])?)),
        };
        Ok(Some(walk((way, asked))))
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
        let row = self.pull(reader, &mut out)?;
        match &row {
            Some(row) => self.take(row, rows),
            None => self.end(),
        }
        Ok(row)
    }

    /// The next row, or why it was not given.
    fn pull<'d, N: Nand + 'd>(
        &mut self,
        reader: &mut impl Reader<'d, 'static, N>,
        out: &mut [u8],
    ) -> Result<Option<Row>, DbError> {
        let row = match &mut self.way {
            Way::Scan(scan) => scan.next(reader, out),
            Way::Range(range) => range.next(reader, out),
            Way::Find(find) => find.next(reader, out),
            Way::Matches(matches) => matches.next(reader, out),
            Way::Several(matches) => matches.next(reader, out),
            Way::List(list) => list.next(reader, out).map(|found| found.map(|(_, row)| row)),
        };
        Ok(row?.map(|row| read(&row)))
    }

    /// Lend too little memory for a row.
    fn lend_too_little<'d, N: Nand + 'd>(
        &mut self,
        reader: &mut impl Reader<'d, 'static, N>,
        state: &State,
    ) -> Result<(), DbError> {
        self.keep_steady(&state[usize::from(self.number)]);
        match self.pull(reader, &mut [0; 2]) {
            Ok(Some(row)) => panic!("{row:?} fits into no two bytes"),
            Ok(None) | Err(DbError::RowTooLong { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What the cursor gives, for the report of a failure.
    fn asked_for(&self) -> String {
        let way = match &self.way {
            Way::Scan(_) => "by a scan",
            Way::Range(_) => "by a range",
            Way::Find(_) => "by a key",
            Way::Matches(_) | Way::Several(_) => "by criteria",
            Way::List(_) => "by a list",
        };
        format!("{way} of {:?}", self.asked)
    }

    /// Forget rows that are not any more as they were.
    fn keep_steady(&mut self, rows: &Rows) {
        let now = |(key, stamp, row): (&Row, u64, &Row)| (key.clone(), (stamp, row.clone()));
        let Some(mut steady) = self.steady.take() else {
            let asked_for = rows.stamped().filter(|(.., row)| self.asked.has(row));
            self.steady = Some(asked_for.map(now).collect());
            return;
        };
        steady.retain(|key, (stamp, row)| {
            rows.stamp(key) == Some(*stamp) && rows.find(key) == Some(row)
        });
        self.steady = Some(steady);
    }

    fn take(&mut self, row: &Row, rows: &Rows) {
        let is_there = rows.iter().any(|other| other == row) && self.asked.has(row);
        assert!(is_there, "{row:?} of table {} is given, and is not there", self.table.name);
        if let (Way::Range(_), Asked::Within(index, _), Some(before)) =
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

/// A cursor over the rows that have one of several keys of an index, or keys in two indexes.
fn draw_several<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    (number, table): (u8, &'static Table<'static>),
    rows: &[&Row],
    prng: &mut Prng,
) -> Result<(Way, Asked), DbError> {
    let db = reader.reading()?;
    let mut key = || {
        let at = prng.below(table.indexes.len() as u64) as u8;
        let index = &table.indexes[usize::from(at)];
        (at, index, key_of(one::<&Row>(prng, rows), index))
    };
    let [(first, index, key), (second, other, other_key)] = [key(), key()];
    if index.is_unique && prng.below(2) == 0 {
        let (count, from) = (prng.below(rows.len() as u64), prng.below(rows.len() as u64));
        let some = rows.iter().cycle().skip(from as usize).take(1 + count as usize);
        let keys: Vec<Row> = some.map(|row| key_of(row, index)).collect();
        let places = vec![ListedKey::default(); keys.len()].leak();
        let mut list = db.list(number, first, places)?;
        for key in &keys {
            assert!(list.put(db, &values(key))?, "there is a place for each key");
        }
        return Ok((Way::List(list), Asked::AnyOf(index, keys)));
    }
    let is_all = prng.below(2) == 0;
    let criterion = if is_all { Criterion::is } else { Criterion::or };
    let [one, two] = [&key, &other_key].map(|key| values(key));
    let criteria = [Criterion::is(first, &one), criterion(second, &two)];
    let matches = Box::new(db.matching(number, criteria)?);
    Ok((Way::Several(matches), Asked::Keys([(index, key), (other, other_key)], is_all)))
}

/// Begin a walk, or go on with one that is under way; gives the table and the row that came, if one
/// did.
pub(super) fn go_on<'d, N: Nand + 'd>(
    (walks, tally): (&mut Vec<Walk>, &mut Tally),
    reader: &mut impl Reader<'d, 'static, N>,
    (world, state): (&World, &State),
    prng: &mut Prng,
) -> Result<Option<(u8, Row)>, DbError> {
    let place = prng.below(WALKS_MAX as u64) as usize;
    if place >= walks.len() {
        walks.extend(Walk::draw(reader, (world, state), prng)?);
    }
    let Some(walk) = walks.get_mut(place) else { return Ok(None) };
    let mut last = None;
    for _ in 0..=prng.below(6) {
        let is_short = world.asked >= world::Asked::InEveryWay && prng.below(4) == 0;
        let fits = if is_short { walk.lend_too_little(reader, state) } else { Ok(()) };
        match fits.and_then(|()| walk.next(reader, state)) {
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
