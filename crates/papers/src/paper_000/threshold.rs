//! The flush threshold: how many bytes are inserted before SQLite writes to the database file
//! although there was no commit.

use flysch_charts::figure::{Figure, Panel, Scale, Series};
use flysch_charts::number::real;
use flysch_chip::EventKind;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Micro;

use super::sweep::{SIZES, scenario};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::{Cause, Evidence, Trial};

/// Bytes that each run inserts. They exceed the threshold of every record size.
const INSERTED: u32 = 2_200_000;
/// The paper's threshold in units of 2^20 bytes.
const PAPER_MB: f64 = 1.75;

/// Insert records and find the first request that programs a page.
pub(super) fn threshold(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let run = |size: u32| -> Result<Scenario, Cause> {
        let scenario = scenario(Micro::Insert, Stack::JFFS2, size, INSERTED / size)?;
        Ok(Scenario { keeps_trace: true, ..scenario })
    };
    let scenarios: Vec<Scenario> = SIZES.into_iter().map(run).collect::<Result<_, _>>()?;
    let runs = trial.run_all(&scenarios, 1)?;
    let claims = runs.iter().map(|run| {
        let mb = first_flush(run).map_or(f64::NAN, |request| mb(run, request));
        let text = format!("inserts of {} B are flushed before END after, MB", run.inputs.record_size);
        Claim {
            reason: "The cache is counted in pages of 1 KB, 2000 of them: of records that fill their \
                     page badly it holds less.",
            ..Claim::new("flush-threshold", text, Target::Value(PAPER_MB), mb, Band::COUNT)
        }
    });
    let line = |run: &Run| Series::line(format!("{} B", run.inputs.record_size), flushed(run));
    let figure = Figure {
        item: "flush-threshold",
        name: "flush-threshold".to_owned(),
        title: "Pages programmed while records are inserted on JFFS2, before END".to_owned(),
        caption: "SQLite keeps what is inserted until its cache is full.".to_owned(),
        panels: vec![Panel {
            title: "Programs before END".to_owned(),
            x: Scale::linear("inserted, MB"),
            y: Scale::linear("page programs so far"),
            series: runs.iter().map(line).collect(),
        }],
    };
    Ok(Evidence { claims: claims.collect(), figures: vec![figure], ..Evidence::default() })
}

fn mb(run: &Run, requests: u32) -> f64 {
    f64::from(requests) * f64::from(run.inputs.record_size) / 1_048_576.0
}

/// The first request during which a page of the partition was programmed.
fn first_flush(run: &Run) -> Option<u32> {
    let programs = programs_by_request(run);
    (1..).zip(programs).find(|&(_, count)| count > 0).map(|(request, _)| request)
}

/// Page programs of each request, without those of END.
fn programs_by_request(run: &Run) -> Vec<u64> {
    let mut programs = vec![0; run.inputs.requests as usize];
    let mut place: Option<usize> = None;
    let mut end_ns = u64::MAX;
    for event in &run.trace.events {
        if event.kind == EventKind::Mark {
            place = Some(event.addr as usize - 1);
            if event.addr == run.inputs.requests {
                let last = *run.request_ns.last().expect("there are requests");
                end_ns = event.time_ns + last;
            }
        }
        if let (EventKind::Program, Some(place)) = (event.kind, place)
            && event.time_ns < end_ns
        {
            programs[place] += 1;
        }
    }
    programs
}

/// Page programs so far over bytes inserted so far, at about a hundred points.
fn flushed(run: &Run) -> Vec<(f64, f64)> {
    let mut sum = 0;
    let sums = programs_by_request(run).into_iter().map(|count| {
        sum += count;
        sum
    });
    let step = (run.inputs.requests / 100).max(1) as usize;
    (1..).zip(sums).step_by(step).map(|(request, sum)| (mb(run, request), real(sum))).collect()
}
