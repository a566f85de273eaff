//! The verdict: the distribution of the errors, and whether they are within the bands.

use serde::Serialize;

use super::cell::{Cell, Group, Key};

/// The bands that docs/validation.md states. Errors are fractions of the kernel's counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bands {
    /// Largest allowed median error of page programs.
    pub program_median: f64,
    /// Largest allowed median error of page reads.
    pub read_median: f64,
    /// Largest allowed 95th percentile of the errors of page programs.
    pub program_95: f64,
    /// Largest allowed 95th percentile of the errors of page reads.
    pub read_95: f64,
}

/// The bands of the micro-benchmark.
pub const MICRO: Bands =
    Bands { program_median: 0.02, read_median: 0.03, program_95: 0.10, read_95: 0.10 };
/// The largest error of any cell in the read-ahead grid.
pub const READ_AHEAD_MAX: f64 = 0.05;
/// The bands of what users run.
pub const WORKLOADS: Bands =
    Bands { program_median: 0.0005, read_median: 0.005, program_95: 0.03, read_95: 0.05 };
/// Largest allowed 95th percentile of the errors of erases: 10 %, and one erase where there are
/// few.
pub const ERASES_95: f64 = 0.10;
/// How far a single cell of what users run may be off: a share, or some operations.
const WORST: f64 = 0.15;
const WORST_OPERATIONS: f64 = 3.0;

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
    /// Errors of block erases.
    pub erases: Spread,
    /// Errors of the time of the measured interval. Zero where no times were recorded.
    pub times: Spread,
    /// Mean error of that time with its sign: what all cells have in common.
    pub time_bias: f64,
    /// Errors of the median response time of a request. Zero where no times were recorded.
    pub medians: Spread,
    /// Errors of the 99th percentile of the response times.
    pub percentiles_99: Spread,
}

impl Spreads {
    /// The distributions of these cells' errors. The group is called `name`.
    pub fn of<'a>(name: &str, cells: impl IntoIterator<Item = &'a Cell>) -> Self {
        let cells: Vec<&Cell> = cells.into_iter().filter(|cell| cell.is_whole()).collect();
        let of = |error: fn(&Cell) -> f64| Spread::of(cells.iter().map(|cell| error(cell)));
        let times = |error: fn(&Cell) -> Option<f64>| {
            Spread::of(cells.iter().filter_map(|cell| error(cell)))
        };
        Self {
            cells: name.to_owned(),
            number: cells.len(),
            programs: of(|cell| cell.program_error),
            reads: of(|cell| cell.read_error),
            erases: of(|cell| cell.erase_error),
            times: times(|cell| cell.time_error),
            time_bias: mean(cells.iter().filter_map(|cell| cell.time_error)),
            medians: times(|cell| cell.median_error),
            percentiles_99: times(|cell| cell.percentile_99_error),
        }
    }
}

/// The mean. 0 of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (number, sum) = values.fold((0.0, 0.0), |(number, sum), it| (number + 1.0, sum + it));
    if number > 0.0 { sum / number } else { 0.0 }
}

/// The distributions for each file system and workload of a group, then for the whole group. A
/// group of one workload has one.
pub fn spreads(name: &str, cells: &[Cell]) -> Vec<Spreads> {
    if cells.is_empty() {
        return Vec::new();
    }
    let of = |cell: &Cell| format!("{} {}", cell.key.fs, cell.key.workload);
    let mut names: Vec<String> = cells.iter().map(of).collect();
    names.sort_unstable();
    names.dedup();
    let of_name =
        |wanted: &String| Spreads::of(wanted, cells.iter().filter(|cell| of(cell) == *wanted));
    let parts = if names.len() > 1 { names.as_slice() } else { &[] };
    let mut all: Vec<Spreads> = parts.iter().map(of_name).collect();
    all.push(Spreads::of(name, cells));
    all
}

/// All cells of a comparison, by group.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// The cells of the micro-benchmark.
    pub micro: Vec<Cell>,
    /// The cells of the read-ahead grid.
    pub reads: Vec<Cell>,
    /// The cells of what users run, fixed and drawn.
    pub workloads: Vec<Cell>,
}

impl Compared {
    /// The cells in their groups.
    pub fn of(cells: impl IntoIterator<Item = Cell>) -> Self {
        let mut compared = Self::default();
        for cell in cells {
            match cell.key.group() {
                Group::Micro => compared.micro.push(cell),
                Group::Reads => compared.reads.push(cell),
                Group::Workloads => compared.workloads.push(cell),
            }
        }
        compared
    }

