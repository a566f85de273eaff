//! `flysch crash`: runs a program or a recording once, cuts the power at many moments of that run,
//! and checks the databases that are left.

mod check;

use std::ffi::OsString;
use std::fs::create_dir_all;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flysch_lab::bench::scenario::Scenario;
use flysch_lab::crash::{Cut, Files, Finding, Incident};
use flysch_lab::machine::stack::{Engine, Journals, Main, Stack};
use flysch_lab::recording::{Recording, Replay};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use crate::parameters::SqliteOptions;
use crate::progress::{bar, show, tell};
use crate::record::origin;
use crate::replay::tell_of_log;
use crate::run::{self as program, Mode, Repeat, Simulated};

use check::{Check, write};

/// The word that separates the program from its check.
const CHECK: &str = "--check";
/// The options that the command of a single cut does not have, each with a value.
const REPLACED: [&str; 4] = ["--cuts", "--cut", "--findings", "--keep"];
/// The most findings that the table shows.
const ROWS_MAX: usize = 20;

/// Arguments of `flysch crash`.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "\
Examples:
  flysch crash -- python3 app.py
  flysch crash --cuts all --on sqlite/ubifs -- python3 app.py
  flysch crash --cuts 500 -- python3 app.py --check python3 check.py
  flysch crash app.rec --on sqlite/ubifs --journal-mode wal --synchronous normal
  flysch crash schema.sql --database my.db -- --check python3 check.py
  flysch crash --cut 120:torn+3:complete -- python3 app.py   # exactly this cut again

The check runs for each cut, in a folder with the databases that the cut has left; files of the
current folder that its words name are found from there. It fails by its exit code. Without one, PRAGMA integrity_check looks at every database. Either way, transactions that were acknowledged
have to be there.")]
pub(crate) struct Args {
    /// A recording (.rec) or an SQL script to run instead of a program
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Files that a recording's databases begin with [default: the files that it began with]
    #[arg(long, value_name = "FILE", value_delimiter = ',', requires = "file")]
    database: Vec<PathBuf>,
    #[command(flatten)]
    settings: SqliteOptions,
    /// Number of power cuts to try, or all
    #[arg(long, value_name = "N|all", default_value = "200", conflicts_with = "cut")]
    cuts: Count,
    /// Try one cut only, written CHANGE:END: the number of the change to the flash, and how the
    /// change ends (before, torn, complete, marginal). After a +, a second cut during the recovery
    #[arg(long, value_name = "CUT")]
    cut: Option<Cut>,
    /// Write the databases that each failure left into this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// File for the findings as JSON
    #[arg(long, value_name = "FILE")]
    findings: Option<PathBuf>,
    #[command(flatten)]
    run: program::Args,
}

/// How many cuts to make.
#[derive(Clone, Copy, Debug)]
enum Count {
    All,
    Some(usize),
}

impl std::str::FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "all" => Ok(Self::All),
            Ok(count @ 1..=1_000_000) => Ok(Self::Some(count)),
            _ => Err("cuts are all, or a number from 1 to 1000000".to_owned()),
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    on: String,
    changes: usize,
    cuts: usize,
    findings: &'a [Finding],
}

/// Run the program or the recording, cut the power, and check what is left.
pub(crate) fn run(mut args: Args) -> Result<(), Failure> {
    let check = args.run.split_off(CHECK);
    args.check(check.as_deref())?;
    if let Some(file) = &args.file {
        return args.examine(&args.incident_of(file)?, check.as_deref());
    }
    let mode = Mode { is_recorded: true, repeat: Repeat::SameWithChanges };
    let Simulated { simulation, scenario, status, unreported } = args.run.simulate(mode)?;
    let recording = Recording::of(&simulation, origin(&args.run, mode));
    warn_of_others(&recording);
    let incident = Incident::of(&simulation, &recording, &scenario);
    let own = unreported
        .check()
        .and(incident.map_err(|error| Failure::of(&error)))
        .and_then(|incident| args.examine(&incident, check.as_deref()));
    args.run.conclude(status, own)
}

impl Args {
    /// Run a recording or a script.
    fn incident_of(&self, file: &Path) -> Result<Incident, Failure> {
        let recording = Recording::read(file).map_err(|error| Failure::of(&error))?;
        let recorded = recording.origin.on.parse().unwrap_or(Stack::JFFS2);
        let stack = self.run.given_stack().unwrap_or(recorded);
        check_stack(stack)?;
        let scenarios = self.run.hardware().scenarios(vec![stack], &self.settings)?;
        let [scenario] = scenarios.as_slice() else {
            let many = scenarios.len();
            let message = format!("one run is cut, and these options are for {many}");
            return Err(Failure::Message(message));
        };
        let sources = recording.sources(&self.database).map_err(Failure::Message)?;
        let variant = self.settings.variant(scenario);
        let replay = Replay { recording: &recording, sources: &sources, variant, is_paced: false };
        warn_of_others(&recording);
        let incident = Incident::of_replay(&replay, scenario);
        let incident = incident.map_err(|error| Failure::of(&error))?;
        if !incident.shares_memory() {
            tell_of_log(&recording, &self.settings, &scenario.stack);
        }
        Ok(incident)
    }

