//! Two tasks that write pages of files on one CPU: an fsync, and the flusher at the same time.
//!
//! Each task looks up a batch of dirty pages. Then it locks one page after the other, compresses
//! it, and appends it to the journal. If the next page of its batch is locked by the other task, it
//! waits. If it looks up a batch while the other task has a page locked, that page is left out of
//! the batch, because it is not dirty any more. Pages can therefore change their order only where a
//! batch ends: a page of the new batch may be appended before the one that is locked.
//!
//! The fair scheduler decides which of the two runs, with the constants of 6.1 on one CPU. A task
//! can lose the CPU where it might sleep: after it has compressed a page, and after it has unlocked
//! one.

use std::collections::VecDeque;

use super::Ubifs;
use super::journal::Block;
use crate::cache::PageCache;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino};
use crate::timer::TICK_NS;

/// Number of pages looked up at a time (`PAGEVEC_SIZE`; 14 before 4.16).
const BATCH: usize = 15;
/// How long one of two tasks may run at a stretch: half of `sysctl_sched_latency`, nanoseconds. A
/// task that wakes gets at most this much credit.
const SLICE_NS: u64 = 3_000_000;
/// A task that wakes takes the CPU at once if it has had less CPU time by more than this
/// (`sysctl_sched_wakeup_granularity`), nanoseconds.
const WAKE_GAIN_NS: u64 = 1_000_000;

/// A task that writes the dirty pages of a file, from the first to the last.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) ino: u32,
    /// The page from which on the next batch is looked up.
    from: u32,
    batch: VecDeque<u32>,
    /// The page that is locked, with its compressed block. There is no block if the page lies
    /// behind the end of the file.
    in_hand: Option<(u32, Option<Block>)>,
}

/// The outcome of one step of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A page was locked and compressed.
    Packed,
    /// The locked page was written.
    Written,
    /// The next page is locked by the other writer.
    Blocked,
    /// The file has no dirty page left.
    Ended,
}

impl Writer {
    pub(super) const fn new(ino: u32) -> Self {
        Self { ino, from: 0, batch: VecDeque::new(), in_hand: None }
    }

    fn has(&self, ino: u32, index: u32) -> bool {
        self.ino == ino && self.in_hand.as_ref().is_some_and(|&(held, _)| held == index)
    }

    /// The next dirty page of the batch. A new batch leaves out the page that `other` has locked.
    fn next(&mut self, cache: &PageCache, other: Option<&Self>) -> Option<u32> {
        let is_held = |index| other.is_some_and(|other| other.has(self.ino, index));
        if self.batch.is_empty() {
            let dirty = cache.dirty_from(Ino(self.ino), self.from);
            self.batch = dirty.filter(|&index| !is_held(index)).take(BATCH).collect();
            self.from = self.batch.back().map_or(self.from, |last| last + 1);
        }
        while let Some(&index) = self.batch.front() {
            if cache.is_dirty(Ino(self.ino), index) {
                return Some(index);
            }
            self.batch.pop_front();
            if self.batch.is_empty() {
                return self.next(cache, other);
            }
        }
        None
    }
}

/// The CPU time of two tasks, and which of them is running.
#[derive(Debug)]
pub(super) struct Turns {
    running: usize,
    since_ns: u64,
    counted_ns: u64,
    virtual_ns: [u64; 2],
    is_over: bool,
}

impl Turns {
    pub(super) const fn new(now_ns: u64) -> Self {
        let counted_ns = now_ns;
        Self { running: 0, since_ns: now_ns, counted_ns, virtual_ns: [0; 2], is_over: false }
    }

    /// Add the time that has passed to the running task. Its turn is over if a clock tick came
    /// after its slice.
    fn count(&mut self, now_ns: u64) {
        self.virtual_ns[self.running] += now_ns - self.counted_ns;
        self.counted_ns = now_ns;
        let tick_ns = now_ns / TICK_NS * TICK_NS;
        self.is_over |= tick_ns > self.since_ns + SLICE_NS;
    }

