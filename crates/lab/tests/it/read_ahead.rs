//! What read-ahead reads on Linux 6.1 with nandsim: the page counts of the two references, of reads
//! of a file (`docs/reference/kernel-6.1-readahead.csv`) and of selects on contacts
//! (`docs/reference/kernel-6.1-contacts.csv`), within 5 %.

use std::sync::Arc;

use flysch_lab::bench::grid::{Grid, ReadAheadChoice, run_all};
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::workload::{Contacts, Pattern, Read, Workload};

const READS: &str = include_str!("../../../../docs/reference/kernel-6.1-readahead.csv");
const CONTACTS: &str = include_str!("../../../../docs/reference/kernel-6.1-contacts.csv");

/// A row of a reference: a grid that answers to it, and the pages that the kernel read.
struct Row {
    title: String,
    grid: Grid,
    kernel: f64,
}

fn main_of(name: &str) -> Main {
    let all = [Main::Jffs2, Main::Yaffs2, Main::Ubifs];
    all.into_iter().find(|main| name.starts_with(main.name())).expect("a file system")
}

fn row(line: &str, workload: Workload, stack: Stack, choice: ReadAheadChoice) -> Row {
    let platform = Platform::named("nandsim-6.1").expect("it is built in");
    let mut grid = Grid::new(workload, stack, Arc::new(platform));
    grid.axes.read_ahead = vec![choice];
    let is_random = line.contains(",rand,");
    grid.axes.seeds = if is_random { (1..=32).collect() } else { vec![1] };
    Row { title: line.to_owned(), grid, kernel: 0.0 }
}

fn pattern(name: &str) -> Pattern {
    if name == "seq" { Pattern::Sequential } else { Pattern::Random }
}

fn reads() -> Vec<Row> {
    let aligned = READS.lines().skip(1).filter(|line| !line.contains(",urand,"));
    let rows = aligned.map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let request_size = fields[4].parse().unwrap();
        let read = Read { pattern: pattern(fields[1]), request_size, ..Read::DEFAULT };
        let choice = match (fields[0], fields[2]) {
            (variant, _) if variant.ends_with("fadv") => ReadAheadChoice::Advised,
            (variant, _) if variant.ends_with("bdi0") => ReadAheadChoice::Off,
            (_, "off") => ReadAheadChoice::Off,
            _ => ReadAheadChoice::On,
        };
        let mut row = row(line, Workload::Read(read), Stack::file(main_of(fields[0])), choice);
        // The file is random: no compressor gains anything, they only take the test's time.
        row.grid.axes.compressions = vec!["none".parse().unwrap()];
        row.grid.axes.requests = vec![fields[3].parse().unwrap()];
        row.kernel = fields[5].parse().unwrap();
        row
    });
    rows.collect()
}

fn contacts() -> Vec<Row> {
    let rows = CONTACTS.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let (fs, text_size) = fields[0].split_once('-').unwrap();
        let text_size = text_size.parse().unwrap();
        let contacts = Contacts { pattern: pattern(fields[1]), text_size, ..Contacts::DEFAULT };
        let choice = if fields[2] == "off" { ReadAheadChoice::Off } else { ReadAheadChoice::On };
        let stack: Stack = format!("sqlite/{fs}").parse().unwrap();
        let mut row = row(line, Workload::Contacts(contacts), stack, choice);
        row.grid.axes.requests = vec![fields[3].parse().unwrap()];
        row.kernel = fields[4].parse().unwrap();
        row
    });
    rows.collect()
}

/// Rows whose pages lie more than 5 % and two pages from the kernel's. Of random requests the
/// kernel's draw is not known: there its count may also lie between those of some draws.
fn misses(rows: &[Row]) -> Vec<String> {
    let scenarios: Vec<Vec<Scenario>> = rows.iter().map(|row| row.grid.scenarios()).collect();
    let mut outcomes = run_all(&scenarios.concat(), || ()).into_iter();
    let mut misses = Vec::new();
    for (row, scenarios) in rows.iter().zip(&scenarios) {
        let runs = outcomes.by_ref().take(scenarios.len());
        let exact = |count: u64| f64::from(u32::try_from(count).unwrap());
        let counts: Vec<f64> = runs.map(|run| exact(run.unwrap().page_reads)).collect();
        let mean = counts.iter().sum::<f64>() / exact(counts.len() as u64);
        let is_between = counts.iter().any(|&count| count <= row.kernel)
            && counts.iter().any(|&count| count >= row.kernel);
        if (mean - row.kernel).abs() > f64::max(row.kernel * 0.05, 2.0) && !is_between {
            misses.push(format!("{}: {counts:?}", row.title));
        }
    }
    misses
}

#[test]
fn a_file_is_read_as_the_kernel_reads_it() {
    let rows = reads();
    assert_eq!(rows.len(), 86);
    let missed = misses(&rows);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn contacts_are_read_as_the_kernel_reads_them() {
    let rows = contacts();
    assert_eq!(rows.len(), 48);
    let missed = misses(&rows);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
