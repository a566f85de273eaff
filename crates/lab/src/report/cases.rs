//! The runs of a report as cases: which parameters differ between them, and which names they get.
//!
//! A *series* is what one line of a chart shows: a stack, plus the parameters that differ between
//! runs of the same workload, record size and number of requests.

use std::collections::{BTreeMap, BTreeSet};

use flysch_charts::number::thousands;
use flysch_charts::statistics::Spread;

use crate::bench::run::Run;

/// The most runs that are shown one by one. If there are more, one is shown for each workload and
/// series.
const SHOWN_MAX: usize = 16;

/// Runs that differ only in their seed, with the series that they belong to.
pub(super) struct Case<'a> {
    /// The run of the first seed, for parts of the report that show a single run.
    pub(super) run: &'a Run,
    /// The runs of all seeds, the first included.
    pub(super) seeds: Vec<&'a Run>,
    /// The index of its series in [`Cases::series`], which also decides its colour.
    pub(super) style: usize,
}

/// All runs of a report.
pub(super) struct Cases<'a> {
    /// The cases in the order of the runs.
    pub(super) all: Vec<Case<'a>>,
    /// Names of the workloads, in order of appearance.
    pub(super) workloads: Vec<&'a str>,
    /// Names of the series, in order of appearance.
    pub(super) series: Vec<String>,
    /// Record sizes in ascending order.
    pub(super) record_sizes: Vec<u32>,
    /// Numbers of requests in ascending order.
    pub(super) requests: Vec<u32>,
}

/// What runs must have in common to be compared: workload, stack, record size and requests.
type Key<'a> = (&'a str, &'a str, u32, u32);

impl Case<'_> {
    /// Mean and deviation of a number over the seeds.
    pub(super) fn spread(&self, of: impl Fn(&Run) -> f64) -> Spread {
        let values: Vec<f64> = self.seeds.iter().map(|run| of(run)).collect();
        Spread::of(&values)
    }

    /// The confidence interval of a number over the seeds. None if there is only one seed.
    pub(super) fn interval(&self, of: impl Fn(&Run) -> f64) -> Option<(f64, f64)> {
        (self.seeds.len() > 1).then(|| self.spread(of).interval())
    }
}

