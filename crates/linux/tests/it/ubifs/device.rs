//! A small chip with UBIFS on it, for the tests of UBIFS.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Part, Recorder, Shared, Tracer};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::cpu::{Cpu, Speed};
use flysch_linux::mtd::{EccMode, Partition, RawNand};
use flysch_linux::ubifs::{MountError, Options, Ubifs};
use flysch_linux::vfs::Vfs;
use flysch_nand::{BlockAddr, Nand, PageAddr};

/// Bytes of data in a page of the chip.
pub(super) const PAGE: usize = 2048;
/// Bytes of data in a block of the chip.
pub(super) const BLOCK: usize = 64 * PAGE;

/// A chip with its fault injector, and the options to mount it with.
#[derive(Clone)]
pub(super) struct Device {
    pub(super) chip: Shared<Tracer<FaultInjector>>,
    pub(super) recorder: Recorder,
    pub(super) options: Options,
    pub(super) cpu: Cpu,
}

impl Device {
    pub(super) fn new(blocks: u32, options: Options) -> Self {
        Self::with_pages(blocks, 64, options)
    }

    pub(super) fn with_pages(blocks: u32, pages_per_block: u32, options: Options) -> Self {
        let mut part = Part::named("nandsim").unwrap();
        (part.geometry.block_count, part.geometry.pages_per_block) = (blocks, pages_per_block);
        let clock = Clock::new();
        Self::of(Chip::new(Arc::new(part), clock.clone(), 1), clock, options)
    }

    /// A copy of the device with the same content.
    pub(super) fn fork(&self) -> Self {
        let clock = Clock::new();
        let chip = self.chip.borrow().device().chip().fork(clock.clone());
        Self::of(chip, clock, self.options.clone())
    }

    fn of(chip: Chip, clock: Clock, options: Options) -> Self {
        let recorder = Recorder::new(clock, "test");
        let injector = FaultInjector::new(chip);
        let chip = Shared::new(Tracer::new(injector, recorder.clone()));
        let cpu = Cpu::new(recorder.clock().clone(), Speed::default());
        Self { chip, recorder, options, cpu }
    }

    pub(super) fn partition(&self) -> Result<Partition, MountError> {
        let device = Box::new(self.chip.clone());
        let blocks = self.chip.borrow().device().chip().part().geometry.block_count;
        let raw = RawNand::attach(
            device,
            self.recorder.clone(),
            self.cpu.clone(),
            EccMode::Hardware,
            (0, 0),
        );
        let raw = raw.map_err(|_| MountError::PowerLost)?;
        Ok(Partition::new(Rc::new(RefCell::new(raw)), 0, blocks).unwrap())
    }

    pub(super) fn format(&self) -> Result<(), MountError> {
        Ubifs::format(&self.partition()?, &self.recorder, &[], self.options.fastmap)
    }

    pub(super) fn mount_fs(&self) -> Result<Ubifs, MountError> {
        let (options, cpu) = (self.options.clone(), self.cpu.clone());
        Ubifs::mount(self.partition()?, options, cpu, self.recorder.clone())
    }

    pub(super) fn mount(&self) -> Result<Vfs, MountError> {
        let fs = Box::new(self.mount_fs()?);
        Ok(Vfs::mount(fs, ReadAheadProfile::C, self.cpu.clone(), self.recorder.clone()))
    }

    /// Arrange for faults. Operations are counted from here on.
    pub(super) fn arm(&self, plan: FaultPlan) {
        self.chip.borrow_mut().device_mut().arm(plan);
    }

    /// Change the bytes of a block in place: erase it and program it again.
    pub(super) fn rewrite(&self, block: u32, change: impl FnOnce(&mut [u8])) {
        let mut chip = self.chip.borrow_mut();
        let mut content = vec![0; BLOCK];
        for (page, bytes) in (block * 64..).zip(content.chunks_mut(PAGE)) {
            let _raw = chip.read(PageAddr(page), 0, bytes);
        }
        change(&mut content);
        chip.erase(BlockAddr(block)).unwrap();
        for (page, bytes) in (block * 64..).zip(content.chunks(PAGE)) {
            for (sector, part) in (0_u32..).zip(bytes.chunks(512)) {
                if part.iter().any(|&byte| byte != 0xFF) {
                    chip.program(PageAddr(page), sector * 512, part, &[]).unwrap();
                }
            }
        }
    }

    pub(super) fn power_up(&self) {
        self.chip.borrow_mut().device_mut().power_up();
        self.arm(FaultPlan::default());
    }

    pub(super) fn operations(&self) -> u64 {
        self.chip.borrow().device().operations()
    }

    pub(super) fn is_on(&self) -> bool {
        self.chip.borrow().device().is_on()
    }
}
