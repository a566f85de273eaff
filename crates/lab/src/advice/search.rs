//! Few runs that find the best of many configurations.
//!
//! Stack and journal decide most, and they depend on each other: all pairs are tried, with all else
//! as it is. Page sizes are tried on the two best pairs. The cache, compression and read-ahead are
//! then changed one at a time on the best, and what makes it worse is dropped.

use flysch_sqlite::JournalMode;
use serde::Serialize;

use super::{Configuration, Demand, Measurement, Space, Subject};
use crate::machine::stack::{Main, Stack};

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

/// JFFS2 maps no file shared, so there is no write-ahead log on it.
fn can_be(stack: Stack, journal: JournalMode) -> bool {
    stack.main != Main::Jffs2 || journal != JournalMode::Wal
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

/// A change of one thing, by its name.
type NamedChange = (String, ChangeOf);

/// Each thing in which the best configuration differs from today's, and grouping, which only a
/// recording can show.
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

/// Changes of what the best configuration has as today's.
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

/// The changes of today's configuration that do most, each alone, and the same together. They are
/// those of the best; where these are few, others that were tried fill up.
fn matter(
    search: &mut Search<'_>,
    space: &Space,
    today: Configuration,
    best: Configuration,
) -> (Vec<Change>, Option<Measurement>) {
    let mut changes = measured(search, today, of_the_best(&search.demand.subject, today, best));
    if changes.len() < CHANGES_MAX {
        let others = measured(search, today, elsewhere(space, today, best));
        // Two values of one thing cannot be had together.
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

/// What each change costs alone, the longest life first.
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
