//! The recording: turns the lines of probes into the events of a trace.

use flysch_chip::{Blame, CauseId, CauseTree, Event, EventKind, TaskId, Trace};

use super::device::Window;
use super::hook::{Meaning, Probe};
use super::line::Line;

/// The most tasks in a trace, because events store 8 bits for them. All further tasks share the
/// last number.
const TASKS_MAX: usize = 256;
/// The name of the task with the last number.
const OTHERS: &str = "others";

/// The actions of nandsim, in the bits `NS_ACTION_MASK` of its state table.
const ACTION_MASK: u64 = 0x0070_0000;
const ACTION_READ: u64 = 0x0010_0000;
const ACTION_PROGRAM: u64 = 0x0020_0000;
const ACTION_ERASE: u64 = 0x0030_0000;

/// From its start on, operations of the task have this cause.
#[derive(Clone, Debug)]
pub struct Span {
    /// The start of the span, in nanoseconds of the trace's clock.
    pub from_ns: u64,
    /// The cause of the operations in this span.
    pub label: &'static str,
}

/// A recording that is under way.
#[derive(Debug)]
pub(super) struct Recording {
    window: Window,
    pub(super) probes: Vec<Probe>,
    causes: CauseTree,
    tasks: Vec<String>,
    /// The task that the spans are for, and its spans in order of time.
    pub(super) own_task: String,
    pub(super) spans: Vec<Span>,
    events: Vec<Event>,
}

