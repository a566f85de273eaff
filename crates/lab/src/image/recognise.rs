//! Recognises an image: which file system it holds, whether it includes OOB bytes, and for which
//! geometry it was made.
//!
//! An image has no header that says so. It is read both with and without OOB bytes between the
//! pages, and structures with a right checksum are counted. The wrong way cuts pages at the wrong
//! places and breaks the structures that reach across, so the right way finds the most.

use std::fmt;
use std::ops::RangeInclusive;

use flysch_chip::Part;
use flysch_linux::jffs2::FoundNodes;
use flysch_linux::{ftl, jffs2, ubi, ubifs, yaffs2};
use flysch_nand::Geometry;

use crate::machine::stack::Main;

/// How many bytes of an image are examined, which limits the memory.
const LOOKED_AT: usize = 64 << 20;
/// Physical eraseblocks begin at multiples of this, bytes.
const SECTOR: usize = 512;
/// Possible page sizes of NAND, bytes. The data of a UBI block begins in the first or the second
/// page.
const PAGES: RangeInclusive<u32> = 512..=64 << 10;
/// The smallest part of a page that a header of UBI takes, bytes.
const SECTOR_MIN: u32 = 64;
/// From so many broken nodes on, and from this share of all nodes on, one in so many, the way to
/// read an image is doubtful.
const BROKEN_MIN: usize = 4;
const BROKEN_SHARE: usize = 4;
/// First free OOB byte: the bad-block mark stands before it.
const OOB_FREE: usize = 2;

/// A way to read an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) main: Main,
    /// Whether OOB bytes follow the data of each page.
    pub(super) has_oob: bool,
    /// The geometry that the image was made for. If the image does not show it, that of the part.
    pub(super) geometry: Geometry,
    /// How many structures with a right checksum are found this way.
    evidence: usize,
    /// How many begin right and have a wrong checksum further on.
    broken: usize,
}

impl Recognised {
    /// A line that says why this may be the wrong way to read the image. A power cut breaks one
    /// node, and pages that are cut at the wrong places break most of those that are long.
    pub(super) fn doubt(&self) -> Option<String> {
        let all = self.evidence + self.broken;
        let is_doubtful = self.broken >= BROKEN_MIN && self.broken >= all / BROKEN_SHARE;
        is_doubtful.then(|| {
            format!(
                "{} of its {all} nodes are broken, so that files are not whole; if it is of \
                 another chip, name it with --part",
                self.broken
            )
        })
    }
}

/// Why an image is not recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecognised {
    /// No structure of this file system was found. None: of no known file system.
    Nothing(Option<Main>),
    /// It is a YAFFS2 image without the OOB bytes in which YAFFS2 keeps its tags.
    NoTags,
    /// It is a volume of UBIFS without UBI below it.
    NoUbi,
    /// It is JFFS2 of a big-endian machine.
    BigEndian,
}

impl fmt::Display for Unrecognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing(None) => f.write_str(
                "no JFFS2, UBI, YAFFS2 or FTL is found in it; if it is of another chip, name it \
                 with --part",
            ),
            Self::Nothing(Some(main)) => write!(
                f,
                "no {} is found in it; leave --on out to have the file system found",
                main.name()
            ),
            Self::NoTags => f.write_str(
                "a YAFFS2 image without OOB, where YAFFS2 keeps its tags; dump it with \
                 nanddump --oob",
            ),
            Self::NoUbi => f.write_str(
                "a UBIFS volume without UBI, as mkfs.ubifs makes it; put it into a UBI image \
                 with ubinize",
            ),
            Self::BigEndian => f.write_str("JFFS2 of a big-endian machine, which is not supported"),
        }
    }
}

/// Recognise `image`, which is flash of `part` or was made for another geometry. With `wanted`,
/// only that file system is considered.
pub(super) fn recognise(
    part: &Part,
    image: &[u8],
    wanted: Option<Main>,
) -> Result<Recognised, Unrecognised> {
    let geometry = part.geometry;
    let has_whole_pages = image.len().is_multiple_of(page_with_oob(&geometry));
    let image = &image[..image.len().min(LOOKED_AT)];
    let mut candidates = vec![jffs2_without_oob(image, geometry), ubi_without_oob(image, geometry)];
    // An image that was cut off within a page is still found to have OOB bytes, and then refused.
    candidates.extend(with_oob(image, geometry));
    let is_sought = |found: &&Recognised| {
        found.evidence > 0 && wanted.is_none_or(|wanted| wanted == found.main)
    };
    let best = candidates
        .iter()
        .filter(is_sought)
        .max_by_key(|found| (found.evidence, !found.has_oob || has_whole_pages));
    best.copied().ok_or_else(|| foreign(image, &geometry, wanted))
}

const fn page_with_oob(geometry: &Geometry) -> usize {
    (geometry.page_size + geometry.oob_size) as usize
}