    /// The groups with their names.
    pub fn groups(&self) -> [(&'static str, &[Cell]); 3] {
        [
            ("micro-benchmark", self.micro.as_slice()),
            ("read-ahead grid", self.reads.as_slice()),
            ("workloads", self.workloads.as_slice()),
        ]
    }

    /// All cells, group after group.
    pub fn cells(&self) -> Vec<Cell> {
        self.groups().into_iter().flat_map(|(_, cells)| cells.iter().cloned()).collect()
    }

    /// The distributions of all groups.
    pub fn spreads(&self) -> Vec<Spreads> {
        self.groups().into_iter().flat_map(|(name, cells)| spreads(name, cells)).collect()
    }

    /// A message for each band that the errors exceed. Empty if there is none.
    pub fn beyond(&self) -> Vec<String> {
        let groups = [
            beyond(&self.micro, &MICRO),
            beyond_read_ahead(&self.reads),
            beyond_workloads(&self.workloads),
        ];
        groups.concat()
    }
}

/// A message for each band of the micro-benchmark that the errors exceed. Empty if there is none.
fn beyond(cells: &[Cell], bands: &Bands) -> Vec<String> {
    let Spreads { reads, programs, .. } = Spreads::of("micro-benchmark", cells);
    let checks = [
        ("median error of page programs", programs.median, bands.program_median),
        ("median error of page reads", reads.median, bands.read_median),
        ("95th percentile of page programs", programs.percentile_95, bands.program_95),
        ("95th percentile of page reads", reads.percentile_95, bands.read_95),
    ];
    let beyond = checks.into_iter().filter(|(_, found, band)| found > band);
    beyond.map(|(what, found, band)| broken_band(what, found, band)).collect()
}

/// A message if the errors exceed the band of the read-ahead grid.
fn beyond_read_ahead(cells: &[Cell]) -> Vec<String> {
    let worst = Spreads::of("read-ahead grid", cells).reads.max;
    if worst > READ_AHEAD_MAX {
        return vec![broken_band("worst error of the read-ahead grid", worst, READ_AHEAD_MAX)];
    }
    Vec::new()
}

/// A message for each band of the workloads that the errors exceed, and for each cell that ended on
/// one side alone.
fn beyond_workloads(cells: &[Cell]) -> Vec<String> {
    let of = |line: String| format!("workloads: {line}");
    let mut all: Vec<String> = beyond(cells, &WORKLOADS).into_iter().map(of).collect();
    let (whole, ended): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|cell| cell.is_whole());
    let erases = Spread::of(whole.iter().map(|cell| cell.erase_error)).percentile_95;
    if erases > ERASES_95 {
        all.push(of(broken_band("95th percentile of block erases", erases, ERASES_95)));
    }
    all.extend(whole.into_iter().filter(|cell| is_far(cell)).map(|cell| {
        let error = cell.worst() * 100.0;
        format!("{}: {error:.1} %, and 15 % or 3 operations are allowed", title(&cell.key))
    }));
    let on_one = ended
        .into_iter()
        .filter(|cell| cell.kernel.stopped_at.is_some() != cell.flysch.stopped_at.is_some());
    all.extend(on_one.map(|cell| format!("{}: ends early on one side alone", title(&cell.key))));
    all
}

/// Whether reads or programs of a cell are beyond the band of single cells. Where seeds scatter, a
/// cell in which the ranges of both sides meet is not.
fn is_far(cell: &Cell) -> bool {
    let far =
        |kernel: f64, flysch: f64| (flysch - kernel).abs() > (kernel * WORST).max(WORST_OPERATIONS);
    let (kernel, flysch) = (cell.kernel, cell.flysch);
    !cell.meets
        && (far(kernel.page_reads, flysch.page_reads)
            || far(kernel.page_programs, flysch.page_programs))
}

/// A cell in a few words.
pub fn title(key: &Key) -> String {
    let Key { fs, workload, record_size, requests, options, .. } = key;
    if options.is_empty() {
        return format!("{fs} {workload} {record_size} B x {requests}");
    }
    format!("{fs} {workload} {options}")
}

fn broken_band(what: &str, found: f64, band: f64) -> String {
    let band = (band * 1000.0).round() / 10.0;
    format!("{what}: {:.1} %, and {band} % are allowed", found * 100.0)
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
            options: String::new(),
        };
        let counts = |page_programs| Counts { page_programs, ..Counts::default() };
        Cell::new(key, &counts(kernel).into(), &counts(flysch).into())
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
        let found: Vec<String> =
            spreads("micro-benchmark", &cells).into_iter().map(broken_band).collect();
        let expected = ["jffs2 insert 2 0.10", "jffs2 update 1 0.02", "micro-benchmark 3 0.10"];
        assert_eq!(found, expected);
        assert!(spreads("read-ahead grid", &[]).is_empty());
        let all =
            Compared { micro: cells.to_vec(), workloads: cells.to_vec(), ..Compared::default() };
        assert_eq!((all.spreads().len(), all.cells().len()), (6, 6));
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

    #[test]
    fn each_workload_beyond_its_band_is_named() {
        let sound: Vec<Cell> = (0..40).map(|_| cell(100.0, 100.0)).collect();
        assert!(beyond_workloads(&sound).is_empty());
        let with = |change: fn(&mut Cell)| {
            let mut cells = sound.clone();
            change(&mut cells[3]);
            beyond_workloads(&cells)
        };
        let far = with(|it| *it = cell(100.0, 116.0));
        assert_eq!(far, ["jffs2 insert 600 B x 100: 16.0 %, and 15 % or 3 operations are allowed"]);
        assert!(with(|it| *it = cell(100.0, 114.0)).is_empty());
        assert!(with(|it| *it = cell(5.0, 8.0)).is_empty(), "three operations");
        let meets = with(|it| *it = Cell { meets: true, ..cell(100.0, 120.0) });
        assert!(meets.is_empty(), "the kernel scatters as far");
        let full = with(|it| it.kernel.stopped_at = Some(7.0));
        assert_eq!(full, ["jffs2 insert 600 B x 100: ends early on one side alone"]);
        let mut erases = sound.clone();
        erases[..3].iter_mut().for_each(|it| it.erase_error = 0.2);
        let line = "workloads: 95th percentile of block erases: 20.0 %, and 10 % are allowed";
        assert_eq!(beyond_workloads(&erases), [line]);
    }
}
