//! Commits: a log record makes what a transaction did survive a power cut.

use flysch_nand::Nand;

use super::spill::Spilled;
use super::{Db, DbError, UnderWay};
use crate::log::{Body, Doubt, HAS_NVRAM, Log, NUMBER_MAX, NvLog, PROGRAMS_MAX};
use crate::media::{Media, MediaError, Numbers, Space};
use crate::record::{ROW_SPACES, Records, has_spans_to_tell};
use crate::store::Store;

/// From when on a commit survives a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// From the return of the call on.
    Durable,
    /// From the next durable commit, [`Db::sync`] or [`Db::close`] on. Where space is short, and a
    /// record would let blocks go, the commit is durable at once.
    Lazy,
}

/// Programs that a flush of index entries takes.
const FLUSH_PROGRAMS: u64 = 2;
/// Programs of a call that commits one row and has to flush before it.
pub(super) const PROGRAMS_AT_ONCE: u64 = PROGRAMS_MAX + FLUSH_PROGRAMS;

/// The parts of the engine whose state a log record holds.
struct Layers<'l, 'ram> {
    records: &'l Records<'ram>,
    store: &'l Store<'ram>,
    /// Whether commits go to an `NvRam`.
    has_nvram: bool,
}

impl<'l> Layers<'l, '_> {
    /// Make the body of a log record of the present state. `logged` is the part of the tail that
    /// earlier records hold.
    fn body(&self, logged: usize, (commit, time): (u32, u64), state: &'l mut [u8]) -> Body<'l> {
        let tail = self.records.tail.committed();
        debug_assert!(logged <= tail.len(), "records hold what is committed, and no more");
        let (rows, indexes) = state.split_at_mut(self.records.state_size());
        self.records.emit(rows);
        let len = rows.len() + self.store.emit_state(indexes);
        debug_assert!(len <= state.len(), "the state fits what is lent for it");
        Body {
            flags: if self.has_nvram { HAS_NVRAM } else { 0 },
            commit,
            time,
            tail,
            tail_base: self.records.tail.base(),
            base: logged,
            state: &state[..len],
            ahead: 0,
        }
    }
}

