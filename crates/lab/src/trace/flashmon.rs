//! The two text formats of Flashmon v2.1, the kernel module that the papers used for their traces.
//!
//! - `/proc/flashmon`, the **counters**: one line for each block, `reads writes erases` since the
//!   module was loaded.
//! - `/proc/flashmon_log`, the **log**: lines of `seconds.nanoseconds;T;address;task`. `T` is `R`,
//!   `W` or `C` (a read that the buffer of the MTD layer served) with a page address, or `E` with a
//!   block address. A marker is the line `---`. Task names are cut to the 15 bytes that the kernel
//!   keeps.
//!
//! A log has less information than a trace. When it is read, durations are zero, page operations
//! have the bytes of a whole page, and the cause of all events is "flashmon". A marker gets the
//! time of the line before it, and its address is its number in the log.

use std::fmt::Write;

use flysch_chip::{Event, EventKind, TaskId, Trace};
use flysch_nand::Geometry;

use super::blocks::by_block;
use super::error::{Fault, Place, TraceError};
use super::intake::{BLOCKS_MAX, Intake, within};
use super::operations::Operations;
use super::tally::Tally;

/// `TASK_COMM_LEN` of the kernel, without the terminating zero byte.
const TASK_SIZE_MAX: usize = 15;
const MARKER: &str = "---";
const NS_PER_S: u64 = 1_000_000_000;
const LOG_FORM: &str = "seconds.nanoseconds;T;address;task";
const COUNTERS_FORM: &str = "reads writes erases";

/// The cause of events that come from Flashmon, and the task of its markers.
const FLASHMON: &str = "flashmon";

/// The letter of a kind in the log. None if the module does not see events of this kind.
const fn letter(kind: EventKind) -> Option<char> {
    match kind {
        EventKind::Read => Some('R'),
        EventKind::Program => Some('W'),
        EventKind::Erase => Some('E'),
        EventKind::BufferHit => Some('C'),
        EventKind::ReadOob
        | EventKind::ProgramOob
        | EventKind::Mark
        | EventKind::NvRead
        | EventKind::NvWrite
        | EventKind::NvErase => None,
    }
}

/// Write the log. Unlike the module's, its length has no limit. Kinds without a letter are left
/// out.
pub fn write_log(trace: &Trace) -> String {
    let mut text = String::new();
    for event in &trace.events {
        if event.kind == EventKind::Mark {
            text.push_str(MARKER);
            text.push('\n');
        } else if let Some(letter) = letter(event.kind) {
            let (s, ns) = (event.time_ns / NS_PER_S, event.time_ns % NS_PER_S);
            let task = kernel_name(&trace.tasks[usize::from(event.task.0)]);
            writeln!(text, "{s}.{ns:09};{letter};{};{task}", event.addr)
                .expect("memory takes what is written");
        }
    }
    text
}

/// The part of a task's name that the kernel keeps, cut after a whole character.
fn kernel_name(task: &str) -> &str {
    let ends = task.char_indices().map(|(at, letter)| at + letter.len_utf8());
    &task[..ends.take_while(|&end| end <= TASK_SIZE_MAX).last().unwrap_or(0)]
}

/// Write the counters of every block.
pub fn write_counters(trace: &Trace) -> String {
    counters_text(&by_block(trace))
}

/// Write counters that were already summed up by block.
pub fn counters_text(blocks: &[Tally]) -> String {
    let mut text = String::new();
    for Tally { operations, .. } in blocks {
        let Operations { page_reads, page_programs, block_erases, .. } = operations;
        writeln!(text, "{page_reads} {page_programs} {block_erases}")
            .expect("memory takes what is written");
    }
    text
}

/// Parse a log. `geometry` is that of the traced chip.
pub fn parse_log(text: &str, geometry: Geometry) -> Result<Trace, TraceError> {
    let mut intake = Intake::new(geometry).map_err(at_line(0))?;
    let mut markers = 0;
    for (number, line) in text.lines().enumerate() {
        let event = if line == MARKER {
            markers += 1;
            parse_marker(&mut intake, markers - 1)
        } else {
            parse_log_line(&mut intake, line)
        };
        event.and_then(|event| intake.push(event)).map_err(at_line(number))?;
    }
    Ok(intake.finish())
}

/// Parse counters. Returns one tally for each block.
pub fn parse_counters(text: &str) -> Result<Vec<Tally>, TraceError> {
    let mut blocks = Vec::new();
    for (number, line) in text.lines().enumerate() {
        within("block", number as u64, u64::from(BLOCKS_MAX) - 1).map_err(at_line(number))?;
        let [page_reads, page_programs, block_erases] =
            counter_line(line).ok_or(Fault::Shape(COUNTERS_FORM)).map_err(at_line(number))?;
        let operations =
            Operations { page_reads, page_programs, block_erases, ..Operations::default() };
        blocks.push(Tally { operations, ..Tally::default() });
    }
    Ok(blocks)
}

/// Whether a line has the form of the log's lines.
pub(super) fn is_log_line(line: &str) -> bool {
    line == MARKER || split_log_line(line).is_some()
}

