//! `flysch vm validate --against`: compares two tables of the kernel's counts, and so shows how far
//! the kernel is from itself.

use std::collections::BTreeMap;
use std::path::Path;

use flysch_kernel::validate::cell::{Cell, Counts, Group, Key, Sample};
use flysch_kernel::validate::verdict::title;
use serde::Serialize;

use super::kept;
use crate::failure::Failure;

/// The columns of the table and of CSV, behind those that tell what a cell is.
pub(super) const COLUMNS: [&str; 12] = [
    "kernel.page_reads",
    "again.page_reads",
    "read_error",
    "kernel.page_programs",
    "again.page_programs",
    "program_error",
    "kernel.block_erases",
    "again.block_erases",
    "erase_error",
    "kernel.stopped_at",
    "again.stopped_at",
    "meets",
];

/// A cell with the counts of both tables.
#[derive(Serialize)]
pub(super) struct Pair<'a> {
    #[serde(flatten)]
    key: &'a Key,
    kernel: Counts,
    again: Counts,
    read_error: f64,
    program_error: f64,
    erase_error: f64,
    meets: bool,
}

impl<'a> From<&'a Cell> for Pair<'a> {
    fn from(cell: &'a Cell) -> Self {
        Self {
            key: &cell.key,
            kernel: cell.kernel,
            again: cell.flysch,
            read_error: cell.read_error,
            program_error: cell.program_error,
            erase_error: cell.erase_error,
            meets: cell.meets,
        }
    }
}

/// The cells of `first`, in its order, with the counts of `second` in the place of the simulator's.
/// Only cells of the groups that `is_asked` names are compared. Each must be in both tables.
pub(super) fn pairs(
    first: &Path,
    second: &Path,
    is_asked: impl Fn(Group) -> bool,
) -> Result<Vec<Cell>, Failure> {
    let read = |path: &Path| -> Result<Vec<(Key, Sample)>, Failure> {
        let mut rows = kept::read(path)?;
        rows.retain(|(key, _)| is_asked(key.group()));
        Ok(rows)
    };
    let rows = read(first)?;
    let mut again = BTreeMap::new();
    for (key, sample) in read(second)? {
        if let Some((earlier, _)) = again.insert(run_of(&key), (key, sample)) {
            return Err(Failure::of_file(
                second,
                format_args!("has the cell {} twice, with other seeds", title(&earlier)),
            ));
        }
    }
    let lacks = |path: &Path, key: &Key| {
        Failure::of_file(path, format_args!("lacks the cell {}", title(key)))
    };
    let pair = |(key, sample): (Key, Sample)| {
        let found = again.remove(&run_of(&key));
        let (_, other) = found.ok_or_else(|| lacks(second, &key))?;
        Ok(Cell::new(key, &sample, &other))
    };
    let cells = rows.into_iter().map(pair).collect::<Result<Vec<Cell>, Failure>>()?;
    if let Some((key, _)) = again.values().next() {
        return Err(lacks(first, key));
    }
    if cells.is_empty() {
        return Err(Failure::of_file(first, "has no cell of the groups that are compared"));
    }
    Ok(cells)
}

/// What a cell runs, whatever its seeds are: the same workload with other seeds is a repetition,
/// too.
fn run_of(key: &Key) -> Key {
    let mut words = key.options.split_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "--seed" {
            words.next();
        } else {
            kept.push(word);
        }
    }
    Key { options: kept.join(" "), ..key.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_same_with_other_seeds() {
        let run = |options: &str| {
            let options = options.to_owned();
            run_of(&Key {
                fs: "jffs2".to_owned(),
                workload: "update".to_owned(),
                record_size: 0,
                requests: 0,
                pattern: String::new(),
                read_ahead: String::new(),
                options,
            })
        };
        assert_eq!(run("--fill 9 --seed 1,2,3 --requests 4"), run("--fill 9 --requests 4"));
        assert_eq!(run("--fill 9 --seed 4,5,6"), run("--fill 9 --seed 1"));
        assert_ne!(run("--fill 9 --seed 4"), run("--fill 4 --seed 4"));
    }
}
