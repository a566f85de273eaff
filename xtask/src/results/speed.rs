//! Instructions of the host for each simulated operation, by workload and stack.
//!
//! Each cell is measured by two runs that differ only in their number of requests. The difference
//! of their instructions is divided by the difference of their operations. So work that is done
//! once does not count, such as starting the program and filling tables. Instructions are counted
//! and not timed, so the load of the machine does not matter. Another compiler or C library changes
//! them by a few percent, so a check allows a quarter.

use super::{Flysch, Mode, growth};
use crate::Outcome;
use crate::shell;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

/// Workloads, each with the two numbers of requests and further arguments.
const WORKLOADS: [(&str, [u32; 2], &str); 12] = [
    ("insert", [200, 400], ""),
    ("select", [100, 200], "--fill 500"),
    ("join", [100, 200], "--fill 500"),
    ("update", [100, 200], "--fill 500"),
    ("commit", [40, 80], "--fill 500"),
    ("contacts", [100, 200], ""),
    ("logger", [40, 80], "--fill 500 --record-size 40"),
    ("mount", [5, 10], "--fill 500 --record-size 40"),
    ("tpcc", [10, 20], "--scale-divisor 100"),
    ("read", [200, 400], ""),
    ("postmark", [40, 80], "--files 50"),
    ("overwrite", [1, 2], "--partition-blocks 128"),
];
const MEDIA: [&str; 4] = ["jffs2", "yaffs2", "ubifs", "ftl"];
/// Workloads of files, which need no database engine.
const OF_FILES: [&str; 3] = ["read", "postmark", "overwrite"];

const OPENING: &str = "\
# Speed of the lab

Thousands of instructions of the host for each operation of the simulated chip, counted by valgrind.
`cargo xtask results` generates the first table. `--check` fails where one differs by more than a
quarter.

";

/// Counted by hand, because the commits have to be built. The commands are in the text.
const EARLIER: &str = "
## Against earlier commits

Thousands of millions of instructions, counted once by hand at some commits: `valgrind
--tool=cachegrind --cache-sim=no` with `RAYON_NUM_THREADS=1`. The 160 cells are `flysch bench` of
insert, select, join and update on JFFS2 and UBIFS, records of 150, 300, 450 and 600 bytes, and 100,
500, 1000, 2500 and 5000 requests. `compare` has the same four workloads, as the earlier commit had
them by default. Both use the platform `nandsim-6.1`. The last two commits were counted for `repro`
alone.

| command | 809ded11 | cc372d8a | 2d756065 | 4546f1d3 | aa15884b |
|---|--:|--:|--:|--:|--:|
| 160 cells | 78.0 | 25.3 | 25.3 | | |
| `compare` | 73.8 | 21.1 | 21.1 | | |
| `repro all --quick` | 163.9 | 138.8 | 138.4 | 81.7 | |
| `repro all` | 672.2 | | | | 280.1 |
";

/// A figure of each workload on each stack.
pub(super) type Cells = BTreeMap<(String, String), f64>;

/// By how much a cell may differ from the committed one, percent.
const GROWTH_MAX: f64 = 25.0;

/// The columns of the table: all stacks, and this project's engine if the workload runs on it.
pub(super) fn stacks(workload: &str) -> Vec<String> {
    let is_of_files = OF_FILES.contains(&workload);
    let main = if is_of_files { "file" } else { "sqlite" };
    let engine = (!is_of_files).then(|| "flysch".to_owned());
    MEDIA.iter().map(|medium| format!("{main}/{medium}")).chain(engine).collect()
}

/// The section. New figures replace the `committed` ones if they differ by more than
/// [`GROWTH_MAX`]. Without valgrind, the section does not change.
pub(super) fn render(flysch: &Flysch, mode: Mode, committed: &str) -> Outcome<String> {
    let (speed, growth) = growth::parted(committed);
    let known = figures(speed);
    let table = |cells: &Cells| document(cells, growth);
    if mode == Mode::Check {
        growth::check(flysch, growth)?;
    }
    if !shell::is_installed("valgrind") {
        println!("no valgrind: instructions are not counted");
        return Ok(table(&known));
    }
    let cells: Vec<(&str, [u32; 2], &str, String)> = WORKLOADS
        .into_iter()
        .flat_map(|(workload, counts, more)| {
            stacks(workload).into_iter().map(move |stack| (workload, counts, more, stack))
        })
        .collect();
    let measure = |(workload, counts, more, stack): &(&str, [u32; 2], &str, String)| {
        let Between { instructions, operations } =
            flysch.between(workload, stack, *counts, more)?;
        let each = instructions / operations / 1e3;
        Ok(((workload.to_string(), column(stack)), each))
    };
    let fresh: Cells = cells.par_iter().map(measure).collect::<Result<_, String>>()?;
    let is_near = |cell: &(String, String), each: &f64| {
        let limit = 1.0 + GROWTH_MAX / 100.0;
        known.get(cell).is_some_and(|old| *each < old * limit && *old < each * limit)
    };
    if mode == Mode::Check && fresh.iter().all(|(cell, each)| is_near(cell, each)) {
        return Ok(table(&known));
    }
    Ok(table(&fresh))
}

