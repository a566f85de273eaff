//! Blocks: how they are taken, erased ahead, and let go.

use flysch_nand::Nand;

use super::error::is_erased;
use super::{CHANGE_SIZE, DEAD_MAX, Media, MediaError, Page, Space, Span, Use};

impl<N: Nand> Media<'_, N> {
    /// The block of page `number` of `space`. A new block is taken where the page is the first of
    /// its block.
    pub(super) fn open(&mut self, space: Space, number: u32) -> Result<u32, MediaError> {
        let block = self.numbers.block_of(number);
        if let Some(physical) = self.table.find(space, block) {
            // A block number is not given out while its block exists.
            let is_begun = self.numbers.page_in_block(number) > 0;
            return if is_begun { Ok(physical) } else { Err(MediaError::Full) };
        }
        let physical = self.take(Use::Data(space, block))?;
        Ok(physical)
    }

    /// Take a free block for `used`, erased. Cost: nothing after [`Media::prepare`]; else one read
    /// and one erase, more only where blocks are bad.
    ///
    /// # Errors
    /// [`MediaError::Full`] also where the next record has no place for another change of the block
    /// table, and for the last free block, which is the log's.
    pub(crate) fn take(&mut self, used: Use) -> Result<u32, MediaError> {
        if self.changes.room() == 0 || self.free_count() <= 1 {
            return Err(MediaError::Full);
        }
        let wanted = Wear::of(used);
        let ready = if wanted == Wear::Most { None } else { self.ready.take() };
        let block = match ready {
            Some(block) => block,
            None => self.erase_next(wanted)?,
        };
        debug_assert!(self.table.at(block) == Use::Free, "what is taken was free");
        debug_assert!(self.given_up != Some(block), "what a record on flash names is not taken");
        self.assign(block, used);
        Ok(block)
    }

    /// Have the next record free a block of rows. Until [`Media::release`] nobody takes the block.
    pub(crate) fn give_up(&mut self, space: Space, number: u32) {
        if let Some(block) = self.table.find(space, number) {
            self.assign(block, Use::Free);
            debug_assert!(self.given_up.is_none(), "one block waits for the next record");
            self.given_up = Some(block);
        }
    }

    /// Make the pages of `space` from `from` up to the head void. Blocks that begin there are free
    /// at once, as no record on flash names them.
    pub(crate) fn void(&mut self, space: Space, from: u32) -> Result<(), MediaError> {
        debug_assert!(space.holds_rows(), "a run names its pages, and needs no span");
        let (numbers, head) = (self.numbers, self.head(space));
        let len = numbers.distance(from, head);
        // What was void there already lies in the new spans, or in blocks that are free.
        let is_within = |span: &Span| numbers.distance(from, span.from) < len;
        self.spans.retain(|span| span.space != space || !is_within(span));
        let mut at = from;
        while numbers.block_of(at) != numbers.block_of(head) {
            let next = numbers.next_block(at);
            let number = numbers.block_of(at);
            match (numbers.page_in_block(at), self.table.find(space, number)) {
                (0, Some(block)) => self.assign(block, Use::Free),
                // An earlier savepoint freed it.
                (0, None) => {}
                _ => self.skip(space, at, next)?,
            }
            at = next;
        }
        if at != head {
            self.skip(space, at, head)?;
        }
        self.heads[space as usize] = head;
        Ok(())
    }

    /// Forget void spans in blocks that were let go.
    pub(crate) fn trim_spans(&mut self) {
        let (numbers, table) = (self.numbers, &mut self.table);
        self.spans.retain(|span| table.find(span.space, numbers.block_of(span.from)).is_some());
    }

    /// Note that the record which lets a block go is on flash.
    pub(crate) fn release(&mut self) {
        self.given_up = None;
    }

    /// Change what a block is used for, and keep the change for the next record.
    ///
    /// A block that loses its name is a change as well. Otherwise it would have the name again
    /// after a mount where this block changes once more before the next checkpoint: that change
    /// takes the place of this one.
    pub(crate) fn assign(&mut self, block: u32, used: Use) {
        if let Some(old) = self.table.set(block, used) {
            self.changes.add(old, Use::Free);
        }
        self.changes.add(block, used);
    }

    /// Set how much of a block is dead, and have the next records tell it.
    pub(crate) fn note_share(&mut self, block: u32, dead: u8) {
        self.table.set_dead(block, dead);
        self.changes.add_dead(block, self.table.at(block));
    }

    /// Note that so many pages of a block of rows are left out. The next checkpoint tells it.
    pub(crate) fn note_void(&mut self, space: Space, number: u32, pages: u32) {
        if let Some(block) = self.table.find(space, number) {
            let share = pages * u32::from(DEAD_MAX + 1) / self.numbers.pages_per_block;
            self.table.set_dead(block, self.table.dead(block).saturating_add(share as u8));
        }
    }

    /// Take over a change of the block table from a record.
    pub(crate) fn load_change(&mut self, bytes: [u8; CHANGE_SIZE]) -> Result<(), ()> {
        self.changes.load(bytes, &mut self.table)
    }

    /// Erase a free block before it is needed. Cost: one read and one erase, more only where blocks
    /// are bad.
    pub(crate) fn prepare(&mut self) -> Result<(), MediaError> {
        if self.ready.is_none() {
            self.ready = Some(self.erase_next(Wear::Least)?);
        }
        let is_free = |block| self.table.at(block) == Use::Free;
        debug_assert!(self.ready.is_some_and(is_free), "what is erased ahead is free");
        Ok(())
    }

    /// Whether an erased block is ready.
    pub(crate) const fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Whether a block should be erased ahead now: a stream may need one within the next
    /// `programs`, or the session goes on for long.
    ///
    /// Nothing on flash tells of a block that is erased ahead. A session that ends before the block
    /// is needed has worn it for nothing, so a short one erases none.
    pub(crate) fn is_block_due(&self, programs: u32) -> bool {
        let pages = self.geometry().pages_per_block;
        let is_near = |space: &Space| {
            let head = self.head(*space);
            let page = self.numbers.page_in_block(head);
            head != 0 && (page == 0 || page + programs >= pages)
        };
        let is_long = self.counts.programs_in_all() >= pages / SHORT_SHARE;
        is_long || Space::ALL.iter().any(is_near)
    }

    /// Number of free blocks, without the one to which a copy goes.
    pub(crate) fn free_count(&self) -> u32 {
        self.table.free_count() - u32::from(self.copy.is_some())
    }

    /// Choose a free block for the log, worn as wanted, without erasing it yet.
    pub(crate) fn choose(&mut self, wanted: Wear) -> Result<u32, MediaError> {
        let wanted = if wanted == Wear::Any { wanted } else { self.drawn(wanted, DRAWN_LOG) };
        let block = self.next_free(wanted)?;
        debug_assert!(self.table.at(block) == Use::Free, "what is chosen was free");
        debug_assert!(self.ready != Some(block), "the block erased ahead is for others");
        self.table.set(block, Use::Log);
        Ok(block)
    }

    /// Choose the first free block behind another one, however worn: what the table has of wear may
    /// be old where lives are short.
    pub(crate) fn choose_behind(&mut self, block: u32, used: Use) -> Result<u32, MediaError> {
        let turn = (block + 1..self.table.len()).chain(0..block);
        let block = turn.into_iter().find(|&block| self.is_free(block)).ok_or(MediaError::Full)?;
        self.table.set(block, used);
        Ok(block)
    }

    /// Erase a block whose use is set; false where the erase failed and the block was marked bad.
    /// Cost: one read, one erase.
    pub(crate) fn erase(&mut self, block: u32) -> Result<bool, MediaError> {
        debug_assert!(block < self.partition.count, "no block of others is erased");
        debug_assert!(self.ready != Some(block), "what is erased ahead is not erased again");
        let addr = self.block_addr(block);
        if self.is_bad(block)? {
            self.table.set(block, Use::Bad);
            return Ok(false);
        }
        // A copy of this block under way has nothing left to copy: the block it goes to is free.
        self.copy = self.copy.filter(|copy| copy.from != block);
        self.erases += 1;
        self.counts.erases += 1;
        self.table.note_erase(block, self.erases);
        self.note_scrubbed(block);
        if is_erased(self.nand.erase(addr))? {
            return Ok(true);
        }
        self.nand.mark_bad(addr)?;
        self.table.set(block, Use::Bad);
        Ok(false)
    }

    /// Whether the block of a page is marked bad. Cost: one read.
    pub(crate) fn is_marked(&mut self, page: Page) -> Result<bool, MediaError> {
        let block = self.numbers.block_of(page.number);
        let physical = self.table.find(page.space, block).ok_or(MediaError::Missing(page))?;
        self.is_bad(physical)
    }

    /// Whether a block is marked bad. Cost: one read.
    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool, MediaError> {
        self.counts.reads += 1;
        Ok(self.nand.is_bad(self.block_addr(block))?)
    }

    /// Mark a block as bad, in which a program failed.
    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<(), MediaError> {
        Ok(self.nand.mark_bad(self.block_addr(block))?)
    }

    /// Free a block of the log, unless it is bad.
    pub(crate) fn release_log(&mut self, block: u32) {
        if self.table.at(block) == Use::Log {
            self.table.set(block, Use::Free);
        }
    }

    /// Erase a root block; false where that failed. It stays a root block in the table.
    pub(crate) fn erase_root(&mut self, block: u32) -> Result<bool, MediaError> {
        let erased = self.erase(block)?;
        self.table.set(block, Use::Root);
        Ok(erased)
    }

    /// Free the logical blocks that `is_live` refuses or a void span covers, and in which no head
    /// lies. What `is_live` says must already be on flash. The next record names the freed blocks
    /// of rows; a block for which it has no place stays.
    pub(crate) fn let_go(&mut self, is_live: impl Fn(Space, u32) -> bool) {
        for block in 0..self.table.len() {
            let Some(space) = self.goes(block, &is_live) else { continue };
            if !space.holds_rows() {
                self.table.set(block, Use::Free);
            } else if self.changes.room() > CHANGES_KEPT {
                self.assign(block, Use::Free);
            }
        }
    }

    /// Number of blocks of runs that would be freed.
    pub(crate) fn count_going(&self, is_live: impl Fn(Space, u32) -> bool) -> u32 {
        let goes = |block: &u32| self.goes(*block, &is_live).is_some_and(|it| !it.holds_rows());
        (0..self.table.len()).filter(goes).count() as u32
    }

    /// The space of a block that may be freed; None if it has to stay.
    fn goes(&self, block: u32, is_live: impl Fn(Space, u32) -> bool) -> Option<Space> {
        let Use::Data(space, number) = self.table.at(block) else { return None };
        let is_void = self.spans.cover(space, number, self.numbers);
        let stays = self.is_head(space, number) || !is_void && is_live(space, number);
        (!stays).then_some(space)
    }

    pub(super) fn erase_next(&mut self, wanted: Wear) -> Result<u32, MediaError> {
        let wanted = self.drawn(wanted, 1 << wanted as u8);
        for _ in 0..self.table.len() {
            let block = self.next_free(wanted)?;
            if self.erase(block)? {
                return Ok(block);
            }
        }
        Err(MediaError::Full)
    }

    /// Have the first block of each kind be chosen by chance, as the session follows another one.
    pub(crate) const fn draw_anew(&mut self) {
        self.drawn = 0;
    }

    /// How the next block of a kind is chosen: the first one of a session by chance, however worn.
    ///
    /// Nothing on flash may ever tell that it was erased, where the session ends before a record or
    /// a checkpoint does. All such sessions would take the same block otherwise.
    fn drawn(&mut self, wanted: Wear, kind: u8) -> Wear {
        if self.drawn & kind != 0 {
            return wanted;
        }
        self.drawn |= kind;
        let mixed = self.write.wrapping_add(u64::from(kind)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut free = (0..self.table.len()).filter(|&block| self.is_free(block));
        let at = ((mixed >> 32) * free.clone().count() as u64) >> 32;
        self.next = free.nth(at as usize).unwrap_or(0);
        Wear::Any
    }

    fn is_free(&self, block: u32) -> bool {
        let kept = [self.ready, self.given_up, self.copy.map(|copy| copy.to)];
        self.table.at(block) == Use::Free && !kept.contains(&Some(block))
    }

    /// The free block that is next in turn, among those that are worn as wanted.
    fn next_free(&mut self, wanted: Wear) -> Result<u32, MediaError> {
        let count = self.table.len();
        let is_free = |block: &u32| self.is_free(*block);
        let turn = (self.next..count).chain(0..self.next.min(count));
        let worn = |block: &u32| match wanted {
            Wear::Least => self.table.wear(*block),
            Wear::Most => u8::MAX - self.table.wear(*block),
            Wear::Any => 0,
        };
        let block = turn.filter(is_free).min_by_key(worn).ok_or(MediaError::Full)?;
        self.next = (block + 1) % count;
        Ok(block)
    }
}

/// The bit of blocks of the log, among the kinds of which a session has chosen one.
const DRAWN_LOG: u8 = 1 << 7;
/// Changes of the block table that are kept for blocks that have to be taken.
const CHANGES_KEPT: usize = 12;

/// A session is short before it has programmed this part of a block.
const SHORT_SHARE: u32 = 4;

/// Which of the free blocks is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wear {
    /// The least worn: for content that will soon be erased again.
    Least,
    /// The most worn: for content that stays.
    Most,
    /// Any, in turn: for what may end before a checkpoint tells of the erase.
    Any,
}

impl Wear {
    const fn of(used: Use) -> Self {
        match used {
            Use::Data(Space::Cold, _) => Self::Most,
            Use::Data(Space::Hot | Space::Young | Space::Old | Space::RingA | Space::RingB, _)
            | Use::Free
            | Use::Bad
            | Use::Root
            | Use::Log => Self::Least,
        }
    }
}
