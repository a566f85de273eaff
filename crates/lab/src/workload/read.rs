//! Reads of one file, as Olivier et al. (`EWiLi` 2014) do them to see what read-ahead costs.

use std::collections::BTreeMap;

use super::pattern::Pattern;

/// Reads of a file of random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Their order.
    pub pattern: Pattern,
    /// Bytes of each; it begins at a multiple of this.
    pub request_size: u32,
    /// Bytes of the file.
    pub file_size: u32,
    /// Time from the end of a request to the next, microseconds.
    pub inter_arrival_us: u32,
}

impl Read {
    /// The paper's: a file of 5 MiB, read by pages of the cache, one request after the other.
    pub const DEFAULT: Self = Self {
        pattern: Pattern::Sequential,
        request_size: 4096,
        file_size: 5 << 20,
        inter_arrival_us: 0,
    };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("pattern", self.pattern.name().to_owned()),
            ("request-size", self.request_size.to_string()),
            ("file-size", self.file_size.to_string()),
            ("inter-arrival", self.inter_arrival_us.to_string()),
        ])
    }
}
