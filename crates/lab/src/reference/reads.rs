//! Reference counts of reads with and without read-ahead: of a file of 5 MiB
//! (`kernel-6.1-readahead.csv`), and of selects on a database of contacts
//! (`kernel-6.1-contacts.csv`).
//!
//! The kernel's random requests are one random draw that is not known. So the rows with random
//! requests are compared with 32 seeds.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::band::Band;
use super::error::ReferenceError;
use super::{Count, Expected, Row, grid, lines};
use crate::bench::grid::{Grid, ReadAheadOption};
use crate::machine::stack::{Main, Stack};
use crate::workload::{Contacts, Pattern, Read, Workload};

/// How far the number of pages read may be from the kernel's, in percent or in pages, whichever is
/// more.
const PERCENT: f64 = 5.0;
const FEW_PAGES: f64 = 2.0;
/// How many seeds a row of random requests is compared with.
const DRAWS: u64 = 32;

/// A line of the reference of files.
#[derive(Debug, Deserialize)]
struct FileLine {
    fs_variant: String,
    pattern: String,
    readahead: String,
    requests: u32,
    request_bytes: u32,
    pages_read: f64,
}

/// A line of the reference of contacts.
#[derive(Debug, Deserialize)]
struct ContactsLine {
    fs_textlen: String,
    pattern: String,
    readahead: String,
    selects: u32,
    pages_read: f64,
}

/// The rows of the reference of files. Two rows of requests that are not aligned were measured on
/// another machine and are left out.
pub(super) fn of_files(text: &str) -> Result<Vec<Row>, ReferenceError> {
    let lines = lines::<FileLine>(text)?;
    lines.iter().filter(|line| line.pattern != "urand").map(FileLine::row).collect()
}

/// The rows of the reference of contacts.
pub(super) fn of_contacts(text: &str) -> Result<Vec<Row>, ReferenceError> {
    lines::<ContactsLine>(text)?.iter().map(ContactsLine::row).collect()
}

impl FileLine {
    fn row(&self) -> Result<Row, ReferenceError> {
        let mains = [Main::Jffs2, Main::Yaffs2, Main::Ubifs];
        let main = mains.into_iter().find(|main| self.fs_variant.starts_with(main.name()));
        let main = main.ok_or_else(|| ReferenceError::unknown("variant", &self.fs_variant))?;
        let (choice, read_ahead) = match (&self.fs_variant[main.name().len()..], &*self.readahead) {
            ("fadv", _) => (ReadAheadOption::Advised, "fadvise"),
            ("bdi0", _) | (_, "off") => (ReadAheadOption::Off, "off"),
            _ => (ReadAheadOption::On, "on"),
        };
        let (pattern, request_size) = (order(&self.pattern)?, self.request_bytes);
        let read = Workload::Read(Read { pattern, request_size, ..Read::DEFAULT });
        let mut grid = grid(read, Stack::file(main));
        grid.axes.requests = vec![self.requests];
        grid.axes.read_ahead = vec![choice];
        // The file consists of random bytes, which compressors cannot shrink. Trying them would
        // only take time.
        grid.axes.compressions = vec!["none".parse().expect("it is known")];
        Ok(row(grid, read_ahead, request_size, self.pages_read))
    }
}

impl ContactsLine {
    fn row(&self) -> Result<Row, ReferenceError> {
        let unknown = || ReferenceError::unknown("stack", &self.fs_textlen);
        let (fs, size) = self.fs_textlen.split_once('-').ok_or_else(unknown)?;
        let stack = format!("sqlite/{fs}").parse().map_err(|_| unknown())?;
        let (pattern, text_size) = (order(&self.pattern)?, size.parse().map_err(|_| unknown())?);
        let contacts = Workload::Contacts(Contacts { pattern, text_size, ..Contacts::DEFAULT });
        let mut grid = grid(contacts, stack);
        grid.axes.requests = vec![self.selects];
        let is_off = self.readahead == "off";
        let choice = if is_off { ReadAheadOption::Off } else { ReadAheadOption::On };
        grid.axes.read_ahead = vec![choice];
        Ok(row(grid, if is_off { "off" } else { "on" }, text_size, self.pages_read))
    }
}

/// The row whose scenarios are those of a grid. The grid must have one workload, one stack and one
/// number of requests.
fn row(mut grid: Grid, read_ahead: &str, size: u32, pages_read: f64) -> Row {
    let pattern = grid.workloads[0].pattern();
    let is_random = pattern == Pattern::Random;
    grid.axes.seeds = if is_random { (1..=DRAWS).collect() } else { vec![1] };
    let labels = BTreeMap::from([
        ("on", grid.stacks[0].name()),
        ("pattern", pattern.name().to_owned()),
        ("read_ahead", read_ahead.to_owned()),
        ("requests", grid.axes.requests[0].to_string()),
        ("size", size.to_string()),
    ]);
    let band = Some(Band::Among { percent: PERCENT, few: FEW_PAGES });
    let counts = vec![Expected { count: Count::PageReads, kernel: pages_read, band }];
    Row { labels, scenarios: grid.scenarios(), counts }
}

fn order(name: &str) -> Result<Pattern, ReferenceError> {
    match name {
        "seq" => Ok(Pattern::Sequential),
        "rand" => Ok(Pattern::Random),
        other => Err(ReferenceError::unknown("order", other)),
    }
}
