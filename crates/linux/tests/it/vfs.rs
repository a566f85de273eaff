//! System calls: compared with a model on the file system in RAM, and page by page on one that
//! counts.

use std::collections::BTreeMap;

use flysch_chip::{Clock, Prng, Recorder};
use flysch_linux::cache::ReadAheadProfile::{self, A, B, C};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::{FileSystem, FsError, Ino};
use flysch_linux::tmpfs::Tmpfs;
use flysch_linux::vfs::{Advice, FILE_SIZE_MAX, Fd, Vfs};

use crate::counting::{self, TICK_NS, content};
use crate::machine::speed;

const MIB: u64 = 1 << 20;

fn tmpfs(size_max: u64) -> Vfs {
    let clock = Clock::new();
    let recorder = Recorder::new(clock.clone(), "test");
    let fs: Box<dyn FileSystem> = Box::new(Tmpfs::new(size_max));
    Vfs::mount(fs, C, Cpu::new(clock, speed()), recorder)
}

fn read_all(vfs: &mut Vfs, fd: Fd) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(vfs.size(fd).unwrap()).unwrap() + 1];
    let len = vfs.read(fd, 0, &mut bytes).unwrap();
    bytes.truncate(len);
    bytes
}

/// What the files should hold, with those that are open but have no name.
#[derive(Default)]
struct Model {
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
}

/// One run of random calls, made both on `vfs` and on the model.
struct Run {
    vfs: Vfs,
    model: Model,
    prng: Prng,
    open: Vec<(Fd, usize)>,
}

impl Run {
    fn step(&mut self) {
        match self.prng.below(10) {
            0 => self.open_file(),
            1 => self.close_file(),
            2 => self.unlink(),
            3 => self.rename(),
            4 => self.truncate(),
            5 => self.vfs.drop_caches().unwrap(),
            6 | 7 => self.write(),
            _ => self.compare(),
        }
    }

    fn name(&mut self) -> String {
        let directory = ["", "/", "/dir/"][self.below(3)];
        format!("{directory}{}", self.prng.below(4))
    }

    fn key(name: &str) -> String {
        name.trim_start_matches('/').to_owned()
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.prng.below(bound as u64)).unwrap()
    }

    fn any_open(&mut self) -> Option<(Fd, usize)> {
        if self.open.is_empty() {
            return None;
        }
        let which = self.below(self.open.len());
        Some(self.open[which])
    }

    fn open_file(&mut self) {
        let name = self.name();
        let known = self.model.names.get(&Self::key(&name)).copied();
        let create = self.prng.below(2) == 0;
        assert_eq!(self.vfs.exists(&name), Ok(known.is_some()));
        let opened = self.vfs.open(&name, create);
        if known.is_none() && !create {
            assert_eq!(opened, Err(FsError::NotFound));
            return;
        }
        let file = known.unwrap_or_else(|| {
            self.model.files.push(Vec::new());
            self.model.names.insert(Self::key(&name), self.model.files.len() - 1);
            self.model.files.len() - 1
        });
        self.open.push((opened.unwrap(), file));
    }

    fn close_file(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let which = self.below(self.open.len());
        let (fd, _) = self.open.swap_remove(which);
        self.vfs.close(fd).unwrap();
    }

    fn unlink(&mut self) {
        let name = self.name();
        let known = self.model.names.remove(&Self::key(&name));
        assert_eq!(self.vfs.unlink(&name), known.map(drop).ok_or(FsError::NotFound));
    }

    fn rename(&mut self) {
        let (from, to) = (self.name(), self.name());
        let known = self.model.names.remove(&Self::key(&from));
        assert_eq!(self.vfs.rename(&from, &to), known.map(drop).ok_or(FsError::NotFound));
        if let Some(file) = known {
            self.model.names.insert(Self::key(&to), file);
        }
    }

    fn truncate(&mut self) {
        let size = self.below(20_000);
        if let Some((fd, file)) = self.any_open() {
            self.vfs.truncate(fd, size as u64).unwrap();
            self.model.files[file].resize(size, 0);
        }
    }

    fn write(&mut self) {
        let (offset, len) = (self.below(20_000), self.below(9_000));
        let mut bytes = vec![0; len];
        self.prng.fill(&mut bytes);
        if let Some((fd, file)) = self.any_open() {
            self.vfs.write(fd, offset as u64, &bytes).unwrap();
            let content = &mut self.model.files[file];
            if len > 0 {
                content.resize(content.len().max(offset + len), 0);
                content[offset..offset + len].copy_from_slice(&bytes);
            }
        }
    }

    fn compare(&mut self) {
        if let Some((fd, file)) = self.any_open() {
            assert_eq!(read_all(&mut self.vfs, fd), self.model.files[file]);
        }
    }
}

