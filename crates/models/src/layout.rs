//! Simulates a growing `PBFilter` page by page, which shows what the closed forms leave out.
//!
//! There are no keys and no bits, only counters of pages: each flush of the summary and each
//! reorganisation is simulated. The results confirm W, IR, VP and OP of the closed forms to the
//! page. In addition, they give the number of programs if sectors are flushed, the reads with
//! little RAM, and how many obsolete pages are in blocks with no other content.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::pbfilter::{PbFilter, Tuning};

/// How much a flush programs in each initial partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// A sector. The RAM holds one page of filters for each s partitions.
    Sector,
    /// A page. The RAM holds a page for each partition.
    Page,
}

/// The counts of pages of an index that has grown.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Layout {
    /// Sectors programmed in initial partitions.
    pub sector_programs: u32,
    /// Programs of initial partitions.
    pub page_programs_l1: u32,
    /// Pages of initial partitions used over the whole growth.
    pub l1_pages_written: u32,
    pub final_pages_written: u32,
    /// Pages that reorganisations read, each once.
    pub reads: u32,
    /// Pages read with only two page buffers. For each written partition these are its s initial
    /// pages and its part of the old set.
    pub reads_lowram: u32,
    pub reorgs: u32,
    pub erasable: u32,
    /// The most summary pages at the same time, including the old and the new ones of a
    /// reorganisation.
    pub peak: u32,
    pub gens: u32,
    /// Final partitions of the current generation.
    pub last_partitions: u32,
    /// Pages of initial partitions in use.
    pub l1_pages: u32,
    /// Flushes of the summary's buffer.
    pub flushes: u32,
    /// Number of filters completed.
    pub blooms: u32,
    /// Pages of keys completed.
    pub ka_pages: u32,
    /// Number of filters in RAM.
    pub ram_blooms: u32,
    /// Pages of the valid summary.
    pub valid_ska: u32,
    /// VP: pages of the valid summary and of keys.
    #[serde(rename = "VP")]
    pub vp_pages: u32,
    /// W, in pages that were used.
    #[serde(rename = "W_pages")]
    pub w_pages: u32,
    /// W, in program operations.
    #[serde(rename = "W_programs")]
    pub w_programs: u32,
    /// Whether W equals VP plus the erasable pages, as it must.
    pub check: bool,
    /// Blocks of 64 pages that the summary used.
    pub blocks_used: u32,
    /// Blocks of 64 pages that hold only obsolete summary pages.
    pub blocks_erasable: u32,
    /// Obsolete pages in blocks that also hold valid ones.
    pub obsolete_pages_stuck: u32,
    /// Filters that one flush writes.
    #[serde(skip)]
    pub filters_per_flush: u32,
    /// Flushes since the last reorganisation.
    #[serde(skip)]
    pub flushes_pending: u32,
    /// Reorganisations since the last full generation.
    #[serde(skip)]
    pub steps: u32,
}

/// Pages in a block, as usual for chips of that time.
const PAGES_PER_BLOCK: u32 = 64;

impl Layout {
    /// Simulate an index that grows to the number of keys in `index`.
    pub fn grow(index: &PbFilter, flush: Flush) -> Self {
        let Tuning { partitions, sectors, bits_per_key, .. } = index.tuning;
        let entries = index.setting.entries_per_page();
        let filter_bits = (entries * bits_per_key).next_power_of_two();
        let chunk_pages = match flush {
            Flush::Sector => partitions / sectors,
            Flush::Page => partitions,
        };
        let flushes_max = match flush {
            Flush::Sector => sectors * sectors,
            Flush::Page => sectors,
        };
        let ka_pages = index.setting.keys / entries;
        let blooms = index.setting.keys / (filter_bits / bits_per_key);
        let filters_per_flush = index.setting.page_size * 8 / filter_bits * chunk_pages;
        let flushes = blooms / filters_per_flush;
        let flushes_pending = flushes % flushes_max;
        let sectors_per_flush = sectors * sectors / flushes_max;
        let mut layout = Self {
            reorgs: flushes / flushes_max,
            page_programs_l1: flushes * partitions,
            sector_programs: flushes * partitions * sectors_per_flush,
            l1_pages: (flushes_pending * sectors_per_flush).div_ceil(sectors) * partitions,
            flushes,
            blooms,
            ka_pages,
            ram_blooms: blooms - flushes * filters_per_flush,
            filters_per_flush,
            flushes_pending,
            ..Self::default()
        };
        layout.reorganise(partitions * sectors, filter_bits, sectors);
        layout.sum_up(partitions * sectors, filter_bits);
        layout
    }

    /// Simulate all reorganisations. Each one empties a buffer of `buffer` pages.
    fn reorganise(&mut self, buffer: u32, filter_bits: u32, sectors: u32) {
        let mut obsolete = Obsolete::default();
        let mut end = 0;
        let mut old = 0..0;
        for _ in 0..self.reorgs {
            let initial = end..end + buffer;
            self.steps += 1;
            let new = initial.end..initial.end + buffer * self.steps.next_power_of_two();
            end = new.end;
            let (old_len, new_len) = (len(&old), len(&new));
            let held = self.gens * filter_bits + old_len + new_len + buffer;
            self.peak = self.peak.max(held);
            self.reads += buffer + old_len;
            self.reads_lowram += new_len * (sectors + u32::from(old_len > 0));
            self.final_pages_written += new_len;
            obsolete.add(initial);
            obsolete.add(old);
            old = new;
            if new_len == filter_bits && self.steps == filter_bits / buffer {
                self.gens += 1;
                self.steps = 0;
                old = 0..0;
            }
        }
        self.last_partitions = len(&old);
        self.erasable = obsolete.pages();
        self.blocks_erasable = obsolete.blocks();
        self.obsolete_pages_stuck = self.erasable - self.blocks_erasable * PAGES_PER_BLOCK;
        self.blocks_used = (end + self.l1_pages).div_ceil(PAGES_PER_BLOCK);
    }

    fn sum_up(&mut self, buffer: u32, filter_bits: u32) {
        self.l1_pages_written = self.reorgs * buffer + self.l1_pages;
        self.valid_ska = self.gens * filter_bits + self.last_partitions + self.l1_pages;
        self.vp_pages = self.ka_pages + self.valid_ska;
        self.w_pages = self.ka_pages + self.l1_pages_written + self.final_pages_written;
        self.w_programs = self.ka_pages + self.page_programs_l1 + self.final_pages_written;
        self.check = self.w_pages == self.vp_pages + self.erasable;
    }
}

fn len(pages: &Range<u32>) -> u32 {
    pages.end - pages.start
}

/// Number of obsolete pages in each block, by block number.
#[derive(Debug, Default)]
struct Obsolete(BTreeMap<u32, u32>);

impl Obsolete {
    fn add(&mut self, pages: Range<u32>) {
        for page in pages {
            *self.0.entry(page / PAGES_PER_BLOCK).or_default() += 1;
        }
    }

    fn pages(&self) -> u32 {
        self.0.values().sum()
    }

    fn blocks(&self) -> u32 {
        self.0.values().map(|&pages| u32::from(pages == PAGES_PER_BLOCK)).sum()
    }
}
