//! The log as it is built: what a log block needs is done ahead of its first record, an operation
//! at a time at the commits before.
//!
//! 1. The next block is erased, then named where it is another list's, then it gets the pages of
//!    the block table. Its first record, behind them, has what changed since the first of them.
//! 2. A name page holds two lists: the next one, and the one that the last record lies in. Records
//!    go on in the latter until the next one has a checkpoint.
//! 3. A root that is written ahead rests on the log: it has no state. Where records rest on the
//!    state in a root that has no page left, the commit itself becomes the next root.

use super::device::{Done, PAGES, Page, Stop};
use super::engine::{Engine, Root, RootRules, StopPage};
use super::state::{BLOCKS_MAX, LIST_MAX, List, Record, Slot, Table, TablePart, TailPart};
use super::switches::Broken;

/// Pages left in a log block when the next one is made ready.
const AHEAD: u8 = 5;

/// What comes behind the log block in use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Next {
    /// The list that follows the one in use, once it is chosen.
    pub(crate) list: Option<List>,
    /// The number behind that of the last block of any list that was chosen.
    ordinal: u64,
    /// Blocks behind the one in use that are passed over.
    passed: u8,
    is_erased: bool,
    pub(crate) is_named: bool,
    /// Pages of the block table in it.
    parts: u8,
    /// Changes of the table before the first of them.
    mark: usize,
}

/// What the log as it is built knows besides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Built {
    pub(crate) next: Next,
    /// The list that the last record lies in.
    pub(crate) live: List,
    /// Whether the block in use rests on the state in the root.
    pub(crate) has_base: bool,
    /// The next record must go to the log, as it has to have the whole block table.
    pub(crate) is_log_due: bool,
    /// A root block being made the next root, its epoch, and whether the root is there.
    root_next: Option<(u8, u32, bool)>,
}

impl Engine {
    pub(crate) fn is_built(&self) -> bool {
        self.config.roots == RootRules::Built
    }

    /// Pages of the block table before the first record of a log block.
    pub(crate) fn table_parts(&self) -> u8 {
        if self.is_built() { self.config.table_parts } else { 0 }
    }

    /// The part of the table on each of its pages: every block has its place on one of them.
    pub(crate) fn is_on(&self, block: usize, part: u8) -> bool {
        block % usize::from(self.table_parts()) == usize::from(part)
    }

    /// The state was found: `list` is in use, and `next` is named.
    pub(crate) fn begin_log(&mut self, list: List, next: Option<List>, has_base: bool) {
        let next = Next { list: next, is_named: next.is_some(), ..Next::default() };
        self.built = Built { next, live: list, has_base, ..Built::default() };
    }

    /// A list's number that no attempt of this mount or an earlier one has used.
    pub(crate) fn ordinal_of_mount(&self) -> u64 {
        let Next { list, ordinal, .. } = self.built.next;
        ordinal.max(self.list.id).max(list.map_or(0, |list| list.id)) + 2 * LIST_MAX as u64
    }

    /// Erase the first block of a list whose root holds the state.
    pub(crate) fn begin_block(&mut self) -> Done {
        (self.list_at, self.log_page) = (0, self.table_parts());
        self.begin_log(self.list, None, true);
        self.changes.clear();
        match self.device.erase(self.list.blocks[0]) {
            Err(Stop::Bad) => {
                // The next record is a checkpoint in the block behind it.
                self.log_page = PAGES;
                self.device.mark(self.list.blocks[0])
            }
            erased => erased,
        }
    }

    const fn has_next(&self) -> bool {
        self.list_at + 1 + self.built.next.passed < self.list.len
    }

    pub(crate) const fn may_go_on(&self) -> bool {
        self.has_next() || self.built.next.is_named
    }

    fn has_place(&self) -> bool {
        let next = &self.built.next;
        let is_named = next.is_named || self.is(Broken::CheckpointNotNamed);
        next.is_erased && (next.list.is_none() || is_named)
    }

    fn is_ready(&self) -> bool {
        self.has_place() && self.built.next.parts == self.table_parts()
    }

    /// The root has no page for a name, and records rest on its state.
    fn is_cornered(&self) -> bool {
        let has_base = self.built.has_base && !self.is(Broken::RootLeavesBase);
        let needs_name = self.built.next.list.is_some() && !self.built.next.is_named;
        has_base && self.built.next.is_erased && needs_name && self.root.page >= PAGES
    }

