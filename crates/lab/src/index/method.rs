//! What every index method can do, and the methods by name.

use std::str::FromStr;

use flysch::index::ConfigError;
use flysch::index::pbfilter::FlushUnit;
use flysch::index::runs::Pace;

use super::error::MethodError;
use super::records::Place;
use crate::choice::UnknownChoice;

/// An index from keys to records, on a chip of its own.
pub trait IndexMethod {
    /// Add a key, which is not there, and the number of its record.
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError>;

    /// A key's record moved: `old` is no more.
    fn update(&mut self, key: &[u8], old: u32, new: u32) -> Result<(), MethodError>;

    /// Take a key and its record out.
    fn delete(&mut self, key: &[u8], record: u32) -> Result<(), MethodError>;

    /// Put the places where the key's record may be to `is_there` until it says yes; tell whether
    /// it did.
    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError>;

    /// Pages on flash that are still needed, page equivalents where one is filled in part.
    fn valid_pages(&self) -> u32;

    /// RAM that it takes at this moment.
    fn ram(&self) -> Ram;
}

/// RAM of an index, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ram {
    /// What the paper counts: buffers, and the structures that the method keeps in RAM.
    pub own: usize,
    /// What finds pages on flash, in any method: tables of blocks or a translation layer's map.
    pub tables: usize,
    /// The fields of the structures, counters and the like, as this program lays them out.
    pub fields: usize,
}

impl Ram {
    /// All of it.
    pub const fn total(self) -> usize {
        self.own + self.tables + self.fields
    }
}

/// A method's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MethodName {
    /// `PBFilter` as published: four L1 partitions.
    Pbfilter,
    /// `PBFilter` with sixteen L1 partitions.
    Pbfilter2,
    /// Hash-ordered runs.
    Runs,
    /// Hash-ordered runs with the existence filter.
    RunsFilter,
    /// A B+tree on a page-mapping translation layer.
    Btree,
    /// BFTL whose lists of pages are never compacted.
    Bftl1,
    /// BFTL whose lists are.
    Bftl2,
    /// `SkimpyStash`.
    Skimpystash,
}

impl MethodName {
    /// Every method.
    pub const ALL: [Self; 8] = [
        Self::Pbfilter,
        Self::Pbfilter2,
        Self::Runs,
        Self::RunsFilter,
        Self::Btree,
        Self::Bftl1,
        Self::Bftl2,
        Self::Skimpystash,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pbfilter => "pbfilter",
            Self::Pbfilter2 => "pbfilter2",
            Self::Runs => "runs",
            Self::RunsFilter => "runs+filter",
            Self::Btree => "btree",
            Self::Bftl1 => "bftl1",
            Self::Bftl2 => "bftl2",
            Self::Skimpystash => "skimpystash",
        }
    }

    /// States of the second half of a load over which lookups are spread unless asked otherwise. The
    /// reads of runs rise and fall with each merge, so one state says little; 0 means the end.
    pub(super) const fn usual_states(self) -> u32 {
        match self {
            Self::Runs | Self::RunsFilter => 40,
            _ => 0,
        }
    }
}

impl FromStr for MethodName {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| UnknownChoice::new("index method", name, &known))
    }
}

/// A method with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct MethodSpec {
    /// Which.
    pub name: MethodName,
    /// Keys that it is to hold.
    pub keys: u32,
    /// Bytes of a key.
    pub key_size: usize,
    /// Updates and deletes that will come.
    pub changes: u32,
    /// RAM that it may take in all, bytes; none for the method's usual.
    pub ram: Option<usize>,
    /// The rest.
    pub tuning: Tuning,
}

/// Parameters that only some methods have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// `PBFilter`: bits of a Bloom filter for each key, d.
    pub bits_per_key: u8,
    /// `PBFilter`: bits set for each key, k.
    pub hash_count: u8,
    /// `PBFilter`: what a flush of the summary programs.
    pub flush: FlushUnit,
    /// Runs: when merges are done.
    pub pace: Pace,
    /// B+tree: blocks of the translation layer that it does not offer, per cent.
    pub spare_percent: u32,
    /// BFTL: pages of a list from which it is compacted, C.
    pub list_max: u32,
    /// `SkimpyStash`: keys of a chain, on average.
    pub chain_len: u32,
}

impl Default for Tuning {
    /// The paper's parameters, and merges spread over the inserts.
    fn default() -> Self {
        Self {
            bits_per_key: 16,
            hash_count: 7,
            flush: FlushUnit::Sector,
            pace: Pace::Spread,
            spare_percent: 15,
            list_max: 5,
            chain_len: 8,
        }
    }
}

/// Refuse keys of which a page of the method does not hold enough.
pub(super) fn check_key_size(spec: &MethodSpec, max: usize) -> Result<(), ConfigError> {
    let parameter = "key_size";
    let [given, max] = [spec.key_size, max].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    if given > max {
        return Err(ConfigError::TooLarge { parameter, max, given });
    }
    Ok(())
}
