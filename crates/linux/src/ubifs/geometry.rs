//! The areas of a volume and their sizes, and how the sizes are chosen for an empty volume.
//!
//! ```text
//! LEB 0 superblock | 1, 2 master | 3… log | LPT | orphans | main area to the end
//! ```

use super::format::{FLAG_BIG_LPT, FLAGS_KNOWN, Superblock};
use super::lpt::LptShape;
use super::options::{Compressor, Maker};
use super::wbuf::Head;

pub(super) const MASTER_LNUM: u32 = 1;
pub(super) const LOG_LNUM: u32 = 3;
/// Fewest LEBs of a file system that can be mounted, and of one that is made.
const LEBS_MIN: u32 = 12;
const LEBS_MADE_MIN: u32 = 17;
const JOURNAL_LEBS_MIN: u32 = 5;
/// A volume that has more LEBs than this beyond the fewest gets one more for the log.
const LOG_SPARE: u32 = 8;
const JOURNAL_SIZE_MAX: u64 = 32 << 20;
/// Largest journal that `mkfs.ubifs` makes by default, bytes.
const MKFS_JOURNAL_SIZE_MAX: u64 = 8 << 20;
const BUD_LEBS_MIN: u32 = 3;
const LPT_LEBS_MIN: u32 = 2;
/// Number of LEBs in `lsave`, in the large form of the LPT.
const SAVE_COUNT: u32 = 256;
/// Largest number of children of an index node.
const FANOUT: u32 = 8;
/// Version of the on-flash format.
const VERSION: u32 = 4;
/// Least space worth writing to, and length of the longest node in the journal, bytes.
const WRITE_MIN: u32 = 56;
const NODE_SIZE_MAX: u32 = 160 + 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub page_size: u32,
    pub leb_size: u32,
    pub leb_count: u32,
    pub log_lebs: u32,
    pub lpt_first: u32,
    pub lpt: LptShape,
    pub orphan_first: u32,
    pub orphan_lebs: u32,
    pub main_first: u32,
    pub main_lebs: u32,
    pub fanout: usize,
    /// Largest number of bytes in the LEBs of the journal.
    pub bud_bytes_max: u64,
    /// Number of bytes from which on the thread commits, so that no task has to wait for it.
    pub bud_bytes_background: u64,
    /// A LEB with less free and dirty space than `dead` cannot be used; below `dark`, perhaps not.
    pub dead: u32,
    pub dark: u32,
}

impl Geometry {
    /// The areas that a superblock describes. `None` if they make no sense on this volume.
    pub(super) fn of(sb: &Superblock, page_size: u32, leb_size: u32, lebs: u32) -> Option<Self> {
        let known = sb.hash == 0
            && sb.key_format == 0
            && (4..=5).contains(&sb.version)
            && sb.flags & !FLAGS_KNOWN == 0;
        let fits = sb.page_size == page_size
            && sb.leb_size == leb_size
            && (LEBS_MIN..=lebs).contains(&sb.leb_count)
            && sb.leb_count_max >= sb.leb_count
            && sb.leb_count_max <= 1 << 24;
        let sane = (3..=256).contains(&sb.fanout)
            && (2..lebs).contains(&sb.log_lebs)
            && (LPT_LEBS_MIN..lebs).contains(&sb.lpt_lebs)
            && (1..lebs).contains(&sb.orphan_lebs)
            && sb.save_count <= 4096;
        if !(known && fits && sane && sb.heads == 1) {
            return None;
        }
        // A file system smaller than its volume grows when it is mounted.
        let leb_count = lebs.min(sb.leb_count_max).max(sb.leb_count);
        let lpt_first = LOG_LNUM + sb.log_lebs;
        let orphan_first = lpt_first + sb.lpt_lebs;
        let main_first = orphan_first + sb.orphan_lebs;
        let main_lebs = leb_count.checked_sub(main_first).filter(|&count| count >= 5)?;
        // mkfs.ubifs makes the journal for the largest volume, which may be far from the present
        // one.
        if sb.bud_bytes_max > u64::from(sb.leb_count_max) * u64::from(leb_size) {
            return None;
        }
        let (bud_bytes_max, bud_bytes_background) = journal_limits(sb.bud_bytes_max, leb_size);
        let areas = LptAreas { main_lebs, lpt_lebs: sb.lpt_lebs, leb_size, page_size };
        let most = sb.leb_count_max;
        let lpt = LptShape::new(areas, (leb_count, most), sb.flags, sb.save_count);
        (u64::from(lpt.size()) * 2 <= u64::from(sb.lpt_lebs) * u64::from(leb_size)).then_some(
            Self {
                page_size,
                leb_size,
                leb_count,
                log_lebs: sb.log_lebs,
                lpt_first,
                lpt,
                orphan_first,
                orphan_lebs: sb.orphan_lebs,
                main_first,
                main_lebs,
                fanout: sb.fanout as usize,
                bud_bytes_max,
                bud_bytes_background,
                dead: WRITE_MIN.next_multiple_of(page_size),
                dark: NODE_SIZE_MAX.next_multiple_of(page_size),
            },
        )
    }

    /// Round a length up to whole pages.
    pub(super) const fn pages(&self, len: u32) -> u32 {
        len.next_multiple_of(self.page_size)
    }

    /// How many of `space` bytes in a LEB may turn out to be unusable.
    pub(super) const fn dark_part(&self, space: u32) -> u32 {
        if space < self.dark {
            space
        } else if space - self.dark < WRITE_MIN {
            space - WRITE_MIN
        } else {
            self.dark
        }
    }

