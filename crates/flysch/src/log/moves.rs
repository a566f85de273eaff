//! Moving root blocks, so that the wear of roots is spread over the device.
//!
//! 1. When it is time, a mount that has written its root names the next root blocks. Those *coming*
//!    are free blocks; the others are root blocks already.
//! 2. The next root of a session goes to a block that is coming. So does the next root of a mount,
//!    if the mount sees the whole anchor, and sees that the anchor was written after the very root
//!    that it believes.
//! 3. Whichever set the next root takes, the blocks of the other set alone are *leaving*, as
//!    another mount may have chosen the other set. They are not used until there is a root that
//!    follows one after which a record was seen.

use flysch_nand::Nand;

use super::Log;
use super::anchor::{ANCHORS, Anchor, Anchors, has_anchors, roots_of_a_move};
use super::front::Cells;
use super::root::Seen;
use crate::media::{Media, MediaError, Use};

/// Number of root blocks that one move replaces.
const REPLACED: usize = 2;
/// Least number of free blocks, without the log's, that must be left for a move to begin.
const FREE_LEAST: u32 = 8;

/// The state of moves in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moves {
    /// The anchor blocks; None where root blocks do not move.
    pub(super) anchors: Option<[u16; ANCHORS]>,
    /// The anchor that names the root blocks in use, and the epoch at which it was written.
    pub(super) used: Option<(u16, u32)>,
    /// Root blocks that are leaving: they may hold roots of the other set.
    pub(super) leaving: Cells,
    /// The root blocks that come next; empty where none are named.
    pub(super) pending: Cells,
    /// Whether the next root may go to those that come next.
    pub(super) is_sure: bool,
    /// Whether the blocks that the root in force leaves may be freed: a session wrote records after
    /// it.
    pub(super) is_certain: bool,
}

impl Moves {
    pub(super) const NONE: Self = Self {
        anchors: None,
        used: None,
        leaving: Cells::NONE,
        pending: Cells::NONE,
        is_sure: false,
        is_certain: false,
    };

    /// The state of moves that the visible anchors and the root in force show.
    #[inline(never)]
    pub(super) fn of<N: Nand>(
        media: &mut Media<'_, N>,
        anchors: &Anchors,
        (root, cells, leaving): (&Seen, &Cells, Cells),
        frame: &mut [u8],
    ) -> Result<Self, MediaError> {
        let all = || anchors.iter().flatten();
        let used = all().find(|anchor| anchor.cells == *cells);
        let is_next = |anchor: &&Anchor| anchor.epoch == root.epoch && anchor.cells != *cells;
        let next = all().find(is_next).filter(|_| leaving.len == 0);
        Ok(Self {
            anchors: anchors[0].map(|anchor| anchor.anchors),
            used: used.map(|anchor| (anchor.block, anchor.epoch)),
            leaving,
            pending: next.map_or(Cells::NONE, |anchor| anchor.cells),
            is_sure: next.map_or(Ok(false), |anchor| anchor.is_sure(media, frame))?,
            is_certain: false,
        })
    }
}

