//! The simulated site: a simulated machine on virtual time.

use std::cell::{Cell, RefMut};
use std::rc::Rc;

use flysch_chip::{EventKind, Origin, Recorder, Trace};
use flysch_linux::cpu::Unit;
use flysch_nand::Geometry;
use flysch_sqlite::Database;

use super::{Blocks, Site};
use crate::bench::RunError;
use crate::bench::scenario::Scenario;
use crate::machine::files::Files;
use crate::machine::mark::Mark;
use crate::machine::stack::Main;
use crate::machine::storage::Drawn;
use crate::machine::{Machine, Storages};

/// Time between the two drops of the caches, nanoseconds. The runs on the real kernel waited as
/// long.
pub const SETTLE_NS: u64 = 2_000_000_000;

/// A part of a trace has at least so many events. They take 2 MB.
const PART_LEN: usize = 1 << 16;

/// A simulated machine with a scenario's stack on it.
pub struct Simulated {
    machine: Machine,
    storages: Storages,
    geometry: Geometry,
    partition_blocks: u32,
    /// How many events make a trace long.
    part_len: Cell<usize>,
}

/// The state of a simulated site at a moment.
pub struct SiteMark {
    machine: Mark,
    drawn: Vec<Drawn>,
}

impl Simulated {
    /// Format and mount the scenario's file systems, and age the device.
    ///
    /// # Errors
    /// Fails if the stack cannot be built or the device cannot be aged as asked.
    pub fn new(scenario: &Scenario) -> Result<Self, RunError> {
        let build = &scenario.build;
        let machine = build.format_and_mount(scenario.stack)?;
        let mut linux = machine.linux.borrow_mut();
        let capacity = build.partition_bytes();
        let aged = build.age.apply(&mut linux, &machine.recorder, capacity, build.seed);
        drop(linux);
        aged.map_err(RunError::Age)?;
        Ok(Self::on(machine, scenario))
    }

    /// A site with the file systems that are on the devices of `machine`, mounted again. Those of
    /// `machine` must not be used any more.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn mounted_again(machine: &Machine, scenario: &Scenario) -> Result<Self, RunError> {
        let machine = scenario.build.mount_again(scenario.stack, machine)?;
        Ok(Self::on(machine, scenario))
    }

    /// A site on a machine that the caller has built, such as one with a file system of his own
    /// ([`Build::mount_own`](crate::machine::Build::mount_own)).
    pub fn on(machine: Machine, scenario: &Scenario) -> Self {
        let build = &scenario.build;
        let storages = machine.storages(scenario.settings, scenario.seed);
        let geometry = build.part.geometry;
        let (partition_blocks, part_len) = (build.partition_blocks, Cell::new(PART_LEN));
        Self { machine, storages, geometry, partition_blocks, part_len }
    }
}

impl Site for Simulated {
    fn open_database(&self, name: &str) -> Result<Database, flysch_sqlite::Error> {
        Database::open(Rc::clone(&self.storages.whole), name)
    }

    fn storage(&self) -> Option<Rc<dyn flysch_sqlite::Vfs>> {
        Some(Rc::clone(&self.storages.whole))
    }

    fn machine(&self) -> Option<&Machine> {
        Some(&self.machine)
    }

    fn mark(&self) -> Option<SiteMark> {
        let drawn = self.storages.each.iter().map(|storage| storage.drawn()).collect();
        Some(SiteMark { machine: self.machine.mark()?, drawn })
    }

    fn take_back(&self, mark: &SiteMark) {
        self.machine.take_back(&mark.machine);
        for (storage, drawn) in self.storages.each.iter().zip(&mark.drawn) {
            storage.take_back(drawn);
        }
    }

    fn files(&self) -> RefMut<'_, dyn Files> {
        RefMut::map(self.machine.linux.borrow_mut(), |linux| linux as &mut dyn Files)
    }

    fn settle(&self) -> Result<(), RunError> {
        let mut linux = self.machine.linux.borrow_mut();
        linux.sync()?;
        linux.drop_caches()?;
        linux.sleep(SETTLE_NS);
        linux.drop_caches()?;
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.machine.recorder.clock().now_ns()
    }

    fn cpu_ns(&self) -> u64 {
        self.machine.cpu.busy_ns()
    }

    fn hold_timers(&self, held: bool) -> Result<(), RunError> {
        self.machine.cpu.set_free(held);
        Ok(())
    }

    fn tune(&self, scenario: &Scenario) -> Result<(), RunError> {
        let mut linux = self.machine.linux.borrow_mut();
        linux.set_random_advice(scenario.advises_random);
        match scenario.stack.main {
            Main::Ubifs => linux.set_read_ahead(scenario.ubifs_ra_pages),
            Main::Jffs2 | Main::Yaffs2 => linux.set_read_ahead(scenario.build.ra_pages),
            Main::Ftl | Main::Tmpfs | Main::Chip => {}
        }
        Ok(())
    }

    fn sleep(&self, ns: u64) {
        self.machine.linux.borrow_mut().sleep(ns);
    }

    fn charge(&self, unit: Unit, number: u64) {
        self.machine.cpu.charge(unit, number);
    }

    fn recorder(&self) -> &Recorder {
        &self.machine.recorder
    }

    fn reset(&self) -> Result<(), RunError> {
        // Earlier work, such as opening the database, may have left a fraction of a nanosecond of
        // CPU time. It ends here, so that the interval starts on a whole nanosecond.
        self.machine.cpu.end_nanosecond();
        self.machine.recorder.reset();
        Ok(())
    }

    fn count(&self, kind: EventKind) -> Result<u64, RunError> {
        Ok(self.machine.recorder.count(kind))
    }

    fn take_part(&self) -> Option<Trace> {
        let recorder = &self.machine.recorder;
        if recorder.len() < self.part_len.get() {
            return None;
        }
        let contents = self.machine.contents.as_ref().map(|contents| contents.borrow());
        let is_known = |shares: &[(Origin, u32)]| {
            let contents = contents.as_ref();
            contents.is_none_or(|it| shares.iter().all(|(of, _)| it.label_of(*of).is_some()))
        };
        let (mut trace, cargo) = recorder.take_part(self.geometry, is_known);
        if let Some(contents) = &contents {
            trace.blame = contents.blame_so_far(&cargo, trace.events.len());
        }
        // A long transaction is not looked through after each of its requests.
        self.part_len.set(PART_LEN.max(2 * recorder.len()));
        Some(trace)
    }

    fn take(&self) -> Result<Trace, RunError> {
        let cargo = self.machine.recorder.take_cargo();
        let mut trace = self.machine.recorder.take(self.geometry);
        if let Some(contents) = &self.machine.contents {
            trace.blame = contents.borrow_mut().blame(&cargo, trace.events.len());
        }
        Ok(trace)
    }

    fn blocks(&self) -> Blocks {
        let device = self.machine.device.borrow();
        let chip = device.device().chip();
        let mut erase_counts = chip.erase_counts();
        erase_counts.truncate(self.partition_blocks as usize);
        let bad = chip.bad_blocks().map(|block| block.0).collect();
        Blocks { erase_counts, bad_count: chip.wear().bad_block_count, bad }
    }
}
