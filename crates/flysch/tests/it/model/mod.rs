//! A model of the whole protocol of `docs/design.md`: abstract pages on a device that is cut at
//! every operation, compared with ordered maps.

mod ahead;
mod compact;
mod copy;
mod device;
mod engine;
mod history;
mod index;
mod log;
mod merge;
mod mount;
mod moves;
mod named;
mod plan;
mod ring;
mod root;
mod rows;
mod state;
mod switches;

use crate::told;
use history::{History, Tally};
use plan::Plan;

/// Cuts of the normal run.
const CUTS: u64 = 1_000_000;

pub(crate) fn run(plan: Plan) -> (device::Done, Tally) {
    match History::new(plan) {
        Ok(mut history) => {
            let outcome = history.run();
            (outcome, history.tally)
        }
        Err(stop) => (Err(stop), Tally::default()),
    }
}

#[test]
fn no_history_breaks_the_protocol() {
    let wanted = told("FLYSCH_MODEL_CUTS").unwrap_or(CUTS);
    let first = told("FLYSCH_MODEL_SEED").unwrap_or(0);
    let mut sum = Tally::default();
    let mut seed = first;
    while sum.cuts < wanted {
        let plan = match seed % 32 {
            5 => Plan::held(seed, None),
            6 => Plan::calm(seed, None),
            other if other % 8 == 3 => Plan::roots(seed, None),
            2 | 10 => Plan::ahead(seed, None),
            26 => Plan::doubtful_names(seed, None),
            12 => Plan::begun(seed, None),
            4 => Plan::failing_roots(seed, None),
            28 => Plan::built_nvram(seed, None),
            20 => Plan::failing_reads(seed, None),
            14 | 18 | 22 | 30 => Plan::moves(seed, None),
            other if other % 8 == 7 => Plan::built_roots(seed, None),
            _ => Plan::new(seed, None),
        };
        let (outcome, tally) = run(plan);
        assert_eq!(outcome, Ok(()), "FLYSCH_MODEL_SEED={seed} FLYSCH_MODEL_CUTS=1");
        sum.add(&tally);
        seed += 1;
    }
    println!("{} histories: {sum:?}", seed - first);
}
