//! The fastmap on flash, as Linux lays it out (`drivers/mtd/ubi/ubi-media.h`, format version 1).
//!
//! ```text
//! superblock    0 magic | 4 version u8 | 8 CRC (of all, with this field 0) | 12 blocks used
//!              16 PEB of each block, 32 | 144 erase count of each, 32 | 272 sequence u64 (0)
//! header      312 magic | 316 free | 320 used | 324 scrub | 328 bad | 332 erase | 336 volumes
//! pools       344 two of: 0 magic | 4 size u16 | 6 most u16 | 8 PEBs, 256 | 1032 padding
//! lists      2440 PEB and erase count of each: free, used, to be scrubbed, to be erased
//! volumes         each: 0 magic | 4 volume | 8 type u8 | 12 data pad | 16 used LEBs
//!                       20 bytes of the last LEB
//!                 then  0 magic | 4 LEBs | 8 PEB of each LEB, all ones where it is not mapped
//! ```
//!
//! A fastmap fills whole LEBs, with zeros behind the volumes. Its blocks are LEBs of two volumes of
//! their own: the anchor, which begins with the superblock, and the data behind it.

use super::super::format::{crc32, put_u32, u32_at};
use super::pool::Pool;

/// The anchor is one of this many PEBs at the start of a device (`UBI_FM_MAX_START`). The device
/// must have more PEBs than these.
pub(in crate::ubi) const ANCHORS_END: u32 = 64;
/// Largest number of PEBs that a fastmap takes (`UBI_FM_MAX_BLOCKS`).
pub(super) const BLOCKS_MAX: usize = 32;
/// Largest number of PEBs in a pool (`UBI_FM_MAX_POOL_SIZE`).
pub(super) const POOL_MAX: usize = 256;
pub(super) const SUPERBLOCK_SIZE: usize = 312;
const HEADER_SIZE: usize = 32;
const POOL_SIZE: usize = 8 + 4 * POOL_MAX + 16;
const POOL_PADDING: usize = 16;
const ENTRY_SIZE: usize = 8;
const VOLUME_SIZE: usize = 32;
const TABLE_SIZE: usize = 8;
/// Number of volumes for which a fastmap has room (`UBI_MAX_VOLUMES`).
const VOLUMES_MAX: usize = 128;

const SUPERBLOCK_MAGIC: u32 = 0x7B11_D69F;
const HEADER_MAGIC: u32 = 0xD4B8_2EF7;
const VOLUME_MAGIC: u32 = 0xFA37_0ED1;
const POOL_MAGIC: u32 = 0x67AF_4D08;
const TABLE_MAGIC: u32 = 0xF0C0_40A8;
const VERSION: u8 = 1;
/// `UBI_DYNAMIC_VOLUME`. Volume tables and VID headers use another number for it.
const DYNAMIC: u8 = 3;
const CRC_AT: usize = 8;
const BLOCKS_AT: usize = 16;
const COUNTS_AT: usize = BLOCKS_AT + 4 * BLOCKS_MAX;
/// The PEB number of a LEB that is not mapped.
const UNMAPPED: u32 = u32::MAX;

/// A PEB, and the number of its erases.
pub(super) type Counted = (u32, u32);

/// The superblock: which PEBs the fastmap takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// The PEBs that the fastmap is written to, the anchor first.
    pub blocks: Vec<Counted>,
}

/// The PEBs that hold the LEBs of a dynamic volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VolumeMap {
    pub id: u32,
    pub data_pad: u32,
    /// Bytes of the last LEB that are used.
    pub last_size: u32,
    /// The PEB of each LEB. `None` if the LEB is not mapped.
    pub pebs: Vec<Option<u32>>,
}

/// All that a fastmap says of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// The PEBs for new data, then those for wear levelling. Any of them may have been written
    /// since the fastmap was.
    pub pools: [Pool; 2],
    pub free: Vec<Counted>,
    pub used: Vec<Counted>,
    pub scrub: Vec<Counted>,
    pub erase: Vec<Counted>,
    pub bad_count: u32,
    pub volumes: Vec<VolumeMap>,
}

/// Number of LEBs that the fastmap of a device takes (`ubi_calc_fm_size`).
pub(super) fn block_count(peb_count: u32, leb_size: u32) -> u32 {
    let fixed =
        SUPERBLOCK_SIZE + HEADER_SIZE + 2 * POOL_SIZE + TABLE_SIZE + VOLUMES_MAX * VOLUME_SIZE;
    let fixed = u64::try_from(fixed).expect("a few thousand");
    let size = fixed + u64::from(peb_count) * (ENTRY_SIZE as u64 + 4);
    u32::try_from(size.div_ceil(leb_size.into())).expect("no more than PEBs")
}

