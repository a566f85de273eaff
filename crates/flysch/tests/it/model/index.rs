//! The indexes: the memory table, runs, lookups, scans.
//!
//! 1. Order of a lookup: open entries, open runs, committed entries, committed runs.
//! 2. A position names a cell; of the rows in it, the last with the key that may be seen counts.
//! 3. Once an entry has led to something else, a hit is checked against its block's summary.

use std::rc::Rc;

use super::device::{Done, PAGES, Page, Seen, Stop};
use super::engine::{Engine, Mem};
use super::state::{
    COLD, Entry, HOT, Head, OLD, Place, Position, RING, Row, Run, RunPage, Slot, State, Tail,
    WRITTEN, YOUNG, space_of,
};
use super::switches::Broken;

/// Entries on a page of a run.
pub(crate) const ENTRIES: usize = 6;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) row: Option<(Place, Row)>,
    /// A row of another key with the same code was met.
    pub(crate) has_met: bool,
}

/// A lookup under way.
struct Probe {
    key: u8,
    code: u8,
    limit: u32,
    is_deep: bool,
    has_met: bool,
}

impl Engine {
    pub(crate) fn run_entries(&mut self, run: &Run, page: RunPage) -> Done<Rc<Page>> {
        let block = self.block_of(run.space, page.number);
        if let Some(block) = block
            && let Seen::Page(content) = self.device.try_read(block, page.page)?
            && matches!(&*content, Page::Run { space, number, .. }
                if *space == run.space && *number == page.number)
        {
            return Ok(content);
        }
        Err(Stop::Breach("a page of a run is not there"))
    }

    /// The newest version of `key` at commit `limit`, with the open transaction's or without.
    pub(crate) fn lookup(&mut self, key: u8, limit: u32, is_open: bool) -> Done<Found> {
        let code = key % self.config.code_count;
        let mut probe = Probe { key, code, limit, is_deep: false, has_met: false };
        let row = self.find(&mut probe, is_open)?;
        Ok(Found { row, has_met: probe.has_met })
    }

