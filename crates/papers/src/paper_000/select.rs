//! Section V.C: throughput and operations of selects, Figures 5 and 6.

use flysch_charts::number::real_len;
use flysch_charts::statistics::{correlation, mean, share};
use flysch_lab::bench::run::Run;
use flysch_lab::machine::stack::Stack;
use flysch_lab::report::metrics::{READS, READS_PER_KB, THROUGHPUT};

use super::chart::chart;
use super::sweep::{SIZES, STACKS, Sweep};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::Evidence;

/// According to the paper, JFFS2 and UBIFS read equally much from this number of requests on.
const MEETS: u32 = 1300;

/// Figures 5 and 6 with their claims.
pub(super) fn figures(sweep: &Sweep) -> Evidence {
    let figures = vec![
        chart(sweep, "figure-5", "figure-5", "Figure 5: throughput of selects", &THROUGHPUT),
        chart(sweep, "figure-6", "figure-6-reads", "Figure 6: reads of selects", &READS_PER_KB),
    ];
    let mut claims = throughput(sweep);
    claims.extend(operations(sweep));
    Evidence { claims, figures, ..Evidence::default() }
}

fn throughput(sweep: &Sweep) -> Vec<Claim> {
    let better = SIZES.map(|size| {
        let ratios = sweep.ratios(THROUGHPUT.of, |run| run.inputs.record_size == size);
        1.0 / mean(&ratios)
    });
    let best = better.iter().copied().fold(0.0, f64::max);
    let mut claims = vec![
        Claim {
            note: format!("By record size: {}.", said(&better)),
            ..Claim::new(
                "figure-5",
                "UBIFS selects faster than JFFS2 for some record sizes: how many of 4",
                Target::AtLeast(1.0),
                real_len(better.iter().filter(|&&ratio| ratio > 1.0).count()),
                Band::STATEMENT,
            )
        },
        Claim::new(
            "figure-5",
            "UBIFS is but slightly ahead: throughput over JFFS2's, the most of the sizes' means",
            Target::Between(1.0, 1.15),
            best,
            Band::RATIO,
        ),
    ];
    claims.extend(STACKS.map(|stack| {
        let shapes = SIZES.map(|size| {
            let points = sweep.of(stack, size).iter();
            correlation(&points.map(|run| (f64::from(run.inputs.requests).ln(), (THROUGHPUT.of)(run))).collect::<Vec<_>>())
        });
        Claim {
            reason: "The constant overhead that makes the curve, the program's paging in at BEGIN, is \
                     not modelled; what remains are the first fetches.",
            ..Claim::new(
                "figure-5",
                format!(
                    "{}: throughput grows as a logarithm: correlation with the logarithm of the \
                     requests, mean of the sizes",
                    stack.main.name()
                ),
                Target::AtLeast(0.7),
                mean(&shapes),
                Band::STATEMENT,
            )
        }
    }));
    claims
}

fn operations(sweep: &Sweep) -> Vec<Claim> {
    let few = sweep.ratios(READS.of, |run| run.inputs.requests < MEETS);
    let many = sweep.ratios(READS.of, |run| run.inputs.requests >= MEETS);
    let all_reads =
        |run: &Run| run.operations.page_programs == 0 && run.operations.block_erases == 0;
    vec![
        Claim::new(
            "figure-6",
            "JFFS2 reads more than UBIFS below 1300 requests: share of cases",
            Target::AtLeast(0.5),
            share(&few, |&ratio| ratio > 1.0),
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-6",
            "the difference is less beyond: mean ratio from 1300 requests on over that below",
            Target::AtMost(1.0),
            mean(&many) / mean(&few),
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-6",
            "selects neither program nor erase: share of runs",
            Target::AtLeast(1.0),
            share(sweep.all(), all_reads),
            Band::STATEMENT,
        ),
        peaks_of_reads("figure-6", "selects", sweep),
    ]
}

/// A claim on how often the page reads per KB rise because prefetched pages were not used.
pub(super) fn peaks_of_reads(item: &'static str, what: &str, sweep: &Sweep) -> Claim {
    let rises = |stack| {
        let per_kb: Vec<f64> = sweep.of(stack, 150).iter().map(READS_PER_KB.of).collect();
        real_len(per_kb.windows(2).filter(|two| two[1] > two[0] * 1.02).count())
    };
    let text = format!(
        "{what} of 150 B: JFFS2's reads per KB have peaks where a prefetch is not used, more than \
         UBIFS's: how many more"
    );
    let more = rises(Stack::JFFS2) - rises(Stack::UBIFS);
    Claim::new(item, text, Target::AtLeast(1.0), more, Band::STATEMENT)
}

/// Ratios for each record size, as text.
pub(super) fn said(ratios: &[f64; SIZES.len()]) -> String {
    let parts = SIZES.iter().zip(ratios).map(|(size, ratio)| format!("{size} B {ratio:.2}"));
    parts.collect::<Vec<_>>().join(", ")
}
