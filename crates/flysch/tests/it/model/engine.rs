//! The engine: transactions, and what the session holds in RAM.

use std::rc::Rc;

use super::ahead::Built;
use super::compact::Window;
use super::copy::BlockCopy;
use super::device::{Device, Done, PAGES, Stop};
use super::moves::Moves;
use super::state::{
    BLOCKS_MAX, Cells, Checkpoint, Entry, HOT, Head, List, Mark, Place, RING, RING_FIRST,
    RING_KEYS, Row, Run, Slot, State, Table, Tail, WRITTEN, set_slot,
};
use super::switches::Broken;

/// Numbers of each space before they come round again, and those of the ring, on a device of up to
/// [`SMALL`] blocks. They are few, so that they come round often.
const WINDOW: [u8; 4] = [26, 12, 8, 20];
/// The same on a larger device: its blocks of one space may be more than those numbers.
const WINDOW_OF_MORE: [u8; 4] = [32, 32, 32, 32];
const SMALL: u8 = 31;
/// What stands for the ring among the spaces whose numbers are given.
pub(crate) const RING_SPACE: u8 = 3;
const WINDOW_MAX: usize = 64;
/// No block has the number.
pub(crate) const NOWHERE: u8 = u8::MAX;

/// What a history may choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) block_count: u8,
    pub(crate) list_len: u8,
    pub(crate) checkpoint_parts: u8,
    /// Pages of the block table that are programmed ahead of a log block's first record.
    pub(crate) table_parts: u8,
    /// Rows that the `NvRam` takes, in units; 0 without one.
    pub(crate) nvram_units: u16,
    pub(crate) code_count: u8,
    /// Root blocks in use: four.
    pub(crate) root_count: u8,
    pub(crate) roots: RootRules,
    /// Epochs after which root blocks move; 0 where they stay.
    pub(crate) move_after: u32,
    /// Transactions write to the ring too.
    pub(crate) has_ring: bool,
    /// Rows that were looked up wait in the window as often as not, and every second thing that is
    /// done between transactions goes on with the victim.
    pub(crate) lingers: bool,
    pub(crate) broken: Option<Broken>,
}

/// Two sets of rules for roots and clean stops. Each holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RootRules {
    /// Those of the protocol's text: the root whose log leads farthest is believed, a mount erases
    /// every other root block, and a clean stop is two pages.
    Planned,
    /// Those that the engine has: the root of the highest epoch is believed, a mount erases the
    /// root blocks on which no root is visible, and a clean stop is one page. It is none where a
    /// root block shows no confirmed root. So a format writes a root into each. What a log block
    /// needs is done ahead.
    Built,
}

/// An entry in RAM, with the row that it names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mem {
    pub(crate) entry: Entry,
    pub(crate) id: u32,
}

/// The open transaction. Heads and tails are those of its begin, of new rows and of the ring; an
/// engine reads the tails from the log again when it needs them.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) heads: [Head; 2],
    pub(crate) tails: [Tail; 2],
    pub(crate) begins: [Place; 2],
    pub(crate) mem: Vec<Mem>,
    pub(crate) runs: Vec<Rc<Run>>,
    pub(crate) marks: Option<[Place; 2]>,
    pub(crate) ring_last: u8,
}

/// A clean stop is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopPage;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Root {
    pub(crate) block: u8,
    pub(crate) page: u8,
    pub(crate) epoch: u32,
    pub(crate) list_id: u64,
    pub(crate) name_count: u64,
}

/// What was committed when it was made, and the blocks that hold it: they rest until it is let go.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Numbers of blocks of rows.
    pub(crate) blocks: Vec<u8>,
    /// Rows that were in the tail.
    pub(crate) tail: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) device: Device,
    pub(crate) config: Config,
    pub(crate) root_blocks: [u8; 4],
    pub(crate) moves: Moves,
    pub(crate) state: State,
    pub(crate) table: Table,
    /// The physical block of each space and number.
    blocks: [[u8; WINDOW_MAX]; 3],
    pub(crate) changes: Vec<(u8, Slot)>,
    pub(crate) tails: [Tail; 3],
    pub(crate) mem: Vec<Mem>,
    pub(crate) open: Option<Open>,
    /// Blocks that the last record on flash lets go.
    pub(crate) free: u64,
    /// Everything as of the last record.
    pub(crate) last: Checkpoint,
    pub(crate) seq: u32,
    pub(crate) root: Root,
    /// The greatest epoch that any root, whole or not, was given.
    pub(crate) top: u32,
    pub(crate) built: Built,
    pub(crate) list: List,
    pub(crate) list_at: u8,
    pub(crate) log_page: u8,
    /// The next record must begin a log block: the mount went on after a clean stop.
    pub(crate) is_clean: bool,
    pub(crate) nvram_slot: usize,
    pub(crate) nvram_used: u16,
    /// Rows of the hot tail in the last record, where its head has not moved since.
    pub(crate) tail_base: Option<usize>,
    /// Pages were programmed since the last record.
    pub(crate) is_moved: bool,
    /// The record to come is the first stop page.
    pub(crate) closing: Option<StopPage>,
    pub(crate) summarised: Vec<u8>,
    pub(crate) gone: Option<u8>,
    pub(crate) copy: Option<BlockCopy>,
    pub(crate) window: Window,
    pub(crate) snapshots: Vec<Snapshot>,
}

