//! Marks: the whole state of a machine at a moment, to which it can be taken back.
//!
//! A machine that was taken back goes on as if nothing had happened since the mark: devices, file
//! systems that are mounted with their caches and timers, clock, CPU, recording, and what is known
//! of the bytes in files. The blocks of the chip are shared until they change. So a mark takes
//! little more than what the file systems have in memory.
//!
//! Invariants:
//! 1. No database is open at a mark, nor when the machine is taken back. SQLite's own memory is not
//!    part of the machine.
//! 2. Handles on the devices, the clock and the recorder stay valid. Those on open files do not.

use flysch_chip::{FaultInjector, Pram, RecordingMark, Supply, Tracer};
use flysch_linux::cpu::CpuMark;
use flysch_linux::vfs::Vfs;

use super::Machine;
use crate::contents::Contents;

/// The state of a machine at a moment.
pub(crate) struct Mark {
    moment: Moment,
    supply: Supply,
    device: Tracer<FaultInjector>,
    pram: Tracer<Pram>,
    linux: Vfs,
    journals: Option<Vfs>,
}

/// The time of a machine, and what was recorded and is known of its bytes. Devices and file systems
/// are not part of it: nothing may happen to them until the machine goes back.
pub(crate) struct Moment {
    now_ns: u64,
    cpu: CpuMark,
    recording: RecordingMark,
    contents: Option<Contents>,
}

impl Machine {
    pub(crate) fn moment(&self) -> Moment {
        Moment {
            now_ns: self.recorder.clock().now_ns(),
            cpu: self.cpu.mark(),
            recording: self.recorder.keep(),
            contents: self.contents.as_ref().map(|contents| contents.borrow().clone()),
        }
    }

    pub(crate) fn go_back(&self, moment: &Moment) {
        self.recorder.clock().take_back(moment.now_ns);
        self.cpu.take_back(&moment.cpu);
        self.recorder.take_back(&moment.recording);
        if let (Some(contents), Some(kept)) = (&self.contents, &moment.contents) {
            contents.borrow_mut().clone_from(kept);
        }
    }

    /// The state of the machine as it is now. None if a file system cannot be copied.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let device = self.device.borrow();
        Some(Mark {
            moment: self.moment(),
            supply: device.device().supply().copy(),
            device: device.clone(),
            pram: self.pram.borrow().clone(),
            linux: self.linux.borrow().copy()?,
            journals: match &self.journals {
                Some(journals) => Some(journals.borrow().copy()?),
                None => None,
            },
        })
    }

    /// Take the machine back to a mark of it.
    pub(crate) fn take_back(&self, mark: &Mark) {
        const COPIED: &str = "what was copied once can be copied again";
        self.go_back(&mark.moment);
        self.device.borrow_mut().clone_from(&mark.device);
        self.device.borrow().device().supply().take_back(&mark.supply);
        self.pram.borrow_mut().clone_from(&mark.pram);
        *self.linux.borrow_mut() = mark.linux.copy().expect(COPIED);
        if let (Some(journals), Some(kept)) = (&self.journals, &mark.journals) {
            *journals.borrow_mut() = kept.copy().expect(COPIED);
        }
    }
}