/// The ways to read an image whose pages are followed by their OOB bytes.
fn with_oob(image: &[u8], geometry: Geometry) -> [Recognised; 4] {
    let page_size = geometry.page_size as usize;
    let pages = || image.chunks_exact(page_with_oob(&geometry));
    let data: Vec<u8> = pages().flat_map(|page| &page[..page_size]).copied().collect();
    let tags =
        |is_tag: fn(&[u8]) -> bool| pages().filter(|page| is_tag(&page[page_size..])).count();
    let pebs = data.chunks(geometry.block_size() as usize);
    let pebs = pebs.filter(|peb| ubi::header_places(peb).is_some()).count();
    let nodes = jffs2::nodes_in(&data);
    let is_yaffs2 = |oob: &[u8]| oob.get(OOB_FREE..).is_some_and(yaffs2::has_tags);
    [
        (Main::Jffs2, nodes.whole.len(), nodes.broken),
        (Main::Ubifs, pebs, 0),
        (Main::Yaffs2, tags(is_yaffs2), 0),
        (Main::Ftl, tags(ftl::has_tag), 0),
    ]
    .map(|(main, evidence, broken)| Recognised {
        main,
        has_oob: true,
        geometry,
        evidence,
        broken,
    })
}

/// Reads an image as JFFS2. It does not contain the size of a block, but no node crosses the end of
/// a block, so the smallest size that fits the nodes is taken.
fn jffs2_without_oob(image: &[u8], mut geometry: Geometry) -> Recognised {
    let FoundNodes { whole: nodes, broken } = jffs2::nodes_in(image);
    let ends_in_other_block =
        |size: usize| nodes.iter().any(|node| node.start / size != (node.end - 1) / size);
    while ends_in_other_block(geometry.block_size() as usize) {
        geometry.pages_per_block *= 2;
        geometry.block_count = geometry.block_count.div_ceil(2);
    }
    Recognised { main: Main::Jffs2, has_oob: false, geometry, evidence: nodes.len(), broken }
}

/// Reads an image as UBI. Its headers say where in a block the data begins, and their distance is
/// the size of a block.
fn ubi_without_oob(image: &[u8], geometry: Geometry) -> Recognised {
    let at = |&start: &usize| ubi::header_places(&image[start..]).is_some();
    let starts: Vec<usize> = (0..image.len()).step_by(SECTOR).filter(at).collect();
    let block_size = starts.iter().copied().fold(0, gcd);
    let places = starts.first().and_then(|&start| ubi::header_places(&image[start..]));
    let places = places.filter(|&(vid, data)| {
        block_size.is_power_of_two() && PAGES.contains(&data) && (SECTOR_MIN..data).contains(&vid)
    });
    let evidence = if places.is_some() { starts.len() } else { 0 };
    let geometry = places.map_or(geometry, |(vid, data)| {
        let begins = starts.iter().filter_map(|start| image.get(start + data as usize..));
        let page_size = begins.into_iter().find_map(ubifs::page_size_of);
        let page_size = page_size.filter(|page_size| PAGES.contains(page_size));
        of_ubi(geometry, block_size, (vid, data), page_size)
    });
    Recognised { main: Main::Ubifs, has_oob: false, geometry, evidence, broken: 0 }
}

const fn gcd(a: usize, b: usize) -> usize {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The geometry for which a UBI image was made. It follows from the offsets of the headers in a
/// block, and from the page size in UBIFS's superblock, if it is found (`of_ubifs`). A VID header
/// that begins within the first page shows that sectors are programmed one by one.
fn of_ubi(
    geometry: Geometry,
    block_size: usize,
    (vid, data): (u32, u32),
    of_ubifs: Option<u32>,
) -> Geometry {
    let page_size = of_ubifs.unwrap_or(if data == 2 * vid { vid } else { data });
    let sectors_per_page = (page_size / vid).max(1);
    let block_size = u32::try_from(block_size).unwrap_or(u32::MAX);
    let chip_size = u64::from(geometry.block_size()) * u64::from(geometry.block_count);
    let block_count = chip_size.div_ceil(u64::from(block_size));
    Geometry {
        page_size,
        sectors_per_page,
        partial_programs: sectors_per_page,
        pages_per_block: block_size / page_size,
        block_count: u32::try_from(block_count).unwrap_or(u32::MAX),
        ..geometry
    }
}

/// Why no known structure was found.
fn foreign(image: &[u8], geometry: &Geometry, wanted: Option<Main>) -> Unrecognised {
    let mut pages = image.chunks_exact(geometry.page_size as usize);
    let is_sought = |main| wanted.is_none_or(|wanted| wanted == main);
    if is_sought(Main::Ubifs) && ubifs::page_size_of(image).is_some() {
        Unrecognised::NoUbi
    } else if is_sought(Main::Jffs2) && image.starts_with(&[0x19, 0x85]) {
        Unrecognised::BigEndian
    } else if is_sought(Main::Yaffs2) && pages.any(yaffs2::is_header) {
        Unrecognised::NoTags
    } else {
        Unrecognised::Nothing(wanted)
    }
}