impl Engine {
    pub(crate) fn is(&self, broken: Broken) -> bool {
        self.config.broken == Some(broken)
    }

    /// The session before anything is known.
    pub(crate) fn blank(device: Device, config: Config, root_blocks: [u8; 4]) -> Self {
        let head = |number| Head { number, page: 0 };
        let mark = |number| Mark { from: Place { number, page: 0, unit: 0 }, blocks: vec![number] };
        let begin = State {
            commit: 1,
            write: 1,
            run_id: 0,
            heads: [head(0), head(1), head(RING_FIRST), head(0), head(0)],
            next: [2, 1, 1, 1],
            marks: [mark(0), mark(1), mark(RING_FIRST)],
            runs: Vec::new(),
            merge: None,
            victim: None,
            spans: Vec::new(),
            ring_last: RING_FIRST,
        };
        let slots = [Slot::Free; BLOCKS_MAX];
        let list = List::default();
        let checkpoint = Checkpoint {
            seq: 1,
            state: begin.clone(),
            tail: Tail::default(),
            ring_tail: Tail::default(),
            table: slots,
            list,
            has_state: true,
            cells: Cells::default(),
        };
        Self {
            device,
            config,
            root_blocks,
            moves: Moves::default(),
            state: begin,
            table: slots,
            blocks: [[NOWHERE; WINDOW_MAX]; 3],
            changes: Vec::new(),
            tails: Default::default(),
            mem: Vec::new(),
            open: None,
            free: 0,
            last: checkpoint,
            seq: 1,
            root: Root::default(),
            top: 0,
            built: Built::default(),
            list,
            list_at: 0,
            log_page: 0,
            is_clean: false,
            nvram_slot: 0,
            nvram_used: 0,
            tail_base: None,
            is_moved: false,
            closing: None,
            summarised: Vec::new(),
            gone: None,
            copy: None,
            window: Window::default(),
            snapshots: Vec::new(),
        }
    }

    /// Go on in the session that formatted.
    pub(crate) fn begin_new(&mut self) {
        self.last.list = self.list;
        self.begin_tail();
        self.release();
        if self.is(Broken::NewBeginsAtOnce) {
            self.log_page = 0;
        }
    }

    /// Take the table over, and find blocks by number from here on.
    pub(crate) fn adopt_table(&mut self, table: &Table) {
        self.table = *table;
        self.blocks = [[NOWHERE; WINDOW_MAX]; 3];
        for (block, slot) in table.iter().enumerate() {
            if let Slot::Block(space, number) = *slot {
                self.blocks[usize::from(space)][usize::from(number)] = block as u8;
            }
        }
    }

    pub(crate) fn set_slot(&mut self, block: u8, slot: Slot) {
        if let Slot::Block(space, number) = self.table[usize::from(block)] {
            self.blocks[usize::from(space)][usize::from(number)] = NOWHERE;
        }
        if let Slot::Block(space, number) = slot {
            self.blocks[usize::from(space)][usize::from(number)] = block;
        }
        set_slot(&mut self.table, block, slot);
    }

    /// The physical block of a number.
    pub(crate) fn block_of(&self, space: u8, number: u8) -> Option<u8> {
        let block = self.blocks[usize::from(space)][usize::from(number)];
        (block != NOWHERE).then_some(block)
    }

    /// How many numbers a space has.
    fn window(&self, space: u8) -> u8 {
        let is_small = self.config.block_count <= SMALL;
        if is_small { WINDOW[usize::from(space)] } else { WINDOW_OF_MORE[usize::from(space)] }
    }

    /// The next number of a space that no block in use has.
    pub(crate) fn give_number(&mut self, space: u8) -> Done<u8> {
        let number = self.next_number(space)?;
        let first = if space == RING_SPACE { RING_FIRST } else { 0 };
        self.state.next[usize::from(space)] = (number - first + 1) % self.window(space);
        Ok(number)
    }

