//! Zstandard (RFC 8878), which UBIFS uses by default in kernels that are built with it.
//!
//! [`compress`] makes a frame of one block, in the manner of level 3 of the reference encoder. Two
//! hash tables find matches, literals are Huffman-coded where that saves bytes, and sequences are
//! coded with the predefined tables of the format. [`decompress`] uses a library, which reads all
//! frames.

mod bits;
mod fse;
mod huffman;
mod matches;
mod sequences;

use std::io::Read;

use matches::Sequence;

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Flag: the window is the whole content, whose size follows in one or two bytes.
const SINGLE_SEGMENT: u8 = 0x20;
const SIZE_OF_TWO_BYTES: u8 = 0x40;
/// Bytes that one block may hold.
const BLOCK_SIZE_MAX: usize = 1 << 16;

/// Compress `data` into one frame.
///
/// # Panics
/// If the data is longer than 64 KiB.
pub fn compress(data: &[u8]) -> Vec<u8> {
    assert!(data.len() <= BLOCK_SIZE_MAX, "one block");
    let mut frame = MAGIC.to_vec();
    if let Ok(size) = u8::try_from(data.len()) {
        frame.extend([SINGLE_SEGMENT, size]);
    } else {
        let size = u16::try_from(data.len() - 256).expect("within one block");
        frame.push(SINGLE_SEGMENT | SIZE_OF_TWO_BYTES);
        frame.extend(size.to_le_bytes());
    }
    let block = compress_block(data);
    let (kind, content) = if block.len() < data.len() { (2, block.as_slice()) } else { (0, data) };
    let header = 1 | kind << 1 | u32::try_from(content.len()).expect("one block") << 3;
    frame.extend(&header.to_le_bytes()[..3]);
    frame.extend(content);
    frame
}

fn compress_block(data: &[u8]) -> Vec<u8> {
    let (sequences, literals) = matches::find(data);
    let mut block = huffman::literals_section(&literals);
    block.extend(sequences::section(&sequences));
    block
}

/// Decompress a frame. `None` if it is damaged, or holds more than `size_max` bytes.
pub fn decompress(frame: &[u8], size_max: usize) -> Option<Vec<u8>> {
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(frame).ok()?;
    let mut data = Vec::with_capacity(size_max);
    let limit = u64::try_from(size_max).ok()? + 1;
    (&mut decoder).take(limit).read_to_end(&mut data).ok()?;
    (data.len() <= size_max).then_some(data)
}

#[cfg(test)]
mod tests {
    use flysch_chip::Prng;

    use super::{compress, decompress};

    fn random(len: usize, values: u64, seed: u64) -> Vec<u8> {
        let mut prng = Prng::new(seed);
        (0..len).map(|_| u8::try_from(prng.below(values)).unwrap()).collect()
    }

    #[test]
    fn what_is_compressed_comes_back() {
        let mut inputs = vec![vec![], vec![7], vec![0; 4096], vec![9; 65_535]];
        for seed in 0..400 {
            let values = [2, 3, 5, 17, 64, 130, 254, 256][seed % 8];
            let len = 1 + usize::try_from(Prng::new(seed as u64).below(5000)).unwrap();
            let mut data = random(len, values, seed as u64);
            if seed % 3 == 0 {
                let middle = len / 2;
                data[middle..].fill(0);
                data.extend_from_within(..middle);
            }
            inputs.push(data);
        }
        for (number, data) in inputs.iter().enumerate() {
            let frame = compress(data);
            assert!(frame.len() <= data.len() + 12, "{number}");
            assert_eq!(decompress(&frame, data.len()).as_ref(), Some(data), "input {number}");
        }
    }

    #[test]
    fn six_bits_take_six_bits() {
        let frame = compress(&random(2400, 64, 1));
        assert!((1800..1900).contains(&frame.len()), "{}", frame.len());
    }

    #[test]
    fn hostile_frames_are_refused() {
        for seed in 0..300 {
            let mut frame = compress(&random(700, 20, seed));
            let at = usize::try_from(Prng::new(seed).below(frame.len() as u64)).unwrap();
            frame[at] ^= 0x55;
            if let Some(data) = decompress(&frame, 700) {
                assert!(data.len() <= 700);
            }
        }
    }
}
