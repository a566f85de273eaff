//! `PBFilter`: a sequential key area summarised by Bloom filters that are partitioned ever finer.
//!
//! Yin, Pucheral, Meng: `PBFilter`, a flash-based indexing scheme for embedded systems, section 4.
//!
//! ```text
//! key area   | key, pointer | …                                      one page buffer in RAM
//! summary    a Bloom filter for each key page ─▸ buffer, row by row
//! buffer     ─flush▸ L1: a chunk of every filter to each of p partitions, s pages each
//! L1 full    ─▸ a set: the filters so far, bit by bit, in s·p·2^j partitions of one page
//! ```
//!
//! 1. The whole state follows from the number of key pages. So a mount reads the key pages after
//!    the last complete set again, and writes L1 again.
//! 2. A set is complete when its last page is on flash. Only then, L1 and the set that it replaces
//!    are released.
//! 3. Full sets are kept for ever, in an area of their own. All other sets are released in the
//!    order in which they were written, in whole blocks.

mod config;
mod deletions;
mod lookup;
mod mount;
mod partition;
mod place;
mod rows;

pub use config::{FlushUnit, PbConfig};
pub use deletions::Deletions;
pub(crate) use lookup::Part;
pub use place::Placement;

use flysch_nand::Nand;

use self::config::Layout;
use self::place::positions;
use crate::area::Areas;
use crate::flash::{Flash, FlashError};
use crate::{ConfigError, IndexError};

/// The area of key pages.
const KEYS: usize = 0;
/// The area of L1 and of sets that will be replaced by larger ones.
const PASSING: usize = 1;
/// The area of full sets.
const LASTING: usize = 2;
const AREA_COUNT: u8 = 3;

#[derive(Debug)]
pub struct PbFilter<'ram> {
    config: PbConfig,
    layout: Layout,
    areas: Areas<'ram>,
    /// The key page that is being filled.
    keys: &'ram mut [u8],
    /// The buffer of the summary. While a set is written, the page of it that is being made.
    buffer: &'ram mut [u8],
    /// Buffers for the pages of an L1 partition, and one for a page of the old set.
    pages: &'ram mut [u8],
    /// Number of keys inserted so far.
    count: u32,
    /// Number of filters in the buffer, including the one that is being filled.
    filters: u32,
    /// Number of flushes since the last set was written.
    flushes: u32,
    /// The first logical page of L1.
    l1: u32,
    /// The set that the next one replaces.
    set: Set,
    /// Number of full sets.
    lasting: u32,
}

/// A set of partitions: the filters so far, stored bit by bit. It is not full yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set {
    /// How often the set was extended. 0 if there is no set.
    step: u32,
    /// Its first page.
    first: u32,
}

impl PbFilter<'_> {
    pub const fn config(&self) -> &PbConfig {
        &self.config
    }

    /// Number of keys inserted so far, including those in RAM.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Number of keys on flash. After a mount, insert all later keys again.
    pub fn flushed(&self) -> u32 {
        self.count / self.layout.keys_per_page * self.layout.keys_per_page
    }

    /// Number of pages on flash that are needed: key pages, what L1 holds so far, and sets.
    pub fn page_count(&self) -> u32 {
        let l1_size = self.flushes * self.layout.chunk_size;
        let l1 = l1_size.div_ceil(self.layout.page_bits / 8) * self.layout.partitions;
        let sets = self.lasting * self.layout.filter_bits + self.layout.set_pages(self.set.step);
        self.count / self.layout.keys_per_page + l1 + sets
    }

    /// Insert a key and its pointer. Cost: mostly nothing. In addition, a program for each full
    /// page of keys, a flush of the summary for each full buffer of filters, and a new set for each
    /// full L1.
    pub fn insert<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        key: &[u8],
        pointer: u32,
    ) -> Result<(), IndexError> {
        self.check_key(key)?;
        self.summarise(key);
        let Layout { keys_per_page, entry_size, .. } = self.layout;
        let place = (self.count % keys_per_page) as usize * entry_size;
        let entry = &mut self.keys[place..place + entry_size];
        entry[..key.len()].copy_from_slice(key);
        let pointer = pointer.to_le_bytes();
        entry[key.len()..].copy_from_slice(&pointer[..usize::from(self.config.pointer_size)]);
        self.count += 1;
        if self.count.is_multiple_of(keys_per_page) {
            let (spare, _) = self.pages.split_at_mut(flash.geometry().page_size as usize);
            self.areas.append(flash, KEYS, self.keys, 0, spare)?;
            self.keys.fill(0xFF);
            self.flush_if_full(flash)?;
        }
        Ok(())
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), ConfigError> {
        let (needed, given) = (usize::from(self.config.key_size), key.len());
        if given != needed {
            return Err(ConfigError::KeySize { needed, given });
        }
        Ok(())
    }

    /// Set the key's bits in its filter in the buffer.
    fn summarise(&mut self, key: &[u8]) {
        let Layout { filter_bits, keys_per_filter, .. } = self.layout;
        if self.count.is_multiple_of(keys_per_filter) {
            self.filters += 1;
        }
        let row = (self.filters - 1) * filter_bits;
        for place in positions(key, &self.config, filter_bits) {
            let bit = row + place;
            self.buffer[bit as usize / 8] |= 1 << (bit % 8);
        }
    }

    /// Flush the buffer if its last filter is complete and the key pages are on flash.
    fn flush_if_full<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        let is_complete = self.count.is_multiple_of(self.layout.keys_per_filter);
        if self.filters < self.layout.filters_per_flush || !is_complete {
            return Ok(());
        }
        self.flush_summary(flash)?;
        if self.flushes == self.layout.flushes_max {
            self.write_set(flash)?;
        }
        Ok(())
    }
}
