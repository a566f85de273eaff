//! Machines: a stack built from the data of a platform, formatted and mounted.
//!
//! [`platform`] is a board and its kernel as data, [`stack`] names an engine and its file systems,
//! [`layers`] holds the options of the layers, [`age`] what a device held before. [`power`] is what
//! the devices draw. [`bare`] is the chip as the database engine sees it. `pram` is
//! byte-addressable memory in addition to the NAND, `card` a flash translation layer with a plain
//! file system. [`dual`] puts one database on two file systems, and [`storage`] is the seam between
//! SQLite and a file system. [`Build`] puts them together into a [`Machine`]. `mark` keeps the
//! state of a machine.

pub mod age;
pub mod bare;
mod card;
mod device;
pub mod dual;
mod error;
pub mod files;
pub mod layers;
pub(crate) mod mark;
pub mod platform;
pub mod power;
mod pram;
pub(crate) mod prices;
#[cfg(feature = "redb")]
pub(crate) mod redb;
pub mod stack;
pub mod standing;
pub mod storage;

pub use device::{Device, Memory};
pub use error::StackError;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, Part, Recorder, Shared, Tracer};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::{FileSystem, FsError};
use flysch_linux::ftl::FtlOptions;
use flysch_linux::jffs2::{self, Compressor, Jffs2};
use flysch_linux::mtd::{EccMode, Partition, RawNand};
use flysch_linux::tmpfs::Tmpfs;
use flysch_linux::ubifs::{self, Ubifs};
use flysch_linux::vfs::Vfs;
use flysch_linux::yaffs2::{self, Yaffs2};
use flysch_sqlite::Settings;

use crate::contents::Contents;
use age::Age;
use card::Start;
use dual::{Dual, Route};
use layers::Layers;
use platform::Platform;
use stack::{Engine, Journals, Main, Stack};
use storage::Storage;

/// What a stack is built from. All values can differ from those of the platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    pub platform: Arc<Platform>,
    pub part: Arc<Part>,
    /// Number of blocks in the partition.
    pub partition_blocks: u32,
    /// Where error correction is computed.
    pub ecc: EccMode,
    /// Largest read-ahead window of JFFS2 and YAFFS2, in cache pages. UBIFS has a window of its
    /// own.
    pub ra_pages: u32,
    /// JFFS2's compressors in the order it tries them.
    pub compressors: Vec<Compressor>,
    pub ubifs_compressor: ubifs::Compressor,
    /// Which files lie on the second file system, if the stack has one for journals.
    pub route: Route,
    /// Options of the layers of the stack.
    pub layers: Layers,
    /// How the device has aged.
    pub age: Age,
    /// Seed of the stack's random choices.
    pub seed: u64,
}

/// A machine that is ready to use: devices, mounted stack, clock and recorder.
pub struct Machine {
    /// The NAND that holds the partition.
    pub device: Device,
    /// The PRAM. It has the same power supply as the NAND.
    pub pram: Memory,
    /// The file system of the rollback journals, if they have one of their own.
    pub journals: Option<Rc<RefCell<Vfs>>>,
    /// The mounted file system of the database.
    pub linux: Rc<RefCell<Vfs>>,
    /// The recorder of the devices' operations.
    pub recorder: Recorder,
    /// The CPU that runs the kernel.
    pub cpu: Cpu,
    /// Which files lie on the file system of the journals.
    pub route: Route,
    /// The origins of bytes in SQLite's files, if they are followed.
    pub contents: Option<Rc<RefCell<Contents>>>,
}

/// The file systems of a machine in the form in which SQLite uses them.
pub(crate) struct Storages {
    /// All of them, as one.
    pub(crate) whole: Rc<dyn flysch_sqlite::Vfs>,
    /// One for each file system.
    pub(crate) each: Vec<Rc<Storage>>,
}

impl Machine {
    /// The file systems in the form in which SQLite uses them. `seed` decides all random numbers
    /// that SQLite asks for.
    pub fn storage(&self, settings: Settings, seed: u64) -> Rc<dyn flysch_sqlite::Vfs> {
        self.storages(settings, seed).whole
    }

