//! Power cuts in the middle of runs. Nothing that was committed may be lost or torn.

use serde_json::json;

use super::band::{Band, Target};
use super::claim::Claim;
use super::listing::Listing;
use super::paper::{Cause, Evidence, Trial};
use super::power_cut::PowerCutTest;
use super::stacks::{HYBRID, scenario, tpcc};

/// The divisor that makes the database smaller. A district then has thirty customers and orders.
const DIVISOR: u32 = 100;
/// Number of power cuts. They are spread evenly over the run.
const CUTS: u64 = 12;
/// Progress steps for all cuts together.
pub(super) const STEPS: u64 = 36;
/// Number of transactions in a run without a cut.
const TRANSACTIONS: u32 = 200;

pub(super) fn run(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let tpcc = tpcc(DIVISOR);
    let scenario = scenario(tpcc, HYBRID, TRANSACTIONS)?;
    let test = PowerCutTest::new(&scenario, tpcc, TRANSACTIONS);
    let whole = test.run_until_cut(None)?;
    let mut rows = Vec::new();
    let mut sound = 0_u32;
    for cut in 1..=CUTS {
        let at = whole.operations * cut / (CUTS + 1);
        let after = test.run_until_cut(Some(at))?;
        let outcome = test.recover(&after);
        sound += u32::from(outcome.is_ok());
        let verdict = outcome.map_or_else(|error| error.to_string(), |()| "sound".to_owned());
        rows.push(vec![json!(at), json!(after.tally.committed), json!(verdict)]);
        (trial.done)(STEPS / CUTS);
    }
    #[expect(clippy::cast_precision_loss, reason = "a dozen")]
    let share = f64::from(sound) / CUTS as f64;
    let claim = Claim {
        note: format!(
            "{CUTS} cuts of a run of {TRANSACTIONS} transactions, both devices at once; sound means \
             that the file system mounts, SQLite's own check and the four conditions of TPC-C hold."
        ),
        ..Claim::new(
            "power-off",
            "transactions roll back after a sudden power-off: share of cuts after which the \
             database is sound",
            Target::AtLeast(1.0),
            share,
            Band::STATEMENT,
        )
    };
    let listing = Listing {
        item: "power-off",
        name: "power-off".to_owned(),
        title: "Cuts, and what was found".to_owned(),
        head: vec!["operation", "transactions_committed", "database"],
        rows,
    };
    Ok(Evidence { claims: vec![claim], listings: vec![listing], ..Evidence::default() })
}
