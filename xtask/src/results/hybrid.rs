//! Journals elsewhere against Linux 6.1: transactions of one row each, run by run of
//! `docs/reference/kernel-6.1-hybrid.csv`.

use super::Flysch;
use super::counts::{self, Counts, Reference};
use crate::{Outcome, shell};
use std::fs;

const REFERENCE: &str = "docs/reference/kernel-6.1-hybrid.csv";

const OPENING: &str = "\
Each of 1000 transactions updates one random row. The reference does not tell its table; 1000 rows of
100 bytes are taken from it: the cold reads of UBIFS and YAFFS2 without a journal fix the rows, the
programs the bytes. `pmem` is ext4 mapped from persistent memory there and PRAMFS here, `12M` a
partition of 96 blocks. Within 15 %, erases within 15 % and 3.
";

const HEADING: &str = "\
| run | stack | journal | reads kernel | flysch | error | programs kernel | flysch | error \
| erases kernel | flysch | within |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
";

/// A run of the reference: its name, the stack and journal mode it stands for, and the counts.
#[derive(Debug)]
struct Cell {
    name: String,
    stack: String,
    journal: &'static str,
    kernel: Counts,
}

/// Runs every row of the reference that counts something.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let cells = parse(&fs::read_to_string(shell::root().join(REFERENCE))?)?;
    let measure = |cell: &Cell| Counts::mean(&flysch.runs(&cell.arguments())?);
    let table = counts::table(&cells, "runs", measure)?;
    Ok(format!("{OPENING}\n{HEADING}{table}"))
}

impl Cell {
    fn arguments(&self) -> Vec<String> {
        let Self { stack, journal, .. } = self;
        let partition = if self.name.ends_with("-12M") { "--partition-blocks 96" } else { "" };
        let line = format!(
            "bench commit --on {stack} --platform nandsim-6.1 --fill 1000 --record-size 100 \
             --requests 1000 --journal-mode {journal} --format json {partition}"
        );
        line.split_whitespace().map(str::to_owned).collect()
    }
}

impl Reference for Cell {
    fn kernel(&self) -> Counts {
        self.kernel
    }

    fn accepts(&self, flysch: Counts) -> bool {
        let near =
            |kernel: f64, flysch: f64, slack: f64| (flysch - kernel).abs() <= kernel * 0.15 + slack;
        near(self.kernel.page_reads, flysch.page_reads, 0.0)
            && near(self.kernel.page_programs, flysch.page_programs, 0.0)
            && near(self.kernel.block_erases, flysch.block_erases, 3.0)
    }

    fn name(&self) -> String {
        let Self { name, stack, journal, .. } = self;
        format!("| {name} | `{stack}` | {journal} ")
    }
}

/// The rows that count something.
fn parse(csv: &str) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, _, _, reads, programs, erases, ..] = fields[..] else {
            return Err(format!("{REFERENCE}: `{line}` is short").into());
        };
        let (stack, journal) = stack_of(name)?;
        let kernel = Counts {
            page_reads: reads.parse()?,
            page_programs: programs.parse()?,
            block_erases: erases.parse()?,
        };
        if kernel.page_programs > 0.0 {
            cells.push(Cell { name: name.to_owned(), stack, journal, kernel });
        }
    }
    Ok(cells)
}

/// The stack and journal mode of a run's name.
fn stack_of(name: &str) -> Outcome<(String, &'static str)> {
    let mut words = name.split('-');
    let main = words.next().unwrap_or_default();
    let (journals, mode) = match words.next() {
        Some("nand") => ("", "delete"),
        Some("pmem" | "pmemnj") => ("+pramfs", "delete"),
        Some("tmpfs") => ("+tmpfs", "delete"),
        Some("persist") => ("", "persist"),
        Some("wal") => ("", "wal"),
        Some("nojournal") => ("", "off"),
        _ => return Err(format!("{REFERENCE}: unknown run `{name}`").into()),
    };
    Ok((format!("sqlite/{main}{journals}"), mode))
}

#[cfg(test)]
mod tests {
    use super::{Counts, REFERENCE, parse};
    use crate::results::counts::Reference;
    use crate::shell;
    use std::fs;

    #[test]
    fn every_row_that_counts_something_names_its_run() {
        let text = fs::read_to_string(shell::root().join(REFERENCE)).expect("it is committed");
        let cells = parse(&text).expect("it is whole");
        let counted = text.lines().skip(1).filter(|line| !line.contains(",0,0,0,")).count();
        assert_eq!(cells.len(), counted);
        let small = cells.iter().find(|cell| cell.name == "jffs2-pmemnj-12M").expect("a row");
        let line = small.arguments().join(" ");
        assert!(line.contains("--on sqlite/jffs2+pramfs "), "{line}");
        assert!(
            line.ends_with("--journal-mode delete --format json --partition-blocks 96"),
            "{line}"
        );
    }

    #[test]
    fn each_count_has_its_band() {
        let text = fs::read_to_string(shell::root().join(REFERENCE)).expect("it is committed");
        let mut cell = parse(&text).expect("it is whole").remove(0);
        let counts = |page_reads, page_programs, block_erases| Counts {
            page_reads,
            page_programs,
            block_erases,
        };
        cell.kernel = counts(100.0, 200.0, 20.0);
        assert!(cell.accepts(counts(115.0, 170.0, 26.0)));
        for beyond in
            [counts(116.0, 200.0, 20.0), counts(100.0, 231.0, 20.0), counts(100.0, 200.0, 13.0)]
        {
            assert!(!cell.accepts(beyond), "{beyond:?}");
        }
    }
}
