//! The flash below a run. It is formatted and mounted, or it is already mounted. Dropping it undoes
//! all changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::Main;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

use super::error::KernelError;
use super::target::Target;
use crate::live::device::{Mtd, Window};

/// Name of the UBI volume that holds a run's files.
const VOLUME: &str = "flysch";
/// `UBI_MAX_DEVICES` of the kernel.
const UBI_DEVICES_MAX: u32 = 32;
/// The parameter of the UBI module that says whether it writes fastmaps.
const FASTMAP: &str = "/sys/module/ubi/parameters/fm_autoconvert";
/// Size of a page of the page cache in KiB. Read-ahead windows are multiples of it.
const CACHE_PAGE_KIB: u32 = 4;

/// A mounted file system, with the changes to undo after the run.
#[derive(Debug)]
pub(super) struct Flash {
    /// Directory for the files of a run.
    pub(super) folder: PathBuf,
    undo: Undo,
}

/// The changes to undo after a run. The last one is undone first.
#[derive(Debug, Default)]
struct Undo {
    read_ahead: Option<(PathBuf, String)>,
    mounted: Option<TempDir>,
    ubi: Option<u32>,
    fastmap: Option<bool>,
}

impl Flash {
    /// Erase an MTD device, make the file system of `main` on it, and mount it.
    pub(super) fn make(main: Main, mtd: &Mtd, scenario: &Scenario) -> Result<Self, KernelError> {
        let mut undo = Undo::default();
        let device = format!("/dev/{}", mtd.name());
        let source = match main {
            Main::Ubifs => {
                undo.fastmap = set_fastmap(scenario.build.layers.ubi_fastmap)?;
                make_ubi(&device, mtd.number, &mut undo)?
            }
            Main::Jffs2 => {
                program("flash_erase", &["--quiet", "--jffs2", &device, "0", "0"])?;
                mtd.name()
            }
            _ => {
                program("flash_erase", &["--quiet", &device, "0", "0"])?;
                format!("/dev/mtdblock{}", mtd.number)
            }
        };
        let options = mount_options(main, scenario)?;
        let place = TempDir::with_prefix("flysch-")
            .map_err(|error| refused("making a mount point", &error))?;
        let data = std::ffi::CString::new(options).expect("mount options hold no NUL");
        mount(source.as_str(), place.path(), main.name(), MountFlags::empty(), data.as_c_str())
            .map_err(|error| refused(&format!("mounting {} from {source}", main.name()), &error))?;
        let folder = place.path().to_path_buf();
        undo.mounted = Some(place);
        let mut flash = Self { folder, undo };
        let (bdi, ra_pages) = match flash.undo.ubi {
            Some(number) => (bdi_of_ubifs(number), scenario.ubifs_ra_pages),
            None => (bdi_of(&flash.folder)?, scenario.build.ra_pages),
        };
        flash.set_read_ahead(&bdi, ra_pages)?;
        Ok(flash)
    }

    /// Use a directory of a file system that is already mounted.
    pub(super) fn find(path: &Path) -> Result<Self, KernelError> {
        if !path.is_dir() {
            let message = "no such directory".to_owned();
            return Err(KernelError::Refused { during: path.display().to_string(), message });
        }
        Ok(Self { folder: path.to_path_buf(), undo: Undo::default() })
    }

    /// Set the read-ahead window of the file system. Kernels since 4.0 have none for JFFS2 by
    /// default.
    fn set_read_ahead(&mut self, bdi: &Path, ra_pages: u32) -> Result<(), KernelError> {
        let path = bdi.join("read_ahead_kb");
        let during = path.display().to_string();
        let before = fs::read_to_string(&path).map_err(|error| refused(&during, &error))?;
        let wanted = (ra_pages * CACHE_PAGE_KIB).to_string();
        fs::write(&path, wanted).map_err(|error| refused(&during, &error))?;
        self.undo.read_ahead = Some((path, before));
        Ok(())
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // Errors are ignored here, because there is nothing left to do and the result of the run
        // matters more.
        if let Some((path, before)) = &self.read_ahead {
            fs::write(path, before).ok();
        }
        if let Some(place) = &self.mounted {
            unmount(place.path(), UnmountFlags::empty()).ok();
        }
        if let Some(number) = self.ubi {
            program("ubidetach", &["-d", &number.to_string()]).ok();
        }
        if let Some(before) = self.fastmap {
            set_fastmap(before).ok();
        }
    }
}

/// The part of the flash that is recorded for a target.
pub(super) fn window(target: &Target, mtd: Option<&str>) -> Result<Window, KernelError> {
    let under_path = match target {
        Target::Mounted(path) if mtd.is_none() => mtd_under(path),
        _ => None,
    };
    Ok(Window::of_machine(mtd.or(under_path.as_deref()))?)
}

