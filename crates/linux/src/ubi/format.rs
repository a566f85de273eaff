//! The on-flash format of UBI: two headers in each physical eraseblock, and the volume table.
//!
//! ```text
//! EC header    0 "UBI#" | 4 version u8 | 8 erase counter u64 | 16 VID header offset
//!              20 data offset | 24 image sequence | 60 CRC (of bytes 0..60)
//! VID header   0 "UBI!" | 4 version u8 | 5 type u8 | 6 copy flag u8 | 7 compatibility u8
//!              8 volume | 12 LEB | 20 data size | 24 used LEBs | 28 data pad | 32 data CRC
//!              40 sequence u64 | 60 CRC
//! table record 0 reserved PEBs | 4 alignment | 8 data pad | 12 type u8 | 13 update mark u8
//!              14 name length u16 | 16 name | 144 flags u8 | 168 CRC (of bytes 0..168)
//! ```
//!
//! Numbers are big-endian, and have 32 bits where nothing else is said. The CRC is CRC-32 without
//! the final inversion.
#![expect(clippy::big_endian_bytes, reason = "UBI's own byte order")]

use flysch_nand::is_erased;

pub(super) const HEADER_SIZE: usize = 64;
pub(super) const RECORD_SIZE: usize = 172;
const VOLUMES_MAX: usize = 128;
/// The volume that holds the volume table.
pub(super) const LAYOUT_VOLUME: u32 = 0x7FFF_EFFF;
/// Volume of a fastmap's anchor (`UBI_FM_SB_VOLUME_ID`).
pub(super) const FASTMAP_VOLUME: u32 = LAYOUT_VOLUME + 1;
/// Volume of a fastmap's other blocks (`UBI_FM_DATA_VOLUME_ID`).
pub(super) const FASTMAP_DATA_VOLUME: u32 = LAYOUT_VOLUME + 2;
/// Software that does not know the layout volume must refuse to attach the device.
const COMPAT_REJECT: u8 = 5;
/// Software that does not know fastmaps must erase their blocks.
const COMPAT_DELETE: u8 = 1;
const VERSION: u8 = 1;
const DYNAMIC: u8 = 1;
const STATIC: u8 = 2;
const CHECKED: usize = HEADER_SIZE - 4;
const NAME: usize = 16;

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !crc32fast::hash(bytes)
}

/// The EC header, which counts the erases of a PEB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EcHeader {
    pub erase_count: u64,
    /// Where in the PEB the VID header is, bytes.
    pub vid_offset: u32,
    /// Where in the PEB the data begins, bytes.
    pub data_offset: u32,
}

/// The VID header, which says which LEB a PEB holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VidHeader {
    pub volume: u32,
    /// Number of the LEB within its volume.
    pub lnum: u32,
    /// Sequence number of the device. If two PEBs claim a LEB, the higher one wins.
    pub sequence: u64,
    /// For a copy, the number of bytes copied and their CRC. They show whether the copy was
    /// finished.
    pub copied: Option<(u32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VolumeRecord {
    /// Number of LEBs in the volume.
    pub leb_count: u32,
    pub data_pad: u32,
    /// Whether the volume is static: its content is fixed and has a checksum.
    pub is_static: bool,
    pub name: Vec<u8>,
}

/// What was found in the place of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<T> {
    Valid(T),
    /// All bytes are 0xFF, as after an erase.
    Blank,
    /// Neither a valid header nor an erased place.
    Corrupt,
}

impl EcHeader {
    /// The bytes of the header with its checksum.
    pub(super) fn emit(self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..4].copy_from_slice(b"UBI#");
        bytes[4] = VERSION;
        put_u64(&mut bytes, 8, self.erase_count);
        put_u32(&mut bytes, 16, self.vid_offset);
        put_u32(&mut bytes, 20, self.data_offset);
        seal(&mut bytes);
        bytes
    }

    /// Parse the bytes in the place of an EC header.
    pub(super) fn parse(bytes: &[u8; HEADER_SIZE]) -> Found<Self> {
        check(bytes, *b"UBI#").map(|bytes| Self {
            erase_count: u64_at(bytes, 8),
            vid_offset: u32_at(bytes, 16),
            data_offset: u32_at(bytes, 20),
        })
    }
}

/// The offsets of the VID header and of the data in a PEB, if `bytes` begin with a valid EC header.
pub fn header_places(bytes: &[u8]) -> Option<(u32, u32)> {
    match EcHeader::parse(bytes.first_chunk()?) {
        Found::Valid(ec) => Some((ec.vid_offset, ec.data_offset)),
        Found::Blank | Found::Corrupt => None,
    }
}

