//! Lookups: find the filters that match a key in every set, in L1 and in the buffer, and read a
//! page of keys for each match.

use core::ops::{ControlFlow, Range};

use flysch::bytes::array;
use flysch_nand::Nand;

use super::config::BUCKETS;
use super::partition::read;
use super::place::ascending_positions;
use super::{PASSING, PbFilter, Set};
use crate::IndexError;
use crate::flash::{Flash, FlashError};

/// A part of the summary: a set, L1 or the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// A set, and the area that it is in.
    Set(usize, Set),
    L1,
    Buffer,
}

impl PbFilter<'_> {
    /// Call `visit` with the pointers of a key until it breaks. Keys are compared, so pointers of
    /// other keys are not returned.
    ///
    /// Cost: for each set, a page for each bit of the key. For L1, up to a page for each of its
    /// rounds and each partition with bits of the key. In addition, the pages of keys of each
    /// filter that matches.
    pub fn lookup<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        key: &[u8],
        mut visit: impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        self.check_key(key).map_err(IndexError::from)?;
        let open = self.count % self.layout.keys_per_page;
        let entry_size = self.layout.entry_size;
        for entry in self.keys.chunks_exact(entry_size).take(open as usize) {
            if entry.starts_with(key) && visit(flash, pointer(&entry[key.len()..]))?.is_break() {
                return Ok(());
            }
        }
        let mut base = 0;
        let bits = ascending_positions(key, &self.config, self.layout.filter_bits);
        for part in self.parts() {
            let filters = self.match_bits(flash, part, &bits).map_err(IndexError::from)?;
            let pages = self.pages_per_filter();
            let mut filter = 0;
            while let Some(agreeing) = self.next_match(filter, filters) {
                filter = agreeing + 1;
                let first = (base + agreeing) * pages;
                if self.visit_pages(flash, first..first + pages, key, &mut visit)?.is_break() {
                    return Ok(());
                }
            }
            base += filters;
        }
        Ok(())
    }

    /// The first matching filter from `from` on, of the `filters` filters of a part. None if there
    /// is no more.
    fn next_match(&self, from: u32, filters: u32) -> Option<u32> {
        let mut filter = from;
        while filter < filters {
            let rest = self.pages[filter as usize / 8] >> (filter % 8);
            if rest != 0 {
                filter += rest.trailing_zeros();
                return (filter < filters).then_some(filter);
            }
            filter = (filter / 8 + 1) * 8;
        }
        None
    }

    /// Visit the key's pointers in the pages of keys that a filter covers.
    fn visit_pages<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        mut pages: Range<u32>,
        key: &[u8],
        visit: &mut impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        pages.try_fold(ControlFlow::Continue(()), |flow, page| match flow {
            ControlFlow::Break(()) => Ok(flow),
            ControlFlow::Continue(()) => self.visit_page(flash, page, key, visit),
        })
    }

    /// Visit the key's pointers in one page of keys.
    fn visit_page<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        page: u32,
        key: &[u8],
        visit: &mut impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        if page >= self.open_page() {
            return Ok(ControlFlow::Continue(()));
        }
        self.load_page(flash, page).map_err(IndexError::from)?;
        let page_size = self.layout.page_bits as usize / 8;
        let bytes = &self.pages[page_size..2 * page_size];
        for entry in bytes.chunks_exact(self.layout.entry_size) {
            if entry.starts_with(key) && visit(flash, pointer(&entry[key.len()..]))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Find the filters of a part that match the key. The result is a bit for each filter, in the
    /// first page buffer. Returns the number of filters in the part.
    pub(crate) fn match_filters<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        part: Part,
        key: &[u8],
    ) -> Result<u32, FlashError> {
        let bits = ascending_positions(key, &self.config, self.layout.filter_bits);
        self.match_bits(flash, part, &bits)
    }

    fn match_bits<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        part: Part,
        bits: &(impl Iterator<Item = u32> + Clone),
    ) -> Result<u32, FlashError> {
        match part {
            Part::Set(_, Set { step: 0, .. }) => Ok(0),
            Part::Set(area, set) => self.match_set(flash, area, set, bits),
            Part::L1 => self.match_l1(flash, bits),
            Part::Buffer => {
                let filter_bits = self.layout.filter_bits;
                self.pages[..self.filters.div_ceil(8) as usize].fill(0);
                for filter in 0..self.filters {
                    let mut places = bits.clone().map(|place| filter * filter_bits + place);
                    if places.all(|bit| self.buffer[bit as usize / 8] >> (bit % 8) & 1 != 0) {
                        self.pages[filter as usize / 8] |= 1 << (filter % 8);
                    }
                }
                Ok(self.filters)
            }
        }
    }

    fn match_set<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
        set: Set,
        bits: &(impl Iterator<Item = u32> + Clone),
    ) -> Result<u32, FlashError> {
        let layout = self.layout;
        let filters = set.step * layout.filters_per_step();
        let page_size = layout.page_bits as usize / 8;
        let width = layout.set_width(set.step);
        let (matches, rest) = self.pages.split_at_mut(page_size);
        let page = &mut rest[..page_size];
        matches.fill(0xFF);
        // In ascending order, so that bits in the same partition come together and its page is read
        // once.
        let mut loaded = None;
        for bit in bits.clone() {
            if loaded != Some(bit / width) {
                loaded = Some(bit / width);
                read(flash, &self.areas, (area, set.first + bit / width), page)?;
            }
            let row_size = (layout.page_bits / width / 8) as usize;
            let row = &page[(bit % width) as usize * row_size..][..filters as usize / 8];
            intersect(matches, row);
        }
        Ok(filters)
    }

    fn match_l1<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        bits: &(impl Iterator<Item = u32> + Clone),
    ) -> Result<u32, FlashError> {
        let layout = self.layout;
        let page_size = layout.page_bits as usize / 8;
        let chunk_bits = layout.filter_bits / layout.partitions;
        let filters = self.flushes * layout.filters_per_flush;
        let per_page = layout.page_bits / chunk_bits;
        let (matches, rest) = self.pages.split_at_mut(page_size);
        let page = &mut rest[..page_size];
        matches.fill(0xFF);
        let per_bucket = layout.partitions / BUCKETS;
        let bucket = bits.clone().next().unwrap_or(0) / chunk_bits / per_bucket;
        for round in 0..filters.div_ceil(per_page) {
            for partition in bucket * per_bucket..(bucket + 1) * per_bucket {
                let here = bits.clone().filter(|bit| bit / chunk_bits == partition);
                if here.clone().count() == 0 {
                    continue;
                }
                let logical = self.l1 + round * layout.partitions + partition;
                read(flash, &self.areas, (PASSING, logical), page)?;
                for slot in 0..per_page.min(filters - round * per_page) {
                    let is_set = |bit| is_set(page, slot * chunk_bits + bit % chunk_bits);
                    let filter = round * per_page + slot;
                    let agrees = u8::from(here.clone().all(is_set));
                    matches[filter as usize / 8] &= !(1 << (filter % 8)) | agrees << (filter % 8);
                }
            }
        }
        Ok(filters)
    }
}

/// Keep only the bits that `row` has too. It works on words of 32 bits, as a microcontroller has no
/// wider registers.
fn intersect(matches: &mut [u8], row: &[u8]) {
    let (words, rest) = row.split_at(row.len() / 4 * 4);
    for (matched, word) in matches.chunks_exact_mut(4).zip(words.chunks_exact(4)) {
        let both = u32::from_le_bytes(array(matched)) & u32::from_le_bytes(array(word));
        matched.copy_from_slice(&both.to_le_bytes());
    }
    matches[words.len()..].iter_mut().zip(rest).for_each(|(matched, byte)| *matched &= byte);
}

/// A pointer of up to four bytes.
fn pointer(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    let len = bytes.len().min(4);
    word[..len].copy_from_slice(&bytes[..len]);
    u32::from_le_bytes(array(&word))
}

fn is_set(bytes: &[u8], bit: u32) -> bool {
    bytes[bit as usize / 8] >> (bit % 8) & 1 != 0
}
