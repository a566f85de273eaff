//! Finds the best of many configurations with few runs.
//!
//! The stack and the journal mode matter most and depend on each other, so all pairs are tried,
//! with the other settings unchanged. Page sizes are tried on the two best pairs. The cache,
//! compression and read-ahead are then changed one at a time on the best configuration. A change
//! that makes it worse is dropped.

use flysch_sqlite::JournalMode;
use serde::Serialize;

use super::{Configuration, Demand, Measurement, Space, Subject};
use crate::machine::stack::{Main, Stack};

/// The effect of one change to today's configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub what: String,
    pub result: Measurement,
}

/// The recommended configuration and the measurements that it is based on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The configuration that the program has today.
    pub today: Measurement,
    /// The best configuration that keeps the limits. None if none does.
    pub best: Option<Measurement>,
    /// All configurations that were tried, the longest life first.
    pub ranking: Vec<Measurement>,
    /// The single changes of today's configuration that prolong its life most.
    pub changes: Vec<Change>,
    /// Today's configuration with all of `changes` at once. None if there are none, or if this run
    /// was not possible.
    pub together: Option<Measurement>,
    /// Number of runs that the search made.
    pub runs: usize,
}

/// The most runs: a tenth of the configurations of four stacks.
const RUNS_MAX: usize = 28;
/// The most changes that the advice lists.
const CHANGES_MAX: usize = 3;
/// How many transactions are joined into one, to show the effect.
const GROUP: u32 = 10;

/// The state of the search.
struct Search<'a> {
    demand: &'a Demand,
    /// Whether there is time for another run.
    has_time: &'a dyn Fn() -> bool,
    tried: Vec<Measurement>,
    runs: usize,
    /// The most runs at this stage of the search.
    runs_max: usize,
}

impl Search<'_> {
    /// What a configuration costs. None if the stack refuses it, or if no time or no run is left.
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

    /// The best configuration so far that keeps the limits.
    fn best(&self) -> Option<Measurement> {
        let fitting = self.tried.iter().filter(|it| it.suits(self.demand));
        fitting.reduce(|one, other| if other.life() > one.life() { other } else { one }).cloned()
    }

    /// The two pairs of stack and journal mode that live longest.
    fn leaders(&self) -> Vec<Configuration> {
        let mut fitting: Vec<&Measurement> =
            self.tried.iter().filter(|it| it.suits(self.demand)).collect();
        fitting.sort_by(|one, other| other.life().total_cmp(&one.life()));
        fitting.iter().take(2).map(|it| it.what).collect()
    }
}