#[test]
fn random_calls_agree_with_a_model() {
    for seed in 0..20 {
        let mut vfs = tmpfs(64 * MIB);
        vfs.mkdir("/dir").unwrap();
        let prng = Prng::new(seed);
        let mut run = Run { vfs, model: Model::default(), prng, open: Vec::new() };
        for _step in 0..1000 {
            run.step();
        }
        let root = run.vfs.list("/").unwrap().len() - 1;
        let names = root + run.vfs.list("dir").unwrap().len();
        assert_eq!(names, run.model.names.len(), "seed {seed}");
        run.vfs.unmount().unwrap();
    }
}

#[test]
fn an_unlinked_file_lives_until_its_last_close() {
    let mut vfs = tmpfs(8192);
    let fd = vfs.open("journal", true).unwrap();
    let second = vfs.open("/journal", false).unwrap();
    vfs.write(fd, 0, &[7; 8192]).unwrap();
    vfs.unlink("journal").unwrap();
    assert_eq!(vfs.open("journal", false), Err(FsError::NotFound));
    vfs.close(second).unwrap();
    assert_eq!(read_all(&mut vfs, fd), [7; 8192]);
    let next = vfs.open("journal", true).unwrap();
    assert_eq!(vfs.write(next, 0, &[1]), Err(FsError::NoSpace), "its space is still taken");
    vfs.close(fd).unwrap();
    assert_eq!(vfs.write(next, 0, &[1]), Ok(()));
}

#[test]
fn names_are_checked() {
    let mut vfs = tmpfs(MIB);
    vfs.mkdir("/a").unwrap();
    vfs.mkdir("/a/b").unwrap();
    vfs.open("/a/b/file", true).unwrap();
    vfs.open("file", true).unwrap();
    assert_eq!(vfs.mkdir("/a/b"), Err(FsError::Exists));
    assert_eq!(vfs.open("/a", false), Err(FsError::WrongKind));
    assert_eq!(vfs.open("/", false), Err(FsError::WrongKind));
    assert_eq!(vfs.open("/file/x", true), Err(FsError::WrongKind));
    assert_eq!(vfs.open("/missing/x", true), Err(FsError::NotFound));
    assert_eq!(vfs.exists("/missing/x"), Ok(false));
    assert_eq!(vfs.open(&"x".repeat(256), true), Err(FsError::TooLong));
    assert_eq!(vfs.unlink("/a/b"), Err(FsError::NotEmpty));
    assert_eq!(vfs.rename("/a", "/a/b/c"), Err(FsError::WrongKind), "into itself");
    assert_eq!(vfs.rename("/file", "/a"), Err(FsError::WrongKind));
    assert_eq!(vfs.rename("/a", "/file"), Err(FsError::WrongKind));
    vfs.rename("/file", "/a/b/file").unwrap();
    vfs.unlink("/a/b/file").unwrap();
    vfs.unlink("/a/b/").unwrap();
    vfs.sync_directory("/a").unwrap();
    assert_eq!(vfs.list("/a").unwrap(), []);
}

#[test]
fn sizes_are_limited_at_the_door() {
    let mut vfs = tmpfs(MIB);
    let fd = vfs.open("file", true).unwrap();
    assert_eq!(vfs.write(fd, u64::MAX, &[1]), Err(FsError::TooLong));
    assert_eq!(vfs.write(fd, FILE_SIZE_MAX, &[1]), Err(FsError::TooLong));
    assert_eq!(vfs.truncate(fd, FILE_SIZE_MAX + 1), Err(FsError::TooLong));
    assert_eq!(vfs.truncate(fd, 2 * MIB), Err(FsError::NoSpace));
    assert_eq!(vfs.size(fd), Ok(0));
    let (mut vfs, _log) = counting::mount(10, C);
    let fd = vfs.open("file", false).unwrap();
    assert_eq!(vfs.read(fd, u64::MAX, &mut [0; 4]), Ok(0));
    vfs.advise(fd, Advice::DontNeed { offset: u64::MAX, len: u64::MAX }).unwrap();
    vfs.advise(fd, Advice::WillNeed { offset: u64::MAX, len: 1 }).unwrap();
}