impl Superblock {
    /// Parse the superblock at the start of an anchor's data.
    pub(super) fn parse(bytes: &[u8; SUPERBLOCK_SIZE]) -> Option<Self> {
        let used = usize::try_from(u32_at(bytes, 12)).ok()?;
        let is_valid = u32_at(bytes, 0) == SUPERBLOCK_MAGIC && bytes[4] == VERSION;
        let block =
            |at: usize| (u32_at(bytes, BLOCKS_AT + 4 * at), u32_at(bytes, COUNTS_AT + 4 * at));
        let is_known = is_valid && (1..=BLOCKS_MAX).contains(&used);
        is_known.then(|| Self { blocks: (0..used).map(block).collect() })
    }

    fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![0; SUPERBLOCK_SIZE];
        put_u32(&mut bytes, 0, SUPERBLOCK_MAGIC);
        bytes[4] = VERSION;
        put_u32(&mut bytes, 12, u32::try_from(self.blocks.len()).expect("at most 32"));
        for (at, &(peb, count)) in self.blocks.iter().enumerate() {
            put_u32(&mut bytes, BLOCKS_AT + 4 * at, peb);
            put_u32(&mut bytes, COUNTS_AT + 4 * at, count);
        }
        bytes
    }
}

impl Snapshot {
    /// The bytes of a fastmap on the PEBs of `superblock`, with `leb_size` bytes in each. `None` if
    /// it does not fit.
    pub(super) fn emit(&self, superblock: &Superblock, leb_size: usize) -> Option<Vec<u8>> {
        let size = superblock.blocks.len() * leb_size;
        let mut bytes = superblock.emit();
        let lists = [&self.free, &self.used, &self.scrub, &self.erase];
        let [free, used, scrub, erase] = lists.map(|list| length(list));
        push(&mut bytes, &[HEADER_MAGIC, free, used, scrub, self.bad_count, erase]);
        push(&mut bytes, &[length(&self.volumes), 0]);
        self.pools.iter().for_each(|pool| push_pool(&mut bytes, pool));
        for &(peb, count) in lists.into_iter().flatten() {
            push(&mut bytes, &[peb, count]);
        }
        self.volumes.iter().for_each(|volume| push_volume(&mut bytes, volume));
        if bytes.len() > size {
            return None;
        }
        bytes.resize(size, 0);
        let crc = crc32(&bytes);
        put_u32(&mut bytes, CRC_AT, crc);
        Some(bytes)
    }

    /// Parse a fastmap, given all its LEBs. `None` if anything in it is damaged.
    pub(super) fn parse(mut bytes: Vec<u8>) -> Option<Self> {
        let crc = u32_at(&bytes, CRC_AT);
        put_u32(&mut bytes, CRC_AT, 0);
        if crc32(&bytes) != crc {
            return None;
        }
        let mut rest = bytes.get(SUPERBLOCK_SIZE..)?;
        let header = take(&mut rest, HEADER_SIZE)?;
        let [free, used, scrub, bad_count, erase, volumes] =
            [4, 8, 12, 16, 20, 24].map(|at| u32_at(header, at));
        if u32_at(header, 0) != HEADER_MAGIC {
            return None;
        }
        let pools = [take_pool(&mut rest)?, take_pool(&mut rest)?];
        let mut list = |len| take_list(&mut rest, len);
        let (free, used, scrub, erase) = (list(free)?, list(used)?, list(scrub)?, list(erase)?);
        let volumes = (0..volumes).map(|_| take_volume(&mut rest)).collect::<Option<_>>()?;
        Some(Self { pools, free, used, scrub, erase, bad_count, volumes })
    }
}

fn length<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("no more than PEBs")
}

