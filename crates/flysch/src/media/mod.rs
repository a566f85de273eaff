//! Flash: the only module that calls the chip. It knows the pages of spaces, the blocks and the
//! void spans.
//!
//! 1. A page is programmed whole, once, at the head of its space; nothing lies in its OOB bytes.
//! 2. A block is erased when it is taken, never when it is let go: what an interrupted erase left
//!    behind is not trusted. Its bad-block mark is read before, so that no bad block is erased.
//! 3. Blocks are taken in turn, so that they wear evenly.
//! 4. The caller lends a frame for a page with each call. This module has none.

mod address;
mod blocks;
mod changes;
mod copies;
mod counts;
mod error;
mod header;
mod layout;
mod span;
mod table;
mod verify;

pub use address::{Numbers, Page, Space};
pub(crate) use blocks::Wear;
pub(crate) use changes::{CHANGE_SIZE, CHANGES_MAX, Changes};
pub(crate) use copies::Copied;
pub use counts::{Cause, Counts};
pub use error::MediaError;
pub(crate) use header::OF_SORT;
pub use header::{Header, HeaderError, Kind, VERSION};
pub use layout::{CELL_DATA, CELL_SIZE, HEADER_SIZE, Layout};
pub(crate) use layout::{clear, first, note_first};
pub(crate) use span::{SPAN_SIZE, SPANS_LAST, SPANS_MANY, SPANS_REFUSED};
pub use span::{SPANS_MAX, Span, Spans};
pub(crate) use table::{DEAD_MAX, RING_BLOCKS_MAX, Table};
pub use table::{ENTRY_SIZE, Use};
pub use verify::Verify;

use flysch_nand::{BlockAddr, Ecc, Geometry, Nand, PageAddr, ReadError};

use layout::Seed;

/// The blocks of a chip that belong to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Number of the first block.
    pub first: u32,
    /// How many blocks there are.
    pub count: u32,
}

impl Partition {
    /// The fewest blocks that a database takes.
    pub const COUNT_MIN: u32 = 24;
}

/// Greatest number of programs that may fail one after another.
pub(crate) const FAILURES_MAX: u32 = 4;
/// How often a page is read before it is believed to have no valid seal.
const LOOKS_MAX: u32 = 2;

/// What goes into a page's header besides its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// What the page holds.
    pub(crate) kind: Kind,
    /// The place in a record, or a bit for each table.
    pub(crate) owner: u8,
    /// Bytes of payload that are used.
    pub(crate) used: u16,
    /// The number of the next commit.
    pub(crate) commit: u32,
    /// Rows that begin on the page.
    pub(crate) rows: u16,
}

/// The logical name of a block, which the seals of its pages contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// What the block is used for.
    pub(crate) used: Use,
    /// For a block without a number, which use of it this is: the ordinal of a log block.
    pub(crate) life: u32,
}

impl Name {
    const fn of_data(space: Space, block: u32) -> Self {
        Self { used: Use::Data(space, block), life: 0 }
    }
}

/// What was seen when a page was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Erased cells, or what looks like them.
    Blank,
    /// Something without the seal of this place.
    Unreadable,
    /// A page with valid seals.
    Page(Header),
}

/// A chip, or a partition of it, with its block table.
#[derive(Debug)]
pub struct Media<'ram, N> {
    nand: N,
    geometry: Geometry,
    partition: Partition,
    numbers: Numbers,
    layout: Layout,
    /// A number of this device, which all seals contain.
    pub(crate) salt: u32,
    pub(crate) table: Table<'ram>,
    pub(crate) changes: Changes,
    pub(crate) spans: Spans,
    /// The number of the next page in each space.
    pub(crate) heads: [u32; Space::ALL.len()],
    /// Number of rings. Their spaces are the last ones.
    rings: usize,
    /// The write number: pages programmed in the device's life.
    pub(crate) write: u64,
    /// Blocks erased in the device's life.
    pub(crate) erases: u32,
    /// Operations since the mount.
    pub(crate) counts: Counts,
    /// Which pages are read back when they are programmed.
    pub(crate) verify: Verify,
    /// The block at which the search for a free one goes on.
    pub(crate) next: u32,
    /// A block that was erased before it is needed. The table still has it as free.
    ready: Option<u32>,
    /// A bit for each kind of blocks of which this session has chosen one.
    drawn: u8,
    /// A block that the next record lets go. The table has it as free, but nobody takes it yet.
    given_up: Option<u32>,
    /// A block in which a read had many bits corrected; None where there is none.
    worn: Option<u32>,
    /// Number of corrected bits from which on a block is copied.
    pub(crate) scrub_from: u16,
    /// The copy of a block that is under way.
    copy: Option<copies::BlockCopy>,
}

