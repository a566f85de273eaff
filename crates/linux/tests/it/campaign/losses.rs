//! Which modes a stack does not survive, because the original does not either.

use flysch_chip::Ending;

use super::script::Mode;
use crate::machine::Kind;

/// Why Linux loses data with this stack in this mode, and the model too. What a card does instead
/// of Linux is our own translation layer, which stands for cards that promise nothing.
pub(super) fn loses(kind: Kind, mode: Mode) -> Option<&'static str> {
    match (kind, mode) {
        (_, Mode::Ends(Ending::Unseen)) => {
            Some("a page that reads as blank is programmed: no driver of Linux knows better")
        }
        (_, Mode::Ends(Ending::Unsteady | Ending::Fading)) => {
            Some("unstable bits, linux-mtd.infradead.org/doc/ubifs.html#L_unstable_bits")
        }
        (_, Mode::Paired) => Some("paired pages: UBI refuses MLC since 4.17 (commit b5094b7f135b)"),
        (Kind::Jffs2, Mode::Ends(Ending::Scattered)) => {
            Some("a block is empty by its first 256 bytes: EMPTY_SCAN_SIZE, fs/jffs2/scan.c")
        }
        (Kind::Jffs2, Mode::Worn) => {
            Some("no block for a page that failed: data loss ensues, jffs2_wbuf_recover")
        }
        (Kind::Yaffs2, Mode::Ends(Ending::Scattered)) => {
            Some("tags have a code, data has none: sectors that ECC accepts are believed")
        }
        _ => None,
    }
}
