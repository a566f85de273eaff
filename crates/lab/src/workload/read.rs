//! Reads of one file, with which Olivier et al. (`EWiLi` 2014) measured the cost of read-ahead.

use std::collections::BTreeMap;

use super::pattern::Pattern;
use crate::parameter::Parameter;

/// Reads of a file of random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The order of the reads.
    pub pattern: Pattern,
    /// Bytes of each read. Its offset is a multiple of this size.
    pub request_size: u32,
    /// Size of the file in bytes.
    pub file_size: u32,
    /// Time from the end of a request to the start of the next, microseconds.
    pub inter_arrival_us: u32,
}

impl Read {
    /// The names of its figures.
    pub(crate) const FIGURES: [&str; 1] = ["mean_request_us"];

    /// The paper's workload: a file of 5 MiB is read in cache pages, without pauses.
    pub const DEFAULT: Self = Self {
        pattern: Pattern::Sequential,
        request_size: 4096,
        file_size: 5 << 20,
        inter_arrival_us: 0,
    };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        BTreeMap::from([
            ("pattern", self.pattern.name().into()),
            ("request-size", self.request_size.into()),
            ("file-size", self.file_size.into()),
            ("inter-arrival", self.inter_arrival_us.into()),
        ])
    }
}