/// What a run takes more than a shorter one.
pub(super) struct Between {
    pub(super) instructions: f64,
    /// Operations of the chip, at least one.
    pub(super) operations: f64,
}

impl Flysch {
    /// What the second of two numbers of requests takes more than the first.
    pub(super) fn between(
        &self,
        workload: &str,
        stack: &str,
        counts: [u32; 2],
        more: &str,
    ) -> Result<Between, String> {
        let of = |requests: u32| {
            self.counted(&format!(
                "bench {workload} --on {stack} --requests {requests} {more} --format json --jobs 1"
            ))
            .map_err(|cause| format!("{workload} on {stack}: {cause}"))
        };
        let ((one, fewer), (other, more)) = (of(counts[0])?, of(counts[1])?);
        Ok(Between { instructions: other - one, operations: (more - fewer).max(1.0) })
    }

    /// Instructions and operations of a run.
    fn counted(&self, words: &str) -> Result<(f64, f64), String> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        command.arg(&self.binary).args(words.split_whitespace());
        let output = command.output().map_err(|cause| cause.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        let count = said.lines().find_map(|line| line.split_once("refs:"));
        let digits: String =
            count.map(|(_, count)| count.replace([',', ' '], "")).unwrap_or_default();
        let instructions: f64 = digits.parse().map_err(|_| format!("`{words}`: {said}"))?;
        let runs: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|cause| cause.to_string())?;
        let kinds = ["page_reads", "page_programs", "block_erases"];
        let operations = kinds.map(|kind| runs[0][kind].as_f64().unwrap_or(0.0)).iter().sum();
        Ok((instructions, operations))
    }
}

pub(super) fn column(stack: &str) -> String {
    stack.rsplit('/').next().unwrap_or(stack).to_owned()
}

fn document(cells: &Cells, growth: &str) -> String {
    [OPENING, &table(cells, 1), EARLIER, growth].concat()
}

/// The rows of a table of cells, each with so many decimals.
pub(super) fn table(cells: &Cells, decimals: usize) -> String {
    let columns = MEDIA.iter().copied().chain(["flysch"]);
    let mut text = "| workload |".to_owned();
    for column in columns.clone() {
        write!(text, " {column} |").expect("a string takes what is written");
    }
    text.push_str("\n|---|--:|--:|--:|--:|--:|\n");
    for (workload, ..) in WORKLOADS {
        write!(text, "| `{workload}` |").expect("a string takes what is written");
        for column in columns.clone() {
            let cell = cells.get(&(workload.to_owned(), column.to_owned()));
            let shown = cell.map_or(String::new(), |each| format!("{each:.decimals$}"));
            write!(text, " {shown} |").expect("a string takes what is written");
        }
        text.push('\n');
    }
    text
}

/// The figures in a text that [`table`] wrote.
pub(super) fn figures(document: &str) -> Cells {
    let mut cells = BTreeMap::new();
    for line in document.lines() {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let of_line = WORKLOADS
            .iter()
            .find(|(name, ..)| parts.len() == MEDIA.len() + 4 && parts[1] == format!("`{name}`"));
        let Some((workload, ..)) = of_line else { continue };
        for (place, column) in MEDIA.iter().copied().chain(["flysch"]).enumerate() {
            if let Ok(each) = parts[place + 2].parse() {
                cells.insert(((*workload).to_owned(), column.to_owned()), each);
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let cell = |workload: &str, column: &str| (workload.to_owned(), column.to_owned());
        let cells = BTreeMap::from([
            (cell("insert", "jffs2"), 12.5),
            (cell("insert", "flysch"), 3.0),
            (cell("overwrite", "ftl"), 0.4),
        ]);
        assert_eq!(figures(&table(&cells, 1)), cells);
        assert_eq!(stacks("overwrite").len() + 1, stacks("insert").len());
    }
}
