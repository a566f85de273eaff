//! The log: records, log blocks, lists of them, the clean stop, and commits to the `NvRam`.

use std::rc::Rc;

use super::device::{Done, PAGES, Page, Stop};
use super::engine::{Engine, RootRules, StopPage};
use super::state::{
    BLOCKS_MAX, Cells, Checkpoint, HOT, List, NvRecord, RING, Record, State, TablePart, Tail,
    TailPart,
};
use super::switches::Broken;

impl Engine {
    /// Make what has happened durable: to the `NvRam` where it may and fits, else to the log.
    pub(crate) fn write_record(&mut self, is_nvram: bool) -> Done {
        self.summarised_spans();
        // As built, the first commit of a session is the log's.
        let is_awake = self.config.roots == RootRules::Planned || !self.is_clean;
        if is_nvram
            && is_awake
            && !self.built.is_log_due
            && self.config.nvram_units > 0
            && !self.open_is_lying()
        {
            let used = self.tails[HOT].used + self.tails[RING].used;
            let units = 1 + used + if self.is_moved { 3 } else { 0 };
            let fits = self.nvram_used + units <= self.config.nvram_units;
            if fits && self.nvram_slot < self.device.nvram.len() {
                return self.write_nvram(units);
            }
        }
        if self.is_built() {
            self.wake()?;
        }
        self.let_go();
        if !self.is_built() {
            self.write_log()?;
            self.follow_flash();
            return Ok(());
        }
        self.write_ahead()?;
        self.follow_flash();
        if self.closing.is_none() && self.device.below(4) > 0 { self.prepare_log() } else { Ok(()) }
    }

    /// A record is on flash: the `NvRam` begins anew, and blocks are let go.
    fn follow_flash(&mut self) {
        self.last.seq = self.seq;
        self.last.list = self.list;
        self.built.is_log_due = false;
        self.nvram_slot = 0;
        self.nvram_used = 0;
        self.release();
    }

    /// A block let go waits for a record on flash.
    fn open_is_lying(&self) -> bool {
        self.gone.is_some() && self.free_count() < 9
    }

    fn write_nvram(&mut self, units: u16) -> Done {
        let state = self.is_moved.then(|| (self.state.clone(), self.changes.clone()));
        let record = NvRecord {
            slot: self.nvram_slot,
            seq: self.seq + 1,
            units,
            after: self.last.state.commit,
            commit: self.state.commit,
            tail: self.tail_part(false),
            ring_tail: self.ring_tail(),
            state,
        };
        self.device.write_nvram(self.nvram_slot, record)?;
        self.seq += 1;
        self.nvram_slot += 1;
        self.nvram_used += units;
        self.recorded();
        Ok(())
    }

    fn ring_tail(&self) -> Tail {
        if self.is(Broken::RingTailLost) { Tail::default() } else { self.tails[RING].clone() }
    }

    fn tail_part(&mut self, is_whole: bool) -> TailPart {
        let tail = &self.tails[HOT];
        match self.tail_base.filter(|_| !is_whole) {
            Some(base) => TailPart::Added(tail.rows[base..].to_vec(), tail.used),
            None => TailPart::Whole(tail.clone()),
        }
    }

    /// Spans go into the state until their block's summary is committed.
    fn summarised_spans(&mut self) {
        for number in std::mem::take(&mut self.summarised) {
            let spans = &mut self.state.spans;
            if !spans.iter().any(|span| span.number == number && span.to == PAGES) {
                spans.retain(|span| span.number != number);
            }
        }
    }

    /// The record is durable.
    pub(crate) fn recorded(&mut self) {
        self.last = Checkpoint {
            seq: self.seq,
            state: self.state.clone(),
            tail: self.tails[HOT].clone(),
            ring_tail: self.ring_tail(),
            table: self.table,
            list: self.list,
            has_state: true,
            cells: Cells::default(),
        };
        self.tail_base = Some(self.tails[HOT].rows.len());
        self.is_moved = false;
    }

    /// What the record on flash lets go.
    pub(crate) fn release(&mut self) {
        let taken = self.listed() | self.copied_to();
        self.free = self.unclaimed(&self.last.state) & !taken;
    }

    /// All blocks but roots and what the state and the table hold.
    pub(crate) fn unclaimed(&self, state: &State) -> u64 {
        let all = (1_u64 << self.config.block_count) - 1;
        let bad = (0..self.config.block_count).filter(|block| self.device.is_marked(*block));
        let bad = bad.fold(0, |bits, block| bits | 1 << block);
        all & !bad & !bits(&self.reserved()) & !self.claimed(state)
    }

