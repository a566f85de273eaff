//! The options of `flysch index bench` that only some methods have.

use clap::ValueEnum;
use flysch_indexes::pbfilter::FlushUnit;
use flysch_indexes::runs::Pace;
use flysch_lab::index::method::{MethodName, Tuning};

use crate::failure::Failure;
use crate::numbers::{Numbers, optional};

/// Parameters of some methods.
#[derive(Debug, clap::Args)]
pub(super) struct OwnOptions {
    /// pbfilter: bits of the Bloom filter for each key, called d [default: 16]
    #[arg(long, value_name = "BITS")]
    bits_per_key: Option<Numbers>,
    /// pbfilter: bits that each key sets, called k [default: 7]
    #[arg(long, value_name = "N")]
    hash_count: Option<Numbers>,
    /// pbfilter: what a flush of the summary programs [default: sector]
    #[arg(long, value_enum)]
    flush: Option<Unit>,
    /// runs: when merges happen [default: spread]
    #[arg(long, value_enum)]
    pace: Option<When>,
    /// btree: percent of the blocks that the translation layer keeps in reserve [default: 15]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=90))]
    spare_percent: Option<u32>,
    /// bftl2: longest list of a node in pages before it is compacted, called C [default: 5]
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..))]
    list_max: Option<u32>,
    /// skimpystash: average number of keys in a chain [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    chain_len: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unit {
    /// Sectors: programs pages in parts and out of order
    Sector,
    /// Whole pages, which every chip allows
    Page,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// A bounded part of the merge at each insert
    Spread,
    /// The whole merge at the insert that causes it
    Synchronous,
}

impl OwnOptions {
    /// Refuse an option that none of the methods has.
    pub(super) fn check_use(&self, methods: &[MethodName]) -> Result<(), Failure> {
        use MethodName::{Bftl2, Btree, Pbfilter, Pbfilter2, Runs, RunsFilter, Skimpystash};
        let given: [(&str, bool, &[MethodName]); 7] = [
            ("bits-per-key", self.bits_per_key.is_some(), &[Pbfilter, Pbfilter2]),
            ("hash-count", self.hash_count.is_some(), &[Pbfilter, Pbfilter2]),
            ("flush", self.flush.is_some(), &[Pbfilter, Pbfilter2]),
            ("pace", self.pace.is_some(), &[Runs, RunsFilter]),
            ("spare-percent", self.spare_percent.is_some(), &[Btree]),
            ("list-max", self.list_max.is_some(), &[Bftl2]),
            ("chain-len", self.chain_len.is_some(), &[Skimpystash]),
        ];
        let is_idle = |whose: &[MethodName]| !methods.iter().any(|it| whose.contains(it));
        match given.iter().find(|(_, is_given, whose)| *is_given && is_idle(whose)) {
            Some((name, _, whose)) => {
                let whose: Vec<&str> = whose.iter().map(|it| it.name()).collect();
                Err(Failure::Message(format!("--{name} is for {}", whose.join(" and "))))
            }
            None => Ok(()),
        }
    }

    /// The bits of each key in the filter, of which every value is run.
    pub(super) fn bits_per_key(&self) -> Result<Vec<u8>, Failure> {
        small("bits-per-key", self.bits_per_key.as_ref(), Tuning::default().bits_per_key)
    }

    /// How many bits each key sets, of which every value is run.
    pub(super) fn hash_counts(&self) -> Result<Vec<u8>, Failure> {
        small("hash-count", self.hash_count.as_ref(), Tuning::default().hash_count)
    }

    /// The parameters that have one value.
    pub(super) fn tuning(&self) -> Tuning {
        let plain = Tuning::default();
        let flush = self.flush.map_or(plain.flush, |flush| match flush {
            Unit::Sector => FlushUnit::Sector,
            Unit::Page => FlushUnit::Page,
        });
        let pace = self.pace.map_or(plain.pace, |pace| match pace {
            When::Spread => Pace::Spread,
            When::Synchronous => Pace::Synchronous,
        });
        Tuning {
            flush,
            pace,
            spare_percent: self.spare_percent.unwrap_or(plain.spare_percent),
            list_max: self.list_max.unwrap_or(plain.list_max),
            chain_len: self.chain_len.unwrap_or(plain.chain_len),
            ..plain
        }
    }
}

/// Numbers that fit in a byte, or the one that stands for none.
fn small(name: &str, numbers: Option<&Numbers>, plain: u8) -> Result<Vec<u8>, Failure> {
    let small = |value: u32| {
        u8::try_from(value)
            .map_err(|_| Failure::Message(format!("--{name} {value}: must be at most 255")))
    };
    let given: Vec<u8> =
        optional(name, numbers)?.into_iter().map(small).collect::<Result<_, _>>()?;
    Ok(if given.is_empty() { vec![plain] } else { given })
}
