//! The operations of every index method, and the methods by name.

use flysch_indexes::ConfigError;
use flysch_indexes::pbfilter::FlushUnit;
use flysch_indexes::runs::Pace;
use flysch_names::named;
use flysch_nand::Geometry;
use strum::{IntoStaticStr, VariantArray};

use super::error::MethodError;
use super::records::Place;

/// An index from keys to record numbers, on a chip of its own.
pub trait IndexMethod {
    /// Insert a key with the number of its record. The key must not be in the index, unless the
    /// index was made for several rows of a key.
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError>;

    /// Replace the record number `old` of a key by `new`.
    fn update(&mut self, key: &[u8], old: u32, new: u32) -> Result<(), MethodError>;

    /// Remove a key and the number of its record.
    fn delete(&mut self, key: &[u8], record: u32) -> Result<(), MethodError>;

    /// Call `is_there` with each place where the key's record may be, until it returns true.
    /// Returns whether it did.
    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError>;

    /// Pages on flash that are still needed. A partly filled page counts as its share of a page.
    fn valid_pages(&self) -> u32;

    /// The RAM that the index uses at this moment.
    fn ram(&self) -> Ram;
}

/// RAM of an index in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ram {
    /// RAM as the paper counts it: buffers and the data structures that the method keeps in RAM.
    pub own: usize,
    /// RAM for finding pages on flash: tables of blocks, or the map of a translation layer.
    pub tables: usize,
    /// The sizes of this program's structs, with counters and the like.
    pub fields: usize,
}

impl Ram {
    /// The sum of all three.
    pub const fn total(self) -> usize {
        self.own + self.tables + self.fields
    }
}

/// The name of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum MethodName {
    /// `PBFilter` as published, with four L1 partitions.
    Pbfilter,
    /// `PBFilter` with sixteen L1 partitions.
    Pbfilter2,
    /// Runs of entries ordered by hash, with a log of their own.
    Runs,
    /// Hash-ordered runs with the existence filter.
    #[strum(serialize = "runs+filter")]
    RunsFilter,
    /// Hash-ordered runs whose flash also holds a filter of the keys that exist.
    Btree,
    /// BFTL that never compacts its lists of pages.
    Bftl1,
    /// BFTL that compacts its lists of pages.
    Bftl2,
    Skimpystash,
    /// The index store of the database, alone on a chip.
    Store,
    /// The same index store, ordered by keys.
    #[strum(serialize = "store+order")]
    StoreOrdered,
}

named!(MethodName, "index method");

impl MethodName {
    /// The default number of points in the second half of a load at which lookups are made. The
    /// reads of runs rise and fall with each merge, so one point would say little. 0 stands for the
    /// end of the load.
    pub(super) const fn usual_states(self) -> u32 {
        match self {
            Self::Runs | Self::RunsFilter | Self::Store | Self::StoreOrdered => 40,
            _ => 0,
        }
    }

    /// The parameters with the method's own values, and plain ones for those that it does not have.
    pub fn own(self, tuning: Tuning) -> Tuning {
        let Tuning { bits_per_key, hash_count, flush, pace, .. } = tuning;
        let Tuning { spare_percent, list_max, chain_len, .. } = tuning;
        let plain = Tuning::default();
        match self {
            Self::Pbfilter | Self::Pbfilter2 => Tuning { bits_per_key, hash_count, flush, ..plain },
            Self::Runs | Self::RunsFilter => Tuning { pace, ..plain },
            Self::Btree => Tuning { spare_percent, ..plain },
            Self::Bftl2 => Tuning { list_max, ..plain },
            Self::Skimpystash => Tuning { chain_len, ..plain },
            Self::Bftl1 | Self::Store | Self::StoreOrdered => plain,
        }
    }

    /// The default size of a key in bytes: the papers' own, or the longest that the method takes.
    pub const fn usual_key_size(self) -> usize {
        match self {
            Self::StoreOrdered => 8,
            Self::Pbfilter
            | Self::Pbfilter2
            | Self::Runs
            | Self::RunsFilter
            | Self::Btree
            | Self::Bftl1
            | Self::Bftl2
            | Self::Skimpystash
            | Self::Store => 12,
        }
    }

    /// Whether the method supports several rows of a key.
    pub const fn takes_rows_per_key(self) -> bool {
        match self {
            Self::Pbfilter
            | Self::Pbfilter2
            | Self::Runs
            | Self::RunsFilter
            | Self::Store
            | Self::StoreOrdered => true,
            Self::Btree | Self::Bftl1 | Self::Bftl2 | Self::Skimpystash => false,
        }
    }
}

/// A method with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct MethodSpec {
    pub name: MethodName,
    /// Number of rows that the index must be able to hold.
    pub keys: u32,
    /// Mean number of rows of a key.
    pub rows_per_key: u32,
    /// Size of a key in bytes.
    pub key_size: usize,
    /// Whether keys come in runs of neighbouring values, except if all of them ascend.
    pub in_stretches: bool,
    /// Number of updates and deletes that will follow.
    pub changes: u32,
    /// RAM that the method may use in bytes. None stands for the method's default.
    pub ram: Option<usize>,
    /// The parameters that only some methods have.
    pub tuning: Tuning,
}

/// Parameters that only some methods have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// `PBFilter`: bits of the Bloom filter for each key, called d in the paper.
    pub bits_per_key: u8,
    /// `PBFilter`: bits that each key sets in the Bloom filter, called k in the paper.
    pub hash_count: u8,
    /// `PBFilter`: what a flush of the summary programs.
    pub flush: FlushUnit,
    /// Runs: when merges happen.
    pub pace: Pace,
    /// B+tree: share of its blocks that the translation layer keeps in reserve, in percent.
    pub spare_percent: u32,
    /// BFTL: length in pages at which a list is compacted, called C in the paper.
    pub list_max: u32,
    /// `SkimpyStash`: mean number of keys in a chain.
    pub chain_len: u32,
}

impl Default for Tuning {
    /// The paper's parameters. Merges of runs are spread over the inserts.
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

/// Check that a key is small enough for a page of the method to hold several.
pub(super) fn check_key_size(spec: &MethodSpec, max: usize) -> Result<(), ConfigError> {
    let parameter = "key_size";
    let [given, max] = [spec.key_size, max].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    if given > max {
        return Err(ConfigError::TooLarge { parameter, max, given });
    }
    Ok(())
}

/// Check that a page is no smaller than the pieces that the method reads.
pub(super) const fn check_page_size(geometry: &Geometry, min: u32) -> Result<(), ConfigError> {
    let (parameter, given) = ("page_size", geometry.page_size);
    if given < min { Err(ConfigError::TooSmall { parameter, min, given }) } else { Ok(()) }
}
