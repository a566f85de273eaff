//! `flysch compare`: runs one set of workloads on every stack, and shows the costs as a table and
//! as a page.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flysch_lab::bench::grid::{Axes, Grid};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::{Engine, Main, Stack};
use flysch_lab::report;
use flysch_lab::workload::{Micro, Workload};
use serde_json::Value;

use crate::failure::Failure;
use crate::life::LifeOptions;
use crate::output::{self, Figures, Format};
use crate::parameters::Parameters;
use crate::progress::{attempt, done, tell};
use crate::sheet::{Layout, Sheet, View, blanks};

/// The columns. JSON has all fields.
const LAYOUT: Layout = Layout {
    subject: &["workload", "on"],
    asked: &["platform", "part", "record_size", "requests", "seed"],
    figures: &[
        "time_ns",
        "times_best",
        "cpu_ns",
        "flash_ns",
        "throughput_kb_s",
        "page_reads",
        "page_programs",
        "block_erases",
        "energy_mj",
        "wear.max_erase_count",
        "life.years",
        "life.years_by_programs",
        "life.years_by_erases",
        "standing",
    ],
    shown: &[
        "time_ns",
        "times_best",
        "cpu_percent",
        "flash_percent",
        "life.years",
        "page_reads",
        "page_programs",
        "block_erases",
        "throughput_kb_s",
        "energy_mj",
    ],
};

/// The workloads if the user names none: one with a transaction for each row, as most applications
/// do it, and the micro-benchmarks with a single transaction for all rows.
const WORKLOADS: [Micro; 5] =
    [Micro::Commit, Micro::Insert, Micro::Select, Micro::Join, Micro::Update];

/// The numbers of requests if the user sets none. Four points are enough to draw lines.
const REQUESTS: [u32; 4] = [100, 500, 1000, 2000];

/// Arguments of `flysch compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch compare
  flysch compare --workload logger --record-size 40 --requests 1000
  flysch compare --aged-fill 70 --aged-invalid 15 --aged-erases 1000
  flysch compare --platform apf27-2.6.29 --record-size 150,600 --report apf27.html
  flysch compare --seed 1..5 --format csv --out compare.csv")]
pub(crate) struct Args {
    /// Workloads [default: commit, insert, select, join, update]
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',')]
    workload: Vec<Workload>,
    /// Stacks, from the engine down [default: all of SQLite, and flysch for workloads that it
    /// supports]
    #[arg(long, value_name = "STACK", value_delimiter = ',')]
    on: Vec<Stack>,
    #[command(flatten)]
    parameters: Parameters,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// File for the report page
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    report: PathBuf,
    /// File for the figures; stdout if not given. A second file next to a CSV names its origin
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace existing files; a report made by flysch is replaced without it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    life: LifeOptions,
    #[command(flatten)]
    view: View,
}

/// Run every combination, print the table and write the page.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let workloads = or_all(&args.workload, &WORKLOADS.map(Workload::from));
    let scenarios = args.scenarios(&workloads)?;
    let outputs = Figures {
        format: args.format,
        out: args.out.clone(),
        force: args.force,
        report: Some(args.report.clone()),
    };
    outputs.check([])?;
    let view = args.named(&scenarios)?;
    args.view.limit_jobs()?;
    let cells = attempt(&scenarios, args.view.quiet);
    let runs = done(&cells)?;
    let mut sheet = Sheet::of(&LAYOUT, &cells);
    args.life.tell(&mut sheet, &cells);
    rank(&mut sheet.rows);
    sheet.sort(&view);
    let figures = args.figures(sheet, &view);
    outputs.deliver(&figures, || {
        let title = "SQLite on flash: every stack compared";
        report::html(title, &subtitle(&runs), args.life.rate(), &runs)
    })?;
    match args.format {
        Format::Table if !args.view.quiet => {
            output::print(format!("\nreport: {}\n", args.report.display()).as_bytes())
        }
        Format::Table | Format::Csv | Format::Json => Ok(()),
    }
}

impl Args {
    /// The figures in the format that the user wants. A table only has room for the runs with the
    /// most requests; the fastest comes first. Stacks that the platform cannot have get a second
    /// table.
    fn figures(&self, mut sheet: Sheet, view: &View) -> Vec<u8> {
        if self.format != Format::Table {
            return sheet.render(self.format, view);
        }
        let requests = |row: &Value| row["requests"].as_u64();
        let most = sheet.rows.iter().filter_map(requests).max();
        let of_all = sheet.rows.len();
        sheet.rows.retain(|row| requests(row) == most);
        let is_part = sheet.rows.len() < of_all;
        if view.sort.is_none() {
            by_time(&mut sheet.rows);
        }
        let (answers, others): (Vec<Value>, Vec<Value>) =
            sheet.rows.into_iter().partition(|row| row["standing"] == "answer");
        let mut of_answers = Sheet::of(&LAYOUT, &answers);
        of_answers.remarks = sheet.remarks;
        let mut text = of_answers.render(self.format, view);
        if !others.is_empty() {
            text.extend(APART.bytes());
            text.extend(Sheet::of(&LAYOUT, &others).below(view));
        }
        if is_part && !view.quiet {
            text.extend(LARGEST.bytes());
        }
        text
    }

