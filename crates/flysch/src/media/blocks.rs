//! Blocks: taken in turn, erased ahead, let go by what the last record says.

use flysch_nand::Nand;

use super::error::is_erased;
use super::{CHANGE_SIZE, Media, MediaError, Page, Space, Use};

impl<N: Nand> Media<'_, N> {
    /// The block of page `number` of `space`, taken where the page is its first.
    pub(super) fn open(&mut self, space: Space, number: u32) -> Result<u32, MediaError> {
        let block = self.numbers.block_of(number);
        if let Some(physical) = self.table.find(space, block) {
            return Ok(physical);
        }
        let physical = self.take(Use::Data(space, block))?;
        Ok(physical)
    }

    /// Take a free block for `used`. Cost: nothing after [`Media::prepare`]; else one read and one
    /// erase, more only where blocks are bad.
    ///
    /// # Errors
    /// [`MediaError::Full`] too where the next record could not tell one change more.
    pub(crate) fn take(&mut self, used: Use) -> Result<u32, MediaError> {
        if self.changes.room() == 0 {
            return Err(MediaError::Full);
        }
        let block = match self.ready.take() {
            Some(block) => block,
            None => self.erase_next()?,
        };
        self.assign(block, used);
        Ok(block)
    }

    /// Change a block's use, and keep the change for the next record.
    pub(crate) fn assign(&mut self, block: u32, used: Use) {
        self.table.set(block, used);
        self.changes.add(block, used);
    }

    /// Take over a change of the block table from a record.
    pub(crate) fn load_change(&mut self, bytes: [u8; CHANGE_SIZE]) -> Result<(), ()> {
        self.changes.load(bytes, &mut self.table)
    }

    /// Erase a block ahead of its use. Cost: one read and one erase, more only where blocks are
    /// bad.
    pub(crate) fn prepare(&mut self) -> Result<(), MediaError> {
        if self.ready.is_none() {
            self.ready = Some(self.erase_next()?);
        }
        Ok(())
    }

    /// Whether a block waits, erased.
    pub(crate) const fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Free blocks.
    pub(crate) fn free_count(&self) -> u32 {
        self.table.count(|used| used == Use::Free)
    }

    /// Choose a free block without erasing it, for a log that will need it.
    pub(crate) fn choose(&mut self, used: Use) -> Result<u32, MediaError> {
        let block = self.next_free()?;
        self.table.set(block, used);
        Ok(block)
    }

    /// Erase a block whose use is known; false where it failed and was marked. Cost: one read, one
    /// erase.
    pub(crate) fn erase(&mut self, block: u32) -> Result<bool, MediaError> {
        let addr = self.block_addr(block);
        if self.is_bad(block)? {
            self.table.set(block, Use::Bad);
            return Ok(false);
        }
        self.erases += 1;
        self.counts.erases += 1;
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

    /// Mark a block of which a program failed.
    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<(), MediaError> {
        Ok(self.nand.mark_bad(self.block_addr(block))?)
    }

    /// Let a log block go, unless it is bad.
    pub(crate) fn release_log(&mut self, block: u32) {
        if self.table.at(block) == Use::Log {
            self.table.set(block, Use::Free);
        }
    }

    /// Erase a root block; false where it failed. Its place in the table is kept.
    pub(crate) fn erase_root(&mut self, block: u32) -> Result<bool, MediaError> {
        let erased = self.erase(block)?;
        self.table.set(block, Use::Root);
        Ok(erased)
    }

    /// Let the logical blocks go that `is_live` refuses. What it says must be on flash.
    pub(crate) fn let_go(&mut self, is_live: impl Fn(Space, u32) -> bool) {
        for block in 0..self.table.len() {
            if let Use::Data(space, number) = self.table.at(block)
                && !is_live(space, number)
            {
                self.table.set(block, Use::Free);
            }
        }
    }

    fn erase_next(&mut self) -> Result<u32, MediaError> {
        for _ in 0..self.table.len() {
            let block = self.next_free()?;
            if self.erase(block)? {
                return Ok(block);
            }
        }
        Err(MediaError::Full)
    }

    /// The next free block in turn.
    fn next_free(&mut self) -> Result<u32, MediaError> {
        let count = self.table.len();
        let ready = self.ready;
        let is_free = |block: &u32| self.table.at(*block) == Use::Free && ready != Some(*block);
        let found = (self.next..count).chain(0..self.next.min(count)).find(is_free);
        let block = found.ok_or(MediaError::Full)?;
        self.next = (block + 1) % count;
        Ok(block)
    }
}
