//! Statements that are compiled once and run many times with other values, on a table whose key has
//! several columns: what a program does that has its statements ready.

use flysch_sqlite::{Database, Error, Value, Work};

use super::content::Content;
use crate::bench::site::Site;
use crate::bench::sql::charge;

/// Rows of the table: so many groups of so many rows each.
const GROUPS: u32 = 10;
const ROWS: u32 = 61;

/// What a parameter is given in a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bind {
    /// The first column of the key, which is the same in all rows.
    One,
    /// The second column of the key.
    Group,
    /// The third column of the key, or the number of a row.
    Number,
    /// A text of 12 characters.
    Name,
    /// A text of 60 characters.
    Note,
}

impl Bind {
    fn value(self, call: u32) -> Value {
        match self {
            Self::One => Value::Integer(1),
            Self::Group => Value::Integer((call * 7 % GROUPS + 1).into()),
            Self::Number => Value::Integer((call * 37 % ROWS + 1).into()),
            Self::Name => text(12, call),
            Self::Note => text(60, call),
        }
    }
}

fn text(len: usize, seed: u32) -> Value {
    Value::Text(Content::Text.bytes(len, seed.into()))
}

/// Make the table and fill it.
pub(super) fn fill(database: &Database) -> Result<(), Error> {
    database.execute(
        "CREATE TABLE keyed (a INTEGER, b INTEGER, c INTEGER, amount INTEGER, times INTEGER, \
         name TEXT, note TEXT, PRIMARY KEY (a, b, c));",
    )?;
    let mut insert = database.prepare("INSERT INTO keyed VALUES (1, ?, ?, 70000, 0, ?, ?);")?;
    for number in 0..GROUPS * ROWS {
        let (group, row) = (number / ROWS + 1, number % ROWS + 1);
        let key = [group, row].map(|part| Value::Integer(part.into()));
        let texts = [Bind::Name, Bind::Note].map(|bind| bind.value(number));
        insert.run(&[key, texts].concat())?;
    }
    Ok(())
}

/// The values of each run.
pub(super) fn values(binds: &[Bind], calls: u32) -> Vec<Vec<Value>> {
    (0..calls).map(|call| binds.iter().map(|bind| bind.value(call)).collect()).collect()
}

/// Compile a statement and run it with each of these values.
pub(super) fn run(
    database: &Database,
    site: &dyn Site,
    text: &str,
    values: &[Vec<Value>],
) -> Result<(), Error> {
    let mut statement = database.prepare(text)?;
    charge(site, &Work::default(), text.as_bytes());
    values.iter().try_for_each(|values| {
        charge(site, &statement.run(values)?.work, b"");
        Ok(())
    })
}