    /// The number that [`Engine::give_number`] gives next.
    pub(crate) fn next_number(&self, space: u8) -> Done<u8> {
        let window = self.window(space);
        let mut number = self.state.next[usize::from(space)];
        let (first, of) = if space == RING_SPACE { (RING_FIRST, 0) } else { (0, space) };
        // The order of the ring's numbers is that of its age.
        let is_lowest = self.is(Broken::LowestNumber) || self.is(Broken::HitsUnchecked);
        if is_lowest && space != RING_SPACE {
            number = 0;
        }
        for _ in 0..window {
            let given = first + number;
            let is_block = self
                .block_of(of, given)
                .is_some_and(|block| self.free >> block & 1 == 0 || of == 0);
            let is_head = (0..5).any(|head| {
                super::state::space_of(head) == of && self.state.heads[head].number == given
            });
            if !is_block && !is_head {
                return Ok(given);
            }
            number = (number + 1) % window;
        }
        Err(Stop::Full)
    }

    pub(crate) fn free_count(&self) -> u32 {
        self.free.count_ones()
    }

    /// Draw a free block whose mark is good; it stays free until its slot is set.
    pub(crate) fn draw_free(&mut self) -> Option<u8> {
        loop {
            if self.free == 0 {
                return None;
            }
            let mut pick = self.device.below(u64::from(self.free_count()));
            let mut bits = self.free;
            while pick > 0 {
                bits &= bits - 1;
                pick -= 1;
            }
            let block = bits.trailing_zeros() as u8;
            if !self.device.is_marked(block) {
                return Some(block);
            }
            self.free &= !(1 << block);
        }
    }

