//! Section V.E: throughput and operations of updates, Figures 9 and 10.

use flysch_charts::number::real_len;
use flysch_charts::statistics::{mean, roughness, share};
use flysch_lab::bench::run::Run;
use flysch_lab::machine::stack::Stack;
use flysch_lab::report::metrics::{
    ERASES, ERASES_PER_KB, PROGRAMS, PROGRAMS_PER_KB, READS, READS_PER_KB, THROUGHPUT,
};

use super::chart::chart;
use super::sweep::{SIZES, STACKS, Sweep};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::Evidence;

/// Pages in a block of the paper's chip.
const PAGES_PER_BLOCK: f64 = 64.0;
/// Why there are fewer erases than in the paper.
const FEW_ERASES: &str = "Neither the real kernel 6.1 (0.012) nor this model erases as often on a clean \
    partition; the board's state was likely not as clean as the paper says.";

/// Figures 9 and 10 with their claims.
pub(super) fn figures(sweep: &Sweep) -> Evidence {
    let of_10 = |name, title, metric| chart(sweep, "figure-10", name, title, metric);
    let figures = vec![
        chart(sweep, "figure-9", "figure-9", "Figure 9: throughput of updates", &THROUGHPUT),
        of_10("figure-10-reads", "Figure 10: reads of updates", &READS_PER_KB),
        of_10("figure-10-writes", "Figure 10: writes of updates", &PROGRAMS_PER_KB),
        of_10("figure-10-erases", "Figure 10: erases of updates", &ERASES_PER_KB),
    ];
    let mut claims = throughput(sweep);
    claims.extend(operations(sweep));
    claims.extend(erases(sweep));
    Evidence { claims, figures, ..Evidence::default() }
}

fn throughput(sweep: &Sweep) -> Vec<Claim> {
    let of_size =
        |size: u32| 1.0 / mean(&sweep.ratios(THROUGHPUT.of, |run| run.inputs.record_size == size));
    let rough = STACKS.map(|stack| {
        let of = |size: u32| {
            let curve: Vec<f64> = sweep.of(stack, size).iter().map(THROUGHPUT.of).collect();
            roughness(&curve)
        };
        mean(&SIZES.map(of))
    });
    let all = sweep.ratios(THROUGHPUT.of, |_| true);
    vec![
        Claim::new(
            "figure-9",
            "UBIFS updates faster than JFFS2: share of cases",
            Target::AtLeast(0.9),
            share(&all, |&ratio| ratio < 1.0),
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-9",
            "UBIFS's lead is larger for large records: lead at 600 B over lead at 150 B",
            Target::AtLeast(1.0),
            of_size(600) / of_size(150),
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-9",
            "JFFS2's throughput is the less stable: scatter around its neighbours over UBIFS's",
            Target::AtLeast(1.0),
            rough[0] / rough[1],
            Band::STATEMENT,
        ),
    ]
}

fn operations(sweep: &Sweep) -> [Claim; 3] {
    let ratios = |of: fn(&Run) -> f64| mean(&sweep.ratios(of, |_| true));
    [
        Claim::new(
            "figure-10",
            "JFFS2 programs more than twice as many pages as UBIFS: mean ratio",
            Target::AtLeast(2.0),
            ratios(PROGRAMS.of),
            Band::RATIO,
        ),
        Claim::new(
            "figure-10",
            "JFFS2 reads more than UBIFS: mean ratio",
            Target::AtLeast(1.0),
            ratios(READS.of),
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-10",
            "an update reads the page that it changes: share of runs with reads",
            Target::AtLeast(1.0),
            share(sweep.all(), |run| run.operations.page_reads > 0),
            Band::STATEMENT,
        ),
    ]
}

fn erases(sweep: &Sweep) -> Vec<Claim> {
    let sum = |stack: Stack| -> f64 {
        SIZES.into_iter().flat_map(|size| sweep.of(stack, size)).map(ERASES.of).sum()
    };
    let most =
        |size: u32| sweep.of(Stack::JFFS2, size).iter().map(ERASES_PER_KB.of).fold(0.0, f64::max);
    let first = SIZES.map(|size| {
        let of_size = sweep.of(Stack::JFFS2, size);
        f64::from(
            of_size
                .iter()
                .find(|run| run.operations.block_erases > 0)
                .map_or(0, |run| run.inputs.requests),
        )
    });
    let numbered = |text: &str, target, measured| Claim {
        reason: FEW_ERASES,
        ..Claim::new("figure-10", text, target, measured, Band::COUNT)
    };
    vec![
        Claim {
            note: format!("First run with erases by record size: {first:?} requests."),
            ..Claim::new(
                "figure-10",
                "JFFS2 erases only after a number of updates: sizes whose shortest run erases \
                 nothing, and a longer one does, of 4",
                Target::AtLeast(4.0),
                real_len(first.iter().filter(|&&requests| requests > 100.0).count()),
                Band::STATEMENT,
            )
        },
        Claim::new(
            "figure-10",
            "JFFS2 erases more blocks than UBIFS: ratio of all runs",
            Target::AtLeast(1.0),
            sum(Stack::JFFS2) / sum(Stack::UBIFS),
            Band::STATEMENT,
        ),
        numbered(
            "JFFS2: blocks erased for a KB updated, the most of all runs",
            Target::Between(0.07, 0.08),
            SIZES.map(most).into_iter().fold(0.0, f64::max),
        ),
        numbered(
            "JFFS2: pages erased for a KB of 600 B records updated, the most of all runs",
            Target::Value(4.48),
            PAGES_PER_BLOCK * most(600),
        ),
    ]
}
