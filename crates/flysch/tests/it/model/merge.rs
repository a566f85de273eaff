//! Merges of runs, in slices: whole groups of one code, a page or so at a time.
//!
//! 1. An unshared entry of the key's index replaces older unshared ones of its code.
//! 2. A shared entry stays where the committed index ends at a row of its cell.
//! 3. A merge with the oldest run drops entries of tombstones. One that begins while a snapshot is
//!    open drops nothing; what an older one reads is older than the snapshot.
//! 4. An entry whose block is gone goes, save a tombstone's that is the newest of its code: what is
//!    behind it may be stale, and a lookup is to check it.

use std::rc::Rc;

use super::device::{Done, Page};
use super::engine::Engine;
use super::index::ENTRIES;
use super::state::{Entry, Merge, OLD, Run, YOUNG, space_of};
use super::switches::Broken;

impl Engine {
    /// Begin a merge of some neighbouring runs, or go on with the one under way.
    pub(crate) fn merge_slice(&mut self) -> Done {
        let Some(merge) = self.state.merge.clone() else {
            self.begin_merge();
            return Ok(());
        };
        let mut merge = Rc::unwrap_or_clone(merge);
        let entries = self.merge_input(&merge)?;
        let mut kept: Vec<Entry> = Vec::new();
        let mut rest = &entries[..];
        while kept.len() < ENTRIES && !rest.is_empty() {
            let key = (rest[0].index, rest[0].code);
            let len = rest.iter().take_while(|entry| (entry.index, entry.code) == key).count();
            let (group, others) = rest.split_at(len);
            self.merge_group(group, &merge, &mut kept)?;
            merge.done = Some(key);
            rest = others;
        }
        let is_done = rest.is_empty();
        for chunk in kept.chunks(ENTRIES) {
            merge.output.push(self.write_run_page(OLD, chunk)?);
        }
        if is_done {
            self.finish_merge(merge);
        } else {
            self.state.merge = Some(Rc::new(merge));
        }
        Ok(())
    }

    fn begin_merge(&mut self) {
        let run_count = self.state.runs.len();
        if run_count < 2 {
            return;
        }
        let is_whole = self.device.below(2) == 0;
        let first = if is_whole { 0 } else { self.device.below(run_count as u64 - 1) as usize };
        let end = if is_whole { run_count } else { first + 2 };
        self.state.merge = Some(Rc::new(Merge {
            inputs: self.state.runs[first..end].to_vec(),
            has_oldest: end == run_count,
            keeps_all: !self.snapshots.is_empty(),
            done: None,
            output: Vec::new(),
        }));
    }

    /// Merge the runs of the open transaction. They are merged with each other alone.
    pub(crate) fn merge_opens(&mut self) -> Done {
        let Some(open) = &self.open else { return Ok(()) };
        let mut inputs: Vec<Rc<Run>> = open.runs.iter().rev().map(Rc::clone).collect();
        if self.is(Broken::OpensTakeCommitted) && !self.state.runs.is_empty() {
            inputs.push(self.state.runs.remove(0));
        }
        if inputs.len() < 2 {
            return Ok(());
        }
        let all =
            Merge { inputs, has_oldest: false, keeps_all: false, done: None, output: Vec::new() };
        let entries = self.merge_input(&all)?;
        let mut kept: Vec<Entry> = Vec::new();
        for entry in entries {
            let is_of_key = |newer: &Entry| {
                (newer.index, newer.code) == (entry.index, entry.code) && !newer.is_shared
            };
            let is_replaced = entry.index == 0 && !entry.is_shared && kept.iter().any(is_of_key);
            if !is_replaced {
                kept.push(entry);
            }
        }
        let mut pages = Vec::new();
        for chunk in kept.chunks(ENTRIES) {
            pages.push(self.write_run_page(YOUNG, chunk)?);
        }
        self.state.run_id += 1;
        let run = Rc::new(Run { id: self.state.run_id, space: space_of(YOUNG), pages });
        if let Some(open) = &mut self.open {
            open.runs = vec![run];
        }
        Ok(())
    }

    /// What is left of the inputs, sorted, the newest of each group first.
    fn merge_input(&mut self, merge: &Merge) -> Done<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        for run in &merge.inputs {
            for page in run.pages.iter().filter(|page| Some(page.last) > merge.done) {
                let content = self.run_entries(run, *page)?;
                let Page::Run { entries: on_page, .. } = &*content else { continue };
                let is_left = |entry: &&Entry| Some((entry.index, entry.code)) > merge.done;
                entries.extend(on_page.iter().filter(is_left));
            }
        }
        entries.sort_by_key(|entry| (entry.index, entry.code));
        Ok(entries)
    }

    fn merge_group(&mut self, group: &[Entry], merge: &Merge, kept: &mut Vec<Entry>) -> Done {
        if merge.keeps_all && !self.is(Broken::MergesDropUnderSnapshots) {
            kept.extend(group);
            return Ok(());
        }
        let mut has_unshared = false;
        let first = kept.len();
        for entry in group {
            let is_gone = self.block_of(0, entry.at.number).is_none();
            let is_front = entry.is_tombstone && kept.len() == first;
            let warns = is_gone && is_front && !self.is(Broken::NoWarning);
            let mut stays = warns || !is_gone && !kept[first..].contains(entry);
            if entry.index == 0 && entry.is_shared {
                // What the index ended at when the snapshot was opened it may not end at now.
                let is_kept = warns || !self.snapshots.is_empty();
                stays = stays && (is_kept || self.is_named(*entry)?);
            } else if entry.index == 0 {
                stays &= !has_unshared;
                has_unshared = true;
            }
            if stays {
                kept.push(*entry);
            }
        }
        let has_rows = kept[first..].iter().any(|entry| !entry.is_tombstone);
        let drops = merge.has_oldest && (!has_rows || self.is(Broken::TombstonesAlone));
        if drops || self.is(Broken::TombstonesDropped) {
            let mut at = 0;
            kept.retain(|entry| {
                at += 1;
                at <= first || !entry.is_tombstone
            });
        }
        Ok(())
    }

    /// Whether the committed index ends at a row that begins where `entry` says.
    fn is_named(&mut self, entry: Entry) -> Done<bool> {
        let limit = self.state.commit;
        for (place, row) in self.cell_rows(entry.at, false)? {
            let is_of_code = row.key % self.config.code_count == entry.code
                && row.is_tombstone == entry.is_tombstone;
            if is_of_code && self.is_current(place, &row, limit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn finish_merge(&mut self, merge: Merge) {
        let is_input = |run: &Rc<Run>| merge.inputs.iter().any(|input| input.id == run.id);
        let runs = &mut self.state.runs;
        let at = runs.iter().position(is_input).unwrap_or(0);
        runs.retain(|run| !is_input(run));
        if !merge.output.is_empty() {
            self.state.run_id += 1;
            let id = self.state.run_id;
            let run = Run { id, space: space_of(OLD), pages: merge.output };
            self.state.runs.insert(at, Rc::new(run));
        }
        self.state.merge = None;
        if merge.has_oldest {
            self.note_dropped();
        }
    }
}
