//! Root blocks that move: two anchor blocks name the root blocks.
//!
//! 1. A session that has just written the root of its mount names, where it is time or one of
//!    them is bad, the root blocks to come: it
//!    erases the anchor that does not name those in use, and programs the same page twice. The page
//!    bears the epoch of the root in force: for any other root it says nothing. A session that is
//!    about to write another root does so too, where a root block is bad: an operation at a time.
//! 2. A mount that sees both pages writes its root to a block that comes. One that sees the first
//!    alone stays, for the next mount may not see it. The blocks that the other choice would have
//!    taken are *leaving*: they rest, and rivals on them are erased, until a mount sees a record
//!    behind its root, or a session writes a root.
//! 3. The newest root is sought on the blocks of the newest anchor. Where it is there, behind that
//!    anchor, and nothing leaves, it is the newest of all. Else the blocks of the other one count
//!    too.

use super::device::{Done, Page, Seen, Stop};
use super::engine::Engine;
use super::root::View;
use super::state::Cells;
use super::switches::Broken;

/// Root blocks that a move replaces.
const REPLACED: usize = 2;
/// Free blocks that are left when a move begins, besides the log's.
const KEPT_FREE: u32 = 8;

/// An anchor block as a mount sees it.
struct Anchor {
    block: u8,
    epoch: u32,
    cells: [u8; 4],
    /// The second page is there: the first one was whole before.
    is_sure: bool,
}

/// The root blocks to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    cells: [u8; 4],
    is_sure: bool,
}

/// What the session knows of moves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    /// None where roots stay.
    pub(crate) anchors: Option<[u8; 2]>,
    pub(crate) leaving: Vec<u8>,
    pending: Option<Pending>,
    /// The anchor that is being written to name them, and its next page.
    naming: Option<(u8, u8)>,
    /// The anchor that names the root blocks in use, and the epoch at which it was written.
    used: Option<(u8, u32)>,
    /// Whether the root in force is certain: a record was seen behind it, or the session wrote it.
    pub(crate) is_certain: bool,
}

impl Engine {
    fn view_anchors(&mut self) -> Vec<Anchor> {
        let mut anchors = Vec::with_capacity(2);
        for block in self.moves.anchors.into_iter().flatten() {
            if self.device.is_marked(block) {
                continue;
            }
            let pages = [0, 1].map(|page| self.device.read(block, page));
            let mut found = None;
            for (number, seen) in pages.into_iter().enumerate() {
                if let Seen::Page(content) = seen
                    && let Page::Anchor { epoch, cells } = *content
                {
                    found = Some(Anchor { block, epoch, cells, is_sure: number == 1 });
                }
            }
            anchors.extend(found);
        }
        anchors.sort_by_key(|anchor| std::cmp::Reverse(anchor.epoch));
        anchors
    }

    /// The root blocks, as far as they matter, and the one of the root that is believed.
    pub(crate) fn locate(&mut self) -> Done<(Vec<View>, usize)> {
        if self.moves.anchors.is_none() {
            let mut views = self.view_roots();
            let at = self.whole_root(&mut views)?;
            return Ok((views, at));
        }
        let anchors = self.view_anchors();
        let mut views: Vec<View> = Vec::with_capacity(8);
        for anchor in &anchors {
            for block in anchor.cells {
                if views.iter().all(|view| view.block != block) {
                    let view = self.view_root(block);
                    views.push(view);
                }
            }
            let last = self.whole_root(&mut views);
            let is_newest = last.is_ok_and(|at| is_newest(&views[at], anchor));
            if is_newest || self.is(Broken::NewestAnchorOnly) {
                break;
            }
        }
        let at = self.whole_root(&mut views)?;
        self.take_cells(&views[at], &anchors);
        Ok((views, at))
    }

