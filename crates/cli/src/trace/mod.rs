//! `flysch trace`: summarises, filters, converts and draws a trace.

mod live;
mod select;
mod tables;

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use flysch_chip::Trace;
use flysch_lab::trace::{
    Explanation, Input, Module, Tally, TraceError, by_block, causes, chrome, explanations,
    explanations_of, file, flashmon, folded, load_any, plot, write_csv, write_json,
};

use crate::failure::Failure;
use crate::output::{self, Destination, Format};
use select::Selection;

/// Arguments of `flysch trace`.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_required = false,
    arg_required_else_help = false,
    after_help = "Examples:\n  \
        flysch trace run.trace causes\n  \
        flysch trace run.trace log --events program,erase --cause journal --limit 20\n  \
        flysch trace live --to flashmon-log --out boot.log\n  \
        flysch trace flashmon_log --geometry 2048+64x64x2048 plot --kind scatter --out log.svg"
)]
pub(crate) struct Args {
    /// Trace: binary, CSV, a Flashmon log or Flashmon counters
    file: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Key figures of the whole trace, by kind and by task; the default
    #[command(after_help = "Example:\n  flysch trace run.trace summary --format json")]
    Summary(Print),
    /// Operations on each block that was touched
    #[command(after_help = "Example:\n  flysch trace run.trace blocks --format csv")]
    Blocks(Print),
    /// The events, one per line
    #[command(after_help = "Example:\n  flysch trace run.trace log --from 10ms --until 12ms")]
    Log(Print),
    /// Operations by cause, as a tree with percentages
    #[command(
        after_help = "Examples:\n  flysch trace run.trace causes --task sqlite3\n  flysch trace causes --explain"
    )]
    Causes(CausesOf),
    /// Operations by statement: while it ran, and including its share of the commits
    #[command(after_help = "Example:\n  flysch trace run.trace statements --format csv")]
    Statements(Print),
    /// Operations by the table or index whose data they carry
    #[command(after_help = "Example:\n  flysch trace run.trace tables")]
    Tables(Print),
    /// The operations that Flashmon v2.1 would have missed
    #[command(after_help = "Example:\n  flysch trace run.trace missed --subpage-reads")]
    Missed(Missed),
    /// Convert to another format
    #[command(after_help = "Example:\n  flysch trace run.trace export --to csv --out run.csv")]
    Export(Export),
    /// Record this machine's flash, until Ctrl-C or for the life of a command
    #[command(
        after_help = "Examples:\n  flysch trace live -- sqlite3 /mnt/test.db 'VACUUM;'\n  flysch trace live --device mtd0 --to binary --out boot.trace"
    )]
    Live(live::Live),
    /// Draw the operations as SVG
    #[command(after_help = "Example:\n  flysch trace run.trace plot --kind blocks --out heat.svg")]
    Plot(Plot),
}

