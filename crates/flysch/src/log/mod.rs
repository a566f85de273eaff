//! The log: roots, log blocks, and the records that are the commits.
//!
//! ```text
//! root ─names▸ list of blocks: | table | checkpoint | record | … |  | table | checkpoint | …
//! ```
//!
//! 1. A commit is done when the last page of its record is programmed.
//! 2. A log block begins with a checkpoint, which is at the same time the commit that was due. Only
//!    the first block behind the root of a mount begins with a record: that root holds the state.
//! 3. A root names a list before the list's first block is used. The blocks of the list before are
//!    let go once the new list has a checkpoint.
//! 4. Work that must be done before a log block ends is spread over the commits before, one
//!    operation at each: an erase, a name page, a new root, the pages of the block table.

mod anchor;
mod body;
mod check;
mod error;
mod format;
mod front;
mod list;
mod lost;
mod mount;
mod moves;
mod nvram;
mod renew;
mod root;
mod settle;
mod sight;
mod stream;
mod table;

pub(crate) use body::{Body, CHECKPOINT, HAS_NVRAM, NUMBER_MAX, STOPPED};
pub use error::MountError;
pub(crate) use format::format;
pub(crate) use list::list_len;
pub(crate) use mount::{Buffers, Doubt, Made, find};
pub(crate) use nvram::NvLog;
pub(crate) use root::{STATE_MAX, pages_needed};

use flysch_nand::Nand;

use self::front::{Cells, Front, List};
use self::list::{choose_list, release};
use self::moves::Moves;
use self::root::Seen;
use self::stream::{Place, Sink};
use self::table::blocks_ahead;
use crate::media::{Kind, Media, MediaError, Name, Use, Wear};
use crate::row::Schema;

/// Greatest number of records in a chain, in which each has only what was added to the tail since
/// the one before.
pub(crate) const CHAIN_MAX: usize = 12;
/// The next log block is made ready when so many records still fit the present one, and one more
/// for each page of the block table.
const AHEAD: u32 = 10;
/// Greatest number of programs of a call that commits one row.
pub(crate) const PROGRAMS_MAX: u64 = 3;
/// A log block may end early, at a cheap commit, within the last of so many equal parts of its
/// pages.
const TURN_SHARE: u32 = 16;
/// Changes of the block table for which a record must have room when it is begun.
pub(crate) const CHANGES_AHEAD: usize = 8;

/// The state of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log<'s> {
    cells: Cells,
    moves: Moves,
    /// The root that is in force.
    root: Seen,
    /// The greatest epoch of any root that was begun.
    epoch: u32,
    /// The page of the root on which the next name goes.
    root_page: u32,
    /// Whether records of the present log block need the state in the root.
    root_has_base: bool,
    /// The root's block, if a name page failed in it: it goes on until the next root is in force.
    failed_root: Option<u32>,
    /// The root block that becomes the next root: erased, and written once `pages` is not 0.
    root_next: Option<Seen>,
    list: List,
    /// The list in which the last record lies. It differs from the present list where the first
    /// block of a new list failed.
    live: List,
    /// The present log block, by its place in the list.
    at: u8,
    /// The page of the present log block on which the next record goes.
    page: u32,
    /// Pages of the block table in a log block ahead of its first record.
    ahead: u8,
    /// Number of pages of the last record that did not begin a log block.
    record_pages: u8,
    /// The number of the next record.
    number: u32,
    /// Number of records since the last one with the whole tail.
    chain: u8,
    /// Bytes of the tail that the records of the chain hold.
    logged: u16,
    /// Whether the next record must have the whole tail.
    is_fresh: bool,
    next: Next,
    /// Other fields of a root's front.
    salt: u32,
    identity: u32,
    /// What each root describes.
    schema: &'s Schema<'s>,
}

