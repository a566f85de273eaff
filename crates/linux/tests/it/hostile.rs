//! Images that no file system wrote. Whatever is on the flash, a mount and all calls must return a
//! result or an error, and soon.
#![expect(clippy::big_endian_bytes, reason = "UBI's own byte order")]

use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultPlan, Part, Prng};
use flysch_nand::{Nand, PageAddr};

use crate::image::chip_of;
use crate::jffs2::admit::History;
use crate::jffs2::images::use_all;
use crate::jffs2::operation::{User, below};
use crate::jffs2::patience;
use crate::machine::{FASTMAP, KINDS, Kind, LZO, Machine};

/// Far more operations than any of these runs needs. An endless loop ends here.
const OPERATIONS_MAX: u64 = 2_000_000;

/// The data and the OOB bytes of all pages of a chip.
#[derive(Clone)]
struct Image {
    kind: Kind,
    part: Arc<Part>,
    data: Vec<u8>,
    oob: Vec<u8>,
}

impl Image {
    /// The flash after some use. It was unmounted if `is_clean`.
    fn grown(kind: Kind, seed: u64, is_clean: bool) -> Self {
        let part = Arc::new(kind.part());
        let machine = Machine::new(kind, &Chip::new(Arc::clone(&part), Clock::new(), seed));
        machine.format();
        let mut user = User::new(machine.mount().unwrap());
        History::after(&mut user, &format!("{kind:?}"), seed, 150);
        if is_clean {
            user.vfs.unmount().unwrap();
        }
        drop(user);
        let mut chip = machine.device.borrow().chip().fork(Clock::new());
        let (mut data, mut oob) = (Vec::new(), Vec::new());
        let page_size = part.geometry.page_size as usize;
        for page in (0..part.geometry.page_count()).map(PageAddr) {
            let mut bytes = vec![0; page_size + part.geometry.oob_size as usize];
            chip.read(page, 0, &mut bytes).unwrap();
            oob.extend(bytes.split_off(page_size));
            data.extend(bytes);
        }
        Self { kind, part, data, oob }
    }

    fn chip(&self) -> Chip {
        let geometry = self.part.geometry;
        let data = self.data.chunks(geometry.page_size as usize);
        let pages = data.zip(self.oob.chunks(geometry.oob_size as usize));
        chip_of(&self.part, pages.map(|(data, oob)| [data, oob]))
    }

    /// Mount the image, whatever it is, and use all of it, twice.
    fn check_survived(&self, what: &str) {
        let machine = Machine::new(self.kind, &self.chip());
        let plan = FaultPlan { cut_at: Some(OPERATIONS_MAX), ..FaultPlan::default() };
        machine.device.borrow_mut().arm(plan);
        for _ in 0..2 {
            if let Ok(mut vfs) = machine.mount() {
                use_all(&mut vfs);
                let _any = vfs.unmount();
            }
        }
        assert!(machine.device.borrow().is_on(), "{what}: more than {OPERATIONS_MAX} operations");
    }

    /// The data and the OOB bytes of `count` pages from `page` on.
    fn pages(&mut self, page: usize, count: usize) -> (&mut [u8], &mut [u8]) {
        let geometry = self.part.geometry;
        let (page_size, oob_size) = (geometry.page_size as usize, geometry.oob_size as usize);
        (
            &mut self.data[page * page_size..(page + count) * page_size],
            &mut self.oob[page * oob_size..(page + count) * oob_size],
        )
    }

    fn copy(&mut self, from: usize, to: usize, count: usize) {
        let (data, oob) = self.pages(from, count);
        let (data, oob) = (data.to_vec(), oob.to_vec());
        let (to_data, to_oob) = self.pages(to, count);
        to_data.copy_from_slice(&data);
        to_oob.copy_from_slice(&oob);
    }

    fn blank(&mut self, page: usize, count: usize) {
        let (data, oob) = self.pages(page, count);
        data.fill(0xFF);
        oob.fill(0xFF);
    }

    fn used_page(&self, prng: &mut Prng) -> usize {
        let page_size = self.part.geometry.page_size as usize;
        let count = self.data.len() / page_size;
        let is_used =
            |page: &usize| self.data[page * page_size..][..page_size].iter().any(|&it| it != 0xFF);
        let first = below(prng, count);
        (first..count).chain(0..first).find(is_used).unwrap_or(first)
    }

    /// Damage the image in one way that happens to flash, or that someone could do to it.
    fn damage(&mut self, prng: &mut Prng) {
        let geometry = self.part.geometry;
        let per_block = geometry.pages_per_block as usize;
        let pages = geometry.page_count() as usize;
        let page = self.used_page(prng);
        let block = below(prng, geometry.block_count as usize) * per_block;
        let other = below(prng, geometry.block_count as usize) * per_block;
        let (data, oob) = self.pages(page, 1);
        match prng.below(8) {
            0 => (0..=prng.below(64))
                .for_each(|_| data[below(prng, data.len())] ^= 1 << prng.below(8)),
            1 => (0..=prng.below(8)).for_each(|_| oob[2 + below(prng, 36)] ^= 1 << prng.below(8)),
            2 => prng.fill(data),
            3 => prng.fill(&mut oob[2..38]),
            4 => self.blank(page, 1),
            5 => self.copy(page, below(prng, pages), 1),
            6 => self.copy(block, other, per_block),
            _ => self.blank(block.max(pages / 2), pages - block.max(pages / 2)),
        }
    }
}

