//! The figures of a trace as tables, CSV and JSON.

use flysch_chip::Trace;
use flysch_lab::trace::{
    self, CauseNode, Causes, Explanation, Log, LogRow, Module, Summary, Tally,
};

use crate::output::{self, Format};

const KIND_COLUMNS: [&str; 7] =
    ["kind", "events", "bytes", "time_ns", "min_ns", "max_ns", "blocks"];
const LOG_COLUMNS: [&str; 7] = ["time_ns", "duration_ns", "kind", "addr", "bytes", "task", "cause"];
const MISSED_COLUMNS: [&str; 4] = ["why", "kind", "cause", "events"];
const STATEMENT_COLUMNS: [&str; 9] = [
    "statement",
    "executions",
    "page_reads",
    "page_programs",
    "block_erases",
    "time_ns",
    "with_commit.page_programs",
    "with_commit.block_erases",
    "with_commit.time_ns",
];
const TABLE_COLUMNS: [&str; 9] = [
    "kind",
    "name",
    "table",
    "page_reads",
    "page_programs",
    "block_erases",
    "time_ns",
    "journal_programs",
    "wal_programs",
];
/// The most rows of an event table below one header.
const TABLE_ROW_COUNT_MAX: usize = 1_000;
/// The fields of a [`Tally`], which are columns of several tables.
const TALLY_COLUMNS: [&str; 13] = [
    "page_reads",
    "page_programs",
    "block_erases",
    "oob_reads",
    "oob_programs",
    "nvram_reads",
    "nvram_writes",
    "nvram_erases",
    "nvram_bytes",
    "nvram_time_ns",
    "time_ns",
    "buffer_hits",
    "marks",
];

/// Render the summary of a trace.
pub(super) fn summary(trace: &Trace, format: Format) -> Vec<u8> {
    let summary = trace::summary(trace);
    match format {
        Format::Json => output::json(&summary),
        Format::Csv => output::rows(&KIND_COLUMNS, &summary.kinds, format),
        Format::Table => summary_tables(&summary),
    }
}

fn summary_tables(summary: &Summary) -> Vec<u8> {
    let facts = [
        ("geometry", summary.geometry.clone()),
        ("events", summary.events.to_string()),
        ("begin_ns", summary.begin_ns.to_string()),
        ("end_ns", summary.end_ns.to_string()),
        ("busy_ns", summary.busy_ns.to_string()),
        ("blocks", summary.blocks.to_string()),
        ("block_erases_max", summary.block_erases_max.to_string()),
        ("other_events", summary.other_events.to_string()),
    ];
    let origin = Some(("origin", summary.origin.clone())).filter(|(_, text)| !text.is_empty());
    let facts = facts.into_iter().chain(origin);
    let facts: Vec<_> = facts.map(|(name, value)| vec![name.to_owned(), value]).collect();
    let tables = [
        output::table(&["trace", "value"], &facts),
        output::rows(&KIND_COLUMNS, &summary.kinds, Format::Table),
        output::rows(&with_tally("task", &[""]), &summary.tasks, Format::Table),
    ];
    tables.join(&b'\n')
}

pub(super) fn blocks(blocks: &[Tally], format: Format) -> Vec<u8> {
    output::rows(&with_tally("block", &[""]), &trace::block_rows(blocks), format)
}

/// Render the events. A long table is split into parts with a header each, which limits memory.
pub(super) fn log(trace: &Trace, format: Format) -> Vec<u8> {
    let log = Log::new(trace);
    let rows: Vec<LogRow<'_>> = log.rows().collect();
    match format {
        Format::Csv => trace::write_csv(trace),
        Format::Json => output::json(&rows),
        Format::Table => {
            let parts = rows.chunks(TABLE_ROW_COUNT_MAX);
            parts.flat_map(|part| output::rows(&LOG_COLUMNS, part, format)).collect()
        }
    }
}

