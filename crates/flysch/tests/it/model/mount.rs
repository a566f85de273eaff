//! Format and mount.

use std::rc::Rc;

use super::compact::Window;
use super::device::{Device, Done, PAGES, Page, Seen, Stop};
use super::engine::{Config, Engine, RootRules};
use super::log::apply_tail;
use super::root::View;
use super::rows::SUMMARY;
use super::state::{
    COLD, Cells, Checkpoint, HOT, Head, List, NvRecord, OLD, Place, RING, Record, Row, Slot, Table,
    TablePart, TailPart, WRITTEN, YOUNG, set_slot, space_of,
};
use super::switches::Broken;

/// Commit numbers given up at a mount.
const COMMIT_JUMP: u32 = 4;

/// What the log says.
struct Log {
    last: Checkpoint,
    /// The table at the beginning of the log block.
    ground: Table,
    list: List,
    list_at: u8,
    page: u8,
    is_stopped: bool,
    /// Whether its records rest on the state in the root.
    has_base: bool,
    /// A list that was named, and not begun.
    next: Option<List>,
    /// Slots of the `NvRam` in use, and their units.
    nvram: (usize, u16),
}

impl Log {
    /// Nothing was logged since the mount that wrote the root.
    fn of_root(root: &Rc<Checkpoint>) -> Self {
        Self {
            last: (**root).clone(),
            ground: root.table,
            list: root.list,
            list_at: 0,
            page: 0,
            is_stopped: false,
            has_base: true,
            next: None,
            nvram: (0, 0),
        }
    }

    /// Whether a record was seen behind the root.
    const fn has_records(&self) -> bool {
        self.page > 0
    }

    fn apply_nvram(&mut self, record: &NvRecord) {
        if let Some((state, changes)) = &record.state {
            self.last.state = state.clone();
            self.last.table = self.ground;
            for (block, slot) in changes {
                set_slot(&mut self.last.table, *block, *slot);
            }
        }
        self.last.state.commit = record.commit;
        self.last.seq = record.seq;
        apply_tail(&mut self.last.tail, &record.tail);
        self.last.ring_tail = record.ring_tail.clone();
    }
}

impl Engine {
    /// The first four good blocks are root blocks; the first of them gets the first root.
    pub(crate) fn format(device: Device, config: Config) -> Self {
        let mut roots = [0; 4];
        let good = (0..config.block_count).filter(|block| !device.is_marked(*block));
        for (root, block) in roots.iter_mut().zip(good) {
            *root = block;
        }
        let mut engine = Self::blank(device, config, roots);
        let last = roots[3];
        if config.move_after > 0 {
            engine.moves.anchors = engine.good_behind(last);
        }
        engine
    }

    /// The next two good blocks.
    fn good_behind(&self, last: u8) -> Option<[u8; 2]> {
        let mut good = (last + 1..self.config.block_count).filter(|b| !self.device.is_marked(*b));
        good.next().zip(good.next()).map(|(first, second)| [first, second])
    }

    /// Write the first root; a format that was cut is begun again.
    pub(crate) fn write_first_root(&mut self) -> Done {
        self.free = self.unclaimed(&self.state);
        let list = self.choose_list()?;
        let views: Vec<View> = self.root_blocks.map(View::blank).into();
        if self.config.roots == RootRules::Planned {
            return self.write_mount_root(views, list);
        }
        self.write_every_root(list)
    }

    /// Mount: only root blocks are touched.
    pub(crate) fn mount(&mut self) -> Done {
        let (views, at, log) = if self.is_built() {
            let (views, at) = self.locate()?;
            let log = self.read_lists(&views[at])?;
            (views, at, log)
        } else {
            self.farthest_root()?
        };
        let newest = &views[at];
        self.root = super::engine::Root {
            block: newest.block,
            page: newest.end,
            epoch: newest.epoch(),
            list_id: newest.lists[0].id,
            name_count: newest.lists.len() as u64 - 1,
        };
        // A root without a state was written in the midst of its log: records prove nothing.
        let has_state = newest.root.as_ref().is_some_and(|(_, root)| root.has_state);
        self.moves.is_certain = log.has_records() && has_state;
        self.begin_session(&log);
        let next = usize::from(log.list_at) + 1..usize::from(log.list.len);
        let has_next = log.list.blocks[next].iter().any(|block| !self.device.is_marked(*block));
        self.list = log.list;
        self.list_at = log.list_at;
        self.log_page = log.page;
        self.begin_log(log.list, log.next, log.has_base);
        self.top = views.iter().map(View::epoch).max().unwrap_or(0);
        let is_sure = self.config.roots == RootRules::Planned
            || log.nvram.0 == 0 && self.has_no_rival(&views);
        let has_next = if self.is_built() { self.may_go_on() } else { has_next };
        self.is_clean = log.is_stopped && is_sure && (has_next || self.is(Broken::CleanGoesOn));
        if !self.is_clean {
            self.recover(views)?;
        }
        self.last.list = self.list;
        self.release();
        self.derive()
    }

