//! `PostMark`: many small files with short lives, as on a mail server (Katcher, TR3022, 1997).
//!
//! First, a set of files of random sizes is made. Then each transaction reads a file or appends to
//! one, and makes a file or deletes one. These choices and the files are random, all equally
//! likely. At the end all files are deleted. The transactions are the measured requests.
//!
//! Olivier et al. (`EWiLi` 2014, Table 1) report the throughput of its reads when 25, 50 and 100 %
//! of a file are read. They read files that are not in the page cache, so a file's pages are
//! dropped from the cache before it is read.

use std::collections::BTreeMap;

use crate::parameter::Parameter;

/// Transactions on a set of files. Their number is `requests` of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Postmark {
    /// Number of files that are made before the transactions.
    pub files: u32,
    /// Size of the smallest file in bytes.
    pub size_min: u32,
    /// Size of the largest file in bytes.
    pub size_max: u32,
    /// Bytes of each read or write call.
    pub block_size: u32,
    /// How much of a file a transaction reads, in percent.
    pub percent: u32,
}

impl Postmark {
    /// The names of its figures.
    pub(crate) const FIGURES: [&str; 8] = [
        "files_read",
        "files_appended",
        "files_created",
        "files_deleted",
        "bytes_read",
        "bytes_written",
        "read_time_ms",
        "read_mb_s",
    ];

    /// `PostMark`'s own defaults: 500 files of 500 to 10,000 bytes, 512 bytes a call. Files are
    /// read in full.
    pub const DEFAULT: Self =
        Self { files: 500, size_min: 500, size_max: 10_000, block_size: 512, percent: 100 };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        BTreeMap::from([
            ("files", self.files.into()),
            ("size-min", self.size_min.into()),
            ("size-max", self.size_max.into()),
            ("request-size", self.block_size.into()),
            ("percent", self.percent.into()),
        ])
    }
}
