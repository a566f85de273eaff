//! Zstandard (RFC 8878), done by the reference library. UBIFS uses it by default in kernels that
//! are built with it.
//!
//! The kernel's zstd is a copy of the library. Each version finds other matches, so the library is
//! pinned to the version whose output is the kernel's, byte for byte.
//!
//! A compressor is kept, as the kernel keeps one. Its output is the same as that of a new one.

mod frame;

use std::cell::RefCell;

use zstd_safe::{CCtx, CParameter, DCtx, Strategy};

pub(crate) use frame::Parts;

/// Level 3 for a size that is not known, which is what the kernel's crypto layer asks for
/// (`ZSTD_DEF_LEVEL` in `crypto/zstd.c`). A level would not give the same: the library chooses
/// the parameters of a level by the size of the input, the kernel sets each of them.
const PARAMETERS: [CParameter; 7] = [
    CParameter::WindowLog(21),
    CParameter::ChainLog(16),
    CParameter::HashLog(17),
    CParameter::SearchLog(1),
    CParameter::MinMatch(5),
    CParameter::TargetLength(0),
    CParameter::Strategy(Strategy::ZSTD_dfast),
];

thread_local! {
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(compressor());
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn compressor() -> CCtx<'static> {
    let mut zstd = CCtx::create();
    for parameter in PARAMETERS {
        zstd.set_parameter(parameter).expect("the library knows the parameter");
    }
    zstd
}

/// Compress `data` into one frame, in the way of the kernel's UBIFS.
pub(crate) fn compress(data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; zstd_safe::compress_bound(data.len())];
    let len = COMPRESSOR.with_borrow_mut(|zstd| zstd.compress2(&mut frame, data));
    frame.truncate(len.expect("the bound holds any outcome"));
    frame
}

/// Decompress `stored`. `None` if it is damaged or gives more than `limit` bytes.
pub(crate) fn decompress(stored: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut data = vec![0; limit];
    let len = DECOMPRESSOR.with_borrow_mut(|zstd| zstd.decompress(&mut data, stored)).ok()?;
    data.truncate(len);
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flysch_chip::Prng;

    /// Inputs of 1 byte to 5000: random bytes of few or many values, zeros and repeats.
    fn inputs() -> Vec<Vec<u8>> {
        let input = |seed: u64| {
            let mut prng = Prng::new(seed);
            let values = [2, 3, 5, 17, 64, 130, 254, 256][usize::try_from(seed % 8).unwrap()];
            let mut data = vec![0; 1 + usize::try_from(prng.below(5000)).unwrap()];
            data.fill_with(|| prng.below(values).to_le_bytes()[0]);
            if seed.is_multiple_of(3) {
                let middle = data.len() / 2;
                data[middle..].fill(0);
                data.extend_from_within(..middle);
            }
            data
        };
        (0..400).map(input).chain([vec![], vec![0; 4096], vec![9; 70_000]]).collect()
    }

    #[test]
    fn a_frame_gives_its_bytes_and_no_more_than_allowed() {
        for (number, data) in inputs().iter().enumerate() {
            let frame = compress(data);
            let len = data.len();
            assert_eq!(decompress(&frame, len).as_ref(), Some(data), "input {number}");
            assert_eq!(decompress(&frame, len + 9).as_ref(), Some(data), "input {number}");
            assert!(len == 0 || decompress(&frame, len - 1).is_none(), "input {number}");
            assert_eq!(decompress(&frame[..frame.len() - 1], len), None, "input {number}");
        }
    }

    #[test]
    fn a_kept_compressor_gives_the_same_as_a_new_one() {
        for (number, data) in inputs().iter().enumerate() {
            let mut frame = vec![0; zstd_safe::compress_bound(data.len())];
            let len = compressor().compress2(&mut frame, data).unwrap();
            assert!(compress(data) == frame[..len], "input {number}");
        }
    }

    #[test]
    fn hostile_frames_are_refused() {
        let mut prng = Prng::new(1);
        for data in inputs() {
            let mut frame = compress(&data);
            let at = usize::try_from(prng.below(frame.len() as u64)).unwrap();
            frame[at] ^= 0x55;
            if let Some(read) = decompress(&frame, data.len()) {
                assert!(read.len() <= data.len());
            }
        }
    }
}
