//! Mounting: the blocks are read to find out what they hold.
//!
//! A mount costs one OOB read and one page read for each empty block, and a read of all pages of
//! each other block. Of a block with a summary, only the pages that hold the summary are read. The
//! collector verifies the data checksums later.
//!
//! Where the kernel goes on with the version behind the newest that it can read, this mount skips
//! those that nodes on damaged pages may have.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::{Prng, Recorder};
use flysch_nand::is_erased;

use super::blocks::{Blocks, List, Share};
use super::erase::CLEANMARKER;
use super::format::{
    DIRENT_SIZE, Dirent, INODE_SIZE, InodeNode, NodeType, SUMMARY_MARKER_SIZE, SummaryEntry,
    is_believed, padded, parse_header, parse_summary, summary_marker,
};
use super::inode::InodeCache;
use super::move_node::sound_len;
use super::names::ScannedNames;
use super::nodes::{NodeId, NodeRef, NodeState, NodeTable};
use super::prepare::check_suitable;
use super::reserve::Limits;
use super::summary::Collector;
use super::wbuf::WriteBuffer;
use super::{Jffs2, MountError, Options, ROOT, background};
use crate::cpu::{Cpu, Unit};
use crate::filesystem::FsError;
use crate::mtd::{MtdError, Partition, ReadQuality};

/// Fewest good blocks that JFFS2 needs (the kernel asks for 5).
const BLOCKS_MIN: u32 = 5;
/// Bytes of each block that are read first, to see whether it is empty.
const EMPTY_SCAN_SIZE: u32 = 256;
/// Most versions that a mount skips. So many are left above the highest that is believed.
const SKIPPED_VERSIONS_MAX: u32 = 1 << 20;
/// First two bytes of a node in the other byte order.
const BIG_ENDIAN_MAGIC: [u8; 2] = [0x19, 0x85];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The block holds nothing and is marked as erased.
    Empty,
    /// The block holds nothing that is valid, so it must be erased.
    Nothing {
        /// Whether the block carries a cleanmarker, so that it once belonged to a JFFS2.
        marked: bool,
    },
    /// The block holds valid nodes.
    Nodes {
        /// Whether the rest of the block has certainly never been programmed.
        may_grow: bool,
    },
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
        FsError::from(error).into()
    }
}

