//! Deflate and inflate by a library, each page of a kind once.
//!
//! The compressor is kept: a new one for each page of a few kilobytes would take longer to allocate
//! than the page to compress. The bytes are those of a new one.

use std::cell::RefCell;

use miniz_oxide::DataFormat;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, TDEFLStatus, compress};
use miniz_oxide::inflate::{decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit};

use crate::memo::Memo;

static DEFLATED: Memo = Memo::new();
static INFLATED: Memo = Memo::new();

thread_local! {
    static KEPT: RefCell<CompressorOxide> = RefCell::default();
}

/// Compress `data` at the level that file systems ask for, as zlib or raw deflate.
pub(crate) fn deflate(data: &[u8], format: DataFormat, level: u8) -> Vec<u8> {
    let parameter = u64::from(level) << 1 | u64::from(format == DataFormat::Raw);
    let packed = DEFLATED.recall(parameter, data, || Some(compressed(data, format, level)));
    packed.expect("any data can be compressed")
}

/// Unpack zlib or raw deflate of at most `limit` bytes; `None` where that is not what is stored.
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

/// Bytes that suffice for any input: stored blocks hold 65,535 bytes and cost 5, the format's head
/// and tail 6; the compressor's own blocks may cost some more before it falls back to stored ones.
const fn bound(len: usize) -> usize {
    len + len / 8 + 128
}

#[cfg(test)]
mod tests {
    use super::*;
    use flysch_chip::Prng;

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
