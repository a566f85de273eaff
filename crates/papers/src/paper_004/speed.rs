//! Figures 14 to 19: times of lookups on the token.

use flysch_charts::figure::{Figure, Panel, Scale, Series};

use super::lookups::{Cost, HEAD, Structure, config, measure};
use super::work::Processor;
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::listing::Listing;
use crate::paper::{Cause, Effort, Evidence, Trial};

/// Number of tuples in Figures 15 to 18.
const TUPLES_MAX: u32 = 100_000;

fn sizes(step: u32, count: u32) -> Vec<u32> {
    (1..=count).map(|nth| nth * step).collect()
}

/// Figures 14 and 15: a query by primary key in the engine, whose index is not partitioned.
pub(super) fn queries(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let config = config(12, 7, TUPLES_MAX)?;
    let mut evidence = Evidence::default();
    let fourteen = measure(Structure::Summary, config, &sizes(4_800, 10))?;
    let fifteen = measure(Structure::Summary, config, &sizes(10_000, 10))?;
    (trial.done)(QUERY_STEPS);
    evidence.figures.push(split(
        "figure-14",
        "figure-14",
        "Execution time of the query",
        &fourteen,
    ));
    let mut figure =
        split("figure-15", "figure-15", "Execution time of the query, average", &fifteen);
    figure.caption.push_str(
        " Global is the lookup in the index and the read of the tuple's page; SQL is not executed.",
    );
    evidence.figures.push(figure);
    let (first, last) = ends(&fifteen);
    let io = last.io_ms / first.io_ms;
    let claims = [
        (
            "figure-14",
            "CPU time grows with the data (last over first size)",
            Target::AtLeast(1.0),
            Processor::TODAY.ms(fourteen[9].work) / Processor::TODAY.ms(fourteen[0].work),
        ),
        (
            "figure-14",
            "IO becomes more dominant: CPU's share falls (last over first size)",
            Target::AtMost(1.0),
            fourteen[9].cpu_share(Processor::TODAY) / fourteen[0].cpu_share(Processor::TODAY),
        ),
        (
            "figure-15",
            "the index is most of the query at 100,000 tuples, share of IO and CPU",
            Target::AtLeast(0.5),
            last.ms(Processor::TODAY) / (last.ms(Processor::TODAY) + RECORD_MS),
        ),
    ];
    evidence.claims.extend(claims.map(|(item, text, target, measured)| {
        Claim::new(item, text, target, measured, Band::STATEMENT)
    }));
    evidence.claims.push(Claim {
        note: "Linear in the tuples would be 10; the pages of keys at the end do not grow."
            .to_owned(),
        ..Claim::new(
            "figure-15",
            "IO grows linearly: IO at 100,000 over 10,000 tuples",
            Target::Value(10.0),
            io,
            Band::RATIO,
        )
    });
    Ok(evidence)
}

/// Time to read the page of a tuple, milliseconds (Table 7, VFL).
const RECORD_MS: f64 = 0.367;
pub(super) const QUERY_STEPS: u64 = 60;
pub(super) const GAIN_STEPS: u64 = 80;
pub(super) const TUNING_STEPS: u64 = 200;

fn growth(costs: &[Cost]) -> f64 {
    let (first, last) = ends(costs);
    last.ms(Processor::TODAY) / first.ms(Processor::TODAY)
}

fn ends(costs: &[Cost]) -> (Cost, Cost) {
    (costs[0], costs[costs.len() - 1])
}

/// A chart of CPU time and IO time of lookups over the number of tuples.
fn split(item: &'static str, name: &str, title: &str, costs: &[Cost]) -> Figure {
    let line = |value: &dyn Fn(&Cost) -> f64| {
        costs.iter().map(|cost| (f64::from(cost.tuples), value(cost))).collect::<Vec<_>>()
    };
    Figure {
        item,
        name: name.to_owned(),
        title: title.to_owned(),
        caption: "IO is the simulated chip with the times of the virtual flash layer; CPU is \
                  counted work with one fitted figure."
            .to_owned(),
        panels: vec![Panel {
            title: "50 MHz".to_owned(),
            x: Scale::linear("tuples"),
            y: Scale::linear("ms"),
            series: vec![
                Series::line("total", line(&|cost| cost.ms(Processor::TODAY))),
                Series::line("IO", line(&|cost| cost.io_ms)),
                Series::line("CPU", line(&|cost| Processor::TODAY.ms(cost.work))),
            ],
        }],
    }
}