    /// Whether a LEB belongs to the main area, which holds data and index.
    pub(super) const fn is_main(&self, lnum: u32) -> bool {
        lnum >= self.main_first && lnum < self.leb_count
    }
}

/// The most bytes of a journal, and how many are enough for a commit in the background: 13 of 16,
/// but no fewer than the LEBs of the heads and another one, as a head's LEB counts as full
/// (`init_constants_sb`). Linux 6.1 has 645,121 and 516,097 on 125 blocks of 128 KiB.
fn journal_limits(bytes_max: u64, leb_size: u32) -> (u64, u64) {
    let leb_size = u64::from(leb_size);
    let least = (Head::ALL.len() as u64 + 1) * leb_size + 1;
    (bytes_max.max(least + leb_size), ((bytes_max * 13) >> 4).max(least))
}

/// The sizes that the LPT's shape depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LptAreas {
    pub main_lebs: u32,
    pub lpt_lebs: u32,
    pub leb_size: u32,
    pub page_size: u32,
}

/// The superblock of a new file system. `None` if the volume is too small.
pub(super) fn new_superblock(
    (page_size, leb_size, leb_count): (u32, u32, u32),
    maker: Maker,
    compressor: Compressor,
) -> Option<Superblock> {
    if leb_count < LEBS_MADE_MIN {
        return None;
    }
    let (bud_bytes_max, log_lebs, orphan_lebs) = match maker {
        Maker::Mount => journal_of_mount(page_size, leb_size, leb_count),
        Maker::Mkfs => journal_of_mkfs(page_size, leb_size, leb_count),
    };
    let rest = leb_count.checked_sub(LOG_LNUM + log_lebs + orphan_lebs)?;
    let (lpt_lebs, flags) = lpt_lebs(rest, (page_size, leb_size), leb_count)?;
    Some(Superblock {
        hash: 0,
        key_format: 0,
        flags,
        page_size,
        leb_size,
        leb_count,
        leb_count_max: leb_count,
        bud_bytes_max,
        log_lebs,
        lpt_lebs,
        orphan_lebs,
        heads: 1,
        fanout: FANOUT,
        save_count: SAVE_COUNT,
        version: VERSION,
        compression: super::compress::number(compressor),
    })
}

/// The size of the journal in bytes, then the LEBs of the log and of the orphan area. The kernel
/// makes 5 % of the volume the journal.
fn journal_of_mount(page_size: u32, leb_size: u32, leb_count: u32) -> (u64, u32, u32) {
    let most = u32::try_from(JOURNAL_SIZE_MAX / u64::from(leb_size)).expect("below 32 MiB");
    let journal = (leb_count * 5 / 100).max(JOURNAL_LEBS_MIN).min(most.max(JOURNAL_LEBS_MIN));
    // A small volume has one LEB less for the log, and the smallest one less for orphans.
    let spare = leb_count - LEBS_MADE_MIN;
    let more = u32::from(spare > LOG_SPARE);
    let log_lebs = (2 * page_size * journal).div_ceil(leb_size) + 1 + more;
    let buds = journal.saturating_sub(log_lebs).max(BUD_LEBS_MIN);
    let orphan_lebs = 1 + u32::from(spare - more > 1);
    (u64::from(buds) * u64::from(leb_size), log_lebs, orphan_lebs)
}

/// The same three sizes as `mkfs.ubifs` chooses them (observed with version 2.1.5). An eighth of
/// the volume is journal, but at most 8 MiB.
fn journal_of_mkfs(page_size: u32, leb_size: u32, leb_count: u32) -> (u64, u32, u32) {
    let buds = (leb_count / 8).saturating_sub(1).max(BUD_LEBS_MIN);
    let bytes = (u64::from(buds) * u64::from(leb_size)).min(MKFS_JOURNAL_SIZE_MAX);
    let buds = u32::try_from(bytes.div_ceil(u64::from(leb_size))).expect("below 8 MiB");
    (bytes, (buds * page_size).div_ceil(leb_size) + 3, 1)
}

/// The number of LEBs of the LPT, if `rest` LEBs are left for it and the main area, and the flags
/// of its form.
fn lpt_lebs(rest: u32, (page_size, leb_size): (u32, u32), leb_count: u32) -> Option<(u32, u32)> {
    let mut lebs = LPT_LEBS_MIN;
    let mut flags = 0;
    for _ in 0..64 {
        let main_lebs = rest.checked_sub(lebs)?;
        let areas = LptAreas { main_lebs, lpt_lebs: lebs, leb_size, page_size };
        let shape = LptShape::new(areas, (leb_count, leb_count), flags, SAVE_COUNT);
        if shape.size() > leb_size && flags == 0 {
            flags = FLAG_BIG_LPT;
            continue;
        }
        let needed = (4 * u64::from(shape.size())).div_ceil(u64::from(leb_size));
        if needed <= u64::from(lebs) {
            return Some((lebs, flags));
        }
        lebs = u32::try_from(needed).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file systems that Linux 6.1 makes on 125 and 180 blocks of 128 KiB have these journals,
    /// and the first one these limits.
    #[test]
    fn a_small_journal_is_committed_one_leb_before_it_is_full() {
        let bytes = 3 * 129_024;
        assert_eq!(journal_of_mount(2048, 129_024, 81), (bytes, 3, 2));
        assert_eq!(journal_of_mount(2048, 129_024, 136), (bytes, 3, 2));
        assert_eq!(journal_limits(bytes, 129_024), (645_121, 516_097));
        assert_eq!(journal_limits(8 << 20, 129_024), (8 << 20, 6_815_744));
    }
}