#[derive(Clone, Copy, Debug, Default, clap::Args)]
struct Print {
    /// How to print the figures; CSV of a summary has only the rows by kind
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct CausesOf {
    #[command(flatten)]
    print: Print,
    /// Explain labels instead of counting: those in the trace, or all labels if no file is given
    #[arg(long)]
    explain: bool,
}

#[derive(Debug, clap::Args)]
struct Missed {
    #[command(flatten)]
    print: Print,
    /// Number of entries in the log of the module
    #[arg(long, value_name = "N", default_value_t = Module::default().log_entries)]
    log_entries: usize,
    /// The driver reads parts of pages, as with software ECC
    #[arg(long)]
    subpage_reads: bool,
}

#[derive(Debug, clap::Args)]
struct Export {
    /// Format of the output
    #[arg(long, value_enum, visible_alias = "format")]
    to: ExportFormat,
    #[command(flatten)]
    destination: Destination,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// The binary format of flysch
    Binary,
    /// One event per line
    Csv,
    /// The geometry and the events
    Json,
    /// Stacks of scopes with their time in nanoseconds, for flame graphs
    Folded,
    /// Tracks of layers and of statements, for Perfetto
    Chrome,
    /// Counters by block, in the format of `/proc/flashmon`
    Flashmon,
    /// The events, in the format of `/proc/flashmon_log`
    FlashmonLog,
}

#[derive(Debug, clap::Args)]
struct Plot {
    /// Kind of chart to draw
    #[arg(long, value_enum)]
    kind: PlotKind,
    #[command(flatten)]
    destination: Destination,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PlotKind {
    /// The page of each operation over time
    Scatter,
    /// Reads, programs and erases of each block
    Blocks,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = match (&args.action, &args.file) {
        (Some(Action::Live(live)), None) => return live.run(),
        (Some(Action::Causes(CausesOf { print, explain: true })), None) => {
            let all: Vec<Explanation> = explanations().collect();
            return output::print(&tables::explanations(&all, print.format));
        }
        (Some(Action::Live(_)), Some(_)) => {
            return Err(Failure::Message("trace live records: it takes no file".to_owned()));
        }
        (_, Some(path)) => path,
        (_, None) => {
            return Err(Failure::Message(
                "required arguments were not provided: <FILE> (see --help)".to_owned(),
            ));
        }
    };
    args.selection.check()?;
    let of_file = |error: TraceError| Failure::of_file(path, error);
    let input = load_any(path, args.selection.geometry).map_err(of_file)?;
    let selected = match input {
        Input::Trace(trace) => {
            let selected = args.selection.filter().apply(&trace);
            args.selection.tell_if_empty(trace.events.len(), selected.events.len());
            Input::Trace(Box::new(selected))
        }
        Input::Counters(blocks) if args.selection.filter().is_all() => Input::Counters(blocks),
        Input::Counters(_) => return Err(of_file(TraceError::OnlyCounters)),
    };
    let default = Action::Summary(Print::default());
    let action = args.action.as_ref().unwrap_or(&default);
    match &selected {
        Input::Trace(trace) => run_on_trace(action, trace, path),
        Input::Counters(blocks) => run_on_counters(action, blocks, path),
    }
}

fn run_on_trace(action: &Action, trace: &Trace, path: &Path) -> Result<(), Failure> {
    let text = match action {
        Action::Summary(print) => tables::summary(trace, print.format),
        Action::Blocks(print) => tables::blocks(&by_block(trace), print.format),
        Action::Log(print) => tables::log(trace, print.format),
        Action::Causes(CausesOf { print, explain: true }) => {
            tables::explanations(&explanations_of(&causes(trace)), print.format)
        }
        Action::Causes(CausesOf { print, explain: false }) => tables::causes(trace, print.format),
        Action::Statements(_) | Action::Tables(_) if trace.blame.is_empty() => {
            let why = "it names no statements and tables: it is not of SQLite on a simulated stack";
            return Err(Failure::of_file(path, why));
        }
        Action::Statements(print) => tables::statements(trace, print.format),
        Action::Tables(print) => tables::tables(trace, print.format),
        Action::Missed(missed) => {
            let Missed { log_entries, subpage_reads, print } = *missed;
            tables::missed(trace, Module { log_entries, subpage_reads }, print.format)
        }
        Action::Export(export) => return export.to.write(trace, &export.destination),
        Action::Live(_) => unreachable!("a recording is made, not read"),
        Action::Plot(plot) => {
            let drawing = match plot.kind {
                PlotKind::Scatter => plot::scatter(trace, &title(path, "operations over time")),
                PlotKind::Blocks => heat_map(&by_block(trace), path),
            };
            return plot.destination.deliver(drawing.as_bytes());
        }
    };
    output::print(&text)
}

/// Run an action on counts for blocks. Only a few actions can do without events.
fn run_on_counters(action: &Action, blocks: &[Tally], path: &Path) -> Result<(), Failure> {
    match action {
        Action::Blocks(print) => output::print(&tables::blocks(blocks, print.format)),
        Action::Plot(Plot { kind: PlotKind::Blocks, destination }) => {
            destination.deliver(heat_map(blocks, path).as_bytes())
        }
        Action::Export(Export { to: ExportFormat::Flashmon, destination }) => {
            destination.deliver(flashmon::counters_text(blocks).as_bytes())
        }
        _ => Err(Failure::of_file(path, TraceError::OnlyCounters)),
    }
}

impl ExportFormat {
    fn write(self, trace: &Trace, destination: &Destination) -> Result<(), Failure> {
        let bytes = match self {
            Self::Binary if destination.out.is_none() => {
                return Err(Failure::Message("a binary trace needs --out FILE".to_owned()));
            }
            Self::Binary => file::encode(trace).map_err(|error| Failure::of(&error))?,
            Self::Csv => write_csv(trace),
            Self::Json => write_json(trace),
            Self::Folded => folded(trace),
            Self::Chrome => chrome(trace),
            Self::Flashmon => flashmon::write_counters(trace).into_bytes(),
            Self::FlashmonLog => flashmon::write_log(trace).into_bytes(),
        };
        destination.deliver(&bytes)
    }
}

fn heat_map(blocks: &[Tally], path: &Path) -> String {
    plot::blocks(blocks, &title(path, "operations by block"))
}

fn title(path: &Path, what: &str) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    format!("{}: {what}", name.display())
}
