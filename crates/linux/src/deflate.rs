//! Deflate and inflate, done by libraries. The result for each page is remembered in a memo.
//!
//! A compressor is kept and reset, because to allocate a new one takes longer than to compress a
//! page of a few kilobytes. The output is the same as that of a new compressor.

use std::cell::RefCell;

use flate2::{Compress, Compression, FlushCompress, Status};
// Named so that its own zlib is linked in rather than the system's.
use libz_sys as _;
use miniz_oxide::DataFormat;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, TDEFLStatus, compress};
use miniz_oxide::inflate::{decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit};

use crate::memo::Memo;

static DEFLATED: Memo = Memo::new();
static PREFIXES: Memo = Memo::new();
static INFLATED: Memo = Memo::new();

/// Compression level that the kernel's JFFS2 asks for.
const JFFS2_LEVEL: u32 = 3;

thread_local! {
    static KEPT: RefCell<CompressorOxide> = RefCell::default();
    /// The kernel's deflate is a copy of zlib. Only zlib itself gives the same bytes: miniz never
    /// uses fixed codes, and ports of zlib differ by some bytes.
    static ZLIB: RefCell<Compress> =
        RefCell::new(Compress::new(Compression::new(JFFS2_LEVEL), true));
}

/// Compress `data` in zlib's format or as raw deflate, at the level that the file system asks for.
pub(crate) fn deflate(data: &[u8], format: DataFormat, level: u8) -> Vec<u8> {
    let parameter = u64::from(level) << 1 | u64::from(format == DataFormat::Raw);
    let packed = DEFLATED.recall(parameter, data, || Some(compressed(data, format, level)));
    packed.expect("any data can be compressed")
}

/// Decompress zlib or raw deflate. `None` if the data is malformed or gives more than `limit`
/// bytes.
pub(crate) fn inflate(stored: &[u8], format: DataFormat, limit: usize) -> Option<Vec<u8>> {
    let is_raw = format == DataFormat::Raw;
    let unpack =
        if is_raw { decompress_to_vec_with_limit } else { decompress_to_vec_zlib_with_limit };
    let parameter = (limit as u64) << 1 | u64::from(is_raw);
    INFLATED.recall(parameter, stored, || unpack(stored, limit).ok())
}

fn compressed(data: &[u8], format: DataFormat, level: u8) -> Vec<u8> {
    KEPT.with_borrow_mut(|compressor| {
        compressor.reset();
        compressor.set_format_and_level(format, level);
        let mut stored = vec![0; bound(data.len())];
        let (status, _, len) = compress(compressor, data, &mut stored, TDEFLFlush::Finish);
        assert_eq!(status, TDEFLStatus::Done, "the bound holds any outcome");
        stored.truncate(len);
        stored
    })
}

/// Room that JFFS2 leaves for the end of a stream (`STREAM_END_SPACE`), bytes.
const END_LEN: usize = 12;

/// Compress a prefix of `data` into at most `room` bytes of zlib's format, in the way of the
/// kernel's JFFS2. JFFS2 hands zlib no more bytes at a time than there is room for, flushes them,
/// and goes on while room is left. Returns the stream and how much of `data` it holds; `None` if
/// the stream is no shorter than the data.
pub(crate) fn deflate_prefix(data: &[u8], room: usize) -> Option<(Vec<u8>, usize)> {
    // A memo holds bytes alone, so the length of the prefix is stored behind the stream.
    let mut kept = PREFIXES.recall(room as u64, data, || {
        let (mut stored, taken) = compressed_prefix(data, room)?;
        stored.extend_from_slice(&taken.to_le_bytes());
        Some(stored)
    })?;
    let taken = kept.split_off(kept.len() - size_of::<usize>());
    let taken = taken.try_into().expect("as long as it was put there");
    Some((kept, usize::from_le_bytes(taken)))
}

fn compressed_prefix(data: &[u8], room: usize) -> Option<(Vec<u8>, usize)> {
    ZLIB.with_borrow_mut(|zlib| {
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

/// Buffer size that suffices for any input of `len` bytes. A stored block holds 65,535 bytes and
/// costs 5; head and tail of the format cost 6. The compressor's own blocks may cost some more
/// before it falls back to stored ones.
const fn bound(len: usize) -> usize {
    len + len / 8 + 128
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
        let inflate = |stored: &[u8]| miniz_oxide::inflate::decompress_to_vec_zlib(stored).unwrap();
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
    fn the_bytes_are_those_of_a_new_compressor() {
        let mut prng = Prng::new(1);
        for len in [0, 1, 100, 1024, 4096, 70_000] {
            let mut data = vec![0; len];
            prng.fill(&mut data);
            for share in [0, 1, 2] {
                let part = len * share / 2;
                data[..part].fill(b'x');
                let zlib = miniz_oxide::deflate::compress_to_vec_zlib(&data, 3);
                assert_eq!(deflate(&data, DataFormat::Zlib, 3), zlib, "{len} {share}");
                assert_eq!(inflate(&zlib, DataFormat::Zlib, len).as_ref(), Some(&data));
                let raw = miniz_oxide::deflate::compress_to_vec(&data, 6);
                assert_eq!(deflate(&data, DataFormat::Raw, 6), raw, "{len} {share}");
                assert_eq!(inflate(&raw, DataFormat::Raw, len).as_ref(), Some(&data));
            }
        }
    }
}
