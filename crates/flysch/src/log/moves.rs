//! Moving root blocks, so that the wear of roots is spread over the device.
//!
//! 1. When it is time, a mount that has written its root names the next root blocks. Those *coming*
//!    are free blocks; the others are root blocks already. A session that is about to write another
//!    root does so too where a root block failed, one operation at a call.
//! 2. The next root of a session goes to a block that is coming. So does the next root of a mount,
//!    if the mount sees the whole anchor, and sees that the anchor was written after the very root
//!    that it believes.
//! 3. Whichever set the next root takes, the blocks of the other set alone are *leaving*, as
//!    another mount may have chosen the other set. They are not used until there is a root that
//!    follows one after which a record was seen.

use flysch_nand::Nand;

use super::Log;
use super::anchor::{ANCHORS, Anchor, Anchors, COPIES, has_anchors, roots_of_a_move};
use super::front::Cells;
use super::root::Seen;
use crate::media::{Media, MediaError, Use};

/// Number of root blocks that one move replaces.
const REPLACED: usize = 2;
/// Least number of free blocks, without the log's, that must be left for a move to begin at a
/// mount.
const FREE_LEAST: u32 = 8;
/// The same for a move that begins in the middle of a call, which may need blocks for more.
const FREE_LEAST_IN_SESSION: u32 = 16;

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
    /// How much there is of the anchor that names them.
    pub(super) naming: Naming,
    /// Whether a root block in use may be bad: one failed, or was found so.
    pub(super) has_failed: bool,
    /// Whether the blocks that the root in force leaves may be freed: a session wrote records after
    /// it.
    pub(super) is_certain: bool,
}

/// How much there is of the anchor that names the next root blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// Nothing, or what an earlier session left, of which only the first page is visible.
    Doubtful,
    /// The session writes it on `block`, and has come to `page`.
    Begun { block: u16, page: u32 },
    /// All of it: the next root may go to the blocks that come.
    Whole,
}

impl Moves {
    pub(super) const NONE: Self = Self {
        anchors: None,
        used: None,
        leaving: Cells::NONE,
        pending: Cells::NONE,
        naming: Naming::Doubtful,
        has_failed: false,
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
        let is_whole = next.map_or(Ok(false), |anchor| anchor.is_whole(media, frame))?;
        Ok(Self {
            anchors: anchors[0].map(|anchor| anchor.anchors),
            used: used.map(|anchor| (anchor.block, anchor.epoch)),
            leaving,
            pending: next.map_or(Cells::NONE, |anchor| anchor.cells),
            naming: if is_whole { Naming::Whole } else { Naming::Doubtful },
            ..Self::NONE
        })
    }

    /// Whether the next root may go to the blocks that come.
    pub(super) fn may_come(&self) -> bool {
        self.naming == Naming::Whole
    }

    /// Whether an anchor is being written.
    const fn is_naming(&self) -> bool {
        matches!(self.naming, Naming::Begun { .. })
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
        let coming = if self.moves.may_come() { self.coming() } else { Cells::NONE };
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
        (self.moves.leaving, self.moves.pending) = (leaving, Cells::NONE);
        self.moves.naming = Naming::Doubtful;
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

    /// After the root of a mount: name the next root blocks, if it is time, or if one of those in
    /// use is bad. Cost: nothing as a rule; else an erase and two programs.
    pub(super) fn begin_move<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        bad: &Cells,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        debug_assert!(self.root.is_confirmed, "a move begins once the root is certain");
        self.moves.is_certain = true;
        self.moves.has_failed = self.cells.as_slice().iter().any(|&block| bad.has(block));
        let since = self.moves.used.map_or(0, |(_, since)| since);
        let is_old = self.root.epoch.saturating_sub(since) >= roots_of_a_move(media.table.len());
        if is_old || self.moves.has_failed {
            self.choose_next(media, bad, FREE_LEAST)?;
        }
        while self.name_next(media, frame)? {}
        Ok(())
    }

    /// In a session that is about to write a root: do one operation towards others in place of
    /// root blocks that failed. False where there is none to do. Cost: nothing as a rule; else an
    /// erase and a read for each root block, or a program.
    pub(super) fn replace_failed<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        debug_assert!(self.root_next.is_none(), "others are named before the next root is begun");
        if self.moves.is_naming() || !self.moves.has_failed {
            return self.name_next(media, frame);
        }
        let mut bad = Cells::NONE;
        for &block in self.cells.as_slice() {
            if media.is_bad(u32::from(block))? {
                bad.push(block);
            }
        }
        self.choose_next(media, &bad, FREE_LEAST_IN_SESSION)?;
        Ok(self.moves.is_naming())
    }

    /// Choose the root blocks to come, and erase the anchor that will name them: where none are
    /// coming or leaving, and beside the log's so many free blocks are there. Cost: an erase.
    fn choose_next<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        bad: &Cells,
        free_least: u32,
    ) -> Result<(), MediaError> {
        let Moves { anchors: Some(anchors), used: Some((used, _)), .. } = self.moves else {
            return Ok(());
        };
        let blocks = media.table.len();
        let is_settled = self.moves.leaving.len == 0 && self.moves.pending.len == 0;
        let has_room = media.free_count() >= u32::from(super::list_len(blocks)) + free_least;
        let Some(&block) = anchors.iter().find(|&&anchor| anchor != used) else { return Ok(()) };
        if !is_settled || !has_room || !has_anchors(blocks) {
            return Ok(());
        }
        let Some(cells) = self.next_cells(media, bad)? else { return Ok(()) };
        // The blocks are taken before the first page of the anchor is programmed.
        self.moves.pending = cells;
        debug_assert!(cells.len == self.cells.len, "as many blocks come as are there");
        debug_assert!(
            usize::from(self.coming().len) >= REPLACED,
            "the blocks that come are others"
        );
        self.claim_roots(media);
        self.moves.has_failed = false;
        if media.erase_root(u32::from(block))? {
            self.moves.naming = Naming::Begun { block, page: 0 };
        } else {
            self.give_up(media);
        }
        Ok(())
    }

    /// Program the next page of the anchor that names the root blocks to come; false where no
    /// anchor is being written. Cost: one program.
    fn name_next<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        let Naming::Begun { block, page } = self.moves.naming else { return Ok(false) };
        debug_assert!(self.moves.leaving.len == 0, "nothing leaves when a move begins");
        // Where the program neither succeeds nor fails, the page is not programmed again.
        self.moves.naming = Naming::Doubtful;
        let (epoch, salt, cells) = (self.root.epoch, self.salt, self.moves.pending);
        let anchors = self.moves.anchors.unwrap_or([block; ANCHORS]);
        match (Anchor { block, epoch, salt, anchors, cells }).program(media, page, frame) {
            Ok(()) => {
                let page = page + 1;
                let is_whole = page == COPIES;
                self.moves.naming =
                    if is_whole { Naming::Whole } else { Naming::Begun { block, page } };
            }
            Err(MediaError::ProgramFailed(_)) => {
                media.mark_bad(u32::from(block))?;
                self.give_up(media);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// No root blocks come, and none will: the block of the anchor failed that was to name them.
    fn give_up<N: Nand>(&mut self, media: &mut Media<'_, N>) {
        (self.moves.pending, self.moves.used) = (Cells::NONE, None);
        self.moves.naming = Naming::Doubtful;
        debug_assert!(self.coming().len == 0, "no block waits for a root that never comes");
        self.claim_roots(media);
    }

    /// Choose the next root blocks: the youngest good ones of those in use, and the free blocks
    /// that are next in turn. So each block of the device holds roots once before any does so
    /// again.
    fn next_cells<N: Nand>(
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