#[test]
fn reads_give_the_file_and_end_with_it() {
    let (mut vfs, _log) = counting::mount(10_000, C);
    let fd = vfs.open("file", false).unwrap();
    let expected: Vec<u8> = (0..10_000).map(|at| content(at / 4096)).collect();
    let mut prng = Prng::new(1);
    for _read in 0..200 {
        let offset = usize::try_from(prng.below(12_000)).unwrap();
        let mut bytes = vec![0xFF; usize::try_from(prng.below(9_000)).unwrap()];
        let len = vfs.read(fd, offset as u64, &mut bytes).unwrap();
        assert_eq!(len, bytes.len().min(10_000_usize.saturating_sub(offset)));
        assert!(len == 0 || bytes[..len] == expected[offset..offset + len]);
    }
}

fn page_reads_after(
    profile: ReadAheadProfile,
    advice: Advice,
    read: std::ops::Range<u64>,
) -> Vec<u32> {
    let (mut vfs, log) = counting::mount(MIB, profile);
    let fd = vfs.open("file", false).unwrap();
    vfs.advise(fd, advice).unwrap();
    let mut bytes = vec![0; usize::try_from(read.end - read.start).unwrap()];
    vfs.read(fd, read.start, &mut bytes).unwrap();
    log.borrow().page_reads.iter().map(|(index, _)| *index).collect()
}

#[test]
fn advice_sets_the_window() {
    for profile in [A, B, C] {
        assert_eq!(page_reads_after(profile, Advice::Normal, 0..1), [0, 1, 2, 3]);
        assert_eq!(page_reads_after(profile, Advice::Random, 0..8192), [0, 1]);
        let all = page_reads_after(profile, Advice::WillNeed { offset: 8191, len: 2 }, 0..0);
        assert_eq!(all, [1, 2]);
        let rest = Advice::WillNeed { offset: 1_000_000, len: 0 };
        assert_eq!(page_reads_after(profile, rest, 0..0).len(), 12);
    }
    assert_eq!(page_reads_after(C, Advice::Normal, 0..17 * 4096).len(), 32);
    assert_eq!(page_reads_after(C, Advice::Sequential, 0..17 * 4096).len(), 64);
}

#[test]
fn advice_drops_whole_pages_only() {
    let (mut vfs, _log) = counting::mount(MIB, C);
    let fd = vfs.open("file", false).unwrap();
    vfs.advise(fd, Advice::WillNeed { offset: 0, len: 0 }).unwrap();
    assert_eq!(vfs.cache().len(), 256);
    vfs.advise(fd, Advice::DontNeed { offset: 1, len: 8191 }).unwrap();
    assert_eq!(vfs.cache().len(), 255);
    assert!(!vfs.cache().contains(Ino(2), 1));
    vfs.advise(fd, Advice::DontNeed { offset: 0, len: 0 }).unwrap();
    assert_eq!(vfs.cache().len(), 0);
}

#[test]
fn causes_tell_demand_from_read_ahead() {
    let (mut vfs, log) = counting::mount(MIB, C);
    let fd = vfs.open("file", false).unwrap();
    vfs.read(fd, 0, &mut [0; 8192]).unwrap();
    let (demand, ahead) = ("read > page_in".to_owned(), "read > read_ahead".to_owned());
    let reads = log.borrow().page_reads[..4].to_vec();
    let expected = [(0, &demand), (1, &demand), (2, &ahead), (3, &ahead)];
    assert_eq!(reads, expected.map(|(index, cause)| (index, cause.clone())));
}

#[test]
fn damage_hurts_only_who_asks_for_it() {
    let (mut vfs, log) = counting::mount(MIB, C);
    log.borrow_mut().damaged.insert(2);
    let fd = vfs.open("file", false).unwrap();
    let mut bytes = [0; 4096];
    assert_eq!(vfs.read(fd, 0, &mut bytes), Ok(4096), "read ahead of the damaged page");
    assert_eq!(vfs.read(fd, 4096, &mut bytes), Ok(4096));
    let damage = Err(FsError::Damaged { ino: Ino(2), offset: 8192 });
    assert_eq!(vfs.read(fd, 8192, &mut bytes), damage);
    assert_eq!(vfs.read(fd, 0, &mut [0; 12288]), damage, "short only at the end of the file");
    log.borrow_mut().damaged.clear();
    assert_eq!(vfs.read(fd, 8192, &mut bytes), Ok(4096));
    assert_eq!(bytes, [content(2); 4096]);
}