/// The three counters in a line.
pub(super) fn counter_line(line: &str) -> Option<[u64; 3]> {
    let mut numbers = line.split_whitespace().map(|word| word.parse::<u32>().map(u64::from));
    let counters = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    numbers.next().is_none().then_some(counters)
}

fn at_line(number: usize) -> impl FnOnce(Fault) -> TraceError {
    move |fault| TraceError::at(Place::Line(number + 1), fault)
}

fn parse_marker(intake: &mut Intake, addr: u32) -> Result<Event, Fault> {
    let time_ns = intake.trace().events.last().map_or(0, |event| event.time_ns);
    let task = intake.task(FLASHMON)?;
    event(intake, EventKind::Mark, (time_ns, addr, 0), task)
}

fn parse_log_line(intake: &mut Intake, line: &str) -> Result<Event, Fault> {
    let [time, kind, addr, task] = split_log_line(line).ok_or(Fault::Shape(LOG_FORM))?;
    let named =
        |known: &&EventKind| letter(**known).is_some_and(|letter| kind == letter.to_string());
    let kind = *EventKind::ALL.iter().find(named).ok_or(Fault::Column("T"))?;
    let time_ns = parse_time(time).ok_or(Fault::Column("time"))?;
    let addr = addr.parse().map_err(|_| Fault::Column("address"))?;
    let moves_page = matches!(kind, EventKind::Read | EventKind::Program);
    let bytes = if moves_page { intake.trace().geometry.page_size } else { 0 };
    let task = intake.task(task)?;
    event(intake, kind, (time_ns, addr, bytes), task)
}

fn event(
    intake: &mut Intake,
    kind: EventKind,
    (time_ns, addr, bytes): (u64, u32, u32),
    task: TaskId,
) -> Result<Event, Fault> {
    let cause = intake.cause(FLASHMON)?;
    Ok(Event { time_ns, duration_ns: 0, addr, bytes, cause, kind, task })
}

/// The four fields of a line of the log. The name of a task may itself contain semicolons.
fn split_log_line(line: &str) -> Option<[&str; 4]> {
    let mut fields = line.splitn(4, ';');
    Some([fields.next()?, fields.next()?, fields.next()?, fields.next()?])
}

fn parse_time(text: &str) -> Option<u64> {
    let (s, ns) = text.split_once('.')?;
    let is_whole = ns.len() == 9 && ns.bytes().all(|digit| digit.is_ascii_digit());
    let ns = if is_whole { ns.parse::<u64>().ok()? } else { return None };
    s.parse::<u64>().ok()?.checked_mul(NS_PER_S)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{other_events, parse_shape};

    const LOG: &str = "---\n0.000000005;R;3;sqlite3\n0.000000007;C;3;sqlite3\n---\n\
        12.500000000;W;127;jffs2_gcd;mtd1\n12.500000000;E;3;jffs2_gcd;mtd1\n";

    #[test]
    fn a_log_comes_back() {
        let trace = parse_log(LOG, parse_shape("512+16x32x4").unwrap()).unwrap();
        assert_eq!(write_log(&trace), LOG);
        assert_eq!(other_events(&trace), 0);
        assert_eq!(trace.tasks, ["flashmon", "sqlite3", "jffs2_gcd;mtd1"]);
        let bytes: Vec<u32> = trace.events.iter().map(|event| event.bytes).collect();
        assert_eq!(bytes, [0, 512, 0, 0, 512, 0]);
        assert_eq!(write_counters(&trace), "1 0 0\n0 0 0\n0 0 0\n0 1 1\n");
    }

    #[test]
    fn counters_come_back() {
        let text = "1 2 3\n0 0 0\n4294967295 0 1\n";
        let blocks = parse_counters(text).unwrap();
        assert_eq!(counters_text(&blocks), text);
        for (text, line) in [("1 2 3\n1 2", 2), ("1 2 3 4", 1), ("1 2 x", 1), ("1 2 3\n\n1 2 3", 2)]
        {
            let error = parse_counters(text).unwrap_err().to_string();
            assert_eq!(error, format!("line {line}: the line is not of the form {COUNTERS_FORM}"));
        }
    }

    #[test]
    fn bad_lines_are_named() {
        let cases = [
            ("0.000000005;R;3", "line 1: the line is not of the form"),
            ("0.000000005;X;3;t", "line 1: no such value for T"),
            ("0.5;R;3;t", "line 1: no such value for time"),
            ("0.+00000005;R;3;t", "line 1: no such value for time"),
            ("99999999999.000000000;R;3;t", "line 1: no such value for time"),
            ("---\n0.000000005;R;-3;t", "line 2: no such value for address"),
            ("0.000000005;R;128;t", "line 1: page 128 is beyond 127"),
            ("0.000000005;E;4;t", "line 1: block 4 is beyond 3"),
            ("0.000000005;E;3;t\n0.000000004;E;3;t", "line 2: the event is earlier"),
        ];
        for (text, wanted) in cases {
            let error = parse_log(text, parse_shape("512+16x32x4").unwrap()).unwrap_err();
            assert!(error.to_string().starts_with(wanted), "{error}");
        }
    }
}
