//! Cells of what users run: a fixed half, and a half that is drawn by a seed, so that the simulator
//! cannot be made to fit the cells that are compared.
//!
//! A cell is a command line of `flysch bench`, without the stack. Both sides get the same words, so
//! any option of `bench` can be drawn.

use flysch_chip::Prng;
use flysch_lab::machine::stack::Main;
use serde::{Deserialize, Serialize};

/// The file systems that are compared.
const FILE_SYSTEMS: [Main; 2] = [Main::Jffs2, Main::Ubifs];
/// Blocks of the partition, unless a cell has others.
const BLOCKS: u32 = 400;
/// The seeds of cells in which a file system collects garbage: the kernel draws the victim from its
/// clock, so its own counts scatter.
const SEEDS: &str = "1,2,3";
/// Most cells of a draw, so that a command with a wrong number ends.
pub const CELLS_MAX: u32 = 1000;

/// A cell as the words of a command line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Line {
    /// Name of the file system.
    pub fs: String,
    pub workload: String,
    /// The options of the workload, the machine and SQLite, with all seeds that are run.
    pub options: String,
}

impl Line {
    fn new(main: Main, words: &str) -> Self {
        let (workload, options) = words.split_once(' ').unwrap_or((words, ""));
        let mut options = options.to_owned();
        if !options.contains("--partition-blocks") {
            options = format!("{options} --partition-blocks {BLOCKS}");
        }
        Self { fs: main.name().to_owned(), workload: workload.to_owned(), options }
    }

    /// The words after `flysch bench`, on the stack of this name.
    pub fn words(&self, stack: &str) -> Vec<String> {
        let all = format!("{} {} --on {stack}", self.workload, self.options);
        all.split_whitespace().map(str::to_owned).collect()
    }

    /// Blocks of the partition that the cell runs on.
    pub fn partition_blocks(&self) -> u32 {
        let mut words =
            self.options.split_whitespace().skip_while(|it| *it != "--partition-blocks");
        words.nth(1).and_then(|blocks| blocks.parse().ok()).unwrap_or(BLOCKS)
    }
}

/// The cells of a quick comparison: they need few seconds of a guest.
pub fn quick() -> Vec<Line> {
    let words = [
        "commit --record-size 100 --requests 40 --fill 200",
        "contacts --records 200 --requests 100 --free-timers on",
        "postmark --files 40 --requests 60 --free-timers on",
    ];
    on_both(&words)
}

/// The fixed half of the cells.
pub fn fixed() -> Vec<Line> {
    let words = [
        "commit --record-size 100 --requests 100 --fill 1000",
        "commit --record-size 100 --requests 100 --fill 1000 --journal-mode truncate",
        "commit --record-size 100 --requests 100 --fill 1000 --journal-mode persist",
        "commit --record-size 100 --requests 100 --fill 1000 --journal-mode memory",
        "commit --record-size 100 --requests 100 --fill 1000 --journal-mode off",
        "commit --record-size 100 --requests 100 --fill 1000 --synchronous off",
        "contacts --requests 500 --free-timers on",
        "contacts --requests 500 --pattern random --read-ahead off --free-timers on",
        "postmark --files 200 --requests 300 --free-timers on",
        "overwrite --requests 5 --partition-blocks 64 --free-timers on --seed 1,2,3",
        "tpcc --scale-divisor 100 --requests 60 --free-timers on",
        "update --record-size 600 --requests 1000 --aged-fill 60 --aged-invalid 15 \
         --partition-blocks 100 --fill 1000 --seed 1,2,3",
        "update --record-size 2500 --requests 500 --fill 1000 --seed 1,2,3",
        "insert --record-size 600 --requests 3000 --partition-blocks 40",
    ];
    let mut all = on_both(&words);
    let wal = "commit --record-size 100 --requests 100 --fill 1000 --journal-mode wal";
    all.push(Line::new(Main::Ubifs, wal));
    all
}

fn on_both(words: &[&str]) -> Vec<Line> {
    let of = |main| words.iter().map(move |words| Line::new(main, words));
    FILE_SYSTEMS.into_iter().flat_map(of).collect()
}

