//! JFFS2: costs, comparison with a model, power cuts, faults, hostile images, third-party tools.

pub(crate) mod admit;
mod dump;
mod filling;
mod format;
pub(crate) mod images;
mod model;
mod mtd_utils;
pub(crate) mod operation;
pub(crate) mod power_cut;
mod scars;
pub(crate) mod state;
mod torn_summary;
mod wear_and_bits;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Part, Recorder, Shared, Tracer};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::cpu::Cpu;
use flysch_linux::jffs2::{Compressor, Jffs2, MountError, Options};
use flysch_linux::mtd::{EccMode, MtdError, Partition, RawNand};
use flysch_linux::vfs::Vfs;
use flysch_nand::Geometry;

use crate::machine::speed;

/// A part with pages of 2 KiB and few, small blocks, so that the collector is always at work.
pub(crate) fn small_part(pages_per_block: u32, block_count: u32) -> Arc<Part> {
    let nandsim = Part::builtin("nandsim").unwrap();
    let geometry = Geometry { pages_per_block, block_count, ..nandsim.geometry };
    Arc::new(Part { geometry, ..nandsim })
}

/// By how much to multiply the number of seeds tried: `FLYSCH_SEEDS`, or 1 if it is not set.
pub(crate) fn patience() -> u64 {
    std::env::var("FLYSCH_SEEDS")
        .map_or(1, |times| times.parse().expect("FLYSCH_SEEDS is a number"))
}

/// A chip with its recorder and options. It survives the mounts.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) device: Shared<FaultInjector>,
    pub(crate) recorder: Recorder,
    pub(crate) ecc: EccMode,
    pub(crate) options: Options,
}

impl Bench {
    pub(crate) fn new(part: Arc<Part>) -> Self {
        Self::of_chip(&Chip::new(part, Clock::new(), 1))
    }

    pub(crate) fn of_chip(chip: &Chip) -> Self {
        let clock = Clock::new();
        let injector = FaultInjector::new(chip.fork(clock.clone()));
        let options = Options {
            compressors: vec![Compressor::Zlib, Compressor::Rtime],
            ra_pages: 0,
            summaries: false,
            seed: 1,
        };
        Self {
            device: Shared::new(injector),
            recorder: Recorder::new(clock, "test"),
            ecc: EccMode::Hardware,
            options,
        }
    }

    /// A copy with a fork of the chip in its present state.
    pub(crate) fn fork(&self) -> Self {
        let fork = Self::of_chip(self.device.borrow().chip());
        Self { ecc: self.ecc, options: self.options.clone(), ..fork }
    }

    pub(crate) fn arm(&self, plan: FaultPlan) {
        self.device.borrow_mut().arm(plan);
    }

    fn cpu(&self) -> Cpu {
        Cpu::new(self.recorder.clock().clone(), speed())
    }

    pub(crate) fn attach(&self) -> Result<Partition, MtdError> {
        let device = Tracer::new(self.device.clone(), self.recorder.clone());
        let recorder = self.recorder.clone();
        let raw = RawNand::attach(Box::new(device), recorder, self.cpu(), self.ecc, (0, 0))?;
        let blocks = raw.geometry().block_count;
        Ok(Partition::new(Rc::new(RefCell::new(raw)), 0, blocks).unwrap())
    }

    pub(crate) fn format(&self) -> Result<(), MountError> {
        Jffs2::format(&self.attach()?)
    }

    pub(crate) fn mount(&self) -> Result<Vfs, MountError> {
        self.recorder.reset();
        let (cpu, recorder) = (self.cpu(), self.recorder.clone());
        let fs = Jffs2::mount(self.attach()?, self.options.clone(), cpu.clone(), &recorder)?;
        Ok(Vfs::mount(Box::new(fs), ReadAheadProfile::C, cpu, recorder))
    }
}
