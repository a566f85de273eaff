//! The simulator against Linux 6.1 with nandsim, cell by cell.
//!
//! The reference was measured on the unmodified kernel at the functions that read, program and
//! erase the simulated array (`docs/reference/kernel-6.1-bench.csv`). Each row of it names the
//! run of `flysch bench` that must give the same counts, within a band.

use super::Flysch;
use super::counts::{self, Counts, Reference};
use crate::{Outcome, shell};
use std::fs;

const REFERENCE: &str = "docs/reference/kernel-6.1-bench.csv";

const BANDS: &str = "\
JFFS2: page programs 3 % for insert, 10 % for update, none at all for select and join; page reads
5 % and 3 pages for select and join, 15 % for update; 10 % for reads and programs of a variant. The
reads of an insert are few and have no band. Update is the mean of seeds 1, 2 and 3, as the kernel
itself varies there. UBIFS: programs 3 % for insert, 5 % for update, reads 5 % and 5 pages. YAFFS2:
programs 10 %, reads 5 % and 8 pages. Block erases: 3 or 30 %, whichever is more.
";

const HEADING: &str = "\
| fs | operation | record size | requests | variant \
| reads kernel | flysch | error | programs kernel | flysch | error \
| erases kernel | flysch | within |
|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
";

/// One row of the reference.
#[derive(Debug, PartialEq)]
struct Cell {
    fs: String,
    operation: String,
    record_size: u32,
    requests: u32,
    variant: String,
    kernel: Counts,
}

/// How far from the kernel a count may lie: a share of the kernel's count and a few more.
#[derive(Clone, Copy)]
struct Band {
    percent: f64,
    slack: f64,
}

impl Band {
    fn holds(self, kernel: f64, flysch: f64) -> bool {
        (flysch - kernel).abs() <= kernel * self.percent / 100.0 + self.slack
    }
}

/// Runs every row of the reference and sets the counts side by side.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let cells = parse(&fs::read_to_string(shell::root().join(REFERENCE))?)?;
    let table = counts::table(&cells, "rows", |cell| {
        let runs = flysch.runs(&cell.arguments()?)?;
        if runs.len() != cell.seeds().len() {
            return Err(format!("{} runs for seeds {:?}", runs.len(), cell.seeds()).into());
        }
        Counts::mean(&runs)
    })?;
    Ok(format!("{BANDS}\n{HEADING}{table}"))
}

impl Cell {
    /// The run of `flysch` that answers to this row.
    fn arguments(&self) -> Outcome<Vec<String>> {
        let seeds = self.seeds().join(",");
        let line = format!(
            "bench {} --on sqlite/{} --platform nandsim-6.1 --record-size {} --requests {} \
             --seed {seeds} --format json",
            self.operation, self.fs, self.record_size, self.requests,
        );
        let variant = match self.variant.as_str() {
            "main" | "yaffs2" => "",
            "ra0" => "--read-ahead off",
            "compr_none" => "--compression none",
            "alpha" => "--alphabet base64",
            "page4096" => "--page-size 4096",
            "soft_ecc_subpage_reads" => "--ecc soft",
            other => return Err(format!("{REFERENCE}: unknown variant `{other}`").into()),
        };
        let words = line.split_whitespace().chain(variant.split_whitespace());
        Ok(words.map(str::to_owned).collect())
    }

    fn seeds(&self) -> &'static [&'static str] {
        if self.operation == "update" && self.fs == "jffs2" { &["1", "2", "3"] } else { &["1"] }
    }

    fn program_band(&self) -> Band {
        let percent = match (self.fs.as_str(), self.operation.as_str(), self.is_variant()) {
            ("yaffs2", ..) | ("jffs2", _, true) | ("jffs2", "update", false) => 10.0,
            ("ubifs", "update", _) => 5.0,
            _ => 3.0,
        };
        Band { percent, slack: 0.0 }
    }

    fn read_band(&self) -> Option<Band> {
        let (percent, slack) = match (self.fs.as_str(), self.operation.as_str(), self.is_variant())
        {
            ("ubifs", ..) => (5.0, 5.0),
            ("yaffs2", ..) => (5.0, 8.0),
            (_, "insert", _) => return None,
            (_, "update", false) => (15.0, 0.0),
            (_, "update", true) => (10.0, 0.0),
            (_, _, true) => (10.0, 3.0),
            (_, _, false) => (5.0, 3.0),
        };
        Some(Band { percent, slack })
    }

    fn is_variant(&self) -> bool {
        !matches!(self.variant.as_str(), "main" | "yaffs2")
    }
}

impl Reference for Cell {
    fn kernel(&self) -> Counts {
        self.kernel
    }

