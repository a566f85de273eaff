//! What a mount sees of the anchors and the root blocks.
//!
//! 1. A mount looks at the root blocks that the newest anchor names. It looks at those of the other
//!    anchor too, where the newest root may lie there.
//! 2. It also looks at the root blocks that the newest root itself names.

use flysch_nand::Nand;

use super::anchor::{self, Anchor, Anchors};
use super::error::MountError;
use super::front::{CELLS_MAX, Cells, Front};
use super::root::{self, CANDIDATES, Seen};
use super::stream::{Reader, StreamError};
use crate::media::{Kind, Media, MediaError, Sight};

/// The blocks that were looked at, and the root that was seen on each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sights {
    pub(super) blocks: Cells,
    pub(super) seen: [Option<Seen>; CELLS_MAX],
    pub(super) anchors: Anchors,
    /// Number of anchors whose root blocks were not looked at yet.
    left: u8,
}

impl Sights {
    /// Nothing was looked at yet.
    pub(super) const NONE: Self = Self {
        blocks: Cells::NONE,
        seen: [None; CELLS_MAX],
        anchors: [None; anchor::ANCHORS],
        left: 0,
    };

    /// Look for anchors, or else for any root, and then at the root blocks that are named there.
    #[inline(never)]
    pub(super) fn look<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<(), MountError> {
        debug_assert!(self.blocks.len == 0, "a mount looks once");
        let mut refusal = MountError::Missing;
        for block in 0..CANDIDATES.min(media.table.len()) {
            match look_for_first(media, block, frame) {
                Ok(First::None) => {}
                Ok(First::Anchor(first)) => {
                    self.anchors = anchor::look_at_all(media, first, frame)?;
                    self.left = self.anchors.iter().flatten().count() as u8;
                    self.look_further(media, frame)?;
                    return Ok(());
                }
                // This root was written with anchors, but none of them is visible.
                Ok(First::Root(front)) if front.is_anchored => refusal = MountError::Broken,
                Ok(First::Root(front)) => {
                    self.look_at(media, &front.cells, frame)?;
                    return Ok(());
                }
                Err(MediaError::Version(version)) => refusal = MediaError::Version(version).into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(refusal)
    }

    /// Look at the root blocks of the next anchor; false where there is none.
    pub(super) fn look_further<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        if self.left == 0 {
            return Ok(false);
        }
        let count = self.anchors.iter().flatten().count();
        let next = self.anchors[count - usize::from(self.left)];
        self.left -= 1;
        match next {
            Some(anchor) => self.look_at(media, &anchor.cells, frame),
            None => Ok(false),
        }
    }

    /// Look at those of these blocks that were not looked at before; false where there are none.
    pub(super) fn look_at<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        blocks: &Cells,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        let salt = self.anchors[0].map(|anchor| anchor.salt);
        let mut has_looked = false;
        for &block in blocks.without(&self.blocks).as_slice() {
            let at = usize::from(self.blocks.len);
            if at == CELLS_MAX {
                break;
            }
            debug_assert!(self.seen[at].is_none(), "nothing was seen of a block before the look");
            self.seen[at] = root::look(media, u32::from(block), salt, frame)?;
            self.blocks.push(block);
            has_looked = true;
        }
        Ok(has_looked)
    }

    /// If a root that is newer than the newest one seen may lie on other blocks, look at these and
    /// return true.
    #[inline(never)]
    pub(super) fn looks_again<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (newest, front): (&Seen, &Front),
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        let is_newest = |anchor: &Anchor| {
            anchor.cells == front.cells && front.leaving.len == 0 && newest.epoch > anchor.epoch
        };
        let is_settled = self.anchors[0].as_ref().is_none_or(is_newest);
        if !is_settled && self.look_further(media, frame)? {
            return Ok(true);
        }
        let has_looked = self.look_at(media, &front.cells, frame)?;
        Ok(self.look_at(media, &front.leaving, frame)? || has_looked)
    }

    /// Forget what was seen on a block, as it cannot be seen any more.
    pub(super) fn forget(&mut self, block: u32) -> bool {
        let is_gone = |seen: &&mut Option<Seen>| seen.is_some_and(|seen| seen.block == block);
        let gone = self.seen.iter_mut().find(is_gone);
        gone.map(|seen| *seen = None).is_some()
    }

    /// The blocks, and what was seen there.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, Option<Seen>)> {
        self.blocks.as_slice().iter().copied().zip(self.seen)
    }
}

/// What the search finds first of a database.
enum First {
    None,
    Anchor(Anchor),
    Root(Front),
}

/// Look at one of the blocks on which an anchor may lie. Cost: a read or two as a rule, some more
/// where a root is there to which no anchor leads.
#[inline(never)]
fn look_for_first<N: Nand>(
    media: &mut Media<'_, N>,
    block: u32,
    frame: &mut [u8],
) -> Result<First, MediaError> {
    let anchor = match media.look(block, 0, root::NAME, frame)? {
        Sight::Blank => return Ok(First::None),
        Sight::Unreadable => Anchor::look_at(media, (block, 1), frame)?,
        Sight::Page(header) if header.kind == Kind::Root => {
            return look_at_root(media, block, frame);
        }
        Sight::Page(header) => Anchor::on(media, &header, block, frame),
    };
    match anchor {
        Some(first) if !media.is_bad(block)? => Ok(First::Anchor(first)),
        Some(_) | None => Ok(First::None),
    }
}

/// The root whose first page was read.
fn look_at_root<N: Nand>(
    media: &mut Media<'_, N>,
    block: u32,
    frame: &mut [u8],
) -> Result<First, MediaError> {
    if let Some(front) = Front::on(media, frame).filter(|front| front.is_anchored) {
        return Ok(First::Root(front));
    }
    let Some(seen) = root::look(media, block, None, frame)? else { return Ok(First::None) };
    let opened = Reader::open(root::place(seen.block, seen.epoch), frame, media);
    match opened.and_then(|mut reader| Front::read(&mut reader, media)) {
        Ok(front) => Ok(First::Root(front)),
        Err(StreamError::Broken | StreamError::Gone(_)) => Ok(First::None),
        Err(StreamError::Media(error)) => Err(error),
    }
}
