//! A planted fault: its place in the sources, and the tests that should find it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::verdict::Verdict;
use crate::Outcome;

/// If a test prints nothing for this long, it is taken for an endless loop.
const PATIENCE: Duration = Duration::from_secs(200);
/// Limit of a test's memory, KiB, because a fault may make it allocate without end.
const MEMORY_KIB: u32 = 4 << 20;

const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
/// How no expression begins.
const OPERATORS: [&str; 8] = ["|| ", "&& ", "== ", "!= ", "< ", "> ", "+ ", "."];

pub(super) struct Fault {
    pub(super) name: String,
    pub(super) file: String,
    /// A text that occurs once in the file and contains `old` once. If it is not given, `old`
    /// itself must occur once.
    pub(super) within: String,
    /// The code that is replaced: an expression, or statements that end with `;` or `}`.
    pub(super) old: String,
    pub(super) new: String,
    /// Parts of the names of the tests to run, in this order.
    tests: Vec<String>,
    /// Why no test can find the fault. None if a test should.
    equivalent: Option<String>,
}

impl Fault {
    pub(super) fn read_all(text: &str) -> Outcome<Vec<Self>> {
        let values: Vec<Value> = serde_json::from_str(text)?;
        values.iter().map(Self::read).collect()
    }

    fn read(value: &Value) -> Outcome<Self> {
        let optional = |name: &str| value[name].as_str().map(str::to_owned);
        let field = |name: &str| {
            optional(name).ok_or_else(|| format!("a planted fault has no `{name}`: {value}"))
        };
        let old = field("old")?;
        Ok(Self {
            name: field("name")?,
            file: field("file")?,
            within: optional("within").unwrap_or_else(|| old.clone()),
            new: field("new")?,
            tests: field("tests")?.split_whitespace().map(str::to_owned).collect(),
            equivalent: optional("equivalent"),
            old,
        })
    }

    /// Refuse code that is not whole, with which no file would build.
    pub(super) fn check_whole(&self) -> Outcome {
        if OPERATORS.iter().any(|operator| self.old.starts_with(operator)) {
            return Err(format!("`{}` replaces half an expression", self.name).into());
        }
        let is_balanced = |code: &str| {
            let count = |bracket| code.matches(bracket).count();
            BRACKETS.iter().all(|(open, close)| count(*open) == count(*close))
        };
        if !is_balanced(&self.old) || !is_balanced(&self.new) {
            return Err(format!("`{}` has brackets without their others", self.name).into());
        }
        Ok(())
    }

    /// The name of the crate whose tests are run.
    pub(super) fn package(&self) -> Outcome<String> {
        let folder = self.file.split('/').nth(1);
        let folder = folder.ok_or_else(|| format!("{} is no file of a crate", self.file))?;
        Ok(if folder == "flysch" { folder.to_owned() } else { format!("flysch-{folder}") })
    }

    /// The crate, and the top-level module of the file.
    pub(super) fn area(&self) -> String {
        let parts: Vec<&str> = self.file.split('/').collect();
        let module = parts.get(3).map_or("", |module| module.trim_end_matches(".rs"));
        format!("{}/{module}", parts.get(1).unwrap_or(&""))
    }

    /// Run the tests with this fault switched on, until one fails. The test that caught the fault
    /// last time (`before`) is run first. `sound` remembers which tests pass without a fault; if it
    /// is None, they are taken to.
    pub(super) fn verdict(
        &self,
        number: usize,
        binaries: &[PathBuf],
        before: Option<&str>,
        sound: Option<&Sound>,
    ) -> Outcome<Verdict> {
        if let Some(reason) = &self.equivalent {
            return Ok(Verdict::Equivalent(reason.clone()));
        }
        // Quick tests come first in the list.
        let first = before.map(|test| vec!["--exact".to_owned(), test.to_owned()]);
        let others = self.tests.iter().map(|part| vec![part.clone()]);
        for arguments in first.into_iter().chain(others) {
            for binary in binaries {
                if let Some(test) = failing_test(binary, &arguments, number)? {
                    sound.map_or(Ok(()), |sound| sound.check(binary, &test))?;
                    return Ok(Verdict::Caught(test));
                }
            }
        }
        Ok(Verdict::Escaped)
    }
}

/// The number of no fault.
const NO_FAULT: usize = 0;

/// The tests that are known to pass without a fault. A test that fails in any case finds nothing.
#[derive(Default)]
pub(super) struct Sound(Mutex<BTreeSet<String>>);

impl Sound {
    /// Fail where a test that failed with a fault fails without one as well.
    fn check(&self, binary: &Path, test: &str) -> Outcome {
        let known = || self.0.lock().expect("no worker panics");
        if !is_name(test) || known().contains(test) {
            return Ok(());
        }
        if failing_test(binary, &["--exact".to_owned(), test.to_owned()], NO_FAULT)?.is_some() {
            return Err(format!("{test} fails without any fault").into());
        }
        known().insert(test.to_owned());
        Ok(())
    }
}

/// Whether a test is told by its name, and not by what became of its process.
fn is_name(test: &str) -> bool {
    !test.contains(' ')
}

/// The first test of a binary that fails while a fault is switched on. None if all pass.
fn failing_test(binary: &Path, arguments: &[String], number: usize) -> Outcome<Option<String>> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")]).arg(binary);
    command.args(arguments).env("FLYSCH_PLANTED", number.to_string());
    // A failing case need not be reduced.
    command.env("FLYSCH_TRIES", "0").stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let found = child.stdout.take().map(first_failure).unwrap_or_default();
    finish(&mut child, found)
}

/// Why the output of a test binary is not read any further.
#[derive(Default)]
enum End {
    /// This test failed.
    Failed(String),
    /// There was no output for [`PATIENCE`].
    Silent,
    /// The output has ended.
    #[default]
    Over,
}

fn first_failure(stdout: ChildStdout) -> End {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(line) => {
                let failed =
                    line.strip_prefix("test ").and_then(|line| line.strip_suffix("FAILED"));
                if let Some(test) = failed {
                    return End::Failed(test.trim_end_matches(['.', ' ']).to_owned());
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => return End::Silent,
            Err(mpsc::RecvTimeoutError::Disconnected) => return End::Over,
        }
    }
}

/// Stop the tests, and return the one that failed.
fn finish(child: &mut Child, end: End) -> Outcome<Option<String>> {
    match end {
        End::Over => {
            let status = child.wait()?;
            Ok((!status.success()).then(|| "the process ended".to_owned()))
        }
        End::Failed(test) => {
            child.kill()?;
            child.wait()?;
            Ok(Some(test))
        }
        End::Silent => {
            child.kill()?;
            child.wait()?;
            Ok(Some("a test that never ends".to_owned()))
        }
    }
}
