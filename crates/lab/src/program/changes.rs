//! What programs changed: the number of bytes that they wrote, and, if wanted, a list of their
//! calls.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use crc32fast::Hasher;
use flysch_sqlite::calls;
use flysch_sqlite::{Characteristics, File, SyncFlags, VfsError};

use crate::contents::Writes;

/// Counts of changes, shared by all files of a machine.
#[derive(Clone, Default)]
pub(super) struct Changes {
    written: Rc<Cell<u64>>,
    syncs: Rc<Cell<u64>>,
    /// The value of the counts at the last call of [`Self::take_written`].
    given: Rc<Cell<Writes>>,
    /// Number and checksum of the changes since the last call of [`Self::take`].
    recent: Rc<RefCell<(u32, Hasher)>>,
    /// The files that were synced since the last call of [`Self::take_synced`].
    synced: Rc<RefCell<BTreeSet<String>>>,
    calls: Option<Rc<RefCell<String>>>,
}

impl Changes {
    pub(super) fn new(keeps_calls: bool) -> Self {
        Self { calls: keeps_calls.then(Rc::default), ..Self::default() }
    }

    /// Bytes that programs wrote to files.
    pub(super) fn written(&self) -> u64 {
        self.written.get()
    }

    /// How often programs synced a file.
    pub(super) fn syncs(&self) -> u64 {
        self.syncs.get()
    }

    /// Bytes written and syncs since the last call.
    pub(super) fn take_written(&self) -> Writes {
        let now = Writes { bytes: self.written.get(), syncs: self.syncs.get() };
        let before = self.given.replace(now);
        Writes { bytes: now.bytes - before.bytes, syncs: now.syncs - before.syncs }
    }

    /// Number and checksum of the changes since the last call.
    pub(super) fn take(&self) -> calls::Changes {
        let (count, hasher) = self.recent.take();
        calls::Changes { count, crc: hasher.finalize() }
    }

    /// The files that were synced since the last call.
    pub(super) fn take_synced(&self) -> BTreeSet<String> {
        self.synced.take()
    }

    /// The list of calls on files that have a name, one in each line.
    pub(super) fn calls(&self) -> String {
        self.calls.as_ref().map(|calls| calls.borrow().clone()).unwrap_or_default()
    }

    pub(super) fn note_write(&self, name: Option<&str>, offset: u64, len: u64) {
        self.written.set(self.written.get() + len);
        self.list("write", name, &[offset, len]);
    }

    pub(super) fn note_truncate(&self, name: Option<&str>, size: u64) {
        self.list("truncate", name, &[size]);
    }

    pub(super) fn note_sync(&self, name: Option<&str>) {
        self.syncs.set(self.syncs.get() + 1);
        self.synced.borrow_mut().extend(name.map(str::to_owned));
        self.list("sync", name, &[]);
    }

    fn list(&self, call: &str, name: Option<&str>, numbers: &[u64]) {
        let Some(name) = name else { return };
        let mut recent = self.recent.borrow_mut();
        recent.0 += 1;
        recent.1.update(call.as_bytes());
        recent.1.update(name.as_bytes());
        for number in numbers {
            recent.1.update(&number.to_le_bytes());
        }
        let Some(calls) = &self.calls else { return };
        let mut calls = calls.borrow_mut();
        calls.extend([call, " ", name]);
        for number in numbers {
            calls.extend([" ", &number.to_string()]);
        }
        calls.push('\n');
    }
}

/// A file whose changes are counted.
pub(super) struct Counted {
    pub(super) file: Box<dyn File>,
    /// Its name on the machine. None for a temporary file without a name.
    pub(super) place: Option<String>,
    pub(super) changes: Changes,
}

impl File for Counted {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, VfsError> {
        self.file.read(offset, bytes)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), VfsError> {
        self.changes.note_write(self.place.as_deref(), offset, bytes.len() as u64);
        self.file.write(offset, bytes)
    }

    fn truncate(&mut self, size: u64) -> Result<(), VfsError> {
        self.changes.note_truncate(self.place.as_deref(), size);
        self.file.truncate(size)
    }

    fn sync(&mut self, flags: SyncFlags) -> Result<(), VfsError> {
        self.changes.note_sync(self.place.as_deref());
        self.file.sync(flags)
    }

    fn size(&mut self) -> Result<u64, VfsError> {
        self.file.size()
    }

    fn sector_size(&self) -> u32 {
        self.file.sector_size()
    }

    fn characteristics(&self) -> Characteristics {
        self.file.characteristics()
    }
}