/// Switch UBI's fastmaps on or off. Returns the former state if it was changed. UBI reads the
/// parameter only when its module is loaded. So the module is loaded again, which fails if it is in
/// use. A kernel that was built without fastmaps never writes any.
fn set_fastmap(is_wanted: bool) -> Result<Option<bool>, KernelError> {
    let is_set = || fs::read_to_string(FASTMAP).is_ok_and(|text| text.trim() == "Y");
    if is_set() == is_wanted {
        return Ok(None);
    }
    let parameter = if is_wanted { "fm_autoconvert=1" } else { "fm_autoconvert=0" };
    let steps: [&[&str]; 4] = [&["-r", "ubifs"], &["-r", "ubi"], &["ubi", parameter], &["ubifs"]];
    for arguments in steps {
        // A step may fail. What counts is whether the parameter has the right value in the end.
        program("modprobe", arguments).ok();
    }
    if is_set() == is_wanted {
        return Ok(Some(!is_wanted));
    }
    let switch = if is_wanted { "on" } else { "off" };
    Err(KernelError::Unfit(format!(
        "--ubi-fastmap {switch}: UBI cannot be loaded with {parameter}: it is in use, or knows no fastmap"
    )))
}

/// Format the MTD device with UBI, with one volume of full size. Returns the source to mount.
fn make_ubi(device: &str, mtd: u32, undo: &mut Undo) -> Result<String, KernelError> {
    let taken = |number: &u32| Path::new(&format!("/sys/class/ubi/ubi{number}")).exists();
    let number = (0..UBI_DEVICES_MAX).find(|number| !taken(number)).unwrap_or_default();
    program("ubiformat", &["--quiet", "--yes", device])?;
    program("ubiattach", &["-m", &mtd.to_string(), "-d", &number.to_string()])?;
    undo.ubi = Some(number);
    program("ubimkvol", &[&format!("/dev/ubi{number}"), "-N", VOLUME, "-m"])?;
    Ok(format!("ubi{number}:{VOLUME}"))
}

/// The mount options that give the kernel's file system the settings of the scenario.
fn mount_options(main: Main, scenario: &Scenario) -> Result<String, KernelError> {
    let build = &scenario.build;
    match main {
        Main::Jffs2 if build.compressors == build.platform.jffs2_compressors => Ok(String::new()),
        Main::Jffs2 => match build.compressors.as_slice() {
            [] => Ok("compr=none".to_owned()),
            [one] => Ok(format!("compr={}", one.name())),
            _ => Err(KernelError::Unfit(
                "the kernel's JFFS2 takes one compressor or none, no list".to_owned(),
            )),
        },
        Main::Ubifs => {
            let bulk = if build.layers.ubifs_bulk_read { ",bulk_read" } else { "" };
            Ok(format!("compr={}{bulk}", build.ubifs_compressor.name()))
        }
        _ => Ok(String::new()),
    }
}

/// The folder in sysfs of the backing device of UBIFS on the only volume of a UBI device. UBIFS
/// names it itself (`ubifs_fill_super`).
fn bdi_of_ubifs(number: u32) -> PathBuf {
    PathBuf::from(format!("/sys/class/bdi/ubifs_{number}_0"))
}

/// The folder in sysfs of a mounted file system's backing device, found by its device number.
fn bdi_of(folder: &Path) -> Result<PathBuf, KernelError> {
    let of_mtd = Path::new("/sys/class/bdi/mtd-0");
    let status =
        rustix::fs::stat(folder).map_err(|error| refused("looking at the mount", &error))?;
    let (major, minor) = (rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
    let own = PathBuf::from(format!("/sys/class/bdi/{major}:{minor}"));
    if own.exists() { Ok(own) } else { Ok(of_mtd.to_path_buf()) }
}

/// The MTD device below the file system of a directory, found in the kernel's list of mounts.
fn mtd_under(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let rows = mounts.lines().filter_map(|line| line.split_once(' '));
    let holding = rows.filter(|(_, rest)| path.starts_with(rest.split(' ').next().unwrap_or("/")));
    let (source, _) = holding.max_by_key(|(_, rest)| rest.find(' '))?;
    let source = source.trim_start_matches("/dev/");
    if let Some(ubi) = source.strip_prefix("ubi") {
        let number = ubi.split([':', '_']).next()?;
        let mtd = fs::read_to_string(format!("/sys/class/ubi/ubi{number}/mtd_num")).ok()?;
        return Some(format!("mtd{}", mtd.trim()));
    }
    let number = source.strip_prefix("mtdblock").or_else(|| source.strip_prefix("mtd"))?;
    Some(format!("mtd{number}"))
}

/// Run a program of mtd-utils. Its output is only used if it fails.
fn program(name: &str, arguments: &[&str]) -> Result<(), KernelError> {
    let output = Command::new(name).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| refused(&format!("{name} (of mtd-utils)"), &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().last().unwrap_or("it failed and said nothing").to_owned();
    Err(KernelError::Refused { during: name.to_owned(), message: line })
}

fn refused(during: &str, error: &dyn std::fmt::Display) -> KernelError {
    KernelError::at(during)(error)
}