impl<'ram, N: Nand> Media<'ram, N> {
    /// Take a chip, all of whose blocks are free. `ram` holds the block table, `rings` is the
    /// number of ring tables.
    #[inline(never)]
    pub(crate) fn new(nand: N, partition: Partition, ram: &'ram mut [u8], rings: usize) -> Self {
        let geometry = nand.geometry();
        assert!(rings <= Space::RINGS.len(), "each ring has a space");
        assert_eq!(ram.len(), partition.count as usize * ENTRY_SIZE, "the table has its bytes");
        Self {
            nand,
            geometry,
            partition,
            numbers: Numbers::new(partition.count, geometry.pages_per_block),
            layout: Layout::new(geometry.page_size).with_rings(rings),
            salt: 0,
            table: Table::new(ram, rings > 0),
            changes: Changes::new(),
            spans: Spans::new(),
            heads: [0; Space::ALL.len()],
            rings,
            write: 0,
            erases: 0,
            counts: Counts::default(),
            verify: Verify::Never,
            next: 0,
            ready: None,
            drawn: u8::MAX,
            given_up: None,
            worn: None,
            scrub_from: 1,
            copy: None,
        }
    }

    /// Number of spaces in use.
    pub(crate) const fn space_count(&self) -> usize {
        Space::ALL.len() - Space::RINGS.len() + self.rings
    }

    /// The geometry of the chip below.
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The blocks of the chip that belong to the database.
    pub const fn partition(&self) -> Partition {
        self.partition
    }

    /// How numbers of blocks and pages wrap.
    pub const fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// The shape of a page.
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// A block in which a read had bits corrected, or more wrong bits than ECC could correct.
    pub const fn worn(&self) -> Option<u32> {
        self.worn
    }

    /// Note that a block was copied, or needs no copy.
    pub(crate) fn note_scrubbed(&mut self, block: u32) {
        if self.worn == Some(block) {
            self.worn = None;
        }
    }

    /// The chip, for inspection.
    pub const fn nand(&self) -> &N {
        &self.nand
    }

    /// The chip, so that a test can arrange its next fault.
    pub const fn nand_mut(&mut self) -> &mut N {
        &mut self.nand
    }

    /// Give the chip back.
    pub fn into_nand(self) -> N {
        self.nand
    }

    /// The page that the next program in `space` goes to, unless a program fails.
    pub(crate) const fn head(&self, space: Space) -> u32 {
        self.heads[space as usize]
    }

    /// Read cells `first_cell..` of a page into `frame`, which holds a whole number of them, and
    /// check their seals. Cost: one array read.
    pub(crate) fn read(
        &mut self,
        page: Page,
        first_cell: usize,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        let block = self.numbers.block_of(page.number);
        let at = self.numbers.page_in_block(page.number);
        debug_assert!(frame.len().is_multiple_of(CELL_SIZE), "whole cells are read");
        debug_assert!(
            first_cell * CELL_SIZE + frame.len() <= self.layout.page_size(),
            "they are on the page"
        );
        let physical = self.table.find(page.space, block).ok_or(MediaError::Missing(page))?;
        let addr = self.page_addr(physical, at);
        self.counts.reads += 1;
        let ecc = self.nand.read(addr, (first_cell * CELL_SIZE) as u32, frame);
        self.note_ecc(physical, ecc)?;
        let seed = self.seed(Name::of_data(page.space, block), at);
        if layout::is_sealed(frame, seed, first_cell as u32) {
            Ok(())
        } else {
            Err(MediaError::Corrupt(addr))
        }
    }

