//! A file system of your own under the real SQLite. `LogFs` appends every page that changes to the
//! end of the partition, and erases a block when none of its pages is needed any more. It keeps the
//! names, and the place of each page, in RAM, so it cannot be mounted again: the lab tells what a
//! design costs before its recovery is written.
//!
//! ```sh
//! cargo run --release --package flysch-lab --example own_filesystem
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use flysch_chip::Recorder;
use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::site::Simulated;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Micro;
use flysch_linux::cache::PageCache;
use flysch_linux::filesystem::{CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino};
use flysch_linux::mtd::Partition;

const ROOT: Ino = Ino(1);

struct LogFs {
    partition: Partition,
    recorder: Recorder,
    names: BTreeMap<Vec<u8>, Ino>,
    files: BTreeMap<Ino, File>,
    /// Pages of each block that a file needs.
    live: Vec<u32>,
    /// The block that is written, and the next page in it.
    head: (u32, u32),
    next_ino: u32,
}

#[derive(Default)]
struct File {
    size: usize,
    has_name: bool,
    /// The page of the partition that holds a page of the file.
    pages: BTreeMap<usize, u32>,
}

impl LogFs {
    fn new(partition: Partition, recorder: Recorder) -> Result<Self, FsError> {
        let live = vec![0; partition.block_count() as usize];
        let (names, files) = (BTreeMap::new(), BTreeMap::new());
        let mut fs =
            Self { partition, recorder, names, files, live, head: (0, 0), next_ino: ROOT.0 + 1 };
        fs.take_block()?;
        Ok(fs)
    }

    /// Go on in an empty block, which is erased.
    fn take_block(&mut self) -> Result<(), FsError> {
        let _scope = self.recorder.scope("logfs_take_block");
        let count = self.partition.block_count();
        let after = (1..=count).map(|step| (self.head.0 + step) % count);
        let mut empty =
            after.filter(|&block| self.live[block as usize] == 0 && !self.partition.is_bad(block));
        let block = empty.next().ok_or(FsError::NoSpace)?;
        self.partition.erase(block)?;
        self.head = (block, 0);
        Ok(())
    }

    fn file(&mut self, ino: Ino) -> Result<&mut File, FsError> {
        self.files.get_mut(&ino).ok_or(FsError::NotFound)
    }

    fn page_size(&self) -> usize {
        self.partition.geometry().page_size as usize
    }

    /// Read a page of a file. A hole has zeros.
    fn read(&mut self, ino: Ino, index: usize, page: &mut [u8]) -> Result<(), FsError> {
        let page_size = self.partition.geometry().page_size;
        match self.file(ino)?.pages.get(&index).copied() {
            None => page.fill(0),
            Some(place) => drop(self.partition.read(place * page_size, page)?),
        }
        Ok(())
    }

    /// Append a new version of a page of a file.
    fn append(&mut self, ino: Ino, index: usize, page: &[u8]) -> Result<(), FsError> {
        let geometry = self.partition.geometry();
        if self.head.1 == geometry.pages_per_block {
            self.take_block()?;
        }
        let place = self.head.0 * geometry.pages_per_block + self.head.1;
        self.partition.write(place * geometry.page_size, page)?;
        self.head.1 += 1;
        self.live[self.head.0 as usize] += 1;
        if let Some(old) = self.file(ino)?.pages.insert(index, place) {
            self.live[(old / geometry.pages_per_block) as usize] -= 1;
        }
        Ok(())
    }
}

