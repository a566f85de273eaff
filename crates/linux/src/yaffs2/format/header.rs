//! Object headers: 512 bytes at the start of a chunk.

use super::{Kind, put_u32, u32_at};
use crate::filesystem::{Attributes, MODE_LINK, MODE_TYPE};

const HEADER_SIZE: usize = 512;
const NAME_LEN_MAX: usize = 255;
const NAME: usize = 10;
const NAME_END: usize = 266;
/// The target of a symbolic link.
const ALIAS: usize = 300;
const ALIAS_END: usize = 460;

/// The fields of a header that the model reads and changes. The others keep their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Header {
    pub kind: Kind,
    pub parent: u32,
    pub name: Vec<u8>,
    pub mode: u32,
    pub mtime: u32,
    pub size: u64,
    pub shadows: u32,
    pub is_shrink: bool,
}

impl Header {
    /// Write the header into `chunk`. Fields that are not modelled keep the bytes that `chunk` has.
    pub(in super::super) fn emit(&self, chunk: &mut [u8]) {
        put_u32(chunk, 0, self.kind.number());
        put_u32(chunk, 4, self.parent);
        chunk[8..NAME].fill(0xFF);
        chunk[NAME..NAME_END].fill(0);
        let len = self.name.len().min(NAME_LEN_MAX);
        chunk[NAME..NAME + len].copy_from_slice(&self.name[..len]);
        put_u32(chunk, 268, self.mode);
        for owner in [272, 276] {
            // A header that had no owner gets the superuser.
            let number = u32_at(chunk, owner);
            put_u32(chunk, owner, if number == u32::MAX { 0 } else { number });
        }
        put_u32(chunk, 284, self.mtime);
        put_u32(chunk, 288, self.mtime);
        let [low, high] = halves(self.size);
        put_u32(chunk, 292, low);
        put_u32(chunk, 496, high);
        put_u32(chunk, 504, self.shadows);
        put_u32(chunk, 508, u32::from(self.is_shrink));
    }

    /// Parse a header. `None` if the chunk does not hold one.
    pub(in super::super) fn parse(chunk: &[u8]) -> Option<Self> {
        let bytes = chunk.get(..HEADER_SIZE)?;
        let name = &bytes[NAME..NAME_END];
        let len = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_LEN_MAX);
        let high = match u32_at(bytes, 496) {
            // Headers written before large files existed have this field empty.
            u32::MAX => 0,
            high => high,
        };
        let optional = |at| if u32_at(bytes, at) == u32::MAX { 0 } else { u32_at(bytes, at) };
        Some(Self {
            kind: Kind::of(u32_at(bytes, 0))?,
            parent: u32_at(bytes, 4),
            name: name[..len].to_vec(),
            mode: u32_at(bytes, 268),
            mtime: u32_at(bytes, 284),
            size: u64::from(high) << 32 | u64::from(u32_at(bytes, 292)),
            shadows: optional(504),
            is_shrink: optional(508) != 0,
        })
    }
}

/// Whether a page looks like the header of a named object. There is no checksum to be sure by.
pub fn is_header(page: &[u8]) -> bool {
    let is_printable = |name: &[u8]| !name.is_empty() && !name.iter().any(u8::is_ascii_control);
    Header::parse(page).is_some_and(|header| {
        page[8..NAME] == [0xFF; 2] && header.parent > 0 && is_printable(&header.name)
    })
}

/// What a chunk that holds a header says of an object besides its content.
pub(in super::super) fn attributes_of(chunk: &[u8]) -> Attributes {
    let mode = u32_at(chunk, 268);
    let alias = &chunk[ALIAS..ALIAS_END];
    let len = alias.iter().position(|&byte| byte == 0).unwrap_or(alias.len());
    let target = (mode & MODE_TYPE == MODE_LINK).then(|| alias[..len].to_vec());
    Attributes { mode, uid: u32_at(chunk, 272), gid: u32_at(chunk, 276), target }
}

fn halves(size: u64) -> [u32; 2] {
    [size & u64::from(u32::MAX), size >> 32]
        .map(|half| u32::try_from(half).expect("half of 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_of_a_link_are_read() {
        let mut chunk = vec![0xFF; 2048];
        for (at, number) in [(268, 0o120_777), (272, 1000), (276, 1001)] {
            put_u32(&mut chunk, at, number);
        }
        chunk[ALIAS..ALIAS_END].fill(0);
        chunk[ALIAS..ALIAS + 4].copy_from_slice(b"to/x");
        let target = Some(b"to/x".to_vec());
        let expected = Attributes { mode: 0o120_777, uid: 1000, gid: 1001, target };
        assert_eq!(attributes_of(&chunk), expected);
    }

    #[test]
    fn a_header_comes_back() {
        let header = Header {
            kind: Kind::Directory,
            parent: 1,
            name: b"name".to_vec(),
            mode: 0o40_755,
            mtime: 5,
            size: 1 << 33 | 7,
            shadows: 300,
            is_shrink: true,
        };
        let mut chunk = vec![0xFF; 2048];
        header.emit(&mut chunk);
        assert_eq!(Header::parse(&chunk), Some(header));
        assert_eq!(Header::parse(&[0xFF; 2048]), None);
    }
}
