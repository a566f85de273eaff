//! Access to rows, for queries with several criteria.

use core::ops::Range;

use flysch_nand::Nand;

use super::lookup::Part;
use super::partition::read;
use super::{KEYS, LASTING, PASSING, PbFilter, Set};
use crate::flash::{Flash, FlashError};

impl PbFilter<'_> {
    /// The parts of the summary, in the order of the rows that they cover.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let (step, full) = (self.layout.steps_max(), self.layout.filter_bits);
        let lasting = (0..self.lasting).map(move |number| Set { step, first: number * full });
        let sets = lasting.map(|set| Part::Set(LASTING, set));
        sets.chain([Part::Set(PASSING, self.set), Part::L1, Part::Buffer])
    }

    /// Whether filter `n` and row `n` cover the same rows in both indexes.
    pub(crate) fn has_rows_of(&self, other: &PbFilter<'_>) -> bool {
        self.layout == other.layout && self.count == other.count
    }

    /// Whether a filter matches the key, in the part that was matched last.
    pub(crate) const fn agrees(&self, filter: u32) -> bool {
        self.pages[filter as usize / 8] >> (filter % 8) & 1 != 0
    }

    /// Remove the matches of filters that do not match in the other index.
    pub(crate) fn agree_with(&mut self, other: &PbFilter<'_>) {
        let page_size = self.layout.page_bits as usize / 8;
        let others = &other.pages[..page_size];
        self.pages[..page_size].iter_mut().zip(others).for_each(|(byte, other)| *byte &= other);
    }

    pub(crate) const fn pages_per_filter(&self) -> u32 {
        self.layout.keys_per_filter / self.layout.keys_per_page
    }

    /// The number of the key page that is in RAM.
    pub(crate) const fn open_page(&self) -> u32 {
        self.count / self.layout.keys_per_page
    }

    /// The rows of a key page on flash. Empty if the page is in RAM.
    pub(crate) const fn rows_of(&self, page: u32) -> Range<u32> {
        let first = page * self.layout.keys_per_page;
        first..if page < self.open_page() { first + self.layout.keys_per_page } else { first }
    }

    /// The rows of a key page, on flash or in RAM.
    pub(crate) fn rows_from(&self, page: u32) -> Range<u32> {
        let first = page * self.layout.keys_per_page;
        first..self.count.min(first + self.layout.keys_per_page)
    }

    /// Load a key page. Cost: one read, or none if it is the one in RAM.
    pub(crate) fn load_page<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        page: u32,
    ) -> Result<(), FlashError> {
        if page >= self.open_page() {
            return Ok(());
        }
        let page_size = self.layout.page_bits as usize / 8;
        read(flash, &self.areas, (KEYS, page), &mut self.pages[page_size..2 * page_size])
    }

    /// Whether a row has this key. The row's page must be the last one loaded, or the one in RAM.
    pub(crate) fn is_row_of(&self, page: u32, row: u32, key: &[u8]) -> bool {
        let page_size = self.layout.page_bits as usize / 8;
        let loaded = &self.pages[page_size..2 * page_size];
        let bytes = if page < self.open_page() { loaded } else { &*self.keys };
        let place = (row % self.layout.keys_per_page) as usize * self.layout.entry_size;
        bytes[place..].starts_with(key)
    }
}
