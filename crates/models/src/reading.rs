//! The cost of a lookup in a `PBFilter`: R of Table 5. The printed formula can be interpreted in
//! several ways; a [`Reading`] is one interpretation.
//!
//! `R = R1 + R2 + [f N_KA [M1/M] / 2] + R3`. R1 is for the initial partitions, R2 for the final
//! partitions of the current generation, and R3 for those of full generations. The third term
//! counts the pages of keys that are read because of false positives. A printed square bracket may
//! be a floor or a ceiling. f may be meant for the nominal d, or for the number of bits that a
//! filter really has.

use serde::Serialize;

use super::Costs;
use super::bloom::false_positive_rate;
use super::pbfilter::PbFilter;
use super::yao::yao;

/// How R1 is weighted: `[(N_FB - Pf) / N_FB]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// Rounded down, as printed. It is 0 as soon as there are final partitions.
    Floor,
    /// Not rounded, as a probability.
    Probability,
    /// Rounded up to 1.
    Ceiling,
    /// Always 1. For an absent key, or a pointer that is not deleted, all pages are searched.
    Always,
}

/// How full generations are counted. With x = N / (8 Sp M1), the paper prints `[x / 2]` times Yao.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generations {
    /// Half of the complete generations.
    HalfOfFloor,
    /// Half of x, rounded down.
    FloorOfHalf,
    /// All complete generations, as whole numbers.
    Floor,
    /// Half of x, not rounded.
    Half,
    /// Half of x, rounded up.
    CeilingOfHalf,
}

/// Which false-positive rate a filter has, and how many pages a false positive reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// The rate for the bits that a filter has for a page of keys. There is a filter for each M1
    /// keys.
    OfFilter,
    /// The rate for d bits a key. Each page of keys has a filter (section 6.2).
    Nominal,
    /// The rate for d bits a key. There is a filter for each M1 keys, and a false positive reads
    /// this many pages.
    NominalByFilter(u8),
    /// The rate for the bits that a filter has for a page of keys. Each page has a filter.
    OfFilterByPage,
}

/// One interpretation of the formula of R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The weight of R1.
    pub initial: Initial,
    /// The number of full generations.
    pub generations: Generations,
    /// The rate of false positives.
    pub rate: Rate,
    /// Whether the pages read because of false positives are rounded up.
    pub is_rounded: bool,
}

impl Reading {
    /// The interpretation that gives every R in the paper's text. It was found by a search through
    /// the combinations. It fits those numbers, but this does not prove that the authors used it.
    pub const FITTED: Self = Self {
        initial: Initial::Floor,
        generations: Generations::HalfOfFloor,
        rate: Rate::OfFilter,
        is_rounded: true,
    };
    /// The interpretation without contradictions in itself.
    pub const CONSISTENT: Self =
        Self { initial: Initial::Probability, rate: Rate::Nominal, ..Self::FITTED };

    /// The parts of R for a present key. On average, half of what a lookup of an absent key
    /// searches is searched.
    pub fn lookup(self, index: &PbFilter) -> Lookup {
        self.search(index, 0.5)
    }

    /// The parts of R for an absent key.
    pub fn absent(self, index: &PbFilter) -> Lookup {
        self.search(index, 1.0)
    }

    fn search(self, index: &PbFilter, share: f64) -> Lookup {
        let rate = self.rate_of(index);
        let pages = rate * self.pages_named(index) * share;
        let final_reads = final_reads(index);
        Lookup {
            initial: self.initial_weight(index) * share * index.initial_pages
                / f64::from(index.tuning.partitions),
            // Yao's value is computed from logarithms and may be slightly above a whole number.
            last: (final_reads - 1e-6).ceil(),
            last_unrounded: final_reads,
            full: self.generations_read(index) * share * 2.0 * f64::from(index.tuning.hash_count),
            rate,
            false_pages_unrounded: pages,
            false_pages: if self.is_rounded { pages.ceil() } else { pages },
        }
    }

