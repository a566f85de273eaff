//! Grids: every combination of the requested values is a scenario. They run on all cores.

use std::sync::Arc;

use rayon::prelude::*;

use super::carry_out::run_in_turn;
use super::error::RunError;
use super::run::Run;
use super::scenario::{Scenario, Timers};
use crate::machine::Build;
use crate::machine::platform::Platform;
use crate::machine::stack::Stack;
use crate::workload::{Alphabet, Workload};

pub use super::axes::{Axes, has_repeated, spread};
pub use super::kernel_options::{CompressionOption, ReadAheadOption};

/// The workloads, stacks and platforms to combine, and the values of every parameter.
#[derive(Clone, Debug)]
pub struct Grid {
    pub workloads: Vec<Workload>,
    pub stacks: Vec<Stack>,
    pub platforms: Vec<Arc<Platform>>,
    /// The values of all other parameters.
    pub axes: Axes,
    /// Whether the runs keep their traces.
    pub keeps_traces: bool,
}

impl Grid {
    /// One workload on one stack of one platform. All other parameters have the platform's values.
    pub fn new(workload: impl Into<Workload>, stack: Stack, platform: Arc<Platform>) -> Self {
        Self {
            workloads: vec![workload.into()],
            stacks: vec![stack],
            platforms: vec![platform],
            axes: Axes {
                record_sizes: vec![600],
                requests: vec![1000],
                seeds: vec![1],
                alphabets: vec![Alphabet::Bytes],
                ..Axes::default()
            },
            keeps_traces: false,
        }
    }

    /// How many scenarios the grid has.
    pub fn run_count(&self) -> u64 {
        self.plain().map(|plain| self.axes.count(&plain)).fold(0, u64::saturating_add)
    }

    /// The names of the parameters that have values and apply to no scenario.
    pub fn idle(&self) -> Vec<&'static str> {
        self.axes.idle(&self.plain().collect::<Vec<_>>())
    }

    /// Every combination, in a fixed order: workloads vary slowest, seeds fastest. A parameter that
    /// does not apply to a workload adds no scenarios to it.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let mut all: Vec<Scenario> =
            self.plain().flat_map(|plain| self.axes.combinations(plain)).collect();
        if self.axes.partition_blocks.is_empty() {
            all.iter_mut().for_each(Scenario::make_room);
        }
        all
    }

    /// Each workload on each platform and stack, with the platform's values for all parameters.
    fn plain(&self) -> impl Iterator<Item = Scenario> {
        let on_platform = move |workload, platform| {
            self.stacks.iter().map(move |&stack| Scenario {
                keeps_trace: self.keeps_traces,
                ..default_scenario(workload, platform, stack)
            })
        };
        let of_workload =
            move |&workload| self.platforms.iter().flat_map(move |it| on_platform(workload, it));
        self.workloads.iter().flat_map(of_workload)
    }
}

/// A scenario in which every parameter has the platform's value.
fn default_scenario(workload: Workload, platform: &Arc<Platform>, stack: Stack) -> Scenario {
    Scenario {
        workload,
        stack,
        build: Build::of(platform),
        settings: platform.sqlite,
        ubifs_ra_pages: 0,
        advises_random: false,
        record_size: workload.record_size().unwrap_or(0),
        requests: 0,
        timers: Timers::Held,
        alphabet: Alphabet::Bytes,
        fill: 0,
        seed: 0,
        keeps_trace: false,
    }
}

/// The most scenarios that share one machine. Smaller groups can be spread over all cores.
const TURNS_MAX: usize = 32;

/// Run the scenarios on all cores and return the outcomes in their order. Those that begin alike
/// share a machine; the figures are the same as those of separate runs. `finished` is called after
/// each scenario, on the thread that ran it.
pub fn run_all(scenarios: &[Scenario], finished: impl Fn() + Sync) -> Vec<Result<Run, RunError>> {
    let turns = turns(scenarios);
    let one = |places: &Vec<usize>| {
        let of_one: Vec<&Scenario> = places.iter().map(|&place| &scenarios[place]).collect();
        let outcomes = run_in_turn(&of_one, &finished);
        places.iter().copied().zip(outcomes).collect::<Vec<_>>()
    };
    let outcomes = turns.par_iter().with_max_len(1).flat_map_iter(one);
    let mut outcomes: Vec<(usize, Result<Run, RunError>)> = outcomes.collect();
    outcomes.sort_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The scenarios grouped by machine, as positions in `scenarios`.
fn turns(scenarios: &[Scenario]) -> Vec<Vec<usize>> {
    let mut turns: Vec<(Option<Scenario>, Vec<usize>)> = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        let wanted = scenario.beginning();
        let fits = |(made, places): &&mut (Option<Scenario>, Vec<usize>)| {
            made.is_some() && *made == wanted && places.len() < TURNS_MAX
        };
        match turns.iter_mut().filter(|_| wanted.is_some()).find(fits) {
            Some((_, places)) => places.push(place),
            None => turns.push((wanted, vec![place])),
        }
    }
    turns.into_iter().map(|(_, places)| places).collect()
}
