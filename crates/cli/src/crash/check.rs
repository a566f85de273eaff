//! The user's check: a command that looks at the databases that a cut has left.
//!
//! It runs in a scratch folder that holds the databases. A word of it that names a file of the
//! current folder becomes the file's whole path, so that a script is found from there too. The name
//! of a database stays as it is: it stands for the one in the scratch folder.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, absolute};
use std::process::{Command, Output};

use flysch_lab::crash::{Files, Incident};

use crate::failure::Failure;
use crate::run as program;

/// A command that fails if something is wrong with the databases.
pub(super) struct Check {
    words: Vec<OsString>,
}

impl Check {
    /// Refuse a command that cannot be started.
    pub(super) fn refuse_missing(command: &[OsString]) -> Result<(), Failure> {
        let refused = |message: String| Err(Failure::Message(message));
        let Some(name) = command.first() else {
            return refused("--check: a command is missing".to_owned());
        };
        if !program::program_file(name).is_some_and(|found| found.is_file()) {
            return refused(format!("--check {}: there is no such program", name.display()));
        }
        Ok(())
    }

    /// The check of an incident. It has to succeed on the databases that the whole run left.
    ///
    /// # Errors
    /// The check fails where no power was cut, so that it says nothing about cuts.
    pub(super) fn of(command: &[OsString], incident: &Incident) -> Result<Self, Failure> {
        let is_database = |word: &OsStr| {
            let path = absolute(word).unwrap_or_default();
            let is_same = |name: &str| word == name || path == Path::new(name);
            incident.databases().iter().any(|it| is_same(&it.name) || is_same(&it.path))
        };
        let mut words = command.to_vec();
        for (number, word) in words.iter_mut().enumerate() {
            let is_in_path = number == 0 && !word.as_encoded_bytes().contains(&b'/');
            let path = Path::new(word);
            if !is_in_path
                && path.is_file()
                && !is_database(word)
                && let Ok(whole) = absolute(path)
            {
                *word = whole.into_os_string();
            }
        }
        let check = Self { words };
        match check.fails_on(incident.uncut()) {
            None => Ok(check),
            Some(why) => Err(Failure::Message(format!(
                "--check: it fails where no power was cut, so no cut was tried: {why}"
            ))),
        }
    }

    /// Run the check on files. Returns what it says if it fails.
    pub(super) fn fails_on(&self, files: &Files) -> Option<String> {
        let folder = tempfile::tempdir().ok()?;
        // The check reports a file that is missing.
        write(folder.path(), files).ok();
        let (name, arguments) = self.words.split_first()?;
        let output = Command::new(name).args(arguments).current_dir(folder.path()).output();
        match output {
            Ok(Output { status, .. }) if status.success() => None,
            Ok(Output { status, stdout, stderr }) => {
                let said =
                    [stderr, stdout].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                let last = said.iter().find_map(|text| text.lines().last().map(str::to_owned));
                Some(format!("the check ended with {status}: {}", last.unwrap_or_default()))
            }
            Err(error) => Some(format!("the check cannot be started: {error}")),
        }
    }
}

/// Write the files into a folder.
pub(super) fn write(folder: &Path, files: &Files) -> io::Result<()> {
    files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}