    /// The root whose log leads farthest, and its log.
    fn farthest_root(&mut self) -> Done<(Vec<View>, usize, Log)> {
        let mut views = self.view_roots();
        let mut logs: Vec<Option<Log>> = views.iter().map(|_| None).collect();
        for (view, log) in views.iter_mut().zip(&mut logs) {
            if view.root.is_some() {
                *log = Some(self.read_lists(view)?);
                let ranks = !self.is(Broken::EpochsRank);
                view.seq = log.as_ref().filter(|_| ranks).map_or(0, |log| log.last.seq);
            }
        }
        let at = self.whole_root(&mut views)?;
        let log = match logs[at].take() {
            Some(log) => log,
            None => self.read_lists(&views[at])?,
        };
        Ok((views, at, log))
    }

    /// The root that is believed. As built, one that turns out not to be whole is none.
    pub(crate) fn whole_root(&mut self, views: &mut [View]) -> Done<usize> {
        loop {
            let at = self.believed(views).ok_or(Stop::Breach("no root is visible"))?;
            if !self.is_built() || self.is_whole_root(&views[at]) {
                return Ok(at);
            }
            views[at] = View::blank(views[at].block);
        }
    }

    /// The root whose log leads farthest. One on a marked block is none: the block was marked where
    /// a root could not be written to it, and what was left is whole at one time and not at
    /// another.
    fn believed(&self, views: &[View]) -> Option<usize> {
        let is_marked = |at: &usize| self.device.is_marked(views[*at].block);
        let visible = (0..views.len()).filter(|at| views[*at].root.is_some());
        let counts = visible.filter(|at| self.is(Broken::MarkedBelieved) || !is_marked(at));
        counts.max_by_key(|at| views[*at].rank())
    }

    /// Apply the records of the `NvRam` that follow the log; those that it has are passed over.
    fn follow_nvram(&mut self, log: &mut Log) {
        let mut before = None;
        for slot in 0..self.device.nvram.len() {
            let Some(record) = self.device.nvram[slot].clone() else { break };
            let is_chained = before.is_none_or(|seq| record.seq == seq + 1);
            let is_ahead = record.seq > log.last.seq + 1;
            let is_free = self.is(Broken::NvRamUnchained);
            if record.slot != slot || ((!is_chained || is_ahead) && !is_free) {
                break;
            }
            before = Some(record.seq);
            let follows = record.after == log.last.state.commit;
            if record.seq == log.last.seq + 1 && !follows && !self.is(Broken::NvRamFollowsAny) {
                break;
            }
            if record.seq == log.last.seq + 1 || is_free {
                log.apply_nvram(&record);
                log.nvram.0 = slot + 1;
            }
            log.nvram.1 += record.units;
        }
    }

    /// Take over what the log and the `NvRam` say.
    fn begin_session(&mut self, log: &Log) {
        (self.nvram_slot, self.nvram_used) = log.nvram;
        if self.nvram_slot == 0 {
            self.nvram_used = 0;
        }
        self.seq = log.last.seq;
        self.last = log.last.clone();
        self.state = log.last.state.clone();
        self.adopt_table(&log.last.table);
        let Checkpoint { tail, ring_tail, .. } = &log.last;
        self.tails = [tail.clone(), super::state::Tail::default(), ring_tail.clone()];
        self.tail_base = Some(self.tails[HOT].rows.len());
        self.changes.clear();
        self.mem.clear();
        self.open = None;
        self.summarised.clear();
        self.window = Window::default();
        self.gone = None;
        self.copy = None;
        self.snapshots.clear();
        self.is_moved = false;
    }

    /// Find the void spans, choose a list, write a root.
    fn recover(&mut self, views: Vec<View>) -> Done {
        self.free = self.unclaimed(&self.state);
        for stream in [HOT, COLD, RING] {
            if stream == RING && self.is(Broken::RingNotSkipped) {
                continue;
            }
            if let Some(end) = self.find_end(stream) {
                self.displace(stream, end);
            }
        }
        for head in [YOUNG, OLD] {
            if let Some(end) = self.find_end(head) {
                self.state.heads[head] = if end >= PAGES {
                    Head { number: self.give_number(space_of(head))?, page: 0 }
                } else {
                    Head { page: end, ..self.state.heads[head] }
                };
            }
        }
        if !self.is(Broken::CommitsGoOn) {
            self.state.commit += COMMIT_JUMP;
        }
        self.free = self.unclaimed(&self.state);
        let mut list = self.choose_list()?;
        if self.is_built() {
            list.id = self.ordinal_of_mount();
        }
        self.last = Checkpoint {
            seq: self.seq,
            state: self.state.clone(),
            tail: self.tails[HOT].clone(),
            ring_tail: self.tails[RING].clone(),
            table: self.table,
            list,
            has_state: true,
            cells: Cells::default(),
        };
        self.tail_base = Some(self.tails[HOT].rows.len());
        self.begin_tail();
        self.is_moved = false;
        self.write_mount_root(views, list)?;
        self.list_at = 0;
        self.log_page = 0;
        self.nvram_slot = 0;
        self.nvram_used = 0;
        if self.is_built() {
            self.begin_block()?;
            self.begin_move()?;
        }
        Ok(())
    }

