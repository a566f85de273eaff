//! `PBFilter` in closed form: its column of Tables 4 and 5.

use serde::Serialize;

use super::error::{ModelError, check_bounds};
use super::setting::Setting;

/// The tunable parameters of Table 2: d, k, L1, s and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// d: bits of a Bloom filter for each key.
    pub bits_per_key: u32,
    /// k: number of hash functions.
    pub hash_count: u32,
    /// L1: number of initial partitions. The note to Table 4 says that L1 is the number of their
    /// pages. But `R1` and the text about PBF2 ("16 L1 partitions of 4 pages each") only make sense
    /// if it is the number of partitions.
    pub partitions: u32,
    /// s: sectors of a page, and pages of an initial partition.
    pub sectors: u32,
    /// B: buffer pages in RAM.
    pub buffers: u32,
}

impl Tuning {
    /// PBF, also called PBF1, of section 6.1.3: d = 16, k = 7, 4 initial partitions, 7 buffers.
    pub const PUBLISHED: Self =
        Self { bits_per_key: 16, hash_count: 7, partitions: 4, sectors: 4, buffers: 7 };
    /// PBF2: 16 initial partitions, and 12 more buffers for them.
    pub const MORE_PARTITIONS: Self = Self { partitions: 16, buffers: 19, ..Self::PUBLISHED };

    /// Check that the model can handle these parameters: a filter must fit in a page, and must have
    /// a bit for each page of the initial partitions.
    pub fn check(&self, setting: &Setting) -> Result<(), ModelError> {
        let entries = setting.entries_per_page();
        let page_bits = 1 << (setting.page_size * 8).ilog2();
        check_bounds(&[
            ("bits of a filter per key (d)", self.bits_per_key, 1, page_bits / entries),
            ("hash functions (k)", self.hash_count, 1, 32),
            ("sectors of a page (s)", self.sectors, 1, 64),
            ("buffers (B)", self.buffers, 1, 1 << 16),
        ])?;
        let filter_bits = (entries * self.bits_per_key).next_power_of_two();
        let most = filter_bits / self.sectors;
        check_bounds(&[("initial partitions (L1)", self.partitions, self.sectors, most)])
    }
}

/// How the pages of the summary are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryPages {
    /// floor(N / (M1 Mb)): a filter covers as many keys as it has bits for.
    ByKeys,
    /// `floor(N_KA / Mb)`, as printed: each page of keys has a filter, which contradicts M1. Both
    /// are the same if M d is a power of two.
    ByKeyPages,
}

/// The variables of Table 4.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PbFilter {
    /// M: entries in a page of keys.
    #[serde(rename = "M")]
    pub entries_per_page: f64,
    /// `N_KA`: pages of keys.
    #[serde(rename = "NKA")]
    pub key_pages: f64,
    /// Sb: bits of a filter, which is M d rounded up to a power of two (footnote 3).
    #[serde(rename = "Sb")]
    pub filter_bits: f64,
    /// Mb: filters in a page.
    #[serde(rename = "Mb")]
    pub filters_per_page: f64,
    /// M1: keys that a filter covers.
    #[serde(rename = "M1")]
    pub keys_per_filter: f64,
    /// Pages of the summary that have been filled.
    #[serde(rename = "nska")]
    pub summary_pages: f64,
    /// Nr: number of reorganisations.
    #[serde(rename = "Nr")]
    pub reorganisations: f64,
    /// Reorganisations in a generation, after which there is a partition for each bit.
    #[serde(rename = "per_gen")]
    pub steps_per_generation: f64,
    /// Number of complete generations.
    #[serde(rename = "gens")]
    pub generations: f64,
    /// Pf: final partitions of the current generation.
    #[serde(rename = "Pf")]
    pub final_partitions: f64,
    /// Pages in the initial partitions. The printed formula has "/ s * s" instead of L1.
    #[serde(rename = "l1pages")]
    pub initial_pages: f64,
    /// `N_FB`: pages of valid filters.
    #[serde(rename = "NFB")]
    pub valid_pages: f64,
    /// `N_E`: pages that can be erased.
    #[serde(rename = "NE")]
    pub erasable_pages: f64,
    /// The setting that these variables were computed for.
    #[serde(skip)]
    pub setting: Setting,
    /// The parameters that these variables were computed for.
    #[serde(skip)]
    pub tuning: Tuning,
}

impl PbFilter {
    /// The index after all insertions.
    pub fn new(setting: Setting, tuning: Tuning, pages: SummaryPages) -> Self {
        let entries = setting.entries_per_page();
        let filter_bits = (entries * tuning.bits_per_key).next_power_of_two();
        let filters_per_page = setting.page_size * 8 / filter_bits;
        let keys_per_filter = filter_bits / tuning.bits_per_key;
        let key_pages = setting.keys.div_ceil(entries);
        let summary_pages = match pages {
            SummaryPages::ByKeys => setting.keys / (keys_per_filter * filters_per_page),
            SummaryPages::ByKeyPages => key_pages / filters_per_page,
        };
        // The flash buffer of the initial partitions, which a reorganisation empties.
        let buffer = tuning.partitions * tuning.sectors;
        let reorganisations = summary_pages / buffer;
        let steps = filter_bits / buffer;
        let generations = setting.keys / (setting.page_size * 8 * keys_per_filter);
        // The printed formula does not take this remainder. Without it, 2^ceil(log2(61/128)) would
        // leave 8 of 16 partitions.
        let begun = reorganisations % steps;
        let final_partitions = if begun == 0 { 0 } else { buffer * begun.next_power_of_two() };
        let initial = (summary_pages % buffer).div_ceil(tuning.partitions) * tuning.partitions;
        let superseded = generations * superseded(steps) + superseded(begun) + reorganisations;
        let [valid, erasable] =
            [generations * filter_bits + final_partitions + initial, superseded * buffer];
        Self {
            entries_per_page: f64::from(entries),
            key_pages: f64::from(key_pages),
            filter_bits: f64::from(filter_bits),
            filters_per_page: f64::from(filters_per_page),
            keys_per_filter: f64::from(keys_per_filter),
            summary_pages: f64::from(summary_pages),
            reorganisations: f64::from(reorganisations),
            steps_per_generation: f64::from(steps),
            generations: f64::from(generations),
            final_partitions: f64::from(final_partitions),
            initial_pages: f64::from(initial),
            valid_pages: f64::from(valid),
            erasable_pages: f64::from(erasable),
            setting,
            tuning,
        }
    }

    /// Number of reorganisations until a generation is full.
    pub(super) fn steps(&self) -> u32 {
        let Tuning { bits_per_key, partitions, sectors, .. } = self.tuning;
        let bits = (self.setting.entries_per_page() * bits_per_key).next_power_of_two();
        bits / (partitions * sectors)
    }

    /// W: pages of keys, of valid filters, and pages that can be erased.
    pub fn w_pages(&self) -> f64 {
        self.vp_pages() + self.erasable_pages
    }

    /// VP: pages of keys and of valid filters.
    pub fn vp_pages(&self) -> f64 {
        self.key_pages + self.valid_pages
    }

    /// The size of the summary as a share of the size of the keys.
    pub fn summary_share(&self) -> f64 {
        self.valid_pages / self.key_pages
    }
}

/// The partitions that a generation's first `steps` reorganisations replaced, in units of the flash
/// buffer: the sum of 2^ceil(log2(i - 1)) for i from 2.
fn superseded(steps: u32) -> u32 {
    (2..=steps).map(|step| (step - 1).next_power_of_two()).sum()
}
