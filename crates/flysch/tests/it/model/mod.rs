//! A model of the whole protocol of `docs/design.md`: abstract pages on a device that is cut at
//! every operation, compared with ordered maps.

mod compact;
mod device;
mod engine;
mod history;
mod index;
mod log;
mod merge;
mod mount;
mod root;
mod rows;
mod state;
mod switches;

pub(crate) use switches::ALL; //T
use history::{History, Plan, Tally};

/// Cuts of the normal run.
const CUTS: u64 = 1_000_000;

#[test]
fn no_history_breaks_the_protocol() {
    let wanted = std::env::var("FLYSCH_MODEL_CUTS").map_or(CUTS, |text| text.parse().unwrap());
    let first = std::env::var("FLYSCH_MODEL_SEED").map_or(0, |text| text.parse().unwrap());
    let mut sum = Tally::default();
    let mut seed = first;
    while sum.cuts < wanted {
        let outcome = History::new(Plan::new(seed, None)).and_then(|mut history| {
            let outcome = history.run();
            sum.cuts += history.tally.cuts;
            sum.mounts += history.tally.mounts;
            sum.checks += history.tally.checks;
            sum.full += history.tally.full;
            sum.spans_max = sum.spans_max.max(history.tally.spans_max);
            outcome
        });
        assert_eq!(outcome, Ok(()), "FLYSCH_MODEL_SEED={seed}");
        seed += 1;
    }
    println!("{} histories: {sum:?}", seed - first);
}

/// Run one seed.
pub(crate) fn try_seed(seed: u64, broken: Option<switches::Broken>) -> (device::Done, Tally) {
    match History::new(Plan::new(seed, broken)) {
        Ok(mut history) => {
            let outcome = history.run();
            (outcome, history.tally)
        }
        Err(stop) => (Err(stop), Tally::default()),
    }
}

pub(crate) fn tr(f: impl FnOnce() -> String) { if std::env::var("T").is_ok() { eprintln!("{}", f()); } } //T