/// The drawn half: `count` cells of this seed. They go through all kinds in turn, so that each draw
/// has each kind.
pub fn drawn(seed: u64, count: u32) -> Vec<Line> {
    const KINDS: [fn(&mut Draw, Main) -> String; 12] = [
        commit, insert, contacts, update, postmark, select, overwrite, commit, tpcc, aged, read,
        join,
    ];
    let mut draw = Draw(Prng::new(seed ^ 0xD4A3));
    let cell = |number: u32| {
        let main = FILE_SYSTEMS[(number % 2) as usize];
        let kind = KINDS[(number / 2) as usize % KINDS.len()];
        Line::new(main, &kind(&mut draw, main))
    };
    (0..count).map(cell).collect()
}

/// Blocks that UBI keeps for bad ones: 20 of each 1024 of the chip, which has 2048.
fn spare(main: Main) -> u32 {
    if main == Main::Ubifs { 40 } else { 0 }
}

/// Draws the parameters of a cell.
struct Draw(Prng);

impl Draw {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.0.below(of.len() as u64)).expect("an index")]
    }

    /// A number between two others, whose orders of magnitude are equally likely.
    fn size(&mut self, least: u32, most: u32) -> u32 {
        let (low, high) = (f64::from(least).ln(), f64::from(most).ln());
        let part = f64::from(u32::try_from(self.0.below(10_001)).expect("below 10001")) / 1e4;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in between")]
        let number = (low + (high - low) * part).exp().round() as u32;
        number.clamp(least, most)
    }

    /// SQLite's settings for a file system. JFFS2 has no shared memory, so it has no WAL.
    fn settings(&mut self, main: Main) -> String {
        let modes: &[&str] = match main {
            Main::Ubifs => &["delete", "truncate", "persist", "memory", "off", "wal"],
            _ => &["delete", "truncate", "persist", "memory", "off"],
        };
        let (mode, page) = (self.one(modes), self.one(&[512, 1024, 2048, 4096, 8192, 16384]));
        let (cache, level) = (self.one(&[20, 200, 2000]), self.one(&["normal", "full", "extra"]));
        let level = if self.0.below(6) == 0 { "off" } else { level };
        format!(
            "--journal-mode {mode} --page-size {page} --cache-size {cache} --synchronous {level}"
        )
    }

    /// Rows of a table: their size and their number, of two megabytes at most.
    fn table(&mut self) -> (u32, u32) {
        let size = self.size(37, 9000);
        (size, self.size(60, (2_000_000 / size).clamp(100, 4000)))
    }
}

fn commit(draw: &mut Draw, main: Main) -> String {
    let (size, fill) = (draw.size(20, 3000), draw.size(60, 1500));
    let (requests, settings) = (draw.size(10, 150), draw.settings(main));
    format!("commit --record-size {size} --fill {fill} --requests {requests} {settings}")
}

fn insert(draw: &mut Draw, _: Main) -> String {
    let ((size, rows), page) = (draw.table(), draw.one(&[512, 1024, 4096, 16384, 65536]));
    let cache = draw.one(&[20, 200, 2000]);
    format!("insert --record-size {size} --requests {rows} --page-size {page} --cache-size {cache}")
}

fn update(draw: &mut Draw, main: Main) -> String {
    let ((size, fill), page) = (draw.table(), draw.one(&[512, 1024, 4096, 16384]));
    let requests = draw.size(fill / 4, fill);
    let seeds = if main == Main::Jffs2 { SEEDS } else { "1" };
    format!(
        "update --record-size {size} --fill {fill} --requests {requests} --page-size {page} \
         --seed {seeds}"
    )
}

fn select(draw: &mut Draw, _: Main) -> String {
    let ((size, fill), page) = (draw.table(), draw.one(&[512, 1024, 4096, 16384]));
    let requests = draw.size(fill / 4, fill);
    let cache = draw.one(&[20, 200, 2000]);
    format!(
        "select --record-size {size} --fill {fill} --requests {requests} --page-size {page} \
         --cache-size {cache}"
    )
}

