//! A change of a transaction: drawn, made in the database and in the model, and compared.

use std::collections::BTreeSet;
use std::rc::Rc;

use flysch::db::{DbError, MountError, Preset, SAVEPOINTS_MAX, Savepoint, Transaction};
use flysch::media::MediaError;
use flysch::row::{Table, Value, ValueError};
use flysch_chip::{FaultInjector, Prng};

use super::constraints::{Outcome, Rules};
use super::rows::{self, Answer, Row, State};
use super::world::World;

pub(super) type Tx<'d, 'ram, 'n> = Transaction<'d, 'ram, 'static, &'n mut FaultInjector>;

/// Why a life ended early.
pub(super) enum End {
    /// The power went.
    Cut,
    /// There is no room, or the database was left.
    Left,
}

pub(super) type Step<T = ()> = Result<T, End>;

const LOST: DbError = DbError::Media(MediaError::PowerLost);
const MOUNT_LOST: DbError = DbError::Mount(MountError::Media(MediaError::PowerLost));

/// Whether a call was done; an error that is none of the world's is a failure.
#[track_caller]
pub(super) fn done<T>(result: Result<T, DbError>) -> Step<T> {
    match result {
        Ok(value) => Ok(value),
        Err(LOST | MOUNT_LOST) => Err(End::Cut),
        Err(DbError::Full) => Err(End::Left),
        // No transaction is so long: not even large ones fill the table of runs.
        Err(error) => panic!("{error:?}"),
    }
}

/// Make a savepoint, forget one, or go back to one, which it says.
pub(super) fn go_back(
    tx: &mut Tx<'_, '_, '_>,
    prng: &mut Prng,
    marks: &mut Vec<(Savepoint, State)>,
    after: &mut State,
) -> Step<bool> {
    let at = prng.below(marks.len() as u64 + 1) as usize;
    let Some((mark, then)) = marks.get(at) else {
        match tx.savepoint() {
            Err(DbError::Savepoint) => assert_eq!(marks.len(), SAVEPOINTS_MAX),
            made => marks.push((done(made)?, after.clone())),
        }
        return Ok(false);
    };
    if prng.below(3) == 0 {
        tx.release(*mark);
        marks.truncate(at);
        return Ok(false);
    }
    after.clone_from(then);
    done(tx.roll_back_to(*mark))?;
    marks.truncate(at + 1);
    Ok(true)
}

/// Draw a change, make it in the database and in the model, and compare what both say: this. It is
/// one of this row of a table, or of any.
pub(super) fn change(
    tx: &mut Tx<'_, '_, '_>,
    (prng, world): (&mut Prng, &World),
    after: &mut State,
    of: Option<(u8, Row)>,
) -> Step<Answer> {
    let tables = world.schema.tables;
    let number = of.as_ref().map_or_else(|| prng.below(tables.len() as u64) as u8, |of| of.0);
    let table = &tables[usize::from(number)];
    let rules = Rules::of(world);
    let mut row = rows::draw(prng, table, world);
    rules.relate(number, &mut row, after, prng);
    let Some(primary) = table.primary_key() else {
        let wanted = {
            let obeyed = rules.obeyed(number, &row, after);
            Rc::make_mut(&mut after[usize::from(number)]).insert(table, &row, obeyed)
        };
        let said = insert(tx, number, &row, None)?;
        assert_eq!(said, wanted, "insert of {row:?} in table {}", table.name);
        return Ok(said);
    };
    let of = match of {
        Some((_, row)) => Some(rows::key_of(&row, primary)),
        // Most changes are of rows that are there.
        None if prng.below(3) > 0 => after[usize::from(number)].any_key(prng).cloned(),
        None => None,
    };
    for (column, value) in primary.columns.iter().zip(of.into_iter().flatten()) {
        row[usize::from(*column)] = value;
    }
    let key = rows::key_of(&row, primary);
    let op = match prng.below(12) {
        0..4 => Op::Insert,
        4..8 => Op::Update,
        8 => Op::Upsert,
        9..11 => return delete(tx, (number, &key), rules, after),
        _ => return ask_inside(tx, number, (&key, after[usize::from(number)].find(&key))),
    };
    let preset = rules.preset(number).filter(|_| op == Op::Insert && prng.below(3) == 0);
    if let Some(preset) = preset {
        leave_out(&mut row, table, preset);
    }
    // Where there is no room the transaction ends, and the model with it.
    let values = rows::values(&row);
    let said = match op {
        Op::Insert => insert(tx, number, &row, preset)?,
        Op::Update => answer(tx.update(number, &values))?,
        Op::Upsert => answer(tx.upsert(number, &values))?,
    };
    let outcome = foretell(op, (number, &row), rules, after);
    let may_be = outcome.answers.contains(&said);
    assert!(may_be, "{op:?} of {key:?} in {}: {said:?}, not {:?}", table.name, outcome.answers);
    if matches!(said, Answer::Done(_)) {
        *after = outcome.after;
    }
    Ok(said)
}

