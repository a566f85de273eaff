//! What Flashmon would have missed: its blind spots, counted in a trace that has none.
//!
//! Flashmon v2.1 hooks the functions of the MTD layer that read, write and erase whole pages and
//! blocks. It does not see OOB-only operations (JFFS2's clean markers, bad-block marks, scans)
//! nor reads of a part of a page where the driver has a function of its own for them, nor anything
//! of a memory beside the NAND, which is no MTD device. Its log is a ring: the oldest entries of a
//! long run are overwritten, though counted.

use std::collections::BTreeMap;

use flysch_chip::{Event, EventKind, EventPlace, Trace};
use serde::Serialize;

/// How the module and its driver were set up on the board to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Entries of the log (`LOG_MODE`). Operations, buffer hits and markers take one each.
    pub log_entries: usize,
    /// Whether the driver reads parts of pages (`ecc.read_subpage`), as with software ECC.
    pub subpage_reads: bool,
}

impl Default for Module {
    /// The module's default ring, and a driver that reads whole pages.
    fn default() -> Self {
        Self { log_entries: 1024, subpage_reads: false }
    }
}

/// Why an event is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blindness {
    /// OOB bytes alone.
    OobOnly,
    /// A read of a part of a page.
    SubpageRead,
    /// An access to byte-addressable memory beside the NAND.
    OtherMemory,
    /// Counted, but overwritten in the log by later entries.
    Overwritten,
}

/// Events missed, of one kind and one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissedRow {
    /// Why.
    pub why: Blindness,
    /// Name of the kind.
    pub kind: &'static str,
    /// Path of the cause.
    pub cause: String,
    /// How many.
    pub events: u64,
}

/// Count what `module` would not have shown of a trace.
pub fn missed(trace: &Trace, module: &Module) -> Vec<MissedRow> {
    let unseen = |event: &Event| blind_spot(event, module, trace.geometry.page_size);
    let seen_count = trace.events.iter().filter(|event| unseen(event).is_none()).count();
    let mut overwritten = seen_count.saturating_sub(module.log_entries);
    let mut counts = BTreeMap::new();
    for event in &trace.events {
        let why = unseen(event).or_else(|| {
            let is_overwritten = overwritten > 0;
            overwritten -= usize::from(is_overwritten);
            is_overwritten.then_some(Blindness::Overwritten)
        });
        if let Some(why) = why {
            *counts.entry((why, event.kind, event.cause)).or_default() += 1;
        }
    }
    let rows = counts.into_iter().map(|((why, kind, cause), events)| {
        let cause = trace.causes.path(cause);
        MissedRow { why, kind: kind.name(), cause, events }
    });
    rows.collect()
}

/// Why the module does not even count an event; none where it does.
fn blind_spot(event: &Event, module: &Module, page_size: u32) -> Option<Blindness> {
    match event.kind {
        EventKind::ReadOob | EventKind::ProgramOob => Some(Blindness::OobOnly),
        EventKind::Read if module.subpage_reads && event.bytes < page_size => {
            Some(Blindness::SubpageRead)
        }
        kind if kind.place() == EventPlace::Byte => Some(Blindness::OtherMemory),
        _ => None,
    }
}
