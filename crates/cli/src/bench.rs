//! `flysch bench`: runs workloads on stacks, with an option for every parameter.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;
use flysch_kernel::site::Target;
use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::life::Rate;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::{Engine, Main, Stack};
use flysch_lab::report;
use flysch_lab::workload::Workload;
use flysch_names::UnknownName;

use crate::failure::Failure;
use crate::kernel::{MachineOptions, check_parameters};
use crate::life::LifeOptions;
use crate::numbers::once;
use crate::output::{self, Figures};
use crate::parameters::Parameters;
use crate::progress::{Cell, attempt, done};
use crate::provenance::save_trace;
use crate::sheet::{Layout, Sheet, View, blanks};
use crate::workloads::Options;

/// The columns. JSON has all fields.
const LAYOUT: Layout = Layout {
    subject: &["workload", "on"],
    asked: &["platform", "record_size", "requests", "seed", "part"],
    figures: &[
        "time_ns",
        "cpu_ns",
        "flash_ns",
        "begin_ns",
        "end_ns",
        "latency_ns.p50",
        "latency_ns.max",
        "page_reads",
        "page_programs",
        "block_erases",
        "throughput_kb_s",
        "energy_mj",
        "wear.max_erase_count",
        "wear.mean_erase_count",
        "wear.max_over_mean",
        "life.years",
        "life.years_by_programs",
        "life.years_by_erases",
        "standing",
    ],
    shown: &[
        "time_ns",
        "cpu_percent",
        "flash_percent",
        "life.years",
        "page_reads",
        "page_programs",
        "block_erases",
        "latency_ns.p50",
        "latency_ns.max",
        "throughput_kb_s",
        "energy_mj",
        "wear.max_erase_count",
    ],
};

/// Arguments of `flysch bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch bench insert --on sqlite/jffs2 --requests 1000 --record-size 600
  flysch bench select,update --on sqlite/jffs2 --requests 100..5000:100 --record-size 150,600 --format csv
  flysch bench read --on file/jffs2 --pattern random --requests 256 --read-ahead on,off
  flysch bench commit --on sqlite/ubifs,sqlite/ubifs+pramfs --fill 1000 --record-size 100
  flysch bench contacts --on sqlite/jffs2 --text-size 64,128 --pattern random --read-ahead off
  flysch bench postmark --on file/yaffs2 --percent 25,50,100
  flysch bench tpcc --on sqlite/yaffs2,sqlite/yaffs2+pramfs --platform kaist-2.6.19 --warehouses 1 --transactions 200 --format json
  flysch bench update --on sqlite/ftl --ftl page,log-block --ftl-spare 7,20
  flysch bench update --on sqlite/jffs2,sqlite/ubifs --aged-fill 0,70 --aged-invalid 0,15
  flysch bench insert --on kernel:jffs2 --mtd mtd0
  flysch bench overwrite --on file/jffs2,file/yaffs2,file/ubifs,file/ftl --requests 100 --partition-blocks 100
  flysch bench logger --record-size 40 --batch 1,128 --on flysch --ram 9K,16K
  flysch bench mount --record-size 40 --stop cut,clean --on flysch,sqlite/ubifs
  flysch bench update --trace update.trace && flysch trace update.trace causes")]
pub(crate) struct Args {
    /// Workloads: insert, select, join, update, commit, read, contacts, postmark, tpcc, overwrite,
    /// logger, mount
    #[arg(value_name = "WORKLOAD", value_delimiter = ',', required = true)]
    workloads: Vec<Workload>,
    /// Stacks, from the engine down: sqlite/jffs2, file/yaffs2 [default: the workload's engine on
    /// JFFS2]; flysch: this project's engine on the bare chip; kernel:jffs2, kernel:ubifs,
    /// kernel:PATH: the real kernel of this machine
    #[arg(long, value_name = "STACK", value_delimiter = ',')]
    on: Vec<On>,
    #[command(flatten)]
    machine: MachineOptions,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    parameters: Parameters,
    /// Save the trace of the measured interval (one run only)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Save the response time of every request, as CSV
    #[arg(long, value_name = "FILE")]
    latencies: Option<PathBuf>,
    #[command(flatten)]
    figures: Figures,
    #[command(flatten)]
    life: LifeOptions,
    #[command(flatten)]
    view: View,
}

/// Run the workloads and print their costs.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let workloads = args.options.apply(&args.workloads)?;
    once("--on", &args.on)?;
    let (mut jobs, mut grids) = (Vec::new(), Vec::new());
    for on in args.asked_for(&workloads) {
        on.check(&workloads)?;
        let stacks = vec![on.stack(&workloads)];
        let mut grid = args.parameters.grid(workloads.clone(), stacks, &[1000])?;
        grid.keeps_traces = args.trace.is_some();
        jobs.push(Job { on, scenarios: grid.scenarios(), asked: asked(&grid) });
        grids.push(grid);
    }
    args.parameters.check_use(&grids)?;
    jobs.iter().try_for_each(Job::check)?;
    if jobs.iter().all(|job| matches!(job.on, On::Simulated(_))) {
        args.machine.check_unused()?;
    }
    let runs: usize = jobs.iter().map(|job| job.scenarios.len()).sum();
    if args.trace.is_some() && runs > 1 {
        return Err(Failure::Message(format!("--trace is for one run, and these are {runs}")));
    }
    let force = args.figures.force;
    let files = args.trace.iter().chain(&args.latencies);
    files.clone().try_for_each(|path| output::check_writable(path, force))?;
    args.figures.check(files)?;
    let mut expected = Sheet::of(&LAYOUT, &blanks(jobs.iter().flat_map(|job| &job.scenarios)));
    LifeOptions::expect(&mut expected);
    let view = expected.named(args.figures.format, &args.view)?;
    args.view.limit_jobs()?;
    let cells = args.carry_out(&jobs)?;
    let mut runs = done(&cells)?;
    let mut sheet = Sheet::of(&LAYOUT, &cells);
    args.life.tell(&mut sheet, &cells);
    sheet.sort(&view);
    let figures = sheet.render(args.figures.format, &view);
    if let (Some(path), [run]) = (&args.trace, runs.as_mut_slice()) {
        save_trace(&mut run.trace, path, force)?;
    }
    if let Some(path) = &args.latencies {
        let latencies = Sheet::of(&LAYOUT, &runs).latencies(&runs);
        output::write_file(path, latencies.as_bytes(), force)?;
    }
    args.figures.deliver(&figures, || page(&runs, args.life.rate()))
}

