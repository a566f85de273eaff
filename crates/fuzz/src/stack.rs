//! The file systems whose images are damaged, the chips that they are on, and how an image is
//! mounted and used.

use std::sync::Arc;

use flysch_chip::{
    Chip, Clock, FaultInjector, FaultPlan, Part, Pram, PramFigures, Recorder, Shared, Tracer,
};
use flysch_lab::Profile;
use flysch_lab::machine::Build;
use flysch_lab::machine::layers::FtlKind;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_linux::filesystem::FileKind;
use flysch_linux::vfs::Vfs;
use flysch_nand::Geometry;

use crate::seen;

/// More flash operations than any image of this size needs. A target in an endless loop fails when
/// it reaches this number.
const OPERATIONS_MAX: u64 = 2_000_000;
/// The most names and levels of folders that are visited, because damaged folders may contain each
/// other.
const NAMES_MAX: usize = 400;
const LEVELS_MAX: usize = 4;

/// A file system with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Jffs2,
    Yaffs2,
    /// YAFFS2 in the version of 2009, without block summaries.
    Yaffs2Of2009,
    Ubifs,
    UbifsFastmap,
    Ftl,
    FtlCostBenefit,
    FtlLogBlock,
}

/// The size of a page, as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSize {
    Small = 512,
    Usual = 2048,
    Large = 4096,
}

impl PageSize {
    pub const ALL: [Self; 3] = [Self::Small, Self::Usual, Self::Large];
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Jffs2,
        Self::Yaffs2,
        Self::Yaffs2Of2009,
        Self::Ubifs,
        Self::UbifsFastmap,
        Self::Ftl,
        Self::FtlCostBenefit,
        Self::FtlLogBlock,
    ];

    /// The name by which `cargo xtask campaign` knows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jffs2 => "jffs2",
            Self::Yaffs2 => "yaffs2",
            Self::Yaffs2Of2009 => "yaffs2-2009",
            Self::Ubifs => "ubifs",
            Self::UbifsFastmap => "ubifs+fastmap",
            Self::Ftl => "ftl",
            Self::FtlCostBenefit => "ftl-cost-benefit",
            Self::FtlLogBlock => "ftl-log-block",
        }
    }

    pub const fn main(self) -> Main {
        match self {
            Self::Jffs2 => Main::Jffs2,
            Self::Yaffs2 | Self::Yaffs2Of2009 => Main::Yaffs2,
            Self::Ubifs | Self::UbifsFastmap => Main::Ubifs,
            Self::Ftl | Self::FtlCostBenefit | Self::FtlLogBlock => Main::Ftl,
        }
    }

    /// Whether the OOB area of pages of this size is large enough for the file system's tags.
    pub fn fits(self, page: PageSize) -> bool {
        page != PageSize::Small || matches!(self.main(), Main::Jffs2 | Main::Ubifs)
    }

    /// The machine that the file system is on.
    ///
    /// # Panics
    /// Never: the platform and the part are built in.
    pub fn build(self, page: PageSize) -> Build {
        let platform = Platform::named("nandsim-6.1").expect("a platform that is built in");
        let mut build = Build::of(&Arc::new(platform));
        let geometry = geometry_of(page, build.part.geometry);
        build.part = Arc::new(Part { geometry, ..build.part.as_ref().clone() });
        build.partition_blocks = geometry.block_count;
        build.layers.ubi_fastmap = self == Self::UbifsFastmap;
        build.layers.yaffs2_profile =
            if self == Self::Yaffs2Of2009 { Profile::Y2009 } else { Profile::Today };
        build.layers.ftl_spare_percent = 15;
        build.layers.ftl = match self {
            Self::FtlCostBenefit => FtlKind::PageCostBenefit,
            Self::FtlLogBlock => FtlKind::LogBlock,
            Self::Jffs2
            | Self::Yaffs2
            | Self::Yaffs2Of2009
            | Self::Ubifs
            | Self::UbifsFastmap
            | Self::Ftl => FtlKind::Page,
        };
        build
    }
}

