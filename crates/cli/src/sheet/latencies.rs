//! The response time of every request of some runs, as CSV: a line for each, with the parameters
//! that tell its run from the others.

use std::fmt::Write;

use flysch_lab::bench::run::Run;

use super::{Sheet, text};
use crate::output;

/// The parameters that are always there.
const ASKED: [&str; 6] = ["workload", "on", "platform", "record_size", "requests", "seed"];

impl Sheet {
    /// The response times of the runs that are the rows of this sheet. As in the paper's tables,
    /// request 0 is BEGIN and the last one is END.
    pub(crate) fn latencies(&self, runs: &[Run]) -> String {
        let mut names: Vec<String> = ASKED.map(str::to_owned).to_vec();
        names.extend(self.varying().into_iter().filter(|name| !ASKED.contains(&name.as_str())));
        let mut lines = format!("{},request,response_ns\n", line(&names));
        for (row, run) in self.rows.iter().zip(runs) {
            let cells: Vec<String> = names.iter().map(|name| text(row, name)).collect();
            let one = line(&cells);
            let begin_and_rest = std::iter::once(&run.begin_ns).chain(&run.request_ns);
            for (number, ns) in begin_and_rest.chain([&run.end_ns]).enumerate() {
                writeln!(lines, "{one},{number},{ns}").expect("a string takes what is written");
            }
        }
        lines
    }
}

fn line(cells: &[String]) -> String {
    String::from_utf8_lossy(&output::csv(cells, &[])).trim_end().to_owned()
}
