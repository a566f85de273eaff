//! Stacks: a database engine on a file system on a device, by name.

use std::cell::RefCell;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, Part, Recorder, Shared, Tracer};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::jffs2::{Compressor, Jffs2, MountError, Options};
use flysch_linux::mtd::{EccMode, MtdError, Partition, RawNand};
use flysch_linux::tmpfs::Tmpfs;
use flysch_linux::vfs::Vfs;
use flysch_sqlite::Settings;

use crate::beside::{self, Memory, Start};
use crate::dual::{Dual, Route};
use crate::platform::Platform;
use crate::storage::Storage;
use crate::workload::UnknownChoice;

/// The device as the laboratory holds it: chip, fault injector, tracer.
pub type Device = Shared<Tracer<FaultInjector>>;

/// A stack that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// SQLite on JFFS2 on raw NAND.
    SqliteJffs2,
    /// SQLite on JFFS2, its rollback journals on PRAMFS in a PRAM beside the NAND.
    SqliteJffs2Pramfs,
    /// SQLite on JFFS2, its rollback journals in RAM: a floor, not safe from power cuts.
    SqliteJffs2Tmpfs,
    /// SQLite on a plain file system on a page-mapping flash translation layer, as on an SD card.
    SqliteFtl,
    /// SQLite on a file system in RAM: what the engine costs with no flash at all.
    SqliteTmpfs,
}

impl Stack {
    /// Every stack.
    pub const ALL: [Self; 5] = [
        Self::SqliteJffs2,
        Self::SqliteJffs2Pramfs,
        Self::SqliteJffs2Tmpfs,
        Self::SqliteFtl,
        Self::SqliteTmpfs,
    ];

    /// Name: a path from the engine down.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SqliteJffs2 => "sqlite/jffs2",
            Self::SqliteJffs2Pramfs => "sqlite/jffs2+pramfs",
            Self::SqliteJffs2Tmpfs => "sqlite/jffs2+tmpfs",
            Self::SqliteFtl => "sqlite/ftl",
            Self::SqliteTmpfs => "sqlite/tmpfs",
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
    /// Seed of the stack's random choices.
    pub seed: u64,
}

/// A machine that stands: device, stack, clock, recorder.
pub struct Machine {
    /// The device below.
    pub device: Device,
    /// The PRAM beside it, on the same supply.
    pub pram: Memory,
    /// The file system of the rollback journals, where they have one of their own.
    pub journals: Option<Rc<RefCell<Vfs>>>,
    /// The mounted file system.
    pub linux: Rc<RefCell<Vfs>>,
    /// The recording.
    pub recorder: Recorder,
    /// The CPU of the kernel.
    pub cpu: Cpu,
}

impl Machine {
    /// The file systems as SQLite sees them; `seed` is all the randomness it gets.
    pub fn storage(&self, settings: Settings, seed: u64) -> Rc<dyn flysch_sqlite::Vfs> {
        let storage = |linux: &Rc<RefCell<Vfs>>| {
            Rc::new(Storage::new(Rc::clone(linux), self.recorder.clone(), settings, seed))
        };
        match &self.journals {
            Some(journals) => {
                Rc::new(Dual::new(storage(&self.linux), storage(journals), Route::Journals))
            }
            None => storage(&self.linux),
        }
    }
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
        let injector = FaultInjector::new(self.new_chip(clock.clone()));
        let mut pram = beside::new_pram(clock, injector.supply(), self.seed);
        let device = Shared::new(Tracer::new(injector, recorder.clone()));
        let scope = recorder.scope("format");
        match stack {
            Stack::SqliteJffs2 | Stack::SqliteJffs2Tmpfs => {
                Jffs2::format(&self.partition(&device, &recorder)?)?;
            }
            Stack::SqliteJffs2Pramfs => {
                Jffs2::format(&self.partition(&device, &recorder)?)?;
                beside::format_pramfs(&mut pram)?;
            }
            Stack::SqliteFtl => {
                beside::plainfs(self, &device, &self.cpu(&recorder), &recorder, Start::Format)?;
            }
            Stack::SqliteTmpfs => {}
        }
        drop(scope);
        self.mount(stack, device, pram, recorder)
    }

    /// Mount what is on the devices.
    ///
    /// # Errors
    /// What the file system says.
    pub fn mount(
        &self,
        stack: Stack,
        device: Device,
        pram: Memory,
        recorder: Recorder,
    ) -> Result<Machine, MountError> {
        let cpu = self.cpu(&recorder);
        let fs: Box<dyn FileSystem> = match stack {
            Stack::SqliteJffs2 | Stack::SqliteJffs2Pramfs | Stack::SqliteJffs2Tmpfs => {
                Box::new(self.jffs2(&device, &cpu, &recorder)?)
            }
            Stack::SqliteFtl => beside::plainfs(self, &device, &cpu, &recorder, Start::Mount)?,
            Stack::SqliteTmpfs => Box::new(Tmpfs::new(self.partition_bytes())),
        };
        let journals: Option<Box<dyn FileSystem>> = match stack {
            Stack::SqliteJffs2Pramfs => Some(beside::pramfs(&pram, &cpu, &recorder)?),
            Stack::SqliteJffs2Tmpfs => Some(Box::new(Tmpfs::new(self.partition_bytes()))),
            Stack::SqliteJffs2 | Stack::SqliteFtl | Stack::SqliteTmpfs => None,
        };
        let vfs = |fs| {
            let vfs = Vfs::mount(fs, self.platform.read_ahead, cpu.clone(), recorder.clone());
            Rc::new(RefCell::new(vfs))
        };
        let (linux, journals) = (vfs(fs), journals.map(vfs));
        Ok(Machine { device, pram, journals, linux, recorder, cpu })
    }

    fn jffs2(&self, device: &Device, cpu: &Cpu, recorder: &Recorder) -> Result<Jffs2, MountError> {
        let partition = self.partition(device, recorder)?;
        let options = Options {
            compressors: self.compressors.clone(),
            ra_pages: self.ra_pages,
            summaries: self.platform.jffs2_summaries,
            seed: self.seed,
        };
        Jffs2::mount(partition, options, cpu.clone(), recorder)
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

/// The same reason in the other file system's words.
fn yaffs2_error(error: yaffs2::MountError) -> MountError {
    match error {
        yaffs2::MountError::TooSmall { blocks } => MountError::TooSmall { blocks },
        yaffs2::MountError::TooLarge { bytes } => MountError::TooLarge { bytes },
        yaffs2::MountError::NoTags => MountError::NoCleanmarker,
        yaffs2::MountError::Io => MountError::Io,
        yaffs2::MountError::PowerLost => MountError::PowerLost,
    }
}
