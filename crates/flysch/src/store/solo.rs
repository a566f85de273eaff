//! An index store alone on a chip, without rows and without a log. It is for measurements and
//! tests.
//!
//! Its state is not written to flash. [`Solo::remount`] plays a mount: it carries over the state
//! and nothing else.

use flysch_nand::Nand;

use super::all::All;
use super::entry::Entry;
use super::error::{StateError, StoreError};
use super::probe::Probe;
use super::range::{Held, Range};
use super::sweep::Batch;
use super::{Lent, Store, StoreConfig, Work};
use crate::media::{CELL_SIZE, ENTRY_SIZE, Media, MediaError, Partition, Space};

/// An index store and the chip on which it lies.
#[derive(Debug)]
pub struct Solo<'ram, N> {
    media: Media<'ram, N>,
    store: Store<'ram>,
    page: &'ram mut [u8],
    cell: &'ram mut [u8],
    /// Number of flushes so far.
    pub flushes: u32,
}

impl<'ram, N: Nand> Solo<'ram, N> {
    /// Bytes of RAM that [`Solo::new`] needs: a page, a cell, the block table and the memory of the
    /// store.
    pub const fn carved(config: &StoreConfig, partition: Partition) -> usize {
        let frames = config.layout.page_size() + CELL_SIZE;
        frames + partition.count as usize * ENTRY_SIZE + config.carved()
    }

    /// An empty store on a chip. `ram` has [`Solo::carved`] bytes.
    ///
    /// # Panics
    /// Where it has not.
    pub fn new(nand: N, partition: Partition, config: StoreConfig, ram: &'ram mut [u8]) -> Self {
        assert!(ram.len() == Self::carved(&config, partition), "the store has its bytes");
        let (page, ram) = ram.split_at_mut(config.layout.page_size());
        let (cell, ram) = ram.split_at_mut(CELL_SIZE);
        let (table, ram) = ram.split_at_mut(partition.count as usize * ENTRY_SIZE);
        let media = Media::new(nand, partition, table, 0);
        Self { media, store: Store::new(config, ram), page, cell, flushes: 0 }
    }

    /// The index store, to ask for its counts.
    pub const fn store(&self) -> &Store<'ram> {
        &self.store
    }

    /// The store, to be changed.
    pub const fn store_mut(&mut self) -> &mut Store<'ram> {
        &mut self.store
    }

    /// The chip below.
    pub const fn nand_mut(&mut self) -> &mut N {
        self.media.nand_mut()
    }

    /// Put an entry and commit it. Flush where the memory table is full, else do the slice of work
    /// that is due.
    pub fn insert(&mut self, entry: &Entry) -> Result<Work, StoreError> {
        let is_full = !self.store.has_room(1);
        if is_full {
            self.flush()?;
        }
        self.store.put(entry)?;
        self.store.commit();
        let is_idle = !is_full && self.store.slices_due() > 0;
        if is_idle { self.work() } else { Ok(Work::default()) }
    }

    /// Flush the memory table, after merges have made room for a run.
    pub fn flush(&mut self) -> Result<u32, StoreError> {
        loop {
            let mut lent = Lent { page: self.page, cell: self.cell, commit: 0 };
            match self.store.flush(&mut self.media, &mut lent, &|_| true) {
                Err(StoreError::Crowded) if self.store.is_due() => {
                    self.work()?;
                }
                flushed => {
                    self.flushes += 1;
                    self.let_go();
                    return flushed;
                }
            }
        }
    }

    /// Do a slice of the work that is due.
    pub fn work(&mut self) -> Result<Work, StoreError> {
        let mut lent = Lent { page: self.page, cell: self.cell, commit: 0 };
        let work = self.store.work(&mut self.media, &mut lent);
        self.let_go();
        work
    }

    /// Do all the work that is due.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        while self.store.is_due() {
            self.work()?;
        }
        Ok(())
    }

    /// The next entry of a probe; None behind the last.
    pub fn next(&mut self, probe: &mut Probe) -> Result<Option<Entry>, StoreError> {
        probe.next(&self.store, &mut self.media, self.cell)
    }

    /// The next entry of a range; None behind the last.
    pub fn next_of<const ROOM: usize>(
        &mut self,
        range: &mut Range<[Held; ROOM]>,
    ) -> Result<Option<Entry>, StoreError> {
        range.next(&self.store, &mut self.media, self.cell)
    }

    /// Show the pointers of all entries of a code, as one reads them who puts their rows in order.
    pub fn all(
        &mut self,
        index: u8,
        code: u64,
        mut show: impl FnMut(u32),
    ) -> Result<(), StoreError> {
        let (mut all, mut some) = (All::new(self.store.config(), index, code), Batch::EMPTY);
        while all.next(&self.store, (&mut self.media, self.cell), &mut some)? {
            some.as_slice().iter().for_each(|pointer| show(*pointer));
        }
        Ok(())
    }

    /// Play a mount: carry the state over to an empty store. `state` is lent as a buffer.
    pub fn remount(&mut self, state: &mut [u8]) -> Result<usize, StateError> {
        let len = self.store.emit_state(state);
        self.store.load_state(&state[..len])?;
        Ok(len)
    }

    /// Erase a block before it is needed.
    pub fn prepare(&mut self) -> Result<(), MediaError> {
        self.media.prepare()
    }

    /// Number of blocks in use.
    pub fn block_count(&self) -> u32 {
        self.media.partition().count - self.media.free_count()
    }

    /// Free the blocks in which no run has pages. Without a log the state in RAM decides that.
    fn let_go(&mut self) {
        let numbers = self.media.numbers();
        let head = |space: Space| self.media.head(space);
        let heads = Space::ALL.map(|space| numbers.block_of(head(space)));
        let store = &self.store;
        self.media
            .let_go(|space, block| heads[space as usize] == block || store.is_live(space, block));
        self.media.changes.clear();
        let store = &self.store;
        self.media.spans.retain(|span| store.is_live(span.space, numbers.block_of(span.from)));
    }
}
