//! Images that no JFFS2 wrote: random bytes, flipped bits, and nodes with right checksums but wrong
//! numbers.

use std::ops::Range;
use std::sync::Arc;

use flysch_chip::{Clock, EventKind, FaultPlan, Part, Prng};
use flysch_linux::filesystem::{FileKind, FsError};
use flysch_linux::jffs2::Options;
use flysch_linux::vfs::Vfs;
use flysch_nand::{Nand, PageAddr};

use super::admit::History;
use super::operation::User;
use super::{Bench, patience, small_part};
use crate::image::chip_of;

/// Far more operations than any of these runs needs. An endless loop ends here.
const OPERATIONS_MAX: u64 = 1_000_000;

/// The data and OOB bytes of a chip.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) part: Arc<Part>,
    pub(crate) data: Vec<u8>,
    oob: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: u16,
    pub(crate) at: usize,
    pub(crate) len: usize,
}

impl Image {
    pub(crate) fn of(bench: &Bench) -> Self {
        let mut chip = bench.device.borrow().chip().fork(Clock::new());
        let part = Arc::new(chip.part().clone());
        let geometry = part.geometry;
        let mut image = Self { part, data: Vec::new(), oob: Vec::new() };
        for page in 0..geometry.page_count() {
            let mut bytes = vec![0; (geometry.page_size + geometry.oob_size) as usize];
            chip.read(PageAddr(page), 0, &mut bytes).unwrap();
            image.oob.push(bytes.split_off(geometry.page_size as usize));
            image.data.extend(bytes);
        }
        image
    }

    /// An image of data alone, as tools make it, on an erased chip.
    pub(crate) fn of_data(part: Arc<Part>, mut data: Vec<u8>) -> Self {
        let geometry = part.geometry;
        let pages = geometry.page_count() as usize;
        data.resize(pages * geometry.page_size as usize, 0xFF);
        Self { part, data, oob: vec![vec![0xFF; geometry.oob_size as usize]; pages] }
    }

    /// A chip that holds the bytes of the image.
    pub(crate) fn bench(&self) -> Bench {
        let pages = self.data.chunks(self.part.geometry.page_size as usize).zip(&self.oob);
        let pages = pages.map(|(data, oob)| [data, oob]);
        Bench::of_chip(&chip_of(&self.part, pages))
    }