impl FileSystem for LogFs {
    fn name(&self) -> &'static str {
        "logfs"
    }

    /// The page cache is passed by: each write is durable when it returns.
    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Direct
    }

    fn maps_shared(&self) -> bool {
        true
    }

    fn root(&self) -> Ino {
        ROOT
    }

    fn lookup(&mut self, _: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        let entry = |&ino| DirEntry { name: name.to_vec(), ino, kind: FileKind::Regular };
        Ok(self.names.get(name).map(entry))
    }

    fn entries(&mut self, _: Ino) -> Result<Vec<DirEntry>, FsError> {
        let entry = |(name, &ino): (&Vec<u8>, &Ino)| DirEntry {
            name: name.clone(),
            ino,
            kind: FileKind::Regular,
        };
        Ok(self.names.iter().map(entry).collect())
    }

    fn create(&mut self, _: Ino, name: &[u8], _: FileKind) -> Result<Ino, FsError> {
        let ino = Ino(self.next_ino);
        self.next_ino += 1;
        self.names.insert(name.to_vec(), ino);
        self.files.insert(ino, File { has_name: true, ..File::default() });
        Ok(ino)
    }

    fn unlink(&mut self, _: Ino, name: &[u8]) -> Result<(), FsError> {
        let ino = self.names.remove(name).ok_or(FsError::NotFound)?;
        self.file(ino)?.has_name = false;
        Ok(())
    }

    fn rename(&mut self, _: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError> {
        let ino = self.names.remove(name).ok_or(FsError::NotFound)?;
        if self.names.contains_key(new_name) {
            self.unlink(to, new_name)?;
        }
        self.names.insert(new_name.to_vec(), ino);
        Ok(())
    }

    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        Ok(self.file(ino)?.size as u64)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        if !self.file(ino)?.has_name {
            self.truncate(&mut PageCache::default(), ino, 0)?;
            self.files.remove(&ino);
        }
        Ok(())
    }

    fn read_direct(&mut self, ino: Ino, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let _scope = self.recorder.scope("logfs_read");
        let (page_size, size) = (self.page_size(), self.file(ino)?.size);
        let start = usize::try_from(offset).map_or(size, |offset| offset.min(size));
        let count = bytes.len().min(size - start);
        let mut page = vec![0; page_size];
        let (mut at, mut rest) = (start, &mut bytes[..count]);
        while !rest.is_empty() {
            self.read(ino, at / page_size, &mut page)?;
            let within = &page[at % page_size..];
            let (part, tail) = rest.split_at_mut(rest.len().min(within.len()));
            part.copy_from_slice(&within[..part.len()]);
            at += part.len();
            rest = tail;
        }
        Ok(count)
    }

    fn write(
        &mut self,
        _: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("logfs_write");
        let page_size = self.page_size();
        let mut page = vec![0; page_size];
        let mut at = usize::try_from(offset).map_err(|_| FsError::TooLong)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let from = at % page_size;
            let (part, tail) = rest.split_at(rest.len().min(page_size - from));
            if part.len() < page_size {
                self.read(ino, at / page_size, &mut page)?;
            }
            page[from..from + part.len()].copy_from_slice(part);
            self.append(ino, at / page_size, &page)?;
            at += part.len();
            rest = tail;
        }
        let file = self.file(ino)?;
        file.size = file.size.max(at);
        Ok(())
    }

    fn truncate(&mut self, _: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError> {
        let pages_per_block = self.partition.geometry().pages_per_block;
        let size = usize::try_from(size).map_err(|_| FsError::TooLong)?;
        let kept = size.div_ceil(self.page_size());
        let file = self.file(ino)?;
        let freed = file.pages.split_off(&kept);
        file.size = size;
        for place in freed.into_values() {
            self.live[(place / pages_per_block) as usize] -= 1;
        }
        Ok(())
    }

    fn fsync(&mut self, _: &mut PageCache, _: Ino, _data_only: bool) -> Result<(), FsError> {
        Ok(())
    }

    fn sync(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        Ok(())
    }

    fn unmount(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let platform = Arc::new(Platform::named("am62-6.12")?);
    let mut grid = Grid::new(Micro::Commit, Stack::UBIFS, platform);
    grid.axes.requests = vec![300];
    let scenario = grid.scenarios().swap_remove(0);

    let own = scenario.build.mount_own(|partition, _cpu, recorder| {
        Ok(Box::new(LogFs::new(partition, recorder)?) as Box<dyn FileSystem>)
    })?;
    let own = scenario.run_at(Box::new(Simulated::on(own, &scenario)))?;
    println!("{:<14}{:>8}{:>10}{:>8}", "file system", "reads", "programs", "erases");
    for (name, run) in [("logfs", own), ("ubifs", scenario.run()?)] {
        let cost = run.operations;
        let counts = (cost.page_reads, cost.page_programs, cost.block_erases);
        println!("{name:<14}{:>8}{:>10}{:>8}", counts.0, counts.1, counts.2);
    }
    Ok(())
}
