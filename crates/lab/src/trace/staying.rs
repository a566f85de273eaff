//! Estimates how many of the page programs for a table or an index would remain without it.
//!
//! A page that carries bytes of several tables counts partly for each of them. Without one table,
//! the bytes of the others must still be written. How many pages this takes depends on the file
//! system:
//!
//! - JFFS2 and UBIFS write logs. The remaining bytes move closer together. A sync ends with a
//!   padded page. So the pages up to a padded one shrink to as few as the remaining bytes need.
//!
//! - With other file systems, a page has a fixed place in a file. Files of journals get shorter
//!   too, but their first page is programmed again for its header. So each shared page may remain.

use std::collections::BTreeMap;

use flysch_chip::{Event, EventKind, TableName, Trace};

use super::blame::TableRow;

/// The scopes in which a file system writes its log.
pub(super) const LOGS: [&str; 2] = ["wbuf_flush", "head_data"];
/// A page is taken for padded if less than this share of it carries data, percent. The rest of a
/// full page is taken by node headers.
const FULL_PERCENT: u64 = 85;

/// A program that is shared by several rows is divided into this many parts.
pub(super) const PARTS: u64 = 1000;

/// How many programs of a row would remain without it.
pub(super) enum Staying {
    About(u64),
    UpTo(u64),
}

impl Staying {
    pub(super) fn of(trace: &Trace, row: &TableRow) -> Self {
        let mut programs = programs_of(trace, row);
        if programs.any(|program| LOGS.contains(&trace.causes.label(program.event.cause))) {
            let said = row.operations.page_programs;
            return Self::About(said.saturating_sub(saved_in_log(trace, row)));
        }
        let shared = programs_of(trace, row).filter(|program| program.others > 0);
        Self::UpTo(shared.map(|program| PARTS - program.others_of(PARTS)).sum::<u64>() / PARTS)
    }
}

/// A page program, with the number of bytes in it of a row and of others.
pub(super) struct Program<'a> {
    pub(super) event: &'a Event,
    own: u64,
    others: u64,
}

impl Program<'_> {
    /// The share of other rows in the page, in `parts`. 0 if the page carries no data of files.
    pub(super) fn others_of(&self, parts: u64) -> u64 {
        (self.others * parts).checked_div(self.own + self.others).unwrap_or(parts)
    }
}

/// All page programs, with the number of bytes of `row` in each.
pub(super) fn programs_of<'a>(
    trace: &'a Trace,
    row: &'a TableRow,
) -> impl Iterator<Item = Program<'a>> {
    let blame = &trace.blame;
    let is_row =
        |it: &TableName| (&it.kind, &it.name, &it.table) == (&row.kind, &row.name, &row.table);
    let own: Vec<bool> = blame.tables.iter().map(is_row).collect();
    let events = trace.events.iter().enumerate();
    let programs = events.filter(|(_, event)| event.kind == EventKind::Program);
    programs.map(move |(place, event)| {
        let mut program = Program { event, own: 0, others: 0 };
        for (table, bytes) in blame.of_tables.of(place) {
            let is_own = own.get(table.0 as usize) == Some(&true);
            let part = if is_own { &mut program.own } else { &mut program.others };
            *part += u64::from(*bytes);
        }
        program
    })
}

/// The pages of a log from one padded page to the next.
#[derive(Default)]
struct Stretch {
    full: u64,
    padded: u64,
    /// Bytes that do not belong to the row.
    others: u64,
}

impl Stretch {
    /// How many of the pages would be saved without the row.
    fn saved(&self, page_size: u64) -> u64 {
        let rest = if self.others.is_multiple_of(page_size) { 0 } else { self.padded.max(1) };
        (self.full + self.padded).saturating_sub(self.others / page_size + rest)
    }
}

fn saved_in_log(trace: &Trace, row: &TableRow) -> u64 {
    let page_size = u64::from(trace.geometry.page_size);
    let mut stretches: BTreeMap<u32, Stretch> = BTreeMap::new();
    let mut saved = 0;
    for program in programs_of(trace, row).filter(|program| program.own + program.others > 0) {
        let stretch =
            stretches.entry(program.event.addr / trace.geometry.pages_per_block).or_default();
        let is_padded = (program.own + program.others) * 100 < page_size * FULL_PERCENT;
        if stretch.padded > 0 && !is_padded {
            saved += std::mem::take(stretch).saved(page_size);
        }
        if is_padded {
            stretch.padded += 1;
            stretch.others += program.others;
        } else {
            stretch.full += 1;
            stretch.others += program.others_of(page_size);
        }
    }
    saved + stretches.values().map(|stretch| stretch.saved(page_size)).sum::<u64>()
}