impl Jffs2 {
    /// Mount the file system on the partition. An erased partition is an empty file system; any
    /// other partition without JFFS2 is refused, as a mount never formats.
    ///
    /// # Panics
    /// Never, because blocks are counted in 32 bits.
    pub fn mount(
        mtd: Partition,
        options: Options,
        cpu: Cpu,
        recorder: &Recorder,
    ) -> Result<Self, MountError> {
        check_suitable(&mtd)?;
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
            check: None,
            loaded_to_collect: BTreeSet::new(),
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

    fn scan(&mut self) -> Result<ScannedNames, MountError> {
        let mut names = ScannedNames::default();
        // Whether a node was found, and the blocks that may belong to something else than JFFS2.
        let (mut ours, mut doubtful) = (false, Vec::new());
        for block in 0..self.blocks.count() {
            if self.mtd.is_bad(block) {
                self.blocks.file(block, List::Bad);
                continue;
            }
            let content = self.scan_block(block, &mut names)?;
            match content {
                Content::Empty | Content::Nothing { marked: true } => {}
                Content::Nothing { marked: false } => doubtful.push(block),
                Content::Nodes { .. } => ours = true,
            }
            self.file_scanned(block, content);
        }
        if !ours {
            self.refuse_foreign(&doubtful)?;
        }
        self.align_next_block();
        self.skip_versions(names.damaged_pages);
        self.decide_doubtful(&mut names);
        Ok(names)
    }

    /// Refuse a partition without a node if one of these blocks is not erased. Its content belongs
    /// to something else and must not be erased.
    fn refuse_foreign(&self, blocks: &[u32]) -> Result<(), MountError> {
        for &block in blocks {
            let (bytes, _) = self.read_block(block)?;
            if bytes.starts_with(&BIG_ENDIAN_MAGIC) {
                return Err(MountError::BigEndian);
            }
            if written_end(&bytes) > 0 {
                return Err(MountError::NoFileSystem);
            }
        }
        Ok(())
    }

    fn scan_block(&mut self, block: u32, names: &mut ScannedNames) -> Result<Content, MountError> {
        let start = self.blocks.start(block);
        let mut oob = [0; CLEANMARKER.len()];
        self.mtd.read_oob(start, &mut oob)?;
        let marked = oob == CLEANMARKER;
        let mut head = [0; EMPTY_SCAN_SIZE as usize];
        self.mtd.read(start, &mut head)?;
        if is_erased(&head) {
            return Ok(if marked { Content::Empty } else { Content::Nothing { marked } });
        }
        let may_grow = if let Some(entries) = self.read_summary(block)? {
            self.adopt_summary(block, entries, names);
            false
        } else {
            self.scan_nodes(block, names)?
        };
        let dead = self.blocks.block(block).is_dead();
        Ok(if dead { Content::Nothing { marked } } else { Content::Nodes { may_grow } })
    }

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

    /// Take a block's nodes from its summary. Bytes that it does not list are dead.
    fn adopt_summary(&mut self, block: u32, entries: Vec<SummaryEntry>, names: &mut ScannedNames) {
        let start = self.blocks.start(block);
        let mut at = 0;
        let size = self.blocks.block_size;
        for entry in entries {
            let (offset, len) = entry.place();
            let inside = offset.checked_add(len).is_some_and(|end| end <= size);
            if !inside || offset < at || !offset.is_multiple_of(4) || !entry.is_sane() {
                break;
            }
            self.book_gap(start + at, offset - at);
            match entry {
                SummaryEntry::Inode { ino, version, .. } => {
                    self.adopt_inode(start + offset, len, ino, version);
                }
                SummaryEntry::Dirent { parent, version, ino, kind, name, .. } => {
                    let dirent = Dirent { parent, version, ino, mctime: 0, kind, name };
                    self.adopt_dirent(start + offset, len, dirent, (names, false));
                }
            }
            at = offset + padded(len);
        }
        self.book_gap(start + at, size - at);
    }

    /// All bytes of a block, and its pages that ECC cannot correct even when they are read again.
    fn read_block(&self, block: u32) -> Result<(Vec<u8>, BTreeSet<u32>), MountError> {
        let start = self.blocks.start(block);
        let mut bytes = vec![0; self.blocks.block_size as usize];
        let mut damaged = BTreeSet::new();
        if let ReadQuality::Damaged(_) = self.mtd.read(start, &mut bytes)? {
            let page_size = self.mtd.geometry().page_size;
            for (page, part) in (0..).zip(bytes.chunks_mut(page_size as usize)) {
                if let ReadQuality::Damaged(_) = self.mtd.read(start + page * page_size, part)? {
                    damaged.insert(page);
                }
            }
        }
        Ok((bytes, damaged))
    }

    /// Read all of a block and take its nodes. Returns whether the block may be filled further.
    ///
    /// It may not if a page could not be corrected, if a page between nodes is erased, or if
    /// garbage reaches into a further page. In all these cases an erase was interrupted, or the
    /// rest reads as erased but is not.
    ///
    /// Nodes on a damaged page are accepted with care:
    /// * A deletion dirent is not accepted. It may be the second half of a rename whose first half
    ///   was torn; to accept it would lose the file.
    /// * Data is checked at once. An inode without a good node must not exist, since its name could
    ///   be neither opened nor removed.
    fn scan_nodes(&mut self, block: u32, names: &mut ScannedNames) -> Result<bool, MountError> {
        let start = self.blocks.start(block);
        let page_size = self.mtd.geometry().page_size;
        let (bytes, damaged) = self.read_block(block)?;
        names.damaged_pages += u32::try_from(damaged.len()).expect("pages of a block");
        self.cpu.charge(Unit::ChecksumByte, bytes.len() as u64);
        let mut at = 0;
        let (mut dead_from, mut valid_to) = (0, 0);
        let mut may_grow = damaged.is_empty();
        let end = written_end(&bytes);
        while at < end {
            let rest = &bytes[at as usize..];
            let Some((adopted, len)) = self.adopt(start + at, rest)? else {
                at += 4;
                continue;
            };
            may_grow &= !has_blank_page(&bytes, valid_to, at, page_size);
            let mut pages = at / page_size..=(at + len - 1) / page_size;
            let is_damaged = pages.any(|page| damaged.contains(&page));
            let doubtful = is_damaged && (adopted.is_deletion() || sound_len(rest).is_none());
            match &adopted {
                Adopted::Dirent(dirent) => self.note_version(dirent.parent, dirent.version),
                Adopted::Inode { ino, version } => self.note_version(*ino, *version),
                Adopted::Nothing => (),
            }
            valid_to = at + len;
            if doubtful || matches!(adopted, Adopted::Nothing) {
                // Cleanmarkers, padding and summaries hold nothing to keep.
                at += len;
                continue;
            }
            self.book_gap(start + dead_from, at - dead_from);
            match adopted {
                Adopted::Inode { ino, version } => {
                    self.adopt_inode(start + at, len, ino, version);
                }
                Adopted::Dirent(dirent) => {
                    self.adopt_dirent(start + at, len, dirent, (names, is_damaged));
                }
                Adopted::Nothing => unreachable!("passed over above"),
            }
            at += len;
            dead_from = at;
        }
        // A node may claim more bytes than were written: the cut tore it off. The kernel counts all
        // of them as dead, too, and the next scan passes over what is written there.
        self.book_gap(start + dead_from, at.saturating_sub(dead_from));
        Ok(may_grow && at <= (valid_to / page_size + 1) * page_size)
    }

    /// The node that `bytes` begins with, if there is one, and its length with padding. `offset` is
    /// its place in the partition.
    fn adopt(&self, offset: u32, bytes: &[u8]) -> Result<Option<(Adopted, u32)>, MountError> {
        let header = parse_header(bytes);
        let Some(header) = header.filter(|it| padded_fits(it.total_len, bytes.len())) else {
            return Ok(None);
        };
        self.cpu.charge(Unit::Node, 1);
        let len = header.total_len;
        let adopted = match header.node_type {
            NodeType::Inode => InodeNode::parse(bytes, len)
                .map(|InodeNode { ino, version, .. }| Adopted::Inode { ino, version }),
            NodeType::Dirent => Dirent::parse(bytes, len).map(Adopted::Dirent),
            NodeType::Cleanmarker
            | NodeType::Padding
            | NodeType::Summary
            | NodeType::Other { compatible: true } => Some(Adopted::Nothing),
            NodeType::Other { compatible: false } => {
                return Err(MountError::Incompatible { offset });
            }
        };
        Ok(adopted.map(|adopted| (adopted, padded(len))))
    }

    /// Note the version of a node, whether or not the node is accepted.
    pub(super) fn note_version(&mut self, ino: u32, version: u32) {
        let cache = self.inodes.entry(ino).or_default();
        cache.version_seen = cache.version_seen.max(version);
    }

    /// Give no version that a node on a damaged page may have. An inode gives each version once, so
    /// the page has at most as many of them as nodes. (The kernel goes on behind the newest node
    /// that it can read. If the page can be read at a later mount, its nodes then hide newer ones.)
    fn skip_versions(&mut self, damaged_pages: u32) {
        let nodes_per_page = self.mtd.geometry().page_size.div_ceil(DIRENT_SIZE) + 1;
        let skipped = damaged_pages.saturating_mul(nodes_per_page).min(SKIPPED_VERSIONS_MAX);
        for cache in self.inodes.values_mut() {
            cache.version_seen += skipped;
        }
    }

    fn adopt_inode(&mut self, offset: u32, len: u32, ino: u32, version: u32) {
        self.ino_max = self.ino_max.max(ino);
        self.note_version(ino, version);
        self.link_scanned(offset, len, NodeState::Unchecked, ino);
    }

    pub(super) fn link_scanned(
        &mut self,
        offset: u32,
        len: u32,
        state: NodeState,
        ino: u32,
    ) -> NodeId {
        let len = padded(len);
        let block = self.blocks.of(offset);
        let share = if state == NodeState::Unchecked { Share::Unchecked } else { Share::Used };
        let id = self.nodes.insert(NodeRef { offset, len, state, ino: Some(ino) });
        self.blocks.block_mut(block).nodes.push(id);
        self.blocks.shift(block, Share::Free, share, len);
        self.inodes.entry(ino).or_default().nodes.push(id);
        id
    }

    /// Count bytes between nodes as dead.
    fn book_gap(&mut self, offset: u32, len: u32) {
        if len > 0 {
            self.blocks.shift(self.blocks.of(offset), Share::Free, Share::Dirty, len);
        }
    }

    /// Make a node obsolete before the blocks are put onto lists: only the shares change.
    pub(super) fn book_scanned_dead(&mut self, id: NodeId) {
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

    /// Put a block onto the list that fits its content. The one with the most free space behind its
    /// nodes is filled further.
    fn file_scanned(&mut self, block: u32, content: Content) {
        match content {
            Content::Empty => self.blocks.file(block, List::Free),
            Content::Nothing { .. } => {
                self.blocks.shift_all(block, Share::Free, Share::Dirty);
                self.blocks.file(block, List::ErasePending);
            }
            Content::Nodes { may_grow: true } => self.offer_next_block(block),
            Content::Nodes { may_grow: false } => self.file_full(block),
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

    /// Put a block that is not filled further onto a list.
    fn file_full(&mut self, block: u32) {
        self.blocks.shift_all(block, Share::Free, Share::Wasted);
        self.blocks.file_by_dirt(block);
    }

    /// Move the end of the block being filled to a page that has never been programmed.
    fn align_next_block(&mut self) {
        let Some(block) = self.blocks.next_block else { return };
        let free = self.blocks.block(block).share(Share::Free);
        let skip = free % self.mtd.geometry().page_size;
        self.blocks.shift(block, Share::Free, Share::Wasted, skip);
        // Dead space in the block being filled cannot be collected.
        self.blocks.shift_all(block, Share::Dirty, Share::Wasted);
    }

    /// Count the names of each inode. The nodes of inodes that no directory names become obsolete.
    fn build(&mut self, names: &ScannedNames) {
        // Some inodes are known only from deletion dirents that were not accepted.
        self.inodes.retain(|&ino, cache| ino == ROOT || !cache.nodes.is_empty());
        let links = names.links();
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

/// Where the written part of a block ends: behind its last byte that is not 0xFF.
fn written_end(bytes: &[u8]) -> u32 {
    let written = bytes.iter().rposition(|&byte| byte != 0xFF).map_or(0, |at| at + 1);
    padded(u32::try_from(written).expect("a block is far below 4 GiB"))
}

/// Whether a page that lies wholly within `from..to` is erased.
fn has_blank_page(bytes: &[u8], from: u32, to: u32, page_size: u32) -> bool {
    let first = from.next_multiple_of(page_size).min(to);
    let mut pages = bytes[first as usize..to as usize].chunks_exact(page_size as usize);
    pages.any(is_erased)
}

fn padded_fits(len: u32, available: usize) -> bool {
    len.checked_next_multiple_of(4).is_some_and(|len| len as usize <= available)
}

/// A node that the scan has recognised.
enum Adopted {
    Inode { ino: u32, version: u32 },
    Dirent(Dirent),
    Nothing,
}

impl Adopted {
    /// Whether the node deletes a name.
    const fn is_deletion(&self) -> bool {
        matches!(self, Self::Dirent(Dirent { ino: 0, .. }))
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

    /// Whether a node of this kind can have such a length and such numbers.
    fn is_sane(&self) -> bool {
        match self {
            Self::Inode { ino, version, total_len, .. } => {
                *total_len >= INODE_SIZE
                    && *ino > 0
                    && [*ino, *version].into_iter().all(is_believed)
            }
            Self::Dirent { parent, version, ino, name, total_len, .. } => {
                let named = DIRENT_SIZE as usize + name.len() == *total_len as usize;
                named && *parent > 0 && [*parent, *version, *ino].into_iter().all(is_believed)
            }
        }
    }
}
