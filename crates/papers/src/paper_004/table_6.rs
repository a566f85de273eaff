//! Table 6: page reads of a lookup among a million keys, for three hash functions and three
//! distributions.

use std::ops::ControlFlow;

use flysch_chip::Prng;
use flysch_indexes::IndexError;
use flysch_indexes::flash::Flash;
use flysch_indexes::pbfilter::{PbConfig, PbFilter};
use flysch_nand::Nand;
use rayon::prelude::*;
use serde_json::json;

use super::device::{Device, blank};
use super::hashes::{FUNCTIONS, HashFunction};
use super::keys::Distribution;
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::listing::Listing;
use crate::paper::{Cause, Effort, Evidence, Trial};

const ITEM: &str = "table-6";
/// Number of keys in the index.
const KEYS: u32 = 1_000_000;
/// Number of lookups that are averaged. Their keys are drawn from the index.
const fn lookups(effort: Effort) -> u32 {
    match effort {
        Effort::Full => 10_000,
        Effort::Quick => 2000,
    }
}

/// The printed table. Rows are distributions, columns are hash functions.
const STATED: [[f64; 3]; 3] = [[12.33, 12.28, 68.37], [12.34, 12.32, 41.06], [12.28, 12.36, 76.95]];

pub(super) const STEPS: u64 = 900;

/// Measure all nine cells of the table.
pub(super) fn measure(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut cells = Vec::new();
    for (row, (name, distribution)) in Distribution::ALL.into_iter().enumerate() {
        for (column, function) in FUNCTIONS.iter().enumerate() {
            cells.push((name, distribution, *function, STATED[row][column]));
        }
    }
    let one = |(name, distribution, function, stated): &(&'static str, _, HashFunction, f64)| {
        let reads = mean_reads(*distribution, *function, lookups(trial.effort))?;
        (trial.done)(STEPS / 9);
        Ok((*name, function.name, *stated, reads))
    };
    let rows = cells.par_iter().map(one).collect::<Result<Vec<_>, Cause>>()?;
    let claim = |(name, function, stated, reads): &(&str, &str, f64, f64)| Claim {
        reason: "How the authors made three independent calls of a hash without a seed is not \
                 said; seeded as here, it is as good as the others.",
        ..Claim::new(
            ITEM,
            format!("R, {name} keys, {function}"),
            Target::Value(*stated),
            *reads,
            Band::COUNT,
        )
    };
    let cells =
        |row: &(&str, &str, f64, f64)| vec![json!(row.0), json!(row.1), json!(row.2), json!(row.3)];
    Ok(Evidence {
        claims: rows.iter().map(claim).collect(),
        listings: vec![Listing {
            item: ITEM,
            name: "table-6".to_owned(),
            title: "Average R, the record's page included".to_owned(),
            head: vec!["distribution", "hash function", "paper", "measured"],
            rows: rows.iter().map(cells).collect(),
        }],
        ..Evidence::default()
    })
}

/// Mean page reads of a lookup, including that of the record.
fn mean_reads(
    distribution: Distribution,
    function: HashFunction,
    lookups: u32,
) -> Result<f64, Cause> {
    let engine_error = |error: IndexError| Cause::from(format!("{error:?}"));
    let device = blank()?;
    let geometry = device.geometry();
    let published = PbConfig::published(12, KEYS, &geometry);
    let config = PbConfig { placement: function.placement, ..published };
    let mut table = vec![0; Flash::<Device>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flash = Flash::mount(device, &mut table).map_err(|error| engine_error(error.into()))?;
    let mut index = PbFilter::create(&mut flash, config, &mut ram).map_err(engine_error)?;
    for number in 0..KEYS {
        index
            .insert(&mut flash, &distribution.key::<12>(0, number), number)
            .map_err(engine_error)?;
    }
    flash.nand_mut().hooks.forget();
    let mut prng = Prng::new(6);
    for _ in 0..lookups {
        let number = u32::try_from(prng.below(KEYS.into()))?;
        let mut is_found = false;
        let visit = |_: &mut Flash<'_, Device>, pointer| {
            is_found = pointer == number;
            Ok::<_, IndexError>(if is_found {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        };
        index
            .lookup(&mut flash, &distribution.key::<12>(0, number), visit)
            .map_err(engine_error)?;
        if !is_found {
            return Err("a key of the index is not found".into());
        }
    }
    Ok(f64::from(flash.nand().hooks.all()) / f64::from(lookups) + 1.0)
}
