//! `PostMark`: the life of many small files, as a mail server makes it (Katcher, TR3022, 1997).
//!
//! A set of files of random sizes is made. Then each transaction reads a file or appends to one, and
//! makes a file or deletes one; which, and which file, is drawn, all alternatives equally likely.
//! At the end all files are deleted. The transactions are the measured requests.
//!
//! Olivier et al. (`EWiLi` 2014, Table 1) tell the throughput of its reads when 25, 50 and 100 % of
//! a file are read. They do so with files that are not in the page cache: a file's pages are dropped
//! before it is read.

use std::collections::BTreeMap;

/// Transactions on a set of files. The number of transactions is the scenario's `requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Postmark {
    /// Files made before the transactions.
    pub files: u32,
    /// Bytes of the smallest file.
    pub size_min: u32,
    /// Bytes of the largest file.
    pub size_max: u32,
    /// Bytes of each call that reads or writes.
    pub block_size: u32,
    /// How much of a file each read reads, per cent.
    pub percent: u32,
}

impl Postmark {
    /// `PostMark`'s own defaults (500 files of 500 to 10,000 bytes, 512 bytes a call); whole files.
    pub const DEFAULT: Self =
        Self { files: 500, size_min: 500, size_max: 10_000, block_size: 512, percent: 100 };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("files", self.files.to_string()),
            ("size-min", self.size_min.to_string()),
            ("size-max", self.size_max.to_string()),
            ("request-size", self.block_size.to_string()),
            ("percent", self.percent.to_string()),
        ])
    }
}
