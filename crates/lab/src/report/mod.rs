//! The report: one HTML file that shows what runs cost, in sentences, tables and charts.
//!
//! `metrics`, `cases` and `peaks` choose what to show. `tree` shows the causes of operations. Each
//! other module is a section of the page. The charts are those of [`flysch_charts`].
//!
//! Invariants:
//! 1. The same runs give the same bytes.
//! 2. The page loads nothing from the network. Every name in it is escaped.
//! 3. Every number comes from the runs. A number that a run does not have is left out.

#![expect(
    clippy::format_push_string,
    reason = "pages are put together from pieces; `write!` to a String adds a Result to ignore"
)]

mod answers;
mod cases;
mod causes;
mod compare;
mod growth;
mod headline;
mod indexes;
mod latency;
pub mod metrics;
pub mod peaks;
mod tree;
mod wear;

use cases::Cases;
pub use indexes::indexes;

use flysch_charts::page::{Section, page};

use crate::bench::life::Rate;
use crate::bench::run::Run;

/// Write the report of these runs: of one run, a comparison of stacks, or a sweep over requests and
/// record sizes. Which charts it has depends on what varies. Lives are those at `rate`.
pub fn html(title: &str, subtitle: &str, rate: Rate, runs: &[Run]) -> String {
    let cases = Cases::of(runs);
    let mut sections = vec![Section {
        id: "summary",
        title: "Summary",
        lead: "",
        html: answers::answers(&cases, rate)
            + &headline::summary(&cases)
            + &headline::facts(&cases),
    }];
    if cases.is_sweep() {
        sections.push(Section {
            id: "requests",
            title: "Against the number of requests",
            lead: "A chart for each record size, all of a row on one scale; a line for each \
                   stack. Operations are those of the chip for each KB of record data.",
            html: growth::growth(&cases),
        });
    }
    sections.push(Section {
        id: "side-by-side",
        title: "Side by side",
        lead: "Time and operations of the chip, by workload and stack.",
        html: compare::compare(&cases),
    });
    sections.extend(details(&cases));
    page(title, subtitle, &sections)
}

/// The sections about single runs, and the section about how they were measured.
fn details(cases: &Cases<'_>) -> [Section<'static>; 4] {
    [
        Section {
            id: "requests-one-by-one",
            title: "Response time of each request",
            lead: "A point for each request, the highest labelled with their number. Where there \
                   are more points than pixels, the least and the greatest of neighbours are \
                   drawn.",
            html: latency::latency(cases),
        },
        Section {
            id: "wear",
            title: "Wear by block",
            lead: "A cell for each block of the partition, in reading order from its first. Programs and \
                   erases are those of the interval; numbers equal on every block are not drawn.",
            html: wear::wear(cases),
        },
        Section {
            id: "causes",
            title: "Cost by cause",
            lead: "What was being done when the chip was asked, from the statement down. \
                   Percentages are of the whole run.",
            html: causes::causes(cases),
        },
        Section {
            id: "method",
            title: "How it was measured",
            lead: "",
            html: include_str!("method.html").to_owned(),
        },
    ]
}

#[cfg(test)]
mod tests;
