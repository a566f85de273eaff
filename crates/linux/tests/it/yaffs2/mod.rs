//! YAFFS2: costs, comparison with a model, power cuts, faults, hostile images.

mod checkpoint;
mod costs;
mod faults;
mod images;
mod model;
mod power_cut;
mod summaries;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Part, Recorder, Shared, Tracer};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::cpu::Cpu;
use flysch_linux::mtd::{EccMode, MtdError, Partition, RawNand};
use flysch_linux::vfs::Vfs;
use flysch_linux::yaffs2::{MountError, Options, Profile, Yaffs2};

use crate::jffs2::state::{Names, read_all};
use crate::machine::speed;

/// The two generations of code, and the newer one without a cache.
const ALL_OPTIONS: [Options; 3] = [
    Options { profile: Profile::Today, caches: 10, ra_pages: 32 },
    Options { profile: Profile::Y2009, caches: 10, ra_pages: 32 },
    Options { profile: Profile::Today, caches: 0, ra_pages: 0 },
];

/// A chip with its recorder and options. It survives the mounts.
#[derive(Clone)]
struct Bench {
    device: Shared<FaultInjector>,
    recorder: Recorder,
    options: Options,
}

impl Bench {
    fn new(part: Arc<Part>, options: Options) -> Self {
        Self::of_chip(&Chip::new(part, Clock::new(), 1), options)
    }

    fn of_chip(chip: &Chip, options: Options) -> Self {
        let clock = Clock::new();
        let injector = FaultInjector::new(chip.fork(clock.clone()));
        Self { device: Shared::new(injector), recorder: Recorder::new(clock, "test"), options }
    }

    /// A copy with a fork of the chip in its present state.
    fn fork(&self) -> Self {
        Self::of_chip(self.device.borrow().chip(), self.options)
    }

    fn arm(&self, plan: FaultPlan) {
        self.device.borrow_mut().arm(plan);
    }

    fn cpu(&self) -> Cpu {
        Cpu::new(self.recorder.clock().clone(), speed())
    }

    fn attach(&self) -> Result<Partition, MtdError> {
        let device = Box::new(Tracer::new(self.device.clone(), self.recorder.clone()));
        let recorder = self.recorder.clone();
        let raw = RawNand::attach(device, recorder, self.cpu(), EccMode::Hardware, (0, 0))?;
        let blocks = raw.geometry().block_count;
        Ok(Partition::new(Rc::new(RefCell::new(raw)), 0, blocks).unwrap())
    }

    fn format(&self) -> Result<(), MountError> {
        Yaffs2::format(&self.attach()?)
    }

    fn mount(&self) -> Result<Vfs, MountError> {
        self.recorder.reset();
        let (cpu, recorder) = (self.cpu(), self.recorder.clone());
        let fs = Yaffs2::mount(self.attach()?, self.options, cpu.clone(), &recorder)?;
        Ok(Vfs::mount(Box::new(fs), ReadAheadProfile::C, cpu, recorder))
    }
}

/// All names and contents that the users wrote.
fn read_users(vfs: &mut Vfs) -> Result<Names, String> {
    let mut found = read_all(vfs).map_err(|error| error.to_string())?;
    found.retain(|name, _| !name.starts_with("lost+found"));
    Ok(found)
}
