//! Format and mount: what every block holds is found out by reading it.
//!
//! Cost of a mount: one OOB read and one page read per empty block, all pages of every other block;
//! with a summary only the pages it stands on. Then the data checksums, put off to the collector.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::{Prng, Recorder};

use super::blocks::{Blocks, List, Share};
use super::erase::CLEANMARKER;
use super::format::{
    Dirent, DirentType, HEADER_SIZE, InodeNode, NodeType, SUMMARY_MARKER_SIZE, SummaryEntry,
    padded, parse_header, parse_summary, summary_marker,
};
use super::inode::InodeCache;
use super::nodes::{NodeId, NodeRef, NodeState, NodeTable};
use super::reserve::Limits;
use super::summary::Collector;
use super::wbuf::WriteBuffer;
use super::{Jffs2, MountError, Options, ROOT, background, medium};
use crate::cpu::{Cpu, Work};
use crate::filesystem::FsError;
use crate::mtd::{MtdError, Partition, ReadQuality};

/// Good blocks that JFFS2 needs at the least.
const BLOCKS_MIN: u32 = 5;
/// Bytes read first of each block, to see whether it is empty.
const EMPTY_SCAN_SIZE: u32 = 256;

/// Names found on flash, by directory and name: the newest dirent of each.
type Names = BTreeMap<(u32, Vec<u8>), Name>;

struct Name {
    version: u32,
    ino: Option<u32>,
    kind: DirentType,
    node: NodeId,
}

/// What a block turned out to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// Erased, and marked so.
    Empty,
    /// Nothing that counts; to be erased.
    Nothing,
    /// Nodes.
    Nodes,
}

impl From<FsError> for MountError {
    fn from(error: FsError) -> Self {
        match error {
            FsError::PowerLost => Self::PowerLost,
            _ => Self::Io,
        }
    }
}

impl From<MtdError> for MountError {
    fn from(error: MtdError) -> Self {
        medium(error).into()
    }
}

impl Jffs2 {
    /// Erase the partition and mark its blocks, as `flash_erase -j` does: one erase and one OOB
    /// program per good block.
    ///
    /// # Errors
    /// Power loss. Blocks that fail are marked bad.
    pub fn format(mtd: &Partition) -> Result<(), MountError> {
        for block in (0..mtd.block_count()).filter(|&block| !mtd.is_bad(block)) {
            let start = block * mtd.geometry().block_size();
            let prepared = mtd.erase(block).and_then(|()| mtd.write_oob(start, &CLEANMARKER));
            match prepared {
                Ok(()) => {}
                Err(MtdError::PowerLost) => return Err(MountError::PowerLost),
                Err(MtdError::EraseFailed(_) | MtdError::ProgramFailed(_)) => {
                    mtd.mark_bad(block)?
                }
            }
        }
        Ok(())
    }

    /// Mount what is on the partition. Never formats: an erased partition is an empty file system.
    ///
    /// # Errors
    /// Too few good blocks, content that is not JFFS2, or the device's failures.
    pub fn mount(
        mtd: Partition,
        options: Options,
        cpu: Cpu,
        recorder: Recorder,
    ) -> Result<Self, MountError> {
        let geometry = mtd.geometry();
        let good = (0..mtd.block_count()).filter(|&block| !mtd.is_bad(block)).count();
        let good = u32::try_from(good).expect("at most all blocks");
        if good < BLOCKS_MIN {
            return Err(MountError::TooSmall { blocks: good });
        }
        let scope = recorder.scope("mount");
        let mut fs = Self {
            limits: Limits::of(mtd.block_count(), geometry.block_size()),
            blocks: Blocks::new(mtd.block_count(), geometry.block_size()),
            nodes: NodeTable::default(),
            wbuf: WriteBuffer::new(geometry.page_size),
            summary: Collector::idle(),
            inodes: BTreeMap::from([(ROOT, InodeCache { links: 1, ..InodeCache::default() })]),
            ino_max: ROOT,
            background: background::Tasks::default(),
            unchecked_from: 0,
            prng: Prng::new(options.seed),
            recorder: recorder.clone(),
            mtd,
            options,
            cpu,
        };
        let names = fs.scan()?;
        fs.build(&names);
        fs.wake_collector();
        drop(scope);
        Ok(fs)
    }

