//! The paper's tests: five in a row on one database, whose results are averaged.

use flysch_charts::figure::{Figure, Panel, Scale, Series, Source};
use flysch_lab::bench::run::Run;
use flysch_lab::tpcc::Kind;

use super::band::{Band, Target};
use super::claim::Claim;
use super::paper::{Cause, Effort, Evidence, Trial};
use super::stacks::{
    HYBRID, NAND, Pair, erases, erases_per_second, fill, per_minute, run_all, scenario, tpcc,
    under, writes, writes_per_second,
};

/// Number of tests in a row (section 6.2).
const TESTS: u32 = 5;
/// Transactions of a test. The paper does not state them.
const TRANSACTIONS: u32 = 400;
/// How much of the flash the database fills, in percent. The paper does not state it. The flash is
/// one and a half times as large as the database, which is also the default of `flysch bench tpcc`.
const FILL_PERCENT: u32 = 67;
/// A saving of "45 %" of the response time leaves this fraction.
const LEFT: f64 = 0.55;

const FREE_SPACE: &str = "How much is gained hangs on how full the flash is, which the paper does \
    not tell: see free-space.";
const UNIT: &str = "The paper's figure would be one order in three to six minutes, of which its own \
    writes and erases explain some seconds: its unit cannot be a minute.";
const LENGTH: &str = "The paper does not tell how many transactions a test has, nor how full the \
    flash is, on which the collector's share hangs: see free-space.";

/// The number by which the size of the database is divided.
const fn divisor(effort: Effort) -> u32 {
    match effort {
        Effort::Full => 1,
        Effort::Quick => 10,
    }
}

/// Progress steps of the runs without and with PRAM. The run without PRAM spends most of its time
/// collecting garbage.
const fn run_steps(effort: Effort) -> (u64, u64) {
    match effort {
        Effort::Full => (250, 40),
        Effort::Quick => (30, 12),
    }
}

const fn tests(effort: Effort) -> u32 {
    match effort {
        Effort::Full => TESTS,
        Effort::Quick => 1,
    }
}

pub(super) fn steps(effort: Effort) -> u64 {
    let (nand, hybrid) = run_steps(effort);
    nand + hybrid
}

pub(super) fn run(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let effort = trial.effort;
    let transactions = tests(effort) * TRANSACTIONS;
    let (nand_steps, hybrid_steps) = run_steps(effort);
    let tpcc = tpcc(divisor(effort));
    let mut scenarios = [
        (scenario(tpcc, NAND, transactions)?, nand_steps),
        (scenario(tpcc, HYBRID, transactions)?, hybrid_steps),
    ];
    for (one, _) in &mut scenarios {
        fill(one, tpcc, FILL_PERCENT)?;
    }
    let mut runs = run_all(trial, &scenarios)?.into_iter();
    let (Some(nand), Some(hybrid)) = (runs.next(), runs.next()) else {
        return Err("two scenarios give two runs".into());
    };
    let pair = Pair { nand, hybrid };
    let mut claims = responses(&pair)?;
    claims.extend(throughput(&pair));
    claims.extend(counts(&pair, f64::from(tests(effort))));
    claims.extend(burdens(&pair));
    Ok(Evidence { claims, figures: vec![figure_6(&pair)], ..Evidence::default() })
}

/// A claim about the ratio of the proposed database to the conventional one.
fn share(item: &'static str, text: String, paper: f64, measured: f64) -> Claim {
    Claim {
        reason: FREE_SPACE,
        ..Claim::new(item, text, Target::Value(paper), measured, Band::RATIO)
    }
}

fn responses(pair: &Pair) -> Result<Vec<Claim>, Cause> {
    let one = |kind: Kind| {
        let mean = |run: &Run| run.by_kind.get(kind.name()).map_or(f64::NAN, |cost| cost.mean_ns);
        let text = format!("response time of {}, proposed over conventional", kind.name());
        share("figure-6", text, LEFT, pair.ratio(mean))
    };
    let mut claims: Vec<Claim> = Kind::ALL.iter().copied().map(one).collect();
    let ratios: Vec<f64> = claims.iter().map(|claim| claim.measured).collect();
    let extreme = |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick);
    let (Some(least), Some(most)) = (extreme(f64::min), extreme(f64::max)) else {
        return Err("there are transactions".into());
    };
    let text =
        "all kinds of transactions gain alike: the least over the greatest of the five ratios";
    claims.push(Claim {
        note: "Terminals wait for each other, so each kind gains what all do.".to_owned(),
        reason: "Collections fall on some transactions and not on others.",
        ..Claim::new("figure-6", text, Target::Value(1.0), least / most, Band::RATIO)
    });
    Ok(claims)
}

