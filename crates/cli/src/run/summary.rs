//! The summary of a run as text.

use std::fmt::Write as _;

use flysch_lab::bench::run::{Inputs, Run};
use flysch_lab::trace::{Operations, StatementRow, TableRow, headline};

use crate::output;

/// The most rows of a table. `flysch trace` shows all.
const ROWS_MAX: usize = 12;
/// The most characters of a statement.
const TEXT_MAX: usize = 60;

/// The summary: what costs most, what the program did, and what it cost.
pub(super) fn text(run: &Run) -> String {
    let mut text = String::new();
    let Inputs { on, platform, part, requests, .. } = &run.inputs;
    let Operations { page_reads, page_programs, block_erases, .. } = run.operations;
    let ms = run.time_ns / 1_000_000;
    let mut lines: Vec<String> = headline(&run.trace, &run.by_table).into_iter().collect();
    let what = if *requests == 0 { "files".to_owned() } else { format!("{requests} statements") };
    lines.push(format!("{what} on {on} ({platform}, {part}), {ms} ms"));
    lines.push(format!(
        "{page_reads} page reads, {page_programs} page programs, {block_erases} block erases"
    ));
    for line in lines {
        writeln!(text, "flysch: {line}").expect("a string takes what is written");
    }
    if page_reads + page_programs + block_erases > 0 {
        text.push('\n');
        text.push_str(&tables(&run.by_table));
        text.push('\n');
        text.push_str(&statements(&run.by_statement));
    }
    text
}

fn tables(rows: &[TableRow]) -> String {
    let cells = rows.iter().take(ROWS_MAX).map(|row| {
        let name = match (row.name.as_str(), row.table.as_str()) {
            ("", _) => row.kind.clone(),
            (name, table) if name == table => format!("{} {name}", row.kind),
            (name, table) => format!("{} {name} of {table}", row.kind),
        };
        let counts = [
            row.operations.page_programs,
            row.journal_programs,
            row.wal_programs,
            row.operations.block_erases,
            row.operations.page_reads,
        ];
        std::iter::once(name).chain(counts.map(|count| count.to_string())).collect()
    });
    let cells: Vec<Vec<String>> = cells.collect();
    render(&["table or index", "programs", "in journal", "in wal", "erases", "reads"], &cells)
}

fn statements(rows: &[StatementRow]) -> String {
    let cells = rows.iter().take(ROWS_MAX).map(|row| {
        let counts = [
            row.executions,
            row.operations.page_programs,
            row.with_commit.page_programs,
            row.with_commit.block_erases,
            row.with_commit.flash_ns / 1_000_000,
        ];
        std::iter::once(short(&row.statement))
            .chain(counts.map(|count| count.to_string()))
            .collect()
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let columns = ["statement", "times", "programs", "with commit", "erases", "flash ms"];
    render(&columns, &cells)
}

fn render(columns: &[&str], cells: &[Vec<String>]) -> String {
    String::from_utf8_lossy(&output::table(columns, cells)).into_owned()
}

fn short(text: &str) -> String {
    if text.chars().count() <= TEXT_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(TEXT_MAX).collect();
    format!("{head}...")
}
