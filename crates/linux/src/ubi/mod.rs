//! UBI: logical eraseblocks on raw NAND. It levels wear and replaces bad blocks.
//!
//! ```text
//! leb.rs        the interface to file systems: read, write, map, unmap, change a LEB atomically
//! recover.rs    after a failed program the LEB moves to another PEB
//! wear.rs       erase counters, and which PEB is used next
//! work.rs       the background thread: erases, moves for wear levelling and scrubbing
//! attach.rs     finding which PEB holds which LEB, by the headers
//! format.rs     the bytes on flash
//! make.rs       formatting
//! fastmap/      the result of a scan kept on flash, so that the next attach reads few headers
//! ```
//!
//! A physical eraseblock (PEB) holds an EC header, a VID header if a logical eraseblock (LEB) is
//! mapped to it, and then data. With 512-byte sub-pages both headers are in page 0. Without
//! sub-pages the VID header is in page 1.
//!
//! Invariants:
//! 1. Each good PEB is in one of these states: free, in use (protected or not), to be scrubbed,
//!    waiting to be erased, or kept out of use.
//! 2. A LEB is mapped to at most one PEB. If two PEBs on flash claim it, the one with the higher
//!    sequence number wins.
//! 3. The VID header of a LEB is on flash before any of its data.

mod attach;
mod fastmap;
mod format;
mod leb;
mod make;
mod recover;
mod wear;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use flysch_chip::Recorder;

use crate::mtd::{MtdError, Partition};

pub use format::header_places;
pub use leb::LebRead;

use fastmap::Fastmap;
use format::{RECORD_SIZE, VolumeRecord};
use wear::Wear;
use work::Job;

/// Difference of erase counts from which on the data that changes least is moved
/// (`CONFIG_MTD_UBI_WL_THRESHOLD`).
pub const WEAR_THRESHOLD: u64 = 4096;
/// PEBs kept to replace bad ones, for every 1024 blocks of the whole chip
/// (`CONFIG_MTD_UBI_BEB_LIMIT`).
const RESERVED_PER_1024: u64 = 20;
/// PEBs that no volume gets: one for wear levelling, one for atomic changes, and two for the volume
/// table.
const OVERHEAD_PEBS: u32 = 4;
/// Fewest LEBs that UBIFS can be made on (`UBIFS_MIN_LEB_CNT`).
const USEFUL_LEBS_MIN: u32 = 17;

/// Options of an attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachOptions {
    /// Number of the volume to use.
    pub volume: u32,
    /// Difference of erase counts from which on data is moved.
    pub wear_threshold: u64,
    /// Whether fastmaps are written even if none was found (`fm_autoconvert`). Whole LEBs are
    /// programmed each time the pools are empty, and when the device is detached.
    pub fastmap: bool,
}

/// Why a UBI request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UbiError {
    /// No PEB is left, or the device failed and a retry did not help. From here on the device is
    /// read-only.
    Io,
    PowerLost,
}

/// Why a partition cannot be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// The partition has fewer good blocks than UBI needs.
    TooSmall {
        /// Number of good blocks of the partition.
        blocks: u32,
    },
    /// A block has no room for a record of the volume table beside the headers.
    BlockTooSmall {
        /// Size of a block, bytes.
        bytes: u32,
    },
    /// No PEB has an EC header, or there is no volume table.
    NotUbi,
    /// The headers are laid out for a chip with another page size.
    Geometry {
        /// Block of the partition whose headers show it.
        block: u32,
    },
    /// The volume asked for does not exist.
    NoVolume,
    /// The device failed otherwise than by losing power.
    Io,
    PowerLost,
}

impl fmt::Display for UbiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Io => "input/output error",
            Self::PowerLost => "power lost",
        })
    }
}

impl std::error::Error for UbiError {}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { blocks } => write!(f, "{blocks} good blocks are too few for UBI"),
            Self::BlockTooSmall { bytes } => {
                write!(f, "blocks of {bytes} bytes are too small for UBI")
            }
            Self::NotUbi => f.write_str("no UBI here"),
            Self::Geometry { block } => {
                write!(f, "the UBI headers of block {block} are for another chip")
            }
            Self::NoVolume => f.write_str("no such UBI volume"),
            Self::Io => f.write_str("input/output error"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for AttachError {}

impl From<MtdError> for UbiError {
    fn from(error: MtdError) -> Self {
        match error {
            MtdError::PowerLost => Self::PowerLost,
            MtdError::ProgramFailed(_) | MtdError::EraseFailed(_) => Self::Io,
        }
    }
}

impl From<UbiError> for AttachError {
    fn from(error: UbiError) -> Self {
        match error {
            UbiError::PowerLost => Self::PowerLost,
            UbiError::Io => Self::Io,
        }
    }
}

impl From<MtdError> for AttachError {
    fn from(error: MtdError) -> Self {
        UbiError::from(error).into()
    }
}

/// Where the headers and the data are in a PEB, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    peb_size: u32,
    page_size: u32,
    /// Size of the smallest program, to which headers are padded.
    header_unit: u32,
    vid_offset: u32,
    data_offset: u32,
}