    /// One page behind the last at the head that is not blank; none where no block is taken.
    fn find_end(&mut self, head: usize) -> Option<u8> {
        let Head { number, page: from } = self.state.heads[head];
        if from == 0 {
            return None;
        }
        let block = self.block_of(space_of(head), number)?;
        if self.device.is_marked(block) {
            return Some(PAGES);
        }
        let is_blank = |device: &mut Device, page| matches!(device.read(block, page), Seen::Blank);
        if self.is(Broken::EndAtFirstBlank) {
            let first = (0..PAGES).find(|page| is_blank(&mut self.device, *page));
            return Some((first.unwrap_or(PAGES) + 1).max(from));
        }
        let last = (from..PAGES).rev().find(|page| !is_blank(&mut self.device, *page));
        let skip = u8::from(!self.is(Broken::NoSkip));
        Some((last.map_or(from, |page| page + 1) + skip).min(PAGES))
    }

    /// The last list in which a block begins with a whole checkpoint, or the root's own.
    fn read_lists(&mut self, view: &View) -> Done<Log> {
        let Some((_, root)) = &view.root else { return Err(Stop::Breach("no root")) };
        if self.is_built() {
            return self.read_named(view, root);
        }
        let mut found = None;
        for (index, list) in view.lists.iter().enumerate().rev() {
            for at in (0..list.len).rev() {
                if found.is_none() {
                    found = self.read_block(root, *list, at, index == 0)?;
                }
            }
        }
        let mut log = found.unwrap_or_else(|| Log::of_root(root));
        self.follow_nvram(&mut log);
        Ok(log)
    }

    /// The list that was named, the one that was in use then, or the root's own.
    fn read_named(&mut self, view: &View, root: &Rc<Checkpoint>) -> Done<Log> {
        let mut lists: Vec<List> = view.named.map_or_else(Vec::new, Vec::from);
        lists.push(view.lists[0]);
        let mut next = None;
        for list in lists {
            for at in (0..list.len).rev() {
                if let Some(mut log) = self.read_block(root, list, at, true)? {
                    log.next = next;
                    self.follow_nvram(&mut log);
                    return Ok(log);
                }
            }
            next = next.or(Some(list));
        }
        if !root.has_state {
            return Err(Stop::Breach("a root without a state has no log"));
        }
        let mut log = Log::of_root(root);
        self.follow_nvram(&mut log);
        Ok(log)
    }

    /// The records of a log block; none where it does not begin as it should.
    fn read_block(
        &mut self,
        root: &Rc<Checkpoint>,
        list: List,
        at: u8,
        is_own: bool,
    ) -> Done<Option<Log>> {
        let block = list.blocks[usize::from(at)];
        let id = list.id + u64::from(at);
        let Some((first, mut page)) = self.read_record(block, id, self.table_parts()) else {
            return Ok(None);
        };
        if self.is_built() && matches!(first.1.tail, TailPart::Added(..)) {
            return Err(Stop::Breach("a record rests on one that is not in its block"));
        }
        let mut base = (**root).clone();
        let mut ground = root.table;
        let mut has_base = false;
        match &first.1.table {
            TablePart::Whole(table) => ground = *table,
            TablePart::Ahead(_) => match self.read_table_parts(block, id) {
                Some(table) => ground = table,
                None => return Ok(None),
            },
            TablePart::Changes(_) if self.is_built() && root.has_state => has_base = true,
            TablePart::Changes(_) if is_own && at == 0 => {}
            TablePart::Changes(_) => return Ok(None),
        }
        Self::apply(&mut base, &ground, &first.1);
        base.seq = first.0;
        let mut stops = first.1.is_stop;
        while let Some((record, behind)) = self.read_record(block, id, page) {
            Self::apply(&mut base, &ground, &record.1);
            base.seq = record.0;
            stops = record.1.is_stop;
            page = behind;
        }
        let mut is_stopped = false;
        if page < PAGES
            && let Seen::Page(content) = self.device.read(block, page)
        {
            is_stopped = matches!(&*content,
                Page::Stop { id: other, seq } if (*other, *seq) == (id, base.seq));
        }
        page += u8::from(is_stopped);
        is_stopped |=
            (self.is(Broken::OneStopPage) || self.config.roots == RootRules::Built) && stops;
        let nvram = (0, 0);
        let next = None;
        Ok(Some(Log {
            last: base,
            ground,
            list,
            list_at: at,
            page,
            is_stopped,
            has_base,
            next,
            nvram,
        }))
    }