/// What a change of a table with a key may say, and what there is after it if it is done.
fn foretell(op: Op, (number, row): (u8, &Row), rules: Rules<'_>, before: &State) -> Outcome {
    let (mut row, mut after) = (row.clone(), before.clone());
    let table = &rules.tables[usize::from(number)];
    let wanted = rules.fill(number, &mut row, before).map_or_else(
        |refused| refused,
        |()| {
            let obeyed = rules.obeyed(number, &row, before);
            let model = Rc::make_mut(&mut after[usize::from(number)]);
            match op {
                Op::Insert => model.insert(table, &row, obeyed),
                Op::Update => model.update(table, &row, obeyed),
                Op::Upsert => match model.update(table, &row, obeyed) {
                    Answer::Done(false) => match model.insert(table, &row, obeyed) {
                        Answer::Done(_) => Answer::Done(false),
                        refused => refused,
                    },
                    answer => answer,
                },
            }
        },
    );
    let followed = rules.follow(&mut after);
    let mut answers: BTreeSet<Answer> = followed.failed.into_iter().collect();
    answers.extend((!followed.is_refused).then_some(wanted));
    let is_too_long = [before, &after].iter().any(|state| rules.may_be_too_long(number, state));
    answers.extend(is_too_long.then_some(Answer::TooLong));
    Outcome { answers, after }
}

/// Give a column its preset, and make all null that may be.
fn leave_out(row: &mut Row, table: &Table<'_>, preset: &Preset<'_>) {
    for (value, column) in row.iter_mut().zip(table.columns) {
        if column.is_nullable {
            *value = rows::Val::Null;
        }
    }
    row[usize::from(preset.column)] = rows::Val::of(preset.value);
}

/// Insert a row: where a preset is given, without its column and those that are null.
fn insert(
    tx: &mut Tx<'_, '_, '_>,
    table: u8,
    row: &Row,
    preset: Option<&Preset<'_>>,
) -> Step<Answer> {
    let values = rows::values(row);
    let said = match preset {
        None => tx.insert(table, &values),
        Some(preset) => {
            let is_given = |(column, value): &(u8, Value<'_>)| {
                *column != preset.column && *value != Value::Null
            };
            let given = (0..).zip(values).filter(is_given);
            tx.insert_columns(table, &given.collect::<Vec<_>>())
        }
    };
    answer(said.map(|()| true))
}

/// Delete a row, with what refers to it.
fn delete(
    tx: &mut Tx<'_, '_, '_>,
    (table, key): (u8, &Row),
    rules: Rules<'_>,
    after: &mut State,
) -> Step<Answer> {
    let values = rows::values(key);
    let said = answer(tx.delete(table, &values))?;
    if after[usize::from(table)].find(key).is_none() {
        assert_eq!(said, Answer::Done(false), "a delete of no row: {key:?} in {table}");
        return Ok(said);
    }
    let outcome = rules.delete(table, key, after);
    assert!(outcome.answers.contains(&said), "{said:?} of a delete of {key:?} in table {table}");
    if said == Answer::Done(true) {
        *after = outcome.after;
    }
    Ok(said)
}

/// What a call said; a row that is too long is refused, and the transaction ends.
fn answer(said: Result<bool, DbError>) -> Step<Answer> {
    match said {
        Err(DbError::Duplicate { index }) => Ok(Answer::Duplicate(index)),
        Err(DbError::Check { check }) => Ok(Answer::Check(check)),
        Err(DbError::ForeignKey { key }) => Ok(Answer::ForeignKey(key)),
        Err(DbError::Cascade) => Ok(Answer::Cascade),
        Err(DbError::RowTooLong { .. }) => Ok(Answer::TooLong),
        Err(DbError::Value(ValueError::TooLong | ValueError::KeyTooFar { .. })) => Err(End::Left),
        said => done(said).map(Answer::Done),
    }
}

/// A change of a table that has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Insert,
    Update,
    Upsert,
}

/// A transaction reads what it wrote.
fn ask_inside(
    tx: &mut Tx<'_, '_, '_>,
    table: u8,
    (key, wanted): (&Row, Option<&Row>),
) -> Step<Answer> {
    let values = rows::values(key);
    let mut out = vec![0; 1 << 17];
    let found = done(tx.get(table, 0, &values, &mut out))?;
    assert_eq!(found.map(|row| rows::read(&row)).as_ref(), wanted, "in a transaction: {key:?}");
    Ok(Answer::Done(false))
}