fn push(bytes: &mut Vec<u8>, numbers: &[u32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
}

fn push_pool(bytes: &mut Vec<u8>, pool: &Pool) {
    let end = bytes.len() + POOL_SIZE;
    let half = |len: usize| u32::try_from(len).expect("at most 256");
    push(bytes, &[POOL_MAGIC, half(pool.pebs.len()) << 16 | half(pool.size_max)]);
    pool.pebs.iter().for_each(|&peb| push(bytes, &[peb]));
    bytes.resize(end, 0);
}

fn push_volume(bytes: &mut Vec<u8>, volume: &VolumeMap) {
    let lebs = length(&volume.pebs);
    let kind = u32::from(DYNAMIC) << 24;
    let head = [VOLUME_MAGIC, volume.id, kind, volume.data_pad, lebs, volume.last_size, 0, 0];
    push(bytes, &head);
    push(bytes, &[TABLE_MAGIC, lebs]);
    volume.pebs.iter().for_each(|peb| push(bytes, &[peb.unwrap_or(UNMAPPED)]));
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(taken)
}

fn take_pool(rest: &mut &[u8]) -> Option<Pool> {
    let bytes = take(rest, POOL_SIZE)?;
    let sizes = u32_at(bytes, 4);
    let [size, size_max] = [sizes >> 16, sizes & 0xFFFF].map(|len| len as usize);
    let is_valid = u32_at(bytes, 0) == POOL_MAGIC && size <= POOL_MAX && size_max <= POOL_MAX;
    let pebs = bytes[8..POOL_SIZE - POOL_PADDING].chunks_exact(4).take(size);
    is_valid.then(|| Pool { size_max, pebs: pebs.map(|peb| u32_at(peb, 0)).collect() })
}

fn take_list(rest: &mut &[u8], len: u32) -> Option<Vec<Counted>> {
    let bytes = take(rest, usize::try_from(len).ok()?.checked_mul(ENTRY_SIZE)?)?;
    let entries = bytes.chunks_exact(ENTRY_SIZE);
    Some(entries.map(|entry| (u32_at(entry, 0), u32_at(entry, 4))).collect())
}

fn take_volume(rest: &mut &[u8]) -> Option<VolumeMap> {
    let head = take(rest, VOLUME_SIZE)?;
    let table = take(rest, TABLE_SIZE)?;
    let len = usize::try_from(u32_at(table, 4)).ok()?;
    let pebs = take(rest, len.checked_mul(4)?)?.chunks_exact(4).map(|peb| u32_at(peb, 0));
    let is_valid = u32_at(head, 0) == VOLUME_MAGIC && u32_at(table, 0) == TABLE_MAGIC;
    is_valid.then(|| VolumeMap {
        id: u32_at(head, 4),
        data_pad: u32_at(head, 12),
        last_size: u32_at(head, 20),
        // The kernel reads any negative number as unmapped.
        pebs: pebs.map(|peb| (peb >> 31 == 0).then_some(peb)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let pool = |pebs: &[u32]| Pool { size_max: 8, pebs: pebs.iter().copied().collect() };
        let pebs = vec![Some(9), None, Some(11)];
        Snapshot {
            pools: [pool(&[3, 4, 5]), pool(&[6])],
            free: vec![(7, 1), (8, 2)],
            used: vec![(9, 3), (11, 0)],
            scrub: vec![(10, 4)],
            erase: vec![(12, 5)],
            bad_count: 1,
            volumes: vec![VolumeMap { id: 0, data_pad: 0, last_size: 129_024, pebs }],
        }
    }

    /// The offsets are those of the kernel's structures, and each is a place in the layout above.
    #[test]
    fn the_layout_is_the_kernels() {
        let superblock = Superblock { blocks: vec![(2, 17)] };
        let bytes = snapshot().emit(&superblock, 129_024).unwrap();
        let fields = [
            (0, 0x7B11_D69F),
            (12, 1),
            (16, 2),
            (144, 17),
            (312, 0xD4B8_2EF7),
            (316, 2),
            (328, 1),
            (336, 1),
            (344, 0x67AF_4D08),
            (348, 3 << 16 | 8),
            (1392, 0x67AF_4D08),
            (2440, 7),
            (2488, 0xFA37_0ED1),
            (2496, 3 << 24),
            (2504, 3),
            (2520, 0xF0C0_40A8),
            (2524, 3),
            (2532, u32::MAX),
        ];
        for (at, value) in fields {
            assert_eq!(u32_at(&bytes, at), value, "at {at}");
        }
        assert_eq!(
            (bytes.len(), block_count(1024, 129_024), block_count(48, 2048)),
            (129_024, 1, 4)
        );
        let start = bytes[..SUPERBLOCK_SIZE].try_into().unwrap();
        assert_eq!(Superblock::parse(start), Some(superblock));
        assert_eq!(Snapshot::parse(bytes), Some(snapshot()));
    }

    #[test]
    fn damage_is_found_and_nothing_is_cut_off() {
        let superblock = Superblock { blocks: vec![(2, 17)] };
        let bytes = snapshot().emit(&superblock, 4096).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert_eq!(Snapshot::parse(damaged), None, "byte {at}");
        }
        assert_eq!(snapshot().emit(&superblock, 2048), None);
    }

    /// A parser must not read beyond the bytes, whatever the counts claim.
    #[test]
    fn counts_beyond_the_bytes_are_refused() {
        let superblock = Superblock { blocks: vec![(2, 17)] };
        let bytes = snapshot().emit(&superblock, 4096).unwrap();
        for at in [316, 320, 324, 332, 336, 348, 2524] {
            let mut lying = bytes.clone();
            put_u32(&mut lying, at, u32::MAX);
            put_u32(&mut lying, CRC_AT, 0);
            let crc = crc32(&lying);
            put_u32(&mut lying, CRC_AT, crc);
            assert_eq!(Snapshot::parse(lying), None, "number at {at}");
        }
    }
}
