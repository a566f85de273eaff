//! Fastmap: what attaching finds out by reading every PEB's headers, written down in a few PEBs.
//!
//! ```text
//! format.rs     the bytes
//! pool.rs       the PEBs that may change while a fastmap is in force
//! write.rs      a new fastmap: when the pools are empty, and when the device is detached
//! abandon.rs    none could be written: those on flash must not be believed
//! attach.rs     attaching by a fastmap: it, and the headers of the pools' PEBs
//! start.rs      what a device begins with
//! levelling.rs  what wear levelling moves where
//! mapping.rs    a mapping of a fastmap may be of a LEB that was unmapped since
//! ```
//!
//! As in Linux (`fm_autoconvert`), a fastmap is written only where it was asked for or was found, and
//! on devices of more than 64 PEBs.
//!
//! Invariants:
//! 1. Of the anchors on flash only that of the highest sequence number counts. Older ones are erased
//!    first, so that none comes back when it goes.
//! 2. The anchor's VID header is the first thing written of a fastmap: from then on no older one is
//!    believed, and until it is complete all PEBs are scanned.
//! 3. While a fastmap is in force, only PEBs of its pools get new data, and no PEB that was erased
//!    does before it is in a pool of a later one.

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

/// Fastmaps of a device that writes them.
#[derive(Debug)]
pub(super) struct Fastmap {
    /// PEBs of the one in force, the anchor first; none if there is none yet.
    blocks: Vec<u32>,
    /// A free PEB for the next anchor.
    next_anchor: Option<u32>,
    /// No PEB was free where an anchor must be: data are to move away from there.
    wants_anchor: bool,
    /// For data, and for wear levelling.
    pools: [Pool; 2],
    /// Whether there was any PEB for wear levelling.
    was_levelling_filled: bool,
    /// LEBs that a fastmap takes.
    block_count: usize,
}

impl Fastmap {
    /// None on flash yet. `None` where fastmaps are not for devices of that many PEBs.
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
