//! Section V.D: throughput and operations of joins, Figures 7 and 8, and joins compared with
//! selects.

use flysch_charts::statistics::{mean, share};
use flysch_lab::bench::run::Run;
use flysch_lab::machine::stack::Stack;
use flysch_lab::report::metrics::{READS_PER_KB, THROUGHPUT};

use super::chart::chart;
use super::select::{peaks_of_reads, said};
use super::sweep::{SIZES, STACKS, Sweep};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::Evidence;

/// Numbers of requests from this one on are called large; the constant below limits the small ones.
const LARGE: u32 = 3500;
const SMALL: u32 = 500;
/// Number of requests in the comparison with selects.
const COMPARED_REQUESTS: u32 = 2000;

/// Figures 7 and 8 with their claims.
pub(super) fn figures(sweep: &Sweep) -> Evidence {
    let figures = vec![
        chart(sweep, "figure-7", "figure-7", "Figure 7: throughput of joins", &THROUGHPUT),
        chart(sweep, "figure-8", "figure-8-reads", "Figure 8: reads of joins", &READS_PER_KB),
    ];
    let mut claims = throughput(sweep);
    claims.extend(operations(sweep));
    Evidence { claims, figures, ..Evidence::default() }
}

fn throughput(sweep: &Sweep) -> Vec<Claim> {
    let large = SIZES.map(|size| {
        mean(&sweep.ratios(THROUGHPUT.of, |run| {
            run.inputs.record_size == size && run.inputs.requests >= LARGE
        }))
    });
    let mut claims = vec![Claim {
        note: format!("JFFS2 over UBIFS by record size: {}.", said(&large)),
        ..Claim::new(
            "figure-7",
            "for many requests both file systems join alike: JFFS2's throughput over UBIFS's",
            Target::Value(1.0),
            mean(&large),
            Band::RATIO,
        )
    }];
    let small = sweep.ratios(THROUGHPUT.of, |run| run.inputs.requests <= SMALL);
    claims.push(Claim::new(
        "figure-8",
        "for few requests UBIFS joins faster than JFFS2: share of cases",
        Target::AtLeast(0.5),
        share(&small, |&ratio| ratio < 1.0),
        Band::STATEMENT,
    ));
    claims.extend(STACKS.map(|stack| {
        let of = |size| (THROUGHPUT.of)(sweep.last(stack, size));
        let text = format!(
            "{}: joins of 450 B are faster than of 600 B, as two such records share a page: ratio",
            stack.main.name()
        );
        Claim::new("figure-7", text, Target::AtLeast(1.0), of(450) / of(600), Band::STATEMENT)
    }));
    claims
}

fn operations(sweep: &Sweep) -> Vec<Claim> {
    let mut claims = Vec::new();
    for stack in STACKS {
        let name = stack.main.name();
        let of = |size| (READS_PER_KB.of)(sweep.last(stack, size));
        let others = [150, 300, 450].map(of).into_iter().fold(0.0, f64::max);
        claims.push(Claim {
            note: format!("Reads per KB by record size: {}.", said(&SIZES.map(of))),
            reason: "Two records of 450 B in a page leave it less compressible than one of 600 B.",
            ..Claim::new(
                "figure-8",
                format!("{name}: 600 B reads most per KB for many requests: over the next"),
                Target::AtLeast(1.0),
                of(600) / others,
                Band::STATEMENT,
            )
        });
        claims.push(Claim::new(
            "figure-8",
            format!("{name}: reads per KB for many requests, mean of the sizes"),
            Target::Value(2.0),
            mean(&SIZES.map(of)),
            Band::COUNT,
        ));
    }
    let only_reads =
        |run: &Run| run.operations.page_programs == 0 && run.operations.block_erases == 0;
    claims.push(Claim::new(
        "figure-8",
        "joins neither program nor erase: share of runs",
        Target::AtLeast(1.0),
        share(sweep.all(), only_reads),
        Band::STATEMENT,
    ));
    claims.push(peaks_of_reads("figure-8", "joins", sweep));
    claims
}

/// Joins compared with selects of the same records.
pub(super) fn compared_with_select(join: &Sweep, select: &Sweep) -> Evidence {
    let of_stack = |stack: Stack| {
        let of = |sweep: &Sweep, size| (THROUGHPUT.of)(sweep.at(stack, size, COMPARED_REQUESTS));
        let gains = SIZES.map(|size| of(join, size) / of(select, size));
        Claim {
            note: format!("By record size: {}.", said(&gains)),
            reason: "A statement for each record costs less here than on the paper's board, and the \
                     join has two tables to read.",
            ..Claim::new(
                "join-and-select",
                format!(
                    "{}: one join of 2000 records is far faster than 2000 selects: least ratio of \
                     throughputs",
                    stack.main.name()
                ),
                Target::AtLeast(2.0),
                gains.into_iter().fold(f64::INFINITY, f64::min),
                Band::RATIO,
            )
        }
    };
    Evidence { claims: STACKS.map(of_stack).to_vec(), ..Evidence::default() }
}