    /// The same, together with the storage of each file system.
    pub(crate) fn storages(&self, settings: Settings, seed: u64) -> Storages {
        let storage = |linux: &Rc<RefCell<Vfs>>| {
            let contents = self.contents.clone();
            Rc::new(Storage::new(Rc::clone(linux), self.recorder.clone(), contents, settings, seed))
        };
        let main = storage(&self.linux);
        match &self.journals {
            Some(journals) => {
                let second = storage(journals);
                let each = vec![Rc::clone(&main), Rc::clone(&second)];
                Storages { whole: Rc::new(Dual::new(main, second, self.route)), each }
            }
            None => {
                Storages { whole: Rc::clone(&main) as Rc<dyn flysch_sqlite::Vfs>, each: vec![main] }
            }
        }
    }
}

impl Machine {
    /// Unmount the file systems. No calls on them may follow.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn unmount(&self) -> Result<(), FsError> {
        let journals = self.journals.iter();
        journals.chain([&self.linux]).try_for_each(|linux| linux.borrow_mut().unmount())
    }
}

impl Build {
    /// The values of a platform.
    pub fn of(platform: &Arc<Platform>) -> Self {
        Self {
            part: Arc::clone(&platform.part),
            partition_blocks: platform.partition_blocks,
            ecc: platform.ecc,
            ra_pages: platform.jffs2_ra_pages,
            compressors: platform.jffs2_compressors.clone(),
            ubifs_compressor: platform.ubifs_compressor,
            route: Route::JOURNAL,
            layers: Layers::of(platform),
            age: Age::default(),
            seed: 0,
            platform: Arc::clone(platform),
        }
    }

    /// An erased chip of the part, worn as the device's age says.
    pub fn new_chip(&self, clock: Clock) -> Chip {
        let mut chip = Chip::new(Arc::clone(&self.part), clock, self.seed);
        chip.wear_in(&self.erase_counts());
        chip
    }

    /// How often each block of the partition was erased before the run. Empty for a new device.
    pub fn erase_counts(&self) -> Vec<u32> {
        self.age.erase_counts(self.partition_blocks, self.seed)
    }

    /// A traced chip with a fault injector, and an empty PRAM on the same power supply.
    pub(crate) fn devices(&self, chip: Chip, recorder: &Recorder) -> (Device, Memory) {
        let injector = FaultInjector::new(chip);
        let pram =
            pram::new_pram(self.layers.pram_kib << 10, self.seed, recorder, injector.supply());
        (Shared::new(Tracer::new(injector, recorder.clone())), pram)
    }

