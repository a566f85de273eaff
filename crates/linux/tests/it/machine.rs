//! A small chip, the stack that is on it, and the file system mounted there.

use std::cell::RefCell;
use std::rc::Rc;

use flysch_chip::{Chip, Clock, FaultInjector, Part, Recorder, Shared};
use flysch_linux::block_device::BlockDevice;
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::cpu::{Cpu, Speed};
use flysch_linux::filesystem::{FileSystem, FsError};
use flysch_linux::ftl::{self, FtlOptions, Mapping};
use flysch_linux::jffs2::{self, Compressor, Jffs2};
use flysch_linux::mtd::{EccMode, Partition, RawNand};
use flysch_linux::plainfs::Plainfs;
use flysch_linux::ubifs::{self, Ubifs};
use flysch_linux::vfs::{Fd, Vfs};
use flysch_linux::yaffs2::{self, Yaffs2};
use flysch_nand::{Geometry, Nand};

use crate::ftl::{COST_BENEFIT, LOG_BLOCK, PAGE_MAP, shape};
use crate::jffs2::state::remove_all;

/// The file system or translation layer on the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Jffs2,
    Yaffs2,
    /// UBIFS with this compressor. UBI writes fastmaps, or it does not.
    Ubifs {
        compressor: ubifs::Compressor,
        fastmap: bool,
    },
    Ftl(Mapping),
}

pub(crate) const LZO: Kind = Kind::Ubifs { compressor: ubifs::Compressor::Lzo, fastmap: false };
pub(crate) const FASTMAP: Kind = Kind::Ubifs { compressor: ubifs::Compressor::Lzo, fastmap: true };
pub(crate) const KINDS: [Kind; 8] = [
    Kind::Jffs2,
    Kind::Yaffs2,
    LZO,
    Kind::Ubifs { compressor: ubifs::Compressor::Zstd, fastmap: false },
    FASTMAP,
    Kind::Ftl(PAGE_MAP),
    Kind::Ftl(COST_BENEFIT),
    Kind::Ftl(LOG_BLOCK),
];

/// Bytes of names that JFFS2's collector has copied and not erased yet: a scan keeps both copies.
const COPIES_MAX: u64 = 512;
/// Bytes of the pages that the passes of JFFS2's thread after a mount write whole: a pass follows
/// each erase, whether there is work or not, and a part of such a page may have been a hole.
const MERGED_MAX: u64 = 3 * (4096 + 68);

/// Bytes of the summaries of blocks that YAFFS2's collector has begun to empty. A block that is
/// being collected has lost its summary, which a scan sees again.
const SUMMARIES_MAX: u64 = 3 * 2048;

/// In this time a file system clears away what was removed, nanoseconds.
const EMPTY_NS: u64 = 60_000_000_000;

/// A chip with power, and the file system on it.
pub(crate) struct Machine {
    pub(crate) kind: Kind,
    pub(crate) device: Shared<FaultInjector>,
    recorder: Recorder,
    cpu: Cpu,
}

impl Kind {
    /// Bytes that may stay of names that are gone.
    pub(crate) const fn slack(self) -> u64 {
        match self {
            // Dirents that delete names.
            Self::Jffs2 => 512,
            // The header of the root directory, which a new file system does not have.
            Self::Yaffs2 => 2048,
            Self::Ubifs { .. } => 0,
            // A directory does not shrink.
            Self::Ftl(_) => 4096,
        }
    }

    /// Whether a session that knows of `known` free bytes agrees with a mount that counts
    /// `counted`.
    pub(crate) fn is_same_space(self, known: u64, counted: u64) -> bool {
        match self {
            // Of JFFS2's data that was replaced in part, the collector of a mount may drop more.
            Self::Jffs2 => known <= counted + COPIES_MAX + MERGED_MAX,
            Self::Yaffs2 => (counted..=counted + SUMMARIES_MAX).contains(&known),
            Self::Ubifs { .. } | Self::Ftl(_) => known == counted,
        }
    }

    /// A chip that is large enough for the file system and small enough for a quick test.
    pub(crate) fn part(self) -> Part {
        let part = Part::named("nandsim").unwrap();
        let (pages_per_block, block_count) = match self {
            Self::Ubifs { fastmap, .. } => (16, if fastmap { 80 } else { 64 }),
            _ => (8, 48),
        };
        let geometry = Geometry { pages_per_block, block_count, ..part.geometry };
        Part { geometry, ..part }
    }
}

impl Machine {
    pub(crate) fn new(kind: Kind, chip: &Chip) -> Self {
        let clock = Clock::new();
        let device = Shared::new(FaultInjector::new(chip.fork(clock.clone())));
        let cpu = Cpu::new(clock.clone(), Speed::default());
        Self { kind, device, recorder: Recorder::new(clock, "test"), cpu }
    }

    /// The same stack on a fork of the chip in its present state.
    pub(crate) fn fork(&self) -> Self {
        Self::new(self.kind, self.device.borrow().chip())
    }

