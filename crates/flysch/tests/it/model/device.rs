//! The device: pages that hold one value each, cuts, failures, and pages that change their mind.
//!
//! 1. A page is programmed once between two erases, in ascending order; gaps are allowed.
//! 2. A page in flight at a cut reads as blank, unreadable or whole, drawn anew at each read.
//! 3. A block whose erase was cut shows its old pages in the same way, until it is erased.
//! 4. A block that failed goes on failing; a marked block is neither erased nor programmed.
//! 5. A read may fail once, whatever it was to show.

use std::rc::Rc;

use flysch_chip::Prng;

use super::state::{Checkpoint, Entry, List, NvRecord, Record, RowsPage, Table};

/// Pages in a block.
pub(crate) const PAGES: u8 = 8;

/// Why an operation came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The power went.
    Cut,
    /// The program or the erase failed.
    Bad,
    /// A read failed, and will not fail again.
    Unread,
    /// No block is left for this.
    Full,
    /// A rule of the device or of the protocol was broken.
    Breach(&'static str),
}

pub(crate) type Done<T = ()> = Result<T, Stop>;

/// What a page holds.
#[derive(Debug)]
pub(crate) enum Page {
    Rows(RowsPage),
    Summary {
        number: u8,
        spans: Vec<(u8, u8)>,
    },
    Run {
        space: u8,
        number: u8,
        entries: Vec<Entry>,
    },
    Log {
        id: u64,
        seq: u32,
        part: u8,
        parts: u8,
        record: Rc<Record>,
    },
    Stop {
        id: u64,
        seq: u32,
    },
    Root {
        epoch: u32,
        part: u8,
        parts: u8,
        checkpoint: Rc<Checkpoint>,
    },
    Confirm {
        epoch: u32,
    },
    /// The root blocks, as of the root of an epoch.
    Anchor {
        epoch: u32,
        cells: [u8; 4],
    },
    /// The list that follows, and the one in use.
    Name {
        epoch: u32,
        list: List,
        used: List,
    },
    /// A part of the block table, ahead of a log block's first record.
    Table {
        id: u64,
        part: u8,
        table: Table,
    },
}

/// What a read shows.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Blank,
    Unreadable,
    Page(Rc<Page>),
}

#[derive(Clone, Debug)]
enum Cell {
    Blank,
    Good(Rc<Page>),
    Flippy(Rc<Page>),
}

#[derive(Debug)]
pub(crate) struct Device {
    cells: Vec<Cell>,
    /// The lowest page of each block that may be programmed.
    next: Vec<u8>,
    marked: u64,
    failing: u64,
    /// Slots of the `NvRam`; a torn one is empty.
    pub(crate) nvram: Vec<Option<Rc<NvRecord>>>,
    pub(crate) prng: Prng,
    pub(crate) op_count: u64,
    /// Operations until the power goes.
    pub(crate) cut_in: u64,
    is_off: bool,
    /// One in so many operations fails, as long as blocks may still go bad; 0 for never.
    pub(crate) fail_one_in: u64,
    pub(crate) fails_left: u32,
    /// Blocks that do not go bad.
    pub(crate) sturdy: u64,
    /// Reads until one fails; None for never.
    pub(crate) unread_in: Option<u64>,
}

impl Device {
    pub(crate) fn new(block_count: u8, seed: u64) -> Self {
        Self {
            cells: vec![Cell::Blank; usize::from(block_count) * usize::from(PAGES)],
            next: vec![PAGES; usize::from(block_count)],
            marked: 0,
            failing: 0,
            nvram: vec![None; 16],
            prng: Prng::new(seed),
            op_count: 0,
            cut_in: u64::MAX,
            is_off: false,
            fail_one_in: 0,
            fails_left: 0,
            sturdy: 0,
            unread_in: None,
        }
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.prng.below(bound)
    }

    pub(crate) fn is_marked(&self, block: u8) -> bool {
        self.marked >> block & 1 == 1
    }

    /// A block that left the factory marked.
    pub(crate) fn spoil(&mut self, block: u8) {
        self.marked |= 1 << block;
    }

    pub(crate) fn power_on(&mut self, cut_in: u64) {
        self.is_off = false;
        self.cut_in = cut_in;
    }

    fn at(block: u8, page: u8) -> usize {
        usize::from(block) * usize::from(PAGES) + usize::from(page)
    }

    pub(crate) fn read(&mut self, block: u8, page: u8) -> Seen {
        match &self.cells[Self::at(block, page)] {
            Cell::Blank => Seen::Blank,
            Cell::Good(page) => Seen::Page(Rc::clone(page)),
            Cell::Flippy(page) => match self.prng.below(3) {
                0 => Seen::Blank,
                1 => Seen::Unreadable,
                _ => Seen::Page(Rc::clone(page)),
            },
        }
    }