/// Figures 16 and 17: the three structures compared.
pub(super) fn gain(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let config = config(12, 7, TUPLES_MAX)?;
    let sizes = match trial.effort {
        Effort::Full => sizes(10_000, 10),
        Effort::Quick => vec![10_000, TUPLES_MAX],
    };
    let structures = [Structure::KeyArea, Structure::Summary, Structure::PbFilter];
    let mut all = Vec::new();
    for structure in structures {
        all.push(measure(structure, config, &sizes)?);
        (trial.done)(GAIN_STEPS / 4);
    }
    (trial.done)(GAIN_STEPS / 4);
    let series = |(structure, costs): (&Structure, &Vec<Cost>)| {
        let point = |cost: &Cost| (f64::from(cost.tuples), cost.ms(Processor::TODAY));
        Series::line(structure.name(), costs.iter().map(point).collect())
    };
    let sixteen = Figure {
        item: "figure-16",
        name: "figure-16".to_owned(),
        title: "Execution time of key lookup".to_owned(),
        caption: "Mean of the keys around the middle of the database.".to_owned(),
        panels: vec![Panel {
            title: "50 MHz".to_owned(),
            x: Scale::linear("tuples"),
            y: Scale::log("ms"),
            series: structures.iter().zip(&all).map(series).collect(),
        }],
    };
    let rows = structures.iter().zip(&all);
    let rows = rows.flat_map(|(structure, costs)| costs.iter().map(|cost| cost.row(*structure)));
    let listing = Listing {
        item: "figure-16",
        name: "figure-16-work".to_owned(),
        title: "Reads and work of a lookup".to_owned(),
        head: HEAD.to_vec(),
        rows: rows.collect(),
    };
    let [keys, summary, pbfilter] = [&all[0], &all[1], &all[2]];
    Ok(Evidence {
        claims: gain_claims(keys, summary, pbfilter),
        figures: vec![sixteen, shares(pbfilter)],
        listings: vec![listing],
    })
}

fn gain_claims(keys: &[Cost], summary: &[Cost], pbfilter: &[Cost]) -> Vec<Claim> {
    let last = |costs: &[Cost]| ends(costs).1.ms(Processor::TODAY);
    let share = |processor| ends(pbfilter).1.cpu_share(processor);
    let statement = |item, text: &str, target, measured| {
        Claim::new(item, text, target, measured, Band::STATEMENT)
    };
    vec![
        statement(
            "figure-16",
            "PBFilter times faster than scanning SKA, 100,000 tuples",
            Target::AtLeast(4.0),
            last(summary) / last(pbfilter),
        ),
        statement(
            "figure-16",
            "PBFilter times faster than scanning KA, 100,000 tuples",
            Target::AtLeast(100.0),
            last(keys) / last(pbfilter),
        ),
        Claim {
            note: "Filters of L1 are tested one by one, those of sets by the word: at 10,000 \
                   tuples all are in L1."
                .to_owned(),
            ..statement(
                "figure-16",
                "growth of PBFilter, 10,000 to 100,000 tuples: only 1.5 times worse",
                Target::AtMost(1.5),
                growth(pbfilter),
            )
        },
        Claim::new(
            "figure-16",
            "growth of scanning SKA, 10,000 to 100,000 tuples",
            Target::Value(6.4),
            growth(summary),
            Band::RATIO,
        ),
        Claim {
            note: "The processor's speed was fitted to this.".to_owned(),
            ..statement(
                "figure-17",
                "CPU's share of PBFilter's lookup at 50 MHz: almost half",
                Target::Between(0.4, 0.5),
                share(Processor::TODAY),
            )
        },
        statement(
            "figure-17",
            "at 120 MHz IO dominates again: CPU's share",
            Target::AtMost(0.5),
            share(Processor::NEXT),
        ),
    ]
}