    /// Take and erase a block for the number of `head`.
    pub(crate) fn take(&mut self, head: usize) -> Done<u8> {
        let list_len = u32::from(self.config.list_len);
        let reserve = list_len + [6, 1, 6, 2, 3][head];
        let space = super::state::space_of(head);
        let number = self.state.heads[head].number;
        loop {
            if self.free_count() <= reserve {
                return Err(Stop::Full);
            }
            let mut block = self.draw_free().ok_or(Stop::Full)?;
            if let Some(gone) = self.gone.filter(|_| self.is(Broken::LetGoBeforeRecord)) {
                block = self.block_of(0, gone).unwrap_or(block);
            }
            self.free &= !(1 << block);
            self.end_copy_of(block);
            match self.device.erase(block) {
                Ok(()) => {
                    let slot = Slot::Block(space, number);
                    self.set_slot(block, slot);
                    self.changes.push((block, slot));
                    self.is_moved = true;
                    return Ok(block);
                }
                Err(Stop::Bad) => self.device.mark(block)?,
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Open a snapshot. The blocks that hold its rows are no victims from now on, not even one that
    /// some rows were moved out of.
    pub(crate) fn hold(&mut self) {
        let taken = self.table.iter().filter_map(|slot| match slot {
            Slot::Block(0, number) => Some(*number),
            Slot::Block(..) | Slot::Free => None,
        });
        let heads = self.state.heads[..3].iter().map(|head| head.number);
        let blocks = taken.chain(heads).collect();
        let tail = WRITTEN.iter().flat_map(|stream| super::index::ids(&self.tails[*stream]));
        let tail = tail.collect();
        self.snapshots.push(Snapshot { blocks, tail });
        if !self.is(Broken::VictimOutlivesSnapshot) {
            self.state.victim = None;
            self.window = Window::default();
        }
        self.keep_ring();
    }

    /// A head that transactions write to goes on in another block, and with it a tail of which a
    /// snapshot shows some rows.
    pub(crate) fn note_tail_block(&mut self, stream: usize, number: u8) {
        let ids: Vec<u32> = super::index::ids(&self.tails[stream]).collect();
        for snapshot in &mut self.snapshots {
            if ids.iter().any(|id| snapshot.tail.contains(id)) {
                snapshot.blocks.push(number);
            }
        }
    }

    /// Whether a snapshot shows rows of a block.
    pub(crate) fn is_frozen(&self, number: u8) -> bool {
        self.snapshots.iter().any(|snapshot| snapshot.blocks.contains(&number))
    }

    pub(crate) fn begin(&mut self) {
        self.open = Some(Open {
            heads: WRITTEN.map(|stream| self.state.heads[stream]),
            tails: WRITTEN.map(|stream| self.tails[stream].clone()),
            begins: WRITTEN.map(|stream| self.tail_begin(stream)),
            mem: Vec::new(),
            runs: Vec::new(),
            marks: None,
            ring_last: self.state.ring_last,
        });
    }

    /// Append a version of `key`: its value, or a tombstone. False where there is nothing to
    /// delete. The flag of the version that it replaces is kept.
    pub(crate) fn write(&mut self, id: u32, key: u8, value: Option<u8>, len: u8) -> Done<bool> {
        let is_delete = value.is_none();
        let commit = self.state.commit + 1;
        let found = self.lookup(key, commit, true)?;
        if let Some((place, _)) = found.row {
            self.note_replaced(place);
        }
        let old = found.row.map(|(_, row)| row);
        let is_live = old.is_some_and(|row| !row.is_tombstone);
        if is_delete && !is_live {
            return Ok(false);
        }
        let mut is_shared = old.is_some_and(|row| row.is_shared) || (!is_live && found.has_met);
        if self.is(Broken::NoSharedFlag) {
            is_shared = false;
        }
        let value = value.or(old.map(|row| row.value)).unwrap_or(0);
        let is_tombstone = is_delete;
        let row = Row { id, commit, key, value, len, is_shared, is_tombstone };
        self.append(if key < RING_KEYS { HOT } else { RING }, row)?;
        Ok(true)
    }

    /// Commit: one record. `Full` leaves the transaction open.
    pub(crate) fn commit(&mut self, is_nvram: bool) -> Done {
        let has_runs = self.open.as_ref().is_some_and(|open| !open.runs.is_empty());
        if has_runs && !self.is(Broken::OpenRunsFirst) {
            self.flush_committed(true)?;
        }
        let Some(mut open) = self.open.take() else {
            return Err(Stop::Breach("a commit without a transaction"));
        };
        for run in open.runs.drain(..) {
            self.state.runs.insert(0, run);
        }
        for (stream, mark) in WRITTEN.into_iter().zip(open.marks.into_iter().flatten()) {
            self.set_mark(stream, mark);
        }
        self.mem.append(&mut open.mem);
        self.state.commit += 1;
        self.write_record(is_nvram)
    }

    /// Undo the open transaction. Where a head has moved, everything programmed since is void.
    /// Where a read fails, the transaction stays open, and nothing is done before it is undone.
    pub(crate) fn rollback(&mut self) -> Done {
        let Some(open) = self.open.take() else { return Ok(()) };
        let outcome = self.undo(&open);
        if outcome == Err(Stop::Unread) && !self.is(Broken::HalfUndone) {
            // Entries and runs are gone. The rest is done again by the next call.
            self.open = Some(Open { mem: Vec::new(), runs: Vec::new(), ..open });
        }
        outcome
    }

    fn undo(&mut self, open: &Open) -> Done {
        self.state.ring_last = open.ring_last;
        for ((stream, head), tail) in WRITTEN.into_iter().zip(open.heads).zip(&open.tails) {
            if stream == RING && self.is(Broken::RingNotRolledBack) {
                continue;
            }
            self.roll_back_stream(stream, head, tail.clone())?;
        }
        Ok(())
    }

    fn roll_back_stream(&mut self, stream: usize, begin: Head, tail: Tail) -> Done {
        let head = self.state.heads[stream];
        if head == begin {
            self.tails[stream] = tail;
            return Ok(());
        }
        // The committed rows of the tail are on flash: in the log, and on the first page that the
        // transaction programmed.
        self.tails[stream] = Tail::default();
        self.device.count_read()?;
        self.tails[stream] = tail;
        let logged = if stream == HOT { &self.last.tail } else { &self.last.ring_tail };
        self.is_log_tail(stream, logged)?;
        let end = if head.number == begin.number { head.page } else { PAGES };
        self.return_blocks(stream, begin);
        self.state.heads[stream] = begin;
        self.state.spans.retain(|span| span.number != begin.number || span.from < begin.page);
        if self.block_of(0, begin.number).is_some() {
            self.displace(stream, end);
        }
        self.rename(stream);
        Ok(())
    }

    /// The tail at the begin has the rows that the log says.
    fn is_log_tail(&self, stream: usize, logged: &Tail) -> Done {
        let ids = |tail: &Tail| {
            let carried = tail.carry.map(|carry| carry.row.id);
            carried.into_iter().chain(tail.rows.iter().map(|(_, row)| row.id)).collect::<Vec<u32>>()
        };
        if ids(&self.tails[stream]) == ids(logged) || self.is(Broken::RingTailLost) {
            Ok(())
        } else {
            Err(Stop::Breach("the log holds another tail"))
        }
    }

    /// Blocks that only the transaction wrote to are free again.
    fn return_blocks(&mut self, stream: usize, head: Head) {
        let mark = &mut self.state.marks[stream];
        let at = mark.blocks.iter().position(|number| *number == head.number);
        let numbers = at.map_or_else(Vec::new, |at| mark.blocks.split_off(at + 1));
        for number in numbers {
            self.drop_block(number);
        }
        self.summarised.retain(|number| *number != head.number);
        if head.page == 0 {
            self.drop_block(head.number);
        }
    }

    fn drop_block(&mut self, number: u8) {
        self.state.spans.retain(|span| span.number != number);
        self.summarised.retain(|other| *other != number);
        if let Some(block) = self.block_of(0, number) {
            self.set_slot(block, Slot::Free);
            self.changes.push((block, Slot::Free));
            self.free |= 1 << block;
        }
    }
}