/// A chip of 1 or 2 MiB. It has enough blocks for the anchors of a fastmap.
fn geometry_of(page: PageSize, other: Geometry) -> Geometry {
    let page_size = page as u32;
    let (sectors_per_page, pages_per_block) = match page {
        PageSize::Small => (1, 32),
        PageSize::Usual => (4, 16),
        PageSize::Large => (4, 8),
    };
    Geometry {
        page_size,
        oob_size: page_size / 32,
        sectors_per_page,
        pages_per_block,
        block_count: 80,
        ..other
    }
}

/// Mount the file system on the chip, use all of it, unmount it, and do all of this once more. Any
/// call may fail.
///
/// # Panics
/// If it takes more operations than any use of a chip of this size.
pub fn survive(build: &Build, main: Main, chip: Chip, clock: &Clock) {
    let recorder = Recorder::new(clock.clone(), "fuzz");
    let injector = FaultInjector::new(chip);
    let figures = PramFigures { size: 4096, ..PramFigures::HYBRID_SQLITE };
    let pram = Pram::on_supply(figures, clock.clone(), 1, injector.supply());
    let pram = Shared::new(Tracer::new(pram, recorder.clone()));
    let device = Shared::new(Tracer::new(injector, recorder.clone()));
    let plan = FaultPlan { cut_at: Some(OPERATIONS_MAX), ..FaultPlan::default() };
    device.borrow_mut().device_mut().arm(plan);
    for _ in 0..2 {
        let (device, pram, recorder) = (device.clone(), pram.clone(), recorder.clone());
        let mounted = build.mount(Stack::file(main), device, pram, recorder);
        seen::outcome("mount", &mounted);
        let Ok(machine) = mounted else { continue };
        use_all(&mut machine.linux.borrow_mut());
        seen::outcome("unmount", &machine.unmount());
    }
    seen::operations(&recorder.take(build.part.geometry));
    assert!(device.borrow().device().is_on(), "more than {OPERATIONS_MAX} operations");
}

/// Make every kind of call in each folder. Any result is allowed, but no panic.
pub fn use_all(vfs: &mut Vfs) {
    let mut folders = vec![String::new()];
    let mut names = 0;
    while let Some(folder) = folders.pop() {
        let is_deep = folder.split('/').count() > LEVELS_MAX;
        for entry in vfs.list(&folder).unwrap_or_default() {
            names += 1;
            let path = format!("{folder}/{}", String::from_utf8_lossy(&entry.name));
            seen::outcome("attributes", &vfs.attributes(&path));
            match entry.kind {
                FileKind::Regular => use_file(vfs, &path),
                FileKind::Directory if !is_deep && names < NAMES_MAX => folders.push(path),
                FileKind::Directory | FileKind::Special => {}
            }
        }
        change_names(vfs, &folder);
    }
    vfs.sleep(40_000_000_000);
    seen::outcome("sync", &vfs.sync());
    seen::outcome("drop_caches", &vfs.drop_caches());
}

fn use_file(vfs: &mut Vfs, path: &str) {
    let Ok(fd) = vfs.open(path, false) else { return };
    let size = vfs.size(fd).unwrap_or(0);
    let mut bytes = [7; 9000];
    for offset in [0, size / 2, size.saturating_sub(9000)] {
        seen::outcome("read", &vfs.read(fd, offset, &mut bytes));
    }
    for offset in [10, size.saturating_sub(3), size.saturating_add(5000)] {
        seen::outcome("write", &vfs.write(fd, offset, &bytes[..1500]));
    }
    seen::outcome("fsync", &vfs.fsync(fd));
    seen::outcome("truncate", &vfs.truncate(fd, size / 3));
    seen::outcome("close", &vfs.close(fd));
}

fn change_names(vfs: &mut Vfs, folder: &str) {
    let [made, new, other] = ["made", "new", "other"].map(|name| format!("{folder}/{name}"));
    seen::outcome("mkdir", &vfs.mkdir(&made));
    let written = vfs.open(&new, true).and_then(|fd| {
        vfs.write(fd, 0, &[9; 5000])?;
        vfs.close(fd)
    });
    seen::outcome("make", &written);
    seen::outcome("rename", &vfs.rename(&new, &other));
    seen::outcome("unlink", &vfs.unlink(&made));
    seen::outcome("unlink", &vfs.unlink(&format!("{folder}/b")));
    seen::outcome("sync_directory", &vfs.sync_directory(folder));
}