    /// Take over what a root and the anchors say of root blocks.
    fn take_cells(&mut self, view: &View, anchors: &[Anchor]) {
        let Some((epoch, root)) = &view.root else { return };
        let Cells { active, leaving } = root.cells.clone();
        self.root_blocks = active;
        let is_next = |anchor: &&Anchor| {
            let counts = anchor.epoch == *epoch || self.is(Broken::AnyAnchorCounts);
            counts && anchor.cells != active && leaving.is_empty()
        };
        let next = anchors.iter().find(is_next);
        let used = anchors.iter().find(|anchor| anchor.cells == active);
        let is_sure = |anchor: &Anchor| anchor.is_sure || self.is(Broken::MovesUnconfirmed);
        let pending = next.map(|anchor| Pending { cells: anchor.cells, is_sure: is_sure(anchor) });
        (self.moves.pending, self.moves.naming) = (pending, None);
        self.moves.used = used.map(|anchor| (anchor.block, anchor.epoch));
        self.moves.leaving = leaving;
    }

    /// The root blocks to come that are none yet.
    fn coming(&self) -> Vec<u8> {
        let pending = self.moves.pending.map_or(Vec::new(), |pending| pending.cells.to_vec());
        pending.into_iter().filter(|block| !self.root_blocks.contains(block)).collect()
    }

    /// The blocks that may hold roots.
    pub(crate) fn reserved(&self) -> Vec<u8> {
        let mut blocks = self.root_blocks.to_vec();
        blocks.extend(&self.moves.leaving);
        if !self.is(Broken::ComingNotKept) {
            blocks.extend(self.coming());
        }
        blocks.extend(self.moves.anchors.into_iter().flatten());
        blocks
    }

    /// The blocks of which a mount that has written its root erases those without one.
    pub(crate) fn rivals(&self) -> Vec<u8> {
        let mut blocks = self.root_blocks[..usize::from(self.config.root_count)].to_vec();
        blocks.extend(&self.moves.leaving);
        if !self.is(Broken::ComingRivalsStay) {
            blocks.extend(self.coming());
        }
        blocks
    }

    /// The good blocks that the next root may go to instead of one in use.
    pub(crate) fn move_targets(&self) -> Vec<u8> {
        let is_sure = self.moves.pending.is_some_and(|pending| pending.is_sure);
        let coming = if is_sure { self.coming() } else { Vec::new() };
        coming.into_iter().filter(|block| !self.device.is_marked(*block)).collect()
    }

    /// The root blocks that a root on `block` tells.
    pub(crate) fn cells_of(&self, block: u8) -> Cells {
        let Moves { pending, leaving, is_certain, .. } = &self.moves;
        let active = self.root_blocks;
        let Some(next) = pending.map(|pending| pending.cells) else {
            return Cells {
                active,
                leaving: if *is_certain { Vec::new() } else { leaving.clone() },
            };
        };
        if active.contains(&block) {
            return Cells { active, leaving: self.coming() };
        }
        let goes = |block: &u8| !next.contains(block) && !self.is(Broken::LeavesAtOnce);
        Cells { active: next, leaving: active.into_iter().filter(goes).collect() }
    }

    /// A root on `block` is in force.
    pub(crate) fn adopt_cells(&mut self, block: u8) {
        if self.moves.anchors.is_none() {
            return;
        }
        let Cells { active, leaving } = self.cells_of(block);
        if active != self.root_blocks {
            let anchors = self.moves.anchors.into_iter().flatten();
            let used = self.moves.used.map(|used| used.0);
            let other = anchors.into_iter().find(|anchor| Some(*anchor) != used);
            self.moves.used = other.map(|anchor| (anchor, self.root.epoch));
        }
        self.root_blocks = active;
        self.moves.leaving = leaving;
        self.moves.pending = None;
    }

    /// After the root of a mount: name the root blocks to come, where it is time.
    pub(crate) fn begin_move(&mut self) -> Done {
        if self.moves.used.is_none() {
            return Ok(());
        }
        self.moves.is_certain = true;
        let since = self.moves.used.map_or(0, |used| used.1);
        if self.has_bad_root() || self.root.epoch >= since + self.config.move_after {
            self.choose_next()?;
        }
        while self.name_next()? {}
        Ok(())
    }

