//! The master node, which says where everything else is. Each commit writes it to two LEBs.
//!
//! ```text
//!  24 highest inode u64 | 32 commit number u64 | 40 flags | 44 log LEB
//!  48 root LEB, offset, length | 60 GC LEB | 64 index head LEB, offset
//!  72 index size u64 | 80 free u64 | 88 dirty u64 | 96 used u64
//! 104 dead u64 | 112 dark u64 | 120 LPT root LEB, offset | 128 LPT head LEB, offset
//! 136 LPT table LEB, offset | 144 LPT save LEB, offset | 152 LPT scan LEB | 156 empty LEBs
//! 160 index LEBs | 164 LEBs | 512 end
//! ```

use super::{Group, NodeType, check_node, put_u32, put_u64, seal, u32_at, u64_at};
use crate::ubifs::tnc::Place;

pub(in super::super) const MASTER_SIZE: u32 = 512;
/// Flag: the file system is mounted, or was not unmounted properly.
pub(in super::super) const FLAG_DIRTY: u32 = 1;
/// Flag: no inode was an orphan at the last commit.
pub(in super::super) const FLAG_NO_ORPHANS: u32 = 2;

/// A LEB, and an offset in it in bytes.
pub(in super::super) type Spot = (u32, u32);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct MasterNode {
    pub ino_max: u64,
    pub commit: u64,
    pub flags: u32,
    pub log_lnum: u32,
    pub root: Place,
    pub gc_lnum: u32,
    pub index_head: Spot,
    pub index_size: u64,
    pub free: u64,
    pub dirty: u64,
    pub used: u64,
    pub dead: u64,
    pub dark: u64,
    pub lpt_root: Spot,
    pub lpt_head: Spot,
    pub lpt_table: Spot,
    pub lpt_save: Spot,
    pub lpt_scan: u32,
    pub empty_lebs: u32,
    pub index_lebs: u32,
    pub leb_count: u32,
}

impl MasterNode {
    pub(in super::super) fn emit(&self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; MASTER_SIZE as usize];
        let wide = [self.index_size, self.free, self.dirty, self.used, self.dead, self.dark];
        put_u64(&mut node, 24, self.ino_max);
        put_u64(&mut node, 32, self.commit);
        for (place, value) in wide.into_iter().enumerate() {
            put_u64(&mut node, 72 + 8 * place, value);
        }
        let fields = [
            (40, self.flags),
            (44, self.log_lnum),
            (48, self.root.lnum),
            (52, self.root.offset),
            (56, self.root.len),
            (60, self.gc_lnum),
            (152, self.lpt_scan),
            (156, self.empty_lebs),
            (160, self.index_lebs),
            (164, self.leb_count),
        ];
        let spots = [
            (64, self.index_head),
            (120, self.lpt_root),
            (128, self.lpt_head),
            (136, self.lpt_table),
            (144, self.lpt_save),
        ];
        for (at, value) in fields {
            put_u32(&mut node, at, value);
        }
        for (at, (lnum, offset)) in spots {
            put_u32(&mut node, at, lnum);
            put_u32(&mut node, at + 4, offset);
        }
        seal(&mut node, NodeType::Master, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Master)?;
        if node.len() < MASTER_SIZE as usize {
            return None;
        }
        let (number, wide) = (|at| u32_at(node, at), |at| u64_at(node, at));
        let spot = |at| (u32_at(node, at), u32_at(node, at + 4));
        Some(Self {
            ino_max: wide(24),
            commit: wide(32),
            flags: number(40),
            log_lnum: number(44),
            root: Place { lnum: number(48), offset: number(52), len: number(56) },
            gc_lnum: number(60),
            index_head: spot(64),
            index_size: wide(72),
            free: wide(80),
            dirty: wide(88),
            used: wide(96),
            dead: wide(104),
            dark: wide(112),
            lpt_root: spot(120),
            lpt_head: spot(128),
            lpt_table: spot(136),
            lpt_save: spot(144),
            lpt_scan: number(152),
            empty_lebs: number(156),
            index_lebs: number(160),
            leb_count: number(164),
        })
    }
}
