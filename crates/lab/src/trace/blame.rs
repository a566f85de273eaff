//! Divides operations among tables and among statements.
//!
//! An operation that concerns bytes of several tables is divided in proportion to the bytes. Shares
//! are added up exactly. Only the sums are rounded to whole operations, by the largest-remainder
//! method, so the rows add up to the counts of the trace.

use std::collections::BTreeMap;

use flysch_chip::{Blame, Cargo, CauseId, Event, TableName, TaskId, Trace};
use serde::Serialize;

use super::operations::Operations;

/// The cost of a table, of an index, or of another kind of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableRow {
    /// The kind of content: `table`, `index`, `schema`, `free list`, `journal`, `wal`, `temporary`,
    /// `file system`, ...
    pub kind: String,
    /// Its name. Empty for kinds without one.
    pub name: String,
    /// The table that an index belongs to.
    pub table: String,
    #[serde(flatten)]
    pub operations: Operations,
    /// Page programs for its pages in rollback journals.
    pub journal_programs: u64,
    /// Page programs for its pages in write-ahead logs.
    pub wal_programs: u64,
}

/// The cost of a statement, or of a task of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatementRow {
    /// The text of the statement without its values, or the name of the task.
    pub statement: String,
    /// How often it was executed. 0 for a task.
    pub executions: u64,
    /// Operations while it ran.
    #[serde(flatten)]
    pub operations: Operations,
    /// The same, but the operations of a commit are divided among the statements of its
    /// transaction.
    pub with_commit: Operations,
}

/// The kind of what file systems write for themselves, which belongs to no table.
const FILE_SYSTEM: &str = "file system";
/// One operation in fixed-point numbers. Shares are fractions of it.
const UNIT: u128 = 1 << 40;
const COLUMNS: usize = Operations::COLUMNS;

type Sums = [u128; COLUMNS];

/// What events cost each table, by its number, before rounding. The last is what belongs to none.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableSums(Vec<Sums>);

impl TableSums {
    /// Add the events of a trace. It has at least the tables of those that were added before, with
    /// the same numbers.
    pub(crate) fn add(&mut self, trace: &Trace) {
        let Blame { tables, of_tables, .. } = &trace.blame;
        let nobody = self.0.pop().unwrap_or_default();
        self.0.resize(tables.len(), [0; COLUMNS]);
        self.0.push(nobody);
        for (place, event) in trace.events.iter().enumerate() {
            share(event, of_tables.of(place), tables.len(), &mut self.0);
        }
    }
}

/// The costs of each table and index, the most programs first.
pub fn by_table(trace: &Trace) -> Vec<TableRow> {
    by_table_after(TableSums::default(), trace)
}

/// The costs of each table and index in a trace and in the parts that were taken before.
pub(crate) fn by_table_after(mut sums: TableSums, trace: &Trace) -> Vec<TableRow> {
    let blame = &trace.blame;
    sums.add(trace);
    let rounded = rounded(&sums.0);
    let mut rows: BTreeMap<(&str, &str, &str), TableRow> = BTreeMap::new();
    let own = TableName { kind: FILE_SYSTEM.to_owned(), ..TableName::default() };
    for (name, counts) in blame.tables.iter().chain([&own]).zip(rounded) {
        let operations = Operations::of_columns(counts);
        if operations.count() == 0 && operations.flash_ns == 0 {
            continue;
        }
        let TableName { kind, name, table, file } = name;
        let row = rows.entry((kind, name, table)).or_insert_with(|| TableRow {
            kind: kind.clone(),
            name: name.clone(),
            table: table.clone(),
            operations: Operations::default(),
            journal_programs: 0,
            wal_programs: 0,
        });
        row.operations += operations;
        if file == "journal" {
            row.journal_programs += operations.page_programs;
        } else if file == "wal" {
            row.wal_programs += operations.page_programs;
        }
    }
    let mut rows: Vec<TableRow> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(weight(&row.operations)));
    rows
}

/// The costs of each statement, the most programs first. Other tasks, such as garbage collectors,
/// have rows of their own.
pub fn by_statement(trace: &Trace) -> Vec<StatementRow> {
    by_statement_after(&BTreeMap::new(), trace)
}

