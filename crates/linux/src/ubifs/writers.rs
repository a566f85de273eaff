//! Two tasks that write pages of files on one CPU: an fsync, and the flusher beside it.
//!
//! Each looks dirty pages up by the batch, locks one, packs it, and appends it to the journal. A
//! page that the other has in hand is waited for if it stands in the batch; a batch looked up
//! meanwhile leaves it out, for it is not dirty any more. So the two change places where a batch
//! ends, and there alone: the page looked up then may be appended before the one in hand.
//!
//! Which of the two runs, the fair scheduler decides, with the constants of 6.1 on one CPU: a task
//! gives way where it might sleep, which is after packing a page and after letting one go.

use std::collections::VecDeque;

use super::Ubifs;
use super::journal::Block;
use crate::cache::PageCache;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino};
use crate::timer::TICK_NS;

/// Pages looked up at a time (`PAGEVEC_SIZE`; 14 before 4.16).
const BATCH: usize = 15;
/// What each of two tasks may run at a stretch: half of `sysctl_sched_latency`, nanoseconds. A task
/// that wakes is credited as much at most.
const SLICE_NS: u64 = 3_000_000;
/// A task that wakes takes the CPU if it had less of it by more than this
/// (`sysctl_sched_wakeup_granularity`), nanoseconds.
const WAKE_GAIN_NS: u64 = 1_000_000;

/// A task that writes the dirty pages of a file, first to last.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) ino: u32,
    /// Where the next batch is looked for.
    from: u32,
    batch: VecDeque<u32>,
    /// The page that is locked, packed for the journal; none if it lies behind the file's end.
    in_hand: Option<(u32, Option<Block>)>,
}

/// What a step of a writer came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A page is packed.
    Packed,
    /// It is written.
    Written,
    /// The other writer has the next page.
    Blocked,
    /// No page is left.
    Ended,
}

impl Writer {
    pub(super) const fn new(ino: u32) -> Self {
        Self { ino, from: 0, batch: VecDeque::new(), in_hand: None }
    }

    fn has(&self, ino: u32, index: u32) -> bool {
        self.ino == ino && self.in_hand.as_ref().is_some_and(|&(held, _)| held == index)
    }

    /// The next page of the batch that is dirty; a new batch leaves out what `other` has in hand.
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

/// The CPU time of two tasks, and which of them runs.
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

    /// Count the time up to now; a tick since the turn began may have ended it.
    fn count(&mut self, now_ns: u64) {
        self.virtual_ns[self.running] += now_ns - self.counted_ns;
        self.counted_ns = now_ns;
        let tick_ns = now_ns / TICK_NS * TICK_NS;
        self.is_over |= tick_ns > self.since_ns + SLICE_NS;
    }

    /// The other task wakes.
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
    /// Write the next page of a writer that is alone; tell whether there was one.
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

    /// Write the dirty pages of the file that `fsync` writes, while `flusher` goes on with its own;
    /// tell whether it has some left. What it has in hand then is waited for.
    pub(super) fn write_beside(
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
        // The other goes on alone: to its page's end if that was the fsync, else to the last page.
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
