//! Transactions of one row each, on one file system and on two: what journals elsewhere save, held
//! against the kernel's counts (`docs/reference/kernel-6.1-hybrid.csv`).

use std::sync::Arc;

use flysch_lab::JournalMode;
use flysch_lab::bench::grid::{Grid, run_all};
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Stack};
use flysch_lab::workload::Micro;
use serde::Deserialize;

const REFERENCE: &str = include_str!("../../../../docs/reference/kernel-6.1-hybrid.csv");
/// Rows of the table and bytes in each, which the reference does not tell. The cold reads of its
/// UBIFS and YAFFS2 runs without a journal fix the rows, the programs the bytes.
const ROWS: u32 = 1000;
const ROW_SIZE: u32 = 100;
/// How far from the kernel's a count may lie: a share, and erases by a few.
const PERCENT: u64 = 15;
const ERASE_SLACK: u64 = 3;
/// Runs of the reference that count something.
const ROW_COUNT: usize = 23;

/// A row of the reference.
#[derive(Debug, Deserialize)]
struct Row {
    config: String,
    transactions: u32,
    page_reads: u64,
    page_writes: u64,
    block_erases: u64,
}

impl Row {
    /// The run that answers to a name such as `jffs2-tmpfs-12M`.
    fn scenario(&self) -> Scenario {
        let mut words = self.config.split('-');
        let main = match words.next() {
            Some("jffs2") => Stack::JFFS2,
            Some("ubifs") => Stack::UBIFS,
            Some("yaffs2") => Stack::YAFFS2,
            other => panic!("{other:?} is no file system of the reference"),
        };
        let (stack, journal_mode) = match words.next() {
            Some("nand") => (main, JournalMode::Delete),
            Some("pmem" | "pmemnj") => (main.with(Journals::Pramfs), JournalMode::Delete),
            Some("tmpfs") => (main.with(Journals::Tmpfs), JournalMode::Delete),
            Some("persist") => (main, JournalMode::Persist),
            Some("wal") => (main, JournalMode::Wal),
            Some("nojournal") => (main, JournalMode::Off),
            other => panic!("{other:?} is no place for a journal"),
        };
        let platform = Arc::new(Platform::named("nandsim-6.1").expect("it is built in"));
        let mut grid = Grid::new(Micro::Commit, stack, platform);
        grid.axes.journal_modes = vec![journal_mode];
        grid.axes.requests = vec![self.transactions];
        grid.axes.fills = vec![ROWS];
        grid.axes.record_sizes = vec![ROW_SIZE];
        if words.next() == Some("12M") {
            grid.axes.partition_blocks = vec![96];
        }
        grid.scenarios().remove(0)
    }
}

#[test]
fn counts_are_the_kernels() {
    let rows = csv::Reader::from_reader(REFERENCE.as_bytes()).into_deserialize();
    let rows: Vec<Row> = rows.map(|row| row.expect("a whole row")).collect();
    let rows: Vec<Row> = rows.into_iter().filter(|row| row.page_writes > 0).collect();
    assert_eq!(rows.len(), ROW_COUNT);
    let scenarios: Vec<Scenario> = rows.iter().map(Row::scenario).collect();
    for (row, run) in rows.iter().zip(run_all(&scenarios, || ())) {
        let run = run.expect("a run of the reference");
        let counts = [
            (run.page_reads, row.page_reads, 0),
            (run.page_programs, row.page_writes, 0),
            (run.block_erases, row.block_erases, ERASE_SLACK),
        ];
        for (found, wanted, slack) in counts {
            let is_near = found.abs_diff(wanted) * 100 <= wanted * PERCENT + slack * 100;
            assert!(is_near, "{}: {found}, kernel {wanted}", row.config);
        }
    }
}