impl Log<'_> {
    /// The blocks that are coming: next root blocks that are none yet.
    pub(super) fn coming(&self) -> Cells {
        self.moves.pending.without(&self.cells)
    }

    /// Whether a block may hold a root.
    pub(super) fn is_root_block(&self, block: u16) -> bool {
        self.cells.has(block) || self.moves.leaving.has(block) || self.moves.pending.has(block)
    }

    /// The blocks that the next root may go to; those that are coming first.
    pub(super) fn root_blocks(&self) -> impl Iterator<Item = u16> + use<> {
        let coming = if self.moves.is_sure { self.coming() } else { Cells::NONE };
        let cells = self.cells;
        let count = usize::from(cells.len);
        let used = cells.as_slice().iter().position(|&b| u32::from(b) == self.root.block);
        let first = used.map_or(0, |used| used + 1);
        let stay = (0..count).map(move |turn| cells.blocks[(first + turn) % count]);
        let root = self.root.block;
        let come = (0..usize::from(coming.len)).map(move |at| coming.blocks[at]);
        come.chain(stay).filter(move |&block| u32::from(block) != root)
    }

    /// For a root on `block`, the root blocks that it has to name, and those that are leaving.
    pub(super) fn cells_of(&self, block: u32) -> (Cells, Cells) {
        let Moves { pending, leaving, is_certain, .. } = self.moves;
        if pending.len == 0 {
            return (self.cells, if is_certain { Cells::NONE } else { leaving });
        }
        assert!(leaving.len == 0, "nothing leaves when a move begins");
        if self.cells.has(block as u16) {
            (self.cells, self.coming())
        } else {
            (pending, self.cells.without(&pending))
        }
    }

    /// Note that the root on `block` is in force. Blocks of roots that it does not name are free.
    pub(super) fn adopt_root<N: Nand>(&mut self, media: &mut Media<'_, N>, block: u32) {
        let (cells, leaving) = self.cells_of(block);
        if cells != self.cells {
            let used = self.moves.used.map(|(anchor, _)| anchor);
            let named =
                self.moves.anchors.and_then(|all| all.into_iter().find(|&a| Some(a) != used));
            self.moves.used = named.map(|anchor| (anchor, self.root.epoch));
        }
        self.cells = cells;
        (self.moves.leaving, self.moves.pending, self.moves.is_sure) =
            (leaving, Cells::NONE, false);
        self.claim_roots(media);
    }

    /// Note in the block table which blocks are roots' and anchors', and free those that were
    /// before.
    pub(super) fn claim_roots<N: Nand>(&self, media: &mut Media<'_, N>) {
        let anchors = self.moves.anchors.unwrap_or([u16::MAX; ANCHORS]);
        for block in 0..media.table.len() {
            let is_root = self.is_root_block(block as u16) || anchors.contains(&(block as u16));
            if is_root != (media.table.at(block) == Use::Root) {
                media.table.set(block, if is_root { Use::Root } else { Use::Free });
            }
        }
    }

    /// Name the next root blocks, if it is time, or if one of those in use is bad. If the erase or
    /// a program of the anchor's block fails, root blocks do not move any more. Cost: nothing as a
    /// rule; else an erase and two programs.
    pub(super) fn begin_move<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        bad: &Cells,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        debug_assert!(self.root.is_confirmed, "a move begins once the root is certain");
        self.moves.is_certain = true;
        let Moves { anchors: Some(anchors), used: Some((used, since)), .. } = self.moves else {
            return Ok(());
        };
        let blocks = media.table.len();
        let is_old = self.root.epoch.saturating_sub(since) >= roots_of_a_move(blocks);
        let is_due = is_old || self.cells.as_slice().iter().any(|&block| bad.has(block));
        let is_settled = self.moves.leaving.len == 0 && self.moves.pending.len == 0;
        let has_room = media.free_count() >= u32::from(super::list_len(blocks)) + FREE_LEAST;
        let Some(&block) = anchors.iter().find(|&&anchor| anchor != used) else { return Ok(()) };
        if !is_due || !is_settled || !has_room || !has_anchors(blocks) {
            return Ok(());
        }
        let Some(cells) = self.choose_next(media, bad)? else { return Ok(()) };
        let (epoch, salt) = (self.root.epoch, self.salt);
        let anchor = Anchor { block, epoch, salt, anchors, cells };
        // The blocks are taken before the first page of the anchor is programmed.
        self.moves.pending = cells;
        debug_assert!(cells.len == self.cells.len, "as many blocks come as are there");
        debug_assert!(
            usize::from(self.coming().len) >= REPLACED,
            "the blocks that come are others"
        );
        self.claim_roots(media);
        self.moves.is_sure = anchor.write(media, frame)?;
        if !self.moves.is_sure {
            self.moves.pending = Cells::NONE;
            self.moves.used = None;
            self.claim_roots(media);
        }
        Ok(())
    }

    /// Choose the next root blocks: the youngest good ones of those in use, and the free blocks
    /// that are next in turn. So each block of the device holds roots once before any does so
    /// again.
    fn choose_next<N: Nand>(
        &self,
        media: &mut Media<'_, N>,
        bad: &Cells,
    ) -> Result<Option<Cells>, MediaError> {
        let mut cells = Cells::NONE;
        for &block in self.cells.as_slice().iter().skip(REPLACED) {
            if !bad.has(block) {
                cells.push(block);
            }
        }
        let mut last = self.cells.as_slice().last().map_or(0, |&block| u32::from(block));
        while cells.len < self.cells.len {
            match media.choose_behind(last, Use::Root) {
                Ok(block) => {
                    cells.push(block as u16);
                    last = block;
                }
                Err(MediaError::Full) => {
                    self.claim_roots(media);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(cells))
    }
}
