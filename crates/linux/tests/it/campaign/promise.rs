//! What each file system promises after a cut.
//!
//! JFFS2 writes nodes in order: an fsync makes all nodes before it durable. YAFFS2 makes a file
//! durable when it is closed. UBIFS and the plain file system write names in order, but each file's
//! content when it is synced or the whole file system is.

use std::collections::BTreeSet;

use crate::jffs2::admit::{History, could_be, refuse_loosely};
use crate::jffs2::operation::{Operation, Touched};
use crate::jffs2::state::Names;
use crate::machine::Kind;

/// After so long everything is on flash, milliseconds: an inode that has been dirty for 30 s is
/// written by the flusher, which wakes every 5 s, and the write buffer 5 s later.
const EXPIRY_MS: u64 = 42_000;

/// Why `found` breaks the promise after a cut during operation `under_way`, if it does.
pub(super) fn refuse(
    kind: Kind,
    history: &History,
    found: &Names,
    under_way: usize,
) -> Option<String> {
    let end = (under_way + 1).min(history.states.len() - 1);
    match kind {
        Kind::Jffs2 => refuse_loosely(found, &history.states[history.durable(under_way)..=end]),
        Kind::Yaffs2 if history.operations.is_empty() => {
            refuse_loosely(found, &history.states[..=end])
        }
        Kind::Yaffs2 => {
            let under_way = under_way.min(history.operations.len() - 1);
            refuse_loosely(found, &history.states[history.first_unsynced(under_way)..=end])
        }
        Kind::Ubifs { .. } | Kind::Ftl(_) => refuse_by_file(history, found, under_way, end),
    }
}

/// The rule of file systems that write back: names by the metadata that was synced, and content by
/// file.
fn refuse_by_file(
    history: &History,
    found: &Names,
    under_way: usize,
    end: usize,
) -> Option<String> {
    let is_synced = |operation: &Operation| match operation {
        Operation::Sync => true,
        Operation::Sleep { ms } => *ms >= EXPIRY_MS,
        _ => false,
    };
    let done = &history.operations[..under_way.min(history.operations.len())];
    let all_from = done.iter().rposition(is_synced).map_or(0, |at| at + 1);
    let names_from = durable_names(history, done).max(all_from);
    let names = &history.states[names_from..=end];
    for (name, content) in found {
        let Some(content) = content else {
            if names.iter().all(|state| !state.dirs.contains(name)) {
                return Some(format!("{name} is no directory"));
            }
            continue;
        };
        let mut files: Vec<u32> =
            names.iter().filter_map(|state| state.names.get(name).copied()).collect();
        files.dedup();
        let fits = |&file: &u32| {
            let from = file_from(history, done, file).max(all_from);
            could_be(content, file, &history.states[from..=end])
        };
        if !files.iter().any(fits) {
            let last = history.states[end].content(name);
            let at =
                last.and_then(|last| last.iter().zip(content.iter()).position(|(a, b)| a != b));
            let len = content.len();
            return Some(format!("{name} holds what it never held, {len} bytes, at {at:?}"));
        }
    }
    let lost = names[0]
        .visible()
        .into_keys()
        .find(|name| !found.contains_key(name) && names.iter().all(|state| state.has(name)));
    lost.map(|name| format!("{name} is lost"))
}

/// From which state on the names count. A sync of a directory brings its names to flash, and all
/// that were written before. A sync of a file does so as far as the file's own inode was written:
/// when it was made, cut, or grew. Its own name may be younger than that.
fn durable_names(history: &History, done: &[Operation]) -> usize {
    let durable_by = |(at, operation): (usize, &Operation)| match operation {
        Operation::SyncDirectory { name } => {
            last_before(history, at, |_, touched| touched.contains(&Touched::Dir(name.clone())))
        }
        Operation::Fsync { name } => {
            let file = history.states[at].names[name];
            last_before(history, at, |at, touched| {
                let len = |at: usize| history.states[at].files.get(&file).map(|it| it.len());
                touched.contains(&Touched::File(file)) && len(at) != len(at + 1)
            })
        }
        _ => 0,
    };
    done.iter().enumerate().map(durable_by).max().unwrap_or(0)
}

/// The state after the last operation before `end` that fits.
fn last_before(
    history: &History,
    end: usize,
    fits: impl Fn(usize, &BTreeSet<Touched>) -> bool,
) -> usize {
    let found = (0..end).rev().find(|&at| fits(at, &history.touched(at)));
    found.map_or(0, |at| at + 1)
}

/// From which state on the content of a file counts.
fn file_from(history: &History, done: &[Operation], file: u32) -> usize {
    let syncs = |(at, operation): (usize, &Operation)| match operation {
        Operation::Fsync { name } => history.states[at].names.get(name) == Some(&file),
        _ => false,
    };
    let at = done.iter().enumerate().rev().find(|&it| syncs(it));
    at.map_or(0, |(at, _)| at + 1)
}