#[test]
fn errors_are_told_and_leave_the_calls_usable() {
    let (mut vfs, _log) = counting::mount(MIB, C);
    let fd = vfs.open("file", false).unwrap();
    assert_eq!(vfs.write(fd, 0, &[1]), Err(FsError::PowerLost));
    assert_eq!(vfs.fsync(fd), Err(FsError::PowerLost));
    assert_eq!(vfs.fdatasync(fd), Err(FsError::PowerLost));
    assert_eq!(vfs.sync(), Err(FsError::PowerLost));
    assert_eq!(vfs.open("new", true), Err(FsError::NoSpace));
    assert_eq!(vfs.unmount(), Err(FsError::PowerLost));
}

#[test]
fn truncation_reaches_into_the_cached_page() {
    let (mut vfs, _log) = counting::mount(MIB, C);
    let fd = vfs.open("file", false).unwrap();
    vfs.advise(fd, Advice::WillNeed { offset: 0, len: 0 }).unwrap();
    vfs.truncate(fd, 2 * 4096 + 10).unwrap();
    assert_eq!(vfs.cache().len(), 3);
    let page = vfs.cache().get(Ino(2), 2).unwrap();
    assert!(page[..10] == [content(2); 10] && page[10..].iter().all(|&byte| byte == 0));
    vfs.truncate(fd, 0).unwrap();
    assert!(vfs.cache().is_empty());
}

#[test]
fn dropping_caches_evicts_files_that_nobody_has_open() {
    let (mut vfs, log) = counting::mount(MIB, C);
    let fd = vfs.open("file", false).unwrap();
    vfs.read(fd, 0, &mut [0; 1]).unwrap();
    vfs.drop_caches().unwrap();
    assert!(vfs.cache().is_empty());
    assert_eq!(log.borrow().evicted, []);
    vfs.close(fd).unwrap();
    assert_eq!(log.borrow().evicted, [], "the inode stays in memory");
    vfs.drop_caches().unwrap();
    vfs.drop_caches().unwrap();
    assert_eq!(log.borrow().evicted, [Ino(2)]);
}

#[test]
fn tasks_run_when_a_sleep_or_a_call_lets_them() {
    let (mut vfs, log) = counting::mount(MIB, C);
    log.borrow_mut().wakeup_ns = Some(TICK_NS);
    vfs.sleep(TICK_NS - 1);
    assert_eq!(log.borrow().runs_ns, []);
    vfs.sleep(2 * TICK_NS + 1);
    assert_eq!(log.borrow().runs_ns, [TICK_NS, 2 * TICK_NS, 3 * TICK_NS]);
    log.borrow_mut().wakeup_ns = Some(0);
    let fd = vfs.open("file", false).unwrap();
    assert_eq!(log.borrow().runs_ns.len(), 4, "a task overdue runs before the call");
    vfs.close(fd).unwrap();
    assert_eq!(log.borrow().runs_ns.len(), 4);
}

#[test]
fn a_task_without_power_does_not_hold_up_time() {
    let (mut vfs, log) = counting::mount(MIB, C);
    log.borrow_mut().is_powerless = true;
    log.borrow_mut().wakeup_ns = Some(5);
    vfs.sleep(10);
    vfs.sleep(10);
    assert_eq!(log.borrow().runs_ns, [5, 10]);
}

#[test]
fn a_small_cache_reads_its_pages_again() {
    let (mut vfs, log) = counting::mount(MIB, C);
    vfs.limit_cache(100);
    let fd = vfs.open("file", false).unwrap();
    for _pass in 0..2 {
        let mut bytes = vec![0; 1 << 20];
        assert_eq!(vfs.read(fd, 0, &mut bytes), Ok(1 << 20));
    }
    assert_eq!(vfs.cache().len(), 100);
    assert_eq!(log.borrow().page_reads.len(), 512);
}
