//! The verdict: the distribution of the errors, and whether they are within the bands.

use serde::Serialize;

use super::cell::Cell;

/// The bands that docs/validation.md states. Errors are fractions of the kernel's counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bands {
    /// Largest allowed median error of page programs.
    pub program_median: f64,
    /// Largest allowed median error of page reads.
    pub read_median: f64,
    /// Largest allowed 95th percentile of both errors.
    pub percentile_95: f64,
}

/// The bands of the micro-benchmark.
pub const MICRO: Bands = Bands { program_median: 0.02, read_median: 0.03, percentile_95: 0.10 };
/// The largest error of any cell in the read-ahead grid.
pub const READ_AHEAD_MAX: f64 = 0.05;

/// The distribution of the errors of one count, without their signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The median error: half of the cells have less.
    pub median: f64,
    /// The 95th percentile: 95 of 100 cells have less.
    pub percentile_95: f64,
    pub max: f64,
}

impl Spread {
    /// The distribution of these errors, by nearest rank. All fields are zero if there are none.
    pub fn of(errors: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = errors.into_iter().map(f64::abs).collect();
        sorted.sort_by(f64::total_cmp);
        let rank = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100);
            sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Self { median: rank(50), percentile_95: rank(95), max: rank(100) }
    }
}

/// The distributions of the errors of a group of cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spreads {
    /// Name of the group.
    pub cells: String,
    /// Number of cells in the group.
    pub number: usize,
    /// Errors of page programs.
    pub programs: Spread,
    /// Errors of page reads.
    pub reads: Spread,
}

impl Spreads {
    /// The distributions of these cells' errors. The group is called `name`.
    pub fn of<'a>(name: &str, cells: impl IntoIterator<Item = &'a Cell>) -> Self {
        let errors = cells.into_iter().map(|cell| (cell.program_error, cell.read_error));
        let (programs, reads): (Vec<f64>, Vec<f64>) = errors.unzip();
        Self {
            cells: name.to_owned(),
            number: programs.len(),
            programs: Spread::of(programs),
            reads: Spread::of(reads),
        }
    }
}

/// The distributions for each file system and workload, then for all cells, then for the read-ahead
/// grid if there is one.
pub fn spreads(cells: &[Cell], reads: &[Cell]) -> Vec<Spreads> {
    let name = |cell: &Cell| format!("{} {}", cell.key.fs, cell.key.workload);
    let mut names: Vec<String> = cells.iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    let of_name =
        |wanted: &String| Spreads::of(wanted, cells.iter().filter(|cell| name(cell) == *wanted));
    let mut all: Vec<Spreads> = names.iter().map(of_name).collect();
    all.push(Spreads::of("micro-benchmark", cells));
    if !reads.is_empty() {
        all.push(Spreads::of("read-ahead grid", reads));
    }
    all
}

/// A message for each band of the micro-benchmark that the errors exceed. Empty if there is none.
pub fn beyond(cells: &[Cell], bands: &Bands) -> Vec<String> {
    let Spreads { reads, programs, .. } = Spreads::of("micro-benchmark", cells);
    let checks = [
        ("median error of page programs", programs.median, bands.program_median),
        ("median error of page reads", reads.median, bands.read_median),
        ("95th percentile of page programs", programs.percentile_95, bands.percentile_95),
        ("95th percentile of page reads", reads.percentile_95, bands.percentile_95),
    ];
    let beyond = checks.into_iter().filter(|(_, found, band)| found > band);
    beyond.map(|(what, found, band)| broken_band(what, found, band)).collect()
}

/// A message if the errors exceed the band of the read-ahead grid.
pub fn beyond_read_ahead(cells: &[Cell]) -> Vec<String> {
    let worst = Spreads::of("read-ahead grid", cells).reads.max;
    if worst > READ_AHEAD_MAX {
        return vec![broken_band("worst error of the read-ahead grid", worst, READ_AHEAD_MAX)];
    }
    Vec::new()
}

fn broken_band(what: &str, found: f64, band: f64) -> String {
    format!("{what}: {:.1} %, and {:.0} % are allowed", found * 100.0, band * 100.0)
}

/// The cells with the largest errors, the worst first.
pub fn worst(cells: &[Cell], count: usize) -> Vec<&Cell> {
    let mut sorted: Vec<&Cell> = cells.iter().collect();
    sorted.sort_by(|a, b| b.worst().total_cmp(&a.worst()));
    sorted.truncate(count);
    sorted
}

#[cfg(test)]
mod tests {
    use super::super::cell::{Counts, Key};
    use super::*;

    fn cell(kernel: f64, flysch: f64) -> Cell {
        let key = Key {
            fs: "jffs2".to_owned(),
            workload: "insert".to_owned(),
            record_size: 600,
            requests: 100,
            pattern: String::new(),
            read_ahead: "32".to_owned(),
        };
        let counts = |page_programs| Counts { page_programs, ..Counts::default() };
        Cell::new(key, counts(kernel), counts(flysch))
    }

    #[test]
    fn spreads_are_told_by_workload_and_of_all() {
        let other = |kernel, flysch| {
            let mut other = cell(kernel, flysch);
            other.key.workload = "update".to_owned();
            other
        };
        let cells = [cell(100.0, 90.0), cell(100.0, 100.0), other(100.0, 102.0)];
        let broken_band =
            |it: Spreads| format!("{} {} {:.2}", it.cells, it.number, it.programs.max);
        let found: Vec<String> = spreads(&cells, &[]).into_iter().map(broken_band).collect();
        let expected = ["jffs2 insert 2 0.10", "jffs2 update 1 0.02", "micro-benchmark 3 0.10"];
        assert_eq!(found, expected);
        assert_eq!(spreads(&cells, &cells[..1]).len(), 4);
    }

    #[test]
    fn bands_are_kept_or_named() {
        let sound: Vec<Cell> = (0..20).map(|_| cell(100.0, 101.0)).collect();
        assert!(beyond(&sound, &MICRO).is_empty());
        let mut one_off = sound.clone();
        one_off[7] = cell(100.0, 200.0);
        assert!(beyond(&one_off, &MICRO).is_empty(), "one in twenty may be off");
        one_off[8] = cell(100.0, 70.0);
        let lines = beyond(&one_off, &MICRO);
        assert_eq!(lines, ["95th percentile of page programs: 30.0 %, and 10 % are allowed"]);
        assert!((worst(&one_off, 1)[0].program_error - 1.0).abs() < 1e-9);
        let biased: Vec<Cell> = (0..20).map(|_| cell(100.0, 97.0)).collect();
        let lines = beyond(&biased, &MICRO);
        assert_eq!(lines, ["median error of page programs: 3.0 %, and 2 % are allowed"]);
    }
}