    fn check(&self, check: Option<&[OsString]>) -> Result<(), Failure> {
        let refused = |message: String| Err(Failure::Message(message));
        if self.run.is_mounted() {
            return refused("--fuse: only what a program asks of SQLite can be cut".to_owned());
        }
        if let Some(option) = self.run.outcome_option() {
            return refused(format!("{option}: a run that is cut has no such outcome"));
        }
        if self.run.asks_for_time() {
            let why = "in a run that is cut, the program's own time does not pass";
            return refused(format!("--pace measured: {why}"));
        }
        self.check_subject()?;
        check_stack(self.run.stack())?;
        if let Some(check) = check {
            Check::refuse_missing(check)?;
        }
        if let Some(folder) = &self.keep {
            output::check_new_folder(folder, "findings are kept in a new folder")?;
        }
        output::check_distinct(self.findings.iter().chain(&self.keep))?;
        let force = self.run.may_replace();
        self.findings.iter().try_for_each(|path| output::check_writable(path, force))
    }

    /// Refuse a recording together with a program. Refuse settings of SQLite for a program, which
    /// has its own.
    fn check_subject(&self) -> Result<(), Failure> {
        let message = match (&self.file, self.settings.given().first()) {
            (Some(file), _) if !self.run.command().is_empty() => {
                format!("{} or a program behind --: one of them is cut", file.display())
            }
            (None, Some(setting)) => {
                format!("--{setting} is for a recording; a program has its own settings")
            }
            (Some(_), _) | (None, None) => return Ok(()),
        };
        Err(Failure::Message(message))
    }

    fn examine(&self, incident: &Incident, check: Option<&[OsString]>) -> Result<(), Failure> {
        let scenario = incident.scenario();
        let changes = incident.change_count();
        // Changes by which databases are copied to the machine are left out.
        let every = incident.cuts();
        if every.is_empty() {
            let message = "nothing was changed on the flash, so no cut was tried".to_owned();
            return Err(Failure::Message(message));
        }
        let cuts = match (self.cut, self.cuts) {
            (Some(cut), _) if cut.at > changes => {
                return Err(Failure::Message(format!(
                    "--cut {cut}: the run has {changes} changes, from 0"
                )));
            }
            (Some(cut), _) if incident.is_imported(cut.at) => {
                let why = "copies a database in, which no program does";
                return Err(Failure::Message(format!("--cut {cut}: change {} {why}", cut.at)));
            }
            (Some(cut), _) => vec![cut],
            (None, Count::All) => every,
            (None, Count::Some(count)) => incident.some_cuts(count),
        };
        let check = check.map(|command| Check::of(command, incident)).transpose()?;
        let bar = bar(cuts.len() as u64, "{bar:40} {pos}/{len} cuts, {eta} left");
        let look = |files: &Files| check.as_ref().and_then(|check| check.fails_on(files));
        let unkept = OnceLock::new();
        let keep = |cut: &Cut, files: &Files| {
            let Some(folder) = self.keep.as_ref().map(|folder| folder.join(cut.to_string())) else {
                return;
            };
            if let Err(error) = create_dir_all(&folder).and_then(|()| write(&folder, files)) {
                unkept.get_or_init(|| Failure::of_file(&folder, error));
            }
        };
        let findings = incident.examine(&cuts, look, keep, || bar.inc(1));
        bar.finish_and_clear();
        if let Some(failure) = unkept.get() {
            tell(&failure.to_string());
        }
        let findings = findings.map_err(|error| Failure::of(&error))?;
        if let Some(path) = &self.findings {
            let on = scenario.stack.name();
            let report = Report { on, changes, cuts: cuts.len(), findings: &findings };
            output::write_file(path, &output::json(&report), self.run.may_replace())?;
        }
        conclude(&findings, cuts.len(), changes, scenario)
    }
}

/// Tell that a recording has calls that were made at the same time.
fn warn_of_others(recording: &Recording) {
    if recording.worked_at_once() {
        tell(
            "connections worked at the same time, and their calls are judged one after the other: \
             a finding may be no harm",
        );
    }
}

/// Refuse a stack whose data a power cut destroys, or that does not have SQLite.
fn check_stack(stack: Stack) -> Result<(), Failure> {
    let message = if stack.main == Main::Tmpfs || stack.journals == Some(Journals::Tmpfs) {
        format!("--on {stack}: RAM does not outlive a power cut")
    } else if stack.engine != Engine::Sqlite {
        format!(
            "--on {stack}: what is cut is SQLite, so a stack is named sqlite/jffs2 and the like"
        )
    } else {
        return Ok(());
    };
    Err(Failure::Message(message))
}

/// Print the findings, each with the command that repeats its cut.
fn conclude(
    findings: &[Finding],
    cuts: usize,
    changes: usize,
    scenario: &Scenario,
) -> Result<(), Failure> {
    let (on, count) = (scenario.stack, findings.len());
    if findings.is_empty() {
        tell(&format!("{cuts} power cuts in {changes} changes on {on}: nothing was lost"));
        return Ok(());
    }
    let rows: Vec<Vec<String>> = findings
        .iter()
        .take(ROWS_MAX)
        .map(|finding| vec![finding.cut.clone(), finding.what.clone()])
        .collect();
    show(&String::from_utf8_lossy(&output::table(&["cut", "what failed"], &rows)));
    tell(&format!("the first again: {}", repeated(&findings[0].cut)));
    Err(Failure::Beyond(format!(
        "{count} of {cuts} power cuts in {changes} changes on {on} did harm"
    )))
}

/// The command line that repeats one cut of this run.
fn repeated(cut: &str) -> String {
    let mut words: Vec<String> = vec!["flysch".to_owned(), "crash".to_owned()];
    words.extend(["--cut".to_owned(), cut.to_owned()]);
    let mut given = std::env::args().skip(2).peekable();
    let mut is_own = true;
    while let Some(word) = given.next() {
        is_own &= word != "--";
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if !is_own || !REPLACED.contains(&name) {
            words.push(quoted(&word));
        } else if name == word {
            given.next();
        }
    }
    words.join(" ")
}

/// A word quoted for the shell, if that is necessary.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
