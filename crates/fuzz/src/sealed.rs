//! Structures with a checksum: finding them in an image, and correcting ("sealing") the checksum
//! after a change.

use std::ops::Range;

use flysch_lab::machine::stack::Main;

use crate::image::Image;

/// Where the tags of YAFFS2 and of the translation layer begin in the OOB bytes.
pub(crate) const TAGS: usize = 2;
const TAGS_SIZE: usize = 28;
/// The words before the sum at the end of a YAFFS2 checkpoint; below, the sequence number of its
/// chunks and the length of their headers.
const CHECKPOINT_END: [u32; 4] = [16, 0x5941_FF53, 8, 0];
const CHECKPOINT_SEQUENCE: [u8; 4] = [0x21, 0, 0, 0];
const CHECKPOINT_HEAD: usize = 16;
const UBIFS_MAGIC: [u8; 4] = [0x31, 0x18, 0x10, 0x06];
const FASTMAP_MAGIC: [u8; 4] = [0x7B, 0x11, 0xD6, 0x9F];
/// The records of UBI's volume table.
const RECORD_SIZE: usize = 172;
/// Possible sizes of the nodes of UBIFS's LPT (tree of LEB properties), bytes.
const LPT_SIZES: Range<usize> = 9..200;
const PLAINFS_MAGIC: [u8; 4] = 0x4C50_5346_u32.to_le_bytes();
const JOURNAL_MAGIC: [u8; 4] = 0x4A48_4452_u32.to_le_bytes();

/// A structure. Numbers are offsets in the data of the image, unless the variant says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealed {
    UbiHeader(usize),
    UbiRecord(usize),
    Fastmap(usize, usize),
    Ubifs(usize, usize),
    Lpt(usize, usize),
    Jffs2(usize, usize),
    /// The tags of the page with this number.
    YaffsTags(usize),
    /// The header of an object in this page. It has no checksum.
    YaffsHeader(usize),
    /// This page of a checkpoint.
    YaffsCheckpoint(usize),
    /// A block's summary, which begins at this page.
    YaffsSummary(usize),
    /// The tag of this page.
    FtlTag(usize),
    /// The data of this page. Its checksum is in the tag.
    FtlData(usize),
}

/// All structures of an image.
pub(crate) fn find(main: Main, image: &Image) -> Vec<Sealed> {
    match main {
        Main::Jffs2 => words(image).filter_map(|at| jffs2_node(&image.data, at)).collect(),
        Main::Ubifs => {
            let known = words(image).filter_map(|at| ubi_structure(image, at));
            known.chain(ubi_records(image)).chain(lpt_nodes(image)).collect()
        }
        Main::Yaffs2 => yaffs2_structures(image),
        Main::Ftl => {
            let pages = (0..image.pages()).filter(|&page| tags(image, page)[0] == 0xF7);
            pages.flat_map(|page| [Sealed::FtlTag(page), Sealed::FtlData(page)]).collect()
        }
        Main::Tmpfs | Main::Chip => Vec::new(),
    }
}

fn words(image: &Image) -> impl Iterator<Item = usize> {
    (0..image.data.len()).step_by(4)
}

pub(crate) fn tags(image: &Image, page: usize) -> &[u8] {
    &image.oob[page * image.oob_size() + TAGS..][..TAGS_SIZE]
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..at + 4)
        .map_or(0, |word| word.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)))
}

fn jffs2_node(data: &[u8], at: usize) -> Option<Sealed> {
    let head = data.get(at..at + 12)?;
    let is_node = head[..2] == [0x85, 0x19] && u32_at(head, 8) == plain_crc(&head[..8]);
    let len = u32_at(head, 4);
    (is_node && at + len <= data.len() && len >= 12).then_some(Sealed::Jffs2(at, len))
}

