//! Zstandard: what the kernel's UBIFS compresses with where it is built in.

use std::io::Read;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Compress `data` into one frame.
pub fn compress(data: &[u8]) -> Vec<u8> {
    compress_to_vec(data, CompressionLevel::Fastest)
}

/// Decompress a frame that holds at most `size_max` bytes; `None` if it is damaged or holds more.
pub fn decompress(frame: &[u8], size_max: usize) -> Option<Vec<u8>> {
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(frame).ok()?;
    let mut data = Vec::with_capacity(size_max);
    let limit = u64::try_from(size_max).ok()? + 1;
    (&mut decoder).take(limit).read_to_end(&mut data).ok()?;
    (data.len() <= size_max).then_some(data)
}
