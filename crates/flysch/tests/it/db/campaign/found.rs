//! Which state a database holds, as scans of its tables tell, and what its rings still show.

use std::borrow::Cow;
use std::rc::Rc;

use flysch::db::{DbError, Direction, Reader};
use flysch::row::{Keep, Table};
use flysch_nand::Nand;

use super::ask::{ROW_MAX, When, pull};
use super::rows::{Row, Rows, State, read};
use super::world::World;

/// Which of some states a database holds, as a scan of all tables tells: the newest such one.
/// Where an older one has the same rows, a ring may have ended otherwise.
pub(super) fn which<'d, N: Nand + 'd>(
    db: &mut impl Reader<'d, 'static, N>,
    world: &World,
    states: &[State],
) -> Result<State, DbError> {
    let (mut found, mut came) = (Vec::new(), Vec::new());
    for table in 0..world.schema.tables.len() as u8 {
        let scan = db.reading()?.scan(table, Direction::Forward)?;
        let mut rows = pull(db, scan)?;
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
    let mut fitting = states.iter().rev().filter(is_found);
    let mut newest = fitting.next().cloned().unwrap_or_else(|| {
        let differ = differences(&found, states.last().expect("there is a state"));
        panic!("{} states, and not one of them was found: {differ}", states.len())
    });
    for older in fitting {
        for (rows, older) in newest.iter_mut().zip(older) {
            // A ring whose end tells nothing already needs no copy of its rows.
            if rows.ends_in_row() && !older.ends_in_row() {
                Rc::make_mut(rows).end_in_doubt();
            }
        }
    }
    Ok(newest)
}

/// Whether a database shows rows beyond those of the newest state, as many as `doubtful` at most.
/// All of the state's own have to be there, but for rings, which give rows back.
pub(super) fn has_risen<'d, N: Nand + 'd>(
    db: &mut impl Reader<'d, 'static, N>,
    world: &World,
    states: &[State],
    doubtful: u32,
) -> Result<bool, DbError> {
    let mut found = Vec::new();
    for table in 0..world.schema.tables.len() as u8 {
        let scan = db.reading()?.scan(table, Direction::Forward)?;
        found.push(pull(db, scan)?);
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
pub(super) fn shown<'r>(
    rows: &'r Rows,
    table: &Table<'_>,
    found: &[Row],
    when: When,
) -> Option<Cow<'r, Rows>> {
    let Some(keep) = table.keep.filter(|_| !matches!(when, When::Kept)) else {
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