    /// Read the first cells of a page, as many as `frame` holds, and say what is seen. A page
    /// without a valid seal is read twice: it may have been read badly, and would be taken for one
    /// that a cut tore. Cost: one read, two where the page has no valid seal.
    pub(crate) fn look(
        &mut self,
        block: u32,
        page: u32,
        name: Name,
        frame: &mut [u8],
    ) -> Result<Sight, MediaError> {
        debug_assert!(block < self.partition.count, "the block is ours");
        debug_assert!(page < self.geometry.pages_per_block, "the page is in the block");
        let code = name.used.code();
        let addr = self.page_addr(block, page);
        let mut looks = 0;
        loop {
            self.counts.reads += 1;
            match self.nand.read(addr, 0, frame) {
                Err(ReadError::PowerLost) => return Err(MediaError::PowerLost),
                Err(ReadError::Uncorrectable(_)) | Ok(_) => looks += 1,
            }
            if layout::is_blank(frame) {
                return Ok(Sight::Blank);
            }
            if layout::is_sealed(frame, self.seed(name, page), 0) {
                break;
            }
            if looks == LOOKS_MAX {
                return Ok(Sight::Unreadable);
            }
        }
        match Header::parse(frame) {
            Ok(header) if header.block == code && u32::from(header.page) == page => {
                Ok(Sight::Page(header))
            }
            Err(HeaderError::Version(version)) => Err(MediaError::Version(version)),
            Ok(_) | Err(HeaderError::Kind(_)) => Ok(Sight::Unreadable),
        }
    }

    /// Look at a page of a space that may never have been programmed. Cost: one read.
    pub(crate) fn look_at(&mut self, page: Page, frame: &mut [u8]) -> Result<Sight, MediaError> {
        let block = self.numbers.block_of(page.number);
        let physical = self.table.find(page.space, block).ok_or(MediaError::Missing(page))?;
        let at = self.numbers.page_in_block(page.number);
        self.look(physical, at, Name::of_data(page.space, block), frame)
    }

    /// Seal a frame and program it at the head of `space`. Cost: one program, and one erase where a
    /// block begins and none was erased ahead.
    ///
    /// # Errors
    /// Where the program fails, the block is marked bad, and the head goes on to the next block.
    /// The caller calls again, as other content may belong there.
    pub(crate) fn append(
        &mut self,
        space: Space,
        label: Label,
        frame: &mut [u8],
    ) -> Result<Page, MediaError> {
        let number = self.next_page(space);
        let block = self.numbers.block_of(number);
        let physical = self.open(space, number)?;
        let at = self.numbers.page_in_block(number);
        match self.program(physical, at, Name::of_data(space, block), label, frame) {
            Ok(()) => {
                debug_assert!(
                    self.table.at(physical) == Use::Data(space, block),
                    "the block has its name"
                );
                self.heads[space as usize] = self.numbers.advance(number, 1);
                Ok(Page { space, number })
            }
            Err(MediaError::ProgramFailed(addr)) => {
                self.nand.mark_bad(self.block_addr(physical))?;
                self.skip(space, number, self.numbers.next_block(number))?;
                Err(MediaError::ProgramFailed(addr))
            }
            Err(error) => Err(error),
        }
    }

    /// Seal a frame and program it at the head of `space`, further on where programs fail: the
    /// content does not depend on its place. Cost: one program as a rule, see [`Media::append`].
    pub(crate) fn append_somewhere(
        &mut self,
        space: Space,
        label: Label,
        frame: &mut [u8],
    ) -> Result<Page, MediaError> {
        let mut failures = 1;
        loop {
            match self.append(space, label, frame) {
                Err(MediaError::ProgramFailed(_)) if failures < FAILURES_MAX => failures += 1,
                done => return done,
            }
        }
    }

