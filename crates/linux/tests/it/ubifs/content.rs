//! The content of files, compared with a model through remounts, syncs and dropped caches.

use std::collections::BTreeMap;

use flysch_chip::{EventKind, Prng};
use flysch_linux::cpu::Unit;
use flysch_linux::filesystem::FsError;
use flysch_linux::ubifs::{Compressor, Maker, Options};
use flysch_linux::vfs::Vfs;

use super::device::Device;

fn options(compressor: Compressor) -> Options {
    Options { compressor, ..Options::default() }
}

pub(super) fn read_all(vfs: &mut Vfs, path: &str) -> Result<Vec<u8>, FsError> {
    let fd = vfs.open(path, false)?;
    let mut bytes = vec![0; usize::try_from(vfs.size(fd)?).unwrap()];
    let len = vfs.read(fd, 0, &mut bytes)?;
    assert_eq!(len, bytes.len());
    vfs.close(fd)?;
    Ok(bytes)
}

/// One run of random calls on files, and what the files should hold.
struct Run {
    device: Device,
    vfs: Vfs,
    files: BTreeMap<String, Vec<u8>>,
    prng: Prng,
}

impl Run {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.prng.below(bound as u64)).unwrap()
    }

    fn step(&mut self) {
        let name = format!("{}{}", ["", "dir/"][self.below(2)], self.below(5));
        match self.below(16) {
            0 => self.unlink(&name),
            1 => self.rename(&name),
            2 => self.truncate(&name),
            3 => self.vfs.drop_caches().unwrap(),
            4 => self.vfs.sync().unwrap(),
            5 => self.vfs.sleep(6_000_000_000),
            6 if self.below(4) == 0 => self.remount(),
            7 | 8 => self.compare(&name),
            _ => self.write(&name),
        }
    }

    fn write(&mut self, name: &str) {
        let (offset, len) = (self.below(60_000), self.below(20_000));
        let mut bytes = vec![0; len];
        let part = self.below(len + 1);
        self.prng.fill(&mut bytes[..part]);
        let fd = self.vfs.open(name, true).unwrap();
        self.vfs.write(fd, offset as u64, &bytes).unwrap();
        if self.below(3) == 0 {
            self.vfs.fsync(fd).unwrap();
        }
        self.vfs.close(fd).unwrap();
        let content = self.files.entry(name.to_owned()).or_default();
        if len > 0 {
            content.resize(content.len().max(offset + len), 0);
            content[offset..offset + len].copy_from_slice(&bytes);
        }
    }

    fn truncate(&mut self, name: &str) {
        let size = self.below(70_000);
        if let Some(content) = self.files.get_mut(name) {
            content.resize(size, 0);
            let fd = self.vfs.open(name, false).unwrap();
            self.vfs.truncate(fd, size as u64).unwrap();
            self.vfs.close(fd).unwrap();
        }
    }

    fn unlink(&mut self, name: &str) {
        let known = self.files.remove(name).map(drop).ok_or(FsError::NotFound);
        assert_eq!(self.vfs.unlink(name), known);
    }

    fn rename(&mut self, name: &str) {
        let to = format!("{}{}", ["", "dir/"][self.below(2)], self.below(5));
        let content = self.files.remove(name);
        assert_eq!(self.vfs.rename(name, &to).is_ok(), content.is_some());
        self.files.extend(content.map(|content| (to, content)));
    }

    fn compare(&mut self, name: &str) {
        match self.files.get(name) {
            Some(content) => assert!(read_all(&mut self.vfs, name).unwrap() == *content, "{name}"),
            None => assert_eq!(self.vfs.exists(name), Ok(false)),
        }
    }

    fn remount(&mut self) {
        self.vfs.unmount().unwrap();
        self.vfs = self.device.mount().unwrap();
        for name in self.files.keys().cloned().collect::<Vec<_>>() {
            self.compare(&name);
        }
    }
}