    /// The view with the names of figures as the rows will have them.
    fn named(&self, scenarios: &[Scenario]) -> Result<View, Failure> {
        let mut expected = Sheet::of(&LAYOUT, &blanks(scenarios));
        LifeOptions::expect(&mut expected);
        rank(&mut expected.rows);
        expected.named(self.format, &self.view)
    }

    /// Every workload on every stack that the user set. By default: on all stacks of SQLite that
    /// the workloads can run on, and on this project's engine if it supports the workload.
    fn scenarios(&self, workloads: &[Workload]) -> Result<Vec<Scenario>, Failure> {
        let mut stacks = or_all(&self.on, &Stack::ALL);
        if self.on.is_empty() && workloads.iter().any(|it| matches!(it, Workload::Mount(_))) {
            stacks.retain(|stack| stack.main != Main::Tmpfs);
        }
        let grid = self.parameters.grid(workloads.to_vec(), stacks, &REQUESTS)?;
        let Axes { aged_fills, aged_invalids, .. } = &grid.axes;
        let has_others = aged_fills.iter().chain(aged_invalids).any(|&percent| percent > 0);
        let taken = workloads.iter().copied().filter(|it| it.runs_on(Engine::Flysch));
        let taken: Vec<Workload> = taken.collect();
        let mut grids = vec![grid];
        let is_wanted = self.on.is_empty() && !taken.is_empty();
        if is_wanted && has_others {
            tell("flysch is not compared: it has no files of others beside it");
        } else if is_wanted {
            grids.push(self.parameters.grid(taken, vec![Stack::FLYSCH], &REQUESTS)?);
        }
        self.parameters.check_use(&grids)?;
        let scenarios = grids.iter().flat_map(Grid::scenarios).collect();
        Ok(scenarios)
    }
}

fn or_all<T: Copy>(asked: &[T], all: &[T]) -> Vec<T> {
    if asked.is_empty() { all.to_vec() } else { asked.to_vec() }
}

fn subtitle(runs: &[Run]) -> String {
    let platforms: std::collections::BTreeSet<&str> =
        runs.iter().map(|run| run.inputs.platform.as_str()).collect();
    let platforms: Vec<&str> = platforms.into_iter().collect();
    format!("{} runs on {}", runs.len(), platforms.join(", "))
}

/// The text above the table of stacks that only serve for comparison.
const APART: &str =
    "\nFor comparison only: files in RAM, or memory that the platform does not have\n\n";
/// The text below a table that does not show all runs.
const LARGEST: &str =
    "\nThe runs of the most requests are shown; the report and --format csv have all.\n";

/// Store in each row its time as a multiple of the time of the fastest stack, for the same
/// workload, platform, part, record size, number of requests and seed. Stacks that only serve for
/// comparison are not taken as the fastest.
fn rank(rows: &mut [Value]) {
    let question = |row: &Value| {
        ["workload", "platform", "part", "record_size", "requests", "seed"]
            .map(|name| row[name].to_string())
    };
    let mut best: BTreeMap<[String; 6], f64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row["standing"] == "answer") {
        if let Some(time_ns) = row["time_ns"].as_f64() {
            let best = best.entry(question(row)).or_insert(time_ns);
            *best = best.min(time_ns);
        }
    }
    for row in rows {
        let ratio = best.get(&question(row)).zip(row["time_ns"].as_f64());
        let ratio = ratio.filter(|(best, _)| **best > 0.0).map(|(best, time_ns)| time_ns / best);
        row["times_best"] = ratio.map_or(Value::Null, Value::from);
    }
}

/// Sort rows by workload, in order of appearance, and then by time. Rows without a result are last.
fn by_time(rows: &mut [Value]) {
    let mut workloads: Vec<String> = Vec::new();
    for row in rows.iter() {
        let name = row["workload"].to_string();
        if !workloads.contains(&name) {
            workloads.push(name);
        }
    }
    rows.sort_by_key(|row| {
        let name = row["workload"].to_string();
        let place = workloads.iter().position(|known| *known == name);
        (place, row["time_ns"].as_u64().unwrap_or(u64::MAX))
    });
}