    /// The nodes of the image, found by walking from header to header.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(head) = self.data.get(at..at + 12) {
                if head[..2] == [0x85, 0x19] && crc32(&head[..8]) == u32_at(head, 8) {
                    let kind = u16::from_le_bytes([head[2], head[3]]);
                    let node = Node { kind, at, len: u32_at(head, 4) as usize };
                    at += node.len.next_multiple_of(4);
                    return Some(node);
                }
                at += 4;
            }
            None
        })
    }

    /// The data of a block, and the OOB bytes of its pages.
    pub(crate) fn block(&self, block: usize) -> (&[u8], &[Vec<u8>]) {
        let pages = self.part.geometry.pages_per_block as usize;
        let size = self.part.geometry.block_size() as usize;
        (&self.data[block * size..][..size], &self.oob[block * pages..][..pages])
    }

    /// Put a block of an image in the place of one of this image.
    pub(crate) fn copy_block(&mut self, origin: &Self, from: usize, to: usize) {
        let (data, oob) = origin.block(from);
        self.data[to * data.len()..][..data.len()].copy_from_slice(data);
        self.oob[to * oob.len()..][..oob.len()].clone_from_slice(oob);
    }

    /// Make the second entry of one in so many summaries impossible, so that those behind it are
    /// not believed. Returns how many summaries that are.
    pub(crate) fn shorten_summaries(&mut self, every: usize) -> usize {
        let summaries = self.nodes().filter(|node| node.kind == 0x2006);
        let summaries: Vec<Node> = summaries.step_by(every).collect();
        for &node in &summaries {
            let mut at = node.at + 32;
            let kind = u16::from_le_bytes([self.data[at], self.data[at + 1]]);
            let name_len = usize::from(self.data[at + 22]);
            at += if kind == 0xE002 { 18 } else { 24 + name_len };
            let is_inode = self.data[at..at + 2] == [0x02, 0xE0];
            self.put(at + if is_inode { 10 } else { 6 }, 0x7FFF_FFF0);
            self.sign_node(node);
        }
        summaries.len()
    }

    /// Spoil the inode nodes whose lengths of data and offsets are those that are meant. Returns
    /// how many they are.
    pub(crate) fn spoil_inodes(&mut self, is_meant: impl Fn(u32, u32) -> bool) -> usize {
        let inodes: Vec<Node> = self.nodes().filter(|node| node.kind == 0xE002).collect();
        let meant = inodes.into_iter().filter(|node| {
            let word = |at| u32_at(&self.data, node.at + at);
            is_meant(word(52), word(44))
        });
        let meant: Vec<Node> = meant.collect();
        for node in &meant {
            self.data[node.at + 16] ^= 0xFF;
        }
        meant.len()
    }

    fn put(&mut self, at: usize, value: u32) {
        self.data[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Set the checksum at `at` to that of the range `bytes`.
    fn sign(&mut self, at: usize, bytes: Range<usize>) {
        let crc = crc32(&self.data[bytes]);
        self.put(at, crc);
    }

    /// Correct the checksums of a node.
    fn sign_node(&mut self, node: Node) {
        let Node { kind, at, len } = node;
        self.sign(at + 8, at..at + 8);
        match kind {
            0xE001 => {
                self.sign(at + 32, at..at + 32);
                let name_len = usize::from(self.data[at + 28]).min(len - 40);
                self.sign(at + 36, at + 40..at + 40 + name_len);
            }
            0xE002 => {
                self.sign(at + 60, at + 68..at + len);
                self.sign(at + 64, at..at + 60);
            }
            0x2006 => {
                self.sign(at + 24, at + 32..at + len);
                self.sign(at + 28, at..at + 24);
            }
            _other => assert_eq!(kind, 0x2004, "padding has no checksum of its own"),
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(!0);
    hasher.update(bytes);
    !hasher.finalize()
}

/// An image with files, directories, deleted names, holes and obsolete nodes.
fn grown_image(summaries: bool, seed: u64) -> Image {
    let mut bench = Bench::new(small_part(8, 24));
    bench.options = Options { summaries, seed, ..bench.options };
    bench.format().unwrap();
    let mut user = User::new(bench.mount().unwrap());
    History::after(&mut user, "JFFS2", seed, 150);
    user.vfs.unmount().unwrap();
    Image::of(&bench)
}

/// Mount the image, whatever it is, and use all of it. Every call must return, and soon.
fn check_survives(image: &Image, what: &str) {
    let bench = image.bench();
    bench.arm(FaultPlan { cut_at: Some(OPERATIONS_MAX), ..FaultPlan::default() });
    let mounted = bench.mount();
    let changes = [EventKind::Program, EventKind::ProgramOob, EventKind::Erase];
    let count: u64 = changes.iter().map(|&kind| bench.recorder.count(kind)).sum();
    assert_eq!(count, 0, "{what}: a mount changes nothing");
    if let Ok(mut vfs) = mounted {
        use_all(&mut vfs);
        let _any = vfs.unmount();
        if let Ok(mut vfs) = bench.mount() {
            use_all(&mut vfs);
        }
    }
    assert!(bench.device.borrow().is_on(), "{what}: more than {OPERATIONS_MAX} operations");
}

/// Make every kind of call. Any result is allowed.
pub(crate) fn use_all(vfs: &mut Vfs) {
    let mut waiting = vec![(String::new(), 0)];
    while let Some((dir, depth)) = waiting.pop() {
        let _any = vfs.mkdir(&format!("{dir}/made"));
        let _any = vfs.open(&format!("{dir}/new"), true).and_then(|fd| vfs.close(fd));
        for entry in vfs.list(&dir).unwrap_or_default() {
            let Ok(name) = String::from_utf8(entry.name) else { continue };
            let path = format!("{dir}/{name}");
            match entry.kind {
                FileKind::Directory if depth < 3 => waiting.push((path, depth + 1)),
                FileKind::Directory | FileKind::Special => {}
                FileKind::Regular => use_file(vfs, &path),
            }
        }
        let _any = vfs.unlink(&format!("{dir}/made"));
        let _any = vfs.rename(&format!("{dir}/new"), &format!("{dir}/b"));
        let _any = vfs.unlink(&format!("{dir}/c"));
    }
    vfs.sleep(3_000_000_000);
    let _any = vfs.sync();
    let _any = vfs.drop_caches();
}

fn use_file(vfs: &mut Vfs, path: &str) {
    let Ok(fd) = vfs.open(path, false) else { return };
    let size = vfs.size(fd).unwrap_or(0);
    let mut bytes = vec![0; 20_000];
    for at in [0, size / 2, size.saturating_sub(5000)] {
        let _any = vfs.read(fd, at, &mut bytes);
    }
    for at in [0, 4000, size.saturating_sub(10), size + 5000] {
        let _any = vfs.write(fd, at, &bytes[..1000]);
    }
    let _any = vfs.fsync(fd);
    let _any = vfs.truncate(fd, size / 2);
    let _any = vfs.close(fd);
}

#[test]
fn flipped_bits_are_survived() {
    let images = [grown_image(false, 1), grown_image(true, 2)];
    for seed in 0..400 * patience() {
        let mut prng = Prng::new(seed);
        let mut image = images[usize::try_from(seed % 2).unwrap()].clone();
        let used = image.nodes().map(|node| node.at..node.at + node.len).collect::<Vec<_>>();
        for _ in 0..1 << prng.below(8) {
            let node = used[usize::try_from(prng.below(used.len() as u64)).unwrap()].clone();
            let at = node.start + usize::try_from(prng.below(node.len() as u64)).unwrap();
            image.data[at] ^= 1 << prng.below(8);
        }
        check_survives(&image, &format!("seed {seed}"));
    }
}

#[test]
fn false_numbers_are_survived() {
    let images = [grown_image(false, 3), grown_image(true, 4)];
    let edges = [0, 1, 2, 0xFF, 4095, 4096, 16_384, 1 << 20, 0x7FFF_FFFF, 0xFFFF_F000, u32::MAX];
    for seed in 0..1500 * patience() {
        let mut prng = Prng::new(seed);
        let mut image = images[usize::try_from(seed % 2).unwrap()].clone();
        let nodes: Vec<Node> = image.nodes().collect();
        for _ in 0..1 << prng.below(6) {
            let node = nodes[usize::try_from(prng.below(nodes.len() as u64)).unwrap()];
            let (first, words) = match node.kind {
                0xE001 => (12, 5),
                0xE002 => (12, 12),
                0x2006 => (12, (node.len as u64 - 12) / 4),
                _ => continue,
            };
            let at = node.at + first + 4 * usize::try_from(prng.below(words)).unwrap();
            let old = u32_at(&image.data, at);
            let near = old.wrapping_add(u32::try_from(prng.below(9)).unwrap()).wrapping_sub(4);
            let edge = edges[usize::try_from(prng.below(edges.len() as u64)).unwrap()];
            image.put(at, if prng.below(3) == 0 { near } else { edge });
            image.sign_node(node);
        }
        check_survives(&image, &format!("seed {seed}"));
    }
}

#[test]
fn blocks_out_of_place_are_survived() {
    let images = [grown_image(false, 5), grown_image(true, 6)];
    for seed in 0..100 * patience() {
        let mut prng = Prng::new(seed);
        let mut image = images[usize::try_from(seed % 2).unwrap()].clone();
        for _ in 0..=prng.below(4) {
            let unit = if prng.below(2) == 0 { 2048 } else { 16_384 };
            let units = (image.data.len() / unit) as u64;
            let mut draw = || usize::try_from(prng.below(units)).unwrap() * unit;
            let (from, to) = (draw(), draw());
            image.data.copy_within(from..from + unit, to);
            if prng.below(3) == 0 {
                prng.fill(&mut image.data[to..to + unit]);
            }
        }
        check_survives(&image, &format!("seed {seed}"));
    }
}

/// A block has a cleanmarker and a blank first page, but data behind. A mount takes it for erased,
/// as the kernel's does. Files written on it must be reported as damaged when they are read, and
/// all others must be intact.
#[test]
fn a_block_marked_erased_that_is_not_costs_only_what_is_written_on_it() {
    let mut bench = Bench::new(small_part(8, 24));
    bench.options = Options { compressors: Vec::new(), ..bench.options };
    bench.format().unwrap();
    let mut vfs = bench.mount().unwrap();
    vfs.sleep(60_000_000_000);
    vfs.unmount().unwrap();
    let mut image = Image::of(&bench);
    let geometry = image.part.geometry;
    let blocks = image.data.chunks_mut(geometry.block_size() as usize);
    let first_oobs = image.oob.chunks(geometry.pages_per_block as usize).map(|pages| &pages[0]);
    let marked = blocks.zip(first_oobs).filter(|(_, oob)| oob[2..4] == [0x85, 0x19]);
    for (block, _) in marked.step_by(2) {
        block[geometry.page_size as usize..].fill(0);
    }

    let mut bench = image.bench();
    bench.options = Options { compressors: Vec::new(), ..bench.options };
    let mut vfs = bench.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    for at in 0..40_u8 {
        vfs.write(fd, u64::from(at) * 4096, &[at; 4096]).unwrap();
    }
    vfs.fsync(fd).unwrap();
    vfs.drop_caches().unwrap();
    let mut page = [0; 4096];
    let outcomes = (0..40_u8)
        .map(|at| vfs.read(fd, u64::from(at) * 4096, &mut page).map(|_| page == [at; 4096]));
    let outcomes: Vec<_> = outcomes.collect();
    let is_told = |outcome: &Result<bool, FsError>| matches!(outcome, Err(FsError::Damaged { .. }));
    assert!(outcomes.iter().any(is_told) && outcomes.contains(&Ok(true)), "{outcomes:?}");
    assert!(!outcomes.contains(&Ok(false)), "{outcomes:?}");
}
