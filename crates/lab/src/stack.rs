//! Stacks: a database engine on a file system on a device, by name.

use std::cell::RefCell;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, Part, Recorder, Shared, Tracer};
use flysch_linux::cpu::Cpu;
use flysch_linux::jffs2::{Compressor, Jffs2, MountError, Options};
use flysch_linux::mtd::{EccMode, MtdError, Partition, RawNand};
use flysch_linux::tmpfs::Tmpfs;
use flysch_linux::ubifs::{self, Ubifs};
use flysch_linux::vfs::Vfs;

use crate::platform::Platform;
use crate::workload::UnknownChoice;

/// The device as the laboratory holds it: chip, fault injector, tracer.
pub type Device = Shared<Tracer<FaultInjector>>;

/// A stack that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// SQLite on JFFS2 on raw NAND.
    SqliteJffs2,
    /// SQLite on a file system in RAM: what the engine costs with no flash at all.
    SqliteTmpfs,
    /// SQLite on UBIFS on UBI on raw NAND.
    SqliteUbifs,
}

impl Stack {
    /// Every stack.
    pub const ALL: [Self; 3] = [Self::SqliteJffs2, Self::SqliteTmpfs, Self::SqliteUbifs];

    /// Name: a path from the engine down.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SqliteJffs2 => "sqlite/jffs2",
            Self::SqliteTmpfs => "sqlite/tmpfs",
            Self::SqliteUbifs => "sqlite/ubifs",
        }
    }
}

impl FromStr for Stack {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|stack| stack.name() == name);
        found.ok_or_else(|| UnknownChoice::new("stack", name, &Self::ALL.map(Self::name)))
    }
}

/// What a stack is built from, where it may differ from the platform's choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    /// The platform.
    pub platform: Arc<Platform>,
    /// The chip.
    pub part: Arc<Part>,
    /// Blocks of the partition.
    pub partition_blocks: u32,
    /// Where error correction is computed.
    pub ecc: EccMode,
    /// Largest read-ahead window of JFFS2, cache pages.
    pub ra_pages: u32,
    /// JFFS2's compressors in order.
    pub compressors: Vec<Compressor>,
    /// How UBIFS is made and mounted.
    pub ubifs: ubifs::Options,
    /// Seed of the stack's random choices.
    pub seed: u64,
}

/// A machine that stands: device, stack, clock, recorder.
pub struct Machine {
    /// The device below.
    pub device: Device,
    /// The mounted file system.
    pub linux: Rc<RefCell<Vfs>>,
    /// The recording.
    pub recorder: Recorder,
    /// The CPU of the kernel.
    pub cpu: Cpu,
}

impl Build {
    /// A factory-new chip of the part.
    pub fn new_chip(&self, clock: Clock) -> Chip {
        Chip::new(Arc::clone(&self.part), clock, self.seed)
    }

    /// Format the partition for `stack` and mount it.
    ///
    /// # Errors
    /// The partition does not fit the chip or the file system.
    pub fn format_and_mount(&self, stack: Stack) -> Result<Machine, MountError> {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let injector = FaultInjector::new(self.new_chip(clock));
        let device = Shared::new(Tracer::new(injector, recorder.clone()));
        if stack == Stack::SqliteJffs2 {
            let _scope = recorder.scope("format");
            Jffs2::format(&self.partition(&device, &recorder)?)?;
        }
        if stack == Stack::SqliteUbifs {
            let partition = self.partition(&device, &recorder)?;
            Ubifs::format(&partition, &recorder).map_err(ubifs_error)?;
        }
        self.mount(stack, device, recorder)
    }

    /// Mount what is on the device.
    ///
    /// # Errors
    /// What the file system says.
    pub fn mount(
        &self,
        stack: Stack,
        device: Device,
        recorder: Recorder,
    ) -> Result<Machine, MountError> {
        let cpu = self.cpu(&recorder);
        let fs: Box<dyn flysch_linux::filesystem::FileSystem> = match stack {
            Stack::SqliteJffs2 => {
                let partition = self.partition(&device, &recorder)?;
                let options = Options {
                    compressors: self.compressors.clone(),
                    ra_pages: self.ra_pages,
                    summaries: self.platform.jffs2_summaries,
                    seed: self.seed,
                };
                Box::new(Jffs2::mount(partition, options, cpu.clone(), &recorder)?)
            }
            Stack::SqliteUbifs => {
                let partition = self.partition(&device, &recorder)?;
                let (options, cpu) = (self.ubifs.clone(), cpu.clone());
                let fs = Ubifs::mount(partition, options, cpu, recorder.clone());
                Box::new(fs.map_err(ubifs_error)?)
            }
            Stack::SqliteTmpfs => Box::new(Tmpfs::new(self.partition_bytes())),
        };
        let vfs = Vfs::mount(fs, self.platform.read_ahead, cpu.clone(), recorder.clone());
        Ok(Machine { device, linux: Rc::new(RefCell::new(vfs)), recorder, cpu })
    }

    /// Size of the partition, bytes.
    pub fn partition_bytes(&self) -> u64 {
        u64::from(self.partition_blocks) * u64::from(self.part.geometry.block_size())
    }

    fn cpu(&self, recorder: &Recorder) -> Cpu {
        Cpu::new(recorder.clock().clone(), self.platform.cpu.kernel())
    }

    /// The MTD layer on the device, and the test partition of it.
    pub fn partition(&self, device: &Device, recorder: &Recorder) -> Result<Partition, MountError> {
        let device = Box::new(device.clone());
        let cpu = self.cpu(recorder);
        let overhead_ns = self.platform.overhead_ns;
        let raw = RawNand::attach(device, recorder.clone(), cpu, self.ecc, overhead_ns);
        let raw = raw.map_err(|error| match error {
            MtdError::PowerLost => MountError::PowerLost,
            MtdError::ProgramFailed(_) | MtdError::EraseFailed(_) => MountError::Io,
        })?;
        let partition = Partition::new(Rc::new(RefCell::new(raw)), 0, self.partition_blocks);
        partition.ok_or(MountError::TooSmall { blocks: self.part.geometry.block_count })
    }
}

fn ubifs_error(error: ubifs::MountError) -> MountError {
    match error {
        ubifs::MountError::PowerLost => MountError::PowerLost,
        ubifs::MountError::TooSmall { lebs } => MountError::TooSmall { blocks: lebs },
        _ => MountError::Io,
    }
}
