//! Making a file system on an empty volume: it has a root directory, and an index that knows only
//! this.

use super::ROOT;
use super::compress::number;
use super::fault::Fault;
use super::format::{
    CsNode, FLAG_NO_ORPHANS, Group, INODE_SIZE, IndexNode, InodeNode, MASTER_SIZE, MasterNode,
    Superblock, aligned, pad_bytes,
};
use super::geometry::{Geometry, LOG_LNUM, MASTER_LNUM, new_superblock};
use super::inode::{FLAG_COMPRESS, MODE_DIRECTORY};
use super::key::Key;
use super::lprops::Sums;
use super::lpt::{Lprops, Lpt};
use super::options::{MountError, Options};
use super::tnc::Place;
use crate::ubi::Ubi;

/// Inode numbers below this one are reserved by the kernel.
const INO_FIRST: u64 = 64;

/// Writes the parts of a new file system and numbers them in this order.
struct Maker<'a> {
    ubi: &'a mut Ubi,
    geometry: Geometry,
    sequence: u64,
}

pub(super) fn create(ubi: &mut Ubi, options: &Options) -> Result<(), MountError> {
    let shape = (ubi.min_io_size(), ubi.leb_size(), ubi.leb_count());
    let too_small = MountError::TooSmall { lebs: ubi.leb_count() };
    let superblock = new_superblock(shape, options.maker, options.compressor).ok_or(too_small)?;
    let geometry = Geometry::of(&superblock, shape.0, shape.1, shape.2).ok_or(too_small)?;
    let mut maker = Maker { ubi, geometry, sequence: 0 };
    maker.write_all(&superblock, options)?;
    Ok(())
}

impl Maker<'_> {
    fn write_all(&mut self, superblock: &Superblock, options: &Options) -> Result<(), Fault> {
        let main = self.geometry.main_first;
        let key = Key::inode(ROOT);
        let inode = self.root_inode(key, options);
        let spot = Place { lnum: main + 1, offset: 0, len: INODE_SIZE };
        let sequence = self.next();
        let index = IndexNode { level: 0, branches: vec![(key, spot)] }.emit(sequence);
        let root_len = u32::try_from(index.len()).expect("one branch");
        let lprops = self.lprops(root_len);
        let areas = (self.geometry.lpt_first, main);
        let mut lpt = Lpt::new(self.geometry.lpt.clone(), areas, &lprops);
        lpt.commit(self.geometry.page_size, self.ubi)?;
        let mut master = self.master(&lprops, root_len);
        lpt.describe(&mut master);
        self.write(main, &index)?;
        self.write(main + 1, &inode)?;
        let sequence = self.next();
        self.write(LOG_LNUM, &CsNode { commit: 0 }.emit(sequence))?;
        let sequence = self.next();
        self.write(0, &superblock.emit(sequence))?;
        // The master nodes come last. A volume without them counts as empty.
        for lnum in [MASTER_LNUM, MASTER_LNUM + 1] {
            let sequence = self.next();
            let mut node = master.emit(sequence);
            node.resize(MASTER_SIZE as usize, 0);
            self.write(lnum, &node)?;
        }
        Ok(())
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn root_inode(&mut self, key: Key, options: &Options) -> Vec<u8> {
        let sequence = self.next();
        let node = InodeNode {
            key,
            creation: sequence,
            size: u64::from(INODE_SIZE),
            mtime_ns: 0,
            links: 2,
            uid: 0,
            gid: 0,
            mode: MODE_DIRECTORY,
            flags: FLAG_COMPRESS,
            compression: number(options.compressor),
            inline: Vec::new(),
        };
        node.emit(sequence, Group::Alone)
    }

    /// Properties of all main LEBs: the first holds the index, the second the root inode, the
    /// others nothing.
    fn lprops(&self, root_len: u32) -> Vec<Lprops> {
        let leb_size = self.geometry.leb_size;
        let empty = Lprops { free: leb_size, ..Lprops::default() };
        let mut lprops = vec![empty; self.geometry.main_lebs as usize];
        for (place, len) in [(0, aligned(root_len)), (1, aligned(INODE_SIZE))] {
            let written = self.geometry.pages(len);
            lprops[place].free = leb_size - written;
            lprops[place].dirty = written - len;
        }
        lprops[0].index = true;
        lprops
    }

    fn master(&self, lprops: &[Lprops], root_len: u32) -> MasterNode {
        let geometry = &self.geometry;
        let main = geometry.main_first;
        let sum = |part: fn(&Lprops) -> u32| lprops.iter().map(|it| u64::from(part(it))).sum();
        let data = lprops.iter().filter(|it| !it.index);
        let dark = data.map(|it| u64::from(geometry.dark_part(it.gain()))).sum();
        let mut master = MasterNode {
            ino_max: INO_FIRST,
            flags: FLAG_NO_ORPHANS,
            log_lnum: LOG_LNUM,
            root: Place { lnum: main, offset: 0, len: root_len },
            gc_lnum: main + 2,
            index_head: (main, geometry.pages(aligned(root_len))),
            index_size: u64::from(aligned(root_len)),
            lpt_scan: main,
            leb_count: geometry.leb_count,
            ..MasterNode::default()
        };
        let sums = Sums {
            free: sum(|it| it.free),
            dirty: sum(|it| it.dirty),
            used: u64::from(aligned(INODE_SIZE)),
            dead: 0,
            dark,
            empty_lebs: geometry.main_lebs - 2,
            index_lebs: 1,
        };
        sums.describe(&mut master);
        master
    }

    fn write(&mut self, lnum: u32, node: &[u8]) -> Result<(), Fault> {
        let mut bytes = node.to_vec();
        bytes.resize(node.len().next_multiple_of(8), 0);
        let used = u32::try_from(bytes.len()).expect("a node");
        let gap = self.geometry.pages(used) - used;
        let sequence = self.next();
        bytes.extend(pad_bytes(gap, sequence));
        Ok(self.ubi.write(lnum, 0, &bytes)?)
    }
}