/// A log record of the present state, and what it is written with.
pub(super) struct Recording<'d, 'ram, 's, N> {
    pub(super) body: Body<'d>,
    pub(super) log: &'d mut Log<'s>,
    pub(super) media: &'d mut Media<'ram, N>,
    /// What the mount left to be made certain.
    pub(super) doubt: Option<&'d Doubt>,
    pub(super) frame: &'d mut [u8],
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Make a log record of the present state.
    pub(super) fn recording(&mut self) -> Recording<'_, 'ram, 's, N> {
        let has_nvram = self.nvram.is_some();
        let layers = Layers { records: &self.records, store: &self.store, has_nvram };
        let body = layers.body(self.log.logged(), (self.commit, self.time), self.scratch);
        Recording {
            body,
            log: &mut self.log,
            media: &mut self.media,
            doubt: self.doubt.as_ref(),
            frame: self.frame,
        }
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Make the state that the mount found certain, before the first program of the session.
    /// Without that, what is programmed now could lead the next mount elsewhere. Cost: nothing from
    /// the second call on; after a close an erase and the pages of a checkpoint; after a cut two
    /// erases as a rule, the pages of a checkpoint and a confirm page.
    pub(super) fn settle(&mut self) -> Result<(), DbError> {
        if self.doubt.is_none() {
            return Ok(());
        }
        debug_assert!(
            self.under_way.is_none(),
            "what was found is made certain before more is done"
        );
        self.forget_frame();
        self.let_go();
        let Recording { body, log, media, doubt, frame } = self.recording();
        if let Some(doubt) = doubt {
            doubt.settle(log, media, &body, frame)?;
        }
        self.doubt = None;
        self.begin_nvram_anew();
        Ok(())
    }

    /// Commit everything that was done since the last commit.
    pub(super) fn commit_now(&mut self, durability: Durability) -> Result<(), DbError> {
        debug_assert!(self.under_way.is_some(), "a transaction is committed once");
        self.check();
        debug_assert!(self.commit < NUMBER_MAX, "no transaction begins without a number");
        if let Err(error) = self.check_spoilt() {
            self.roll_back_open()?;
            return Err(error);
        }
        self.note_time();
        let UnderWay { rows, grown, has_runs, .. } = self.under_way.unwrap_or_default();
        if rows > 0 {
            self.compaction.deleted = if grown == 0 { rows } else { 0 };
        }
        let has_runs = has_runs || self.has_many_open();
        if has_runs {
            self.flush_all()?;
        }
        self.tell_spans()?;
        self.records.commit(&mut self.media);
        self.store.commit();
        self.commit += 1;
        self.time = self.next_time;
        self.is_lazy = true;
        self.under_way = None;
        if has_runs {
            self.mark_flushed();
        }
        self.check();
        let is_letting_due = self.is_letting_due();
        self.is_log_due |= is_letting_due;
        if durability == Durability::Durable || is_letting_due { self.sync() } else { Ok(()) }
    }

    /// Whether a record is needed for its space: blocks of old runs are free only behind one.
    pub(super) fn is_letting_due(&self) -> bool {
        self.may_let_go() && self.media.free_count() < self.wanted_free()
    }

    /// Whether runs or pages of a sort are gone whose blocks no record has let go.
    pub(super) fn may_let_go(&self) -> bool {
        self.let_go_at != self.store.changes() || self.spilled.is_letting_go
    }

    /// Put lazy commits on flash. Cost: nothing where there are none, else one program as a rule;
    /// and at most one erase, one program towards the next log block, or two of a flush. Where a
    /// transaction has filled whole blocks, a program more for each block that rings give back; and
    /// one where a block ends of which a cut made pages void.
    ///
    /// Where space is short, a step or two of compaction a row, up to sixteen where hardly a block
    /// is left; and after 16 rows and more as much as it costs to move the rows of two blocks.
    /// After fewer, steps wait for later commits where the call has programmed three pages, erased
    /// a block or read some thirty pages: so the update of a row programs three at the most, unless
    /// hardly a block is left.
    pub fn sync(&mut self) -> Result<(), DbError> {
        self.roll_back_open()?;
        if !self.is_lazy {
            return Ok(());
        }
        debug_assert!(self.under_way.is_none(), "what is open was taken back");
        self.record()?;
        let programmed = self.programs_of_call();
        self.return_blocks(programmed / u64::from(self.media.geometry().pages_per_block))?;
        let has_paid = self.pay_ahead()?;
        self.compact_in_return()?;
        if has_paid { Ok(()) } else { self.level_for(programmed) }
    }

    /// Write a log record of the present state. Cost: one program as a rule.
    #[inline(never)]
    pub(super) fn record(&mut self) -> Result<(), DbError> {
        debug_assert!(self.under_way.is_none(), "a record holds committed rows alone");
        self.settle()?;
        debug_assert!(self.doubt.is_none(), "what the open found is certain");
        self.check();
        self.forget_frame();
        self.advance_rings()?;
        // A record in the NvRam lets no block go, so one in the log is needed.
        let is_log_due = self.is_log_due || self.compaction.gone.is_some();
        if !is_log_due && self.commit_to_nvram()? {
            self.is_lazy = false;
            return Ok(());
        }
        self.forget_nvram();
        let may_go = self.media.changes.room() > 0 && !self.media.has_given_up();
        let goes = self.compaction.gone.filter(|_| may_go);
        if let Some((space, number)) = goes {
            self.media.give_up(space, number);
            self.note_given(space);
        }
        self.media.trim_spans();
        self.advance_firsts();
        let spent = self.programs_of_call();
        let Recording { body, log, media, frame, .. } = self.recording();
        log.commit(media, &body, spent, frame)?;
        self.begin_nvram_anew();
        (self.is_lazy, self.is_log_due) = (false, false);
        debug_assert!(self.doubt.is_none(), "only a session that is certain lets blocks go");
        self.media.release();
        if goes.is_some() {
            self.compaction.gone = None;
        }
        if self.may_let_go() || goes.is_some() {
            self.let_go();
        }
        self.check();
        Ok(())
    }

    /// Write a commit to the `NvRam`; false where it has to go to the log instead.
    #[inline(never)]
    fn commit_to_nvram(&mut self) -> Result<bool, DbError> {
        let Some(nvram) = &mut self.nvram else { return Ok(false) };
        let layers = Layers { records: &self.records, store: &self.store, has_nvram: true };
        let body = layers.body(0, (self.commit, self.time), self.scratch);
        let logged = self.log.logged();
        if !nvram.commit(&mut self.media, &body, logged)? {
            return Ok(false);
        }
        self.log.note_logged(body.tail.len());
        Ok(true)
    }

    /// Have the next record hold everything and go to the log: it cannot follow the `NvRam`'s.
    fn forget_nvram(&mut self) {
        if self.nvram.as_ref().is_some_and(NvLog::is_used) {
            self.log.forget_tail();
        }
    }

    /// Empty the `NvRam`: the log has everything that it held.
    pub(super) fn begin_nvram_anew(&mut self) {
        if let Some(nvram) = &mut self.nvram {
            nvram.begin_anew(self.commit, &self.media);
        }
    }

    /// Do one thing that will soon be needed anyway: a flush, an operation towards the next log
    /// block, or the erase of a block. Nothing is done where the call would program or erase more
    /// than its documentation says. Returns whether anything was done. The commit is already
    /// complete, so a lack of free blocks is no error here; it is one when a block is needed.
    #[inline(never)]
    fn pay_ahead(&mut self) -> Result<bool, DbError> {
        debug_assert!(!self.is_lazy, "what is paid ahead comes after the commit");
        let spent = self.programs_of_call();
        if spent >= PROGRAMS_MAX {
            return Ok(false);
        }
        if spent + FLUSH_PROGRAMS <= PROGRAMS_MAX && self.is_flush_due() {
            return self.tolerate_full(|db| db.flush().map(|()| true));
        }
        let may_erase = !self.has_erased();
        match self.log.prepare(&mut self.media, may_erase, self.frame) {
            Ok(false) => {}
            Ok(true) | Err(MediaError::Full) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        if may_erase && !self.media.is_ready() && self.media.is_block_due(PROGRAMS_AT_ONCE as u32) {
            return match self.media.prepare() {
                Ok(()) | Err(MediaError::Full) => Ok(true),
                Err(error) => Err(error.into()),
            };
        }
        Ok(false)
    }

    /// Program the summaries of blocks with void spans of which only that is left. A cut before the
    /// next page would put them in doubt, and the state would have to keep the spans.
    fn tell_spans(&mut self) -> Result<(), DbError> {
        for space in ROW_SPACES {
            if has_spans_to_tell(&self.media, space) {
                self.forget_frame();
                self.records.end_block(&mut self.media, space, self.frame)?;
            }
        }
        Ok(())
    }

    /// Put everything on flash, and record that nothing is under way, so that the next open trusts
    /// what it finds. Cost: as [`Db::sync`], and an erase and a name page where a list of log
    /// blocks ends.
    pub fn close(mut self) -> Result<N, DbError> {
        self.end()?;
        Ok(self.into_nand())
    }

    /// End the session, as [`Db::close`] says.
    pub(super) fn end(&mut self) -> Result<(), DbError> {
        if self.doubt.as_ref().is_some_and(|doubt| doubt.is_clean) && !self.is_lazy {
            return Ok(());
        }
        self.roll_back_open()?;
        self.settle()?;
        self.check();
        debug_assert!(self.doubt.is_none(), "a close says nothing of what is not certain");
        self.forget_nvram();
        let Recording { body, log, media, frame, .. } = self.recording();
        Ok(log.close(media, &body, frame)?)
    }

    /// Free the blocks that nothing on flash refers to any more.
    ///
    /// A session does so before it makes certain what it found. What is written then names them as
    /// free, and until that is on flash root blocks alone are touched. Otherwise short sessions
    /// would never tell of blocks that they let go, and the device would fill up with them.
    #[inline(never)]
    fn let_go(&mut self) {
        debug_assert!(self.under_way.is_none(), "an open transaction's blocks are in no record");
        debug_assert!(!self.is_lazy, "blocks are let go by what is on flash");
        self.let_go_at = self.store.changes();
        let young = (self.media.head(Space::Young), self.media.numbers());
        self.media.let_go(is_live(&self.store, self.spilled, young));
        self.spilled.is_letting_go = false;
    }

    /// Number of blocks of old runs that become free with the next record. Cost: none.
    pub(super) fn going(&self) -> u32 {
        if !self.may_let_go() {
            return 0;
        }
        let young = (self.media.head(Space::Young), self.media.numbers());
        self.media.count_going(is_live(&self.store, self.spilled, young))
    }
}

/// Whether the next record still needs a block: one of rows, of a run that is there, or of a sort
/// whose next page is that of the space of recent runs.
fn is_live(
    store: &Store<'_>,
    spilled: Spilled,
    (head, numbers): (u32, Numbers),
) -> impl Fn(Space, u32) -> bool {
    move |space, block| {
        space.holds_rows()
            || store.is_live(space, block)
            || spilled.keeps((space, block), head, numbers)
    }
}