    fn initial_weight(self, index: &PbFilter) -> f64 {
        let share = match index.valid_pages {
            0.0 => 0.0,
            all => (all - index.final_partitions) / all,
        };
        match self.initial {
            Initial::Floor => share.floor(),
            Initial::Probability => share,
            Initial::Ceiling => share.ceil(),
            Initial::Always => 1.0,
        }
    }

    /// Half of the full generations, by this interpretation.
    fn generations_read(self, index: &PbFilter) -> f64 {
        let page_bits = f64::from(index.setting.page_size * 8);
        let full = f64::from(index.setting.keys) / (page_bits * index.keys_per_filter);
        match self.generations {
            Generations::HalfOfFloor => full.floor() / 2.0,
            Generations::FloorOfHalf => (full / 2.0).floor(),
            Generations::Floor => full.floor(),
            Generations::Half => full / 2.0,
            Generations::CeilingOfHalf => (full / 2.0).ceil(),
        }
    }

    fn rate_of(self, index: &PbFilter) -> f64 {
        let hash_count = index.tuning.hash_count;
        match self.rate {
            Rate::OfFilter | Rate::OfFilterByPage => {
                false_positive_rate(index.filter_bits / index.entries_per_page, hash_count)
            }
            Rate::Nominal | Rate::NominalByFilter(_) => {
                false_positive_rate(f64::from(index.tuning.bits_per_key), hash_count)
            }
        }
    }

    /// The number of pages of keys that filters may refer to. The printed `N_KA [M1/M]` is
    /// interpreted as `N_KA / (M1/M)`.
    fn pages_named(self, index: &PbFilter) -> f64 {
        let filters = index.key_pages / (index.keys_per_filter / index.entries_per_page);
        match self.rate {
            Rate::OfFilter => filters,
            Rate::Nominal | Rate::OfFilterByPage => index.key_pages,
            Rate::NominalByFilter(pages) => filters * f64::from(pages),
        }
    }
}

/// Reads of the final partitions of the current generation: Yao(Sb/s, Pf/s, k), because all k bits
/// lie in one of s hash buckets.
pub fn final_reads(index: &PbFilter) -> f64 {
    let sectors = f64::from(index.tuning.sectors);
    if index.final_partitions == 0.0 {
        return 0.0;
    }
    let (bits, pages) = (index.filter_bits / sectors, index.final_partitions / sectors);
    yao(bits, pages, f64::from(index.tuning.hash_count))
}

/// The parts of R.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Lookup {
    /// f: the rate of false positives.
    #[serde(rename = "f")]
    pub rate: f64,
    /// R1: reads of initial partitions.
    #[serde(rename = "R1")]
    pub initial: f64,
    /// R2: reads of final partitions of the current generation.
    #[serde(rename = "R2")]
    pub last: f64,
    /// R2 before it is rounded.
    #[serde(rename = "yaoR2")]
    pub last_unrounded: f64,
    /// Pages of keys read because of false positives, before rounding.
    #[serde(rename = "fp")]
    pub false_pages_unrounded: f64,
    /// R3: reads of full generations.
    #[serde(rename = "R3")]
    pub full: f64,
    /// Pages of keys read because of false positives.
    #[serde(skip)]
    pub false_pages: f64,
}

impl Lookup {
    /// R. It includes neither the page of the key itself nor that of the record.
    pub fn total(&self) -> f64 {
        self.initial + self.last + self.false_pages + self.full
    }
}

/// The costs of Table 5 for a `PBFilter`.
pub fn costs(index: &PbFilter, reading: Reading) -> Costs {
    Costs {
        r_pages: reading.lookup(index).total(),
        ir_pages: index.erasable_pages,
        w_pages: index.w_pages(),
        ram_kb: index.setting.buffers_kb(index.tuning.buffers),
        vp_pages: index.vp_pages(),
        op_pages: index.erasable_pages,
    }
}