impl Recording {
    pub(super) fn new(window: Window, probes: Vec<Probe>) -> Self {
        Self {
            window,
            probes,
            causes: CauseTree::default(),
            tasks: Vec::new(),
            own_task: String::new(),
            spans: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Add the events of a line.
    pub(super) fn record(&mut self, line: &Line<'_>) {
        let probe = self.probes.iter().find(|probe| probe.event == line.event);
        let Some(meaning) = probe.map(|probe| probe.meaning) else { return };
        let number = |name| line.number(name).unwrap_or(0);
        match meaning {
            Meaning::PageRead => self.page(line, EventKind::Read),
            Meaning::PageProgram => self.page(line, EventKind::Program),
            Meaning::BlockErase => self.push(line, EventKind::Erase, number("block"), 0),
            Meaning::RangeRead => self.range(line, EventKind::Read),
            Meaning::RangeProgram => self.range(line, EventKind::Program),
            Meaning::RangeErase => {
                let block_size = u64::from(self.window.geometry.block_size());
                let first = number("from") / block_size;
                for block in first..first + number("len").div_ceil(block_size) {
                    self.push(line, EventKind::Erase, block, 0);
                }
            }
            Meaning::Action => {
                let first_page = u64::from(self.window.first_block)
                    * u64::from(self.window.geometry.pages_per_block);
                let action = number("action") & ACTION_MASK;
                let kinds = [
                    (ACTION_READ, EventKind::Read, first_page),
                    (ACTION_PROGRAM, EventKind::Program, first_page),
                    (ACTION_ERASE, EventKind::Erase, u64::from(self.window.first_block)),
                ];
                // Other actions only move data to and from the page register, without touching
                // cells.
                if let Some(&(_, kind, addr)) = kinds.iter().find(|(code, ..)| *code == action) {
                    self.push(line, kind, addr, 0);
                }
            }
        }
    }

    /// Add an operation on a page. If it begins after the page's data, it concerns only OOB bytes.
    fn page(&mut self, line: &Line<'_>, kind: EventKind) {
        let number = |name| line.number(name).unwrap_or(0);
        let is_oob = number("off") >= u64::from(self.window.geometry.page_size);
        let kind = if is_oob { oob_twin(kind) } else { kind };
        self.push(line, kind, number("page"), number("len"));
    }

    /// Add a request as one operation for each page it touches.
    fn range(&mut self, line: &Line<'_>, kind: EventKind) {
        let number = |name| line.number(name).unwrap_or(0);
        let page_size = u64::from(self.window.geometry.page_size);
        let (from, len) = (number("from"), number("len"));
        if len == 0 && number("ooblen") > 0 {
            self.push(line, oob_twin(kind), from / page_size, number("ooblen"));
        }
        let mut at = from;
        while at < from + len {
            let end = (at / page_size + 1) * page_size;
            let bytes = end.min(from + len) - at;
            self.push(line, kind, at / page_size, bytes);
            at = end;
        }
    }

    /// Add an event, unless its address is outside of the window.
    fn push(&mut self, line: &Line<'_>, kind: EventKind, addr: u64, bytes: u64) {
        let Window { geometry, first_block, .. } = self.window;
        let is_block = kind == EventKind::Erase;
        let unit = if is_block { 1 } else { u64::from(geometry.pages_per_block) };
        let Some(addr) = addr.checked_sub(u64::from(first_block) * unit) else { return };
        if addr >= u64::from(geometry.block_count) * unit {
            return;
        }
        let (cause, task) = (self.cause(line), self.task(line.task));
        self.events.push(Event {
            time_ns: line.time_ns,
            duration_ns: self.duration_ns(kind, bytes),
            addr: u32::try_from(addr).expect("a chip has fewer than 2^32 pages"),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            cause,
            kind,
            task,
        });
    }

    fn duration_ns(&self, kind: EventKind, bytes: u64) -> u32 {
        let ns = self.window.timing.map_or(0, |timing| match kind {
            EventKind::Read | EventKind::ReadOob => timing.read_ns(bytes),
            EventKind::Program | EventKind::ProgramOob => timing.program_ns(bytes),
            EventKind::Erase => timing.erase_ns(),
            other => unreachable!("no probe tells of a {}", other.name()),
        });
        u32::try_from(ns).unwrap_or(u32::MAX)
    }

    /// The cause of an event: the label of the current span if the spans belong to its task,
    /// otherwise the name of its task.
    fn cause(&mut self, line: &Line<'_>) -> CauseId {
        let label = if line.task == self.own_task {
            let at = self.spans.partition_point(|span| span.from_ns <= line.time_ns);
            at.checked_sub(1).map_or(line.task, |at| self.spans[at].label)
        } else {
            line.task
        };
        self.causes.child(CauseId::ROOT, label)
    }

    fn task(&mut self, name: &str) -> TaskId {
        let known = self.tasks.iter().position(|task| task == name);
        let place = known.unwrap_or_else(|| {
            if self.tasks.len() < TASKS_MAX {
                let is_last = self.tasks.len() + 1 == TASKS_MAX;
                self.tasks.push(if is_last { OTHERS } else { name }.to_owned());
            }
            self.tasks.len() - 1
        });
        TaskId(u8::try_from(place).expect("places are below 256"))
    }

    /// Number of recorded events of one kind.
    pub(super) fn count(&self, kind: EventKind) -> u64 {
        self.events.iter().filter(|event| event.kind == kind).count() as u64
    }

    /// Number of all recorded events.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Discard the recorded events.
    pub(super) fn clear(&mut self) {
        self.events.clear();
    }

    /// Take the recorded events in order of time, with the names of their tasks and causes.
    pub(super) fn take(&mut self) -> Trace {
        let mut events = std::mem::take(&mut self.events);
        // The kernel merges the buffers of its processors, so events are only roughly in order. The
        // sort is stable, because several events may have the same microsecond.
        events.sort_by_key(|event| event.time_ns);
        let geometry = self.window.geometry;
        Trace {
            geometry,
            causes: self.causes.clone(),
            tasks: self.tasks.clone(),
            events,
            blame: Blame::default(),
            origin: String::new(),
        }
    }
}

/// The kind of the same operation on OOB bytes alone.
const fn oob_twin(kind: EventKind) -> EventKind {
    match kind {
        EventKind::Read => EventKind::ReadOob,
        EventKind::Program => EventKind::ProgramOob,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::level::Level;
    use flysch_lab::trace::parse_shape;

    /// Check the events of some lines, written as `kind address bytes`.
    fn check(level: Level, first_block: u32, lines: &[&str], wanted: &[&str]) {
        let geometry = parse_shape("2048+64x64x10").unwrap();
        let window = Window { geometry, first_block, timing: None, is_spi_nand: false };
        let mut recording = Recording::new(window, level.every_probe());
        for text in lines {
            let text = format!(
                " sh-1 [000] .... 1.000001: {}: (f+0x0/0x1) {}",
                text.split(' ').next().unwrap(),
                text
            );
            recording.record(&Line::parse(&text).unwrap());
        }
        let trace = recording.take();
        let event = |event: &Event| format!("{} {} {}", event.kind.name(), event.addr, event.bytes);
        assert_eq!(trace.events.iter().map(event).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn calls_become_operations() {
        check(
            Level::Chip,
            0,
            &[
                "page_read page=70 off=0 len=2048",
                "page_read page=70 off=2048 len=64",
                "page_program page=71 off=0 len=2048",
                "page_program_at_once page=64 off=2048 len=64",
                "block_erase block=3",
            ],
            &[
                "read 70 2048",
                "read_oob 70 64",
                "program 71 2048",
                "program_oob 64 64",
                "erase 3 0",
            ],
        );
        check(
            Level::Mtd,
            0,
            &[
                "range_read from=2047 len=2 ooblen=0",
                "range_read from=4096 len=4097 ooblen=0",
                "range_read from=2048 len=0 ooblen=8",
                "range_program from=131072 len=2048 ooblen=0",
                "range_erase from=131072 len=262144",
            ],
            &[
                "read 0 1",
                "read 1 1",
                "read 2 2048",
                "read 3 2048",
                "read 4 1",
                "read_oob 1 8",
                "program 64 2048",
                "erase 1 0",
                "erase 2 0",
            ],
        );
        check(
            Level::Nandsim,
            0,
            &["action action=1048576", "action action=2097153", "action action=3145728"],
            &["read 0 0", "program 0 0", "erase 0 0"],
        );
    }

    #[test]
    fn what_is_outside_the_window_is_left_out() {
        let lines = [
            "block_erase block=1",
            "block_erase block=2",
            "page_read page=130 off=0 len=1",
            "page_read page=768 off=0 len=1",
            "page_read page=767 off=0 len=1",
        ];
        check(Level::Chip, 2, &lines, &["erase 0 0", "read 2 1", "read 639 1"]);
    }

    #[test]
    fn spans_tell_what_a_task_was_about() {
        let geometry = parse_shape("2048+64x64x10").unwrap();
        let window = Window { geometry, first_block: 0, timing: None, is_spi_nand: false };
        let mut recording = Recording::new(window, Level::Chip.every_probe());
        recording.own_task = "me".to_owned();
        recording.spans = vec![
            Span { from_ns: 2_000_000_000, label: "begin" },
            Span { from_ns: 3_000_000_000, label: "insert" },
        ];
        for (task, second) in [("me", 1), ("me", 2), ("jffs2_gcd_mtd0", 3), ("me", 3)] {
            let text =
                format!(" {task}-7 [000] .... {second}.000000: block_erase: (f+0x0/0x1) block=1");
            recording.record(&Line::parse(&text).unwrap());
        }
        let trace = recording.take();
        let causes = trace.events.iter().map(|event| trace.causes.label(event.cause));
        assert_eq!(causes.collect::<Vec<_>>(), ["me", "begin", "jffs2_gcd_mtd0", "insert"]);
        assert_eq!(trace.tasks, ["me", "jffs2_gcd_mtd0"]);
    }
}
