//! The journal. Each transaction in it has a descriptor, the images of the changed metadata blocks,
//! and a commit block with a checksum over all of these.
//!
//! ```text
//! header, descriptor, commit: 0..4 magic  4..8 sequence number  8..12 count or CRC
//! descriptor: 12.. numbers of the blocks imaged
//! ```
//!
//! The header names the first transaction, which is at the start of the journal. When more than
//! half of the journal is used, all images are written to their places and the journal begins anew.

use super::layout::{HEADER, JOURNAL, Layout};
use super::{Page, Plainfs};
use crate::block_device::BlockError;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError};

use super::buffers::Buffers;

const HEADER_MAGIC: u32 = 0x4A48_4452;
const DESCRIPTOR_MAGIC: u32 = 0x4A44_5343;
const COMMIT_MAGIC: u32 = 0x4A43_4F4D;
const NUMBERS: usize = 12;

/// The state of the journal.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    /// Number of blocks of the journal.
    pub(super) count: u32,
    /// Number of blocks in use.
    pub(super) used: u32,
    /// Sequence number of the next transaction.
    pub(super) sequence: u32,
}

impl Journal {
    /// Number of metadata blocks at which a transaction is committed, so that it does not outgrow
    /// the journal.
    pub(super) const fn transaction_max(&self) -> usize {
        self.count as usize / 4
    }
}

/// A block of the journal. The three words stand at its start.
fn record(words: [u32; 3]) -> Box<Page> {
    let mut page = Box::new([0; CACHE_PAGE_SIZE]);
    for (place, word) in page.chunks_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    page
}

fn word(page: &Page, at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes"))
}

/// The header that makes transaction `sequence` the first of the journal.
pub(super) fn header(sequence: u32) -> Box<Page> {
    let crc = crc32fast::hash(&sequence.to_le_bytes());
    record([HEADER_MAGIC, sequence, crc])
}

impl Plainfs {
    /// Write the data of all files, then commit the running transaction.
    pub(super) fn commit(&mut self) -> Result<(), FsError> {
        let _scope = self.recorder.clone().scope("plainfs_commit");
        self.commit_due_ns = None;
        self.write_back_files(None)?;
        self.buffers.flush()?;
        self.resized.clear();
        if self.buffers.dirty.is_empty() {
            return Ok(());
        }
        self.write_transaction()?;
        self.buffers.flush()?;
        let freed = std::mem::take(&mut self.freed);
        self.free_count += u32::try_from(freed.len()).expect("as many as blocks");
        let dirty = std::mem::take(&mut self.buffers.dirty);
        self.buffers.logged.extend(dirty);
        if self.journal.used > self.journal.count / 2 { self.checkpoint() } else { Ok(()) }
    }

    fn write_transaction(&mut self) -> Result<(), BlockError> {
        let blocks: Vec<u32> = self.buffers.dirty.iter().copied().collect();
        let count = u32::try_from(blocks.len()).expect("as many as blocks");
        let Journal { used, sequence, .. } = self.journal;
        assert!(used + count + 2 <= self.journal.count, "a transaction of {count} blocks fits");
        let mut descriptor = record([DESCRIPTOR_MAGIC, sequence, count]);
        for (place, block) in descriptor[NUMBERS..].chunks_mut(4).zip(&blocks) {
            place.copy_from_slice(&block.to_le_bytes());
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&*descriptor);
        let mut at = JOURNAL + used;
        self.buffers.write(at, &descriptor)?;
        for block in blocks {
            at += 1;
            let page = *self.buffers.page(block)?;
            crc.update(&page);
            self.buffers.write(at, &page)?;
        }
        self.buffers.write(at + 1, &record([COMMIT_MAGIC, sequence, crc.finalize()]))?;
        self.journal.used += count + 2;
        self.journal.sequence = sequence.wrapping_add(1);
        Ok(())
    }

