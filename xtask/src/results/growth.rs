//! Whether what an operation costs the host grows with the length of a run.
//!
//! Each cell is measured at a tenth of the default number of requests and at ten times as many. It
//! has the cost of the work between two runs at either end. The count of operations follows from
//! what is simulated: a page cache that becomes warm makes fewer of them for a request, and a
//! device that fills makes more. So the cost of an operation and that of a request are compared,
//! and the cell has what grew less. What grows faster than the work grows by both.

use super::speed::{Between, Cells, column, figures, stacks, table};
use super::{Flysch, SPEED, read};
use crate::{Outcome, shell};
use rayon::prelude::*;
use std::fs;

/// The numbers of requests of the two runs at either end.
const SIZES: [[u32; 2]; 2] = [[100, 200], [5_000, 10_000]];

/// Workloads, each with further arguments, and by how much its numbers of requests are divided, as
/// some requests take long.
const WORKLOADS: [(&str, &str, u32); 12] = [
    ("insert", "", 1),
    ("select", "--fill 10000", 1),
    ("join", "--fill 10000", 1),
    ("update", "--fill 10000", 1),
    ("commit", "--fill 10000", 1),
    ("contacts", "", 1),
    ("logger", "--fill 10000", 1),
    ("mount", "--fill 10000", 4),
    ("tpcc", "--scale-divisor 20", 4),
    ("read", "", 1),
    ("postmark", "", 1),
    ("overwrite", "--partition-blocks 128", 20),
];

/// By how much a cell may grow.
const GROWTH_MAX: f64 = 1.3;
/// How many cells a check counts again.
const CHECKED: usize = 2;

const HEADING: &str = "\n## Growth with the length of a run\n";
const OPENING: &str = "
How many times as many instructions an operation costs at ten times the default number of requests
as at a tenth of it: from 5,000 to 10,000 requests, and from 100 to 200. A cell has the growth of an
operation of the chip or of a request, whichever is less; above 1.3 something grows faster than the
work. `cargo xtask growth` counts all cells in half an hour, and `cargo xtask results --check` two
of them, which the last commit draws. `mount` and `tpcc` have a quarter of the requests, and TPC-C a
twentieth of its scale. `overwrite`, a request of which writes half of a partition, has a twentieth
of the requests, on 128 blocks. An empty cell was not counted, or its short runs tell nothing.

";

/// A document of speed, before the section of growth and from it on.
pub(super) fn parted(document: &str) -> (&str, &str) {
    document.split_at(document.find(HEADING).unwrap_or(document.len()))
}

/// Count all cells, and write them into the document.
pub(crate) fn run() -> Outcome {
    if !shell::is_installed("valgrind") {
        return Err("valgrind is not there to count instructions: apt-get install valgrind".into());
    }
    let flysch = Flysch { binary: shell::release_binary()? };
    let cells = cells();
    let measure = |cell: &Cell| {
        let growth = flysch.growth(cell)?;
        println!("{} on {}: {growth:.2}", cell.workload, cell.stack);
        Ok((cell.name(), growth))
    };
    let mut grown: Cells = cells.par_iter().map(measure).collect::<Result<_, String>>()?;
    // A short run of TPC-C may cost less than a shorter one, by the work that is shared.
    grown.retain(|_, growth| *growth > 0.0);
    let document = read(SPEED)?;
    let (before, _) = parted(&document);
    let section = [HEADING, OPENING, &table(&grown, 2)].concat();
    fs::write(shell::root().join(SPEED), before.to_owned() + &section)?;
    println!("{SPEED}: written");
    Ok(())
}

/// Count some cells of the committed section again. One that grows too much is an error, unless the
/// section says that it does.
pub(super) fn check(flysch: &Flysch, section: &str) -> Outcome {
    if !shell::is_installed("valgrind") {
        return Ok(());
    }
    let known = figures(section);
    let mut head = std::process::Command::new("git");
    // Where there is no repository, each check counts the same cells.
    let seed = shell::output(head.args(["rev-parse", "HEAD"])).unwrap_or_default();
    let mut drawn: Vec<Cell> = cells().into_iter().filter(Cell::is_short).collect();
    drawn.sort_by_key(|cell| mixed(&[&seed, cell.workload, &cell.stack].concat()));
    drawn.truncate(CHECKED);
    let grows = |cell: &Cell| -> Result<(), String> {
        let growth = flysch.growth(cell)?;
        println!("{} on {} grows {growth:.2} times", cell.workload, cell.stack);
        let limit = known.get(&cell.name()).copied().unwrap_or(0.0).max(GROWTH_MAX);
        let is_known = growth <= limit * 1.1;
        is_known.then_some(()).ok_or_else(|| {
            format!("{} on {} grows {growth:.2} times, for {limit:.2}", cell.workload, cell.stack)
        })
    };
    drawn.par_iter().map(grows).collect::<Result<(), String>>()?;
    Ok(())
}

/// A workload on a stack.
struct Cell {
    workload: &'static str,
    more: &'static str,
    divisor: u32,
    stack: String,
}

fn cells() -> Vec<Cell> {
    let of = |(workload, more, divisor): (&'static str, &'static str, u32)| {
        stacks(workload).into_iter().map(move |stack| Cell { workload, more, divisor, stack })
    };
    WORKLOADS.into_iter().flat_map(of).collect()
}

impl Cell {
    fn name(&self) -> (String, String) {
        (self.workload.to_owned(), column(&self.stack))
    }

    /// Whether a check has the time for it: others take minutes.
    fn is_short(&self) -> bool {
        !["mount", "tpcc", "overwrite", "logger"].contains(&self.workload)
    }
}

impl Flysch {
    /// How many times as much an operation or a request costs in long runs as in short ones.
    fn growth(&self, cell: &Cell) -> Result<f64, String> {
        let [short, long] = SIZES.map(|sizes| self.costs(cell, sizes));
        let (short, long) = (short?, long?);
        Ok((long.0 / short.0).min(long.1 / short.1))
    }

    /// Instructions for each operation of the chip, and for each request.
    fn costs(&self, cell: &Cell, sizes: [u32; 2]) -> Result<(f64, f64), String> {
        let sizes = sizes.map(|requests| requests / cell.divisor);
        let Between { instructions, operations } =
            self.between(cell.workload, &cell.stack, sizes, cell.more)?;
        Ok((instructions / operations, instructions / f64::from(sizes[1] - sizes[0])))
    }
}

/// A number that looks like chance, of a text.
fn mixed(text: &str) -> u64 {
    text.bytes().fold(0, |sum, byte| {
        let sum = (sum ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum ^ sum >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_on_each_stack_is_a_cell_and_is_found_again() {
        let cells = cells();
        assert_eq!(cells.len(), 57);
        let grown: Cells = cells.iter().map(|cell| (cell.name(), 1.25)).collect();
        let document = ["before\n", HEADING, OPENING, &table(&grown, 2)].concat();
        let (before, section) = parted(&document);
        assert_eq!((before, figures(section)), ("before\n", grown));
        assert_eq!(parted("no section"), ("no section", ""));
    }
}