    /// Make the file systems of `stack` on new devices and mount them.
    ///
    /// # Errors
    /// Fails if the partition is too large for the chip or too small for the file system.
    pub fn format_and_mount(&self, stack: Stack) -> Result<Machine, StackError> {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), stack.engine.name());
        let (device, mut pram) = self.devices(self.new_chip(clock), &recorder);
        let contents = (stack.engine == Engine::Sqlite).then(Rc::default);
        if contents.is_some() {
            recorder.follow_bytes(self.part.geometry);
        }
        let scope = recorder.scope("format");
        self.format(stack.main, &device, &self.cpu(&recorder), &recorder)?;
        if stack.journals == Some(Journals::Pramfs) {
            pram::format_pramfs(&mut pram)?;
        }
        drop(scope);
        let machine = self.mount(stack, device, pram, recorder)?;
        Ok(Machine { contents, ..machine })
    }

    fn format(
        &self,
        main: Main,
        device: &Device,
        cpu: &Cpu,
        recorder: &Recorder,
    ) -> Result<(), StackError> {
        let partition = || self.partition(device, cpu, recorder);
        match main {
            Main::Jffs2 => Jffs2::format(&partition()?).map_err(|e| StackError::of("jffs2", &e)),
            Main::Yaffs2 => Yaffs2::format(&partition()?).map_err(|e| StackError::of("yaffs2", &e)),
            Main::Ubifs => {
                let (counts, fastmap) = (self.erase_counts(), self.layers.ubi_fastmap);
                Ubifs::format(&partition()?, recorder, &counts, fastmap)
                    .map_err(|e| StackError::of("ubifs", &e))
            }
            Main::Ftl => self.plainfs(device, cpu, recorder, Start::Format).map(|_| ()),
            Main::Tmpfs | Main::Chip => Ok(()),
        }
    }

    /// Mount a file system of the caller's on a new device. `make` gets the partition, the CPU that
    /// pays for the work, and the recorder on which the file system opens scopes.
    ///
    /// # Errors
    /// Fails if the partition is larger than the chip, and if `make` fails.
    pub fn mount_own(
        &self,
        make: impl FnOnce(Partition, Cpu, Recorder) -> Result<Box<dyn FileSystem>, FsError>,
    ) -> Result<Machine, StackError> {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let (device, pram) = self.devices(self.new_chip(clock), &recorder);
        let cpu = self.cpu(&recorder);
        let partition = self.partition(&device, &cpu, &recorder)?;
        let fs = make(partition, cpu.clone(), recorder.clone());
        let fs = fs.map_err(|error| StackError::of("file system", &error))?;
        Ok(self.machine((fs, None), cpu, (device, pram), recorder))
    }

    /// Mount the file systems that are on the devices.
    ///
    /// # Errors
    /// Fails if a file system cannot be mounted.
    pub fn mount(
        &self,
        stack: Stack,
        device: Device,
        pram: Memory,
        recorder: Recorder,
    ) -> Result<Machine, StackError> {
        let cpu = self.cpu(&recorder);
        self.mount_by(cpu, stack, device, pram, recorder)
    }

    /// Mount the file systems on the devices of a machine that was stopped. The clock and the CPU's
    /// time continue.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn mount_again(&self, stack: Stack, machine: &Machine) -> Result<Machine, StackError> {
        let Machine { device, pram, recorder, cpu, contents, .. } = machine;
        let mounted =
            self.mount_by(cpu.clone(), stack, device.clone(), pram.clone(), recorder.clone())?;
        Ok(Machine { contents: contents.clone(), ..mounted })
    }

    fn mount_by(
        &self,
        cpu: Cpu,
        stack: Stack,
        device: Device,
        pram: Memory,
        recorder: Recorder,
    ) -> Result<Machine, StackError> {
        let fs = self.mount_main(stack.main, &device, &cpu, &recorder)?;
        let journals = stack.journals.and_then(|journals| match journals {
            Journals::Pramfs => Some(pram::pramfs(&pram, &cpu, &recorder)),
            Journals::Tmpfs => Some(Ok(self.tmpfs())),
            Journals::Nvram => None,
        });
        Ok(self.machine((fs, journals.transpose()?), cpu, (device, pram), recorder))
    }

    /// A machine with a file system, and perhaps another one for journals.
    fn machine(
        &self,
        (main, journals): (Box<dyn FileSystem>, Option<Box<dyn FileSystem>>),
        cpu: Cpu,
        (device, pram): (Device, Memory),
        recorder: Recorder,
    ) -> Machine {
        let vfs = |fs| {
            let vfs = Vfs::mount(fs, self.platform.read_ahead, cpu.clone(), recorder.clone());
            Rc::new(RefCell::new(vfs))
        };
        let (linux, journals) = (vfs(main), journals.map(vfs));
        let (route, contents) = (self.route, None);
        Machine { device, pram, journals, linux, recorder, cpu, route, contents }
    }

    fn mount_main(
        &self,
        main: Main,
        device: &Device,
        cpu: &Cpu,
        recorder: &Recorder,
    ) -> Result<Box<dyn FileSystem>, StackError> {
        let partition = || self.partition(device, cpu, recorder);
        Ok(match main {
            Main::Jffs2 => {
                let options = jffs2::Options {
                    compressors: self.compressors.clone(),
                    ra_pages: self.ra_pages,
                    summaries: self.platform.jffs2_summaries,
                    seed: self.seed,
                };
                let fs = Jffs2::mount(partition()?, options, cpu.clone(), recorder);
                Box::new(fs.map_err(|error| StackError::of("jffs2", &error))?)
            }
            Main::Yaffs2 => {
                let options = yaffs2::Options {
                    profile: self.layers.yaffs2_profile,
                    ra_pages: self.ra_pages,
                    ..yaffs2::Options::default()
                };
                let fs = Yaffs2::mount(partition()?, options, cpu.clone(), recorder);
                Box::new(fs.map_err(|error| StackError::of("yaffs2", &error))?)
            }
            Main::Ubifs => {
                let options = ubifs::Options {
                    compressor: self.ubifs_compressor,
                    bulk_read: self.layers.ubifs_bulk_read,
                    dirty_limit: self.platform.dirty_limit,
                    checks_data: self.platform.ubifs_checks_data,
                    maker: self.layers.ubifs_maker,
                    wear_threshold: self.layers.ubi_wear_threshold,
                    fastmap: self.layers.ubi_fastmap,
                    ..ubifs::Options::default()
                };
                let fs = Ubifs::mount(partition()?, options, cpu.clone(), recorder.clone());
                Box::new(fs.map_err(|error| StackError::of("ubifs", &error))?)
            }
            Main::Ftl => self.plainfs(device, cpu, recorder, Start::Mount)?,
            // The engine uses no file system; sessions get an empty one in RAM, which nobody writes
            // to.
            Main::Tmpfs | Main::Chip => self.tmpfs(),
        })
    }

    /// Make a plain file system on a flash translation layer on the partition, or mount it.
    fn plainfs(
        &self,
        device: &Device,
        cpu: &Cpu,
        recorder: &Recorder,
        start: Start,
    ) -> Result<Box<dyn FileSystem>, StackError> {
        let spare_blocks = self.layers.ftl_spare_blocks(self.partition_blocks);
        let options = FtlOptions {
            first_block: 0,
            block_count: self.partition_blocks,
            spare_blocks,
            sector_size: 512,
            wear_gap: card::WEAR_GAP,
            mapping: self.layers.ftl_mapping(spare_blocks),
        };
        let (bus, erase_counts) = (self.platform.card, self.erase_counts());
        let card = card::card(device, options, &erase_counts, bus, recorder)?;
        card::plainfs(card, cpu, recorder, start)
    }

    fn tmpfs(&self) -> Box<dyn FileSystem> {
        Box::new(Tmpfs::new(self.partition_bytes()))
    }

    /// Size of the partition in bytes.
    pub fn partition_bytes(&self) -> u64 {
        u64::from(self.partition_blocks) * u64::from(self.part.geometry.block_size())
    }

    /// The CPU that the platform describes.
    pub fn cpu(&self, recorder: &Recorder) -> Cpu {
        Cpu::new(recorder.clock().clone(), self.platform.cpu.speed())
    }

    /// Attach the MTD layer to the device and return the test partition.
    ///
    /// # Errors
    /// Fails if the partition is larger than the chip.
    pub fn partition(
        &self,
        device: &Device,
        cpu: &Cpu,
        recorder: &Recorder,
    ) -> Result<Partition, StackError> {
        let device = Box::new(device.clone());
        let cpu = cpu.clone();
        let overhead_ns = self.platform.overhead_ns;
        let raw = RawNand::attach(device, recorder.clone(), cpu, self.ecc, overhead_ns);
        let raw = raw.map_err(|error| StackError::of("mtd", &error))?;
        let (asked, there) = (self.partition_blocks, self.part.geometry.block_count);
        Partition::new(Rc::new(RefCell::new(raw)), 0, asked).ok_or_else(|| StackError::Refused {
            layer: "mtd",
            why: format!("a partition of {asked} blocks on a chip of {there}"),
        })
    }
}