fn ubi_structure(image: &Image, at: usize) -> Option<Sealed> {
    let block = image.geometry.block_size() as usize;
    let room = block - at % block;
    match image.data.get(at..at + 24)? {
        [b'U', b'B', b'I', b'#' | b'!', ..] => Some(Sealed::UbiHeader(at)),
        head if head.starts_with(&FASTMAP_MAGIC) => Some(Sealed::Fastmap(at, room)),
        head if head.starts_with(&UBIFS_MAGIC) => {
            let len = u32_at(head, 16);
            (24..=room).contains(&len).then_some(Sealed::Ubifs(at, len))
        }
        _ => None,
    }
}

/// The ranges of data of UBI's blocks, each with the number of its volume as four bytes.
fn ubi_blocks(image: &Image) -> impl Iterator<Item = (Range<usize>, [u8; 4])> {
    let block = image.geometry.block_size() as usize;
    (0..image.data.len()).step_by(block).filter_map(move |start| {
        let number = |at: usize| {
            let bytes = image.data.get(start + at..start + at + 4)?;
            Some(bytes.iter().fold(0, |value, &byte| value << 8 | usize::from(byte)))
        };
        let (vid, data) = (number(16)?, number(20)?);
        let header = image.data.get(start + vid..start + vid + 12).filter(|_| data < block)?;
        let volume = header[8..12].first_chunk().copied()?;
        header.starts_with(b"UBI!").then_some((start + data..start + block, volume))
    })
}

fn ubi_records(image: &Image) -> impl Iterator<Item = Sealed> {
    let tables = ubi_blocks(image).filter(|(_, volume)| *volume == [0x7F, 0xFF, 0xEF, 0xFF]);
    tables.flat_map(|(data, _)| {
        (0..3).map(move |it| Sealed::UbiRecord(data.start + it * RECORD_SIZE))
    })
}

/// The nodes of the LPT. They have no magic number and may begin at any byte, so they are found by
/// their checksums.
fn lpt_nodes(image: &Image) -> Vec<Sealed> {
    let is_other = |data: &Range<usize>| {
        let bytes = &image.data[data.clone()];
        !bytes.starts_with(&UBIFS_MAGIC) && bytes[..8] != [0xFF; 8]
    };
    let mut nodes = Vec::new();
    for (data, _) in ubi_blocks(image).filter(|(data, volume)| *volume == [0; 4] && is_other(data))
    {
        let mut at = data.start;
        while at + LPT_SIZES.end < data.end {
            let crc = image.data[at..at + 2].first_chunk().map(|it| u16::from_le_bytes(*it));
            let mut sizes = LPT_SIZES;
            let end = sizes.find(|len| Some(crc16(!0, &image.data[at + 2..at + len])) == crc);
            let is_blank = image.data[at..at + 4] == [0xFF; 4];
            if let Some(len) = end.filter(|_| !is_blank) {
                nodes.push(Sealed::Lpt(at, len));
                at += len;
            } else if is_blank {
                break;
            } else {
                at += 1;
            }
        }
    }
    nodes
}

fn yaffs2_structures(image: &Image) -> Vec<Sealed> {
    let size = image.page_size();
    let used: Vec<usize> =
        (0..image.pages()).filter(|&page| tags(image, page)[..4] != [0xFF; 4]).collect();
    let of_page = |&page: &usize| {
        let at = page * size;
        let kind = if is_checkpoint(image, page) {
            Sealed::YaffsCheckpoint(at)
        } else if image.data[at..at + 4] == [1, 0, 0, 0]
            && u32_at(&image.data, at + 8) == u32_at(tags(image, page), 0)
        {
            Sealed::YaffsSummary(at)
        } else {
            Sealed::YaffsHeader(at)
        };
        [Sealed::YaffsTags(page), kind]
    };
    used.iter().flat_map(of_page).collect()
}

fn is_checkpoint(image: &Image, page: usize) -> bool {
    tags(image, page)[..4] == CHECKPOINT_SEQUENCE
}

