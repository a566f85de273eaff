//! The cells on the kernel: they run in guests one after the other, and each is told as soon as the
//! guest has measured it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use flysch_chip::Prng;
use flysch_kernel::validate::cell::{Counts, Group, Key, Sample, of_json, samples};
use flysch_kernel::validate::draw::Line;
use flysch_kernel::validate::plan::{MicroPlan, PLATFORM};
use flysch_kernel::validate::verdict::title;
use flysch_kernel::vm::guest::{Guest, quoted};
use flysch_kernel::vm::qemu;
use flysch_kernel::vm::store::Store;
use serde_json::Value;

use super::super::failure;
use crate::failure::Failure;
use crate::progress::tell;

/// The line before the result of each cell. It ends with the number of the cell.
const CELL: &str = "#cell ";
/// The line after it.
const END: &str = "#end\n";
/// Most cells of one guest: the kernel takes no script that is longer than 128 KiB.
const CELLS_MAX: usize = 100;
/// A guest that repeats a cell idles for less than this time first, milliseconds.
const IDLE_MS_MAX: u64 = 20_000;

/// Cells to measure, and what each asks of `flysch bench` in a guest.
pub(super) struct Cells {
    /// The cells of each size of a partition, in blocks.
    by_blocks: BTreeMap<u32, Vec<(Key, Vec<String>)>>,
    /// The seed of the times for which guests idle, if each cell gets a guest of its own.
    apart: Option<u64>,
}

impl Cells {
    /// Cells with the words that run them. A cell that does not name its partition has `blocks`.
    pub(super) fn new(keys: &[Key], plan: &MicroPlan, blocks: u32) -> Self {
        let mut by_blocks: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for key in keys {
            let (words, blocks) = if key.group() == Group::Workloads {
                let line = Line::from(key);
                (line.words(&format!("kernel:{}", key.fs)), line.partition_blocks())
            } else {
                (plan.words(key), blocks)
            };
            by_blocks.entry(blocks).or_default().push((key.clone(), words));
        }
        Self { by_blocks, apart: None }
    }

    /// Give each cell a guest of its own, which idles first for a time that is drawn. A guest that
    /// runs the same cell from its start repeats itself exactly, because QEMU counts instructions.
    /// What is free is the moment at which the cell begins.
    pub(super) const fn apart(mut self, seed: Option<u64>) -> Self {
        self.apart = seed;
        self
    }

    /// The same cells with one more option.
    pub(super) fn with(mut self, option: &str) -> Self {
        let all = self.by_blocks.values_mut().flatten();
        all.for_each(|(_, words)| words.push(option.to_owned()));
        self
    }

    /// Run the cells on the kernel. Each partition needs a guest of its own. `each` gets a cell as
    /// soon as it was measured.
    pub(super) fn measure(
        &self,
        store: &Store,
        guest: &Guest,
        each: &mut dyn FnMut(Key, &Sample) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for (&partition_blocks, cells) in &self.by_blocks {
            let guest = Guest { partition_blocks, ..guest.clone() };
            let count = if self.apart.is_some() { 1 } else { CELLS_MAX };
            for cells in cells.chunks(count) {
                let idle_ms = self.apart.map_or(0, |seed| idle_ms(&cells[0].0, seed));
                in_guest(store, &guest, (cells, idle_ms), each)?;
            }
        }
        Ok(())
    }
}

/// How long the guest of a cell idles.
fn idle_ms(key: &Key, seed: u64) -> u64 {
    let mix = |state: u64, byte: u8| Prng::new(state ^ u64::from(byte)).next();
    Prng::new(title(key).bytes().fold(seed, mix)).below(IDLE_MS_MAX)
}

