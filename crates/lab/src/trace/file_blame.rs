//! The part of a binary trace file that says which tables and statements the events are for.
//!
//! ```text
//! tables      number   how many
//!   each      names    kind, name, table, file
//! statements  number   how many
//!   each      name     text
//!             number   executions
//! shares      twice, first in the tables, then in the statements: for each event
//!             number   how many
//!   each      numbers  place in the list, weight
//! ```

use flysch_chip::{Blame, Cargo, Origin, TableName};

use super::error::Fault;
use super::file::{Parser, put_name};
use super::varint;

/// The most tables, and also the most statements.
const NAMES_MAX: u64 = 1 << 16;
/// The most shares of an event.
const SHARES_MAX: u64 = 1 << 16;

pub(super) fn put(bytes: &mut Vec<u8>, blame: &Blame, events: usize) {
    varint::put(bytes, blame.tables.len() as u64);
    for TableName { kind, name, table, file } in &blame.tables {
        for name in [kind, name, table, file] {
            put_name(bytes, name);
        }
    }
    varint::put(bytes, blame.statements.len() as u64);
    for (place, statement) in blame.statements.iter().enumerate() {
        put_name(bytes, statement);
        varint::put(bytes, blame.executions.get(place).copied().unwrap_or(0));
    }
    for cargo in [&blame.of_tables, &blame.of_statements] {
        for place in 0..events {
            let shares = cargo.of(place);
            varint::put(bytes, shares.len() as u64);
            for (origin, weight) in shares {
                varint::put(bytes, origin.0.into());
                varint::put(bytes, (*weight).into());
            }
        }
    }
}

pub(super) fn parse(parser: &mut Parser<'_>, events: usize) -> Result<Blame, Fault> {
    let mut blame = Blame::default();
    for _ in 0..parser.number("number of tables", NAMES_MAX)? {
        let mut name = || parser.name().map(str::to_owned);
        blame.tables.push(TableName {
            kind: name()?,
            name: name()?,
            table: name()?,
            file: name()?,
        });
    }
    for _ in 0..parser.number("number of statements", NAMES_MAX)? {
        blame.statements.push(parser.name()?.to_owned());
        blame.executions.push(parser.long_number()?);
    }
    blame.of_tables = shares(parser, events, blame.tables.len())?;
    blame.of_statements = shares(parser, events, blame.statements.len())?;
    Ok(blame)
}

fn shares(parser: &mut Parser<'_>, events: usize, names: usize) -> Result<Cargo, Fault> {
    let mut cargo = Cargo::default();
    for _ in 0..events {
        let mut shares = Vec::new();
        for _ in 0..parser.number("number of shares", SHARES_MAX)? {
            let place = parser.number("place of a share", (names as u64).saturating_sub(1))?;
            if names == 0 {
                return Err(Fault::Excess);
            }
            shares.push((Origin(place), parser.number("weight of a share", u32::MAX.into())?));
        }
        cargo.push(shares);
    }
    Ok(cargo)
}