/// Correct the sums in the headers of a checkpoint's chunks, and the sum at its end.
fn seal_checkpoint(image: &mut Image) {
    let size = image.page_size();
    let mut pages: Vec<usize> =
        (0..image.pages()).filter(|&page| is_checkpoint(image, page)).collect();
    pages.sort_by_key(|&page| u32_at(tags(image, page), 8));
    let parts = pages.iter().map(|page| &image.data[page * size..][CHECKPOINT_HEAD..size]);
    let mut stream = parts.collect::<Vec<_>>().concat();
    let sums = |bytes: &[u8]| {
        let sum = bytes.iter().fold(0_u32, |sum, &byte| sum.wrapping_add(byte.into()));
        (sum, u32::from(bytes.iter().fold(0, |xor, byte| xor ^ byte)))
    };
    let end: Vec<u8> = CHECKPOINT_END.iter().flat_map(|word| word.to_le_bytes()).collect();
    if let Some(at) = stream.windows(end.len()).rposition(|window| window == end) {
        let (sum, xor) = sums(&stream[..at + end.len()]);
        put(&mut stream, at + end.len(), sum << 8 | xor);
    }
    let room = size - CHECKPOINT_HEAD;
    for (number, page) in pages.into_iter().enumerate() {
        let (sum, xor) = sums(&stream[..number * room]);
        put(&mut image.data, page * size + 8, sum);
        put(&mut image.data, page * size + 12, xor);
        image.data[page * size..][CHECKPOINT_HEAD..size]
            .copy_from_slice(&stream[number * room..][..room]);
    }
}

impl Sealed {
    /// The bytes that may be changed: whether they are OOB bytes, and their range.
    pub(crate) fn place(self, image: &Image) -> (bool, Range<usize>) {
        let page_size = image.page_size();
        match self {
            Self::UbiHeader(at) => (false, at + 4..at + 60),
            Self::UbiRecord(at) => (false, at..at + RECORD_SIZE - 4),
            Self::Fastmap(at, len) => (false, at + 12..at + len.min(6000)),
            Self::Ubifs(at, len) => (false, at + 8..at + len),
            Self::Lpt(at, len) => (false, at + 2..at + len),
            Self::Jffs2(at, len) => (false, at + 4..at + len),
            Self::YaffsTags(page) => {
                let at = page * image.oob_size() + TAGS;
                (true, at..at + 16)
            }
            Self::FtlTag(page) => {
                let at = page * image.oob_size() + TAGS;
                (true, at + 1..at + 20)
            }
            Self::YaffsHeader(at) => (false, at..at + 512),
            Self::YaffsCheckpoint(at) => (false, at..at + page_size),
            Self::YaffsSummary(at) => (false, at + 4..at + page_size.min(600)),
            Self::FtlData(page) => (false, page * page_size..(page + 1) * page_size),
        }
    }

    pub(crate) const fn is_big_endian(self) -> bool {
        matches!(self, Self::UbiHeader(_) | Self::UbiRecord(_) | Self::Fastmap(..))
    }

