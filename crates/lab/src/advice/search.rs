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
    /// These changes, and no others, made together.
    pub together: Option<Measurement>,
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
    /// The most runs for now.
    runs_max: usize,
}

impl Search<'_> {
    /// The costs of a configuration. None if it is refused, or if the time is over.
    fn cost(&mut self, what: Configuration) -> Option<Measurement> {
        if let Some(known) = self.tried.iter().find(|known| known.what == what) {
            return Some(known.clone());
        }
        if self.runs >= self.runs_max || !(self.has_time)() {
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
    let tried = vec![measured.clone()];
    // The last run is for the changes together.
    let mut search = Search { demand, has_time, tried, runs: 1, runs_max: RUNS_MAX - 1 };
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
    let (mut changes, mut together) = (Vec::new(), None);
    if let Some(best) = &best {
        (changes, together) = matter(&mut search, today, best.what);
    }
    let (runs, mut ranking) = (search.runs, search.tried);
    ranking.sort_by(|one, other| other.life().total_cmp(&one.life()));
    Ok(Advice { today: measured, best, ranking, changes, together, runs })
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
/// Also: the same changes together.
fn matter(
    search: &mut Search<'_>,
    today: Configuration,
    best: Configuration,
) -> (Vec<Change>, Option<Measurement>) {
    type Made = fn(Configuration, Configuration) -> Configuration;
    let candidates: [(&str, Made); 6] = [
        ("the stack", |it, best| Configuration { stack: best.stack, ..it }),
        ("the journal", |it, best| Configuration { mode: best.mode, ..it }),
        ("the page size", |it, best| Configuration { page_size: best.page_size, ..it }),
        ("ten transactions as one", |it, _| Configuration { group: GROUP, ..it }),
        ("the cache", |it, best| Configuration { cache_size: best.cache_size, ..it }),
        ("compression", |it, best| Configuration { is_uncompressed: best.is_uncompressed, ..it }),
    ];
    let mut changes: Vec<(Change, Made)> = Vec::new();
    for (what, made) in candidates {
        let configuration = made(today, best);
        if configuration != today
            && let Some(result) = search.cost(configuration)
        {
            changes.push((Change { what: what.to_owned(), result }, made));
        }
    }
    changes.sort_by(|(one, _), (other, _)| other.result.life().total_cmp(&one.result.life()));
    changes.truncate(CHANGES_MAX);
    let all = changes.iter().fold(today, |it, (_, made)| made(it, best));
    search.runs_max = RUNS_MAX;
    let together = if changes.is_empty() { None } else { search.cost(all) };
    (changes.into_iter().map(|(change, _)| change).collect(), together)
}
