//! Operations of the devices, counted by kind from the events of a trace.

use std::ops::AddAssign;

use flysch_chip::{Event, EventKind, EventPlace};
use serde::ser::Error;
use serde::{Serialize, Serializer};

/// Operations of the devices, counted by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Pages of data that the chip read from its array.
    pub page_reads: u64,
    /// Pages of data that the chip programmed into its array.
    pub page_programs: u64,
    /// Blocks that the chip erased.
    pub block_erases: u64,
    /// Array reads of OOB bytes without the page's data.
    pub oob_reads: u64,
    /// Array programs of OOB bytes without the page's data.
    pub oob_programs: u64,
    /// Reads of the byte-addressable memory (NVRAM) in addition to the NAND.
    pub nvram_reads: u64,
    /// Writes to the NVRAM.
    pub nvram_writes: u64,
    /// Erases of NVRAM sectors, for kinds of memory that have them.
    pub nvram_erases: u64,
    /// Bytes that the NVRAM's reads and writes moved.
    pub nvram_bytes: u64,
    /// Time that the NVRAM was busy, nanoseconds.
    pub nvram_time_ns: u64,
    /// Time that all devices were busy, nanoseconds.
    #[serde(rename = "time_ns")]
    pub flash_ns: u64,
}

impl Operations {
    /// Number of counts.
    pub(super) const COLUMNS: usize = 11;

    /// All counts, in the order of the fields.
    pub(super) const fn columns(&self) -> [u64; Self::COLUMNS] {
        [
            self.page_reads,
            self.page_programs,
            self.block_erases,
            self.oob_reads,
            self.oob_programs,
            self.nvram_reads,
            self.nvram_writes,
            self.nvram_erases,
            self.nvram_bytes,
            self.nvram_time_ns,
            self.flash_ns,
        ]
    }

    /// The inverse of [`Self::columns`].
    pub(super) const fn of_columns(columns: [u64; Self::COLUMNS]) -> Self {
        let [page_reads, page_programs, block_erases, oob_reads, oob_programs, ..] = columns;
        let [.., nvram_reads, nvram_writes, nvram_erases, nvram_bytes, nvram_time_ns, flash_ns] =
            columns;
        Self {
            page_reads,
            page_programs,
            block_erases,
            oob_reads,
            oob_programs,
            nvram_reads,
            nvram_writes,
            nvram_erases,
            nvram_bytes,
            nvram_time_ns,
            flash_ns,
        }
    }

    /// Serialise the counts as fields of a run. The run's own `time_ns` is the length of its
    /// interval, so the time of the devices is called `flash_ns` there.
    pub(crate) fn within_a_run<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = serde_json::to_value(self).map_err(S::Error::custom)?;
        let fields = fields.as_object().into_iter().flatten();
        let named =
            |name: &String| if name == "time_ns" { "flash_ns".into() } else { name.clone() };
        serializer.collect_map(fields.map(|(name, value)| (named(name), value)))
    }

    /// Add one event to the counts.
    pub fn add(&mut self, event: &Event) {
        match event.kind {
            EventKind::Read => self.page_reads += 1,
            EventKind::Program => self.page_programs += 1,
            EventKind::Erase => self.block_erases += 1,
            EventKind::ReadOob => self.oob_reads += 1,
            EventKind::ProgramOob => self.oob_programs += 1,
            EventKind::NvRead => self.nvram_reads += 1,
            EventKind::NvWrite => self.nvram_writes += 1,
            EventKind::NvErase => self.nvram_erases += 1,
            EventKind::BufferHit | EventKind::Mark => return,
        }
        let time_ns = u64::from(event.duration_ns);
        self.flash_ns += time_ns;
        if event.kind.place() == EventPlace::Byte {
            self.nvram_bytes += u64::from(event.bytes);
            self.nvram_time_ns += time_ns;
        }
    }

    /// The number of operations of all kinds.
    pub const fn count(&self) -> u64 {
        let array = self.page_reads + self.page_programs + self.block_erases;
        let oob = self.oob_reads + self.oob_programs;
        array + oob + self.nvram_reads + self.nvram_writes + self.nvram_erases
    }

    /// Time that the NAND was busy, nanoseconds.
    pub const fn nand_time_ns(&self) -> u64 {
        self.flash_ns - self.nvram_time_ns
    }
}

impl AddAssign for Operations {
    fn add_assign(&mut self, more: Self) {
        self.page_reads += more.page_reads;
        self.page_programs += more.page_programs;
        self.block_erases += more.block_erases;
        self.oob_reads += more.oob_reads;
        self.oob_programs += more.oob_programs;
        self.nvram_reads += more.nvram_reads;
        self.nvram_writes += more.nvram_writes;
        self.nvram_erases += more.nvram_erases;
        self.nvram_bytes += more.nvram_bytes;
        self.nvram_time_ns += more.nvram_time_ns;
        self.flash_ns += more.flash_ns;
    }
}
