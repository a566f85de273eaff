//! What one run of an index method cost.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::parameter::Parameter;

/// What one run cost. `flysch index bench --format json` prints it as a JSON object. Counts are
/// those of the load, unless the field says otherwise. Reads of lookups include the read of the
/// record's page. Pages are page equivalents: sectors divided by sectors per page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IndexCosts {
    pub method: &'static str,
    /// Number of rows that were loaded.
    pub n: u32,
    /// Size of a key in bytes.
    pub key_size: usize,
    /// Name of the keys' distribution.
    pub key_distribution: &'static str,
    /// Rows of each key, or their mean if keys have different numbers of rows.
    pub rows_per_key: u32,
    /// Name of the distribution of the keys that are looked up.
    pub lookup_distribution: &'static str,
    pub part: String,
    /// Number of blocks of the chip.
    pub blocks: u32,
    /// Seed of the keys and of the random draws.
    pub seed: u64,
    /// The other parameters, by their names on the command line.
    pub parameters: BTreeMap<&'static str, Parameter>,
    /// RAM at the end as the paper counts it: buffers and data structures, in bytes.
    pub ram_bytes: usize,
    /// All RAM in bytes: in addition, tables that find pages on flash, and the fields of the
    /// structs.
    pub ram_total_bytes: usize,
    /// Pages programmed, called W in the paper.
    pub w_pages: f64,
    /// Bytes programmed for each key.
    pub w_bytes_per_key: f64,
    /// Number of program operations on the chip's array, whatever their size.
    pub program_operations: u64,
    /// Pages read, called IR in the paper.
    pub ir_pages: f64,
    /// Number of read operations on the chip's array, whatever their size.
    pub read_operations: u64,
    /// Pages that are still needed at the end of the load, called VP in the paper.
    pub vp_pages: u32,
    /// Pages that were programmed and are no longer needed, called OP in the paper.
    pub op_pages: f64,
    pub block_erases: u64,
    /// Programs of a page although a higher page of its block was programmed since the last erase.
    pub out_of_order_programs: u64,
    /// Programs by which a translation layer moved pages.
    pub gc_copies: u64,
    /// Mean time of an insert, nanoseconds.
    pub insert_ns: f64,
    /// Time of the longest insert, nanoseconds.
    pub worst_insert_ns: u64,
    /// Mean energy of an insert, microjoules.
    pub insert_uj: f64,
    /// Mean reads of a lookup of a present key, called R in the paper.
    pub r_present: Option<f64>,
    /// Mean reads of a lookup of an absent key. None if there were no such lookups.
    pub r_absent: Option<f64>,
    /// Reads of the lookup of the key that was inserted half-way.
    pub r_middle: Option<f64>,
    /// Reads that 99 % of the lookups of present keys do not exceed. None if there were no such
    /// lookups.
    pub p99_present: Option<u64>,
    pub p999_present: Option<u64>,
    /// Reads that 99 % of the lookups of absent keys do not exceed. None if there were no such
    /// lookups.
    pub p99_absent: Option<u64>,
    pub p999_absent: Option<u64>,
    /// Number of points of the load at which lookups were made. With 0, all came at the end.
    pub states: u32,
    /// The cost of the lookups of each kind.
    pub lookups: Vec<LookupCost>,
    /// Number of updates after the load. The lookups come after them.
    pub updates: u32,
    /// What the updates cost. None if there were no updates.
    pub update: Option<UpdateCost>,
    /// Bytes programmed for each update.
    pub w_bytes_per_update: Option<f64>,
}

/// What lookups of one kind cost.
#[derive(Clone, Debug, Serialize)]
pub struct LookupCost {
    /// The kind of keys that were looked up.
    pub kind: &'static str,
    pub count: u64,
    /// Mean reads of a lookup, including those of the records' pages.
    pub reads: f64,
    /// Mean reads of the records' pages.
    pub record_reads: f64,
    /// Mean reads of the index.
    pub index_reads: f64,
    /// Reads of the index that 99.9 % of the lookups do not exceed.
    pub p999_index_reads: u64,
    pub worst_index_reads: u64,
    /// Mean reads of the index in page equivalents.
    pub index_pages: f64,
    /// Reads that 99 % of the lookups do not exceed.
    pub p99_reads: u64,
    pub p999_reads: u64,
    /// The most reads that one lookup made.
    pub worst_reads: u64,
    /// Mean time of a lookup, nanoseconds.
    pub time_ns: f64,
    /// Time of the longest lookup, nanoseconds.
    pub worst_ns: u64,
    /// Mean energy of a lookup, microjoules.
    pub energy_uj: f64,
}

/// What the updates cost.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UpdateCost {
    /// Pages programmed by all updates.
    pub w_pages: f64,
    /// Bytes programmed for each update.
    pub w_bytes_per_update: f64,
    pub ir_pages: f64,
    /// Number of block erases.
    pub block_erases: u64,
    /// Pages that are still needed after the updates.
    pub vp_pages: u32,
    /// Mean time of an update, nanoseconds.
    pub time_ns: f64,
    /// Time of the longest update, nanoseconds.
    pub worst_ns: u64,
    /// Mean energy of an update, microjoules.
    pub energy_uj: f64,
}
