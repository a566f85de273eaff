//! One run of an index method: insert keys, update some of them, look some up.

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch_chip::Part;
use flysch_indexes::pbfilter::FlushUnit;
use flysch_indexes::runs::Pace;
use flysch_names::named;
use rayon::prelude::*;
use strum::{IntoStaticStr, VariantArray};

use super::chip_setup::ChipSetup;
use super::costs::{IndexCosts, UpdateCost};
use super::error::MethodError;
use super::experiment::Experiment;
use super::keys::{KeyDistribution, Keys};
use super::method::{IndexMethod, MethodName, MethodSpec, Tuning};
use super::rows::{LookupDistribution, RowKeys};
use crate::parameter::Parameter;

/// Which keys are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum LookupKind {
    /// Keys that are in the index, drawn at random.
    Present,
    /// Keys that are not in the index.
    Absent,
    /// The one key that was inserted half-way through the load.
    Middle,
    /// All rows of keys that are in the index. Lookups of the other kinds end at the first row that
    /// is found.
    All,
}

named!(LookupKind);

/// The complete description of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexBench {
    /// The index method to measure.
    pub method: MethodName,
    /// Number of rows to load.
    pub keys: u32,
    /// Number of rows of each key. With Zipf keys it is the mean.
    pub rows_per_key: u32,
    /// Size of a key in bytes.
    pub key_size: usize,
    /// How the keys are distributed.
    pub distribution: KeyDistribution,
    /// Number of updates after the load, in percent of the keys.
    pub update_percent: u32,
    /// How the present keys that are looked up are chosen. Absent keys are drawn uniformly.
    pub lookup_distribution: LookupDistribution,
    /// The kinds of lookup to measure.
    pub lookups: Vec<LookupKind>,
    /// Lookups of each kind. The middle key is looked up only once.
    pub lookup_count: u32,
    /// Number of points in the second half of the load at which lookups are made. The lookups are
    /// divided evenly among them. With 0, all lookups come after the load. None stands for the
    /// method's default.
    pub states: Option<u32>,
    /// Seed of the keys and of the random draws.
    pub seed: u64,
    /// The flash part that the index is stored on.
    pub part: Arc<Part>,
    /// Power that the chip takes while it works, milliwatts.
    pub active_mw: u32,
    /// RAM that the method may use, in bytes. None stands for the method's default.
    pub ram: Option<usize>,
    /// Parameters that only some methods have.
    pub tuning: Tuning,
}

/// Run all benches on all cores. `finished` is called after each.
pub fn run_all(
    benches: &[IndexBench],
    finished: impl Fn() + Sync,
) -> Vec<Result<IndexCosts, MethodError>> {
    let one = |bench: &IndexBench| {
        let outcome = bench.run();
        finished();
        outcome
    };
    benches.par_iter().with_max_len(1).map(one).collect()
}

impl IndexBench {
    /// A description of the run in one line.
    pub fn title(&self) -> String {
        let Self { method, keys, key_size, distribution, part, .. } = self;
        let (method, distribution) = (method.name(), distribution.name());
        format!("{method} ({keys} {distribution} keys of {key_size} bytes on {})", part.name)
    }

    /// Check that the method can run with these parameters, by building an empty index.
    pub fn check(&self) -> Result<(), MethodError> {
        self.keys()?;
        let spec = self.spec();
        self.check_rows(&spec)?;
        spec.with(&self.setup(&spec)?, |_| Ok(()))
    }

    /// The result of a run in which nothing happens. It has all fields that the result can have.
    pub fn blank(&self) -> IndexCosts {
        let update = (self.update_percent > 0).then(UpdateCost::default);
        IndexCosts { parameters: self.parameters(), update, ..IndexCosts::default() }
    }