    /// The next block's place in its list, its physical block, and its id.
    fn block_behind(&self) -> (u8, u64) {
        let next = &self.built.next;
        let (list, at) = match next.list {
            Some(list) => (list, next.passed),
            None => (self.list, self.list_at + 1 + next.passed),
        };
        (list.blocks[usize::from(at)], list.id + u64::from(at))
    }

    /// One operation towards the next log block, where it is time.
    pub(crate) fn prepare_log(&mut self) -> Done {
        let is_early = PAGES.saturating_sub(self.log_page) > AHEAD;
        if is_early || self.is_ready() || self.is_cornered() { Ok(()) } else { self.step_log() }
    }

    /// An open transaction takes more blocks than a record can tell. So changes are forgotten, and
    /// the next record begins a log block with the whole table.
    pub(crate) fn outgrow(&mut self) {
        if !self.is_built() || self.is_clean || self.open.is_none() {
            return;
        }
        if !self.is(Broken::OutgrownGoesOn) {
            self.log_page = PAGES;
        }
        let next = &mut self.built.next;
        if next.parts > 0 && self.config.broken != Some(Broken::OutgrownTableStays) {
            (next.is_erased, next.parts) = (false, 0);
        }
        self.changes.clear();
        self.built.is_log_due = !self.is(Broken::OutgrownToNvRam);
    }

    fn step_log(&mut self) -> Done {
        if !self.built.next.is_erased {
            return self.erase_ahead();
        }
        if self.has_place() {
            return self.put_table();
        }
        if self.root.page >= PAGES {
            return self.renew_ahead();
        }
        let next = self.built.next.list.unwrap_or(self.list);
        let used = if self.is(Broken::NameDropsUsed) { next } else { self.built.live };
        let name = Page::Name { epoch: self.root.epoch, list: next, used };
        self.root.page += 1;
        match self.device.program(self.root.block, self.root.page - 1, name) {
            Ok(()) => {
                self.built.next.is_named = true;
                if self.is(Broken::NamedIsUsed) {
                    self.built.live = next;
                }
                Ok(())
            }
            // A root on a marked block is not believed, and this one still is: no mark is made.
            Err(Stop::Bad) => {
                self.root.page = PAGES;
                Ok(())
            }
            Err(stop) => Err(stop),
        }
    }

    /// Erase the block that the log goes on in, chosen where the list has ended.
    fn erase_ahead(&mut self) -> Done {
        if self.built.next.list.is_none() && !self.has_next() {
            let ordinal = self.built.next.ordinal.max(self.list.id + u64::from(self.list.len));
            let list = List { id: ordinal, ..self.choose_list()? };
            self.built.next.passed = 0;
            self.built.next.ordinal = ordinal + u64::from(list.len);
            self.built.next.list = Some(list);
        }
        let (block, _) = self.block_behind();
        let is_erased = match self.device.erase_unless_marked(block) {
            Ok(()) => true,
            Err(Stop::Bad) => false,
            Err(stop) => return Err(stop),
        };
        self.built.next.is_erased = is_erased;
        self.built.next.parts = 0;
        if !is_erased {
            self.pass_next();
        }
        Ok(())
    }

    /// The next block cannot be used: the one behind it takes its place.
    fn pass_next(&mut self) {
        let next = &mut self.built.next;
        (next.passed, next.is_erased, next.parts) = (next.passed + 1, false, 0);
        if next.list.is_some_and(|list| list.len == next.passed) {
            (next.list, next.is_named) = (None, false);
        }
    }

    /// Program the next page of the block table into the next block.
    fn put_table(&mut self) -> Done {
        let (block, id) = self.block_behind();
        let part = self.built.next.parts;
        if part == 0 {
            self.built.next.mark = self.changes.len();
        }
        if part + 1 == self.table_parts() && self.is(Broken::ChangesFromLastPart) {
            self.built.next.mark = self.changes.len();
        }
        match self.device.program(block, part, Page::Table { id, part, table: self.table }) {
            Ok(()) => self.built.next.parts += 1,
            Err(Stop::Bad) => {
                self.device.mark(block)?;
                self.pass_next();
            }
            Err(stop) => return Err(stop),
        }
        Ok(())
    }

