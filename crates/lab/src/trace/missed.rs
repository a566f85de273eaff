//! Counts the events of a trace that Flashmon would have missed. This is possible because a
//! simulated trace is complete.
//!
//! Flashmon v2.1 hooks the functions of the MTD layer that read, write and erase whole pages and
//! blocks. It does not see operations on OOB bytes alone (JFFS2's clean markers, bad-block marks,
//! scans). It does not see reads of parts of pages if the driver has a separate function for them.
//! It does not see NVRAM, which is not an MTD device. Its log is a ring: in a long run, new entries
//! overwrite the oldest ones, which remain in its counters only.

use std::collections::BTreeMap;

use flysch_chip::{Event, EventKind, EventPlace, Trace};
use serde::Serialize;

/// The configuration of Flashmon and of the flash driver that it hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Number of entries in the log (`LOG_MODE`). Each operation, buffer hit and marker takes one.
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

/// Why Flashmon misses an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blindness {
    /// It moves OOB bytes without the page's data.
    OobOnly,
    /// It reads a part of a page.
    SubpageRead,
    /// It is an access to byte-addressable memory, not to the NAND.
    OtherMemory,
    /// It was counted, but later entries overwrote it in the log.
    Overwritten,
}

/// The number of missed events of one kind and one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissedRow {
    /// Why Flashmon misses them.
    pub why: Blindness,
    /// Name of the kind of event.
    pub kind: &'static str,
    /// Path of the cause.
    pub cause: String,
    pub events: u64,
}

/// Count the events of a trace that Flashmon's log would not contain.
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

/// Why the module does not see an event. None if it does.
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