    fn scan(&mut self) -> Result<Names, MountError> {
        let mut names = Names::new();
        // Evidence that this is JFFS2, and content that is something else.
        let (mut ours, mut foreign) = (false, false);
        for block in 0..self.blocks.count() {
            if self.mtd.is_bad(block) {
                self.blocks.file(block, List::Bad);
                continue;
            }
            let content = self.scan_block(block, &mut names)?;
            ours |= content != Content::Nothing;
            foreign |= content == Content::Nothing && !self.is_erased(block)?;
            self.file_scanned(block, content);
        }
        if foreign && !ours {
            return Err(MountError::NoFileSystem);
        }
        self.align_next_block();
        Ok(names)
    }

    fn scan_block(&mut self, block: u32, names: &mut Names) -> Result<Content, MountError> {
        let start = self.blocks.start(block);
        let mut marker = [0; CLEANMARKER.len()];
        self.mtd.read_oob(start, &mut marker)?;
        let mut head = [0; EMPTY_SCAN_SIZE as usize];
        self.mtd.read(start, &mut head)?;
        if head.iter().all(|&byte| byte == 0xFF) {
            let empty = marker == CLEANMARKER;
            return Ok(if empty { Content::Empty } else { Content::Nothing });
        }
        if let Some(entries) = self.read_summary(block)? {
            self.adopt_summary(block, entries, names)?;
        } else {
            self.scan_nodes(block, names)?;
        }
        let dead = self.blocks.block(block).is_dead();
        Ok(if dead { Content::Nothing } else { Content::Nodes })
    }

    /// The block's summary, if it ends in a valid one.
    fn read_summary(&self, block: u32) -> Result<Option<Vec<SummaryEntry>>, MountError> {
        let size = self.blocks.block_size;
        let start = self.blocks.start(block);
        let mut marker = [0; SUMMARY_MARKER_SIZE as usize];
        self.mtd.read(start + size - SUMMARY_MARKER_SIZE, &mut marker)?;
        let Some(at) = summary_marker(&marker).filter(|&at| at < size - SUMMARY_MARKER_SIZE) else {
            return Ok(None);
        };
        let mut bytes = vec![0; (size - at) as usize];
        self.mtd.read(start + at, &mut bytes)?;
        Ok(parse_summary(&bytes))
    }

    /// Take a block's nodes from its summary; what it does not list is dead.
    fn adopt_summary(
        &mut self,
        block: u32,
        entries: Vec<SummaryEntry>,
        names: &mut Names,
    ) -> Result<(), MountError> {
        let start = self.blocks.start(block);
        let mut at = 0;
        let size = self.blocks.block_size;
        for entry in entries {
            let (offset, len) = entry.place();
            let sane = offset >= at && offset.checked_add(len).is_some_and(|end| end <= size);
            if !sane || len < HEADER_SIZE {
                break;
            }
            self.book_gap(start + at, offset - at);
            match entry {
                SummaryEntry::Inode { ino, .. } => self.adopt_inode(start + offset, len, ino),
                SummaryEntry::Dirent { parent, version, ino, kind, name, .. } => {
                    let dirent = Dirent { parent, version, ino, mctime: 0, kind, name };
                    self.adopt_dirent(start + offset, len, dirent, names);
                }
            }
            at = offset + padded(len);
        }
        self.book_gap(start + at, size - at);
        Ok(())
    }

    /// Read all of a block and take its nodes.
    fn scan_nodes(&mut self, block: u32, names: &mut Names) -> Result<(), MountError> {
        let size = self.blocks.block_size;
        let start = self.blocks.start(block);
        let mut bytes = vec![0; size as usize];
        self.mtd.read(start, &mut bytes)?;
        self.cpu.charge(Work::Checksum(bytes.len()));
        let mut at = 0;
        let mut dead_from = 0;
        let end = written_end(&bytes);
        while at < end {
            let rest = &bytes[at as usize..];
            let Some((adopted, len)) = self.adopt(start + at, rest)? else {
                at += 4;
                continue;
            };
            if let Adopted::Nothing = adopted {
                // Valid, but nothing to keep: cleanmarkers, padding, summaries.
                at += len;
                continue;
            }
            self.book_gap(start + dead_from, at - dead_from);
            match adopted {
                Adopted::Inode(ino) => self.adopt_inode(start + at, len, ino),
                Adopted::Dirent(dirent) => self.adopt_dirent(start + at, len, dirent, names),
                Adopted::Nothing => unreachable!("passed over above"),
            }
            at += padded(len);
            dead_from = at;
        }
        self.book_gap(start + dead_from, end.saturating_sub(dead_from));
        Ok(())
    }

