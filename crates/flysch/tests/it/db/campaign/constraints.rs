//! Constraints of a history's tables, drawn from its seed, and what they say of each change.

use std::collections::BTreeSet;
use std::rc::Rc;

use flysch::db::{Check, Constraints, ForeignKey, OnDelete, Preset};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::rows::{Answer, Row, State, Val, key_of, values};
use super::world::{World, leak, schema_of};
use super::{joins, queries};

/// The seed from which on tables have constraints. Histories of before stay as they were.
pub(super) const FROM: u64 = 100_000_000;
/// Rows that a cascade goes down for certain; a row that it sets to null has at most so many bytes.
const DEPTH_MAX: usize = 16;
pub(super) const NULLED_MAX: usize = 300;

/// Names of columns that refer.
const NAMES: [&str; 6] = ["u", "v", "w", "x", "y", "z"];
const CHECKS: [fn(&[Value<'_>]) -> bool; 3] = [has_no_three, has_no_odd_text, has_few_nulls];

fn has_no_three(row: &[Value<'_>]) -> bool {
    let is_three = |value: &Value<'_>| match value {
        Value::Integer(number) | Value::Time(number) => number.rem_euclid(13) == 3,
        _ => false,
    };
    !row.iter().any(is_three)
}

fn has_no_odd_text(row: &[Value<'_>]) -> bool {
    !row.iter().any(|value| matches!(value, Value::Text(text) if text.len() % 9 == 5))
}

fn has_few_nulls(row: &[Value<'_>]) -> bool {
    row.iter().filter(|value| **value == Value::Null).count() < 2
}

const fn preset(kind: ColumnType) -> Value<'static> {
    match kind {
        ColumnType::Bool => Value::Bool(true),
        ColumnType::Integer => Value::Integer(40),
        ColumnType::Real => Value::Null,
        ColumnType::Text => Value::Text("preset"),
        ColumnType::Blob => Value::Blob(b"preset"),
        ColumnType::Time => Value::Time(40),
    }
}

/// Draw constraints for the tables of a schema, and columns by which they refer to each other.
pub(super) fn draw(
    schema: &'static Schema<'static>,
    seed: u64,
) -> (&'static Schema<'static>, Constraints<'static>) {
    let mut prng = Prng::new(seed ^ 0x0F0F_CAFE);
    let prng = &mut prng;
    if seed < FROM || prng.below(5) == 0 {
        return (schema, Constraints::NONE);
    }
    let mut tables = schema.tables.to_vec();
    let (mut checks, mut presets) = (Vec::new(), Vec::new());
    for (table, number) in tables.iter().zip(0..) {
        if prng.below(3) == 0 {
            let holds = CHECKS[prng.below(CHECKS.len() as u64) as usize];
            checks.push(Check { table: number, holds });
        }
        let column = table.columns.len() as u8 - 1;
        let value = preset(table.columns[usize::from(column)].kind);
        if prng.below(2) == 0 && value != Value::Null {
            presets.push(Preset { table: number, column, value });
        }
    }
    let count = 1 + prng.below(3) as usize;
    let keys = (0..count).filter_map(|place| refer(&mut tables, prng, &NAMES[place * 2..][..2]));
    let foreign_keys = leak(keys.collect());
    let mut prng = Prng::new(seed ^ 0x0F0F_0E11);
    let is_joined = seed >= queries::FROM;
    let joins = if is_joined { joins::draw(&mut tables, &mut prng, foreign_keys) } else { vec![] };
    let schema = schema_of(tables);
    let (checks, presets, joins) = (leak(checks), leak(presets), leak(joins));
    (schema, Constraints { checks, foreign_keys, presets, joins })
}

/// Let a table refer to another one, or to itself, by new columns of these names and an index over
/// them. None where the tables that are drawn cannot refer so.
fn refer(
    tables: &mut [Table<'static>],
    prng: &mut Prng,
    names: &[&'static str],
) -> Option<ForeignKey> {
    let [child, parent] = [0; 2].map(|_| prng.below(tables.len() as u64) as usize);
    let primary = tables[parent].primary_key().filter(|_| tables[parent].keep.is_none())?;
    tables[child].primary_key()?;
    let is_nullable = prng.below(2) == 0;
    let on_delete = match prng.below(4) {
        0 => OnDelete::Restrict,
        // A ring shows in which order its rows were set to null, and any order is right.
        1 | 2 if is_nullable && tables[child].keep.is_none() => OnDelete::SetNull,
        _ => OnDelete::Cascade,
    };
    let refers = |(column, name): (&u8, &&'static str)| Column {
        name,
        is_nullable,
        ..tables[parent].columns[usize::from(*column)]
    };
    let referring: Vec<_> = primary.columns.iter().zip(names).map(refers).collect();
    let Table { columns, indexes, .. } = tables[child];
    let places = leak((0..).skip(columns.len()).take(referring.len()).collect());
    let kind = if prng.below(3) == 0 { IndexKind::Ordered } else { IndexKind::Hash };
    let index = Index { columns: places, kind, is_unique: false };
    let before = tables[child];
    tables[child].columns = leak([columns, &referring].concat());
    tables[child].indexes = leak([indexes, &[index]].concat());
    if (Schema { tables }).check().is_err() {
        // There are too many ordered indexes.
        tables[child] = before;
        return None;
    }
    let index = indexes.len() as u8;
    Some(ForeignKey { table: child as u8, index, parent: parent as u8, on_delete })
}

/// What constraints say of deletes, of rows that are set to null, and of those that come.
#[derive(Clone, Copy)]
pub(super) struct Rules<'w> {
    pub(super) tables: &'static [Table<'static>],
    pub(super) all: &'w Constraints<'static>,
}

/// What a change may say, and what it takes with it.
pub(super) struct Outcome {
    /// Which row it comes to first is not told, so there may be several answers.
    pub(super) answers: BTreeSet<Answer>,
    /// All tables after it, if it is done.
    pub(super) after: State,
}

impl<'w> Rules<'w> {
    pub(super) const fn of(world: &'w World) -> Self {
        Self { tables: world.schema.tables, all: &world.constraints }
    }

    /// The foreign keys with their numbers.
    fn keys(self) -> impl Iterator<Item = (u8, ForeignKey)> + use<'w> {
        (0..).zip(self.all.foreign_keys.iter().copied())
    }

    /// The columns by which a table refers.
    fn columns(self, key: ForeignKey) -> &'static [u8] {
        self.index(key).columns
    }

    pub(super) fn index(self, key: ForeignKey) -> &'static Index<'static> {
        &self.tables[usize::from(key.table)].indexes[usize::from(key.index)]
    }

    pub(super) fn preset(self, table: u8) -> Option<&'static Preset<'static>> {
        self.all.presets.iter().find(|preset| preset.table == table)
    }

    /// Let most rows of a table refer to rows that are there.
    pub(super) fn relate(self, table: u8, row: &mut Row, state: &State, prng: &mut Prng) {
        for (_, key) in self.keys().filter(|(_, key)| key.table == table) {
            let parent = match prng.below(8) {
                0 => None,
                _ => state[usize::from(key.parent)].any_key(prng),
            };
            for (&column, value) in self.columns(key).iter().zip(parent.into_iter().flatten()) {
                row[usize::from(column)] = value.clone();
            }
        }
    }

    /// What the check of a row says.
    pub(super) fn check(self, table: u8, row: &Row) -> Option<Answer> {
        let values = values(row);
        let is_broken = |check: &Check| check.table == table && !(check.holds)(&values);
        let number = self.all.checks.iter().position(is_broken)?;
        Some(Answer::Check(number as u8))
    }

    /// What constraints say of a row that comes.
    pub(super) fn obeyed(self, table: u8, row: &Row, state: &State) -> Result<(), Answer> {
        if let Some(check) = self.check(table, row) {
            return Err(check);
        }
        let is_orphan = |key: ForeignKey| {
            let wanted = key_of(row, self.index(key));
            let primary = self.tables[usize::from(key.parent)].primary_key().unwrap();
            let is_own = key.parent == table && key_of(row, primary) == wanted;
            let is_there = || state[usize::from(key.parent)].find(&wanted).is_some();
            !wanted.contains(&Val::Null) && !is_own && !is_there()
        };
        let orphan = self.keys().find(|(_, key)| key.table == table && is_orphan(*key));
        orphan.map_or(Ok(()), |(number, _)| Err(Answer::ForeignKey(number)))
    }

    /// All rows refer to rows that are there, copy what these have, and meet the checks.
    pub(super) fn hold(self, state: &State) -> bool {
        let holds = |table: u8, row: &Row| {
            let mut copy = row.clone();
            let filled = self.fill(table, &mut copy, state);
            filled == Ok(()) && copy == *row && self.obeyed(table, row, state) == Ok(())
        };
        (0..).zip(state).all(|(table, rows)| rows.iter().all(|row| holds(table, row)))
    }

    /// Rows that refer to the one with this key, without itself: by which foreign key, and theirs.
    fn children(self, (table, key): &(u8, Row), state: &State) -> Vec<(u8, (u8, Row))> {
        let mut found = Vec::new();
        for (number, foreign) in self.keys().filter(|(_, foreign)| foreign.parent == *table) {
            let refers = |row: &&Row| key_of(row, self.index(foreign)) == *key;
            let primary = self.tables[usize::from(foreign.table)].primary_key().unwrap();
            let rows = state[usize::from(foreign.table)].iter().filter(refers);
            let children = rows.map(|row| (number, (foreign.table, key_of(row, primary))));
            found.extend(children.filter(|(_, child)| child != &(*table, key.clone())));
        }
        found
    }

    /// What the delete of a row that is there takes with it.
    pub(super) fn delete(self, table: u8, key: &Row, state: &State) -> Outcome {
        let mut gone = BTreeSet::from([(table, key.clone())]);
        let mut rest: Vec<_> = gone.iter().cloned().collect();
        let (mut restricting, mut nulled, mut is_tangled) = (Vec::new(), Vec::new(), false);
        while let Some(row) = rest.pop() {
            for (number, child) in self.children(&row, state) {
                match self.all.foreign_keys[usize::from(number)].on_delete {
                    OnDelete::Restrict => restricting.push((number, child)),
                    OnDelete::SetNull => nulled.push((number, child)),
                    OnDelete::Cascade if gone.insert(child.clone()) => rest.push(child),
                    OnDelete::Cascade => is_tangled = true,
                }
            }
        }
        let mut answers: BTreeSet<Answer> =
            restricting.iter().map(|(number, _)| Answer::ForeignKey(*number)).collect();
        if is_tangled || gone.len() > DEPTH_MAX {
            answers.insert(Answer::Cascade);
        }
        let mut is_refused = restricting.iter().any(|(_, child)| !gone.contains(child));
        let mut after = state.clone();
        for (number, child) in &nulled {
            let row = self.set_null(*number, child, &mut after);
            let failed = self.check(child.0, &row);
            is_refused |= failed.is_some() && !gone.contains(child);
            answers.extend(failed);
            answers.extend(self.check(child.0, &self.bare(child.0, &row)));
            let is_long = row.iter().map(Val::size).sum::<usize>() > NULLED_MAX;
            if is_long || self.may_be_too_long(child.0, state) {
                answers.insert(Answer::TooLong);
            }
        }
        for (table, key) in &gone {
            // It may have followed others before it went.
            let row = after[usize::from(*table)].find(key).expect("a row that goes is there");
            answers.extend(self.check(*table, &self.bare(*table, row)));
            Rc::make_mut(&mut after[usize::from(*table)]).delete(key);
        }
        let followed = self.follow(&mut after);
        is_refused |= followed.is_refused;
        answers.extend(followed.failed);
        answers.extend((!is_refused).then_some(Answer::Done(true)));
        Outcome { answers, after }
    }

    /// Set the columns of a foreign key to null in a row, which is returned.
    fn set_null(self, number: u8, (table, key): &(u8, Row), state: &mut State) -> Row {
        let rows = Rc::make_mut(&mut state[usize::from(*table)]);
        let mut row = rows.find(key).unwrap().clone();
        for column in self.columns(self.all.foreign_keys[usize::from(number)]) {
            row[usize::from(*column)] = Val::Null;
        }
        rows.put(key.clone(), &row);
        row
    }
}
