//! Reference counts of the micro-benchmark: `kernel-6.1-bench.csv`.
//!
//! Updates on JFFS2 are compared with the mean of three seeds: the kernel's garbage collector picks
//! random blocks, so its counts vary. Reads of inserts on JFFS2 have no band, because the kernel
//! reads up to 18 pages by chance.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::band::Band;
use super::error::ReferenceError;
use super::{Count, Expected, Row, grid, lines};
use crate::bench::grid::ReadAheadOption;
use crate::bench::scenario::Scenario;
use crate::machine::platform::ecc_mode;
use crate::machine::stack::Stack;
use crate::workload::{Alphabet, Workload};

/// A line of the file.
#[derive(Clone, Debug, Deserialize)]
struct Line {
    fs: String,
    op: String,
    record_size: u32,
    requests: u32,
    page_reads: f64,
    page_programs: f64,
    block_erases: f64,
    variant: String,
}

/// The rows of the file.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, ReferenceError> {
    lines::<Line>(text)?.iter().map(Line::row).collect()
}

impl Line {
    fn row(&self) -> Result<Row, ReferenceError> {
        let labels = BTreeMap::from([
            ("fs", self.fs.clone()),
            ("operation", self.op.clone()),
            ("record_size", self.record_size.to_string()),
            ("requests", self.requests.to_string()),
            ("variant", self.variant.clone()),
        ]);
        Ok(Row { labels, scenarios: self.scenarios()?, counts: self.counts() })
    }

    fn scenarios(&self) -> Result<Vec<Scenario>, ReferenceError> {
        let unknown = ReferenceError::unknown;
        let workload: Workload = self.op.parse().map_err(|_| unknown("operation", &self.op))?;
        let stack = format!("sqlite/{}", self.fs).parse::<Stack>();
        let mut grid = grid(workload, stack.map_err(|_| unknown("file system", &self.fs))?);
        grid.axes.record_sizes = vec![self.record_size];
        grid.axes.requests = vec![self.requests];
        grid.axes.seeds = if self.is_update_on_jffs2() { vec![1, 2, 3] } else { vec![1] };
        match self.variant.as_str() {
            "main" | "yaffs2" => (),
            "ra0" => grid.axes.read_ahead = vec![ReadAheadOption::Off],
            "compr_none" => grid.axes.compressions = vec!["none".parse().expect("it is known")],
            "alpha" => grid.axes.alphabets = vec![Alphabet::Base64],
            "page4096" => grid.axes.page_sizes = vec![4096],
            "soft_ecc_subpage_reads" => grid.axes.ecc = ecc_mode("soft").into_iter().collect(),
            other => return Err(unknown("variant", other)),
        }
        Ok(grid.scenarios())
    }

    /// The counts, each with its band. Erases may differ by 3 or by 30 %, whichever is more.
    fn counts(&self) -> Vec<Expected> {
        let erases = Band::Near { percent: 0.0, slack: f64::max(3.0, self.block_erases * 0.3) };
        [
            (Count::PageReads, self.page_reads, self.read_band()),
            (Count::PagePrograms, self.page_programs, Some(self.program_band())),
            (Count::BlockErases, self.block_erases, Some(erases)),
        ]
        .map(|(count, kernel, band)| Expected { count, kernel, band })
        .to_vec()
    }

    fn program_band(&self) -> Band {
        let percent = match (self.fs.as_str(), self.op.as_str(), self.is_variant()) {
            ("yaffs2", ..) | ("jffs2", _, true) | ("jffs2", "update", false) => 10.0,
            ("ubifs", "update", _) => 5.0,
            _ => 3.0,
        };
        Band::Near { percent, slack: 0.0 }
    }

    fn read_band(&self) -> Option<Band> {
        let (percent, slack) = match (self.fs.as_str(), self.op.as_str(), self.is_variant()) {
            ("ubifs", ..) => (5.0, 5.0),
            ("yaffs2", ..) => (5.0, 8.0),
            (_, "insert", _) => return None,
            (_, "update", false) => (15.0, 0.0),
            (_, "update", true) => (10.0, 0.0),
            (_, _, true) => (10.0, 3.0),
            (_, _, false) => (5.0, 3.0),
        };
        Some(Band::Near { percent, slack })
    }

    fn is_variant(&self) -> bool {
        !matches!(self.variant.as_str(), "main" | "yaffs2")
    }

    fn is_update_on_jffs2(&self) -> bool {
        self.op == "update" && self.fs == "jffs2"
    }
}

#[cfg(test)]
mod tests {
    use super::super::band::Compared;
    use super::*;

    #[test]
    fn bands_are_those_promised() {
        let line = |op: &str, variant: &str| Line {
            fs: "jffs2".to_owned(),
            op: op.to_owned(),
            record_size: 600,
            requests: 1000,
            page_reads: 100.0,
            page_programs: 1000.0,
            block_erases: 20.0,
            variant: variant.to_owned(),
        };
        let cases = [
            ("insert", "main", [None, Some(1030.0), Some(26.0)]),
            ("insert", "alpha", [None, Some(1100.0), Some(14.0)]),
            ("select", "main", [Some(108.0), Some(970.0), Some(26.0)]),
            ("join", "ra0", [Some(113.0), Some(1100.0), Some(26.0)]),
            ("update", "main", [Some(115.0), Some(1100.0), Some(26.0)]),
            ("update", "page4096", [Some(110.0), Some(900.0), Some(26.0)]),
        ];
        for (op, variant, edges) in cases {
            let row = line(op, variant).row().unwrap();
            assert_eq!(row.scenarios.len(), if op == "update" { 3 } else { 1 });
            for (expected, edge) in row.counts.iter().zip(edges) {
                assert_eq!(expected.band.is_some(), edge.is_some(), "{op} {variant}");
                let Some(edge) = edge else { continue };
                let beyond = edge + (edge - expected.kernel).signum();
                for (count, within) in [(edge, true), (beyond, false)] {
                    let found = Compared::new(expected.kernel, &[count], expected.band);
                    assert_eq!(found.within, within, "{op} {variant} {:?}", expected.count);
                }
            }
        }
        assert!(line("insert", "ra9").row().is_err());
    }
}