/// An attached UBI device with one volume in use.
#[derive(Clone)]
pub struct Ubi {
    mtd: Partition,
    recorder: Recorder,
    layout: Layout,
    volume: u32,
    leb_count: u32,
    /// The PEB of each mapped LEB of all volumes.
    map: BTreeMap<(u32, u32), u32>,
    /// LEBs whose PEB only a fastmap names. It is checked before its first use.
    unchecked: BTreeSet<(u32, u32)>,
    /// The volume table: each volume with its number.
    volumes: Vec<(u32, VolumeRecord)>,
    /// The fastmaps, if they are written.
    fastmap: Option<Fastmap>,
    was_fastmap_found: bool,
    sequence: u64,
    wear: Wear,
    jobs: VecDeque<Job>,
    threshold: u64,
}

impl Layout {
    /// The layout on the chip of a partition.
    ///
    /// # Errors
    /// The blocks are too small for the volume table.
    fn of(mtd: &Partition) -> Result<Self, AttachError> {
        let geometry = mtd.geometry();
        let header_unit = if geometry.partial_programs >= geometry.sectors_per_page {
            geometry.sector_size().max(64)
        } else {
            geometry.page_size
        };
        let data_offset = (2 * header_unit).next_multiple_of(geometry.page_size);
        let (page_size, peb_size) = (geometry.page_size, geometry.block_size());
        let leb_size = peb_size.saturating_sub(data_offset) as usize;
        if leb_size < RECORD_SIZE {
            return Err(AttachError::BlockTooSmall { bytes: peb_size });
        }
        Ok(Self { peb_size, page_size, header_unit, vid_offset: header_unit, data_offset })
    }

    const fn leb_size(self) -> u32 {
        self.peb_size - self.data_offset
    }
}

/// Number of PEBs of the partition that are kept to replace blocks that will go bad: the share of
/// the whole chip, because all of its bad blocks may lie in one partition (`get_bad_peb_limit`).
///
/// A partition in which this share leaves no room for a file system needs a smaller one, which UBI
/// takes as an option of the attach (`max_beb_per1024`): a quarter of its blocks here.
fn reserve_for_bad(mtd: &Partition) -> u32 {
    let bad = (0..mtd.block_count()).filter(|&block| mtd.is_bad(block)).count();
    let bad = u32::try_from(bad).expect("counted in u32");
    kept_for_bad(mtd.geometry().block_count, mtd.block_count(), bad)
}

fn kept_for_bad(on_chip: u32, blocks: u32, bad: u32) -> u32 {
    let limit = (u64::from(on_chip) * RESERVED_PER_1024).div_ceil(1024);
    let kept = u32::try_from(limit).expect("below a chip").saturating_sub(bad);
    let has_room = blocks >= kept + OVERHEAD_PEBS + USEFUL_LEBS_MIN;
    if has_room { kept } else { kept.min(blocks / 4) }
}

impl Ubi {
    pub const fn leb_size(&self) -> u32 {
        self.layout.leb_size()
    }

    pub const fn leb_count(&self) -> u32 {
        self.leb_count
    }

    /// Bytes of the smallest write, which is a page.
    pub const fn min_io_size(&self) -> u32 {
        self.layout.page_size
    }

    pub const fn partition(&self) -> &Partition {
        &self.mtd
    }

    /// The device with a raw NAND layer of its own, in the state of this one and on the same chip.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { mtd: self.mtd.apart(), ..self.clone() }
    }

    /// Lowest and highest erase count of the PEBs that are in use or free.
    pub fn wear_spread(&self) -> (u64, u64) {
        self.wear.spread()
    }

    /// Whether the device was attached by a fastmap rather than by a scan of all PEBs.
    pub const fn is_attached_by_fastmap(&self) -> bool {
        self.was_fastmap_found
    }

    fn place(&self, peb: u32, offset: u32) -> u64 {
        u64::from(peb) * u64::from(self.layout.peb_size) + u64::from(offset)
    }

    /// Write a header, padded to the smallest program.
    fn write_header(&self, peb: u32, at: u32, header: &[u8]) -> Result<(), MtdError> {
        let mut bytes = header.to_vec();
        bytes.resize(self.layout.header_unit as usize, 0);
        self.mtd.write_sectors(self.place(peb, at), &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.1 says of a partition of 115 blocks on a chip of 2048: "PEBs reserved for bad PEB
    /// handling: 40", and that 71 LEBs are available.
    #[test]
    fn the_share_of_the_whole_chip_is_kept_for_bad_blocks() {
        assert_eq!(115 - OVERHEAD_PEBS - kept_for_bad(2048, 115, 0), 71);
        assert_eq!(kept_for_bad(2048, 400, 3), 37, "some are bad already");
        assert_eq!(kept_for_bad(2048, 60, 0), 15, "no file system has room beside 40");
        assert_eq!(kept_for_bad(60, 60, 0), 2);
    }
}