fn join(draw: &mut Draw, _: Main) -> String {
    let (size, fill) = (draw.size(37, 1500), draw.size(100, 1000));
    let requests = draw.size(fill / 4, fill);
    format!("join --record-size {size} --fill {fill} --requests {requests}")
}

fn contacts(draw: &mut Draw, _: Main) -> String {
    let (text, records) = (draw.size(10, 400), draw.size(100, 1500));
    let (requests, pattern) = (draw.size(20, 500), draw.one(&["sequential", "random"]));
    let read_ahead = draw.one(&["on", "off"]);
    format!(
        "contacts --text-size {text} --records {records} --requests {requests} --pattern {pattern} \
         --read-ahead {read_ahead} --free-timers on"
    )
}

fn postmark(draw: &mut Draw, _: Main) -> String {
    let (files, least) = (draw.size(20, 250), draw.size(100, 4000));
    let (most, call) = (draw.size(least * 2, 30_000), draw.one(&[512, 1000, 4096, 10_000]));
    let (requests, percent) = (draw.size(20, 300), draw.one(&[10, 50, 100]));
    format!(
        "postmark --files {files} --size-min {least} --size-max {most} --request-size {call} \
         --percent {percent} --requests {requests} --free-timers on"
    )
}

fn overwrite(draw: &mut Draw, main: Main) -> String {
    let (blocks, requests) = (draw.size(48, 90) + spare(main), draw.size(2, 10));
    let seeds = if main == Main::Jffs2 { SEEDS } else { "1" };
    format!(
        "overwrite --partition-blocks {blocks} --requests {requests} --free-timers on \
         --seed {seeds}"
    )
}

fn tpcc(draw: &mut Draw, main: Main) -> String {
    let (divisor, requests) = (draw.one(&[40, 60, 100]), draw.size(20, 100));
    let settings = draw.settings(main);
    format!("tpcc --scale-divisor {divisor} --requests {requests} --free-timers on {settings}")
}

fn aged(draw: &mut Draw, main: Main) -> String {
    let (blocks, fill) = (draw.size(70, 120) + spare(main), draw.one(&[10, 20, 40]));
    let (invalid, requests) = (draw.one(&[5, 15, 25]), draw.size(100, 800));
    let workload = draw.one(&["update", "insert"]);
    let rows = if workload == "update" { " --fill 800" } else { "" };
    format!(
        "{workload} --record-size 600 --requests {requests}{rows} --aged-fill {fill} \
         --aged-invalid {invalid} --partition-blocks {blocks} --seed {SEEDS}"
    )
}

fn read(draw: &mut Draw, _: Main) -> String {
    let (call, file) = (draw.size(300, 20_000), draw.one(&[400_000, 1_000_000, 3_000_000]));
    let (requests, pattern) = (draw.size(8, 300), draw.one(&["sequential", "random"]));
    let read_ahead = draw.one(&["on", "off"]);
    format!(
        "read --request-size {call} --file-size {file} --requests {requests} --pattern {pattern} \
         --read-ahead {read_ahead} --free-timers on"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_has_each_kind_and_another_seed_draws_others() {
        let cells = drawn(1, 24);
        assert_eq!(cells, drawn(1, 24));
        assert!(drawn(2, 24).iter().all(|cell| !cells.contains(cell)));
        for workload in ["commit", "contacts", "postmark", "overwrite", "tpcc", "read", "join"] {
            let on = cells.iter().filter(|it| it.workload == workload).map(|it| it.fs.as_str());
            let on: std::collections::BTreeSet<&str> = on.collect();
            assert_eq!(on.len(), 2, "{workload}");
        }
        assert!(cells.iter().any(|it| it.options.contains("--aged-fill")));
    }

    #[test]
    fn a_cell_names_its_partition() {
        let cell = Line::new(Main::Ubifs, "overwrite --partition-blocks 64 --seed 1");
        assert_eq!(cell.partition_blocks(), 64);
        let words = Line::new(Main::Jffs2, "commit --fill 7").words("kernel:jffs2").join(" ");
        assert_eq!(words, "commit --fill 7 --partition-blocks 400 --on kernel:jffs2");
    }
}
