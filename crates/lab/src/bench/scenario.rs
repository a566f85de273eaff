//! A scenario: one run, asked for in full.

use flysch_sqlite::Settings;

use crate::machine::Build;
use crate::machine::power::Activity;
use crate::machine::stack::{Main, Stack};
use crate::workload::{Alphabet, Workload};

/// Everything a run depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What is asked for.
    pub workload: Workload,
    /// On what.
    pub stack: Stack,
    /// What the stack is built from.
    pub build: Build,
    /// SQLite's settings.
    pub settings: Settings,
    /// Read-ahead window of UBIFS, cache pages, where it is set by hand: its own is 0.
    pub ubifs_ra_pages: u32,
    /// Whether programs advise against read-ahead on each file they open (`posix_fadvise`).
    pub advises_random: bool,
    /// Bytes of the random string in each record; of other workloads, of each request.
    pub record_size: u32,
    /// Requests.
    pub requests: u32,
    /// What the strings are made of.
    pub alphabet: Alphabet,
    /// Records in each table before select, join and update.
    pub fill: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Whether the run keeps its trace: 32 bytes for each operation of the chip.
    pub keeps_trace: bool,
}

impl Scenario {
    /// Whether the kernel reads ahead.
    pub const fn reads_ahead(&self) -> bool {
        let ra_pages = match self.stack.main {
            Main::Ubifs => self.ubifs_ra_pages,
            Main::Jffs2 | Main::Yaffs2 | Main::Ftl => self.build.ra_pages,
            Main::Tmpfs | Main::Chip => 0,
        };
        ra_pages > 0 && !self.advises_random
    }

    /// What its power depends on.
    pub const fn activity(&self) -> Activity {
        Activity {
            engine: self.stack.engine.name(),
            fs: self.stack.main.name(),
            pattern: self.workload.pattern().name(),
            reads_ahead: self.reads_ahead(),
        }
    }

    /// What the machine and the files on it depend on before the first request: scenarios that agree
    /// in it may be carried out on one machine. None where the requests change the files, or the
    /// times in a trace are to be those of a machine of its own.
    pub(crate) fn preparation(&self) -> Option<Self> {
        let workload = self.workload.preparation().filter(|_| !self.keeps_trace)?;
        let record_size = if workload.has_records() { self.record_size } else { 0 };
        let build = Build { ra_pages: 0, ..self.build.clone() };
        let any = Self { workload, build, record_size, requests: 0, ..self.clone() };
        Some(Self { ubifs_ra_pages: 0, advises_random: false, ..any })
    }

    /// Enlarge the platform's partition, within the chip, where the workload needs more.
    pub(super) fn make_room(&mut self) {
        let Some(room) = self.workload.room(&self.settings, self.requests) else { return };
        let geometry = self.build.part.geometry;
        let wanted = room.div_ceil(u64::from(geometry.block_size()));
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX).min(geometry.block_count);
        self.build.partition_blocks = self.build.partition_blocks.max(wanted);
    }
}