impl<'a> Cases<'a> {
    /// Group the runs into cases and find the parameters that differ.
    pub(super) fn of(runs: &'a [Run]) -> Self {
        let names = distinguishing(runs);
        // The index in `all` of the case of each series and key.
        let mut seen: BTreeMap<(String, Key<'a>), usize> = BTreeMap::new();
        let mut cases = Self {
            all: Vec::with_capacity(runs.len()),
            workloads: Vec::new(),
            series: Vec::new(),
            record_sizes: ascending(runs.iter().map(|run| run.inputs.record_size)),
            requests: ascending(runs.iter().map(|run| run.inputs.requests)),
        };
        for run in runs {
            let plain = label(run, &names);
            let mut label = plain.clone();
            let mut nth = 1;
            while let Some(&place) = seen.get(&(label.clone(), key(run))) {
                let known: &mut Case<'_> = &mut cases.all[place];
                if known.seeds.iter().all(|other| other.inputs.seed != run.inputs.seed) {
                    break;
                }
                nth += 1;
                label = format!("{plain} #{nth}");
            }
            let next = cases.all.len();
            let place = *seen.entry((label.clone(), key(run))).or_insert(next);
            let style = place_of(&mut cases.series, label);
            place_of(&mut cases.workloads, run.inputs.workload.as_str());
            if place == next {
                cases.all.push(Case { run, seeds: Vec::new(), style });
            }
            cases.all[place].seeds.push(run);
        }
        cases
    }

    /// Whether the number of requests varies, so that lines against it can be drawn.
    pub(super) fn is_sweep(&self) -> bool {
        self.requests.len() > 1
    }

    /// The cases that are shown one by one. These are all, or for each workload and series the one
    /// with the most requests and, among those, the largest records.
    pub(super) fn shown(&self) -> Vec<&Case<'a>> {
        if self.all.len() <= SHOWN_MAX {
            return self.all.iter().collect();
        }
        let mut largest: BTreeMap<(&str, usize), &Case<'a>> = BTreeMap::new();
        for case in &self.all {
            let slot =
                largest.entry((case.run.inputs.workload.as_str(), case.style)).or_insert(case);
            if size(case.run) > size(slot.run) {
                *slot = case;
            }
        }
        let is_largest = |case: &&Case<'a>| {
            let slot = largest[&(case.run.inputs.workload.as_str(), case.style)];
            std::ptr::eq(slot, *case)
        };
        self.all.iter().filter(is_largest).collect()
    }

    /// A sentence that says which runs [`Cases::shown`] chose. Empty if it shows all.
    pub(super) fn shown_note(&self) -> String {
        let mut said = Vec::new();
        if self.shown().len() < self.all.len() {
            said.push(
                "Of each workload and stack, the run of most requests and, among those, of the \
                 greatest records is shown.",
            );
        }
        if self.has_seeds() {
            said.push("Where one run is shown, it is that of the first seed.");
        }
        match said.as_slice() {
            [] => String::new(),
            _ => format!("<p class=\"note\">{}</p>\n", said.join(" ")),
        }
    }

    /// Whether any case has several seeds.
    pub(super) fn has_seeds(&self) -> bool {
        self.all.iter().any(|case| case.seeds.len() > 1)
    }

    /// The runs of all cases and seeds.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&Case<'a>, &'a Run)> {
        self.all.iter().flat_map(|case| case.seeds.iter().map(move |run| (case, *run)))
    }

    pub(super) fn of_workload(&self, workload: &str) -> Vec<&Case<'a>> {
        self.all.iter().filter(|case| case.run.inputs.workload == workload).collect()
    }

    /// The name of the series that a case belongs to.
    pub(super) fn name(&self, case: &Case<'_>) -> &str {
        &self.series[case.style]
    }

    /// The name of the series. Record size and number of requests are added if they vary.
    pub(super) fn full_name(&self, case: &Case<'_>) -> String {
        let mut name = self.name(case).to_owned();
        if self.record_sizes.len() > 1 {
            name.push_str(&format!(", {}\u{202f}B", thousands(case.run.inputs.record_size.into())));
        }
        if self.requests.len() > 1 {
            name.push_str(&format!(" \u{d7} {}", thousands(case.run.inputs.requests.into())));
        }
        name
    }
}

/// All parameters of a run that are not in its [`Key`], by name.
fn particulars(run: &Run) -> BTreeMap<&str, String> {
    let mut all: BTreeMap<&str, String> =
        run.inputs.parameters.iter().map(|(name, value)| (*name, value.to_string())).collect();
    all.insert("platform", run.inputs.platform.clone());
    all.insert("part", run.inputs.part.clone());
    all
}

/// Names of the parameters that differ between runs with the same [`Key`].
fn distinguishing(runs: &[Run]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut first_of: BTreeMap<Key<'_>, &Run> = BTreeMap::new();
    for run in runs {
        let first = particulars(first_of.entry(key(run)).or_insert(run));
        let these = particulars(run);
        let differs = |name: &&str| first.get(name) != these.get(name);
        let own = run.inputs.parameters.keys().copied().chain(["platform", "part"]);
        names.extend(own.filter(differs));
    }
    names
}

fn label(run: &Run, names: &BTreeSet<&str>) -> String {
    let known = particulars(run);
    let mut label = run.inputs.on.clone();
    for name in names {
        if let Some(value) = known.get(name) {
            label.push_str(&format!(", {name} {value}"));
        }
    }
    label
}

fn key(run: &Run) -> Key<'_> {
    (&run.inputs.workload, &run.inputs.on, run.inputs.record_size, run.inputs.requests)
}

fn size(run: &Run) -> (u32, u32) {
    (run.inputs.requests, run.inputs.record_size)
}

fn ascending(values: impl Iterator<Item = u32>) -> Vec<u32> {
    values.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The index of a value in a list. A new value is appended.
fn place_of<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}