    /// Write all committed metadata blocks to their places, and empty the journal. The running
    /// transaction must be empty.
    pub(super) fn checkpoint(&mut self) -> Result<(), FsError> {
        let _scope = self.recorder.clone().scope("plainfs_checkpoint");
        debug_assert!(self.buffers.dirty.is_empty(), "a commit came before");
        for block in std::mem::take(&mut self.buffers.logged) {
            let page = *self.buffers.page(block)?;
            self.buffers.write(block, &page)?;
        }
        self.buffers.flush()?;
        self.buffers.write(HEADER, &header(self.journal.sequence))?;
        self.buffers.flush()?;
        self.journal.used = 0;
        let revoked = std::mem::take(&mut self.revoked);
        self.free_count += u32::try_from(revoked.len()).expect("as many as blocks");
        Ok(())
    }
}

/// Apply the committed transactions, and empty the journal. `None` if its header is damaged.
pub(super) fn replay(
    buffers: &mut Buffers,
    layout: &Layout,
) -> Result<Option<Journal>, BlockError> {
    let mut page = Box::new([0; CACHE_PAGE_SIZE]);
    buffers.read(HEADER, &mut page)?;
    let mut sequence = word(&page, 4);
    let crc = crc32fast::hash(&sequence.to_le_bytes());
    if word(&page, 0) != HEADER_MAGIC || word(&page, 8) != crc {
        return Ok(None);
    }
    let mut used = 0;
    while let Some(blocks) = committed(buffers, layout, used, sequence)? {
        for (at, &block) in (JOURNAL + used + 1..).zip(&blocks) {
            buffers.read(at, &mut page)?;
            buffers.write(block, &page)?;
        }
        used += u32::try_from(blocks.len()).expect("checked") + 2;
        sequence = sequence.wrapping_add(1);
    }
    if used > 0 {
        buffers.flush()?;
        buffers.write(HEADER, &header(sequence))?;
        buffers.flush()?;
    }
    Ok(Some(Journal { count: layout.journal_count, used: 0, sequence }))
}

/// The blocks in transaction `sequence`, if it is complete and begins behind `used` blocks of the
/// journal.
fn committed(
    buffers: &mut Buffers,
    layout: &Layout,
    used: u32,
    sequence: u32,
) -> Result<Option<Vec<u32>>, BlockError> {
    let mut page = Box::new([0; CACHE_PAGE_SIZE]);
    let room = layout.journal_count - used;
    if room < 2 || !read_record(buffers, JOURNAL + used, &mut page)? {
        return Ok(None);
    }
    let count = word(&page, 8);
    let is_ours = word(&page, 0) == DESCRIPTOR_MAGIC && word(&page, 4) == sequence;
    if !is_ours || count > room - 2 || count as usize > (CACHE_PAGE_SIZE - NUMBERS) / 4 {
        return Ok(None);
    }
    let blocks: Vec<u32> =
        (0..count as usize).map(|place| word(&page, NUMBERS + 4 * place)).collect();
    if blocks.iter().any(|block| !(layout.bitmap()..layout.block_count).contains(block)) {
        return Ok(None);
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&*page);
    for at in 1..=count {
        if !read_record(buffers, JOURNAL + used + at, &mut page)? {
            return Ok(None);
        }
        crc.update(&*page);
    }
    let is_read = read_record(buffers, JOURNAL + used + count + 1, &mut page)?;
    let is_commit = word(&page, 0) == COMMIT_MAGIC && word(&page, 4) == sequence;
    let is_complete = is_read && is_commit && word(&page, 8) == crc.finalize();
    Ok(is_complete.then_some(blocks))
}

/// Read a block of the journal. Returns false if its content is lost.
fn read_record(buffers: &mut Buffers, block: u32, page: &mut Page) -> Result<bool, BlockError> {
    match buffers.read(block, page) {
        Ok(()) => Ok(true),
        Err(BlockError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
