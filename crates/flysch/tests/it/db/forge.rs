//! A forger of pages: the seal and the fields of the format as the tests know them, of their own.
//!
//! What is written here is not taken from the engine. It is the judge of what the engine writes.

use flysch_chip::Prng;

use super::image::Image;

const CELL: usize = 512;
const DATA: usize = 506;
const SEAL: usize = 508;
pub(super) const HEADER: usize = 20;
/// Bytes of the front of a root's checkpoint. Its last one tells of a description that follows.
const FRONT: usize = 77;
const ROOT_CODE: u16 = 0xFFFD;
const LOG_CODE: u16 = 0xFFFC;

/// Kinds of pages, as their headers have them.
pub(super) mod kind {
    pub(in super::super) const ROOT: u8 = 0x60;
    pub(in super::super) const NAME: u8 = 0x12;
    pub(in super::super) const RECORD: u8 = 0x63;
    pub(in super::super) const ROWS: u8 = 0x14;
    pub(in super::super) const MORE: u8 = 0x15;
    pub(in super::super) const SUMMARY: u8 = 0x16;
    pub(in super::super) const RUN: u8 = 0x17;
    const TABLE: u8 = 0x28;
    pub(in super::super) const ANCHOR: u8 = 0x39;

    /// The first byte of pages of a kind, which has its version; that of version 1 for others.
    pub(in super::super) fn of(number: u8) -> u8 {
        let others = [ROOT, RECORD, TABLE, ANCHOR];
        others.into_iter().find(|kind| kind & 15 == number & 15).unwrap_or(0x10 | number & 15)
    }
}

/// CRC-32 of IEEE 802.3, continued from `crc`.
fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    static TABLE: std::sync::LazyLock<[u32; 256]> = std::sync::LazyLock::new(|| {
        core::array::from_fn(|byte| {
            let step = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
            (0..8).fold(byte as u32, step)
        })
    });
    !bytes.iter().fold(!crc, |crc, byte| crc >> 8 ^ TABLE[(crc as u8 ^ byte) as usize])
}

/// What the checksum of a cell begins with.
fn seed(salt: u32, code: u16, life: u32, (page, cell): (u16, usize)) -> u32 {
    let place = u64::from(salt) << 32 | u64::from(code) << 16 | u64::from(page);
    let name = place.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ place >> 29;
    let turn = u64::from(life) << 16 | cell as u64;
    let name = (name ^ turn).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (name ^ name >> 32) as u32
}

pub(super) fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// What must be known of an image to seal its pages.
#[derive(Clone)]
pub(super) struct Forge {
    salt: u32,
    /// The ordinal of each log block.
    lives: Vec<u32>,
    pages_per_block: usize,
}

impl Forge {
    /// Learn the salt from a root, and the ordinals by trying them.
    pub(super) fn of(image: &Image) -> Self {
        let pages_per_block = image.geometry.pages_per_block as usize;
        let fronts = image.written().into_iter().map(|page| image.bytes(page));
        let salt = fronts
            .filter(|bytes| bytes[0] == kind::ROOT && bytes[HEADER..HEADER + 6] == *b"flysch")
            .map(|bytes| word(&bytes, HEADER + 6))
            .next();
        let mut forge = Self { salt: salt.unwrap(), lives: Vec::new(), pages_per_block };
        for block in 0..image.geometry.block_count as usize {
            let bytes = image.bytes(block * pages_per_block);
            let is_log = half(&bytes, 4) == LOG_CODE;
            let wanted = word(&bytes, SEAL);
            let fits = |life: &u32| {
                let seed = seed(forge.salt, LOG_CODE, *life, (0, 0));
                crc32(seed, &bytes[..SEAL]) == wanted
            };
            let life = if is_log { (0..5000).find(fits) } else { None };
            forge.lives.push(life.unwrap_or(0));
        }
        forge
    }

