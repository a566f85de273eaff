//! Making certain what a mount found, before anything else is programmed.
//!
//! A mount after a cut may not trust what reads as blank. So only root blocks are touched until a
//! new root is confirmed, and no root block is left that may hold an attempt of an earlier mount.

use flysch_nand::Nand;

use super::front::{CELLS_MAX, Cells, List};
use super::lost::first_name_max;
use super::mount::Doubt;
use super::root::{self, Seen, target};
use super::table::pages_ahead;
use super::{Body, CHECKPOINT, Log, Next, choose_list};
use crate::media::{Media, MediaError, Use, Wear};

impl Doubt {
    /// Make certain what the mount found, before anything else is programmed.
    ///
    /// After a close the log goes on with a checkpoint in its next block, which is erased for it.
    /// Where the power is cut on the way, the next mount does the same again. Cost: an erase and
    /// the checkpoint's pages. After a cut, and where the list has no block left, the cost is that
    /// of [`Doubt::renew`].
    #[inline(never)]
    pub(crate) fn settle<N: Nand>(
        &self,
        log: &mut Log<'_>,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        if self.is_clean && log.wake(media, body, frame)? {
            return Ok(());
        }
        self.renew(log, media, body, frame)
    }

    /// Write and confirm a root with the state in `body`. Cost: an erase and the checkpoint's pages
    /// and a confirm page, an erase for each root block on which nothing was seen, and one for the
    /// first log block.
    #[inline(never)]
    fn renew<N: Nand>(
        &self,
        log: &mut Log<'_>,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        let sights = &self.sights;
        let list = choose_list(media, log.ordinal_of_mount(), Wear::Any)?;
        for block in 0..media.table.len() {
            if !list.as_slice().contains(&(block as u16)) {
                media.release_log(block);
            }
        }
        media.changes.clear();
        log.go_to(&list, 0);
        log.ahead = pages_ahead(media);
        log.page = u32::from(log.ahead);
        log.next = Next::NONE;
        (log.is_fresh, log.root_next) = (true, None);
        log.number += 1;
        let (count, mut is_bad) = (usize::from(sights.blocks.len), [false; CELLS_MAX]);
        let (seen, blocks) = (&sights.seen[..count], sights.blocks);
        for (bad, &block) in is_bad.iter_mut().zip(blocks.as_slice()) {
            *bad = media.is_bad(u32::from(block))?;
        }
        let mut is_rival = [false; CELLS_MAX];
        for (rival, &block) in is_rival.iter_mut().zip(blocks.as_slice()) {
            *rival = log.is_root_block(block);
        }
        while let Some(at) = log.target_of_mount(blocks.as_slice(), seen, &is_bad) {
            debug_assert!(!is_bad[at], "no root goes to a bad block");
            let block = u32::from(blocks.blocks[at]);
            if write_root(log, media, body, block, frame)? {
                let unseen = |&other: &usize| {
                    other != at && is_rival[other] && !is_bad[other] && seen[other].is_none()
                };
                for other in (0..count).filter(unseen) {
                    media.erase_root(u32::from(blocks.blocks[other]))?;
                }
                log.claim_roots(media);
                log.begin_block(media)?;
                log.check(media);
                let mut bad = Cells::NONE;
                for at in (0..count).filter(|&at| is_bad[at]) {
                    bad.push(blocks.blocks[at]);
                }
                return log.begin_move(media, &bad, frame);
            }
            is_bad[at] = true;
        }
        Err(MediaError::Full)
    }
}

/// Write and confirm a root; false where a program failed in its block.
pub(super) fn write_root<N: Nand>(
    log: &mut Log<'_>,
    media: &mut Media<'_, N>,
    body: &Body<'_>,
    block: u32,
    frame: &mut [u8],
) -> Result<bool, MediaError> {
    debug_assert!(media.changes.len() == 0, "a root has the whole block table");
    log.epoch += 1;
    let epoch = log.epoch;
    if !media.erase_root(block)? {
        return Ok(false);
    }
    let front = log.front(media, log.list, block, true);
    let whole = Body { flags: body.flags | CHECKPOINT, base: 0, ..*body };
    let described = (&front, log.schema);
    let written = root::write(media, (block, epoch), described, Some(&whole), frame);
    let confirmed = written.and_then(|root| {
        root::confirm(media, &root, frame)?;
        Ok(root)
    });
    match confirmed {
        Ok(root) => {
            log.retire_failed(media)?;
            log.root = Seen { is_confirmed: true, ..root };
            log.root_page = root.pages + 1;
            log.root_has_base = true;
            let last = media.geometry().pages_per_block - 1;
            debug_assert!(
                log.root_page.min(last) <= first_name_max(media, front.described),
                "a mount seeks it there"
            );
            log.adopt_root(media, block);
            debug_assert!(log.cells.has(block as u16), "a root names its own block");
            debug_assert!(media.table.at(block) == Use::Root, "nobody takes the block of a root");
            Ok(true)
        }
        Err(MediaError::ProgramFailed(_)) => {
            media.mark_bad(block)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

impl Log<'_> {
    /// Which of the blocks that were looked at takes the root of a mount: one that comes, else one
    /// in use.
    fn target_of_mount(
        &self,
        blocks: &[u16],
        seen: &[Option<Seen>],
        is_bad: &[bool],
    ) -> Option<usize> {
        let (coming, mut takes) = (self.coming(), [false; CELLS_MAX]);
        let comes = |at: &usize| self.moves.may_come() && coming.has(blocks[*at]) && !is_bad[*at];
        for (takes, block) in takes.iter_mut().zip(blocks) {
            *takes = self.cells.has(*block);
        }
        (0..blocks.len()).find(comes).or_else(|| target(seen, is_bad, &takes))
    }

    /// Note in the block table which blocks are the log's and the roots', and free those that were
    /// theirs before.
    pub(super) fn claim_blocks<N: Nand>(&self, media: &mut Media<'_, N>) {
        for block in 0..media.table.len() {
            media.release_log(block);
        }
        let next = self.next.list.unwrap_or(List::NONE);
        for &block in self.list.as_slice().iter().chain(next.as_slice()) {
            if media.table.at(u32::from(block)) != Use::Bad {
                media.table.set(u32::from(block), Use::Log);
            }
        }
        self.claim_roots(media);
        let is_free = |&block: &u16| media.table.at(u32::from(block)) == Use::Free;
        debug_assert!(!self.list.as_slice().iter().any(is_free), "nobody takes a log block");
    }

    /// Erase the first block of a list. Its root holds the state, so the block begins without a
    /// checkpoint.
    pub(super) fn begin_block<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
    ) -> Result<(), MediaError> {
        debug_assert!(self.root_has_base, "a block without a checkpoint rests on its root");
        debug_assert!(self.at == 0, "a list begins with its first block");
        let block = u32::from(self.list.blocks[0]);
        if !media.erase(block)? {
            // That block failed: the next record is a checkpoint in the block after it.
            self.page = media.geometry().pages_per_block;
        }
        Ok(())
    }
}