    /// One operation towards a root that rests on the log: erase, write, or confirm.
    fn renew_ahead(&mut self) -> Done {
        if self.built.root_next.is_none() && self.replace_bad()? {
            return Ok(());
        }
        let Some((block, epoch, is_there)) = self.built.root_next.take() else {
            let count = usize::from(self.config.root_count);
            let cells = self.root_blocks;
            let from = cells.iter().position(|block| *block == self.root.block).unwrap_or(0);
            let stay = (1..=count).map(|step| cells[(from + step) % count]);
            let others = self.move_targets().into_iter().chain(stay);
            for block in others.filter(|block| *block != self.root.block).collect::<Vec<_>>() {
                if self.device.erase_unless_marked(block).map_or_else(not_bad, |()| Ok(true))? {
                    self.built.root_next = Some((block, self.top_epoch() + 1, false));
                    return Ok(());
                }
            }
            return Err(Stop::Breach("no root block is left"));
        };
        let (copied, list) = (self.last.clone(), self.built.live);
        let done = if is_there {
            self.confirm_root(block, 1, epoch, list)
        } else {
            self.program_root(block, epoch, list, (copied, false)).map(drop)
        };
        match done {
            Err(Stop::Bad) => self.device.mark(block),
            Ok(()) if !is_there => {
                self.top = self.top.max(epoch);
                self.built.root_next = Some((block, epoch, true));
                Ok(())
            }
            other => other,
        }
    }

    /// Write a record as it is built.
    pub(crate) fn write_ahead(&mut self) -> Done {
        self.wake()?;
        let parts = 1 + u8::from(self.device.below(8) == 0);
        let fits = self.log_page + parts <= PAGES;
        let mut done =
            if fits { self.program_record(false, parts) } else { self.checkpoint_ahead() };
        while done == Err(Stop::Bad) {
            self.device.mark(self.list.blocks[usize::from(self.list_at)])?;
            done = self.checkpoint_ahead();
        }
        done?;
        self.is_clean = false;
        self.recorded();
        let is_root = self.built.has_base && self.log_page == self.table_parts();
        if is_root && !self.is(Broken::RestsOnRoot) {
            self.begin_tail();
        }
        Ok(())
    }

    /// Go on in the next log block.
    fn checkpoint_ahead(&mut self) -> Done {
        while !self.is_ready() {
            if self.is_cornered() {
                return self.rebase();
            }
            self.step_log()?;
        }
        self.turn();
        let closing = self.stopping();
        let changes = std::mem::replace(&mut self.closing, closing);
        let done = self.program_record(true, self.record_parts_ahead());
        self.closing = changes;
        done?;
        (self.built.has_base, self.built.live) = (false, self.list);
        Ok(())
    }

    /// A record that begins the last block of its list says nothing of a stop.
    fn stopping(&self) -> Option<StopPage> {
        self.closing.filter(|_| self.has_next() || self.is(Broken::StopsInLast))
    }

    /// Pages of the first record of a log block.
    fn record_parts_ahead(&self) -> u8 {
        self.config.checkpoint_parts.saturating_sub(self.table_parts()).max(1)
    }

    fn turn(&mut self) {
        let next = self.built.next;
        self.log_page = self.table_parts();
        let done = if self.table_parts() == 0 { self.changes.len() } else { next.mark };
        self.changes.drain(..done.min(self.changes.len()));
        match next.list {
            Some(list) => (self.list, self.list_at) = (list, next.passed),
            None => self.list_at += 1 + next.passed,
        }
        self.built.next = Next { ordinal: next.ordinal, ..Next::default() };
    }

    /// The commit becomes the next root, whose list is the next one.
    fn rebase(&mut self) -> Done {
        let next = self.built.next;
        let Some(list) = next.list else { return Err(Stop::Breach("no list to go on in")) };
        self.list = list;
        self.seq += 1;
        self.recorded();
        self.last.list = list;
        let mut blocks = self.move_targets();
        blocks.extend(&self.root_blocks[..usize::from(self.config.root_count)]);
        for block in blocks {
            if block == self.root.block || self.device.is_marked(block) {
                continue;
            }
            let epoch = self.top_epoch() + 1;
            match self.write_root(block, epoch, list) {
                Err(Stop::Bad) => self.device.mark(block)?,
                Err(stop) => return Err(stop),
                Ok(()) => {
                    self.begin_log(list, None, true);
                    self.built.next.ordinal = next.ordinal;
                    (self.list_at, self.log_page) = (next.passed, self.table_parts());
                    self.changes.clear();
                    return Ok(());
                }
            }
        }
        Err(Stop::Breach("no root block is left"))
    }