#[test]
fn damaged_images_are_survived() {
    for kind in KINDS {
        let images = [Image::grown(kind, 1, true), Image::grown(kind, 2, false)];
        for seed in 0..60 * patience() {
            let mut prng = Prng::new(seed);
            let mut image = images[below(&mut prng, 2)].clone();
            for _ in 0..1 << prng.below(6) {
                image.damage(&mut prng);
            }
            image.check_survived(&format!("{kind:?}, seed {seed}"));
        }
    }
}

/// Structures of UBI and UBIFS with a checksum: where each begins, and its length if that varies.
#[derive(Clone, Copy, Debug)]
enum Signed {
    /// A header of UBI. The CRC-32 of its first 60 bytes follows them, big-endian.
    Header(usize),
    /// A node of UBIFS. Its second word is the CRC-32 of all that follows it, little-endian.
    Node(usize, usize),
    /// A fastmap. Its third word is the CRC-32 of all of it, big-endian.
    Fastmap(usize, usize),
}

impl Image {
    /// All structures with a checksum. Nodes must end within their block.
    fn signed(&self) -> Vec<Signed> {
        let block = self.part.geometry.block_size() as usize;
        let find = |at: usize| match self.data.get(at..at + 24)? {
            [b'U', b'B', b'I', b'#' | b'!', ..] => Some(Signed::Header(at)),
            [0x7B, 0x11, 0xD6, 0x9F, ..] => {
                Some(Signed::Fastmap(at, at.next_multiple_of(block) - at))
            }
            [0x31, 0x18, 0x10, 0x06, rest @ ..] => {
                let len = u32::from_le_bytes(rest[12..16].try_into().unwrap()) as usize;
                (len >= 24 && at % block + len <= block).then_some(Signed::Node(at, len))
            }
            _ => None,
        };
        (0..self.data.len()).step_by(8).filter_map(find).collect()
    }

    /// Change a number in a structure, and correct its checksum.
    fn falsify(&mut self, signed: Signed, prng: &mut Prng) {
        let edges = [
            0,
            1,
            2,
            7,
            8,
            24,
            28,
            0xFF,
            4096,
            4097,
            30_720,
            1 << 20,
            0x7FFF_FFFF,
            0xFFFF_F000,
            u32::MAX,
        ];
        let edge = edges[below(prng, edges.len())];
        let near =
            |old: u32, step: u64| old.wrapping_add(u32::try_from(step).unwrap()).wrapping_sub(4);
        let chance = prng.below(3);
        let step = prng.below(9);
        match signed {
            Signed::Header(at) => {
                let word = at + 4 * (1 + below(prng, 14));
                let old = u32::from_be_bytes(self.data[word..word + 4].try_into().unwrap());
                let new = if chance == 0 { near(old, step) } else { edge };
                self.data[word..word + 4].copy_from_slice(&new.to_be_bytes());
                let crc = !crc32fast::hash(&self.data[at..at + 60]);
                self.data[at + 60..at + 64].copy_from_slice(&crc.to_be_bytes());
            }
            Signed::Fastmap(at, len) => {
                // The ranges hold its numbers, and the first of its lists and tables.
                let words = [3..6, 78..90, 610..800, 800..1200];
                let words = words[below(prng, words.len())].clone();
                let word = at + 4 * (words.start + below(prng, words.len()));
                let old = u32::from_be_bytes(self.data[word..word + 4].try_into().unwrap());
                let new = if chance == 0 { near(old, step) } else { edge };
                self.data[word..word + 4].copy_from_slice(&new.to_be_bytes());
                self.data[at + 8..at + 12].fill(0);
                let crc = !crc32fast::hash(&self.data[at..at + len]);
                self.data[at + 8..at + 12].copy_from_slice(&crc.to_be_bytes());
            }
            Signed::Node(at, len) => {
                // Numbers are near the start of a node. Payload, names and branches follow.
                let reach = if prng.below(3) == 0 { len } else { len.min(96) };
                let word = at + 4 * (2 + below(prng, reach / 4 - 2));
                let old = u32::from_le_bytes(self.data[word..word + 4].try_into().unwrap());
                let new = if chance == 0 { near(old, step) } else { edge };
                self.data[word..word + 4].copy_from_slice(&new.to_le_bytes());
                let crc = !crc32fast::hash(&self.data[at + 8..at + len]);
                self.data[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
            }
        }
    }
}

#[test]
fn false_numbers_of_ubi_and_ubifs_are_survived() {
    for kind in [LZO, FASTMAP] {
        let images = [Image::grown(kind, 3, true), Image::grown(kind, 4, false)];
        let signed = images.each_ref().map(Image::signed);
        for seed in 0..400 * patience() {
            let mut prng = Prng::new(seed);
            let which = below(&mut prng, 2);
            let mut image = images[which].clone();
            for _ in 0..1 << prng.below(6) {
                let one = signed[which][below(&mut prng, signed[which].len())];
                image.falsify(one, &mut prng);
            }
            image.check_survived(&format!("{kind:?}, seed {seed}"));
        }
    }
}

/// A fastmap with a right checksum may still hold wrong numbers.
#[test]
fn false_numbers_of_fastmaps_are_survived() {
    let image = Image::grown(FASTMAP, 3, true);
    let fastmap = |signed: &Signed| matches!(signed, Signed::Fastmap(..));
    let fastmaps: Vec<Signed> = image.signed().into_iter().filter(fastmap).collect();
    assert!(!fastmaps.is_empty(), "one is written at the unmount");
    for seed in 0..400 * patience() {
        let mut prng = Prng::new(seed);
        let mut image = image.clone();
        for _ in 0..=prng.below(3) {
            for &one in &fastmaps {
                image.falsify(one, &mut prng);
            }
        }
        image.check_survived(&format!("seed {seed}"));
    }
}
