//! The values of the protocol: rows, positions, entries, runs, the state, records, checkpoints.

use std::rc::Rc;

/// Units on a page of rows.
pub(crate) const UNITS: u16 = 12;
/// Units in a cell.
pub(crate) const CELL: u8 = 3;
/// The most blocks of a device.
pub(crate) const BLOCKS_MAX: usize = 40;
/// The most blocks in a list of log blocks.
pub(crate) const LIST_MAX: usize = 3;

pub(crate) const HOT: usize = 0;
pub(crate) const COLD: usize = 1;
pub(crate) const RING: usize = 2;
pub(crate) const YOUNG: usize = 3;
pub(crate) const OLD: usize = 4;
/// The streams that transactions write to.
pub(crate) const WRITTEN: [usize; 2] = [HOT, RING];
/// Numbers of blocks of rows from here on are those of the ring.
pub(crate) const RING_FIRST: u8 = 32;
/// Keys from here on are those of the ring table.
pub(crate) const RING_KEYS: u8 = 128;

/// The space of a head: the streams of rows share one.
pub(crate) const fn space_of(head: usize) -> u8 {
    [0, 0, 0, 1, 2][head]
}

/// A version of a row; `id` stands for its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u32,
    pub(crate) commit: u32,
    pub(crate) key: u8,
    pub(crate) value: u8,
    pub(crate) len: u8,
    pub(crate) is_shared: bool,
    pub(crate) is_tombstone: bool,
}

/// A logical page and a cell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) number: u8,
    pub(crate) page: u8,
    pub(crate) cell: u8,
}

/// Where a row begins, to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) number: u8,
    pub(crate) page: u8,
    pub(crate) unit: u8,
}

impl Place {
    pub(crate) fn position(self) -> Position {
        Position { number: self.number, page: self.page, cell: self.unit / CELL }
    }
}

/// An entry: `index` 0 is the primary key's, 1 the secondary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) index: u8,
    pub(crate) code: u8,
    pub(crate) at: Position,
    pub(crate) is_shared: bool,
    pub(crate) is_tombstone: bool,
}

/// A row's end that was begun on the page before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) row: Row,
    pub(crate) begin: Place,
    pub(crate) units: u16,
}

/// A page of rows: `carry` is the row that goes on at its front, with its units there.
#[derive(Debug)]
pub(crate) struct RowsPage {
    pub(crate) number: u8,
    pub(crate) write: u32,
    pub(crate) carry: Option<(u32, u16)>,
    pub(crate) rows: Vec<(u8, Row)>,
}

/// The rows behind the last whole page of a head, with their units from the head's page on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    pub(crate) carry: Option<Carry>,
    pub(crate) rows: Vec<(u16, Row)>,
    pub(crate) used: u16,
}

/// The next page of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) number: u8,
    pub(crate) page: u8,
}

/// What begins before `from` is in runs; `blocks` are the numbers from there to the head's.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) from: Place,
    pub(crate) blocks: Vec<u8>,
}

/// A page of a run: where it lies, and its least and greatest `(index, code)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunPage {
    pub(crate) number: u8,
    pub(crate) page: u8,
    pub(crate) first: (u8, u8),
    pub(crate) last: (u8, u8),
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) id: u32,
    pub(crate) space: u8,
    pub(crate) pages: Vec<RunPage>,
}

/// A merge of several slices.
#[derive(Clone, Debug)]
pub(crate) struct Merge {
    pub(crate) inputs: Vec<Rc<Run>>,
    pub(crate) has_oldest: bool,
    /// A snapshot was open when it began.
    pub(crate) keeps_all: bool,
    /// The groups up to this one are in `output`.
    pub(crate) done: Option<(u8, u8)>,
    pub(crate) output: Vec<RunPage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) number: u8,
    pub(crate) from: u8,
    pub(crate) to: u8,
}

/// What each record holds whole.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) commit: u32,
    pub(crate) write: u32,
    pub(crate) run_id: u32,
    pub(crate) heads: [Head; 5],
    /// The numbers that come next: of new and moved rows, of runs, of the ring.
    pub(crate) next: [u8; 4],
    pub(crate) marks: [Mark; 3],
    /// The newest first.
    pub(crate) runs: Vec<Rc<Run>>,
    pub(crate) merge: Option<Rc<Merge>>,
    /// The block being compacted, and the next page of it.
    pub(crate) victim: Option<(u8, u8)>,
    pub(crate) spans: Vec<Span>,
    /// The block of the last page with rows of the ring.
    pub(crate) ring_last: u8,
}

/// A block's space and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Free,
    Block(u8, u8),
}

pub(crate) type Table = [Slot; BLOCKS_MAX];

#[derive(Clone, Debug)]
pub(crate) enum TailPart {
    Whole(Tail),
    /// What was added to the tail of the record before.
    Added(Vec<(u16, Row)>, u16),
}

#[derive(Clone, Debug)]
pub(crate) enum TablePart {
    Whole(Table),
    /// On pages before the record, and what changed since the first of them.
    Ahead(Vec<(u8, Slot)>),
    /// All changes since the log block began.
    Changes(Vec<(u8, Slot)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) state: State,
    pub(crate) tail: TailPart,
    pub(crate) ring_tail: Tail,
    pub(crate) table: TablePart,
    /// The first stop page.
    pub(crate) is_stop: bool,
}

/// The root blocks, and blocks that may hold roots besides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    pub(crate) active: [u8; 4],
    pub(crate) leaving: Vec<u8>,
}

/// Everything: a root holds it, and the session keeps that of the last record.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) seq: u32,
    pub(crate) state: State,
    pub(crate) tail: Tail,
    pub(crate) ring_tail: Tail,
    pub(crate) table: Table,
    pub(crate) list: List,
    /// A root without it rests on the log.
    pub(crate) has_state: bool,
    /// Of a root.
    pub(crate) cells: Cells,
}

/// The log blocks in use, in order; pages carry `id` plus the place in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) id: u64,
    pub(crate) len: u8,
    pub(crate) blocks: [u8; LIST_MAX],
}

#[derive(Debug)]
pub(crate) struct NvRecord {
    pub(crate) slot: usize,
    pub(crate) seq: u32,
    pub(crate) units: u16,
    /// The commit that it follows.
    pub(crate) after: u32,
    pub(crate) commit: u32,
    pub(crate) tail: TailPart,
    pub(crate) ring_tail: Tail,
    /// Where it changed: the state and the changes of the table.
    pub(crate) state: Option<(State, Vec<(u8, Slot)>)>,
}

/// Give `block` its slot; the number is taken from the block that had it.
pub(crate) fn set_slot(table: &mut Table, block: u8, slot: Slot) {
    if slot != Slot::Free {
        for other in table.iter_mut().filter(|other| **other == slot) {
            *other = Slot::Free;
        }
    }
    table[usize::from(block)] = slot;
}