    /// Wake the task that is not running. It may take the CPU.
    pub(super) fn wake_other(&mut self, now_ns: u64) {
        self.count(now_ns);
        let own = self.virtual_ns[self.running];
        let other = &mut self.virtual_ns[1 - self.running];
        *other = own.saturating_sub(SLICE_NS).max(*other);
        self.is_over |= own > *other + WAKE_GAIN_NS;
    }

    fn switch(&mut self, now_ns: u64) {
        self.count(now_ns);
        self.running = 1 - self.running;
        self.since_ns = now_ns;
        self.is_over = false;
    }
}

impl Ubifs {
    /// Write the next page of a file while no other task writes. Returns whether there was one.
    pub(super) fn write_next(
        &mut self,
        cache: &mut PageCache,
        writer: &mut Writer,
    ) -> Result<bool, FsError> {
        let began = self.take_step(cache, writer, None)?;
        if began == Step::Packed {
            self.take_step(cache, writer, None)?;
        }
        Ok(began != Step::Ended)
    }

    /// Write the dirty pages of the file of `fsync`, while `flusher` writes its own. If the fsync
    /// ends first, it waits until the flusher has written the page that it has locked. Returns
    /// whether the flusher has pages left.
    pub(super) fn write_with_flusher(
        &mut self,
        cache: &mut PageCache,
        fsync: &mut Writer,
        flusher: &mut Writer,
        mut turns: Turns,
    ) -> Result<bool, FsError> {
        let mut writers = [fsync, flusher];
        let mut is_blocked = false;
        loop {
            let [fsync, flusher] = &mut writers;
            let (me, other) = if turns.running == 0 { (fsync, flusher) } else { (flusher, fsync) };
            let _task = (turns.running == 1).then(|| self.enter_flusher());
            let step = self.take_step(cache, me, Some(&**other))?;
            match step {
                Step::Ended => break,
                Step::Blocked => {
                    is_blocked = true;
                    turns.switch(self.now_ns());
                    continue;
                }
                Step::Written if is_blocked => {
                    is_blocked = false;
                    turns.wake_other(self.now_ns());
                }
                Step::Written | Step::Packed => turns.count(self.now_ns()),
            }
            if turns.is_over && !is_blocked {
                turns.switch(self.now_ns());
            }
        }
        let ended = turns.running;
        // The other task goes on alone: the flusher to the end of its page, an fsync to its last
        // page.
        let goes_on = |writer: &Writer| ended == 1 || writer.in_hand.is_some();
        let other = &mut *writers[1 - ended];
        while goes_on(other) && self.take_step(cache, other, None)? != Step::Ended {}
        Ok(ended == 0)
    }

    fn take_step(
        &mut self,
        cache: &mut PageCache,
        writer: &mut Writer,
        other: Option<&Writer>,
    ) -> Result<Step, FsError> {
        let ino = writer.ino;
        let offset = |index| u64::from(index) * CACHE_PAGE_SIZE as u64;
        if let Some((index, block)) = writer.in_hand.take() {
            if let Some(block) = block {
                let _scope = self.recorder.scope("ubifs_write_page");
                let appended = self.append_block(ino, &block);
                appended.map_err(|fault| fault.in_file(ino, offset(index)))?;
            }
            self.end_page(cache, ino, index)?;
            return Ok(Step::Written);
        }
        let Some(index) = writer.next(cache, other) else { return Ok(Step::Ended) };
        if other.is_some_and(|other| other.has(ino, index)) {
            return Ok(Step::Blocked);
        }
        writer.batch.pop_front();
        let page = *cache.get(Ino(ino), index).expect("a dirty page is here");
        let block = self.pack_page(ino, index, &page);
        let block = block.map_err(|fault| fault.in_file(ino, offset(index)))?;
        writer.in_hand = Some((index, block));
        Ok(Step::Packed)
    }
}