    fn record_parts(&mut self, is_checkpoint: bool) -> u8 {
        if is_checkpoint {
            self.config.checkpoint_parts
        } else {
            1 + u8::from(self.device.below(8) == 0)
        }
    }

    /// Program a record; a block that fails is left for the next, which begins with a checkpoint.
    fn write_log(&mut self) -> Done {
        if !self.is(Broken::WakesWithCommit) {
            self.wake()?;
        }
        let mut begins = self.is_clean && !self.is(Broken::CleanGoesOn);
        loop {
            let parts = self.record_parts(begins);
            let is_first = !begins && self.list_at == 0 && self.log_page == 0;
            if !begins && self.log_page + parts > PAGES {
                begins = true;
                continue;
            }
            let outcome = if begins { self.next_log_block() } else { Ok(()) };
            let outcome = match outcome {
                Ok(()) if is_first => self.device.erase(self.list.blocks[0]),
                other => other,
            };
            let outcome = outcome.and_then(|()| self.program_record(begins, parts));
            match outcome {
                Ok(()) => {
                    self.is_clean = false;
                    self.recorded();
                    return Ok(());
                }
                Err(Stop::Bad) => {
                    let block = self.list.blocks[usize::from(self.list_at)];
                    self.device.mark(block)?;
                    begins = true;
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    pub(crate) fn program_record(&mut self, is_checkpoint: bool, parts: u8) -> Done {
        if is_checkpoint && !self.is_built() {
            self.changes.clear();
        }
        let is_whole = is_checkpoint || self.nvram_slot > 0 || self.device.below(6) == 0;
        let table = self.table_part(is_checkpoint);
        let tail = self.tail_part(is_whole);
        let ring_tail = self.ring_tail();
        let (state, is_stop) = (self.state.clone(), self.closing.is_some());
        let record = Record { state, tail, ring_tail, table, is_stop };
        self.program_parts(record, self.seq + 1, parts)
    }

    pub(crate) fn program_parts(&mut self, record: Record, seq: u32, parts: u8) -> Done {
        let record = Rc::new(record);
        let block = self.list.blocks[usize::from(self.list_at)];
        let id = self.list.id + u64::from(self.list_at);
        for part in 0..parts {
            let content = Page::Log { id, seq, part, parts, record: Rc::clone(&record) };
            self.device.program(block, self.log_page, content)?;
            self.log_page += 1;
        }
        self.seq = seq;
        Ok(())
    }

    /// Erase the next block of the list; behind the last one, name another list.
    fn next_log_block(&mut self) -> Done {
        if self.erase_next()? { Ok(()) } else { self.name_list() }
    }

    /// Erase the next block of the list; false behind the last one.
    fn erase_next(&mut self) -> Done<bool> {
        self.log_page = 0;
        while self.list_at + 1 < self.list.len {
            self.list_at += 1;
            let block = self.list.blocks[usize::from(self.list_at)];
            if self.device.is_marked(block) {
                continue;
            }
            match self.device.erase(block) {
                Ok(()) => return Ok(true),
                Err(Stop::Bad) => self.device.mark(block)?,
                Err(stop) => return Err(stop),
            }
        }
        Ok(false)
    }

    /// Choose free blocks for a list, all with good marks.
    pub(crate) fn choose_list(&mut self) -> Done<List> {
        let mut list = List { id: 0, len: self.config.list_len, blocks: [0; 3] };
        for at in 0..usize::from(list.len) {
            let block = self.draw_free().ok_or(Stop::Breach("no block is left for the log"))?;
            self.free &= !(1 << block);
            list.blocks[at] = block;
        }
        Ok(list)
    }

    fn name_list(&mut self) -> Done {
        let mut list = self.choose_list()?;
        loop {
            match self.device.erase(list.blocks[0]) {
                Ok(()) => break,
                Err(Stop::Bad) => {
                    self.device.mark(list.blocks[0])?;
                    let block = self.draw_free().ok_or(Stop::Breach("no block for the log"))?;
                    self.free &= !(1 << block);
                    list.blocks[0] = block;
                }
                Err(stop) => return Err(stop),
            }
        }
        self.root.name_count += 1;
        list.id = self.root.list_id + self.root.name_count * 4;
        let name = Page::Name { epoch: self.root.epoch, list, used: self.list };
        let outcome = if self.root.page < PAGES {
            self.device.program(self.root.block, self.root.page, name)
        } else {
            Err(Stop::Full)
        };
        self.root.page += 1;
        match outcome {
            Ok(()) => {}
            // A root on a marked block is not believed, and this one still is: no mark is made.
            Err(Stop::Full | Stop::Bad) => self.renew_root(&mut list)?,
            Err(stop) => return Err(stop),
        }
        self.list = list;
        self.list_at = 0;
        Ok(())
    }

    /// Before the first program of a session that went on after a clean stop: what the last
    /// record says once more, in the next log block. Where none is left in the list, a root takes
    /// it, as after a cut: a name page that nobody sees would be programmed again.
    pub(crate) fn wake(&mut self) -> Done {
        if self.is_built() && self.is_clean {
            if !self.wake_ahead()? {
                return self.wake_by_root();
            }
            self.is_clean = false;
            self.follow_flash();
        }
        while self.is_clean && !self.is(Broken::CleanGoesOn) {
            let is_named = self.is(Broken::WakesWithName);
            if is_named {
                self.next_log_block()?;
            } else if !self.erase_next()? {
                return self.wake_by_root();
            }
            let table = TablePart::Whole(self.last.table);
            let tail = TailPart::Whole(self.last.tail.clone());
            let (state, ring_tail) = (self.last.state.clone(), self.last.ring_tail.clone());
            let record = Record { state, tail, ring_tail, table, is_stop: false };
            match self.program_parts(record, self.seq, self.config.checkpoint_parts) {
                Ok(()) => {
                    self.is_clean = false;
                    self.follow_flash();
                }
                Err(Stop::Bad) => {
                    self.device.mark(self.list.blocks[usize::from(self.list_at)])?;
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    fn wake_by_root(&mut self) -> Done {
        let views = if self.is_built() { self.locate()?.0 } else { self.view_roots() };
        let list = self.choose_list()?;
        self.last.list = list;
        let list =
            if self.is_built() { List { id: self.ordinal_of_mount(), ..list } } else { list };
        self.write_mount_root(views, list)?;
        (self.list_at, self.log_page, self.is_clean) = (0, 0, false);
        if self.is_built() {
            self.begin_tail();
            self.begin_block()?;
            self.begin_move()?;
        }
        self.follow_flash();
        Ok(())
    }

    /// Stop: a record and a stop page, in a list with another block to go on in.
    pub(crate) fn close(&mut self) -> Done {
        if self.is_clean && !self.is(Broken::CleanGoesOn) {
            return Ok(());
        }
        if self.is_built() {
            return self.close_ahead();
        }
        let may_end = self.list.len == 1 || self.is(Broken::CleanGoesOn);
        loop {
            if self.list_at + 1 == self.list.len && !may_end {
                self.log_page = PAGES;
            }
            self.closing = Some(StopPage);
            let outcome = self.write_record(false);
            self.closing = None;
            outcome?;
            let has_next = self.list_at + 1 < self.list.len || may_end;
            if has_next && self.log_page < PAGES {
                break;
            }
        }
        let block = self.list.blocks[usize::from(self.list_at)];
        let id = self.list.id + u64::from(self.list_at);
        if !self.is(Broken::OneStopPage) {
            let stop = Page::Stop { id, seq: self.seq };
            match self.device.program(block, self.log_page, stop) {
                Err(Stop::Bad) => self.device.mark(block)?,
                other => other?,
            }
        }
        Ok(())
    }

    /// The tail and the table of a record, on top of what came before it.
    pub(crate) fn apply(
        base: &mut Checkpoint,
        ground: &[super::state::Slot; BLOCKS_MAX],
        record: &Record,
    ) {
        base.state = record.state.clone();
        apply_tail(&mut base.tail, &record.tail);
        base.ring_tail = record.ring_tail.clone();
        match &record.table {
            TablePart::Whole(table) => base.table = *table,
            TablePart::Changes(changes) | TablePart::Ahead(changes) => {
                base.table = *ground;
                for (block, slot) in changes {
                    super::state::set_slot(&mut base.table, *block, *slot);
                }
            }
        }
    }
}

pub(crate) fn apply_tail(tail: &mut Tail, part: &TailPart) {
    match part {
        TailPart::Whole(whole) => *tail = whole.clone(),
        TailPart::Added(rows, used) => {
            tail.rows.extend(rows);
            tail.used = *used;
        }
    }
}

fn bits(blocks: &[u8]) -> u64 {
    blocks.iter().fold(0, |bits, block| bits | 1 << block)
}
