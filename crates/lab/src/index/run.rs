//! What one run of an index method cost.

use std::collections::BTreeMap;

use serde::Serialize;

/// What one run cost; its JSON object in `flysch index bench --format json`. Counts are those of
/// the load where nothing else is said, reads of lookups include the record's page. Pages are page
/// equivalents: sectors over sectors per page.
#[derive(Clone, Debug, Serialize)]
pub struct IndexRun {
    /// Method name.
    pub method: &'static str,
    /// Keys loaded.
    pub n: u32,
    /// Bytes of a key.
    pub key_size: usize,
    /// How the keys are spread.
    pub key_distribution: &'static str,
    /// Part name.
    pub part: String,
    /// Blocks of the chip.
    pub blocks: u32,
    /// Seed.
    pub seed: u64,
    /// The other parameters, by their command-line names.
    pub parameters: BTreeMap<&'static str, String>,
    /// RAM as the paper counts it: buffers and the structures kept in RAM, at the end.
    pub ram_bytes: usize,
    /// With what finds pages on flash, and all fields.
    pub ram_total_bytes: usize,
    /// W: pages programmed.
    pub w_pages: f64,
    /// W in bytes for each key.
    pub w_bytes_per_key: f64,
    /// Array programs, whatever they programmed.
    pub program_operations: u64,
    /// IR: pages read.
    pub ir_pages: f64,
    /// Array reads, however short.
    pub read_operations: u64,
    /// VP: pages still needed at the end of the load.
    pub vp_pages: u32,
    /// OP: pages programmed and no longer needed.
    pub op_pages: f64,
    /// Block erases.
    pub block_erases: u64,
    /// Programs below a page that was programmed since the block's erase.
    pub out_of_order_programs: u64,
    /// Programs by which a translation layer moved pages.
    pub gc_copies: u64,
    /// Time of an insert, nanoseconds.
    pub insert_ns: f64,
    /// Longest insert, nanoseconds.
    pub worst_insert_ns: u64,
    /// Energy of an insert, microjoules.
    pub insert_uj: f64,
    /// R: mean reads of a lookup of a key that is there.
    pub r_present: Option<f64>,
    /// R of a key that is not.
    pub r_absent: Option<f64>,
    /// R of the key inserted half-way.
    pub r_middle: Option<f64>,
    /// States of the load over which the lookups are spread; 0 where all are made at the end.
    pub states: u32,
    /// Lookups of each kind in full.
    pub lookups: Vec<LookupCost>,
    /// Updates after the load; the lookups come after them.
    pub updates: u32,
    /// What they cost; none where there are none.
    pub update: Option<UpdateCost>,
}

/// What lookups of one kind cost.
#[derive(Clone, Debug, Serialize)]
pub struct LookupCost {
    /// Which keys.
    pub kind: &'static str,
    /// How many lookups.
    pub count: u64,
    /// Mean reads, the record's page included.
    pub reads: f64,
    /// Mean reads of records' pages.
    pub record_reads: f64,
    /// Mean reads of the index in page equivalents.
    pub index_pages: f64,
    /// Most reads of a lookup.
    pub worst_reads: u64,
    /// Mean time, nanoseconds.
    pub time_ns: f64,
    /// Longest, nanoseconds.
    pub worst_ns: u64,
    /// Mean energy, microjoules.
    pub energy_uj: f64,
}

/// What the updates cost.
#[derive(Clone, Debug, Serialize)]
pub struct UpdateCost {
    /// Pages programmed.
    pub w_pages: f64,
    /// Bytes programmed for each update.
    pub w_bytes_per_update: f64,
    /// Pages read.
    pub ir_pages: f64,
    /// Block erases.
    pub block_erases: u64,
    /// Pages needed after them.
    pub vp_pages: u32,
    /// Mean time, nanoseconds.
    pub time_ns: f64,
    /// Longest, nanoseconds.
    pub worst_ns: u64,
    /// Mean energy, microjoules.
    pub energy_uj: f64,
}
