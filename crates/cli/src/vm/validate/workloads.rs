//! The cells of what users run: their runs on the kernel and on the simulator.

use std::collections::BTreeMap;

use flysch_kernel::validate::cell::{Counts, Key, of_json, of_run};
use flysch_kernel::validate::draw::Line;
use flysch_kernel::validate::plan::PLATFORM;
use flysch_kernel::validate::verdict::title as title_of;
use flysch_kernel::vm::guest::{Guest, quoted};
use flysch_kernel::vm::qemu;
use flysch_kernel::vm::store::Store;
use serde_json::Value;

use super::super::failure;
use crate::bench;
use crate::failure::Failure;
use crate::progress::{Cell, attempt, tell};

/// The line before the result of each cell. It ends with the number of the cell.
const CELL: &str = "#cell ";

/// Run cells on the kernel. Each partition needs a guest of its own.
pub(super) fn in_guests(
    store: &Store,
    guest: &Guest,
    lines: &[Line],
) -> Result<Vec<(Key, Counts)>, Failure> {
    let mut by_size: BTreeMap<u32, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        by_size.entry(line.partition_blocks()).or_default().push(line);
    }
    let mut all = Vec::new();
    for (partition_blocks, lines) in by_size {
        let guest = Guest { partition_blocks, ..guest.clone() };
        let words = ["sh".to_owned(), "-c".to_owned(), script(&lines)];
        let answer = qemu::run(store, &guest, &words, &mut tell).map_err(failure)?;
        all.extend(counts(&answer.text, &lines)?);
    }
    Ok(all)
}

/// A script that runs the cells one after the other. A cell that fails prints its error.
fn script(lines: &[&Line]) -> String {
    let one = |(number, line): (usize, &&Line)| {
        let words = line.words(&format!("kernel:{}", line.fs));
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!(
            "echo '{CELL}{number}'\nflysch bench {} --platform {PLATFORM} --mtd mtd0 \
             --format json 2>/tmp/said || tail -n 1 /tmp/said\n\
             tail -n 1 /tmp/said >/dev/console\n",
            words.join(" ")
        )
    };
    lines.iter().enumerate().map(one).collect()
}

/// Read the output of the script.
fn counts(text: &str, lines: &[&Line]) -> Result<Vec<(Key, Counts)>, Failure> {
    let mut all = Vec::new();
    for part in text.split(CELL).skip(1) {
        let (number, result) = part.split_once('\n').unwrap_or((part, ""));
        let line = number.trim().parse().ok().and_then(|number: usize| lines.get(number));
        let wrong = || Failure::Message(format!("the guest's answer has no cell {number}"));
        let key = Key::from(*line.ok_or_else(wrong)?);
        let Ok(runs) = serde_json::from_str::<Vec<Value>>(result) else {
            let error = result.trim();
            tell(&format!("on the kernel: {}: {error}", title_of(&key)));
            all.push((key, Counts::stopped(error)));
            continue;
        };
        let lacks = || Failure::Message(format!("{}: lacks a count", title_of(&key)));
        let of_runs: Option<Vec<_>> = runs.iter().map(of_json).collect();
        let of_runs = of_runs.ok_or_else(lacks)?.into_iter();
        all.extend(of_runs.map(|(_, counts)| (key.clone(), counts)));
    }
    Ok(all)
}

/// Run cells on the simulator.
pub(super) fn simulated(lines: &[Line]) -> Result<Vec<(Key, Counts)>, Failure> {
    let (mut keys, mut scenarios) = (Vec::new(), Vec::new());
    for line in lines {
        let platform = ["--platform", PLATFORM].map(str::to_owned);
        let words = line.words(&format!("{}/{}", bench::engine_of(&line.workload)?, line.fs));
        let of_line = bench::scenarios(words.into_iter().chain(platform))?;
        keys.extend(of_line.iter().map(|_| Key::from(line)));
        scenarios.extend(of_line);
    }
    let cells = attempt(&scenarios, false);
    let counts = |(key, cell): (Key, &Cell)| match cell {
        Cell::Done(run) => (key, of_run(run).1),
        Cell::Failed(failed) => {
            tell(&format!("on the simulator: {}: {}", title_of(&key), failed.error));
            (key, Counts::stopped(&failed.error))
        }
    };
    Ok(keys.into_iter().zip(&cells).map(counts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_answers_with_runs_or_with_an_error() {
        let line = |options: &str| Line {
            fs: "jffs2".to_owned(),
            workload: "commit".to_owned(),
            options: options.to_owned(),
        };
        let (first, second) = (line("--fill 7"), line("--fill 9"));
        let lines = [&first, &second];
        let text = "#cell 1\nflysch: filling table 1, record 8: database or disk is full\n\
            #cell 0\n[{\"on\": \"kernel:jffs2\", \"workload\": \"commit\", \"record_size\": 1, \
            \"requests\": 2, \"page_reads\": 3, \"page_programs\": 4, \"block_erases\": 5}]\n";
        let found = counts(text, &lines).expect("both answers are whole");
        assert_eq!(found[0].0.options, "--fill 9");
        assert_eq!(found[0].1.stopped_at, Some(8.0));
        assert!((found[1].1.page_programs - 4.0).abs() < 1e-9);
        for wrong in ["#cell 2\n[]\n", "#cell 0\n[{}]\n"] {
            counts(wrong, &lines).expect_err("it is no result");
        }
        assert!(script(&lines).contains("'--fill' '9'"));
    }
}