/// Run cells in one guest, after it has idled.
fn in_guest(
    store: &Store,
    guest: &Guest,
    (cells, idle_ms): (&[(Key, Vec<String>)], u64),
    each: &mut dyn FnMut(Key, &Sample) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let script = format!("sleep {}.{:03}\n{}", idle_ms / 1000, idle_ms % 1000, script(cells));
    let words = ["sh".to_owned(), "-c".to_owned(), script];
    let (mut told, mut wrong) = (0, None);
    let mut pass_on = |text: &str| {
        let outcome = answers(text).skip(told).try_for_each(|(number, result)| {
            told += 1;
            let (key, sample) = sample(number, result, cells)?;
            each(key, &sample)
        });
        wrong = outcome.err();
        if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let answer = qemu::watch(store, guest, &words, &mut pass_on, &mut tell);
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    answer.map_err(failure)?;
    if told < cells.len() {
        return Err(Failure::Message(format!(
            "the guest answered {told} of {} cells",
            cells.len()
        )));
    }
    Ok(())
}

/// A script that runs the cells one after the other. A cell that fails prints its error.
fn script(cells: &[(Key, Vec<String>)]) -> String {
    let one = |(number, (_, words)): (usize, &(Key, Vec<String>))| {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!(
            "echo '{CELL}{number}'\nflysch bench {} --platform {PLATFORM} --mtd mtd0 \
             --format json 2>/tmp/said || tail -n 1 /tmp/said\n\
             echo; echo '{}'\ntail -n 1 /tmp/said >/dev/console\n",
            words.join(" "),
            END.trim_end()
        )
    };
    cells.iter().enumerate().map(one).collect()
}

/// The numbers and results of the cells whose results are whole in the output of the script.
fn answers(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = text.split(CELL).skip(1);
    parts.filter_map(|part| part.split_once(END)?.0.split_once('\n'))
}

/// Read the result of a cell. Cells of what users run may end early, as on full flash.
fn sample(
    number: &str,
    result: &str,
    cells: &[(Key, Vec<String>)],
) -> Result<(Key, Sample), Failure> {
    let cell = number.trim().parse().ok().and_then(|number: usize| cells.get(number));
    let unknown = || Failure::Message(format!("the guest's answer has no cell {number}"));
    let (key, _) = cell.ok_or_else(unknown)?;
    let Ok(runs) = serde_json::from_str::<Vec<Value>>(result) else {
        let line = format!("on the kernel: {}: {}", title(key), result.trim());
        if key.group() != Group::Workloads {
            return Err(Failure::Message(line));
        }
        tell(&line);
        return Ok((key.clone(), Counts::stopped(result.trim()).into()));
    };
    let lacks = || Failure::Message(format!("{}: lacks a count", title(key)));
    let runs: Option<Vec<_>> = runs.iter().map(of_json).collect();
    let runs = runs.ok_or_else(lacks)?.into_iter().map(|(_, counts)| (key.clone(), counts));
    samples(runs).pop_first().ok_or_else(lacks)
}

#[cfg(test)]
mod tests {
    use flysch_kernel::validate::plan::QUICK;

    use super::*;

    const RUN: &str = "[{\"on\": \"kernel:jffs2\", \"workload\": \"commit\", \"record_size\": 1, \
        \"requests\": 2, \"page_reads\": 3, \"page_programs\": 4, \"block_erases\": 5}]";

    fn cell(options: &str) -> (Key, Vec<String>) {
        let line = |fs: &str, workload: &str| Line {
            fs: fs.to_owned(),
            workload: workload.to_owned(),
            options: options.to_owned(),
        };
        (Key::from(&line("jffs2", "commit")), vec![options.to_owned()])
    }

    #[test]
    fn a_guest_answers_with_runs_or_with_an_error() {
        let cells = [cell("--fill 7"), cell("--fill 9"), cell("")];
        let full = "flysch: filling table 1, record 8: database or disk is full";
        let text = format!("#cell 1\n{full}\n\n#end\n#cell 0\n{RUN}\n\n#end\n#cell 2\n[{{\"on");
        let read = |text: &str| -> Result<Vec<(Key, Sample)>, Failure> {
            answers(text).map(|(number, result)| sample(number, result, &cells)).collect()
        };
        let found = read(&text).expect("two answers are whole, and one is not there yet");
        assert_eq!((found.len(), found[0].0.options.as_str()), (2, "--fill 9"));
        assert_eq!(found[0].1.mean.stopped_at, Some(8.0));
        assert!((found[1].1.mean.page_programs - 4.0).abs() < 1e-9);
        let grid = format!("#cell 2\n{full}\n#end\n");
        for wrong in ["#cell 3\n[]\n#end\n", "#cell 0\n[{}]\n#end\n", "#cell 0\n[]\n#end\n", &grid]
        {
            read(wrong).expect_err("it is no result, or it is that of a grid");
        }
        assert!(script(&cells).contains("'--fill 9'"));
    }

    #[test]
    fn a_repeated_cell_begins_at_another_time() {
        let idle = |options: &str, seed| idle_ms(&cell(options).0, seed);
        assert_eq!(idle("--fill 7", 1), idle("--fill 7", 1));
        let times = [idle("--fill 7", 1), idle("--fill 9", 1), idle("--fill 7", 2)];
        assert!(times.iter().all(|&time| time < IDLE_MS_MAX), "{times:?}");
        assert!(times[0] != times[1] && times[0] != times[2], "{times:?}");
    }

    #[test]
    fn cells_run_in_the_guest_that_has_their_partition() {
        let of_grid = Key { record_size: 600, requests: 100, ..cell("").0 };
        let keys = [cell("--fill 7 --partition-blocks 64").0, of_grid];
        let cells = Cells::new(&keys, &QUICK, 400).with("--untraced");
        let lines: Vec<(u32, String)> = cells
            .by_blocks
            .into_iter()
            .map(|(blocks, cells)| (blocks, cells[0].1.join(" ")))
            .collect();
        let expected = [
            (64, "commit --fill 7 --partition-blocks 64 --on kernel:jffs2 --untraced"),
            (
                400,
                "commit --on kernel:jffs2 --record-size 600 --requests 100 --fill 1000 --seed 1 \
                 --untraced",
            ),
        ];
        assert_eq!(lines, expected.map(|(blocks, line)| (blocks, line.to_owned())));
    }
}
