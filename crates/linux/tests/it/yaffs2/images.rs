//! Images that no YAFFS2 wrote: random bytes, flipped bits, and tags and headers with right codes
//! but wrong numbers.

use std::sync::Arc;

use flysch_chip::{Clock, FaultPlan, Part, Prng};
use flysch_linux::yaffs2::Options;
use flysch_nand::{Nand, PageAddr};

use super::{ALL_OPTIONS, Bench, read_users};
use crate::image::chip_of;
use crate::jffs2::admit::History;
use crate::jffs2::images::use_all;
use crate::jffs2::operation::{User, below};
use crate::jffs2::{patience, small_part};

/// Far more operations than any of these runs needs. An endless loop ends here.
const OPERATIONS_MAX: u64 = 1_000_000;
/// The OOB bytes of a page that hold its tags.
const TAGS: std::ops::Range<usize> = 2..30;

/// The data and OOB bytes of all pages of a chip.
#[derive(Clone)]
pub(super) struct Image {
    part: Arc<Part>,
    pages: Vec<(Vec<u8>, Vec<u8>)>,
    options: Options,
}

impl Image {
    pub(super) fn of(bench: &Bench) -> Self {
        let mut chip = bench.device.borrow().chip().fork(Clock::new());
        let part = Arc::new(chip.part().clone());
        let geometry = part.geometry;
        let read = |page| {
            let mut data = vec![0; (geometry.page_size + geometry.oob_size) as usize];
            chip.read(PageAddr(page), 0, &mut data).unwrap();
            let oob = data.split_off(geometry.page_size as usize);
            (data, oob)
        };
        let pages = (0..geometry.page_count()).map(read).collect();
        Self { part, pages, options: bench.options }
    }

    pub(super) fn bench(&self) -> Bench {
        let pages = self.pages.iter().map(|(data, oob)| [&data[..], &oob[..]]);
        Bench::of_chip(&chip_of(&self.part, pages), self.options)
    }