/// What comes after the present log block.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// The list after the present one; None until it is chosen.
    list: Option<List>,
    /// One more than the ordinal of the last block in any list that was chosen.
    ordinal: u32,
    /// How many blocks after the present one could not be erased, and are left out.
    passed: u8,
    /// Whether the next block is erased.
    is_erased: bool,
    /// Whether the root names the list.
    is_named: bool,
    /// Pages of the block table that were written to the next block.
    written: u8,
}

impl Next {
    const NONE: Self =
        Self { list: None, ordinal: 0, passed: 0, is_erased: false, is_named: false, written: 0 };
}

/// Number of pages that a record takes.
fn pages_of<N: Nand>(media: &mut Media<'_, N>, body: &Body<'_>) -> u32 {
    body.size(media).div_ceil(media.layout().payload_size()) as u32
}

/// The name of a log block.
const fn name_of(ordinal: u32) -> Name {
    Name { used: Use::Log, life: ordinal }
}

impl Log<'_> {
    /// A log before it is found or made.
    pub(crate) const NONE: Self = Self {
        cells: Cells::NONE,
        moves: Moves::NONE,
        root: Seen { block: 0, epoch: 0, pages: 0, is_confirmed: false },
        epoch: 0,
        root_page: 0,
        root_has_base: false,
        failed_root: None,
        root_next: None,
        list: List::NONE,
        live: List::NONE,
        at: 0,
        page: 0,
        ahead: 0,
        record_pages: 0,
        number: 0,
        chain: 0,
        logged: 0,
        is_fresh: true,
        next: Next::NONE,
        salt: 0,
        identity: 0,
        schema: &Schema { tables: &[] },
    };

    /// Have the log lie in the block at a place of a list.
    fn go_to(&mut self, list: &List, at: u8) {
        self.list = *list;
        self.live = *list;
        self.at = at;
    }

    /// The part of the tail that the next record need not repeat, as earlier records hold it: its
    /// length.
    pub(crate) const fn logged(&self) -> usize {
        if self.is_fresh { 0 } else { self.logged as usize }
    }

    /// Note that records hold the tail up to here.
    pub(crate) const fn note_logged(&mut self, len: usize) {
        self.logged = len as u16;
        self.is_fresh = false;
    }

    /// Note that the tail changed otherwise than by growing, so that the next record must hold all
    /// of it.
    pub(crate) const fn forget_tail(&mut self) {
        self.logged = 0;
        self.is_fresh = true;
    }

    /// Write a record. It is on flash when this returns. The call has programmed `spent` pages
    /// before it: a checkpoint of several pages comes where they are few, before the log block
    /// ends. Cost: one program as a rule, one for each page of the checkpoint where a log block
    /// begins; what [`Log::prepare`] does too where it was not called often enough.
    pub(crate) fn commit<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        spent: u64,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        self.check(media);
        debug_assert!(body.flags & CHECKPOINT == 0, "the log knows what begins a log block");
        if self.is_turn_due(media) {
            let whole = self.whole(media, body);
            let pages = u64::from(pages_of(media, &whole));
            if pages > 1 && spent + pages <= PROGRAMS_MAX {
                self.page = media.geometry().pages_per_block;
            }
        }
        let body = self.chosen(media, body);
        let pages = pages_of(media, &body);
        let fits = self.page + pages <= media.geometry().pages_per_block;
        let mut done = if fits && media.changes.room() >= CHANGES_AHEAD {
            self.record_pages = pages as u8;
            self.write(media, &body, frame)
        } else {
            self.checkpoint(media, &body, frame)
        };
        while let Err(MediaError::ProgramFailed(_)) = done {
            let block = u32::from(self.list.blocks[usize::from(self.at)]);
            // Where no other block is found now, the next call does not go on in this one.
            self.page = media.geometry().pages_per_block;
            media.mark_bad(block)?;
            done = self.checkpoint(media, &body, frame);
        }
        done?;
        self.number += 1;
        self.logged = body.tail.len() as u16;
        self.check(media);
        Ok(())
    }

    /// After a clean stop, go on in the next block of the list, with a checkpoint. False where the
    /// root would have to name a list first: a name page that nobody sees after a cut would be
    /// programmed twice. Cost: an erase for each block that is tried, and the checkpoint's pages.
    fn wake<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        while !self.is_ready() {
            if !self.has_next() && !self.next.is_named {
                return Ok(false);
            }
            if self.next.is_erased {
                self.put_table(media, frame)?;
            } else {
                self.erase_next(media)?;
            }
        }
        match self.checkpoint(media, body, frame) {
            Err(MediaError::ProgramFailed(_)) => {
                media.mark_bad(u32::from(self.list.blocks[usize::from(self.at)]))?;
                return Ok(false);
            }
            written => written?,
        }
        self.number += 1;
        self.note_logged(body.tail.len());
        self.check(media);
        Ok(true)
    }

    /// Write the record of a close. The list goes on behind it, or the next one is named before it,
    /// so that the first program after the next mount needs no name page. Where a name page failed
    /// and no root may take the place of its root yet, nothing is said of a stop: the next mount
    /// may see that page, and the one after it may not. Cost: as a commit, and an erase and a name
    /// page where the list ends.
    pub(crate) fn close<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        // A record that begins the last block of its list says nothing of a stop: it is followed by
        // another.
        for _ in 0..2 {
            while !self.has_next() && !self.is_ready() && !self.is_cornered(media) {
                self.step(media, frame)?;
            }
            let stopped = if self.is_cornered(media) { 0 } else { STOPPED };
            let body = Body { flags: body.flags | stopped, ..*body };
            self.commit(media, &body, 0, frame)?;
            if self.has_next() || self.next.is_named || self.is_cornered(media) {
                break;
            }
        }
        Ok(())
    }

    /// Do one operation that is needed before the log block ends; returns whether there was any.
    /// Without `may_erase` an erase is left for later. Cost: at most one erase, or one program.
    pub(crate) fn prepare<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        may_erase: bool,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        let left = media.geometry().pages_per_block - self.page;
        let wanted = (AHEAD + u32::from(self.ahead)) * u32::from(self.record_pages);
        let is_early = left > wanted && media.changes.room() >= CHANGES_AHEAD * 2;
        if is_early || self.is_ready() || self.is_cornered(media) {
            return Ok(false);
        }
        if !may_erase && self.is_erase_next(media) {
            return Ok(false);
        }
        self.step(media, frame)?;
        self.check(media);
        Ok(true)
    }

    /// Whether the next operation of [`Log::prepare`] is an erase.
    fn is_erase_next<N: Nand>(&self, media: &Media<'_, N>) -> bool {
        let has_page = self.root_page < media.geometry().pages_per_block;
        !self.next.is_erased || !self.has_place() && !has_page && self.root_next.is_none()
    }

    /// Have the next record begin the next log block.
    pub(crate) const fn end_block(&mut self, pages_per_block: u32) {
        self.page = pages_per_block;
    }

    /// Whether the log block is nearly full and the next one is ready, so that a call which
    /// programs little else should go on there.
    fn is_turn_due<N: Nand>(&self, media: &Media<'_, N>) -> bool {
        let pages = media.geometry().pages_per_block;
        self.is_ready() && self.page + pages.div_ceil(TURN_SHARE) >= pages
    }

    /// Give a record the whole tail, where that fits one page or where it must be there.
    fn chosen<'b, N: Nand>(&self, media: &mut Media<'_, N>, body: &Body<'b>) -> Body<'b> {
        let whole = Body { base: 0, ..*body };
        let delta = Body { base: self.logged().min(whole.tail.len()), ..whole };
        let fits = whole.size(media) <= media.layout().payload_size();
        let is_whole = fits || self.is_fresh || usize::from(self.chain) + 1 >= CHAIN_MAX;
        if is_whole { whole } else { delta }
    }

    fn write<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        debug_assert!(media.changes.are_kept(), "a record has all changes, or the whole table");
        let place = Place {
            block: u32::from(self.list.blocks[usize::from(self.at)]),
            page: self.page,
            name: name_of(self.list.ordinal + u32::from(self.at)),
            kind: Kind::Record,
            number: self.number,
        };
        let mut sink = Sink::to(place, frame);
        body.emit(&mut sink, media)?;
        self.page += sink.finish(media)?;
        let pages = self.page - place.page;
        debug_assert!(pages == pages_of(media, body), "a record has the pages that were counted");
        // A record that was only chosen, and then found no place, leaves the chain as it is.
        self.chain = if body.base == 0 { 0 } else { self.chain + 1 };
        self.is_fresh = false;
        Ok(())
    }

    /// Begin the next log block with a checkpoint.
    fn checkpoint<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        while !self.is_ready() {
            if self.is_cornered(media) {
                return self.rebase(media, body, frame);
            }
            self.step(media, frame)?;
        }
        self.turn(media);
        self.chain = 0;
        let changes = media.changes.clone();
        // What lies ahead has the table: changes begin anew with its first page.
        if self.ahead == 0 {
            media.changes.mark();
        }
        media.changes.forget_marked();
        let whole = self.whole(media, body);
        if self.page + pages_of(media, &whole) >= media.geometry().pages_per_block {
            media.changes = changes;
            self.page = media.geometry().pages_per_block;
            return Err(MediaError::Full);
        }
        let written = self.write(media, &whole, frame);
        if written.is_err() {
            media.changes = changes;
            return written;
        }
        self.root_has_base = false;
        self.leave(media);
        written
    }

    /// The body of the checkpoint that begins a log block: it has the whole tail.
    fn whole<'b, N: Nand>(&self, media: &Media<'_, N>, body: &Body<'b>) -> Body<'b> {
        let flags = self.stopping(body.flags) | CHECKPOINT;
        Body { base: 0, flags, ahead: blocks_ahead(media, self.ahead), ..*body }
    }

    /// The flags of a record that begins a log block. In the last block of a list it does not tell
    /// of a clean stop. The session that follows would have to program a name page; if it was cut,
    /// the next would program that page a second time.
    const fn stopping(&self, flags: u8) -> u8 {
        if self.has_next() { flags } else { flags & !STOPPED }
    }

    /// Free the list before the present one, as the last record lies in the present one now.
    fn leave<N: Nand>(&mut self, media: &mut Media<'_, N>) {
        if self.live.ordinal != self.list.ordinal {
            release(media, &self.live);
            self.live = self.list;
        }
    }

    /// Whether the root has no page left for a name, while no other root may replace it, because
    /// records of this log block need its state.
    fn is_cornered<N: Nand>(&self, media: &Media<'_, N>) -> bool {
        let has_page = self.root_page < media.geometry().pages_per_block;
        let needs_name = self.next.list.is_some() && !self.next.is_named;
        self.root_has_base && self.next.is_erased && needs_name && !has_page
    }

    /// Write the commit as a new root with the whole state, and go on in a new list.
    fn rebase<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        debug_assert!(self.root_has_base, "else the root would be replaced by one without a state");
        let next = self.next.list.take().ok_or(MediaError::Full)?;
        self.list = next;
        let passed = core::mem::take(&mut self.next.passed);
        (self.at, self.page, self.chain) = (passed, u32::from(self.ahead), 0);
        (self.next.is_erased, self.next.is_named, self.next.written) = (false, false, 0);
        let body = &Body { flags: self.stopping(body.flags), ..*body };
        media.changes.clear();
        for block in self.root_blocks() {
            if settle::write_root(self, media, body, u32::from(block), frame)? {
                // The next record is the first of its block, so its tail cannot rest on another's.
                self.is_fresh = true;
                self.leave(media);
                return Ok(());
            }
            self.moves.has_failed = true;
        }
        Err(MediaError::Full)
    }

    /// Go on to the next log block.
    fn turn<N: Nand>(&mut self, media: &mut Media<'_, N>) {
        assert!(self.is_ready(), "the next log block is erased and named");
        (self.next.is_erased, self.next.written) = (false, 0);
        self.page = u32::from(self.ahead);
        let passed = core::mem::take(&mut self.next.passed);
        let Some(next) = self.next.list.take() else {
            self.at += 1 + passed;
            return;
        };
        if self.live.ordinal != self.list.ordinal {
            release(media, &self.list);
        }
        (self.list, self.at, self.next.is_named) = (next, passed, false);
    }

    /// Number of blocks that have to be taken before another log block may begin.
    pub(crate) fn blocks_wanted(&self, partition_blocks: u32) -> usize {
        let is_there = self.has_next() || self.next.list.is_some();
        if is_there { 0 } else { usize::from(list_len(partition_blocks)) }
    }

    /// Whether the list has another block after the present one.
    const fn has_next(&self) -> bool {
        self.at + 1 + self.next.passed < self.list.len
    }

    const fn is_ready(&self) -> bool {
        self.has_place() && self.next.written == self.ahead
    }

    /// Whether the next log block is erased, and in a list that a root names.
    const fn has_place(&self) -> bool {
        self.next.is_erased && (self.next.list.is_none() || self.next.is_named)
    }

    /// Do one operation towards the next log block.
    fn step<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        if !self.next.is_erased {
            return self.erase_next(media);
        }
        if self.has_place() {
            return self.put_table(media, frame);
        }
        if self.root_page < media.geometry().pages_per_block {
            debug_assert!(self.next.list.is_some(), "a root names a list that was chosen");
            let next = self.next.list.unwrap_or(self.list);
            let page = self.root_page;
            self.root_page += 1;
            return match root::name(media, &self.root, page, [&next, &self.live], frame) {
                Ok(()) => {
                    self.next.is_named = true;
                    Ok(())
                }
                Err(MediaError::ProgramFailed(_)) => {
                    self.root_page = media.geometry().pages_per_block;
                    self.failed_root = Some(self.root.block);
                    Ok(())
                }
                Err(error) => Err(error),
            };
        }
        self.renew_root(media, frame)
    }

    /// Erase the log block that comes next. Where the list has ended, a new list is chosen first.
    fn erase_next<N: Nand>(&mut self, media: &mut Media<'_, N>) -> Result<(), MediaError> {
        debug_assert!(!self.next.is_erased, "a block that is ready is not erased again");
        if self.next.list.is_none() && self.has_next() {
            let at = self.at + 1 + self.next.passed;
            self.next.is_erased = media.erase(u32::from(self.list.blocks[usize::from(at)]))?;
            if !self.next.is_erased {
                self.pass_next();
            }
            return Ok(());
        }
        let next = if let Some(next) = self.next.list {
            next
        } else {
            self.next.passed = 0;
            let last = self.list.ordinal + u32::from(self.list.len);
            choose_list(media, last.max(self.next.ordinal), Wear::Least)?
        };
        self.next.ordinal = next.ordinal + u32::from(next.len);
        self.next.list = Some(next);
        self.next.is_erased = media.erase(u32::from(next.blocks[usize::from(self.next.passed)]))?;
        if !self.next.is_erased {
            self.pass_next();
        }
        Ok(())
    }

    /// The front of a root on `block`.
    fn front<N: Nand>(
        &self,
        media: &Media<'_, N>,
        list: List,
        block: u32,
        has_state: bool,
    ) -> Front {
        let (cells, leaving) = self.cells_of(block);
        let partition = media.partition();
        Front {
            salt: self.salt,
            identity: self.identity,
            first: partition.first,
            count: partition.count,
            cells,
            leaving,
            is_anchored: self.moves.anchors.is_some(),
            list,
            has_state,
            ahead: self.ahead,
            described: Some(self.schema.description_size() as u16),
        }
    }
}
