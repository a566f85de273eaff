//! A scenario: the complete description of one run.

use flysch_linux::ubifs;
use flysch_sqlite::Settings;

use super::error::RunError;
use super::run::{Failed, Inputs};
use crate::machine::Build;
use crate::machine::power::Activity;
use crate::machine::stack::{Engine, Main, Stack};
use crate::machine::standing::Standing;
use crate::workload::{Alphabet, Workload};

/// Everything that the result of a run depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The workload that the run performs.
    pub workload: Workload,
    /// The layers of software that it runs on.
    pub stack: Stack,
    /// What the machine and the file systems are built from.
    pub build: Build,
    pub settings: Settings,
    /// Read-ahead window of UBIFS in cache pages. UBIFS itself sets 0; other values are set by the
    /// user.
    pub ubifs_ra_pages: u32,
    /// Whether programs advise against read-ahead on each file they open (`posix_fadvise`).
    pub advises_random: bool,
    /// Bytes of the random string in each record. In workloads without records: bytes of each
    /// request.
    pub record_size: u32,
    /// Number of requests in the measured interval.
    pub requests: u32,
    pub timers: Timers,
    /// The characters that the random strings consist of.
    pub alphabet: Alphabet,
    /// Records in each table before select, join and update.
    pub fill: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Whether the result keeps the trace. It takes 32 bytes for each operation of the chip.
    pub keeps_trace: bool,
}

/// What the kernel's timers do while files are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// They wait, so that the prepared state does not depend on the pace of the machine.
    Held,
    /// They run on, as in the field.
    Running,
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

    /// Whether the size of data on flash depends on what the data is.
    pub fn compresses(&self) -> bool {
        match self.stack.main {
            Main::Jffs2 => !self.build.compressors.is_empty(),
            Main::Ubifs => self.build.ubifs_compressor != ubifs::Compressor::None,
            Main::Yaffs2 | Main::Ftl | Main::Tmpfs | Main::Chip => false,
        }
    }

    /// The facts about this scenario that its power consumption depends on.
    pub const fn activity(&self) -> Activity {
        Activity {
            engine: self.stack.engine.name(),
            fs: self.stack.main.name(),
            pattern: self.workload.pattern().name(),
            reads_ahead: self.reads_ahead(),
        }
    }

    /// Whether the platform can have the stack.
    pub fn standing(&self) -> Standing {
        Standing::of(self.stack, &self.build.platform)
    }

    /// The parameters, in the form in which results list them.
    pub fn inputs(&self) -> Inputs {
        Inputs {
            workload: self.workload.name().to_owned(),
            on: self.stack.name(),
            platform: self.build.platform.name.clone(),
            part: self.build.part.name.clone(),
            record_size: self.record_size,
            requests: self.requests,
            amount: self.workload.amount(self.requests),
            seed: self.seed,
            standing: self.standing(),
            parameters: self.parameters(),
        }
    }

    /// The result of a run that failed: the parameters and the error.
    pub fn failed(&self, error: &RunError) -> Failed {
        Failed { inputs: self.inputs(), error: error.to_string() }
    }

    /// This scenario without the parameters that only matter after its first request. Scenarios
    /// with equal beginnings prepare the same machine. None if the workload's preparation cannot be
    /// used again.
    pub(crate) fn beginning(&self) -> Option<Self> {
        let workload = self.workload.beginning()?;
        let record_size = if workload.has_records() { self.record_size } else { 0 };
        // The engine makes a database for as many rows as will be inserted.
        let has_capacity = self.stack.engine == Engine::Flysch && !workload.is_filled();
        let requests = if has_capacity { self.requests } else { 0 };
        let fill = if workload.is_filled() { self.fill } else { 0 };
        let build = Build { ra_pages: 0, ..self.build.clone() };
        let any = Self { workload, build, record_size, requests, fill, ..self.clone() };
        Some(Self { ubifs_ra_pages: 0, advises_random: false, keeps_trace: false, ..any })
    }

    /// Enlarge the partition if the workload needs more room than it has. The chip's size is the
    /// limit.
    pub(super) fn make_room(&mut self) {
        let Some(room) = self.workload.room(&self.settings, self.requests) else { return };
        let geometry = self.build.part.geometry;
        let wanted = room.div_ceil(u64::from(geometry.block_size()));
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX).min(geometry.block_count);
        self.build.partition_blocks = self.build.partition_blocks.max(wanted);
    }
}
