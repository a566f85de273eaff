//! Figure 2: pauses between reads hide nothing, because the driver waits for the chip.

use flysch_charts::figure::{Figure, Panel, Scale, Series};
use flysch_lab::workload::Read;

use super::board::{FILE_SYSTEMS, READ_STEPS, carry_out, greatest, least, reads};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::{Cause, Evidence, Trial};

/// Pauses in microseconds: none, then from less than the read of a page to more than that of a
/// window.
pub(super) const PAUSES_US: [u32; 6] = [0, 100, 500, 1000, 5000, 20_000];
const REQUESTS: u32 = 256;

pub(super) fn figure_2(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut evidence = Evidence::default();
    let mut series = Vec::new();
    for main in FILE_SYSTEMS {
        let grid = |inter_arrival_us| {
            let mut grid = reads(Read { inter_arrival_us, ..Read::DEFAULT }, main)?;
            grid.axes.requests = vec![REQUESTS];
            Ok(grid)
        };
        let grids = PAUSES_US.into_iter().map(grid).collect::<Result<Vec<_>, Cause>>()?;
        let runs = carry_out(trial, &grids, READ_STEPS)?.concat();
        let us: Vec<f64> = runs.iter().map(|run| run.figures["mean_request_us"]).collect();
        let points = PAUSES_US.into_iter().map(f64::from).zip(us.iter().copied()).collect();
        evidence.claims.push(Claim::new(
            "figure-2",
            format!("{}: slowest mean latency over fastest, any pause", main.name()),
            Target::Value(1.0),
            greatest(&us) / least(&us),
            Band::RATIO,
        ));
        series.push(Series::line(main.name(), points));
    }
    evidence.figures.push(Figure {
        item: "figure-2",
        name: "figure-2".to_owned(),
        title: "Mean latency of sequential reads, by the pause before each".to_owned(),
        caption: format!("{REQUESTS} reads of 4 KiB of a file of 5 MiB, with read-ahead."),
        panels: vec![Panel {
            title: "Read-ahead on".to_owned(),
            x: Scale::linear("inter-arrival time, \u{b5}s"),
            y: Scale::linear("mean latency, \u{b5}s"),
            series,
        }],
    });
    Ok(evidence)
}
