//! Every example of `--help`, of the README and of the documents, run as a user would type it.
//!
//! 1. The examples of one help text or document run in one folder, from the first to the last.
//! 2. Each folder begins with the files that examples name, such as `app.py` and `run.trace`.
//! 3. An example fails by its exit code, or if a document shows output that it does not print or a
//!    picture that it does not draw.
//! 4. An example that needs what this machine lacks is counted and named as skipped.

mod documents;
mod folder;
mod help;
mod output;

use crate::Outcome;
use crate::scratch::Scratch;
use crate::shell;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Examples whose answer is an exit code: harm that was found, and days that do not fit.
const ANSWERS: [(&str, i32); 2] = [("flysch crash", 1), ("--keep-days 90", 2)];
/// The beginning of the place of the session that takes longest.
const LONGEST: &str = "flysch repro";
/// Examples that took longer are named with their time.
const LONG: Duration = Duration::from_secs(20);

/// Examples that run in one folder, one after the other.
#[derive(Debug, PartialEq, Eq)]
struct Session {
    /// Where they stand: a document, or the command whose help shows them.
    place: String,
    /// The program that stands in `app.py` here, if it is another than in the other folders.
    program: Option<String>,
    steps: Vec<Step>,
}

/// A line for the shell, and the lines that the document says it prints.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: String,
    shown: Vec<String>,
}

impl Session {
    /// Leave out the steps that stand in other sessions too, and whose output is not shown here.
    fn leave_out(&mut self, others: &[Self]) {
        let known: Vec<&Step> = others.iter().flat_map(|session| &session.steps).collect();
        let is_known = |step: &Step| known.iter().any(|it| it.line == step.line);
        self.steps.retain(|step| !step.shown.is_empty() || !is_known(step));
    }
}

/// What became of the examples.
#[derive(Debug, Default)]
struct Tally {
    run: usize,
    skipped: Vec<String>,
    long: Vec<String>,
    failed: Vec<String>,
}

/// Run all examples with the release binary, and print how many were run and skipped.
pub(crate) fn run() -> Outcome {
    let flysch = shell::release_binary()?;
    let scratch = Scratch::open()?;
    let begin = folder::make(&flysch, &scratch.path)?;
    let mut sessions = help::sessions(&flysch)?;
    let mut of_documents = documents::sessions()?;
    for session in &mut of_documents {
        session.leave_out(&sessions);
    }
    sessions.extend(of_documents);
    // The longest session begins first, so that no worker waits for it at the end.
    sessions.sort_by_key(|session| !session.place.starts_with(LONGEST));
    let queue = Mutex::new(sessions.into_iter().enumerate());
    let tally = Mutex::new(Tally::default());
    let next = || queue.lock().expect("no worker panics").next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((number, session)) = next() {
                    let folder = scratch.path.join(number.to_string());
                    play(&session, &flysch, &begin, &folder, &tally);
                }
            });
        }
    });
    tally.into_inner().expect("no worker panicked").outcome()
}

/// Run the examples of a session.
#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
fn play(session: &Session, flysch: &Path, begin: &Path, folder: &Path, tally: &Mutex<Tally>) {
    if let Err(error) = folder::copy(begin, folder, session.program.as_deref()) {
        tally.lock().expect("no worker panics").failed.push(error.to_string());
        return;
    }
    let mut printed = String::new();
    let mut is_of_program = false;
    for step in &session.steps {
        let name = format!("{}: {}", session.place, step.line);
        is_of_program |= step.line.contains(" -- ");
        if let Some(reason) = lacking(&step.line) {
            tally.lock().expect("no worker panics").skipped.push(format!("{name} ({reason})"));
            continue;
        }
        let started = Instant::now();
        let outcome = execute((step, is_of_program), flysch, folder, &mut printed);
        let mut tally = tally.lock().expect("no worker panics");
        tally.run += 1;
        if started.elapsed() > LONG {
            tally.long.push(format!("{:.0} s  {name}", started.elapsed().as_secs_f64()));
        }
        tally.failed.extend(outcome.err().map(|error| format!("{name}\n  {error}")));
    }
}

/// What an example needs and a machine in continuous integration does not have.
fn lacking(line: &str) -> Option<&'static str> {
    let needs_flash = ["flysch vm ", "kernel:", "trace live"];
    if needs_flash.iter().any(|word| line.contains(word)) {
        return Some("a real kernel with MTD");
    }
    if line.contains("files.jffs2") && !shell::is_installed("mkfs.jffs2") {
        return Some("mkfs.jffs2");
    }
    (line.contains("--fuse") && !Path::new("/dev/fuse").exists()).then_some("/dev/fuse")
}

/// Run an example, add what it prints to `printed`, and compare that with what is shown.
fn execute(
    (step, is_of_program): (&Step, bool),
    flysch: &Path,
    folder: &Path,
    printed: &mut String,
) -> Outcome {
    folder::remove_outputs(&step.line, folder)?;
    let output = folder::in_shell(&step.line, flysch, folder)?.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    printed.push_str(&String::from_utf8_lossy(&output.stdout));
    printed.push_str(&errors);
    let answers = ANSWERS.iter().find(|(words, _)| step.line.contains(words));
    let is_answer = answers.is_some_and(|&(_, code)| output.status.code() == Some(code));
    if !output.status.success() && !is_answer {
        let last: Vec<&str> = errors.lines().rev().take(3).collect();
        return Err(format!("{}: {}", output.status, last.join(" | ")).into());
    }
    output::check_pictures(folder)?;
    output::check(step, printed, is_of_program)
}

impl Tally {
    fn outcome(self) -> Outcome {
        let Self { run, skipped, long, failed } = self;
        for line in long {
            println!("{line}");
        }
        for line in &skipped {
            println!("skipped: {line}");
        }
        println!("{run} examples were run, {} skipped, {} failed", skipped.len(), failed.len());
        if failed.is_empty() {
            return Ok(());
        }
        let mut text = String::from("examples fail:");
        for line in failed {
            write!(text, "\n{line}").expect("a string takes what is written");
        }
        Err(text.into())
    }
}
