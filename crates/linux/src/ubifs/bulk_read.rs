//! Bulk-read: one read fetches data nodes that lie one behind the other in a LEB. It is a mount
//! option, `bulk_read` (`Documentation/filesystems/ubifs.rst` of the kernel; behaviour of 6.1).
//!
//! Bulk-read begins with the third missing page in a row. It ends with a missing page that does not
//! follow the one before, or at the end of the file.

use super::Ubifs;
use super::fault::Fault;
use super::format::{DATA_NODE_SIZE_MAX, aligned};
use super::key::{Key, KeyType};
use super::tnc::Place;
use crate::cache::PageCache;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino};

/// Largest number of blocks in one bulk-read (`UBIFS_MAX_BULK_READ`).
const BLOCKS_MAX: u32 = 32;
/// Number of missing pages in a row that begins bulk-read.
const ROW: u32 = 3;

/// Which page of a file was missing last, and how many were missing in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    last: u32,
    in_a_row: u32,
}

impl Progress {
    /// Note that a page is read from flash. Returns whether the pages behind it should be read
    /// along.
    fn note(&mut self, index: u32) -> bool {
        let follows = self.last.checked_add(1) == Some(index);
        self.last = index;
        self.in_a_row = if follows { ROW.min(self.in_a_row + 1) } else { 1 };
        self.in_a_row == ROW
    }
}

/// Blocks of a file whose nodes lie one behind the other. Holes may be between them.
#[derive(Debug, Default)]
struct Run {
    /// The nodes, each with the number of its block.
    nodes: Vec<(u32, Place)>,
    /// Whether the file has no block behind these.
    is_last: bool,
}

impl Run {
    /// Bytes from the start of the first node to the end of the node at `place`.
    fn span_to(&self, place: Place) -> u32 {
        let first = self.nodes.first().map_or(place, |&(_, first)| first);
        place.offset + place.len - first.offset
    }

    fn is_continued_by(&self, place: Place) -> bool {
        self.nodes.last().is_none_or(|&(_, last)| {
            (place.lnum, place.offset) == (last.lnum, aligned(last.offset + last.len))
        })
    }
}

impl Ubifs {
    /// Put a missing page into the cache together with pages behind it that the same read fetches.
    /// Returns whether it did so; if not, the page must be read alone.
    pub(super) fn read_in_bulk(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        index: u32,
    ) -> Result<bool, FsError> {
        if !self.options.bulk_read || !self.inode(ino)?.progress.note(index) {
            return Ok(false);
        }
        let _scope = self.recorder.scope("ubifs_bulk_read");
        let run = self.run_of_blocks(ino, index)?;
        let Some(&(last, _)) = run.nodes.last() else {
            self.inode(ino)?.progress.in_a_row = 0;
            return Ok(false);
        };
        if run.is_last {
            self.inode(ino)?.progress.in_a_row = 1;
        }
        match self.fill_run(cache, ino, index, &run) {
            Ok(()) => self.inode(ino)?.progress.last = last,
            // Each page is then read alone, and the damaged one gives its own error.
            Err(Fault::Damaged { .. } | Fault::Io) => return Ok(false),
            Err(fault) => return Err(fault.into()),
        }
        Ok(true)
    }

    /// Find the blocks from `index` on that one read can fetch.
    fn run_of_blocks(&mut self, ino: u32, index: u32) -> Result<Run, Fault> {
        let span_max = self.geometry.leb_size.min(BLOCKS_MAX * DATA_NODE_SIZE_MAX);
        let mut run = Run::default();
        let key = Key::data(ino, index);
        let before = self.seek(key)?;
        let is_hole = self.leaf(before).is_none_or(|(found, _)| found < key);
        let mut next = if is_hole { self.after(before)? } else { Some(before) };
        while let Some(at) = next {
            let (key, place) = self.leaf(at).expect("a position found");
            if key.ino() != ino || key.kind() != KeyType::Data {
                break;
            }
            let ahead = key.rest().checked_sub(index);
            let fits = self.is_sane(place)
                && ahead.is_some_and(|ahead| ahead < BLOCKS_MAX)
                && run.is_continued_by(place)
                && run.span_to(place) <= span_max;
            if !fits {
                return Ok(run);
            }
            run.nodes.push((key.rest(), place));
            if ahead == Some(BLOCKS_MAX - 1) {
                return Ok(run);
            }
            next = self.after(at)?;
        }
        run.is_last = true;
        Ok(run)
    }

    /// Read the nodes of `run`, and put the pages from `index` to the last of them into the cache.
    /// Pages in the cache are kept, except `index` itself.
    fn fill_run(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        index: u32,
        run: &Run,
    ) -> Result<(), Fault> {
        let (Some(&(_, first)), Some(&(last, end))) = (run.nodes.first(), run.nodes.last()) else {
            return Ok(());
        };
        let bytes = self.read_bytes(Place { len: run.span_to(end), ..first })?;
        let size = self.inode(ino)?.node.size;
        let mut nodes = run.nodes.iter().peekable();
        let mut pages = Vec::new();
        for block in index..=last {
            let mut page = Box::new([0; CACHE_PAGE_SIZE]);
            if let Some(&(_, place)) = nodes.next_if(|(of, _)| *of == block) {
                let at = (place.offset - first.offset) as usize;
                let node = &bytes[at..at + place.len as usize];
                self.check_node(place, node)?;
                self.unpack_block(place, node, &mut page)?;
            }
            super::file::clip(&mut page, block, size);
            pages.push((block, page));
        }
        for (block, page) in pages {
            if block == index || !cache.contains(Ino(ino), block) {
                cache.insert(Ino(ino), block, page);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn three_pages_in_a_row_switch_it_on_and_one_aside_off() {
        let mut progress = Progress::default();
        let shown = [0, 1, 2, 3, 9, 10, 11, 11, 12].map(|index| progress.note(index));
        assert_eq!(shown, [false, false, true, true, false, false, true, false, false]);
    }
}