    /// What the node at `offset` is, if `bytes` begins with one, and its length.
    fn adopt(&self, offset: u32, bytes: &[u8]) -> Result<Option<(Adopted, u32)>, MountError> {
        let header = parse_header(bytes);
        let Some(header) = header.filter(|it| padded_fits(it.total_len, bytes.len())) else {
            return Ok(None);
        };
        self.cpu.charge(Work::Node);
        let len = header.total_len;
        let adopted = match header.node_type {
            NodeType::Inode => InodeNode::parse(bytes, len).map(|node| Adopted::Inode(node.ino)),
            NodeType::Dirent => Dirent::parse(bytes, len).map(Adopted::Dirent),
            NodeType::Cleanmarker | NodeType::Padding | NodeType::Summary => Some(Adopted::Nothing),
            NodeType::Other { compatible: true } => Some(Adopted::Nothing),
            NodeType::Other { compatible: false } => {
                return Err(MountError::Incompatible { offset });
            }
        };
        Ok(adopted.filter(Adopted::is_sane).map(|adopted| (adopted, padded(len))))
    }

    fn adopt_inode(&mut self, offset: u32, len: u32, ino: u32) {
        self.ino_max = self.ino_max.max(ino);
        self.link_scanned(offset, len, NodeState::Unchecked, ino);
    }

    /// Keep the newest dirent of each name.
    fn adopt_dirent(&mut self, offset: u32, len: u32, dirent: Dirent, names: &mut Names) {
        self.ino_max = self.ino_max.max(dirent.ino).max(dirent.parent);
        let node = self.link_scanned(offset, len, NodeState::Pristine, dirent.parent);
        let ino = (dirent.ino != 0).then_some(dirent.ino);
        let name = Name { version: dirent.version, ino, kind: dirent.kind, node };
        let key = (dirent.parent, dirent.name);
        let known = names.get(&key).map(|known| (known.version, known.node));
        let loser = match known {
            Some((version, _)) if version > name.version => Some(name.node),
            _ => names.insert(key, name).map(|older| older.node),
        };
        if let Some(loser) = loser {
            self.book_scanned_dead(loser);
        }
    }

    fn link_scanned(&mut self, offset: u32, len: u32, state: NodeState, ino: u32) -> NodeId {
        let len = padded(len);
        let block = self.blocks.of(offset);
        let share = if state == NodeState::Unchecked { Share::Unchecked } else { Share::Used };
        let id = self.nodes.insert(NodeRef { offset, len, state, ino: Some(ino) });
        self.blocks.block_mut(block).nodes.push(id);
        self.blocks.shift(block, Share::Free, share, len);
        self.inodes.entry(ino).or_default().nodes.push(id);
        id
    }

    /// Book bytes between nodes as dead.
    fn book_gap(&mut self, offset: u32, len: u32) {
        if len > 0 {
            self.blocks.shift(self.blocks.of(offset), Share::Free, Share::Dirty, len);
        }
    }

    /// Book a node as dead before the blocks are filed: shares alone change.
    fn book_scanned_dead(&mut self, id: NodeId) {
        let node = self.nodes.node_mut(id);
        let state = std::mem::replace(&mut node.state, NodeState::Obsolete);
        let (block, len) = (self.blocks.of(node.offset), node.len);
        let share = match state {
            NodeState::Unchecked => Share::Unchecked,
            NodeState::Pristine | NodeState::Normal => Share::Used,
            NodeState::Obsolete => return,
        };
        self.blocks.shift(block, share, Share::Dirty, len);
    }

    /// Whether all of a block reads erased.
    fn is_erased(&self, block: u32) -> Result<bool, MountError> {
        let mut page = vec![0; self.mtd.geometry().page_size as usize];
        let quality = self.mtd.read(self.blocks.start(block), &mut page)?;
        let damaged = matches!(quality, ReadQuality::Damaged(_));
        Ok(!damaged && page.iter().all(|&byte| byte == 0xFF))
    }