    /// Let time pass in which nothing calls the file system.
    pub(crate) fn wait_ns(&self, ns: u64) {
        self.cpu.clock().advance(ns);
    }

    pub(crate) fn partition(&self) -> Result<Partition, String> {
        let device = Box::new(self.device.clone());
        let (recorder, cpu) = (self.recorder.clone(), self.cpu.clone());
        let raw = RawNand::attach(device, recorder, cpu, EccMode::Hardware, (0, 0));
        let raw = raw.map_err(|error| format!("{error:?}"))?;
        let blocks = raw.geometry().block_count;
        Partition::new(Rc::new(RefCell::new(raw)), 0, blocks).ok_or_else(|| "no partition".into())
    }

    fn disk(&self, mapping: Mapping) -> Result<Box<dyn BlockDevice>, String> {
        let blocks = self.device.geometry().block_count;
        let options = FtlOptions { spare_blocks: 11, ..shape(blocks, 512, mapping) };
        ftl::mount(Box::new(self.device.clone()), self.recorder.clone(), options, &[])
            .map_err(|error| error.to_string())
    }

    pub(crate) fn format(&self) {
        let (cpu, recorder) = (self.cpu.clone(), &self.recorder);
        match self.kind {
            Kind::Jffs2 => Jffs2::format(&self.partition().unwrap()).unwrap(),
            Kind::Yaffs2 => Yaffs2::format(&self.partition().unwrap()).unwrap(),
            Kind::Ubifs { fastmap, .. } => {
                Ubifs::format(&self.partition().unwrap(), recorder, &[], fastmap).unwrap();
            }
            Kind::Ftl(mapping) => {
                Plainfs::format(self.disk(mapping).unwrap(), cpu, recorder).unwrap();
            }
        }
    }

    /// Mount UBIFS by itself.
    pub(crate) fn mount_ubifs(&self) -> Result<Ubifs, String> {
        let Kind::Ubifs { compressor, fastmap } = self.kind else {
            return Err("another file system".into());
        };
        let options = ubifs::Options { compressor, fastmap, ..ubifs::Options::default() };
        Ubifs::mount(self.partition()?, options, self.cpu.clone(), self.recorder.clone())
            .map_err(|error| error.to_string())
    }

    /// Mount YAFFS2 by itself.
    pub(crate) fn mount_yaffs2(&self) -> Result<Yaffs2, String> {
        let (cpu, options) = (self.cpu.clone(), yaffs2::Options::default());
        let mounted = Yaffs2::mount(self.partition()?, options, cpu, &self.recorder);
        mounted.map_err(|error| error.to_string())
    }

    pub(crate) fn mount(&self) -> Result<Vfs, String> {
        let (cpu, recorder) = (self.cpu.clone(), self.recorder.clone());
        let fs: Box<dyn FileSystem> = match self.kind {
            Kind::Jffs2 => {
                let compressors = vec![Compressor::Zlib, Compressor::Rtime];
                let options = jffs2::Options { compressors, ra_pages: 0, summaries: true, seed: 1 };
                let mounted = Jffs2::mount(self.partition()?, options, cpu, &recorder);
                Box::new(mounted.map_err(|error| error.to_string())?)
            }
            Kind::Yaffs2 => Box::new(self.mount_yaffs2()?),
            Kind::Ubifs { .. } => Box::new(self.mount_ubifs()?),
            Kind::Ftl(mapping) => {
                let mounted = Plainfs::mount(self.disk(mapping)?, cpu, &recorder);
                Box::new(mounted.map_err(|error| error.to_string())?)
            }
        };
        Ok(Vfs::mount(fs, ReadAheadProfile::C, self.cpu.clone(), self.recorder.clone()))
    }

    /// Remove all names, and return the free space some time later. The summaries of blocks that
    /// YAFFS2 has not emptied yet count as free.
    pub(crate) fn free_once_empty(&self) -> Result<u64, String> {
        let told = |error: FsError| format!("while all is removed: {error}");
        let mut vfs = self.mount()?;
        remove_all(&mut vfs).map_err(told)?;
        for _ in 0..2 {
            vfs.sync().map_err(told)?;
            vfs.sleep(EMPTY_NS);
        }
        if self.kind != Kind::Yaffs2 {
            return Ok(vfs.filesystem().free_bytes().expect("it is counted"));
        }
        vfs.unmount().map_err(told)?;
        let fs = self.mount_yaffs2()?;
        Ok(fs.free_bytes().expect("it is counted") + fs.summary_bytes())
    }
}

/// A CPU on which instructions and copies take time.
pub(crate) fn speed() -> Speed {
    Speed { ps_per_instruction: 1000, copy_ps_per_byte: 500, ..Speed::default() }
}

/// Write to a file until there is no room. Returns the bytes that were written.
pub(crate) fn fill(vfs: &mut Vfs, fd: Fd) -> u64 {
    let mut size = 0;
    loop {
        match vfs.write(fd, size, &[7; 1000]) {
            Ok(()) => size += 1000,
            Err(error) => {
                assert_eq!(error, FsError::NoSpace);
                return size;
            }
        }
    }
}