    /// Seal a page as one that belongs where it lies.
    pub(super) fn seal(&self, bytes: &mut [u8], page: usize) {
        let code = half(bytes, 4);
        let (salt, life) = match code {
            ROOT_CODE => (0, 0),
            LOG_CODE => (self.salt, self.lives[page / self.pages_per_block]),
            _ => (self.salt, 0),
        };
        let at = (page % self.pages_per_block) as u16;
        for (cell, bytes) in bytes.chunks_exact_mut(CELL).enumerate() {
            let crc = crc32(seed(salt, code, life, (at, cell)), &bytes[..SEAL]);
            bytes[SEAL..].copy_from_slice(&crc.to_le_bytes());
        }
    }

    /// Whether every cell of a page bears its seal.
    pub(super) fn is_sealed(&self, bytes: &[u8], page: usize) -> bool {
        let mut sealed = bytes.to_vec();
        self.seal(&mut sealed, page);
        sealed == bytes
    }

    /// Put a page, sealed.
    pub(super) fn put(&self, image: &mut Image, page: usize, bytes: &mut [u8]) {
        self.seal(bytes, page);
        image.set(page, bytes);
    }

    /// The pages of a kind, the newest first.
    pub(super) fn newest(image: &Image, kind: u8) -> Vec<usize> {
        let is_wanted =
            |page: &usize| image.pages[*page].as_ref().is_some_and(|bytes| bytes[0] == kind);
        let mut pages: Vec<usize> = (0..image.pages.len()).filter(is_wanted).collect();
        let write = |page: &usize| {
            let bytes = image.bytes(*page);
            u64::from(word(&bytes, 8)) | u64::from(half(&bytes, 12)) << 32
        };
        pages.sort_by_key(|page| core::cmp::Reverse(write(page)));
        pages
    }
}

/// The payload of a page.
pub(super) fn payload(bytes: &[u8]) -> Vec<u8> {
    let cells = bytes.chunks_exact(CELL).flat_map(|cell| &cell[..DATA]);
    cells.skip(HEADER).copied().collect()
}

/// Put a payload into a page.
pub(super) fn set_payload(bytes: &mut [u8], payload: &[u8]) {
    let cells = bytes.chunks_exact_mut(CELL).flat_map(|cell| &mut cell[..DATA]);
    cells.skip(HEADER).zip(payload).for_each(|(to, from)| *to = *from);
}

/// A record, or a root's checkpoint, as one stream of bytes over its pages.
pub(super) struct Stream {
    pub(super) page: usize,
    pub(super) bytes: Vec<u8>,
}

impl Stream {
    /// Read the stream that begins on a page; none where none does.
    pub(super) fn read(image: &Image, page: usize) -> Option<Self> {
        let mut bytes = Vec::new();
        for part in 0..image.geometry.pages_per_block as usize {
            let frame = image.pages.get(page + part)?.as_ref()?;
            if usize::from(frame[1] & 0x7F) != part {
                return None;
            }
            let used = usize::from(half(frame, 2));
            bytes.extend(payload(frame).iter().take(used));
            if frame[1] & 0x80 != 0 {
                return Some(Self { page, bytes });
            }
        }
        None
    }

    /// Where the body begins: behind the front and the description of a root's checkpoint.
    pub(super) fn body_at(&self, kind: u8) -> usize {
        if kind != kind::ROOT || self.bytes.len() < FRONT + 2 {
            return 0;
        }
        let is_described = self.bytes[FRONT - 1] & 0x80 != 0;
        FRONT + if is_described { 2 + usize::from(half(&self.bytes, FRONT)) } else { 0 }
    }