fn throughput(pair: &Pair) -> Vec<Claim> {
    let (conventional, proposed) = (0.172, 0.334);
    let absolute = |who: &str, paper: f64, run: &Run| {
        let text = format!("NOTPM of the {who} database");
        Claim {
            reason: UNIT,
            ..Claim::new("notpm", text, Target::Value(paper), per_minute(run), Band::TIME)
        }
    };
    let text = "NOTPM, proposed over conventional".to_owned();
    vec![
        absolute("conventional", conventional, &pair.nand),
        absolute("proposed", proposed, &pair.hybrid),
        share("notpm", text, proposed / conventional, pair.ratio(per_minute)),
    ]
}

fn counts(pair: &Pair, tests: f64) -> Vec<Claim> {
    let one = |text: &str, paper: f64, measured: f64| Claim {
        reason: LENGTH,
        ..Claim::new("table-2", text, Target::Value(paper), measured / tests, Band::COUNT)
    };
    let equal_time = "in tests that take equally long, as those of DBT-2 do";
    vec![
        one("writes of a test, conventional", 13_020.0, writes(&pair.nand)),
        one("writes of a test, proposed", 5_178.0, writes(&pair.hybrid)),
        one("erases of a test, conventional", 77.0, erases(&pair.nand)),
        one("erases of a test, proposed", 12.0, erases(&pair.hybrid)),
        share(
            "table-2",
            format!("writes, proposed over conventional, {equal_time}"),
            5_178.0 / 13_020.0,
            pair.ratio(writes_per_second),
        ),
        share(
            "table-2",
            format!("erases, proposed over conventional, {equal_time}"),
            12.0 / 77.0,
            pair.ratio(erases_per_second),
        ),
    ]
}

/// Claims on what the paper says in words: less work for the garbage collector, and faster
/// journals.
#[expect(clippy::cast_precision_loss, reason = "counts and times far below 2^52")]
fn burdens(pair: &Pair) -> Vec<Claim> {
    let copies = |run: &Run| under(run, "yaffs_gc").page_programs as f64;
    let journal_s = |run: &Run| under(run, "journal").flash_ns as f64;
    let less = |item, text: &str, measured: f64, reason| Claim {
        reason,
        ..Claim::new(item, text, Target::AtMost(1.0), measured, Band::STATEMENT)
    };
    vec![
        less(
            "table-2",
            "the burden of garbage collection is smaller: pages copied, proposed over conventional",
            pair.ratio(copies),
            "",
        ),
        less(
            "figure-6",
            "the latency of journal updates is smaller: device time of the journal, proposed over \
             conventional",
            pair.ratio(journal_s),
            "By Table 1 a PRAM of 16-bit words takes 1 us a word, 2 MB/s, and NAND pages of 2 KiB \
             in 800 us, 2.6 MB/s: without collection the PRAM is the slower of the two.",
        ),
    ]
}

fn figure_6(pair: &Pair) -> Figure {
    let bars = |name: &str, run: &Run| {
        let of = |kind: Kind| {
            let mean = run.by_kind.get(kind.name()).map_or(f64::NAN, |cost| cost.mean_ns / 1e6);
            (kind.name().to_owned(), mean)
        };
        Series::bars(name, Source::Flysch, Kind::ALL.iter().copied().map(of).collect())
    };
    Figure {
        item: "figure-6",
        name: "figure-6".to_owned(),
        title: "Average response time of DBT-2".to_owned(),
        caption: "The paper's bars carry no numbers.".to_owned(),
        panels: vec![Panel {
            title: "Five kinds of transactions".to_owned(),
            x: Scale::linear("transaction"),
            y: Scale::linear("mean response time, ms"),
            series: vec![bars("conventional", &pair.nand), bars("proposed", &pair.hybrid)],
        }],
    }
}