impl VidHeader {
    /// The bytes of the header with its checksum.
    pub(super) fn emit(self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..4].copy_from_slice(b"UBI!");
        bytes[4] = VERSION;
        bytes[5] = DYNAMIC;
        if self.volume == LAYOUT_VOLUME {
            bytes[7] = COMPAT_REJECT;
        } else if self.is_fastmap() {
            bytes[7] = COMPAT_DELETE;
        }
        put_u32(&mut bytes, 8, self.volume);
        put_u32(&mut bytes, 12, self.lnum);
        if let Some((size, crc)) = self.copied {
            bytes[6] = 1;
            put_u32(&mut bytes, 20, size);
            put_u32(&mut bytes, 32, crc);
        }
        put_u64(&mut bytes, 40, self.sequence);
        seal(&mut bytes);
        bytes
    }

    /// Whether the PEB belongs to a fastmap.
    pub(super) fn is_fastmap(&self) -> bool {
        [FASTMAP_VOLUME, FASTMAP_DATA_VOLUME].contains(&self.volume)
    }

    /// Parse the bytes in the place of a VID header.
    pub(super) fn parse(bytes: &[u8; HEADER_SIZE]) -> Found<Self> {
        check(bytes, *b"UBI!").map(|bytes| Self {
            volume: u32_at(bytes, 8),
            lnum: u32_at(bytes, 12),
            sequence: u64_at(bytes, 40),
            copied: (bytes[6] == 1).then(|| (u32_at(bytes, 20), u32_at(bytes, 32))),
        })
    }
}

impl<T> Found<T> {
    fn map<U>(self, f: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Valid(value) => Found::Valid(f(value)),
            Self::Blank => Found::Blank,
            Self::Corrupt => Found::Corrupt,
        }
    }
}

fn check(bytes: &[u8; HEADER_SIZE], magic: [u8; 4]) -> Found<&[u8; HEADER_SIZE]> {
    if is_erased(bytes) {
        return Found::Blank;
    }
    let valid = bytes[..4] == magic
        && bytes[4] == VERSION
        && u32_at(bytes, CHECKED) == crc32(&bytes[..CHECKED]);
    if valid { Found::Valid(bytes) } else { Found::Corrupt }
}

fn seal(bytes: &mut [u8; HEADER_SIZE]) {
    let crc = crc32(&bytes[..CHECKED]);
    put_u32(bytes, CHECKED, crc);
}

/// Number of records in the volume table of a device with LEBs of `leb_size` bytes.
pub(super) fn record_count(leb_size: u32) -> usize {
    (leb_size as usize / RECORD_SIZE).min(VOLUMES_MAX)
}

/// The bytes of a volume table. Record `i` describes volume `i`.
pub(super) fn emit_table(volumes: &[VolumeRecord], leb_size: u32) -> Vec<u8> {
    let mut table = Vec::new();
    for place in 0..record_count(leb_size) {
        let mut bytes = [0; RECORD_SIZE];
        if let Some(volume) = volumes.get(place) {
            put_u32(&mut bytes, 0, volume.leb_count);
            put_u32(&mut bytes, 4, 1);
            put_u32(&mut bytes, 8, volume.data_pad);
            bytes[12] = if volume.is_static { STATIC } else { DYNAMIC };
            let len = u16::try_from(volume.name.len()).expect("a name is at most 127 bytes");
            bytes[14..16].copy_from_slice(&len.to_be_bytes());
            bytes[NAME..NAME + volume.name.len()].copy_from_slice(&volume.name);
        }
        let crc = crc32(&bytes[..RECORD_SIZE - 4]);
        put_u32(&mut bytes, RECORD_SIZE - 4, crc);
        table.extend(bytes);
    }
    table
}

/// Parse a volume table. `None` if a record is damaged; records that are not in use are `None`
/// inside.
pub(super) fn parse_table(bytes: &[u8]) -> Option<Vec<Option<VolumeRecord>>> {
    let records = bytes.chunks_exact(RECORD_SIZE).map(parse_record);
    let none = |record: VolumeRecord| (record.leb_count > 0).then_some(record);
    records.map(|record| record.map(none)).collect()
}

/// Parse one record. A record without LEBs is not in use.
fn parse_record(bytes: &[u8]) -> Option<VolumeRecord> {
    if u32_at(bytes, RECORD_SIZE - 4) != crc32(&bytes[..RECORD_SIZE - 4]) {
        return None;
    }
    let leb_count = u32_at(bytes, 0);
    let name_len = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
    let name = bytes[NAME..144].get(..name_len)?.to_vec();
    let (data_pad, is_static) = (u32_at(bytes, 8), bytes[12] == STATIC);
    Some(VolumeRecord { leb_count, data_pad, is_static, name })
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}

pub(super) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_records_come_back() {
        let ec = EcHeader { erase_count: 1 << 33, vid_offset: 512, data_offset: 2048 };
        assert_eq!(EcHeader::parse(&ec.emit()), Found::Valid(ec));
        let vid = VidHeader { volume: 0, lnum: 7, sequence: 9, copied: Some((4, 5)) };
        assert_eq!(VidHeader::parse(&vid.emit()), Found::Valid(vid));
        assert_eq!(VidHeader::parse(&[0xFF; 64]), Found::Blank);
        assert_eq!(VidHeader::parse(&ec.emit()), Found::Corrupt);
        let volume =
            VolumeRecord { leb_count: 3, data_pad: 0, is_static: false, name: b"data".to_vec() };
        let mut table = emit_table(std::slice::from_ref(&volume), 129_024);
        let parsed = parse_table(&table).unwrap();
        assert_eq!((parsed.len(), &parsed[0], &parsed[1]), (128, &Some(volume), &None));
        table[3] ^= 1;
        assert_eq!(parse_table(&table), None);
    }
}
