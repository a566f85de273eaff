//! The pages of a checkpoint: a stream of bytes, in chunks that each begin with a header.
//!
//! ```text
//! chunk     0 version 8 | 4 number of the chunk, from 0 | 8 sum and 12 exclusive or of all bytes
//!           of the stream before this chunk | 16 bytes of the stream, zeros behind its end
//! tags      sequence 0x21 | object: the block from which on the next one is looked for, + 1
//!           chunk: its number + 1 | bytes: a whole chunk
//! ```
//!
//! The last word of the stream is the sum of all bytes before it, shifted by a byte, with their
//! exclusive or in the lowest byte. A stream that ends where a chunk does is followed by a chunk
//! that has a header alone: the real code writes that, too.

use super::{put_u32, u32_at};

/// Version of the format (`YAFFS_CHECKPOINT_VERSION`). Version 7 and those before have no headers
/// of chunks.
pub(in super::super) const CHECKPOINT_VERSION: u32 = 8;
const HEAD_SIZE: usize = 16;

/// The two sums over the bytes of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    sum: u32,
    xor: u32,
}

impl Sums {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.sum = self.sum.wrapping_add(byte.into());
            self.xor ^= u32::from(byte);
        }
    }

    fn head(self, number: u32) -> [u32; 4] {
        [CHECKPOINT_VERSION, number, self.sum, self.xor]
    }
}

/// The word that stands behind these bytes at the end of a stream.
pub(in super::super) fn stream_sum(bytes: &[u8]) -> u32 {
    let mut sums = Sums::default();
    sums.add(bytes);
    sums.sum << 8 | sums.xor & 0xFF
}

/// The chunks of a stream, one behind the other.
pub(in super::super) fn emit_stream(stream: &[u8], chunk_size: usize) -> Vec<u8> {
    let room = chunk_size - HEAD_SIZE;
    let mut sums = Sums::default();
    let mut bytes = Vec::new();
    for number in 0..=stream.len() / room {
        let part = &stream[number * room..stream.len().min((number + 1) * room)];
        let mut chunk = vec![0; chunk_size];
        let head = sums.head(u32::try_from(number).expect("chunks of a partition"));
        for (word, value) in head.into_iter().enumerate() {
            put_u32(&mut chunk, 4 * word, value);
        }
        chunk[HEAD_SIZE..HEAD_SIZE + part.len()].copy_from_slice(part);
        sums.add(part);
        bytes.extend(chunk);
    }
    bytes
}

/// The stream that chunks hold, as far as their headers are right.
pub(in super::super) fn parse_stream(bytes: &[u8], chunk_size: usize) -> Vec<u8> {
    let mut sums = Sums::default();
    let mut stream = Vec::new();
    for (number, chunk) in (0..).zip(bytes.chunks_exact(chunk_size)) {
        if [0, 4, 8, 12].map(|at| u32_at(chunk, at)) != sums.head(number) {
            break;
        }
        sums.add(&chunk[HEAD_SIZE..]);
        stream.extend_from_slice(&chunk[HEAD_SIZE..]);
    }
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_comes_back_with_zeros_behind_it() {
        for len in [0, 1, 2031, 2032, 2033, 5000] {
            let stream: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let bytes = emit_stream(&stream, 2048);
            assert_eq!(bytes.len(), (len / 2032 + 1) * 2048);
            let parsed = parse_stream(&bytes, 2048);
            assert_eq!(parsed[..len], stream);
            assert!(parsed[len..].iter().all(|&byte| byte == 0));
            let mut wrong = bytes.clone();
            let last = bytes.len() - 2048;
            wrong[last + 9] ^= 1;
            assert_eq!(parse_stream(&wrong, 2048).len(), last / 2048 * 2032, "{len}");
        }
    }
}