/// A command line of this command alone, for cells of a comparison.
#[derive(Debug, clap::Parser)]
#[command(no_binary_name = true)]
struct Alone {
    #[command(flatten)]
    args: Args,
}

/// The simulations that the words after `flysch bench` ask for.
pub(crate) fn scenarios(words: impl Iterator<Item = String>) -> Result<Vec<Scenario>, Failure> {
    let parsed = Alone::try_parse_from(words);
    let args = parsed.map_err(|error| Failure::Message(error.to_string()))?.args;
    let workloads = args.options.apply(&args.workloads)?;
    let mut all = Vec::new();
    for on in args.asked_for(&workloads) {
        let grid = args.parameters.grid(workloads.clone(), vec![on.stack(&workloads)], &[1000])?;
        args.parameters.check_use(std::slice::from_ref(&grid))?;
        all.extend(grid.scenarios());
    }
    Ok(all)
}

/// The name of the engine that handles a workload's requests by default.
pub(crate) fn engine_of(workload: &str) -> Result<&'static str, Failure> {
    let found: Result<Workload, UnknownName> = workload.parse();
    found.map(|it| it.engine().name()).map_err(|error| Failure::Message(error.to_string()))
}

/// What a workload runs on.
#[derive(Clone, Debug, PartialEq)]
enum On {
    /// A stack of the simulator.
    Simulated(Stack),
    /// The real kernel of the machine that this program runs on.
    Kernel(Target),
}

impl FromStr for On {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if Target::is_named(name) {
            return name.parse().map(Self::Kernel);
        }
        name.parse().map(Self::Simulated)
    }
}

impl On {
    /// Refuse a workload that the real kernel cannot run.
    fn check(&self, workloads: &[Workload]) -> Result<(), Failure> {
        let has_mount = workloads.iter().any(|it| matches!(it, Workload::Mount(_)));
        match self {
            Self::Kernel(target) if has_mount => Err(Failure::Message(format!(
                "--on {target}: mount stops the machine, which only a simulated one takes"
            ))),
            Self::Kernel(_) | Self::Simulated(_) => Ok(()),
        }
    }

    /// The stack that a scenario names in its parameters. For the real kernel it is the simulated
    /// stack with the same file system, or tmpfs if there is none.
    fn stack(&self, workloads: &[Workload]) -> Stack {
        match self {
            Self::Simulated(stack) => *stack,
            Self::Kernel(target) => {
                let main = target.main().unwrap_or(Main::Tmpfs);
                Stack { engine: engine(workloads), main, journals: None }
            }
        }
    }
}

/// The scenarios of one stack.
struct Job {
    on: On,
    scenarios: Vec<Scenario>,
    /// Names of the parameters that the user set and that apply to these scenarios.
    asked: Vec<&'static str>,
}

impl Job {
    fn check(&self) -> Result<(), Failure> {
        match &self.on {
            On::Simulated(_) => Ok(()),
            On::Kernel(target) => check_parameters(target, &self.asked),
        }
    }
}

fn asked(grid: &Grid) -> Vec<&'static str> {
    let idle = grid.idle();
    grid.axes.given().into_iter().filter(|name| !idle.contains(name)).collect()
}

impl Args {
    /// The stacks that the user set. By default JFFS2 under the engine of the first workload. The
    /// check of the grid refuses workloads with another engine.
    fn asked_for(&self, workloads: &[Workload]) -> Vec<On> {
        if self.on.is_empty() {
            let stack = Stack { engine: engine(workloads), main: Main::Jffs2, journals: None };
            return vec![On::Simulated(stack)];
        }
        self.on.clone()
    }

    /// Run the simulations on all cores, then the kernel's runs one after the other.
    fn carry_out(&self, jobs: &[Job]) -> Result<Vec<Cell>, Failure> {
        let simulated = jobs.iter().filter(|job| matches!(job.on, On::Simulated(_)));
        let scenarios: Vec<Scenario> = simulated.flat_map(|job| &job.scenarios).cloned().collect();
        let mut cells = attempt(&scenarios, self.view.quiet);
        for Job { on, scenarios, asked } in jobs {
            if let On::Kernel(target) = on {
                let runs = self.machine.carry_out(target, scenarios, asked)?;
                cells.extend(runs.into_iter().map(|run| Cell::Done(Box::new(run))));
            }
        }
        Ok(cells)
    }
}

fn engine(workloads: &[Workload]) -> Engine {
    workloads.first().map_or(Engine::Sqlite, |workload| workload.engine())
}

fn page(runs: &[Run], rate: Rate) -> String {
    let subtitle = format!("{} runs of flysch bench", runs.len());
    report::html("What SQLite costs on flash", &subtitle, rate, runs)
}