    /// Correct the checksum after a change, which increased the sum of the bytes by `more`.
    pub(crate) fn seal(self, image: &mut Image, more: u32) {
        let page_size = image.page_size();
        let data = &mut image.data;
        match self {
            Self::UbiHeader(at) => put_big(data, at + 60, at..at + 60),
            Self::UbiRecord(at) => {
                put_big(data, at + RECORD_SIZE - 4, at..at + RECORD_SIZE - 4);
            }
            Self::Fastmap(at, len) => {
                data[at + 8..at + 12].fill(0);
                put_big(data, at + 8, at..at + len);
            }
            Self::Ubifs(at, len) => {
                let told = u32_at(data, at + 16);
                let len = if (24..data.len() - at).contains(&told) { told } else { len };
                let crc = !crc32fast::hash(&data[at + 8..at + len]);
                put(data, at + 4, crc);
            }
            Self::Lpt(at, len) => {
                let crc = crc16(!0, &data[at + 2..at + len]);
                data[at..at + 2].copy_from_slice(&crc.to_le_bytes());
            }
            Self::Jffs2(at, len) => seal_jffs2(data, at, len),
            Self::YaffsTags(page) => {
                seal_tags(&mut image.oob[page * image.geometry.oob_size as usize + TAGS..]);
            }
            Self::YaffsCheckpoint(_) => seal_checkpoint(image),
            Self::YaffsSummary(at) => add(data, at + 12, more),
            Self::YaffsHeader(_) => {}
            Self::FtlTag(page) => seal_ftl(image, page),
            Self::FtlData(page) => {
                let at = page * page_size;
                if data[at + 4..at + 8] == PLAINFS_MAGIC {
                    let crc = crc32fast::hash(&data[at + 4..at + 20]);
                    put(data, at, crc);
                } else if data[at..at + 4] == JOURNAL_MAGIC {
                    let crc = crc32fast::hash(&data[at + 4..at + 8]);
                    put(data, at + 8, crc);
                }
                let crc = crc32fast::hash(&data[at..at + page_size]);
                let tag = page * image.oob_size() + TAGS;
                put(&mut image.oob, tag + 20, crc);
                seal_ftl(image, page);
            }
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

#[expect(clippy::big_endian_bytes, reason = "UBI's own byte order")]
fn put_big(data: &mut [u8], at: usize, of: Range<usize>) {
    let crc = !crc32fast::hash(&data[of]);
    data[at..at + 4].copy_from_slice(&crc.to_be_bytes());
}

fn add(data: &mut [u8], at: usize, more: u32) {
    let old =
        data.get(at..at + 4).and_then(<[u8]>::first_chunk).map_or(0, |it| u32::from_le_bytes(*it));
    put(data, at, old.wrapping_add(more));
}

fn seal_ftl(image: &mut Image, page: usize) {
    let tag = page * image.oob_size() + TAGS;
    let crc = crc32fast::hash(&image.oob[tag..tag + 24]);
    put(&mut image.oob, tag + 24, crc);
}

/// CRC-32 without the inversions at begin and end.
fn plain_crc(bytes: &[u8]) -> usize {
    let mut hasher = crc32fast::Hasher::new_with_initial(!0);
    hasher.update(bytes);
    !hasher.finalize() as usize
}

fn seal_jffs2(data: &mut [u8], at: usize, len: usize) {
    let kind = [data[at + 2], data[at + 3]];
    let name_len = usize::from(data[at + 28.min(len - 1)]);
    let sums: &[(usize, Range<usize>)] = match kind {
        [0x01, 0xE0] => &[(32, 0..32), (36, 40..40 + name_len)],
        [0x02, 0xE0] => &[(60, 68..len), (64, 0..60)],
        [0x06, 0x20] => &[(24, 32..len), (28, 0..24)],
        _ => &[],
    };
    for (place, of) in [(8, 0..8)].iter().chain(sums) {
        if of.start <= of.end && of.end <= len && place + 4 <= len {
            let crc = plain_crc(&data[at + of.start..at + of.end]);
            put(data, at + place, u32::try_from(crc).unwrap_or(0));
        }
    }
}

/// Compute the ECC of YAFFS2's tags: the parity of each column of bits, and the XOR of the numbers
/// of the bytes with odd parity.
fn seal_tags(tags: &mut [u8]) {
    let is_odd = |byte: u8| byte.count_ones() % 2 == 1;
    let column = |mask: u8| tags[..16].iter().fold(0, |sum, byte| sum ^ byte & mask);
    let masks = [0x55, 0xAA, 0x33, 0xCC, 0x0F, 0xF0];
    let columns =
        masks.iter().rev().fold(0, |bits, &mask| bits << 1 | u8::from(is_odd(column(mask))));
    let odd: Vec<u32> =
        (0..).zip(&tags[..16]).filter(|(_, byte)| is_odd(**byte)).map(|(at, _)| at).collect();
    let lines = odd.iter().fold(0, |sum, at| sum ^ at);
    let inverse = odd.iter().fold(0, |sum, at| sum ^ !at);
    tags[16] = columns;
    put(tags, 20, lines);
    put(tags, 24, inverse);
}

/// CRC-16 with the polynomial 0x8005, reflected.
pub(crate) fn crc16(begin: u16, bytes: &[u8]) -> u16 {
    let step = |crc: u16, _| (crc >> 1) ^ (0xA001 * (crc & 1));
    bytes.iter().fold(begin, |crc, &byte| (0..8).fold(crc ^ u16::from(byte), step))
}