    /// In a session that is about to write a root: do one operation towards others in place of
    /// those that are bad. False where there is none.
    pub(crate) fn replace_bad(&mut self) -> Done<bool> {
        if self.is(Broken::BadRootsStay) {
            return Ok(false);
        }
        if self.moves.naming.is_none() && self.has_bad_root() {
            self.choose_next()?;
            return Ok(self.moves.naming.is_some());
        }
        self.name_next()
    }

    fn has_bad_root(&self) -> bool {
        self.root_blocks.iter().any(|block| self.device.is_marked(*block))
    }

    /// Choose the root blocks to come, where no others are coming or leaving, and erase the anchor
    /// that will name them.
    fn choose_next(&mut self) -> Done {
        let (Some(anchors), Some((used, _))) = (self.moves.anchors, self.moves.used) else {
            return Ok(());
        };
        let wanted = u32::from(self.config.list_len) + KEPT_FREE;
        let is_settled = self.moves.leaving.is_empty() && self.moves.pending.is_none();
        let other = anchors.into_iter().find(|anchor| *anchor != used);
        let other = if self.is(Broken::AnchorInUse) { Some(used) } else { other };
        let Some(anchor) = other.filter(|anchor| !self.device.is_marked(*anchor)) else {
            return Ok(());
        };
        if !is_settled || self.free_count() < wanted {
            return Ok(());
        }
        let stay = self.root_blocks[REPLACED..].iter().copied();
        let mut stay: Vec<u8> = stay.filter(|block| !self.device.is_marked(*block)).collect();
        while stay.len() < 4 {
            let block = self.draw_free().ok_or(Stop::Full)?;
            self.free &= !(1 << block);
            stay.push(block);
        }
        let cells = [stay[0], stay[1], stay[2], stay[3]];
        self.moves.pending = Some(Pending { cells, is_sure: false });
        self.moves.naming = Some((anchor, 0));
        let erased = self.device.erase(anchor);
        self.gives_up_at_failure(anchor, erased)
    }

    /// Program the next page of the anchor that names the root blocks to come; false where there is
    /// none.
    fn name_next(&mut self) -> Done<bool> {
        let (Some((anchor, page)), Some(pending)) = (self.moves.naming, self.moves.pending) else {
            return Ok(false);
        };
        let content = Page::Anchor { epoch: self.root.epoch, cells: pending.cells };
        let is_last = page == 1;
        self.moves.naming = (!is_last).then_some((anchor, page + 1));
        self.moves.pending = Some(Pending { is_sure: is_last, ..pending });
        let programmed = self.device.program(anchor, page, content);
        self.gives_up_at_failure(anchor, programmed)?;
        Ok(true)
    }

    /// No root blocks come where the block that was to name them failed.
    fn gives_up_at_failure(&mut self, anchor: u8, done: Done) -> Done {
        if done != Err(Stop::Bad) {
            return done;
        }
        for block in self.coming() {
            self.free |= 1 << block;
        }
        (self.moves.pending, self.moves.naming) = (None, None);
        self.device.mark(anchor)
    }

    pub(crate) fn write_anchor(&mut self, anchor: u8, cells: [u8; 4]) -> Done {
        self.device.erase(anchor)?;
        for page in 0..2 {
            let epoch = self.root.epoch;
            self.device.program(anchor, page, Page::Anchor { epoch, cells })?;
        }
        Ok(())
    }
}

/// Whether a root on a block of the newest anchor is newer than all that may lie elsewhere.
fn is_newest(view: &View, anchor: &Anchor) -> bool {
    view.root.as_ref().is_some_and(|(epoch, root)| {
        root.cells.active == anchor.cells && root.cells.leaving.is_empty() && *epoch > anchor.epoch
    })
}
