//! The two index structures that scan: keys in one sequence of pages, and their Bloom filters in
//! another. Nothing is partitioned (section 7.3.4, structures 1 and 2; the engine of section 7.3.3
//! uses the second).

use flysch_indexes::pbfilter::{PbConfig, Placement};
use flysch_nand::{Nand, PageAddr};

use super::device::{Device, blank};
use super::work::{Layout, Work};
use crate::paper::Cause;

/// Number of hash buckets in a filter, for the pre-hashing.
const BUCKETS: u32 = 4;
/// The first page of the summary: keys and filters have one half of the chip each.
const SUMMARY_AT: u32 = 32 * 1024;

/// The sequence of keys and the sequence of their filters.
pub(super) struct Sequence {
    pub(super) device: Device,
    config: PbConfig,
    entries: u32,
    filter_bits: u32,
    page_size: usize,
    /// The key page that is being filled.
    open: Vec<u8>,
    /// The summary page that is being filled.
    filters: Vec<u8>,
    count: u32,
    summary_pages: u32,
    work: Work,
}

impl Sequence {
    /// Empty sequences, with the parameters of an index.
    pub(super) fn new(config: PbConfig) -> Result<Self, Cause> {
        let device = blank()?;
        let page_size = device.geometry().page_size;
        let entries = page_size / (u32::from(config.key_size) + 4);
        Ok(Self {
            config,
            entries,
            filter_bits: (entries * u32::from(config.bits_per_key)).next_power_of_two(),
            page_size: page_size as usize,
            open: Vec::new(),
            filters: vec![0; page_size as usize],
            count: 0,
            summary_pages: 0,
            work: Work::default(),
            device,
        })
    }

    /// Append a key. Its number is its pointer.
    pub(super) fn insert(&mut self, key: &[u8]) -> Result<(), Cause> {
        let row = self.buffered_filters() * self.filter_bits;
        for bit in self.bits(key) {
            self.filters[((row + bit) / 8) as usize] |= 1 << ((row + bit) % 8);
        }
        self.open.extend_from_slice(key);
        self.open.extend_from_slice(&self.count.to_le_bytes());
        self.count += 1;
        if self.count.is_multiple_of(self.entries) {
            self.open.resize(self.page_size, 0xFF);
            let page = PageAddr(self.count / self.entries - 1);
            self.device.program(page, 0, &self.open, &[])?;
            self.open.clear();
            if self.buffered_filters() == 0 {
                let page = PageAddr(SUMMARY_AT + self.summary_pages);
                self.device.program(page, 0, &self.filters, &[])?;
                self.filters.fill(0);
                self.summary_pages += 1;
            }
        }
        Ok(())
    }

    /// Structure 1: compare all keys until the key is found. Returns the work.
    pub(super) fn scan_keys(&mut self, key: &[u8]) -> Result<Work, Cause> {
        self.work = Work::default();
        let mut is_found = self.search_open(key);
        for page in 0..self.count / self.entries {
            is_found = is_found || self.search_page(page, key)?;
        }
        if is_found { Ok(self.work) } else { Err("a key of the sequence is not found".into()) }
    }

    /// Structure 2: test all filters, and compare the keys of those that match. Returns the work.
    pub(super) fn scan_summary(&mut self, key: &[u8]) -> Result<Work, Cause> {
        self.work = Work::hashing(super::hashes::CALLS, u32::from(self.config.key_size));
        let mut is_found = self.search_open(key);
        let bits = self.bits(key);
        let per_page = self.filters_per_page();
        let mut page = vec![0; self.page_size];
        for number in 0..=self.summary_pages {
            let held = if number < self.summary_pages { per_page } else { self.buffered_filters() };
            if is_found {
                break;
            }
            if number < self.summary_pages {
                self.device.read(PageAddr(SUMMARY_AT + number), 0, &mut page)?;
            } else {
                page.copy_from_slice(&self.filters);
            }
            for filter in 0..held {
                let agrees = self.test(&page, filter, &bits);
                if agrees && self.search_page(number * per_page + filter, key)? {
                    is_found = true;
                    break;
                }
            }
        }
        if is_found { Ok(self.work) } else { Err("a key of the sequence is not found".into()) }
    }

    fn filters_per_page(&self) -> u32 {
        u32::try_from(self.page_size).unwrap_or(u32::MAX) * 8 / self.filter_bits
    }

    /// Number of filters in RAM that belong to complete key pages.
    fn buffered_filters(&self) -> u32 {
        self.count / self.entries % self.filters_per_page()
    }

    /// Positions of a key's bits in its filter.
    fn bits(&self, key: &[u8]) -> Vec<u32> {
        let bucket_bits = self.filter_bits / BUCKETS;
        let mut places = vec![0; usize::from(self.config.hash_count)];
        let Placement(place) = self.config.placement;
        let bucket = place(key, self.config.seed, bucket_bits, &mut places) % BUCKETS;
        places.into_iter().map(|place| bucket * bucket_bits + place).collect()
    }

    /// Whether a filter matches. Its bits are tested up to the first that is not set.
    fn test(&mut self, page: &[u8], filter: u32, bits: &[u32]) -> bool {
        let row = filter * self.filter_bits;
        let is_set = |bit: u32| page[((row + bit) / 8) as usize] >> ((row + bit) % 8) & 1 != 0;
        let set = bits.iter().take_while(|&&bit| is_set(bit)).count();
        let tested = (set + 1).min(bits.len());
        self.work += Work::testing(Layout::Whole, 1, flysch_charts::number::real_len(tested));
        set == bits.len()
    }

    fn search_open(&mut self, key: &[u8]) -> bool {
        let open = std::mem::take(&mut self.open);
        let is_found = self.search(&open, key);
        self.open = open;
        is_found
    }

    fn search_page(&mut self, page: u32, key: &[u8]) -> Result<bool, Cause> {
        let mut bytes = vec![0; self.page_size];
        self.device.read(PageAddr(page), 0, &mut bytes)?;
        let entry_size = key.len() + 4;
        bytes.truncate(self.entries as usize * entry_size);
        Ok(self.search(&bytes, key))
    }

    /// Compare entries with a key, up to the first that has it. Returns whether one has it.
    fn search(&mut self, entries: &[u8], key: &[u8]) -> bool {
        for entry in entries.chunks_exact(key.len() + 4) {
            self.work += Work::comparing(1);
            if entry.starts_with(key) {
                return true;
            }
        }
        false
    }
}