    /// A whole record at a page of a log block, and the page behind it.
    fn read_record(&mut self, block: u8, id: u64, page: u8) -> Option<((u32, Rc<Record>), u8)> {
        let mut sought = (0, 1);
        let mut found = None;
        while sought.0 < sought.1 {
            let at = page + sought.0;
            if at >= PAGES {
                return None;
            }
            let Seen::Page(content) = self.device.read(block, at) else { return None };
            let Page::Log { id: other, seq, part, parts, record } = &*content else { return None };
            let is_next = *other == id
                && *part == sought.0
                && found.as_ref().is_none_or(|(first, _)| first == seq);
            if !is_next {
                return None;
            }
            sought = (sought.0 + 1, *parts);
            found = Some((*seq, Rc::clone(record)));
        }
        Some((found?, page + sought.1))
    }

    /// Put the rows behind the flush marks into the memory table, in the order of write numbers.
    fn derive(&mut self) -> Done {
        let mut pages = Vec::new();
        for stream in [HOT, COLD, RING] {
            let mark = self.state.marks[stream].clone();
            for number in mark.blocks {
                self.unflushed_pages(stream, number, mark.from, &mut pages)?;
            }
        }
        pages.sort_unstable();
        for (_, number, page, unit) in pages {
            for (place, row) in self.page_rows(number, page)? {
                if place.unit >= unit {
                    self.put(&row, place);
                }
            }
        }
        for stream in WRITTEN {
            for at in 0..self.tails[stream].rows.len() {
                let (offset, row) = self.tails[stream].rows[at];
                self.put(&row, self.tail_place(stream, offset));
            }
        }
        Ok(())
    }

    /// The pages of a block behind a flush mark: write number, number, page, first unit.
    fn unflushed_pages(
        &mut self,
        stream: usize,
        number: u8,
        mark: Place,
        pages: &mut Vec<(u32, u8, u8, u8)>,
    ) -> Done {
        let head = self.state.heads[stream];
        let is_first = number == mark.number;
        let from = if is_first { mark.page } else { 0 };
        let to = if number == head.number { head.page } else { SUMMARY };
        if number != head.number && self.block_of(0, number).is_none() {
            return Err(Stop::Breach("a block behind the flush mark is gone"));
        }
        for page in from..to {
            let unit = if is_first && page == from { mark.unit } else { 0 };
            if let Some(content) = self.committed_page(number, page)?
                && let Page::Rows(rows) = &*content
            {
                pages.push((rows.write, number, page, unit));
            }
        }
        Ok(())
    }

    fn put(&mut self, row: &Row, place: Place) {
        let mut row = *row;
        if self.is(Broken::FlagNotDerived) {
            row.is_shared = false;
        }
        let entries = self.entries_of(&row, place.position());
        self.mem.extend(&entries[..if row.is_tombstone { 1 } else { 2 }]);
    }

    /// A page of rows that is believed and not void: it must be there.
    pub(crate) fn committed_page(&mut self, number: u8, page: u8) -> Done<Option<Rc<Page>>> {
        if self.block_of(0, number).is_none() || self.is_void(number, page)? {
            return Ok(None);
        }
        let content = self.rows_page(number, page, false)?;
        content.map(Some).ok_or(Stop::Breach("a committed page is lost"))
    }

    /// All rows that a reader at `limit` may see.
    pub(crate) fn scan(&mut self, limit: u32) -> Done<Vec<Row>> {
        let mut found = Vec::new();
        let numbers: Vec<u8> = self
            .table
            .iter()
            .filter_map(|slot| match slot {
                Slot::Block(0, number) => Some(*number),
                Slot::Block(..) | Slot::Free => None,
            })
            .collect();
        for number in numbers {
            for page in 0..SUMMARY {
                if self.committed_page(number, page)?.is_none() {
                    continue;
                }
                for (place, row) in self.page_rows(number, page)? {
                    self.show(place, row, limit, &mut found)?;
                }
            }
        }
        for stream in WRITTEN {
            for at in 0..self.tails[stream].rows.len() {
                let (offset, row) = self.tails[stream].rows[at];
                self.show(self.tail_place(stream, offset), row, limit, &mut found)?;
            }
        }
        Ok(found)
    }

    fn show(&mut self, place: Place, row: Row, limit: u32, found: &mut Vec<Row>) -> Done {
        let is_seen = row.commit <= limit && !row.is_tombstone;
        if is_seen && self.is_current(place, &row, limit)? {
            found.push(row);
        }
        Ok(())
    }
}