    fn find(&mut self, probe: &mut Probe, is_open: bool) -> Done<Option<(Place, Row)>> {
        if let Some(open) = self.open.take() {
            let found = if is_open { self.find_open(probe, &open) } else { Ok(None) };
            self.open = Some(open);
            if let Some(found) = found? {
                return Ok(Some(found));
            }
        }
        for at in (0..self.mem.len()).rev() {
            let entry = self.mem[at].entry;
            if let Some(found) = self.try_entry(probe, entry)? {
                return Ok(Some(found));
            }
        }
        for at in 0..self.state.runs.len() {
            let run = Rc::clone(&self.state.runs[at]);
            if let Some(found) = self.find_in_run(probe, &run)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn find_open(
        &mut self,
        probe: &mut Probe,
        open: &super::engine::Open,
    ) -> Done<Option<(Place, Row)>> {
        for mem in open.mem.iter().rev() {
            if let Some(found) = self.try_entry(probe, mem.entry)? {
                return Ok(Some(found));
            }
        }
        for run in open.runs.iter().rev() {
            if let Some(found) = self.find_in_run(probe, run)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn find_in_run(&mut self, probe: &mut Probe, run: &Run) -> Done<Option<(Place, Row)>> {
        let sought = (0, probe.code);
        let may_hold = |page: &&RunPage| page.first <= sought && sought <= page.last;
        for page in run.pages.iter().filter(may_hold) {
            let content = self.run_entries(run, *page)?;
            let Page::Run { entries, .. } = &*content else { continue };
            for entry in entries {
                if let Some(found) = self.try_entry(probe, *entry)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// The committed entries of a code, the newest first.
    pub(crate) fn committed_entries(&mut self, code: u8) -> Done<Vec<Entry>> {
        let is_of_code = |entry: &Entry| (entry.index, entry.code) == (0, code);
        let mem = self.mem.iter().rev().map(|mem| mem.entry);
        let mut all: Vec<Entry> = mem.filter(is_of_code).collect();
        for run in self.state.runs.clone() {
            for page in run.pages.iter().filter(|page| page.last >= (0, code)) {
                let content = self.run_entries(&run, *page)?;
                let Page::Run { entries, .. } = &*content else { continue };
                all.extend(entries.iter().copied().filter(is_of_code));
            }
        }
        Ok(all)
    }

    fn try_entry(&mut self, probe: &mut Probe, entry: Entry) -> Done<Option<(Place, Row)>> {
        if (entry.index, entry.code) != (0, probe.code) {
            return Ok(None);
        }
        let is_deep = probe.is_deep && !self.is(Broken::HitsUnchecked);
        let rows = self.cell_rows(entry.at, is_deep)?;
        for (place, row) in rows.into_iter().rev() {
            let is_mine = row.key == probe.key && row.commit <= probe.limit;
            if is_mine && self.is_whole(place, &row, is_deep)? {
                return Ok(Some((place, row)));
            }
            probe.has_met |= row.key != probe.key && row.key % self.config.code_count == probe.code;
        }
        probe.is_deep = true;
        Ok(None)
    }

    /// Whether the committed index ends at exactly this row.
    pub(crate) fn is_current(&mut self, place: Place, row: &Row, limit: u32) -> Done<bool> {
        let found = self.lookup(row.key, limit, false)?.row;
        Ok(found.is_some_and(|(at, found)| at == place && found.id == row.id))
    }

    /// The positions that the secondary index names for `value`.
    pub(crate) fn secondary(&mut self, value: u8, is_open: bool) -> Done<Vec<Position>> {
        let mut at: Vec<Position> = Vec::new();
        let is_sought = |entry: &Entry| (entry.index, entry.code) == (1, value);
        let mut runs: Vec<Rc<Run>> = self.state.runs.clone();
        let mut mem: Vec<Mem> = self.mem.clone();
        if let Some(open) = self.open.as_ref().filter(|_| is_open) {
            mem.extend(&open.mem);
            runs.extend(open.runs.iter().map(Rc::clone));
        }
        at.extend(mem.iter().map(|mem| mem.entry).filter(is_sought).map(|entry| entry.at));
        for run in runs {
            for page in run.pages.iter().filter(|page| page.last >= (1, value)) {
                let content = self.run_entries(&run, *page)?;
                let Page::Run { entries, .. } = &*content else { continue };
                at.extend(entries.iter().filter(|entry| is_sought(entry)).map(|entry| entry.at));
            }
        }
        at.sort_unstable();
        at.dedup();
        Ok(at)
    }

    /// Program a page of a run at a head, which goes on in another block where this one fails.
    pub(crate) fn write_run_page(&mut self, head: usize, entries: &[Entry]) -> Done<RunPage> {
        let space = space_of(head);
        self.wake()?;
        loop {
            let Head { number, page } = self.state.heads[head];
            let block = match self.block_of(space, number) {
                Some(block) if page > 0 => block,
                Some(_) | None => self.take(head)?,
            };
            // A head without a number to go on with programs nothing.
            self.next_number(space)?;
            let content = Page::Run { space, number, entries: entries.to_vec() };
            let outcome = self.device.program(block, page, content);
            self.is_moved = true;
            if outcome == Err(Stop::Bad) {
                self.device.mark(block)?;
            }
            if page + 1 == PAGES || outcome == Err(Stop::Bad) {
                self.state.heads[head] = Head { number: self.give_number(space)?, page: 0 };
            } else {
                self.state.heads[head].page += 1;
            }
            match outcome {
                Ok(()) => {
                    let key = |entry: &Entry| (entry.index, entry.code);
                    let (first, last) = (key(&entries[0]), key(&entries[entries.len() - 1]));
                    return Ok(RunPage { number, page, first, last });
                }
                Err(Stop::Bad) => {}
                Err(stop) => return Err(stop),
            }
        }
    }

    fn write_run(&mut self, mem: &[Mem]) -> Done<Rc<Run>> {
        let mut entries: Vec<Entry> = mem.iter().rev().map(|mem| mem.entry).collect();
        entries.sort_by_key(|entry| (entry.index, entry.code));
        let mut pages = Vec::new();
        for chunk in entries.chunks(ENTRIES) {
            pages.push(self.write_run_page(YOUNG, chunk)?);
        }
        self.state.run_id += 1;
        Ok(Rc::new(Run { id: self.state.run_id, space: space_of(YOUNG), pages }))
    }

    /// Flush the memory table: committed entries into a run, open ones into an open run.
    pub(crate) fn flush(&mut self) -> Done {
        self.flush_committed(false)?;
        self.flush_open()
    }

    /// Entries of the committed tails stay in RAM. At the commit of a transaction that has runs
    /// those go that it has programmed: what is left of a tail has no older version in its runs.
    pub(crate) fn flush_committed(&mut self, is_commit: bool) -> Done {
        let stays: Vec<u32> = match &self.open {
            Some(_) if is_commit && self.is(Broken::TailsGoTogether) => Vec::new(),
            Some(_) if is_commit => self.tail_ids(),
            Some(open) => open.tails.iter().flat_map(ids).collect(),
            None => self.tail_ids(),
        };
        let keeps = |mem: &Mem| stays.contains(&mem.id);
        let (kept, mut flushed): (Vec<Mem>, Vec<Mem>) = self.mem.iter().partition(|mem| keeps(mem));
        let (kept, flushed) = if self.is(Broken::TailInRuns) {
            (Vec::new(), self.mem.clone())
        } else {
            if self.is(Broken::OpenIntoCommitted)
                && let Some(open) = &mut self.open
            {
                flushed.append(&mut open.mem);
            }
            (kept, flushed)
        };
        if flushed.is_empty() {
            return Ok(());
        }
        let run = self.write_run(&flushed)?;
        self.state.runs.insert(0, run);
        self.mem = kept;
        let begins = match &self.open {
            Some(open) if !self.is(Broken::MarkPassesSpilled) => open.begins,
            Some(_) | None => WRITTEN.map(|stream| self.tail_begin(stream)),
        };
        self.set_mark(HOT, begins[0]);
        self.set_mark(RING, begins[1]);
        self.set_mark(COLD, self.tail_begin(COLD));
        Ok(())
    }

    fn flush_open(&mut self) -> Done {
        let stays = self.tail_ids();
        let Some(open) = &self.open else { return Ok(()) };
        let (kept, flushed): (Vec<Mem>, Vec<Mem>) =
            open.mem.iter().partition(|mem| stays.contains(&mem.id));
        if flushed.is_empty() {
            return Ok(());
        }
        let run = self.write_run(&flushed)?;
        let marks = WRITTEN.map(|stream| self.tail_begin(stream));
        if let Some(open) = &mut self.open {
            open.runs.push(run);
            open.mem = kept;
            open.marks = Some(marks);
        }
        Ok(())
    }

    /// The rows whose end is not on flash, or not committed there.
    fn tail_ids(&self) -> Vec<u32> {
        self.tails.iter().flat_map(ids).collect()
    }

    pub(crate) fn set_mark(&mut self, stream: usize, from: Place) {
        let mark = &mut self.state.marks[stream];
        if let Some(at) = mark.blocks.iter().position(|number| *number == from.number) {
            mark.blocks.drain(..at);
        }
        mark.from = from;
    }

    /// The physical blocks that hold something of a state's.
    pub(crate) fn claimed(&self, state: &State) -> u64 {
        let mut numbers = [0_u64; 3];
        let mut claim = |run: &Run| {
            for page in &run.pages {
                numbers[usize::from(run.space)] |= 1 << page.number;
            }
        };
        state.runs.iter().for_each(|run| claim(run));
        if let Some(merge) = &state.merge {
            merge.inputs.iter().for_each(|run| claim(run));
            merge.output.iter().for_each(|page| numbers[2] |= 1 << page.number);
        }
        for head in [YOUNG, OLD] {
            numbers[usize::from(space_of(head))] |= 1 << state.heads[head].number;
        }
        numbers[0] = u64::MAX;
        let mut blocks = 0;
        for (block, slot) in self.table.iter().enumerate() {
            if let Slot::Block(space, number) = *slot
                && numbers[usize::from(space)] >> number & 1 == 1
            {
                blocks |= 1 << block;
            }
        }
        blocks
    }
}

/// The rows of a tail, and the one that ends in it.
pub(crate) fn ids(tail: &Tail) -> impl Iterator<Item = u32> + '_ {
    let rows = tail.rows.iter().map(|(_, row)| row.id);
    rows.chain(tail.carry.map(|carry| carry.row.id))
}