    /// The parameters that are not fields of the result.
    pub(super) fn parameters(&self) -> BTreeMap<&'static str, Parameter> {
        let Tuning { bits_per_key, hash_count, flush, pace, .. } = self.tuning;
        let Tuning { spare_percent, list_max, chain_len, .. } = self.tuning;
        let mut parameters = match self.method {
            MethodName::Pbfilter | MethodName::Pbfilter2 => BTreeMap::from([
                ("bits-per-key", bits_per_key.into()),
                ("hash-count", hash_count.into()),
                ("flush", if flush == FlushUnit::Sector { "sector" } else { "page" }.into()),
            ]),
            MethodName::Runs | MethodName::RunsFilter => {
                let pace = if pace == Pace::Spread { "spread" } else { "synchronous" };
                BTreeMap::from([("pace", pace.into())])
            }
            MethodName::Btree => BTreeMap::from([("spare-percent", spare_percent.into())]),
            MethodName::Bftl1 | MethodName::Store | MethodName::StoreOrdered => BTreeMap::new(),
            MethodName::Bftl2 => BTreeMap::from([("list-max", list_max.into())]),
            MethodName::Skimpystash => BTreeMap::from([("chain-len", chain_len.into())]),
        };
        if let Some(ram) = self.ram {
            parameters.insert("ram", (ram as u64).into());
        }
        parameters
    }

    fn keys(&self) -> Result<Keys, MethodError> {
        // If keys have several rows, the Zipf distribution decides the number of rows, not the
        // keys.
        let is_drawn = self.rows_per_key > 1 && self.distribution == KeyDistribution::Zipf;
        let distribution = if is_drawn { KeyDistribution::Random } else { self.distribution };
        Ok(Keys::new(distribution, self.key_size, self.rows().key_count(), self.seed)?)
    }

    fn rows(&self) -> RowKeys {
        RowKeys::new(self.distribution, self.keys, self.rows_per_key, self.seed)
    }

    /// Refuse several rows of a key if the method allows only one. Also refuse updates of keys with
    /// several rows: no method can name the row that is replaced.
    fn check_rows(&self, spec: &MethodSpec) -> Result<(), MethodError> {
        let method = self.method.name();
        if self.rows_per_key > 1 && !self.method.takes_rows_per_key() {
            return Err(MethodError::Refused { method, option: "rows-per-key" });
        }
        if self.rows_per_key > 1 && spec.changes > 0 {
            return Err(MethodError::Refused { method, option: "updates with --rows-per-key" });
        }
        Ok(())
    }

    fn spec(&self) -> MethodSpec {
        let updates = u64::from(self.keys) * u64::from(self.update_percent) / 100;
        MethodSpec {
            name: self.method,
            keys: self.keys,
            rows_per_key: self.rows_per_key,
            in_stretches: self.distribution.is_in_stretches(),
            key_size: self.key_size,
            changes: u32::try_from(updates).unwrap_or(u32::MAX),
            ram: self.ram,
            tuning: self.tuning,
        }
    }

    fn setup(&self, spec: &MethodSpec) -> Result<ChipSetup, MethodError> {
        let block_count = spec.block_count(&self.part.geometry)?;
        ChipSetup::new(&self.part, block_count, self.seed)
    }

    /// Run the bench with an index of the caller's, on the chip of `setup`. The result names the
    /// method of the bench.
    ///
    /// # Errors
    /// Fails if the index fails, or if it does not find a key that it was given.
    pub fn run_own(
        &self,
        setup: &ChipSetup,
        index: &mut dyn IndexMethod,
    ) -> Result<IndexCosts, MethodError> {
        let changes = self.spec().changes;
        Experiment::new(self, setup, index, (self.keys()?, self.rows())).carry_out(changes)
    }

    /// Run the bench and return its figures.
    pub fn run(&self) -> Result<IndexCosts, MethodError> {
        let spec = self.spec();
        self.check_rows(&spec)?;
        let setup = self.setup(&spec)?;
        spec.with(&setup, |method| self.run_own(&setup, method))
    }
}