#[test]
fn random_calls_agree_with_a_model() {
    let compressors =
        [Compressor::None, Compressor::Lzo, Compressor::Zlib, Compressor::Zstd, Compressor::Lzo];
    let plain = compressors.map(|compressor| (40, options(compressor)));
    let mapped = Options { fastmap: true, ..options(Compressor::Lzo) };
    let mapped = [68, 90].map(|blocks| (blocks, mapped.clone()));
    for (seed, (blocks, options)) in (0..).zip(plain.into_iter().chain(mapped)) {
        let device = Device::new(blocks, options);
        device.format().unwrap();
        let mut vfs = device.mount().unwrap();
        vfs.mkdir("dir").unwrap();
        let (files, prng) = (BTreeMap::new(), Prng::new(seed));
        let mut run = Run { device, vfs, files, prng };
        for _step in 0..1500 {
            run.step();
        }
        run.remount();
        let names = run.vfs.list("/").unwrap().len() - 1 + run.vfs.list("dir").unwrap().len();
        assert_eq!(names, run.files.len(), "seed {seed}");
        let trace =
            run.device.recorder.take(run.device.chip.borrow().device().chip().part().geometry);
        let other = trace.events.iter().filter(|event| {
            event.kind != EventKind::Mark && trace.causes.path(event.cause) == "other"
        });
        // The scan for bad blocks comes before any file system, and has no other cause.
        assert_eq!(other.count(), 0, "each operation has a cause");
    }
}

#[test]
fn either_maker_makes_a_file_system() {
    for maker in [Maker::Mount, Maker::Mkfs] {
        let device = Device::new(120, Options { maker, ..Options::default() });
        device.format().unwrap();
        let mut vfs = device.mount().unwrap();
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 100_000, b"far").unwrap();
        vfs.unmount().unwrap();
        let mut vfs = device.mount().unwrap();
        let content = read_all(&mut vfs, "file").unwrap();
        assert!(content[..100_000].iter().all(|&byte| byte == 0) && content.ends_with(b"far"));
    }
}

#[test]
fn a_full_device_says_so_and_keeps_what_it_has() {
    let device = Device::new(40, options(Compressor::Lzo));
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    let mut prng = Prng::new(3);
    let mut files = Vec::new();
    let full = 'full: loop {
        let name = format!("file{}", files.len());
        let mut content = vec![0; 100_000];
        prng.fill(&mut content);
        let Ok(fd) = vfs.open(&name, true) else { break FsError::NoSpace };
        for (place, bytes) in (0_u64..).zip(content.chunks(5000)) {
            if let Err(error) = vfs.write(fd, place * 5000, bytes) {
                break 'full error;
            }
        }
        vfs.close(fd).unwrap();
        files.push((name, content));
    };
    assert_eq!(full, FsError::NoSpace);
    assert!(files.len() > 10, "{} files", files.len());
    vfs.unmount().unwrap();
    let mut vfs = device.mount().unwrap();
    for (name, content) in &files {
        assert!(read_all(&mut vfs, name).unwrap() == *content, "{name}");
    }
    for (name, _) in &files {
        vfs.unlink(name).unwrap();
    }
    vfs.sync().unwrap();
    let fd = vfs.open("again", true).unwrap();
    vfs.write(fd, 0, &vec![7; 300_000]).unwrap();
    vfs.fsync(fd).unwrap();
}

/// `no_chk_data_crc`, which is the kernel's default since 2.6.39: checksums of data take no time.
#[test]
fn checksums_of_data_take_time_only_where_they_are_checked() {
    let checksummed = [false, true].map(|checks_data| {
        let device = Device::new(40, Options { checks_data, ..options(Compressor::None) });
        device.format().unwrap();
        let mut vfs = device.mount().unwrap();
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &vec![5; 40_960]).unwrap();
        vfs.fsync(fd).unwrap();
        vfs.drop_caches().unwrap();
        let count = || device.cpu.counts().0[Unit::ChecksumByte as usize];
        let before = count();
        vfs.read(fd, 0, &mut vec![0; 40_960]).unwrap();
        count() - before
    });
    // Ten nodes of a page and a header of 48 bytes each.
    assert_eq!(checksummed[1] - checksummed[0], 10 * (4096 + 48));
}
