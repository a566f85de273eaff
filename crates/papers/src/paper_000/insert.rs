//! Section V.B: throughput and operations of inserts, Figures 3 and 4.

use flysch_charts::statistics::{mean, share};
use flysch_lab::bench::run::Run;
use flysch_lab::machine::stack::Stack;
use flysch_lab::report::metrics::{
    ERASES_PER_KB, PROGRAMS, PROGRAMS_PER_KB, READS, READS_PER_KB, THROUGHPUT,
};

use super::chart::chart;
use super::sweep::{SIZES, STACKS, Sweep};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::Evidence;

/// Throughput of plain writes through the file system (Table I) in KB/s. Inserts are compared with
/// it.
const RAW_KB_S: f64 = 1.26e6 / 1024.0;

/// Figures 3 and 4 with their claims.
pub(super) fn figures(sweep: &Sweep) -> Evidence {
    let of_4 = |name, title, metric| chart(sweep, "figure-4", name, title, metric);
    let figures = vec![
        chart(sweep, "figure-3", "figure-3", "Figure 3: throughput of inserts", &THROUGHPUT),
        of_4("figure-4-reads", "Figure 4: reads of inserts", &READS_PER_KB),
        of_4("figure-4-writes", "Figure 4: writes of inserts", &PROGRAMS_PER_KB),
        of_4("figure-4-erases", "Figure 4: erases of inserts", &ERASES_PER_KB),
    ];
    let mut claims = throughput(sweep);
    claims.extend(operations(sweep));
    Evidence { claims, figures, ..Evidence::default() }
}

fn throughput(sweep: &Sweep) -> Vec<Claim> {
    let statement = |text: &str, target, measured| {
        Claim::new("figure-3", text, target, measured, Band::STATEMENT)
    };
    let fastest = sweep.all().iter().map(THROUGHPUT.of).fold(0.0, f64::max);
    let larger = sweep.ratios(THROUGHPUT.of, |run| run.inputs.record_size > 150);
    let small = sweep.ratios(THROUGHPUT.of, |run| run.inputs.record_size == 150);
    let mut claims = vec![
        statement(
            "inserts are far slower than plain writes: fastest over Table I's 1.26 MB/s",
            Target::AtMost(0.5),
            fastest / RAW_KB_S,
        ),
        statement(
            "UBIFS inserts faster than JFFS2 beyond 150 B: share of cases",
            Target::AtLeast(0.5),
            share(&larger, |&ratio| ratio < 1.0),
        ),
        Claim {
            reason: "The paper names it as the exception; here UBIFS programs less in every case.",
            ..statement(
                "of 150 B UBIFS is not the faster in most cases: share where JFFS2 is as fast",
                Target::AtLeast(0.5),
                share(&small, |&ratio| ratio >= 1.0),
            )
        },
    ];
    claims.extend(STACKS.map(|stack| {
        let of = |size| (THROUGHPUT.of)(sweep.last(stack, size));
        let text = format!(
            "{}: a large gap between small and large records: throughput of 600 B over 150 B",
            stack.main.name()
        );
        Claim::new("figure-3", text, Target::AtLeast(2.0), of(600) / of(150), Band::RATIO)
    }));
    claims
}

fn operations(sweep: &Sweep) -> Vec<Claim> {
    let statement = |text: &str, target, measured| {
        Claim::new("figure-4", text, target, measured, Band::STATEMENT)
    };
    let of = |stack: Stack, number: fn(&Run) -> f64| -> Vec<f64> {
        SIZES.into_iter().flat_map(|size| sweep.of(stack, size)).map(number).collect()
    };
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let (jffs2_reads, ubifs_reads) = (of(Stack::JFFS2, READS.of), of(Stack::UBIFS, READS.of));
    let grows = SIZES.map(|size| {
        let runs = sweep.of(Stack::JFFS2, size);
        let many = runs.iter().filter(|run| run.inputs.requests >= 2500).map(READS.of);
        let few = runs.iter().filter(|run| run.inputs.requests <= 1000).map(READS.of);
        mean(&many.collect::<Vec<_>>()) / mean(&few.collect::<Vec<_>>())
    });
    let is_interleaved = |run: &&Run| run.operations.page_reads > 0;
    let mixed: Vec<&Run> =
        SIZES.into_iter().flat_map(|size| sweep.of(Stack::JFFS2, size)).collect();
    let programs = sweep.ratios(PROGRAMS.of, |_| true);
    vec![
        statement(
            "JFFS2 programs more pages than UBIFS: share of cases",
            Target::AtLeast(1.0),
            share(&programs, |&ratio| ratio > 1.0),
        ),
        Claim {
            reason: "On 2.6.29 a sync of JFFS2 collects garbage into its write buffer; on a fresh \
                     partition there is hardly any to read.",
            ..statement(
                "JFFS2 reads more pages than UBIFS: share of cases",
                Target::AtLeast(0.5),
                share(&pairs(&jffs2_reads, &ubifs_reads), |(one, other)| one > other),
            )
        },
        statement(
            "UBIFS reads a small number of pages, whatever is inserted: most in a run",
            Target::AtMost(10.0),
            most(&ubifs_reads),
        ),
        Claim {
            reason: "The real kernel 6.1 reads 0 to 18 pages in these runs, whatever the volume. \
                     What the board read besides is not known.",
            ..statement(
                "JFFS2's reads follow the volume inserted: mean from 2500 requests on over mean up \
                 to 1000",
                Target::AtLeast(2.0),
                mean(&grows),
            )
        },
        statement(
            "JFFS2 reads and writes in turn while inserting: share of runs with reads among the \
             writes",
            Target::AtLeast(0.5),
            share(&mixed, is_interleaved),
        ),
        statement(
            "UBIFS only writes: page reads over page programs of all runs",
            Target::AtMost(0.05),
            ubifs_reads.iter().sum::<f64>() / of(Stack::UBIFS, PROGRAMS.of).iter().sum::<f64>(),
        ),
    ]
}

fn pairs(one: &[f64], other: &[f64]) -> Vec<(f64, f64)> {
    one.iter().copied().zip(other.iter().copied()).collect()
}
