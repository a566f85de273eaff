//! Few runs that find the best of many configurations.
//!
//! Stack and journal decide most, and they depend on each other: all pairs are tried, with all else
//! as it is. Page sizes are tried on the two best pairs. The cache, compression and read-ahead are
//! then changed one at a time on the best, and what makes it worse is dropped.

use flysch_sqlite::JournalMode;
use serde::Serialize;

use super::{Configuration, Demand, Measurement, Space};
use crate::machine::stack::Main;

/// What changing one thing of today's configuration does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub what: String,
    pub result: Measurement,
}

/// What is advised, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The configuration of today.
    pub today: Measurement,
    /// The best that suits. None if nothing does.
    pub best: Option<Measurement>,
    /// All that were tried, the longest life first.
    pub ranking: Vec<Measurement>,
    /// The changes that matter most, each alone.
    pub changes: Vec<Change>,
    /// Number of runs.
    pub runs: usize,
}

/// The most runs: a tenth of the configurations of four stacks.
const RUNS_MAX: usize = 28;
/// The most changes that are told.
const CHANGES_MAX: usize = 3;
/// Transactions that are made one, to show what that would do.
const GROUP: u32 = 10;

/// What was tried so far.
struct Search<'a> {
    demand: &'a Demand,
    /// Whether there is time for another run.
    has_time: &'a dyn Fn() -> bool,
    tried: Vec<Measurement>,
    runs: usize,
}

impl Search<'_> {
    /// The costs of a configuration. None if it is refused, or if the time is over.
    fn cost(&mut self, what: Configuration) -> Option<Measurement> {
        if let Some(known) = self.tried.iter().find(|known| known.what == what) {
            return Some(known.clone());
        }
        if self.runs >= RUNS_MAX || !(self.has_time)() {
            return None;
        }
        self.runs += 1;
        let measured = self.demand.measure(what).ok()?;
        self.tried.push(measured.clone());
        Some(measured)
    }

    /// The best that suits, of all so far.
    fn best(&self) -> Option<Measurement> {
        let fitting = self.tried.iter().filter(|it| it.suits(self.demand));
        fitting.reduce(|one, other| if other.life() > one.life() { other } else { one }).cloned()
    }

    /// The two stacks with modes that live longest.
    fn leaders(&self) -> Vec<Configuration> {
        let mut fitting: Vec<&Measurement> =
            self.tried.iter().filter(|it| it.suits(self.demand)).collect();
        fitting.sort_by(|one, other| other.life().total_cmp(&one.life()));
        fitting.iter().take(2).map(|it| it.what).collect()
    }
}

/// Find the best configuration of a space. `today` is what the workload runs on now.
///
/// # Errors
/// Today's configuration cannot be run.
pub fn advise(
    demand: &Demand,
    space: &Space,
    today: Configuration,
    has_time: &dyn Fn() -> bool,
) -> Result<Advice, String> {
    let measured = demand.measure(today)?;
    let mut search = Search { demand, has_time, tried: vec![measured.clone()], runs: 1 };
    for &stack in &space.stacks {
        for &mode in &space.modes {
            // JFFS2 maps no file shared, so there is no write-ahead log on it.
            if stack.main == Main::Jffs2 && mode.0 == JournalMode::Wal {
                continue;
            }
            search.cost(Configuration { mode: Some(mode), ..Configuration::plain(stack) });
        }
    }
    for leader in search.leaders() {
        for &page_size in &space.page_sizes {
            search.cost(Configuration { page_size, ..leader });
        }
    }
    for change in others(space, demand.p99_ms.is_some()) {
        if let Some(best) = search.best() {
            search.cost(change(best.what));
        }
    }
    let best = search.best();
    let changes = best.as_ref().map(|best| changes(&mut search, today, best.what));
    let (runs, mut ranking) = (search.runs, search.tried);
    ranking.sort_by(|one, other| other.life().total_cmp(&one.life()));
    Ok(Advice { today: measured, best, ranking, changes: changes.unwrap_or_default(), runs })
}

type ChangeOf = Box<dyn Fn(Configuration) -> Configuration>;

/// Changes of one thing at a time.
fn others(space: &Space, is_timed: bool) -> Vec<ChangeOf> {
    let mut all: Vec<ChangeOf> = Vec::new();
    for size in space.cache_sizes.iter().copied().flatten() {
        all.push(Box::new(move |it| Configuration { cache_size: Some(size), ..it }));
    }
    all.push(Box::new(|it| Configuration { is_uncompressed: !it.is_uncompressed, ..it }));
    // It wears nothing.
    if is_timed {
        all.push(Box::new(|it| Configuration { reads_no_further: true, ..it }));
    }
    all
}

/// What of the best configuration does most for today's, each alone, and what grouping would do.
fn changes(search: &mut Search<'_>, today: Configuration, best: Configuration) -> Vec<Change> {
    let candidates = [
        ("the stack", Configuration { stack: best.stack, ..today }),
        ("the journal", Configuration { mode: best.mode, ..today }),
        ("the page size", Configuration { page_size: best.page_size, ..today }),
        ("the cache", Configuration { cache_size: best.cache_size, ..today }),
        ("compression", Configuration { is_uncompressed: best.is_uncompressed, ..today }),
        ("ten transactions as one", Configuration { group: GROUP, ..today }),
    ];
    let mut changes: Vec<Change> = Vec::new();
    for (what, configuration) in candidates {
        if configuration != today
            && let Some(result) = search.cost(configuration)
        {
            changes.push(Change { what: what.to_owned(), result });
        }
    }
    changes.sort_by(|one, other| other.result.life().total_cmp(&one.result.life()));
    changes.truncate(CHANGES_MAX);
    changes
}