/// Render the operations that Flashmon would have missed.
pub(super) fn missed(trace: &Trace, module: Module, format: Format) -> Vec<u8> {
    output::rows(&MISSED_COLUMNS, &trace::missed(trace, &module), format)
}

/// Render the costs of each statement.
pub(super) fn statements(trace: &Trace, format: Format) -> Vec<u8> {
    output::rows(&STATEMENT_COLUMNS, &trace::by_statement(trace), format)
}

/// Render the costs of each table and index.
pub(super) fn tables(trace: &Trace, format: Format) -> Vec<u8> {
    output::rows(&TABLE_COLUMNS, &trace::by_table(trace), format)
}

pub(super) fn causes(trace: &Trace, format: Format) -> Vec<u8> {
    let causes = trace::causes(trace);
    match format {
        Format::Json => output::json(&causes),
        Format::Csv => {
            output::rows(&with_tally("cause", &["own.", "total."]), &causes.nodes, format)
        }
        Format::Table => cause_tree(&causes),
    }
}

/// Render the explanations of labels.
pub(super) fn explanations(explanations: &[Explanation], format: Format) -> Vec<u8> {
    output::rows(&["layer", "label", "meaning"], explanations, format)
}

/// Render the tree of causes, indented. A cause that has both operations of its own and causes
/// below it gets an extra line for its own. So the lines below a cause add up to it.
fn cause_tree(causes: &Causes) -> Vec<u8> {
    let mut rows = vec![cause_row("all", 0, &causes.all, &causes.all)];
    for (place, node) in causes.nodes.iter().enumerate() {
        let CauseNode { label, depth, own, total, .. } = node;
        rows.push(cause_row(label, depth + 1, total, &causes.all));
        let has_children = causes.nodes.get(place + 1).is_some_and(|next| next.depth > *depth);
        if has_children && own.event_count() > 0 {
            rows.push(cause_row("(itself)", depth + 2, own, &causes.all));
        }
    }
    let columns = [
        "cause",
        "page_reads",
        "page_programs",
        "block_erases",
        "oob_reads",
        "oob_programs",
        "nvram_reads",
        "nvram_writes",
        "time_ns",
    ];
    output::table(&columns, &rows)
}

fn cause_row(label: &str, depth: usize, tally: &Tally, all: &Tally) -> Vec<String> {
    let (part, whole) = (&tally.operations, &all.operations);
    let counts = [
        (part.page_reads, whole.page_reads),
        (part.page_programs, whole.page_programs),
        (part.block_erases, whole.block_erases),
        (part.oob_reads, whole.oob_reads),
        (part.oob_programs, whole.oob_programs),
        (part.nvram_reads, whole.nvram_reads),
        (part.nvram_writes, whole.nvram_writes),
        (part.flash_ns, whole.flash_ns),
    ];
    let label = format!("{}{label}", "  ".repeat(depth));
    let shares = counts.into_iter().map(|(part, whole)| share(part, whole));
    [label].into_iter().chain(shares).collect()
}

/// Render a count with its share of the whole, in percent with one decimal.
fn share(part: u64, whole: u64) -> String {
    if part == 0 {
        return "0".to_owned();
    }
    let (wide_part, wide_whole) = (u128::from(part), u128::from(whole));
    let permille = (wide_part * 1_000 + wide_whole / 2) / wide_whole;
    let percent = format!("{}.{}%", permille / 10, permille % 10);
    format!("{part} {percent:>6}")
}

/// The column `first`, followed by the columns of a tally with each prefix.
fn with_tally(first: &'static str, prefixes: &[&str]) -> Vec<String> {
    let tallies = prefixes
        .iter()
        .flat_map(|prefix| TALLY_COLUMNS.iter().map(move |column| format!("{prefix}{column}")));
    [first.to_owned()].into_iter().chain(tallies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded() {
        let cases = [(0, 0, "0"), (1, 3, "1  33.3%"), (2, 3, "2  66.7%"), (7, 7, "7 100.0%")];
        for (part, whole, text) in cases {
            assert_eq!(share(part, whole), text);
        }
    }
}
