//! The superblock: the sizes that a file system is made with.
//!
//! ```text
//! 26 hash u8 | 27 key format u8 | 28 flags | 32 page size | 36 LEB size | 40 LEBs | 44 most LEBs
//! 48 most bud bytes u64 | 56 log LEBs | 60 LPT LEBs | 64 orphan LEBs | 68 heads | 72 fanout
//! 76 LPT save count | 80 version | 84 compressor u16 | 104 time granularity | 4096 end
//! ```

use super::{Group, NodeType, check_node, put_u16, put_u32, put_u64, seal, u16_at, u32_at, u64_at};

pub(in super::super) const SUPERBLOCK_SIZE: u32 = 4096;
/// Flag: the LPT has the form for large volumes (the kernel's big model).
pub(in super::super) const FLAG_BIG_LPT: u32 = 2;
/// Flag: pages behind the last node of a LEB may have been programmed with ones
/// (`UBIFS_FLG_SPACE_FIXUP`).
const FLAG_SPACE_FIXUP: u32 = 4;
/// Flag: a directory entry has a number besides its hash, which distinguishes names with the same
/// hash (`UBIFS_FLG_DOUBLE_HASH`). Linux sets it. Finding a name needs the hash alone.
const FLAG_DOUBLE_HASH: u32 = 8;
/// The flags that the model can mount: they are modelled, or make no difference. Encryption and
/// authentication are not among them.
pub(in super::super) const FLAGS_KNOWN: u32 = FLAG_BIG_LPT | FLAG_SPACE_FIXUP | FLAG_DOUBLE_HASH;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Superblock {
    /// The hash function of names; 0 stands for R5.
    pub hash: u8,
    pub key_format: u8,
    pub flags: u32,
    pub page_size: u32,
    pub leb_size: u32,
    pub leb_count: u32,
    pub leb_count_max: u32,
    pub bud_bytes_max: u64,
    pub log_lebs: u32,
    pub lpt_lebs: u32,
    pub orphan_lebs: u32,
    pub heads: u32,
    pub fanout: u32,
    pub save_count: u32,
    pub version: u32,
    pub compression: u16,
}

impl Superblock {
    pub(in super::super) fn emit(&self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; SUPERBLOCK_SIZE as usize];
        node[26] = self.hash;
        node[27] = self.key_format;
        put_u64(&mut node, 48, self.bud_bytes_max);
        put_u16(&mut node, 84, self.compression);
        let fields = [
            (28, self.flags),
            (32, self.page_size),
            (36, self.leb_size),
            (40, self.leb_count),
            (44, self.leb_count_max),
            (56, self.log_lebs),
            (60, self.lpt_lebs),
            (64, self.orphan_lebs),
            (68, self.heads),
            (72, self.fanout),
            (76, self.save_count),
            (80, self.version),
            (104, 1_000_000_000),
        ];
        for (at, value) in fields {
            put_u32(&mut node, at, value);
        }
        seal(&mut node, NodeType::Superblock, sequence, Group::Alone);
        node
    }

    /// The superblock in `bytes` with another number of LEBs. Fields that are not modelled are
    /// kept.
    pub(in super::super) fn resized(bytes: &[u8], leb_count: u32, sequence: u64) -> Vec<u8> {
        let mut node = bytes[..SUPERBLOCK_SIZE as usize].to_vec();
        put_u32(&mut node, 40, leb_count);
        seal(&mut node, NodeType::Superblock, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Superblock)?;
        if node.len() < SUPERBLOCK_SIZE as usize {
            return None;
        }
        let number = |at| u32_at(node, at);
        Some(Self {
            hash: node[26],
            key_format: node[27],
            flags: number(28),
            page_size: number(32),
            leb_size: number(36),
            leb_count: number(40),
            leb_count_max: number(44),
            bud_bytes_max: u64_at(node, 48),
            log_lebs: number(56),
            lpt_lebs: number(60),
            orphan_lebs: number(64),
            heads: number(68),
            fanout: number(72),
            save_count: number(76),
            version: number(80),
            compression: u16_at(node, 84),
        })
    }
}

/// The page size for which a file system was made, if `bytes` begin with its superblock.
pub fn page_size_of(bytes: &[u8]) -> Option<u32> {
    Superblock::parse(bytes).map(|superblock| superblock.page_size)
}