    /// The number of the page at the head. In spaces of runs, the numbers of blocks that still
    /// exist are passed over, for runs stay for any time. In spaces of rows the head never meets
    /// such a number.
    fn next_page(&mut self, space: Space) -> u32 {
        let mut number = self.heads[space as usize];
        for _ in 0..self.numbers.block_count() {
            let block = self.numbers.block_of(number);
            let is_new = self.numbers.page_in_block(number) == 0 && !space.holds_rows();
            if !is_new || self.table.find(space, block).is_none() {
                break;
            }
            number = self.numbers.next_block(number);
        }
        self.heads[space as usize] = number;
        number
    }

    /// Move the head of `space` to `end` and make the pages from `from` on void. Runs name their
    /// pages, so spaces of runs need no void span.
    pub(crate) fn skip(&mut self, space: Space, from: u32, end: u32) -> Result<(), MediaError> {
        debug_assert!(from != end, "a page is left out");
        debug_assert!(
            from < self.numbers.page_count() && end < self.numbers.page_count(),
            "both are pages"
        );
        if space.holds_rows() {
            let span = Span { space, from, end };
            self.spans.add(span, self.numbers).map_err(|()| MediaError::Full)?;
        }
        self.heads[space as usize] = end;
        Ok(())
    }

    /// Seal a frame and program it at a physical page. Cost: one program, and the reads of
    /// [`Verify`].
    pub(crate) fn program(
        &mut self,
        block: u32,
        page: u32,
        name: Name,
        label: Label,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        let Label { kind, owner, used, commit, rows } = label;
        debug_assert!(block < self.partition.count, "no block of others is programmed");
        debug_assert!(page < self.geometry.pages_per_block, "the page is in the block");
        debug_assert_eq!(frame.len(), self.layout.page_size(), "a frame is a page");
        debug_assert!(usize::from(used) <= self.layout.payload_size(), "what is used is there");
        let write = self.write;
        let code = name.used.code();
        let header =
            Header { kind, owner, used, block: code, page: page as u16, write, commit, rows };
        header.emit(frame);
        layout::seal(frame, self.seed(name, page));
        let space = match name.used {
            Use::Data(space, _) => Some(space),
            Use::Free | Use::Bad | Use::Root | Use::Log => None,
        };
        self.program_sealed(block, page, Cause::of(kind, owner, space), frame)
    }

    /// Program a page whose cells are sealed. Cost: one program, and the reads of [`Verify`].
    pub(super) fn program_sealed(
        &mut self,
        block: u32,
        page: u32,
        cause: Cause,
        frame: &[u8],
    ) -> Result<(), MediaError> {
        debug_assert!(frame.len() == self.layout.page_size(), "a page is programmed whole");
        debug_assert!(self.write < 1 << 48, "programs are never too many to be counted");
        self.write += 1;
        self.counts.programs[cause as usize] += 1;
        let addr = self.page_addr(block, page);
        self.nand.program(addr, 0, frame, &[])?;
        if self.verify.reads_back(cause) { self.check_program(addr, frame) } else { Ok(()) }
    }

    /// The salt is read from a root, so the seals of roots are made without it.
    fn seed(&self, name: Name, page: u32) -> Seed {
        let salt = if name.used == Use::Root { 0 } else { self.salt };
        Seed { salt, code: name.used.code(), life: name.life, page: page as u16 }
    }

    const fn block_addr(&self, block: u32) -> BlockAddr {
        BlockAddr(self.partition.first + block)
    }

    const fn page_addr(&self, block: u32, page: u32) -> PageAddr {
        PageAddr((self.partition.first + block) * self.geometry.pages_per_block + page)
    }

    /// Remember a block whose bit errors come near to what ECC corrects. Where ECC failed, the
    /// seals decide whether the page is valid.
    fn note_ecc(&mut self, block: u32, ecc: Result<Ecc, ReadError>) -> Result<(), MediaError> {
        match ecc {
            Ok(Ecc::Clean) => Ok(()),
            Ok(Ecc::Corrected(bits)) if bits < self.scrub_from => Ok(()),
            Ok(Ecc::Corrected(_)) | Err(ReadError::Uncorrectable(_)) => {
                self.worn = self.worn.or(Some(block));
                Ok(())
            }
            Err(ReadError::PowerLost) => Err(MediaError::PowerLost),
        }
    }
}
