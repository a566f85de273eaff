//! Mounting: superblock, master node and journal are read, and what a power cut left is repaired.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::Recorder;
use flysch_nand::is_erased;

use super::Ubifs;
use super::budget::Budget;
use super::category::{Categories, Category};
use super::collect::{Collected, NO_LEB, Purpose};
use super::create::create;
use super::fault::Fault;
use super::format::{
    CsNode, FLAG_DIRTY, MASTER_SIZE, MasterNode, SUPERBLOCK_SIZE, Superblock, parse_header,
};
use super::geometry::{Geometry, LOG_LNUM, MASTER_LNUM};
use super::inode::Inodes;
use super::log::Log;
use super::lprops::Sums;
use super::lpt::{Lprops, Lpt};
use super::options::{LEB_SIZE_MIN, MountError, Options};
use super::scan::Scan;
use super::tnc::Tnc;
use crate::cpu::Cpu;
use crate::mtd::Partition;
use crate::ubi::{AttachOptions, Ubi};

/// A volume with at most this many mapped LEBs may hold a file system whose making was cut off. A
/// new one has its superblock, masters, log, two main LEBs and the LPT.
const LEBS_MADE: usize = 40;
/// No file system lives so long that its sequence or commit numbers come near this number. A larger
/// number on flash is damage, and counting on from it would soon overflow.
const NUMBER_MAX: u64 = 1 << 63;

impl Ubifs {
    /// Make a partition ready for a first mount: it gets UBI with one volume. `erase_counts` holds
    /// the number of earlier erases of each block. `fastmap` says that UBI will write fastmaps,
    /// which need room.
    ///
    /// # Errors
    /// The partition is too small, or the device failed.
    pub fn format(
        partition: &Partition,
        recorder: &Recorder,
        erase_counts: &[u32],
        fastmap: bool,
    ) -> Result<(), MountError> {
        Ok(Ubi::format(partition, recorder, "data", erase_counts, fastmap)?)
    }

    /// Mount the file system on a partition. If the volume is empty, a file system is made first.
    ///
    /// # Errors
    /// The volume holds something else, the file system is damaged, or the device failed.
    pub fn mount(
        partition: Partition,
        options: Options,
        cpu: Cpu,
        recorder: Recorder,
    ) -> Result<Self, MountError> {
        let _scope = recorder.scope("ubifs_mount");
        let (volume, wear_threshold) = (options.volume, options.wear_threshold);
        let attach = AttachOptions { volume, wear_threshold, fastmap: options.fastmap };
        let mut ubi = Ubi::attach(partition, &recorder, attach)?;
        if ubi.leb_size() < LEB_SIZE_MIN {
            return Err(MountError::LebTooSmall { bytes: ubi.leb_size() });
        }
        if is_unmade(&mut ubi)? {
            (0..ubi.leb_count()).for_each(|lnum| ubi.unmap(lnum));
            create(&mut ubi, &options)?;
        }
        let geometry = read_superblock(&mut ubi)?;
        let found = read_masters(&mut ubi, geometry.page_size)?;
        let mut fs = Self::of(ubi, (geometry, found.node), options, cpu, recorder)?;
        fs.master_offset = found.offset;
        fs.sequence = fs.sequence.max(found.sequence);
        fs.start(found.is_equal)?;
        Ok(fs)
    }

    fn of(
        mut ubi: Ubi,
        (geometry, mut master): (Geometry, MasterNode),
        options: Options,
        cpu: Cpu,
        recorder: Recorder,
    ) -> Result<Self, MountError> {
        let areas = (geometry.lpt_first, geometry.main_first);
        let lpt = Lpt::open(geometry.lpt.clone(), areas, &master, &mut ubi)?;
        let (index_lnum, index_offset) = master.index_head;
        let sane = has_sane_sums(&master, &geometry)
            && master.commit < NUMBER_MAX
            && geometry.is_main(index_lnum)
            && index_offset <= geometry.leb_size
            && index_offset.is_multiple_of(geometry.page_size)
            && (LOG_LNUM..geometry.lpt_first).contains(&master.log_lnum)
            && (geometry.is_main(master.gc_lnum) || master.gc_lnum == NO_LEB);
        let ino_max = u32::try_from(master.ino_max).ok().filter(|_| sane);
        let sums = Sums::of(&master).grown(&geometry, master.leb_count);
        sums.describe(&mut master);
        master.leb_count = geometry.leb_count;
        Ok(Self {
            ino_max: ino_max.ok_or(MountError::Master)?,
            tnc: Tnc::new(master.root, geometry.fanout, master.index_size),
            sums,
            index_head: master.index_head,
            scan_lnum: master.lpt_scan,
            gc_lnum: master.gc_lnum,
            collected_index: Vec::new(),
            budget: Budget::default(),
            commit_number: master.commit,
            log: Log { tail: master.log_lnum, head: master.log_lnum, offset: 0 },
            ubi,
            options,
            cpu,
            recorder,
            geometry,
            lpt,
            categories: Categories::default(),
            heads: Default::default(),
            buds: BTreeMap::new(),
            bud_bytes: 0,
            master,
            master_offset: 0,
            sequence: 0,
            inodes: Inodes::default(),
            names: BTreeMap::new(),
            orphans: BTreeSet::new(),
            tasks: super::background::Tasks::default(),
            flusher: super::flusher::Flusher::default(),
            is_replaying: false,
            read_only: false,
        })
    }