    /// The record behind a root has no other before it in its block: it has the whole tail.
    pub(crate) fn begin_tail(&mut self) {
        if self.is_built() {
            self.tail_base = None;
        }
    }

    /// Go on in the next block that is named, with a copy of the last state; false where there is
    /// none.
    pub(crate) fn wake_ahead(&mut self) -> Done<bool> {
        while !self.is_ready() {
            if !self.may_go_on() && !self.is(Broken::WakesWithName) {
                return Ok(false);
            }
            self.step_log()?;
        }
        self.turn();
        let (state, ring_tail) = (self.last.state.clone(), self.last.ring_tail.clone());
        let tail = TailPart::Whole(self.last.tail.clone());
        let table = self.table_part(true);
        let record = Record { state, tail, ring_tail, table, is_stop: false };
        match self.program_parts(record, self.seq, self.record_parts_ahead()) {
            Ok(()) => {
                (self.built.has_base, self.built.live) = (false, self.list);
                Ok(true)
            }
            Err(Stop::Bad) => {
                self.device.mark(self.list.blocks[usize::from(self.list_at)])?;
                Ok(false)
            }
            Err(stop) => Err(stop),
        }
    }

    /// Stop: a record, in a list with another block to go on in, or before one that is named.
    pub(crate) fn close_ahead(&mut self) -> Done {
        for _ in 0..2 {
            let is_last = |engine: &Self| !engine.may_go_on() && !engine.is_cornered();
            while is_last(self) && !self.is(Broken::StopsInLast) {
                self.step_log()?;
            }
            // A name page that failed may be seen by the next mount, and not by the one after it.
            let is_told = !self.is_cornered() || self.is(Broken::StopsBehindFailedName);
            self.closing = is_told.then_some(StopPage);
            let outcome = self.write_record(false);
            self.closing = None;
            outcome?;
            if !is_last(self) {
                break;
            }
        }
        Ok(())
    }

    /// What a record says of the block table.
    pub(crate) fn table_part(&self, is_checkpoint: bool) -> TablePart {
        match (is_checkpoint, self.table_parts()) {
            (true, 0) => TablePart::Whole(self.table),
            (true, _) => TablePart::Ahead(self.changes.clone()),
            (false, _) => TablePart::Changes(self.changes.clone()),
        }
    }

    /// The pages of the block table of a log block.
    pub(crate) fn read_table_parts(&mut self, block: u8, id: u64) -> Option<Table> {
        let mut found = [Slot::Free; BLOCKS_MAX];
        for part in 0..self.table_parts() {
            let seen = self.device.read(block, part);
            let super::device::Seen::Page(content) = seen else { return None };
            let Page::Table { id: other, part: at, table } = &*content else { return None };
            if (*other, *at) != (id, part) {
                return None;
            }
            for (at, slot) in table.iter().enumerate().filter(|(at, _)| self.is_on(*at, part)) {
                found[at] = *slot;
            }
        }
        Some(found)
    }

    /// The blocks that the lists of the log hold.
    pub(crate) fn listed(&self) -> u64 {
        let bits = |list: &List| {
            let blocks = &list.blocks[..usize::from(list.len)];
            blocks.iter().fold(0_u64, |bits, block| bits | 1 << block)
        };
        let named = self.built.next.list.as_ref().map_or(0, bits);
        let named = if self.is(Broken::NamedNotKept) { 0 } else { named };
        let live = if self.is_built() { bits(&self.built.live) } else { 0 };
        bits(&self.list) | named | live
    }

    /// A root is the one in force from here on.
    pub(crate) fn note_root(&mut self, block: u8, page: u8, epoch: u32, list: List) {
        self.top = self.top.max(epoch);
        self.root = Root { block, page, epoch, list_id: list.id, name_count: 0 };
    }

    fn top_epoch(&self) -> u32 {
        self.top.max(self.root.epoch)
    }
}

const fn not_bad(stop: Stop) -> Done<bool> {
    match stop {
        Stop::Bad => Ok(false),
        Stop::Cut | Stop::Unread | Stop::Full | Stop::Breach(_) => Err(stop),
    }
}