/// The costs of each statement in a trace and in parts that were taken before, of which each
/// operation is for the statement that ran.
pub(crate) fn by_statement_after(
    earlier: &BTreeMap<(TaskId, CauseId), Operations>,
    trace: &Trace,
) -> Vec<StatementRow> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut own: Vec<Operations> = Vec::new();
    let mut place_of = |name: String, own: &mut Vec<Operations>| {
        *places.entry(name).or_insert_with(|| {
            own.push(Operations::default());
            own.len() - 1
        })
    };
    let known = trace.blame.statements.iter().cloned();
    let known: Vec<usize> = known.map(|name| place_of(name, &mut own)).collect();
    let mut runners: BTreeMap<(TaskId, CauseId), usize> = BTreeMap::new();
    let mut before: Vec<(usize, Operations)> = Vec::new();
    for (&(task, cause), operations) in earlier {
        let place = place_of(runner_of(trace, task, cause), &mut own);
        runners.insert((task, cause), place);
        own[place] += *operations;
        before.push((place, *operations));
    }
    let runs = trace.events.iter().map(|event| {
        let (task, cause) = (event.task, event.cause);
        let runner = runners.entry((task, cause));
        let place = *runner.or_insert_with(|| place_of(runner_of(trace, task, cause), &mut own));
        if event.kind.is_operation() {
            own[place].add(event);
        }
        place
    });
    let runs: Vec<usize> = runs.collect();
    let mut sums: Vec<Sums> = vec![[0; COLUMNS]; own.len()];
    for (place, operations) in before {
        divide(operations, &[], place, &mut sums);
    }
    for (number, (event, runner)) in trace.events.iter().zip(runs).enumerate() {
        let shares = trace.blame.of_statements.of(number).iter();
        let shares: Vec<_> = shares
            .filter_map(|(statement, weight)| Some((*known.get(statement.0 as usize)?, *weight)))
            .collect();
        divide(operations_of(event), &shares, runner, &mut sums);
    }
    let with_commit = rounded(&sums);
    let mut rows: Vec<StatementRow> = places
        .into_iter()
        .map(|(statement, place)| StatementRow {
            executions: executions(trace, &statement),
            statement,
            operations: own[place],
            with_commit: Operations::of_columns(with_commit[place]),
        })
        .filter(|row| {
            row.executions > 0 || row.operations.flash_ns > 0 || row.with_commit.flash_ns > 0
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(weight(&row.with_commit)));
    rows
}

/// The sort key of rows: programs, then erases, then time.
fn weight(operations: &Operations) -> (u64, u64, u64) {
    (
        operations.page_programs + operations.nvram_writes,
        operations.block_erases,
        operations.flash_ns,
    )
}

/// The statement that ran when events of a task happened, or the task if it was not the program's.
fn runner_of(trace: &Trace, task: TaskId, cause: CauseId) -> String {
    if task == TaskId(0) {
        return trace.causes.label(trace.causes.outermost(cause)).to_owned();
    }
    let task = trace.tasks.get(usize::from(task.0)).map_or("", String::as_str);
    format!("(background: {task})")
}

fn executions(trace: &Trace, statement: &str) -> u64 {
    let place = trace.blame.statements.iter().position(|known| known == statement);
    place.and_then(|place| trace.blame.executions.get(place).copied()).unwrap_or(0)
}

/// Divide an event among rows by its cargo. Without cargo, all of it goes to the row `nobody`.
fn share(event: &Event, cargo: &[(flysch_chip::Origin, u32)], nobody: usize, sums: &mut [Sums]) {
    if !event.kind.is_operation() {
        return;
    }
    let shares: Vec<(usize, u32)> =
        cargo.iter().map(|(table, bytes)| (table.0 as usize, *bytes)).collect();
    divide(operations_of(event), &shares, nobody, sums);
}

fn operations_of(event: &Event) -> Operations {
    let mut operations = Operations::default();
    operations.add(event);
    operations
}

/// Divide operations among rows by their weights. The last row gets what integer division leaves
/// over. Without shares, all of it goes to the row `otherwise`.
fn divide(operations: Operations, shares: &[(usize, u32)], otherwise: usize, sums: &mut [Sums]) {
    let all: u128 = shares.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let alone = [(otherwise, 1)];
    let (shares, all) = if all == 0 { (&alone[..], 1) } else { (shares, all) };
    for (column, count) in operations.columns().into_iter().enumerate().filter(|(_, it)| *it > 0) {
        let mut left = u128::from(count) * UNIT;
        let whole = left;
        for (place, weight) in shares {
            let part = whole / all * u128::from(*weight);
            sums[*place][column] += part;
            left -= part;
        }
        if let Some((place, _)) = shares.last() {
            sums[*place][column] += left;
        }
    }
}

/// Round each column to whole operations by the largest-remainder method, which keeps its sum.
fn rounded(sums: &[Sums]) -> Vec<[u64; COLUMNS]> {
    let mut counts = vec![[0_u64; COLUMNS]; sums.len()];
    for column in 0..COLUMNS {
        let all: u128 = sums.iter().map(|row| row[column]).sum();
        debug_assert_eq!(all % UNIT, 0, "events are divided without a rest");
        let mut given = 0;
        let mut order: Vec<(u128, usize)> = Vec::with_capacity(sums.len());
        for (place, row) in sums.iter().enumerate() {
            let count = row[column] / UNIT;
            counts[place][column] = u64::try_from(count).unwrap_or(u64::MAX);
            given += count;
            order.push((row[column] % UNIT, place));
        }
        order.sort_by_key(|(rest, place)| (std::cmp::Reverse(*rest), *place));
        let missing = usize::try_from(all / UNIT - given).unwrap_or(0);
        for (_, place) in order.into_iter().take(missing) {
            counts[place][column] += 1;
        }
    }
    counts
}

/// The cargo of some events of a trace, by their positions in it.
pub(super) fn selected(cargo: &Cargo, places: impl Iterator<Item = usize>) -> Cargo {
    let mut kept = Cargo::default();
    places.for_each(|place| kept.push(cargo.of(place).iter().copied()));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_the_sum() {
        let mut sums = vec![[0; COLUMNS]; 3];
        (sums[0][0], sums[1][0], sums[2][0]) = (UNIT / 2, UNIT / 4, UNIT + UNIT / 4);
        let counts: Vec<u64> = rounded(&sums).iter().map(|row| row[0]).collect();
        assert_eq!(counts, [1, 0, 1]);
    }
}
