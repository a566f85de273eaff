//! Deflate and inflate, done by zlib. What a page was inflated to is remembered in a memo.
//!
//! The kernel's deflate is a copy of zlib. Only zlib itself gives the same bytes: miniz never uses
//! fixed codes, and ports of zlib differ by some bytes.
//!
//! A compressor is kept and reset, because to allocate a new one takes longer than to compress a
//! page of a few kilobytes. The output is the same as that of a new compressor.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
// Named so that its own zlib is linked in rather than the system's.
use libz_sys as _;

use crate::memo::Memo;

static INFLATED: Memo = Memo::new();

/// Compression level that the kernel's JFFS2 asks for.
const JFFS2_LEVEL: u32 = 3;
/// Compression level and log2 of the window's size of the deflate in the kernel's crypto layer
/// (`DEFLATE_DEF_LEVEL` and `DEFLATE_DEF_WINBITS`), which UBIFS uses.
const UBIFS_LEVEL: u32 = 6;
const UBIFS_WINDOW_BITS: u8 = 11;

thread_local! {
    static OF_JFFS2: RefCell<Compress> =
        RefCell::new(Compress::new(Compression::new(JFFS2_LEVEL), true));
    static OF_UBIFS: RefCell<Compress> = RefCell::new(Compress::new_with_window_bits(
        Compression::new(UBIFS_LEVEL),
        false,
        UBIFS_WINDOW_BITS,
    ));
    static INFLATE: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// The form of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Zlib's, with a header and a checksum, as in JFFS2.
    Zlib,
    /// Deflate alone, as in UBIFS.
    Raw,
}

/// Decompress a stream. `None` if it is malformed or gives more than `limit` bytes.
pub(crate) fn inflate(stored: &[u8], format: Format, limit: usize) -> Option<Vec<u8>> {
    let parameter = (limit as u64) << 1 | u64::from(format == Format::Raw);
    INFLATED.recall(parameter, stored, || {
        INFLATE.with_borrow_mut(|zlib| {
            zlib.reset(format == Format::Zlib);
            let mut data = vec![0; limit];
            let status = zlib.decompress(stored, &mut data, FlushDecompress::Finish).ok()?;
            data.truncate(usize::try_from(zlib.total_out()).ok()?);
            (status == Status::StreamEnd).then_some(data)
        })
    })
}

/// Compress `data` as raw deflate, in the way of the kernel's UBIFS.
pub(crate) fn deflate_raw(data: &[u8]) -> Vec<u8> {
    OF_UBIFS.with_borrow_mut(|zlib| {
        zlib.reset();
        let mut stored = vec![0; bound(data.len())];
        let status = zlib.compress(data, &mut stored, FlushCompress::Finish);
        assert_eq!(status.ok(), Some(Status::StreamEnd), "the bound holds any outcome");
        stored.truncate(written(zlib));
        stored
    })
}

/// How many tables of codes inflating reads: one if the first block of the stream has codes of its
/// own. A page has one block, or few.
pub(crate) fn tables(stored: &[u8], format: Format) -> u64 {
    const OWN_CODES: u8 = 2;
    let at = if format == Format::Zlib { 2 } else { 0 };
    u64::from(stored.get(at).is_some_and(|header| header >> 1 & 3 == OWN_CODES))
}

/// How many values of bytes occur in `data`. Making their codes takes much of the time of deflate.
pub(crate) fn symbols(data: &[u8]) -> u64 {
    let mut occurs = [false; 256];
    for &byte in data {
        occurs[usize::from(byte)] = true;
    }
    occurs.iter().map(|&occurs| u64::from(occurs)).sum()
}

/// Room that JFFS2 leaves for the end of a stream (`STREAM_END_SPACE`), bytes.
pub(crate) const END_LEN: usize = 12;

/// Compress a prefix of `data` into at most `room` bytes of zlib's format, in the way of the
/// kernel's JFFS2. JFFS2 hands zlib no more bytes at a time than there is room for, flushes them,
/// and goes on while room is left. Returns the stream and how much of `data` it holds; `None` if
/// the stream is no shorter than the data.
pub(crate) fn deflate_prefix(data: &[u8], room: usize) -> Option<(Vec<u8>, usize)> {
    OF_JFFS2.with_borrow_mut(|zlib| {
        zlib.reset();
        let mut stored = vec![0; room];
        let (mut taken, mut len) = (0, 0);
        while len + END_LEN < room && taken < data.len() {
            let out = &mut stored[len..room - END_LEN];
            let part = &data[taken..data.len().min(taken + out.len())];
            zlib.compress(part, out, FlushCompress::Partial).ok()?;
            (taken, len) = (usize::try_from(zlib.total_in()).ok()?, written(zlib));
        }
        let status = zlib.compress(&[], &mut stored[len..], FlushCompress::Finish).ok()?;
        stored.truncate(written(zlib));
        (status == Status::StreamEnd && stored.len() < taken).then_some((stored, taken))
    })
}

fn written(zlib: &Compress) -> usize {
    usize::try_from(zlib.total_out()).expect("no more than the room there was")
}

/// Buffer size that suffices for any input of `len` bytes. With a small window zlib may need 9 bits
/// for a byte, and somewhat more for each block (`deflateBound`).
const fn bound(len: usize) -> usize {
    len + len / 4 + 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use flysch_chip::Prng;

    #[test]
    fn a_prefix_takes_the_room_there_is() {
        let mut prng = Prng::new(2);
        let mut text = vec![0; 4096];
        text.fill_with(|| b'a' + prng.below(16).to_le_bytes()[0]);
        let inflate = |stored: &[u8]| inflate(stored, Format::Zlib, 4096).unwrap();
        let (whole, taken) = deflate_prefix(&text, text.len()).unwrap();
        assert_eq!((inflate(&whole), taken), (text.clone(), text.len()));
        for room in [100, 500, 1000, 2000] {
            let (part, taken) = deflate_prefix(&text, room).unwrap();
            assert!(part.len() <= room && taken > room && taken < text.len(), "{room}: {taken}");
            assert_eq!(inflate(&part), text[..taken]);
        }
        prng.fill(&mut text);
        for room in [0, 12, 13, 100, 4096] {
            assert_eq!(deflate_prefix(&text, room), None, "random bytes, room for {room}");
        }
    }

    #[test]
    fn a_stream_gives_its_bytes_and_no_more_than_allowed() {
        let mut prng = Prng::new(1);
        for len in [0, 1, 100, 1024, 4096, 70_000] {
            let mut data = vec![0; len];
            prng.fill(&mut data);
            for share in [0, 1, 2] {
                let part = len * share / 2;
                data[..part].fill(b'x');
                let stored = deflate_raw(&data);
                assert_eq!(deflate_raw(&data), stored, "a second time: {len} {share}");
                assert_eq!(inflate(&stored, Format::Raw, len).as_ref(), Some(&data));
                assert_eq!(inflate(&stored, Format::Raw, len + 9).as_ref(), Some(&data));
                assert!(len == 0 || inflate(&stored, Format::Raw, len - 1).is_none());
                assert_eq!(inflate(&stored[..stored.len() - 1], Format::Raw, len), None);
            }
        }
    }
}