    /// Replay the journal, repair what a power cut left, and write on flash that the file system is
    /// mounted.
    fn start(&mut self, masters_are_equal: bool) -> Result<(), MountError> {
        let was_mounted = self.master.flags & FLAG_DIRTY != 0 || !masters_are_equal;
        if was_mounted {
            let _scope = self.recorder.scope("ubifs_recovery");
            self.recover_masters()?;
            self.recover_head(self.index_head)?;
            self.recover_head(self.master.lpt_head)?;
        }
        self.take_index_head()?;
        self.replay(was_mounted)?;
        self.count_replayed();
        if self.sequence >= NUMBER_MAX {
            return Err(MountError::Master);
        }
        self.keep_gc_leb()?;
        if was_mounted || self.tnc.is_dirty() {
            self.delete_orphans()?;
            self.make_room_for_index()?;
            self.commit_now()?;
        } else {
            self.write_master(FLAG_DIRTY)?;
        }
        self.resize_superblock()?;
        Ok(())
    }

    /// Make sure that the commit at the end of a recovery finds an empty LEB for the index, if it
    /// needs one: garbage is collected as in `ubifs_rcvry_gc_commit`.
    fn make_room_for_index(&mut self) -> Result<(), Fault> {
        if self.fits_index_head() || self.has_index_lebs(1)? {
            return Ok(());
        }
        // The references of the collector's LEBs go to the log, whose next page may be torn.
        self.recover_head((self.log.head, self.log.offset))?;
        while !self.has_index_lebs(1)? {
            let Collected::Leb(lnum) = self.collect(Purpose::Space)? else { break };
            self.give_back(lnum)?;
        }
        Ok(())
    }

    /// Write to the superblock that the file system has grown to the size of its volume. The master
    /// node has the new size already.
    fn resize_superblock(&mut self) -> Result<(), Fault> {
        let mut bytes = vec![0; SUPERBLOCK_SIZE as usize];
        self.ubi.read(0, 0, &mut bytes)?;
        let old = Superblock::parse(&bytes).ok_or(Fault::Damaged { lnum: 0, offset: 0 })?;
        if old.leb_count == self.geometry.leb_count {
            return Ok(());
        }
        let sequence = self.next_sequence();
        let new = Superblock::resized(&bytes, self.geometry.leb_count, sequence);
        Ok(self.ubi.change(0, &new)?)
    }

    /// Replace each master node atomically and set the flag of a mounted file system. The recovery
    /// is about to change the log; if power is cut again, the next mount must look for torn pages,
    /// too.
    fn recover_masters(&mut self) -> Result<(), Fault> {
        self.master.flags |= FLAG_DIRTY;
        let sequence = self.next_sequence();
        let mut page = self.master.emit(sequence);
        page.resize(self.geometry.pages(MASTER_SIZE) as usize, 0);
        self.pad(&mut page, MASTER_SIZE);
        self.master_offset = 0;
        for lnum in [MASTER_LNUM, MASTER_LNUM + 1] {
            self.ubi.change(lnum, &page)?;
        }
        Ok(())
    }

    /// Remove what a power cut may have left behind the place where the commit or the log writes
    /// next.
    pub(super) fn recover_head(&mut self, (lnum, offset): (u32, u32)) -> Result<(), Fault> {
        if offset == 0 || !self.ubi.is_mapped(lnum) {
            self.ubi.unmap(lnum);
            return Ok(());
        }
        let mut bytes = vec![0; offset as usize];
        self.ubi.read(lnum, 0, &mut bytes)?;
        Ok(self.ubi.change(lnum, &bytes)?)
    }

    /// Take the LEB in which the next commit writes, so that nothing else does (`take_ihead`).
    fn take_index_head(&mut self) -> Result<(), Fault> {
        let (lnum, offset) = self.index_head;
        let lprops = self.lprops(lnum)?;
        if lprops.free != self.geometry.leb_size - offset {
            return Err(Fault::Damaged { lnum, offset });
        }
        self.set_lprops(lnum, Lprops { taken: true, ..lprops })
    }

