//! A sentence that says which table or index costs most, and how certain it is that the cost would
//! be saved without it.
//!
//! The cost of a table is the cost of writing its bytes in this run. It may not be what is saved
//! without the table, for three reasons. A page that also carries other data is still programmed. A
//! collector has less data to make room for, so it moves less of the other data. And a write-ahead
//! log restarts at other times, so that the file system writes more or less for itself.

use std::collections::BTreeMap;

use flysch_chip::{CauseId, CauseTree, Trace};

use super::blame::TableRow;
use super::staying::{PARTS, Staying, programs_of};

/// The scopes in which collectors and wear levelling move data.
const MOVING: [&str; 8] = [
    "collect",
    "background_gc",
    "ubifs_gc",
    "ubi_wear_levelling",
    "yaffs_gc",
    "ftl_collect",
    "ftl_level_wear",
    "ftl_merge",
];

/// A sentence that says what costs most. None if no table or index costs anything.
pub fn headline(trace: &Trace, rows: &[TableRow]) -> Option<String> {
    let all: u64 = rows.iter().map(programs).sum();
    let indexes = rows.iter().filter(|row| row.kind == "index");
    let index = indexes.max_by_key(|row| programs(row)).filter(|row| programs(row) * 10 >= all);
    let row = index.or_else(|| rows.iter().find(|row| programs(row) > 0))?;
    let percent = (programs(row) * 100 + all / 2) / all.max(1);
    let name = match row.kind.as_str() {
        "index" => format!("index {} of table {}", row.name, row.table),
        "table" => format!("table {}", row.name),
        kind => format!("the {kind}"),
    };
    let said = format!("{name} costs {percent} % of all programs");
    let mut sentence = vec![said];
    if is_named(row) {
        sentence.extend(stay(trace, row));
        sentence.extend(moved_beside(trace, row));
    }
    sentence.extend(grown(rows, row));
    Some(sentence.join("; "))
}

const fn programs(row: &TableRow) -> u64 {
    row.operations.page_programs
}

/// Whether a count is large compared with the cost of a row.
const fn matters(count: u64, row: &TableRow) -> bool {
    count * 10 >= programs(row)
}

/// A clause on the programs of a row that would remain without it, because their pages also carry
/// other data. None if they are few.
fn stay(trace: &Trace, row: &TableRow) -> Option<String> {
    let (count, how) = match Staying::of(trace, row) {
        Staying::About(count) => (count, "about"),
        Staying::UpTo(count) => (count, "up to"),
    };
    matters(count, row).then(|| {
        format!("without it, {how} {count} of them stay, because their pages carry other data too")
    })
}

/// A clause on the programs by which collectors moved data of others. Some of them may be saved
/// too. None if they are few.
fn moved_beside(trace: &Trace, row: &TableRow) -> Option<String> {
    let mut known = BTreeMap::new();
    let mut is_moved = |cause| *known.entry(cause).or_insert_with(|| moves(&trace.causes, cause));
    let moved = programs_of(trace, row).filter(|program| is_moved(program.event.cause));
    let count = moved.map(|program| program.others_of(PARTS)).sum::<u64>() / PARTS;
    matters(count, row).then(|| {
        format!(
            "without it, some of the {count} programs may go by which collectors moved other data"
        )
    })
}

/// Whether a row is for a table or an index, which a program could do without.
const fn is_named(row: &TableRow) -> bool {
    !row.name.is_empty()
}

/// Whether the scope of a collector is among the scopes of a cause.
fn moves(causes: &CauseTree, mut cause: CauseId) -> bool {
    while cause != CauseId::ROOT {
        if MOVING.contains(&causes.label(cause)) {
            return true;
        }
        cause = causes.parent(cause);
    }
    false
}

/// A clause on the file system's own programs, if most of the row's programs are in a write-ahead
/// log. None otherwise.
fn grown(rows: &[TableRow], row: &TableRow) -> Option<String> {
    let own = rows.iter().find(|other| other.kind == "file system")?;
    let count = programs(own);
    let is_log = row.wal_programs * 2 > programs(row);
    (is_log && matters(count, row)).then(|| {
        format!(
            "without it, the file system's own {count} programs change too, because the \
             write-ahead log is begun anew at other times"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::explanations;
    use super::super::staying::LOGS;
    use super::MOVING;

    #[test]
    fn collectors_are_scopes_that_there_are() {
        let labels: BTreeSet<&str> = explanations().map(|explained| explained.label).collect();
        for label in MOVING.into_iter().chain(LOGS) {
            assert!(labels.contains(label), "{label}");
        }
    }
}