    fn accepts(&self, flysch: Counts) -> bool {
        let kernel = self.kernel;
        let erases = Band { percent: 0.0, slack: f64::max(3.0, kernel.block_erases * 0.3) };
        erases.holds(kernel.block_erases, flysch.block_erases)
            && self.program_band().holds(kernel.page_programs, flysch.page_programs)
            && self.read_band().is_none_or(|band| band.holds(kernel.page_reads, flysch.page_reads))
    }

    fn name(&self) -> String {
        let Self { fs, operation, record_size, requests, variant, .. } = self;
        format!("| {fs} | {operation} | {record_size} | {requests} | {variant} ")
    }
}

/// The rows of the reference, by the names of its columns.
fn parse(csv: &str) -> Outcome<Vec<Cell>> {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    lines.map(|line| parse_line(&names, line)).collect()
}

fn parse_line(names: &[&str], line: &str) -> Outcome<Cell> {
    let values: Vec<&str> = line.split(',').collect();
    let field = |name: &str| -> Outcome<&str> {
        let column = names.iter().position(|candidate| *candidate == name);
        let value = column.and_then(|column| values.get(column));
        Ok(value.ok_or_else(|| format!("{REFERENCE}: no `{name}` in `{line}`"))?)
    };
    Ok(Cell {
        fs: field("fs")?.into(),
        operation: field("op")?.into(),
        record_size: field("record_size")?.parse()?,
        requests: field("requests")?.parse()?,
        variant: field("variant")?.into(),
        kernel: Counts {
            page_reads: field("page_reads")?.parse()?,
            page_programs: field("page_programs")?.parse()?,
            block_erases: field("block_erases")?.parse()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{Cell, Counts, REFERENCE, Reference, parse};
    use crate::results::counts::table;
    use crate::shell;
    use std::fs;

    fn counts(page_reads: f64, page_programs: f64, block_erases: f64) -> Counts {
        Counts { page_reads, page_programs, block_erases }
    }

    fn cell(operation: &str, variant: &str, kernel: Counts) -> Cell {
        let [fs, operation, variant] = ["jffs2", operation, variant].map(str::to_owned);
        Cell { fs, operation, record_size: 600, requests: 1000, variant, kernel }
    }

    #[test]
    fn every_row_of_the_reference_is_understood() {
        let text = fs::read_to_string(shell::root().join(REFERENCE)).expect("it is committed");
        let cells = parse(&text).expect("it is whole");
        assert_eq!(cells.len(), text.lines().count() - 1);
        let jffs2: Vec<&Cell> = cells.iter().filter(|cell| cell.fs == "jffs2").collect();
        assert_eq!(jffs2.len(), 42);
        for cell in jffs2 {
            cell.arguments().expect("every variant has its option");
        }
    }

    #[test]
    fn a_row_names_its_run() {
        let update = cell("update", "ra0", counts(806.0, 1364.0, 3.0));
        let line = update.arguments().expect("a known variant").join(" ");
        let expected = "bench update --on sqlite/jffs2 --platform nandsim-6.1 --record-size 600 \
                        --requests 1000 --seed 1,2,3 --format json --read-ahead off";
        assert_eq!(line, expected);
    }

    #[test]
    fn each_count_has_its_band() {
        let check = |operation, variant, kernel, flysch, expected| {
            let cell = cell(operation, variant, kernel);
            assert_eq!(cell.accepts(flysch), expected, "{cell:?} {flysch:?}");
        };
        let insert = counts(5.0, 1000.0, 0.0);
        check("insert", "main", insert, counts(50.0, 1030.0, 3.0), true);
        check("insert", "main", insert, counts(5.0, 1031.0, 0.0), false);
        check("insert", "main", insert, counts(5.0, 1000.0, 4.0), false);
        check("insert", "alpha", insert, counts(5.0, 1100.0, 0.0), true);
        let select = counts(100.0, 0.0, 0.0);
        check("select", "main", select, counts(108.0, 0.0, 0.0), true);
        check("select", "main", select, counts(109.0, 0.0, 0.0), false);
        check("select", "main", select, counts(100.0, 1.0, 0.0), false);
        check("join", "ra0", select, counts(113.0, 0.0, 0.0), true);
        let update = counts(1000.0, 1000.0, 30.0);
        check("update", "main", update, counts(1150.0, 1100.0, 39.0), true);
        check("update", "main", update, counts(1150.0, 1100.0, 40.0), false);
        check("update", "page4096", update, counts(1101.0, 1000.0, 30.0), false);
    }

    #[test]
    fn a_line_shows_the_error() {
        let rows = [cell("insert", "main", counts(0.0, 1000.0, 0.0))];
        let table = table(&rows, "rows", |_| Ok(counts(2.0, 985.0, 0.0))).expect("it is measured");
        let expected = "| jffs2 | insert | 600 | 1000 | main | 0 | 2 | – \
                        | 1000 | 985 | -1.5 % | 0 | 0 | yes |\n\
                        \n1 of 1 rows are within their band.\n";
        assert_eq!(table, expected);
    }
}