    pub(super) fn page_count(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn data(&self, page: usize) -> &[u8] {
        &self.pages[page].0
    }

    pub(super) fn set_data(&mut self, page: usize, data: &[u8]) {
        self.pages[page].0.copy_from_slice(data);
    }

    /// The four words of a page's tags.
    pub(super) fn tags(&self, page: usize) -> [u32; 4] {
        let tags = &self.pages[page].1[TAGS];
        std::array::from_fn(|at| u32::from_le_bytes(tags[4 * at..][..4].try_into().unwrap()))
    }

    pub(super) fn used(&self) -> Vec<usize> {
        let pages = self.pages.iter().enumerate();
        pages.filter(|(_, (_, oob))| oob[TAGS][..4] != [0xFF; 4]).map(|(page, _)| page).collect()
    }

    /// Replace a word in the tags of a page, and correct their code.
    fn set_tag(&mut self, page: usize, word: usize, value: u32) {
        let tags = &mut self.pages[page].1[TAGS];
        tags[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        let (mut columns, mut lines, mut inverse) = (0_u8, 0_u32, 0_u32);
        for (place, byte) in (0_u32..).zip(&tags[..16]) {
            for (bit, mask) in [0x55, 0xAA, 0x33, 0xCC, 0x0F, 0xF0_u8].into_iter().enumerate() {
                columns ^= u8::from((byte & mask).count_ones() % 2 == 1) << bit;
            }
            if byte.count_ones() % 2 == 1 {
                lines ^= place;
                inverse ^= !place;
            }
        }
        tags[16] = columns;
        tags[20..24].copy_from_slice(&lines.to_le_bytes());
        tags[24..].copy_from_slice(&inverse.to_le_bytes());
    }
}

fn grown_image(options: Options, seed: u64, clean: bool) -> Image {
    let bench = Bench::new(small_part(8, 40), options);
    bench.format().unwrap();
    let mut user = User::new(bench.mount().unwrap());
    History::after(&mut user, "YAFFS2", seed, 150);
    if clean {
        user.vfs.unmount().unwrap();
    }
    Image::of(&bench)
}

fn images() -> Vec<Image> {
    let [today, old, _] = ALL_OPTIONS;
    vec![grown_image(today, 1, false), grown_image(today, 2, true), grown_image(old, 3, false)]
}

/// Mount the image, whatever it is, and use all of it. Every call must return, and soon.
fn check_survives(image: &Image, what: &str) {
    let bench = image.bench();
    bench.arm(FaultPlan { cut_at: Some(OPERATIONS_MAX), ..FaultPlan::default() });
    for _ in 0..2 {
        if let Ok(mut vfs) = bench.mount() {
            use_all(&mut vfs);
            let _any = vfs.unmount();
        }
    }
    assert!(bench.device.borrow().is_on(), "{what}: more than {OPERATIONS_MAX} operations");
}

#[test]
fn garbage_is_survived() {
    let images = images();
    for seed in 0..300 * patience() {
        let mut prng = Prng::new(seed);
        let mut image = images[below(&mut prng, images.len())].clone();
        let used = image.used();
        for _ in 0..1 << prng.below(7) {
            let page = used[below(&mut prng, used.len())];
            let (data, oob) = &mut image.pages[page];
            match prng.below(4) {
                0 => prng.fill(data),
                1 => prng.fill(&mut oob[TAGS]),
                2 => data[below(&mut prng, 512)] ^= 1 << prng.below(8),
                _ => oob[TAGS][below(&mut prng, 28)] ^= 1 << prng.below(8),
            }
        }
        check_survives(&image, &format!("seed {seed}"));
    }
}

#[test]
fn false_numbers_are_survived() {
    let images = images();
    let edges = [0, 1, 2, 3, 4, 16, 257, 2049, 0x21, 0xF_FFFF, 0xFFF_FFFF, 1 << 31, u32::MAX];
    for seed in 0..600 * patience() {
        let mut prng = Prng::new(seed);
        let mut image = images[below(&mut prng, images.len())].clone();
        let used = image.used();
        for _ in 0..1 << prng.below(6) {
            let page = used[below(&mut prng, used.len())];
            let edge = edges[below(&mut prng, edges.len())];
            match prng.below(3) {
                0 => image.set_tag(page, below(&mut prng, 4), edge),
                1 => {
                    let flag = 1 << (28 + prng.below(4));
                    let old = image.pages[page].1[TAGS][8..12].try_into().unwrap();
                    image.set_tag(page, 2, u32::from_le_bytes(old) ^ flag);
                }
                _ => {
                    let at = [0, 4, 292, 496, 504, 508][below(&mut prng, 6)];
                    image.pages[page].0[at..at + 4].copy_from_slice(&edge.to_le_bytes());
                }
            }
        }
        check_survives(&image, &format!("seed {seed}"));
    }
}

#[test]
fn pages_out_of_place_are_survived() {
    let images = images();
    for seed in 0..300 * patience() {
        let mut prng = Prng::new(seed);
        let mut image = images[below(&mut prng, images.len())].clone();
        let count = image.pages.len();
        let run = if prng.below(2) == 0 { 1 } else { 8 };
        for _ in 0..1 << prng.below(6) {
            let (from, to) =
                (below(&mut prng, count / run) * run, below(&mut prng, count / run) * run);
            for step in 0..run {
                image.pages[to + step] = image.pages[from + step].clone();
            }
        }
        check_survives(&image, &format!("seed {seed}"));
    }
}

/// Whatever byte of a checkpoint is wrong, it is not believed: a scan finds the files as they are.
#[test]
fn a_damaged_checkpoint_is_not_believed() {
    let bench = Bench::new(small_part(8, 40), ALL_OPTIONS[0]);
    bench.format().unwrap();
    let mut vfs = bench.mount().unwrap();
    for number in 0..5_u8 {
        let fd = vfs.open(&format!("file{number}"), true).unwrap();
        vfs.write(fd, 0, &vec![number + 1; 3000 * usize::from(number + 1)]).unwrap();
        vfs.close(fd).unwrap();
    }
    vfs.unmount().unwrap();
    let wanted = read_users(&mut bench.mount().unwrap()).unwrap();
    let origin = Image::of(&bench);
    let is_checkpoint = |page: &usize| origin.pages[*page].1[TAGS][..4] == [0x21, 0, 0, 0];
    let checkpoint: Vec<usize> = origin.used().into_iter().filter(is_checkpoint).collect();
    let &first = checkpoint.first().expect("it was written at the unmount");
    for at in (0..2048).step_by(4) {
        let mut image = origin.clone();
        image.pages[first].0[at] ^= 1;
        let found = read_users(&mut image.bench().mount().unwrap());
        assert!(found.as_ref() == Ok(&wanted), "byte {at}: {found:?}");
    }
}
