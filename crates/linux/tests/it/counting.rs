//! A file system with one file. It costs no time and logs which pages are read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use flysch_chip::{Clock, Recorder};
use flysch_linux::cache::{PageCache, ReadAheadProfile};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::{
    CACHE_PAGE_SIZE, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino,
};
use flysch_linux::vfs::Vfs;
use flysch_nand::Geometry;

use crate::machine::speed;

const ROOT: Ino = Ino(1);
const FILE: Ino = Ino(2);

/// The recorder needs a geometry, although there is no chip.
const GEOMETRY: Geometry = Geometry {
    page_size: 2048,
    oob_size: 64,
    sectors_per_page: 4,
    partial_programs: 4,
    pages_per_block: 64,
    block_count: 1,
    in_order: false,
};

/// What happened to the file system, and what will happen to it.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Pages read, each with the cause of the read.
    pub(crate) page_reads: Vec<(u32, String)>,
    pub(crate) damaged: BTreeSet<u32>,
    pub(crate) evicted: Vec<Ino>,
    /// When the background task runs next, nanoseconds.
    pub(crate) wakeup_ns: Option<u64>,
    /// Whether the task reports a power loss and stays due.
    pub(crate) is_powerless: bool,
    /// When the task ran, nanoseconds.
    pub(crate) runs_ns: Vec<u64>,
}

pub(crate) struct Counting {
    size: u64,
    recorder: Recorder,
    log: Rc<RefCell<Log>>,
}

/// Time from one run of the background task to the next, nanoseconds.
pub(crate) const TICK_NS: u64 = 5_000_000_000;

/// Mount the file system. Its file is named "file" and has `size` bytes.
pub(crate) fn mount(size: u64, profile: ReadAheadProfile) -> (Vfs, Rc<RefCell<Log>>) {
    let clock = Clock::new();
    let recorder = Recorder::new(clock.clone(), "test");
    let log = Rc::default();
    let fs = Counting { size, recorder: recorder.clone(), log: Rc::clone(&log) };
    let vfs = Vfs::mount(Box::new(fs), profile, Cpu::new(clock, speed()), recorder);
    (vfs, log)
}

/// The value of all bytes in page `index`.
pub(crate) fn content(index: u32) -> u8 {
    u8::try_from(index % 251).unwrap()
}

impl FileSystem for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Cached { ra_pages: 32 }
    }

    fn maps_shared(&self) -> bool {
        false
    }

    fn root(&self) -> Ino {
        ROOT
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        let entries = self.entries(parent)?;
        Ok(entries.into_iter().find(|entry| entry.name == name))
    }

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError> {
        assert_eq!(dir, ROOT);
        Ok(vec![DirEntry { name: b"file".to_vec(), ino: FILE, kind: FileKind::Regular }])
    }

    fn create(&mut self, _: Ino, _: &[u8], _: FileKind) -> Result<Ino, FsError> {
        Err(FsError::NoSpace)
    }

    fn unlink(&mut self, _: Ino, _: &[u8]) -> Result<(), FsError> {
        Ok(())
    }

    fn rename(&mut self, _: Ino, _: &[u8], _: Ino, _: &[u8]) -> Result<(), FsError> {
        Err(FsError::NoSpace)
    }

    fn load(&mut self, _: Ino) -> Result<u64, FsError> {
        Ok(self.size)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        self.log.borrow_mut().evicted.push(ino);
        Ok(())
    }

    fn read_page(
        &mut self,
        ino: Ino,
        index: u32,
        page: &mut [u8; CACHE_PAGE_SIZE],
    ) -> Result<(), FsError> {
        // An event in the recorder gets the present cause, as an operation of a chip would.
        self.recorder.reset();
        self.recorder.mark(index);
        let trace = self.recorder.take(GEOMETRY);
        let cause = trace.causes.path(trace.events[0].cause);
        let mut log = self.log.borrow_mut();
        log.page_reads.push((index, cause));
        let offset = u64::from(index) * CACHE_PAGE_SIZE as u64;
        if log.damaged.contains(&index) {
            return Err(FsError::Damaged { ino, offset });
        }
        let len = usize::try_from(self.size - offset).unwrap().min(CACHE_PAGE_SIZE);
        page[..len].fill(content(index));
        Ok(())
    }

    fn read_direct(&mut self, _: Ino, _: u64, _: &mut [u8]) -> Result<usize, FsError> {
        Err(FsError::Io)
    }

    fn write(&mut self, _: &mut PageCache, _: Ino, _: u64, _: &[u8]) -> Result<(), FsError> {
        Err(FsError::PowerLost)
    }

    fn truncate(&mut self, _: &mut PageCache, _: Ino, size: u64) -> Result<(), FsError> {
        self.size = size;
        Ok(())
    }

    fn fsync(&mut self, _: &mut PageCache, _: Ino, _: bool) -> Result<(), FsError> {
        Err(FsError::PowerLost)
    }

    fn sync(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        Err(FsError::PowerLost)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        self.log.borrow().wakeup_ns
    }

    fn run_background(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        let mut log = self.log.borrow_mut();
        let now_ns = self.recorder.clock().now_ns();
        log.runs_ns.push(now_ns);
        if log.is_powerless {
            return Err(FsError::PowerLost);
        }
        log.wakeup_ns = Some(now_ns + TICK_NS);
        Ok(())
    }

    fn unmount(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        Err(FsError::PowerLost)
    }
}
