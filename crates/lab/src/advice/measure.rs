//! What a configuration costs, by one run of the workload.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flysch_sqlite::calls::Call;
use flysch_sqlite::{JournalMode, Synchronous};
use serde::Serialize;

use super::{Configuration, Safety};
use crate::bench::run::{Latency, Run};
use crate::bench::scenario::Scenario;
use crate::recording::{Recording, Replay, Variant};
use crate::workload::Workload;

/// The workload that the advice is for.
pub enum Subject {
    /// A recording or a script, and for each of its databases the host's file that it begins with.
    Recording(Box<Recording>, BTreeMap<String, PathBuf>),
    /// The lab's workload that the scenario names.
    Workload,
}

/// The workload, the machine, and the limits that the answer must keep.
pub struct Demand {
    pub subject: Subject,
    /// The machine. The configuration replaces its stack and settings.
    pub scenario: Scenario,
    pub transactions_per_day: f64,
    /// The 99th percentile of transaction times must not exceed this, milliseconds. None: no limit.
    pub p99_ms: Option<f64>,
}

/// What a configuration costs, and what survives a power cut under it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    pub configuration: String,
    /// Years until the programs that the part has left of those it is rated for are used up, if
    /// wear is spread evenly. None if the flash does not wear.
    pub years: Option<f64>,
    pub programs_per_transaction: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub energy_mj: f64,
    pub survives: Safety,
    #[serde(skip)]
    pub what: Configuration,
}

impl Measurement {
    /// Whether this configuration keeps the limit on time and loses no acknowledged transaction.
    pub fn suits(&self, demand: &Demand) -> bool {
        let is_quick = demand.p99_ms.is_none_or(|most| self.p99_ms <= most);
        is_quick && self.survives == Safety::Whole
    }

    /// Years for comparisons: infinite if nothing wears.
    pub fn life(&self) -> f64 {
        self.years.unwrap_or(f64::INFINITY)
    }
}

/// What one run of the workload used.
struct Used {
    programs: u64,
    /// The erases that the partition has left after the run.
    erase_budget: u64,
    energy_mj: f64,
    transaction_ns: Vec<u64>,
    mode: Option<(JournalMode, Synchronous)>,
}

impl Used {
    const fn new(
        run: &Run,
        transaction_ns: Vec<u64>,
        mode: Option<(JournalMode, Synchronous)>,
    ) -> Self {
        let programs = run.operations.page_programs;
        let Run { erase_budget, energy_mj, .. } = *run;
        Self { programs, erase_budget, energy_mj, transaction_ns, mode }
    }
}

impl Demand {
    /// Run the workload under a configuration.
    ///
    /// # Errors
    /// The stack refuses the configuration, or the workload fails.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub fn measure(&self, what: Configuration) -> Result<Measurement, String> {
        let scenario = what.apply(&self.scenario);
        let used = match &self.subject {
            Subject::Recording(recording, sources) => {
                replayed(recording, sources, what, &scenario)?
            }
            Subject::Workload => {
                let run = scenario.run().map_err(|error| error.to_string())?;
                let settings = scenario.settings;
                let mode = Some((settings.journal_mode, settings.synchronous));
                let transaction_ns = transactions(&scenario, run.request_ns.clone());
                Used::new(&run, transaction_ns, mode)
            }
        };
        let count = used.transaction_ns.len().max(1) as f64;
        let per_transaction = used.programs as f64 / count;
        let pages_per_block = scenario.build.part.geometry.pages_per_block;
        let life = used.erase_budget as f64 * f64::from(pages_per_block);
        let per_day = per_transaction * self.transactions_per_day;
        let latency = Latency::of(&used.transaction_ns);
        let survives = used.mode.map_or(Safety::Nothing, |(journal, synchronous)| {
            Safety::of(journal, synchronous, what.group)
        });
        Ok(Measurement {
            configuration: what.to_string(),
            years: (per_day > 0.0).then(|| life / per_day / 365.25),
            programs_per_transaction: per_transaction,
            p50_ms: latency.p50 as f64 / 1e6,
            p99_ms: latency.p99 as f64 / 1e6,
            energy_mj: used.energy_mj / count,
            survives,
            what,
        })
    }
}

/// The times of the transactions of a workload. What is asked after as many as the scenario has
/// requests is a query. A mount and what follows it are the steps of one.
fn transactions(scenario: &Scenario, mut request_ns: Vec<u64>) -> Vec<u64> {
    if matches!(scenario.workload, Workload::Mount(_)) {
        return vec![request_ns.iter().sum()];
    }
    request_ns.truncate(scenario.requests as usize);
    request_ns
}

fn replayed(
    recording: &Recording,
    sources: &BTreeMap<String, PathBuf>,
    what: Configuration,
    scenario: &Scenario,
) -> Result<Used, String> {
    let variant: Variant = what.variant();
    let replay = Replay { recording, sources, variant, is_paced: false };
    let why = |error: crate::recording::ReplayError| error.to_string();
    let simulation = replay.simulation(scenario).map_err(why)?;
    let (mut transaction_ns, mut mode) = (Vec::new(), None);
    let (mut began_ns, mut connections) = (simulation.now_ns(), BTreeMap::new());
    let (mut refused, ends) = (None, recording.transaction_ends());
    let has_ends = ends.contains(&true);
    replay
        .play(&simulation, |place, entry, player| {
            let connection = match &entry.call {
                Call::Prepare { connection, statement, .. } => {
                    connections.insert(*statement, *connection);
                    return;
                }
                Call::Execute { connection, .. } => *connection,
                Call::Step { statement } | Call::Reset { statement } => {
                    connections.get(statement).copied().unwrap_or(0)
                }
                _ => return,
            };
            // The recording counts its own transactions, even those that failed in this run. One
            // without transactions has a mode too.
            if !ends[place] && has_ends || connection == 0 {
                return;
            }
            if ends[place] {
                let now_ns = simulation.now_ns();
                transaction_ns.push(now_ns - began_ns);
                began_ns = now_ns;
            }
            if mode.is_none() {
                let mut ask = |sql: &str| player.ask(connection, sql).into_iter().next();
                let journal: Option<JournalMode> =
                    ask("PRAGMA journal_mode").and_then(|name| name.parse().ok());
                let level =
                    ask("PRAGMA synchronous").and_then(|number| Synchronous::numbered(&number));
                mode = journal.zip(level);
                let wanted = what.mode.map(|(journal, _)| journal);
                if wanted.is_some() && wanted != journal {
                    refused = Some("the journal mode is refused".to_owned());
                }
            }
        })
        .map_err(why)?;
    if let Some(refused) = refused {
        return Err(refused);
    }
    let run = simulation.finish(scenario).map_err(|error| error.to_string())?;
    Ok(Used::new(&run, transaction_ns, mode))
}