    /// Write the stream again where it was, on as many pages of its block as it needs.
    pub(super) fn write(&self, image: &mut Image, forge: &Forge) {
        let first = image.bytes(self.page);
        let size = payload(&first).len();
        let left = forge.pages_per_block - self.page % forge.pages_per_block;
        let count = self.bytes.len().div_ceil(size).max(1);
        for part in 0..count.min(left) {
            let chunk = self.bytes.chunks(size).nth(part).unwrap_or_default();
            let mut frame = first.clone();
            frame[1] = part as u8 | if part + 1 == count { 0x80 } else { 0 };
            frame[2..4].copy_from_slice(&(chunk.len() as u16).to_le_bytes());
            let at = (self.page + part) % forge.pages_per_block;
            frame[6..8].copy_from_slice(&(at as u16).to_le_bytes());
            let write = word(&first, 8).wrapping_add(part as u32);
            frame[8..12].copy_from_slice(&write.to_le_bytes());
            let mut padded = chunk.to_vec();
            padded.resize(size, 0);
            set_payload(&mut frame, &padded);
            forge.put(image, self.page + part, &mut frame);
        }
    }
}

/// The fields of a record's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    /// Flags, commit, time, the tail's commit, the tail's base.
    pub(super) start: [u8; 19],
    pub(super) tail: Vec<u8>,
    /// Write number, erases, next block, heads.
    pub(super) flash: [u8; 28],
    pub(super) spans: Vec<[u8; 9]>,
    pub(super) changes: Vec<[u8; 4]>,
    pub(super) state: Vec<u8>,
    pub(super) table: Option<Vec<u8>>,
}

/// Take bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(front)
}

fn number(bytes: &mut &[u8], size: usize) -> Option<usize> {
    Some(take(bytes, size)?.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

impl Body {
    /// Read a body; none where the bytes are none.
    pub(super) fn parse(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let start: [u8; 19] = take(bytes, 19)?.try_into().ok()?;
        let len = number(bytes, 2)?;
        let tail = take(bytes, len)?.to_vec();
        let flash = take(bytes, 28)?.try_into().ok()?;
        let spans = number(bytes, 1)?;
        let spans: Option<Vec<_>> = (0..spans).map(|_| take(bytes, 9)?.try_into().ok()).collect();
        let changes = number(bytes, 1)?;
        let changes: Option<Vec<_>> =
            (0..changes).map(|_| take(bytes, 4)?.try_into().ok()).collect();
        let len = number(bytes, 2)?;
        let state = take(bytes, len)?.to_vec();
        let table = match start[0] & 1 {
            0 => None,
            _ => Some(number(bytes, 2).and_then(|count| take(bytes, count * 3))?.to_vec()),
        };
        let body = Self { start, tail, flash, spans: spans?, changes: changes?, state, table };
        bytes.is_empty().then_some(body)
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let mut bytes = self.start.to_vec();
        bytes.extend((self.tail.len() as u16).to_le_bytes());
        bytes.extend(&self.tail);
        bytes.extend(self.flash);
        bytes.push(self.spans.len() as u8);
        bytes.extend(self.spans.iter().flatten());
        bytes.push(self.changes.len() as u8);
        bytes.extend(self.changes.iter().flatten());
        bytes.extend((self.state.len() as u16).to_le_bytes());
        bytes.extend(&self.state);
        if let Some(table) = &self.table {
            bytes.extend((table.len() as u16 / 3).to_le_bytes());
            bytes.extend(table);
        }
        bytes
    }
}

/// A number that a confused writer might put in the place of `old`, which has `bits` bits.
pub(super) fn wild(prng: &mut Prng, old: u64, bits: u32) -> u64 {
    let all = u64::MAX >> (64 - bits);
    let value = match prng.below(9) {
        0 => 0,
        1 => all,
        2 => all - prng.below(5),
        3 => old.wrapping_add(1),
        4 => old.wrapping_sub(1),
        5 => old ^ 1 << prng.below(u64::from(bits)),
        6 => prng.below(64),
        7 => 1 << prng.below(u64::from(bits)),
        _ => prng.next() >> prng.below(64),
    };
    value & all
}

/// Change a little-endian number of `size` bytes.
pub(super) fn poke(prng: &mut Prng, bytes: &mut [u8], at: usize, size: usize) {
    let Some(field) = bytes.get_mut(at..at + size) else { return };
    let old = field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let new = wild(prng, old, size as u32 * 8).to_le_bytes();
    field.copy_from_slice(&new[..size]);
}
