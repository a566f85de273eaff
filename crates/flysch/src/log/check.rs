//! What holds of the log before and after each of its operations, in every session.
//!
//! Only what follows from the engine's own steps is asserted: an image may tell anything that its
//! checks let pass.

use flysch_nand::Nand;

use super::body::{HAS_NVRAM, UNCHANGED};
use super::front::{CELLS_MAX, LIST_MAX};
use super::moves::{Moves, Naming};
use super::{CHAIN_MAX, CHANGES_AHEAD, CHECKPOINT, Log, Next, STOPPED};
use crate::media::{CHANGES_MAX, Media};

const _: () = assert!(CHANGES_AHEAD * 2 <= CHANGES_MAX / 2, "an empty list of changes has room");
const _: () = assert!(CELLS_MAX <= 0x0F, "a root has four bits for the number of root blocks");
const _: () = assert!(
    (CHECKPOINT | STOPPED | HAS_NVRAM | UNCHANGED).count_ones() == 4,
    "each flag has a bit of its own"
);

impl Log<'_> {
    /// Check what holds between two operations.
    pub(super) fn check<N: Nand>(&self, media: &Media<'_, N>) {
        let pages = media.geometry().pages_per_block;
        debug_assert!(self.at < self.list.len, "the present log block is one of its list");
        debug_assert!(
            (1..=LIST_MAX).contains(&usize::from(self.live.len)),
            "records lie in a list"
        );
        debug_assert!(u32::from(self.ahead) <= self.page, "the table lies ahead of the records");
        debug_assert!(self.page <= pages, "records stay in their block");
        debug_assert!(self.root.pages < self.root_page, "names lie behind the confirm page");
        debug_assert!(self.root_page <= pages, "names stay in the root block");
        debug_assert!(self.root.epoch <= self.epoch, "no root was begun later than the last one");
        debug_assert!(usize::from(self.chain) < CHAIN_MAX, "a mount reads the whole chain");
        debug_assert!(self.record_pages > 0, "a record has a page");
        let logged = usize::from(self.logged);
        debug_assert!(logged <= media.layout().payload_size(), "records hold the tail at most");
        self.check_next();
        self.check_root_next();
        self.moves.check();
    }

    /// Check what is known of the next log block.
    fn check_next(&self) {
        let Next { list, passed, is_erased, is_named, written, .. } = self.next;
        debug_assert!(!is_named || list.is_some(), "what a root names was chosen");
        debug_assert!(
            list.is_none_or(|list| passed < list.len),
            "a list that is used up is dropped"
        );
        debug_assert!(is_erased || written == 0, "the table goes to a block that is erased");
        debug_assert!(written <= self.ahead, "the table has its pages and no more");
        debug_assert!(!is_erased || list.is_some() || self.has_next(), "a list has what is erased");
    }

    /// Check what is known of the next root, while it is being written.
    fn check_root_next(&self) {
        let Some(next) = self.root_next else { return };
        debug_assert!(!self.root_has_base, "no record needs the state in the root that goes");
        debug_assert!(next.epoch == self.epoch, "one root is written at a time");
        debug_assert!(next.epoch > self.root.epoch, "the next root is newer than that in force");
        debug_assert!(next.block != self.root.block, "the root in force stays");
        debug_assert!(!next.is_confirmed, "a root that is confirmed is in force");
    }
}

impl Moves {
    /// Check what is known of a move.
    fn check(&self) {
        let Self { anchors, used, leaving, pending, naming, .. } = *self;
        debug_assert!(pending.len == 0 || leaving.len == 0, "one move at a time");
        debug_assert!(pending.len == 0 || anchors.is_some(), "an anchor names what comes next");
        let is_named = naming != Naming::Doubtful;
        debug_assert!(!is_named || pending.len > 0, "an anchor names blocks that were chosen");
        let names = |used| anchors.is_some_and(|anchors| anchors.contains(&used));
        debug_assert!(used.is_none_or(|(used, _)| names(used)), "the anchor in use is an anchor");
    }
}
