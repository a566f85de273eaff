//! The summary of a run, for people.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use flysch_lab::bench::run::Run;

/// The summary: what the program did, and what it cost.
pub(super) fn text(run: &Run) -> String {
    let mut text = String::new();
    let Run { on, platform, requests, page_reads, page_programs, block_erases, .. } = run;
    let ms = run.time_ns / 1_000_000;
    let lines = [
        format!("{requests} statements on {on} ({platform}, {}), {ms} ms", run.part),
        format!(
            "{page_reads} page reads, {page_programs} page programs, {block_erases} block erases"
        ),
    ];
    for line in lines {
        writeln!(text, "flysch: {line}").expect("a string takes what is written");
    }
    text
}

/// Write the summary to stderr.
pub(super) fn show(text: &str) {
    // If stderr is closed, nobody watches, so an error does not matter.
    io::stderr().write_all(text.as_bytes()).ok();
}
