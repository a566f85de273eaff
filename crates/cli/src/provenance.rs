//! The origin of figures: program, commit, SQLite version and command. It has no date, so that the
//! same run gives the same bytes.

use std::env;
use std::path::Path;

use flysch_charts::escape::escape;
use flysch_charts::page::{Section, appended};
use flysch_chip::Trace;
use flysch_lab::trace::TraceError;
use serde::Serialize;

use crate::failure::Failure;

/// Name, version and commit, as `flysch --version` prints them.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("FLYSCH_COMMIT"), ")");

/// Options that decide where output goes and how it looks, but change no figure. Those in the
/// second list take a value.
const SILENT: [&str; 3] = ["--force", "--quiet", "-q"];
const SILENT_VALUED: [&str; 9] = [
    "--out",
    "--report",
    "--trace",
    "--latencies",
    "--format",
    "--color",
    "--jobs",
    "-j",
    "--columns",
];

/// The program, commit, SQLite version and command that made some figures.
#[derive(Serialize)]
pub(crate) struct Provenance {
    flysch: &'static str,
    /// The commit of the sources; `unknown` if they were not in a repository.
    commit: &'static str,
    sqlite: &'static str,
    /// The command, without options that change no figure.
    command: String,
}

impl Provenance {
    /// The origin of the figures that this command makes.
    pub(crate) fn of_this_command() -> Self {
        Self {
            flysch: env!("CARGO_PKG_VERSION"),
            commit: env!("FLYSCH_COMMIT"),
            sqlite: flysch_sqlite::version(),
            command: spoken(env::args().skip(1)),
        }
    }

    /// The origin as a line of JSON.
    fn line(&self) -> String {
        serde_json::to_string(self).expect("its texts have JSON values")
    }

    /// A page with the origin as an additional section.
    pub(crate) fn sign(&self, page: &str) -> String {
        let Self { flysch, commit, sqlite, command } = self;
        let facts =
            [("flysch", *flysch), ("Commit", commit), ("SQLite", sqlite), ("Command", command)];
        let rows = facts
            .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escape(value)));
        let html = format!("<dl class=\"facts\">\n{}</dl>\n", rows.concat());
        appended(page, &Section { id: "provenance", title: "Where it comes from", lead: "", html })
    }
}

/// Save the trace of a run of this command, with its origin.
pub(crate) fn save_trace(trace: &mut Trace, path: &Path, force: bool) -> Result<(), Failure> {
    trace.origin = Provenance::of_this_command().line();
    let saved = flysch_lab::trace::save(trace, path, force);
    saved.map_err(|error| match error {
        TraceError::Io(error) => Failure::of_writing(path, &error, force),
        error => Failure::of_file(path, error),
    })
}

/// The command without [`SILENT`] options. The words after `--` belong to another program and are
/// kept.
fn spoken(mut arguments: impl Iterator<Item = String>) -> String {
    let mut words = vec!["flysch".to_owned()];
    let mut is_value = false;
    while let Some(word) = arguments.next() {
        if word == "--" {
            words.push(word);
            words.extend(arguments.by_ref());
            break;
        }
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        let is_valued = SILENT_VALUED.contains(&name);
        if is_value || is_valued || SILENT.contains(&name) {
            is_value = !is_value && is_valued && !word.contains('=');
        } else {
            words.push(word);
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_change_no_figure_are_left_out() {
        let line =
            "bench insert --out a.json --seed 1,2 --report=b.html -q --force --jobs 2 --fill 5";
        let words = line.split(' ').map(str::to_owned);
        assert_eq!(spoken(words), "flysch bench insert --seed 1,2 --fill 5");
        let line = "run --trace a.trace -- tool --trace b -q";
        let words = line.split(' ').map(str::to_owned);
        assert_eq!(spoken(words), "flysch run -- tool --trace b -q");
    }
}
