//! What a lookup in a `PBFilter` costs: R of Table 5, of which print leaves several readings.
//!
//! `R = R1 + R2 + [f N_KA [M1/M] / 2] + R3`, where R1 is the initial partitions, R2 the final
//! partitions of the generation begun, R3 those of full generations, and the third term the pages
//! of keys that a filter named wrongly. A square bracket in print may be a floor or a ceiling, f
//! may be at the nominal d or at the bits a filter really has.

use serde::Serialize;

use super::Costs;
use super::bloom::false_positive_rate;
use super::pbfilter::PbFilter;
use super::yao::yao;

/// How R1 is weighted: `[(N_FB - Pf) / N_FB]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// Rounded down, as printed: 0 as soon as there are final partitions.
    Floor,
    /// As a probability.
    Probability,
    /// Rounded up.
    Ceiling,
    /// Always: a key that is absent, or a pointer that is not deleted, is sought everywhere.
    Always,
}

/// How full generations count, of which x = N / (8 Sp M1): printed `[x / 2]` times Yao.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generations {
    /// Half of those that are full.
    HalfOfFloor,
    /// The half rounded down.
    FloorOfHalf,
    /// All that are full.
    Floor,
    /// Half, not rounded.
    Half,
    /// The half rounded up.
    CeilingOfHalf,
}

/// Which chance a filter has to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// With the bits it has for a page of keys, and a filter for each M1 keys.
    OfFilter,
    /// With d bits a key, and each page of keys named by a filter (section 6.2).
    Nominal,
    /// With d bits a key, a filter for each M1 keys, and this many pages read for each.
    NominalByFilter(u8),
    /// With the bits it has for a page of keys, and each page named by a filter.
    OfFilterByPage,
}

/// One way to read R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The weight of R1.
    pub initial: Initial,
    /// The number of full generations.
    pub generations: Generations,
    /// The rate of false positives.
    pub rate: Rate,
    /// Whether the pages read in vain are rounded up.
    pub is_rounded: bool,
}

impl Reading {
    /// The reading that reproduces every R stated in the text. Found by search among the
    /// combinations: a fit to those numbers, no proof that the authors computed so.
    pub const FITTED: Self = Self {
        initial: Initial::Floor,
        generations: Generations::HalfOfFloor,
        rate: Rate::OfFilter,
        is_rounded: true,
    };
    /// The reading that contradicts itself nowhere.
    pub const CONSISTENT: Self =
        Self { initial: Initial::Probability, rate: Rate::Nominal, ..Self::FITTED };

    /// The parts of R for a key that is there: half of what may be read in vain is.
    pub fn lookup(self, index: &PbFilter) -> Lookup {
        self.search(index, 0.5)
    }

    /// The parts of R for a key that is not there.
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
            // Yao's value is a sum of logarithms, and may lie just above a whole number.
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

    /// Half of the full generations, by this reading.
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

    /// Pages that filters may name. Printed `N_KA [M1/M]` is taken as `N_KA / (M1/M)`.
    fn pages_named(self, index: &PbFilter) -> f64 {
        let filters = index.key_pages / (index.keys_per_filter / index.entries_per_page);
        match self.rate {
            Rate::OfFilter => filters,
            Rate::Nominal | Rate::OfFilterByPage => index.key_pages,
            Rate::NominalByFilter(pages) => filters * f64::from(pages),
        }
    }
}

/// Reads of the final partitions of the generation begun: Yao(Sb/s, Pf/s, k), as k bits lie within
/// one of s hash buckets.
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
    /// R1: initial partitions.
    #[serde(rename = "R1")]
    pub initial: f64,
    /// R2: final partitions of the generation begun.
    #[serde(rename = "R2")]
    pub last: f64,
    /// R2 before rounding.
    #[serde(rename = "yaoR2")]
    pub last_unrounded: f64,
    /// Pages of keys read in vain, before rounding.
    #[serde(rename = "fp")]
    pub false_pages_unrounded: f64,
    /// R3: full generations.
    #[serde(rename = "R3")]
    pub full: f64,
    /// Pages of keys read in vain.
    #[serde(skip)]
    pub false_pages: f64,
}

impl Lookup {
    /// R. Neither the page of the key itself nor that of the record is in it.
    pub fn total(&self) -> f64 {
        self.initial + self.last + self.false_pages + self.full
    }
}

/// Table 5 for a `PBFilter`.
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