    /// Count a read: it may be the one that fails.
    pub(crate) fn count_read(&mut self) -> Done {
        let is_failed = self.unread_in == Some(0);
        self.unread_in = self.unread_in.and_then(|reads| reads.checked_sub(1));
        if is_failed { Err(Stop::Unread) } else { Ok(()) }
    }

    /// Read in a session, where a read may fail.
    pub(crate) fn try_read(&mut self, block: u8, page: u8) -> Done<Seen> {
        self.count_read()?;
        Ok(self.read(block, page))
    }

    /// Count an operation: true where the power goes in it.
    fn is_cut(&mut self) -> Done<bool> {
        if self.is_off {
            return Err(Stop::Cut);
        }
        self.op_count += 1;
        self.is_off = self.cut_in == 0;
        self.cut_in = self.cut_in.wrapping_sub(1);
        Ok(self.is_off)
    }

    fn fails(&mut self, block: u8) -> bool {
        let is_drawn = self.fail_one_in > 0
            && self.sturdy >> block & 1 == 0
            && self.fails_left > 0
            && self.prng.below(self.fail_one_in) == 0;
        if is_drawn {
            self.fails_left -= 1;
            self.failing |= 1 << block;
        }
        self.failing >> block & 1 == 1
    }

    pub(crate) fn program(&mut self, block: u8, page: u8, content: Page) -> Done {
        self.program_as_is(block, page, Rc::new(content))
    }

    pub(crate) fn program_as_is(&mut self, block: u8, page: u8, content: Rc<Page>) -> Done {
        let is_cut = self.is_cut()?;
        if self.is_marked(block) {
            return Err(Stop::Breach("a marked block is programmed"));
        }
        if page < self.next[usize::from(block)] {
            return Err(Stop::Breach("a page is programmed twice, or out of order"));
        }
        let at = Self::at(block, page);
        if is_cut {
            let kind = self.prng.below(4);
            if kind > 0 {
                self.next[usize::from(block)] = page + 1;
                self.cells[at] =
                    if kind == 3 { Cell::Good(content) } else { Cell::Flippy(content) };
            }
            return Err(Stop::Cut);
        }
        self.next[usize::from(block)] = page + 1;
        if self.fails(block) {
            self.cells[at] = Cell::Flippy(content);
            return Err(Stop::Bad);
        }
        self.cells[at] = Cell::Good(content);
        Ok(())
    }

    pub(crate) fn erase(&mut self, block: u8) -> Done {
        let is_cut = self.is_cut()?;
        if self.is_marked(block) {
            return Err(Stop::Breach("a marked block is erased"));
        }
        let kind = if is_cut { self.prng.below(3) } else { 2 };
        let is_failed = !is_cut && self.fails(block);
        if kind == 0 {
            return Err(Stop::Cut);
        }
        self.next[usize::from(block)] = if kind == 2 && !is_failed { 0 } else { PAGES };
        for page in 0..PAGES {
            let cell = &mut self.cells[Self::at(block, page)];
            let old = std::mem::replace(cell, Cell::Blank);
            if let (1, Cell::Good(page) | Cell::Flippy(page)) = (kind, old) {
                *cell = Cell::Flippy(page);
            }
        }
        match (is_cut, is_failed) {
            (true, _) => Err(Stop::Cut),
            (false, true) => Err(Stop::Bad),
            (false, false) => Ok(()),
        }
    }

    /// Erase a block if it is not marked; one that fails is marked, and so is told.
    pub(crate) fn erase_unless_marked(&mut self, block: u8) -> Done {
        if self.is_marked(block) {
            return Err(Stop::Bad);
        }
        match self.erase(block) {
            Err(Stop::Bad) => {
                self.mark(block)?;
                Err(Stop::Bad)
            }
            erased => erased,
        }
    }

    /// Write the bad-block mark, which is there or not.
    pub(crate) fn mark(&mut self, block: u8) -> Done {
        let is_cut = self.is_cut()?;
        if !is_cut || self.prng.below(2) == 0 {
            self.marked |= 1 << block;
        }
        if is_cut { Err(Stop::Cut) } else { Ok(()) }
    }

    pub(crate) fn write_nvram(&mut self, slot: usize, record: NvRecord) -> Done {
        let is_cut = self.is_cut()?;
        let kind = if is_cut { self.prng.below(3) } else { 2 };
        if kind > 0 {
            self.nvram[slot] = (kind == 2).then(|| Rc::new(record));
        }
        if is_cut { Err(Stop::Cut) } else { Ok(()) }
    }
}
