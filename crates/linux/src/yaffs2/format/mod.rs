//! The on-flash format of YAFFS2: tags in the OOB area, object headers, block summaries, chunks of
//! a checkpoint; little-endian.
//!
//! ```text
//! tags      0 sequence | 4 object | 8 chunk | 12 bytes | 16 column parity u8, 3 free
//!           20 line parity | 24 inverse line parity
//! header    0 type | 4 parent | 10 name, 256 | 268 mode | 272 uid | 276 gid | 280 atime
//!           284 mtime | 288 ctime | 292 size | 296 equivalent | 300 alias, 160 | 460 device
//!           496 size, high | 504 shadows | 508 is shrink
//! summary   0 version | 4 block + 1 | 8 sequence | 12 checksum | 16 records of object, chunk, bytes
//! ```

mod checkpoint;
mod header;
mod summary;
mod tags;

pub(super) use checkpoint::{CHECKPOINT_VERSION, emit_stream, parse_stream, stream_sum};
pub use header::is_header;
pub(super) use header::{Header, attributes_of};
pub(super) use summary::{SummaryShape, emit_summary, parse_summary};
pub use tags::has_tags;
pub(super) use tags::{Extra, Found, TAGS_SIZE, Tags};

/// The kinds of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    /// A symbolic link, hard link or device. It is kept but not followed.
    Other(u32),
}

impl Kind {
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::File => 1,
            Self::Directory => 3,
            Self::Other(number) => number,
        }
    }

    pub(super) const fn of(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::File),
            3 => Some(Self::Directory),
            2 | 4 | 5 => Some(Self::Other(number)),
            _ => None,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}
