//! Fastmap: the result of a scan of all PEBs, kept in a few PEBs so that the next attach is quick.
//!
//! ```text
//! format.rs     the bytes on flash
//! pool.rs       the PEBs that may change while a fastmap is current
//! write.rs      a new fastmap: when the pools are empty, and when the device is detached
//! abandon.rs    no fastmap can be written: those on flash must not be used
//! attach.rs     attaching by a fastmap and the headers of the pools' PEBs
//! start.rs      whether fastmaps are written after an attach
//! levelling.rs  which data wear levelling moves, and where to
//! mapping.rs    checking a fastmap's mapping before its first use
//! ```
//!
//! As in Linux (`fm_autoconvert`), a fastmap is written only if the options ask for it or if one
//! was found. The device must have more than 64 PEBs.
//!
//! Invariants:
//! 1. Of the anchors on flash only the one with the highest sequence number counts. Older ones are
//!    erased first, so that none of them becomes the newest.
//! 2. The anchor's VID header is the first part of a fastmap to be written. From then on no older
//!    fastmap is used, and until the new one is complete an attach scans all PEBs.
//! 3. While a fastmap is current, only PEBs of its pools get new data. A PEB that is erased
//!    meanwhile gets none before it is in a pool of a later fastmap.

mod abandon;
mod attach;
mod format;
mod levelling;
mod mapping;
mod pool;
mod start;
mod write;

pub(super) use format::ANCHORS_END;

use format::block_count;
use pool::Pool;

use super::Layout;

/// The fastmaps of a device that writes them.
#[derive(Clone, Debug)]
pub(super) struct Fastmap {
    /// PEBs of the current fastmap, the anchor first. Empty if there is none.
    blocks: Vec<u32>,
    /// A free PEB that is kept for the next anchor.
    next_anchor: Option<u32>,
    /// Whether no PEB was free where an anchor must be. Wear levelling then moves data away from
    /// there.
    wants_anchor: bool,
    /// The PEBs for new data, and those for wear levelling.
    pools: [Pool; 2],
    /// Whether the last fastmap had at least one PEB for wear levelling.
    was_levelling_filled: bool,
    block_count: usize,
}

impl Fastmap {
    /// State of a device without a fastmap on flash. `None` if the device has too few PEBs for
    /// fastmaps, or too many.
    fn new(peb_count: u32, layout: Layout) -> Option<Self> {
        let block_count = block_count(peb_count, layout.leb_size()) as usize;
        let fits = peb_count > ANCHORS_END && block_count <= format::BLOCKS_MAX;
        fits.then(|| Self {
            blocks: Vec::new(),
            next_anchor: None,
            wants_anchor: false,
            pools: Pool::pair(peb_count),
            was_levelling_filled: false,
            block_count,
        })
    }
}
