//! LZO1X: the compression of the kernel's JFFS2 and UBIFS, written from the stream format.
//!
//! [`compress`] gives the output of LZO1X-1 (greedy, one hash table). [`decompress`] reads the
//! output of any LZO1X compressor.
//!
//! A stream is a series of instructions. An instruction copies literals, which follow it in the
//! stream, or a match: `len` bytes that begin `distance` bytes before the end of the output. Where
//! `distance < len`, a match repeats the bytes that it has copied itself. The first byte `c` of an
//! instruction says which kind it is. Its low bits hold operands; most kinds have one or two bytes
//! more (`h`, or `w` = little-endian 16 bits):
//!
//! ```text
//! c            meaning    operands                                   operand bytes
//! 0000LLLL     literals   len = 3 + L                                extra length
//! 0000DDSS     match      len = 2, distance = 1 + D + 4h             h
//! 0000DDSS     match      len = 3, distance = 2049 + D + 4h          h
//! 0001HLLL     match      len = 2 + L, distance = 16384 (1 + H) + D  extra length, w = D << 2 | S
//! 001LLLLL     match      len = 2 + L, distance = 1 + D              extra length, w = D << 2 | S
//! LLLDDDSS     match      len = 1 + L, distance = 1 + D + 8h         h            (L of 2 or more)
//! ```
//!
//! 1. `S` is in every match. It is the number of literals (0 to 3) that follow the match without an
//!    instruction of their own. A run of literals therefore has at least 4.
//! 2. The meaning of instructions below 16 depends on the literals right before them. After none,
//!    it is a run of literals. After the 1 to 3 of a match, it is a match of 2 bytes. After more,
//!    it is a match of 3 bytes.
//! 3. If `L` is 0, an extra length follows: bytes of 0, each worth 255, and a last byte that is not
//!    0. They are added to the largest value that the bits of `L` can hold.
//! 4. A stream may begin with a byte of 18 or more. This byte minus 17 is the number of literals
//!    that follow.
//! 5. A stream ends with `11 00 00`. That is a match of 3 bytes at distance 16384 in the fourth
//!    form, where real matches have distances from 16385 on.

mod compress;
mod decompress;

pub use compress::compress;
pub use decompress::decompress;
pub(crate) use decompress::{decompress_counting, parts};

/// Largest distance of the form with one distance byte.
const NEAR_DISTANCE_MAX: usize = 1 << 11;
/// Largest length of the form with one distance byte.
const NEAR_LEN_MAX: usize = 8;
/// Largest distance of the form with 14 distance bits. Larger distances are counted from it.
const MIDDLE_DISTANCE_MAX: usize = 1 << 14;
/// Largest distance of any match.
const FAR_DISTANCE_MAX: usize = 3 * MIDDLE_DISTANCE_MAX - 1;

/// At how many places the compressor looks for a match in `len` bytes that have none.
pub(crate) fn positions_in_vain(len: usize) -> u64 {
    compress::positions(len.saturating_sub(compress::TAIL_LEN), true)
}

/// If a stream begins with `n` literals and no match follows, its first byte is this number plus
/// `n`.
const FIRST_LITERALS: u8 = 17;
/// The bytes that end every stream.
const END: [u8; 3] = [0x11, 0, 0];

#[cfg(test)]
mod tests {
    use flysch_chip::Prng;

    use super::decompress::Parts;
    use super::{compress, decompress, parts, positions_in_vain};

    const LAYERS: &[u8] = b"flysch flysch flysch, and sandstone and shale";
    const STONES: &[u8] = b"flint, flit, flat, fat, at, a flat flint at a flat";

    /// Output of `lzo1x_1_compress` of liblzo2 2.10: bytes in hexadecimal, and behind `*` how often
    /// they are repeated.
    const REFERENCE_FAST: [&str; 3] = [
        "02 00*5 20 00*15 da 10 00 0c 00*15 11 00 00",
        "04 666c7973636820 2b1800 00 07 2c20616e642073616e6473746f6e6520616e64207368616c65 110000",
        "07 747572626964697465 00 20 00*156 ba 0000 18 03 2471 0e 00*17 110000",
    ];
    /// Output of its `lzo1x_999_compress`, which has matches of 2 and 3 bytes with instructions
    /// below 16.
    const REFERENCE_BEST: [&str; 3] = [
        "18 666c7973636820 2b1800 04 2c20616e642073 5000 02 73746f6e65 b401 01 68616c65 110000",
        "18 666c696e742c20 5800 9500 61 7400 7000 8c00 8102 20 8804 4002 dc01 110000",
        "15 78797a00 20 00*7 e6 0000 2012 0000 01 61626364 080e 110000",
    ];