/// Find the best configuration of a space. `today` is the configuration that the program has.
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
    // One run is kept back for all changes together.
    let mut search = Search { demand, has_time, tried, runs: 1, runs_max: RUNS_MAX - 1 };
    for &stack in &space.stacks {
        for &mode in &space.modes {
            if !can_be(stack, mode.0) {
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
        (changes, together) = matter(&mut search, space, today, best.what);
    }
    let (runs, mut ranking) = (search.runs, search.tried);
    ranking.sort_by(|one, other| other.life().total_cmp(&one.life()));
    Ok(Advice { today: measured, best, ranking, changes, together, runs })
}

/// Whether the stack can have the journal mode. JFFS2 does not support shared writable mappings, so
/// SQLite has no write-ahead log on it.
fn can_be(stack: Stack, journal: JournalMode) -> bool {
    stack.main != Main::Jffs2 || journal != JournalMode::Wal
}

type ChangeOf = Box<dyn Fn(Configuration) -> Configuration>;

/// The changes that are tried one at a time on the best configuration. Read-ahead is among them
/// only if time is limited.
fn others(space: &Space, is_timed: bool) -> Vec<ChangeOf> {
    let mut all: Vec<ChangeOf> = Vec::new();
    for size in space.cache_sizes.iter().copied().flatten() {
        all.push(Box::new(move |it| Configuration { cache_size: Some(size), ..it }));
    }
    all.push(Box::new(|it| Configuration { is_uncompressed: !it.is_uncompressed, ..it }));
    // Read-ahead does not wear the flash; it only takes time.
    if is_timed {
        all.push(Box::new(|it| Configuration { reads_no_further: true, ..it }));
    }
    all
}

/// A change of one setting, with a name for the report.
type NamedChange = (String, ChangeOf);

/// One change for each setting in which the best configuration differs from today's. Joining
/// transactions is added, which only a recording can show.
fn of_the_best(subject: &Subject, today: Configuration, best: Configuration) -> Vec<NamedChange> {
    let all: [(&str, ChangeOf); 6] = [
        ("the stack", Box::new(move |it| Configuration { stack: best.stack, ..it })),
        ("the journal", Box::new(move |it| Configuration { mode: best.mode, ..it })),
        ("the page size", Box::new(move |it| Configuration { page_size: best.page_size, ..it })),
        ("ten transactions as one", Box::new(|it| Configuration { group: GROUP, ..it })),
        ("the cache", Box::new(move |it| Configuration { cache_size: best.cache_size, ..it })),
        (
            "compression",
            Box::new(move |it| Configuration { is_uncompressed: best.is_uncompressed, ..it }),
        ),
    ];
    let can_group = matches!(subject, Subject::Recording(..));
    let is_possible = |it: Configuration| {
        let has_journal = it.mode.is_none_or(|(journal, _)| can_be(it.stack, journal));
        it != today && has_journal && (can_group || it.group == 1)
    };
    let differs = all.into_iter().filter(|(_, change)| is_possible(change(today)));
    differs.map(|(what, change)| (what.to_owned(), change)).collect()
}

/// Changes of the settings that the best configuration shares with today's.
fn elsewhere(space: &Space, today: Configuration, best: Configuration) -> Vec<NamedChange> {
    let mut all: Vec<NamedChange> = Vec::new();
    let modes = space.modes.iter().filter(|(journal, _)| can_be(today.stack, *journal));
    let modes = modes.filter(|_| best.mode == today.mode);
    for &(journal, synchronous) in modes {
        let mode = Some((journal, synchronous));
        let change = Box::new(move |it| Configuration { mode, ..it });
        all.push((format!("a {journal} journal"), change));
    }
    let sizes = space.page_sizes.iter().filter(|_| best.page_size == today.page_size);
    for size in sizes.copied().flatten() {
        let change = Box::new(move |it| Configuration { page_size: Some(size), ..it });
        all.push((format!("pages of {size}"), change));
    }
    if best.is_uncompressed == today.is_uncompressed {
        let change: ChangeOf =
            Box::new(|it| Configuration { is_uncompressed: !it.is_uncompressed, ..it });
        all.push(("no compression".to_owned(), change));
    }
    let sizes = space.cache_sizes.iter().filter(|_| best.cache_size == today.cache_size);
    for size in sizes.copied().flatten().rev() {
        let change = Box::new(move |it| Configuration { cache_size: Some(size), ..it });
        all.push((format!("a cache of {size} pages"), change));
    }
    all
}

/// The changes of today's configuration that prolong its life most, each measured alone, and all of
/// them measured together. Settings of the best configuration come first; if these are few, other
/// settings are added.
fn matter(
    search: &mut Search<'_>,
    space: &Space,
    today: Configuration,
    best: Configuration,
) -> (Vec<Change>, Option<Measurement>) {
    let mut changes = measured(search, today, of_the_best(&search.demand.subject, today, best));
    if changes.len() < CHANGES_MAX {
        let others = measured(search, today, elsewhere(space, today, best));
        // Two changes of the same setting cannot be combined.
        for other in others {
            let both = changes.iter().all(|(_, change)| {
                let (one, two) = (change(other.1(today)), other.1(change(today)));
                one == two
            });
            if both && changes.len() < CHANGES_MAX {
                changes.push(other);
            }
        }
        changes.sort_by(|(one, _), (two, _)| two.result.life().total_cmp(&one.result.life()));
    }
    changes.truncate(CHANGES_MAX);
    let all = changes.iter().fold(today, |it, (_, change)| change(it));
    search.runs_max = RUNS_MAX;
    let together = if changes.is_empty() { None } else { search.cost(all) };
    (changes.into_iter().map(|(change, _)| change).collect(), together)
}

/// The measurement of each change alone, the longest life first.
fn measured(
    search: &mut Search<'_>,
    today: Configuration,
    changes: Vec<NamedChange>,
) -> Vec<(Change, ChangeOf)> {
    let mut all: Vec<(Change, ChangeOf)> = Vec::new();
    for (what, change) in changes {
        let result = search.cost(change(today));
        all.extend(result.map(|result| (Change { what, result }, change)));
    }
    all.sort_by(|(one, _), (two, _)| two.result.life().total_cmp(&one.result.life()));
    all
}