    /// File a block by its content; the one with most free space behind nodes is filled further.
    fn file_scanned(&mut self, block: u32, content: Content) {
        match content {
            Content::Empty => self.blocks.file(block, List::Free),
            Content::Nothing => {
                self.blocks.shift_all(block, Share::Free, Share::Dirty);
                self.blocks.file(block, List::ErasePending);
            }
            Content::Nodes => self.offer_next_block(block),
        }
    }

    fn offer_next_block(&mut self, block: u32) {
        let free = |fs: &Self, block| fs.blocks.block(block).share(Share::Free);
        let enough = free(self, block) > self.mtd.geometry().page_size;
        let best = self.blocks.next_block.map(|other| free(self, other));
        if enough && best.is_none_or(|best| best < free(self, block)) {
            if let Some(other) = self.blocks.next_block.replace(block) {
                self.file_full(other);
            }
        } else {
            self.file_full(block);
        }
    }

    /// File a block that is written no further.
    fn file_full(&mut self, block: u32) {
        self.blocks.shift_all(block, Share::Free, Share::Wasted);
        self.blocks.file_by_dirt(block);
    }

    /// Writing goes on at a page that was never programmed.
    fn align_next_block(&mut self) {
        let Some(block) = self.blocks.next_block else { return };
        let free = self.blocks.block(block).share(Share::Free);
        let skip = free % self.mtd.geometry().page_size;
        self.blocks.shift(block, Share::Free, Share::Wasted, skip);
        // Dead space of the block being filled cannot be collected now.
        self.blocks.shift_all(block, Share::Dirty, Share::Wasted);
    }

    /// Count links; what no directory names is dead, and so is a name that stands for nothing.
    fn build(&mut self, names: &Names) {
        let links = reachable(names);
        let dangling = |name: &&Name| name.ino.is_some_and(|ino| !self.inodes.contains_key(&ino));
        let dangling: Vec<NodeId> = names.values().filter(dangling).map(|name| name.node).collect();
        self.mark_all_obsolete(dangling);
        let inos: Vec<u32> = self.inodes.keys().copied().collect();
        for ino in inos {
            let count = links.get(&ino).copied().unwrap_or(0);
            if count > 0 {
                self.cache_of(ino).links = count;
                continue;
            }
            for id in self.inodes[&ino].nodes.clone() {
                self.mark_obsolete(id);
            }
            if self.inodes[&ino].is_gone() {
                self.inodes.remove(&ino);
            }
        }
    }
}

/// Where the written part of a block ends: behind its last byte that is not erased.
fn written_end(bytes: &[u8]) -> u32 {
    let written = bytes.iter().rposition(|&byte| byte != 0xFF).map_or(0, |at| at + 1);
    padded(u32::try_from(written).expect("a block is far below 4 GiB"))
}

fn padded_fits(len: u32, available: usize) -> bool {
    len.checked_next_multiple_of(4).is_some_and(|len| len as usize <= available)
}

/// Count the names of each inode that can be reached from the root.
fn reachable(names: &Names) -> BTreeMap<u32, u32> {
    let mut links = BTreeMap::from([(ROOT, 1)]);
    let mut seen = BTreeSet::from([ROOT]);
    let mut waiting = vec![ROOT];
    while let Some(dir) = waiting.pop() {
        let inside = names.range((dir, Vec::new())..).take_while(|((parent, _), _)| *parent == dir);
        for (_, name) in inside {
            let Some(ino) = name.ino else { continue };
            *links.entry(ino).or_insert(0) += 1;
            if name.kind == DirentType::DIRECTORY && seen.insert(ino) {
                waiting.push(ino);
            }
        }
    }
    links
}

/// A node that the scan recognised.
enum Adopted {
    Inode(u32),
    Dirent(Dirent),
    Nothing,
}

impl Adopted {
    /// Whether the inode numbers are ones that exist.
    const fn is_sane(&self) -> bool {
        match self {
            Self::Inode(ino) => *ino != 0,
            Self::Dirent(dirent) => dirent.parent != 0,
            Self::Nothing => true,
        }
    }
}

impl SummaryEntry {
    const fn place(&self) -> (u32, u32) {
        match *self {
            Self::Inode { offset, total_len, .. } | Self::Dirent { offset, total_len, .. } => {
                (offset, total_len)
            }
        }
    }
}
