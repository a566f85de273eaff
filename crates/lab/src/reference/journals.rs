//! Reference counts of transactions of one row each, with rollback journals in several places:
//! `kernel-6.1-hybrid.csv`.

use std::collections::BTreeMap;

use flysch_sqlite::JournalMode;
use serde::Deserialize;

use super::band::Band;
use super::error::ReferenceError;
use super::{Count, Expected, Row, grid, lines};
use crate::machine::stack::{Journals, Stack};
use crate::workload::Micro;

/// Number of rows in the table and bytes in each row. The reference does not state them. They were
/// inferred from its UBIFS and YAFFS2 runs without a journal: the number of rows from the reads
/// with cold caches, the bytes from the programs.
const ROWS: u32 = 1000;
const ROW_SIZE: u32 = 100;
/// How far a count may be from the kernel's, in percent. Erases may differ by a few more.
const PERCENT: f64 = 15.0;
const ERASE_SLACK: f64 = 3.0;
/// Number of blocks in a partition of 12 MiB.
const SMALL_BLOCKS: u32 = 96;

/// A line of the file.
#[derive(Debug, Deserialize)]
struct Line {
    config: String,
    transactions: u32,
    page_reads: f64,
    page_writes: f64,
    block_erases: f64,
}

/// The rows of the file in which the kernel programmed pages.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, ReferenceError> {
    let lines = lines::<Line>(text)?;
    lines.iter().filter(|line| line.page_writes > 0.0).map(Line::row).collect()
}

impl Line {
    fn row(&self) -> Result<Row, ReferenceError> {
        let (stack, mode) = self.stack()?;
        let mut grid = grid(Micro::Commit, stack);
        grid.axes.journal_modes = vec![mode];
        grid.axes.requests = vec![self.transactions];
        grid.axes.fills = vec![ROWS];
        grid.axes.record_sizes = vec![ROW_SIZE];
        if self.config.ends_with("-12M") {
            grid.axes.partition_blocks = vec![SMALL_BLOCKS];
        }
        let labels = BTreeMap::from([
            ("run", self.config.clone()),
            ("stack", stack.name()),
            ("journal", mode.to_string()),
        ]);
        let expected = |count, kernel, slack| {
            let band = Some(Band::Near { percent: PERCENT, slack });
            Expected { count, kernel, band }
        };
        let counts = vec![
            expected(Count::PageReads, self.page_reads, 0.0),
            expected(Count::PagePrograms, self.page_writes, 0.0),
            expected(Count::BlockErases, self.block_erases, ERASE_SLACK),
        ];
        Ok(Row { labels, scenarios: grid.scenarios(), counts })
    }

    /// The stack and the journal mode of a run, from its name, such as `jffs2-tmpfs-12M`.
    fn stack(&self) -> Result<(Stack, JournalMode), ReferenceError> {
        let unknown = || ReferenceError::unknown("run", &self.config);
        let mut words = self.config.split('-');
        let main = format!("sqlite/{}", words.next().unwrap_or_default());
        let main: Stack = main.parse().map_err(|_| unknown())?;
        Ok(match words.next() {
            Some("nand") => (main, JournalMode::Delete),
            Some("pmem" | "pmemnj") => (main.with(Journals::Pramfs), JournalMode::Delete),
            Some("tmpfs") => (main.with(Journals::Tmpfs), JournalMode::Delete),
            Some("persist") => (main, JournalMode::Persist),
            Some("wal") => (main, JournalMode::Wal),
            Some("nojournal") => (main, JournalMode::Off),
            _ => return Err(unknown()),
        })
    }
}