    /// Keep an empty LEB for the collector: the one that the master node names, or another. Its
    /// block may not have been erased before the power went, so it is unmapped again.
    fn keep_gc_leb(&mut self) -> Result<(), Fault> {
        let leb_size = self.geometry.leb_size;
        if self.gc_lnum != NO_LEB {
            let lprops = self.lprops(self.gc_lnum)?;
            if lprops.free == leb_size && !lprops.taken {
                self.ubi.unmap(self.gc_lnum);
                return self.set_lprops(self.gc_lnum, Lprops { taken: true, ..lprops });
            }
        }
        self.gc_lnum = NO_LEB;
        let known = self.known(Category::Empty).next();
        let found = match known {
            Some((lnum, _)) => Some(lnum),
            None => self.find_free_space(leb_size, false).ok().map(|(lnum, _)| lnum),
        };
        if let Some(lnum) = found {
            let lprops = self.lprops(lnum)?;
            self.set_lprops(lnum, Lprops { taken: true, ..lprops })?;
            self.ubi.unmap(lnum);
            self.gc_lnum = lnum;
        }
        Ok(())
    }

    /// Commit, write on flash that the file system is in order, and detach UBI.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        self.sync_heads()?;
        self.commit()?;
        let orphans: Vec<u32> = self.orphans.iter().copied().collect();
        for ino in orphans {
            self.evict_inode(ino)?;
        }
        self.sync_heads()?;
        self.commit()?;
        self.write_master(0)?;
        Ok(self.ubi.detach()?)
    }
}

/// Whether the sums are not more than the main area has. Linux refuses others, too
/// (`validate_master`).
fn has_sane_sums(master: &MasterNode, geometry: &Geometry) -> bool {
    let main_size = u64::from(geometry.main_lebs) * u64::from(geometry.leb_size);
    let MasterNode { free, dirty, used, dead, dark, index_size, .. } = *master;
    let bytes = [free, dirty, used, dead, dark, index_size];
    bytes.into_iter().all(|bytes| bytes <= main_size)
        && master.empty_lebs <= geometry.main_lebs
        && master.index_lebs <= geometry.main_lebs
}

/// Whether a volume is empty, or power was cut while its file system was made. In both cases there
/// is no master node, which is written last, and no commit but the first.
fn is_unmade(ubi: &mut Ubi) -> Result<bool, MountError> {
    let page_size = ubi.min_io_size();
    for lnum in [MASTER_LNUM, MASTER_LNUM + 1] {
        if last_master(ubi, lnum, page_size)?.is_some() {
            return Ok(false);
        }
    }
    let log = Scan::read(ubi, LOG_LNUM, 0)?;
    let starts = log.nodes.iter().map(|&node| CsNode::parse(log.node(node)));
    let is_new = starts.into_iter().all(|start| start.is_some_and(|start| start.commit == 0));
    let used = (0..ubi.leb_count()).filter(|&lnum| ubi.is_mapped(lnum)).count();
    Ok(is_new && used <= LEBS_MADE)
}

fn read_superblock(ubi: &mut Ubi) -> Result<Geometry, MountError> {
    let mut bytes = vec![0; SUPERBLOCK_SIZE.min(ubi.leb_size()) as usize];
    ubi.read(0, 0, &mut bytes).map_err(Fault::from)?;
    let superblock = Superblock::parse(&bytes).ok_or(MountError::Superblock)?;
    let geometry = Geometry::of(&superblock, ubi.min_io_size(), ubi.leb_size(), ubi.leb_count());
    geometry.ok_or(MountError::Superblock)
}

/// A master node with its place.
struct Found {
    node: MasterNode,
    sequence: u64,
    offset: u32,
    /// Whether both LEBs hold the same node at the same place, and nothing behind it.
    is_equal: bool,
}

fn read_masters(ubi: &mut Ubi, page_size: u32) -> Result<Found, MountError> {
    let first = last_master(ubi, MASTER_LNUM, page_size)?;
    let second = last_master(ubi, MASTER_LNUM + 1, page_size)?;
    let is_equal = matches!((&first, &second), (Some(a), Some(b))
        if (a.offset, &a.node, a.is_equal, b.is_equal) == (b.offset, &b.node, true, true));
    let newest = first.into_iter().chain(second).max_by_key(|found| found.sequence);
    let newest = newest.ok_or(MountError::Master)?;
    Ok(Found { is_equal, ..newest })
}

/// The last valid master node of a LEB. Its `is_equal` says whether only free space is behind it.
fn last_master(ubi: &mut Ubi, lnum: u32, page_size: u32) -> Result<Option<Found>, MountError> {
    let mut bytes = vec![0; ubi.leb_size() as usize];
    ubi.read(lnum, 0, &mut bytes).map_err(Fault::from)?;
    let size = MASTER_SIZE.next_multiple_of(page_size);
    let last = (0..ubi.leb_size()).step_by(size as usize).rev().find_map(|offset| {
        let (page, rest) = bytes[offset as usize..].split_at_checked(size as usize)?;
        let (node, header) = (MasterNode::parse(page)?, parse_header(page)?);
        Some(Found { node, sequence: header.sequence, offset, is_equal: is_erased(rest) })
    });
    Ok(last)
}