    fn bytes_of(stream: &str) -> Vec<u8> {
        let byte = |digits| u8::from_str_radix(digits, 16).expect("hexadecimal");
        let mut bytes = Vec::new();
        for token in stream.split_whitespace() {
            let (digits, times) = token.split_once('*').unwrap_or((token, "1"));
            let run = (0..digits.len()).step_by(2).map(|at| byte(&digits[at..at + 2]));
            bytes.extend(run.collect::<Vec<_>>().repeat(times.parse().expect("a count")));
        }
        bytes
    }

    fn zeros_between(start: &[u8], zero_count: usize, end: &[u8]) -> Vec<u8> {
        [start, &vec![0; zero_count], end].concat()
    }

    /// The reference streams with their data, those of the fast compressor first.
    fn references() -> Vec<(Vec<u8>, Vec<u8>)> {
        let data = [
            vec![0; 4096],
            LAYERS.to_vec(),
            [zeros_between(b"turbidite", 40_000, b"turbidite"), vec![0; 20]].concat(),
            LAYERS.to_vec(),
            STONES.to_vec(),
            zeros_between(b"xyz", 2100, b"abcdxyz"),
        ];
        REFERENCE_FAST.iter().chain(&REFERENCE_BEST).map(|text| bytes_of(text)).zip(data).collect()
    }

    /// A page of four records, each a header of zeros and then random bytes with 254 values.
    fn record_page() -> Vec<u8> {
        let mut prng = Prng::new(1);
        let mut page = vec![0; 4096];
        for record in page.chunks_mut(1024) {
            record[424..].fill_with(|| 1 + prng.below(254).to_le_bytes()[0]);
        }
        page
    }

    fn random(len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        Prng::new(len as u64).fill(&mut bytes);
        bytes
    }

    #[test]
    fn reference_streams_are_read_whole_or_not_at_all() {
        for (coded, data) in references() {
            assert_eq!(decompress(&coded, data.len()), Some(data.clone()));
            let longer = [&coded[..], &[0]].concat();
            let shorter = (0..coded.len()).map(|len| &coded[..len]);
            for part in shorter.chain([&longer[..]]) {
                assert_eq!(decompress(part, data.len()), None, "{part:02x?}");
            }
            for wrong_len in [0, data.len() - 1, data.len() + 1, usize::MAX] {
                assert_eq!(decompress(&coded, wrong_len), None, "{wrong_len} bytes");
            }
        }
    }

    #[test]
    fn streams_are_those_of_the_reference() {
        for (coded, data) in references().into_iter().take(REFERENCE_FAST.len()) {
            assert_eq!(compress(&data), coded);
        }
        assert_eq!(compress(&record_page()).len(), 2454, "as lzo1x_1_compress makes");
    }

    #[test]
    fn the_work_of_a_stream_is_counted() {
        // Five literals, a match that repeats them, and the tail in which nothing is sought.
        let (single_bytes, tail_bytes) = (4076, 15);
        let zeros = Parts { matches: 1, literal_runs: 2, single_bytes, tail_bytes, positions: 1 };
        assert_eq!(parts(&compress(&[0; 4096]), 4096), zeros);
        // The stride grows by one every 32 bytes: 32 places in the first of them.
        assert_eq!((positions_in_vain(20 + 5 + 27), positions_in_vain(20)), (27, 0));
        let noise = random(4096);
        let counted = parts(&compress(&noise), 4096);
        assert_eq!((counted.matches, counted.positions), (0, positions_in_vain(4096)));
    }

    #[test]
    fn what_is_compressed_comes_back() {
        let mut cases = vec![record_page(), vec![0; 200_000]];
        cases.extend((0..64).chain([237, 238, 239, 4096, 70_000]).map(random));
        // Repeated data makes matches that overlap themselves.
        cases.extend((1..40).map(|period| random(period).repeat(12)));
        // Distances at the limits of each form, with lengths at the limits of each form.
        for distance in [2048, 2049, 16_384, 16_385, 32_767, 32_768, 49_151, 49_152, 65_536] {
            for len in [4, 8, 9, 10, 33, 34, 300] {
                let repeated = random(len);
                let tail = random(20);
                let gap = vec![0; distance - len];
                cases.push([&repeated[..], &gap, &repeated, &tail].concat());
            }
        }
        for data in cases {
            let coded = compress(&data);
            assert!(coded.len() <= data.len() + data.len() / 16 + 67, "{} bytes", data.len());
            assert_eq!(decompress(&coded, data.len()), Some(data));
        }
    }

    #[test]
    fn damaged_streams_yield_the_length_told_or_nothing() {
        let mut prng = Prng::new(2);
        for (coded, data) in references() {
            for _ in 0..2000 {
                let mut damaged = coded.clone();
                for _ in 0..=prng.below(3) {
                    let len = damaged.len() as u64;
                    let at = usize::try_from(prng.below(len)).expect("below a length");
                    damaged[at] = prng.next().to_le_bytes()[0];
                }
                let got = decompress(&damaged, data.len());
                assert!(got.is_none_or(|got| got.len() == data.len()), "{damaged:02x?}");
            }
        }
    }
}
