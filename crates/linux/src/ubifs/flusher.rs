//! The flusher: the kernel's task that writes dirty pages without being asked.
//!
//! It wakes some time after the first inode became dirty, and again as long as any inode is dirty.
//! It writes inodes that have been dirty for long. Since 3.1 it also writes all dirty pages if they
//! are more than the device's share of the limit on dirty memory. This share is the device's part
//! of all that was written lately. A device that has written nothing has no share, so its first
//! pages are written as soon as the flusher wakes.

use std::collections::VecDeque;

use flysch_chip::{Scope, TaskScope};

use super::Ubifs;
use super::inode::Dirt;
use super::options::DirtyLimit;
use super::writers::{Turns, Writer};
use crate::cache::PageCache;
use crate::filesystem::{FsError, Ino};
use crate::timer::writeback_ns;

/// Name of the task in traces.
const TASK: &str = "flush-ubifs_0_0";
/// Inodes that have been dirty for longer than this are written (`dirty_expire_interval`),
/// nanoseconds.
const EXPIRY_NS: u64 = 30_000_000_000;
/// Pages written lately count half after this time (`VM_COMPLETIONS_PERIOD_LEN`), nanoseconds.
const HALF_LIFE_NS: u64 = 3_000_000_000;
/// If fewer pages than this were written lately, the device has no share: a CPU counts this many by
/// itself before it adds them to the common count (`PROP_BATCH`, on one CPU).
const SHOWN_MIN: u64 = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Flusher {
    /// When it wakes next, nanoseconds; `None` if no inode is dirty.
    pub(super) due_ns: Option<u64>,
    /// The files that it is writing, if any.
    pub(super) work: Option<Work>,
    written: Lately,
}

/// The files that the flusher writes after it woke.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) writer: Writer,
    rest: VecDeque<u32>,
    began_ns: u64,
    /// CPU time that it has had since `began_ns`, nanoseconds.
    took_ns: u64,
}

/// A count of the pages written lately. Every [`HALF_LIFE_NS`] it is halved.
#[derive(Clone, Debug, Default)]
struct Lately {
    count: u64,
    period: u64,
}

impl Lately {
    fn count(&mut self, now_ns: u64) -> &mut u64 {
        let period = now_ns / HALF_LIFE_NS;
        let passed = u32::try_from(period - self.period).unwrap_or(u32::MAX);
        self.count = self.count.checked_shr(passed).unwrap_or(0);
        self.period = period;
        &mut self.count
    }
}

impl Ubifs {
    pub(super) fn now_ns(&self) -> u64 {
        self.recorder.clock().now_ns()
    }

    /// Mark in the trace that the flusher causes what follows, while the returned scopes live. The
    /// inner one stands first, so that it ends first.
    pub(super) fn enter_flusher(&self) -> (Scope, TaskScope) {
        let task = self.recorder.task(TASK);
        (self.recorder.scope("write_back"), task)
    }

    /// Note that an inode became dirty, so that the flusher wakes.
    pub(super) fn arm_flusher(&mut self) {
        let due_ns = writeback_ns(self.now_ns());
        self.flusher.due_ns.get_or_insert(due_ns);
    }

    pub(super) fn count_written(&mut self) {
        let now_ns = self.now_ns();
        *self.flusher.written.count(now_ns) += 1;
    }

    /// Let the flusher run if it is due and has not had its share of the CPU. While programs run it
    /// gets half of the CPU.
    pub(super) fn run_flusher(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.wake_flusher_if_due(cache);
        let _task = self.enter_flusher();
        while let Some(mut work) = self.flusher.work.take() {
            let now_ns = self.now_ns();
            if !self.cpu.is_idle() && now_ns - work.began_ns < 2 * work.took_ns {
                self.flusher.work = Some(work);
                break;
            }
            if !self.write_next(cache, &mut work.writer)? {
                self.end_file(cache, work)?;
                continue;
            }
            work.took_ns += self.now_ns() - now_ns;
            self.flusher.work = Some(work);
        }
        Ok(())
    }

    /// Write the dirty pages of a file for an fsync. If the flusher is at work, or begins to be,
    /// both write in turns.
    pub(super) fn write_back_for_fsync(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
    ) -> Result<(), FsError> {
        let mut fsync = Writer::new(ino);
        let mut turns = Turns::new(self.now_ns());
        loop {
            if self.wake_flusher_if_due(cache) {
                turns.wake_other(self.now_ns());
            }
            if let Some(work) = self.flusher.work.take() {
                return self.fsync_beside(cache, &mut fsync, work, turns);
            }
            if !self.write_next(cache, &mut fsync)? {
                return Ok(());
            }
        }
    }

    fn fsync_beside(
        &mut self,
        cache: &mut PageCache,
        fsync: &mut Writer,
        mut work: Work,
        turns: Turns,
    ) -> Result<(), FsError> {
        if self.write_with_flusher(cache, fsync, &mut work.writer, turns)? {
            // From here on the flusher shares the CPU with the foreground, and its time is counted
            // from zero.
            (work.began_ns, work.took_ns) = (self.now_ns(), 0);
            self.flusher.work = Some(work);
            return Ok(());
        }
        self.end_file(cache, work)
    }

    /// Wake the flusher if it is time, and list the files it must write: those that became dirty
    /// first come first. Returns whether it woke.
    fn wake_flusher_if_due(&mut self, cache: &PageCache) -> bool {
        let now_ns = self.now_ns();
        if self.flusher.due_ns.is_none_or(|due_ns| due_ns > now_ns) {
            return false;
        }
        let is_over = self.options.dirty_limit == DirtyLimit::Shared
            && cache.dirty_count() > 0
            && (*self.flusher.written.count(now_ns) < SHOWN_MIN || cache.is_filling());
        let is_due = |since_ns: u64| is_over || since_ns + EXPIRY_NS <= now_ns;
        let dirty =
            self.inodes.iter().filter_map(|(ino, inode)| Some((inode.dirty_since_ns?, ino)));
        let mut dirty: Vec<(u64, u32)> = dirty.collect();
        dirty.sort_unstable();
        self.flusher.due_ns = (!dirty.is_empty()).then(|| writeback_ns(now_ns));
        let due = dirty.into_iter().filter(|&(since_ns, _)| is_due(since_ns));
        let mut rest: VecDeque<u32> = due.map(|(_, ino)| ino).collect();
        if self.flusher.work.is_none()
            && let Some(ino) = rest.pop_front()
        {
            let writer = Writer::new(ino);
            self.flusher.work = Some(Work { writer, rest, began_ns: now_ns, took_ns: 0 });
        }
        true
    }

    /// Write the inode of a file whose pages are all written, and begin with the next file.
    fn end_file(&mut self, cache: &PageCache, mut work: Work) -> Result<(), FsError> {
        let ino = work.writer.ino;
        if self.inodes.get(ino).is_some_and(|inode| inode.dirt() != Dirt::None) {
            self.write_back_inode(ino)?;
        }
        let is_dirty = cache.dirty_from(Ino(ino), 0).next().is_some();
        let since_ns = is_dirty.then(|| self.now_ns());
        if let Some(inode) = self.inodes.get_mut(ino) {
            inode.dirty_since_ns = since_ns;
        }
        if let Some(ino) = work.rest.pop_front() {
            work.writer = Writer::new(ino);
            self.flusher.work = Some(work);
        }
        Ok(())
    }
}
