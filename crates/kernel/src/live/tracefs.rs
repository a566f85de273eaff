//! tracefs: sets probes in a group of this program's own. They print to a trace instance of its
//! own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::error::LiveError;
use super::hook::Probe;
use super::layout::Layout;

const MOUNT_POINT: &str = "/sys/kernel/tracing";
const OLD_MOUNT_POINT: &str = "/sys/kernel/debug/tracing";
/// The name of an instance is this prefix and the id of the process that made it.
const INSTANCE_PREFIX: &str = "flysch-";
const GROUP_PREFIX: &str = "flysch_";

/// Probes in the running kernel, and the trace instance they print to. Dropping it removes both.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: PathBuf,
    instance: PathBuf,
    group: String,
    mounted_here: bool,
}

impl Tracefs {
    /// Make a trace instance with a buffer of this size for each processor.
    pub(super) fn open(buffer_kib: u32) -> Result<Self, LiveError> {
        let (root, mounted_here) = find()?;
        clear_leftovers(&root);
        let number = std::process::id();
        let tracefs = Self {
            instance: root.join("instances").join(format!("{INSTANCE_PREFIX}{number}")),
            group: format!("{GROUP_PREFIX}{number}"),
            root,
            mounted_here,
        };
        fs::create_dir(&tracefs.instance).map_err(LiveError::at(&tracefs.instance))?;
        tracefs.write("buffer_size_kb", &buffer_kib.to_string())?;
        tracefs.write("trace_clock", "mono")?;
        Ok(tracefs)
    }

    /// Set a probe. Returns false if the kernel has no such function or forbids to probe it.
    pub(super) fn set(&self, probe: &Probe, layout: &Layout) -> Result<bool, LiveError> {
        let path = self.root.join("kprobe_events");
        match append(&path, &probe.definition(&self.group, layout)) {
            Ok(()) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(LiveError::at(path)(error)),
        }
    }

    /// Remove all probes of this recording.
    pub(super) fn unset(&self) {
        remove_probes(&self.root, &self.group);
    }

    /// Let the probes print from now on.
    pub(super) fn enable(&self) -> Result<(), LiveError> {
        self.write(&format!("events/{}/enable", self.group), "1")?;
        self.switch(true)
    }

    /// Switch printing on or off.
    pub(super) fn switch(&self, on: bool) -> Result<(), LiveError> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// The pipe that delivers what the probes print. Each byte can be read once. A read does not
    /// wait for data.
    pub(super) fn pipe(&self) -> Result<File, LiveError> {
        let path = self.instance.join("trace_pipe");
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        file.map_err(LiveError::at(path))
    }

    /// Number of events that were overwritten or dropped since the start, and of calls that a busy
    /// probe missed.
    pub(super) fn lost(&self, probes: &[Probe]) -> u64 {
        let per_cpu = fs::read_dir(self.instance.join("per_cpu"));
        let stats = per_cpu
            .into_iter()
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stats")).ok());
        let overwritten: u64 = stats.map(|text| lost_of_cpu(&text)).sum();
        let profile = fs::read_to_string(self.root.join("kprobe_profile")).unwrap_or_default();
        overwritten + missed(&profile, probes)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), LiveError> {
        let path = self.instance.join(name);
        fs::write(&path, text).map_err(LiveError::at(path))
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        // Errors are ignored here, because there is nothing left to do. The next recording removes
        // leftovers.
        self.write(&format!("events/{}/enable", self.group), "0").ok();
        fs::remove_dir(&self.instance).ok();
        remove_probes(&self.root, &self.group);
        if self.mounted_here {
            unmount(MOUNT_POINT, UnmountFlags::DETACH).ok();
        }
    }
}

/// The root folder of tracefs, and whether this call mounted it.
fn find() -> Result<(PathBuf, bool), LiveError> {
    if !rustix::process::geteuid().is_root() {
        return Err(LiveError::NotRoot);
    }
    let mounted = |root: &&str| Path::new(root).join("instances").is_dir();
    let found = [MOUNT_POINT, OLD_MOUNT_POINT].into_iter().find(mounted);
    let (root, mounted_here) = (found.unwrap_or(MOUNT_POINT), found.is_none());
    if mounted_here {
        mount("tracefs", MOUNT_POINT, "tracefs", MountFlags::empty(), None)
            .map_err(|_| LiveError::NoTracefs)?;
    }
    let root = PathBuf::from(root);
    if root.join("kprobe_events").exists() {
        return Ok((root, mounted_here));
    }
    if mounted_here {
        unmount(MOUNT_POINT, UnmountFlags::DETACH).ok();
    }
    Err(LiveError::NoKprobes)
}

/// Remove probes and instances of processes that have ended. A killed process cannot clean up.
fn clear_leftovers(root: &Path) {
    let Ok(instances) = fs::read_dir(root.join("instances")) else { return };
    for instance in instances.flatten() {
        let name = instance.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(INSTANCE_PREFIX));
        let Some(number) = number.and_then(|digits| digits.parse::<u32>().ok()) else { continue };
        if Path::new(&format!("/proc/{number}")).exists() {
            continue;
        }
        let group = format!("{GROUP_PREFIX}{number}");
        fs::write(instance.path().join(format!("events/{group}/enable")), "0").ok();
        fs::remove_dir(instance.path()).ok();
        remove_probes(root, &group);
    }
}

fn remove_probes(root: &Path, group: &str) {
    let path = root.join("kprobe_events");
    let defined = fs::read_to_string(&path).unwrap_or_default();
    let prefix = format!("{group}/");
    let names = defined.lines().filter_map(|line| line.split_whitespace().next()?.split_once(':'));
    for (_, name) in names.filter(|(_, name)| name.starts_with(&prefix)) {
        append(&path, &format!("-:{name}")).ok();
    }
}

/// Append a line. Opening the file for overwriting would remove the probes of all users.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Whether an error means that the kernel lacks a function or forbids to probe it.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput)
}

/// Sum of the last column of `kprobe_profile` for our probes. The kernel lists them by name only.
fn missed(profile: &str, probes: &[Probe]) -> u64 {
    let rows = profile.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let is_ours = |name: &&str| probes.iter().any(|probe| probe.event == *name);
    let ours = rows.filter(|row| row.first().is_some_and(is_ours));
    ours.filter_map(|row| row.get(2)?.parse::<u64>().ok()).sum()
}

/// The lost events that the statistics of one processor's buffer report.
fn lost_of_cpu(stats: &str) -> u64 {
    let pairs = stats.lines().filter_map(|line| line.split_once(": "));
    let lost =
        pairs.filter(|(key, _)| ["overrun", "commit overrun", "dropped events"].contains(key));
    lost.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::level::Level;
    use super::*;

    #[test]
    fn losses_are_added_up() {
        let stats = "entries: 3\noverrun: 4\ncommit overrun: 0\nbytes: 96\n\
                     oldest event ts:     1.5\nnow ts: 2\ndropped events: 2\nread events: 7\n";
        assert_eq!(lost_of_cpu(stats), 6);
        assert_eq!(lost_of_cpu(""), 0);
        let probes = Level::Chip.every_probe();
        let profile = "  page_read    1203    2\n  elsewhere    9    7\n  block_erase  1    1\n";
        assert_eq!(missed(profile, &probes), 3);
    }
}