fn shares(costs: &[Cost]) -> Figure {
    let lines = [("CPU1, 50 MHz", Processor::TODAY), ("CPU2, 120 MHz", Processor::NEXT)];
    let series = lines.map(|(name, processor)| {
        let point = |cost: &Cost| (f64::from(cost.tuples), 100.0 * cost.cpu_share(processor));
        Series::line(name, costs.iter().map(point).collect())
    });
    Figure {
        item: "figure-17",
        name: "figure-17".to_owned(),
        title: "CPU and IO of PBFilter".to_owned(),
        caption: String::new(),
        panels: vec![Panel {
            title: "CPU's share of a lookup".to_owned(),
            x: Scale::linear("tuples"),
            y: Scale::linear("%"),
            series: series.into(),
        }],
    }
}

/// Figures 18 and 19: the number of hash functions, and the size of the key.
pub(super) fn tuning(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut by_hashes = Vec::new();
    for hash_count in 1..=12 {
        let config = config(12, hash_count, TUPLES_MAX)?;
        let costs = measure(Structure::PbFilter, config, &[TUPLES_MAX])?;
        by_hashes.push((f64::from(hash_count), costs[0]));
        (trial.done)(TUNING_STEPS / 20);
    }
    let mut by_size = Vec::new();
    for key_size in [4, 8, 12, 16, 20, 24, 28, 30] {
        let config = config(key_size, 7, 40_000)?;
        let costs = measure(Structure::PbFilter, config, &[40_000])?;
        by_size.push((f64::from(key_size), costs[0]));
        (trial.done)(TUNING_STEPS / 20);
    }
    let best = by_hashes.iter().min_by(|(_, one), (_, other)| {
        one.ms(Processor::TODAY).total_cmp(&other.ms(Processor::TODAY))
    });
    let best = best.map_or(f64::NAN, |(hash_count, _)| *hash_count);
    let [small, large] = [by_size[0].1, by_size[by_size.len() - 1].1];
    let ratio = |value: &dyn Fn(&Cost) -> f64| value(&large) / value(&small);
    let now = Processor::TODAY;
    let claims = vec![
        Claim::new(
            "figure-18",
            "the bigger k the better up to a threshold: k of the fastest lookup",
            Target::Between(3.0, 11.0),
            best,
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-19",
            "IO grows with the key: 30 over 4 bytes",
            Target::AtLeast(1.0),
            ratio(&|cost| cost.io_ms),
            Band::STATEMENT,
        ),
        Claim {
            reason: "A page holds seven times more short keys, and all of the page in question are compared.",
            ..Claim::new(
                "figure-19",
                "CPU grows with the key: 30 over 4 bytes",
                Target::AtLeast(1.0),
                ratio(&|cost| now.ms(cost.work)),
                Band::STATEMENT,
            )
        },
        Claim::new(
            "figure-19",
            "the discrepancy is not large: total of 30 over 4 bytes",
            Target::Between(0.5, 2.0),
            ratio(&|cost| cost.ms(now)),
            Band::STATEMENT,
        ),
    ];
    let figures = vec![
        tuned("figure-18", "Influence of k", "hash functions", &by_hashes),
        tuned("figure-19", "Influence of key size", "bytes of a key", &by_size),
    ];
    Ok(Evidence { claims, figures, ..Evidence::default() })
}

fn tuned(item: &'static str, title: &str, x: &str, costs: &[(f64, Cost)]) -> Figure {
    let line = |value: &dyn Fn(&Cost) -> f64| {
        costs.iter().map(|(place, cost)| (*place, value(cost))).collect::<Vec<_>>()
    };
    Figure {
        item,
        name: item.to_owned(),
        title: title.to_owned(),
        caption: String::new(),
        panels: vec![Panel {
            title: "a lookup of PBFilter".to_owned(),
            x: Scale::linear(x),
            y: Scale::linear("ms"),
            series: vec![
                Series::line("IO", line(&|cost| cost.io_ms)),
                Series::line("CPU1, 50 MHz", line(&|cost| Processor::TODAY.ms(cost.work))),
                Series::line("CPU2, 120 MHz", line(&|cost| Processor::NEXT.ms(cost.work))),
                Series::line("total, 50 MHz", line(&|cost| cost.ms(Processor::TODAY))),
                Series::line("total, 120 MHz", line(&|cost| cost.ms(Processor::NEXT))),
            ],
        }],
    }
}
