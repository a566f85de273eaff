//! What the measurements write: bytes that compressors treat differently.

use flysch_chip::Prng;

/// A kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Random bytes, which no compressor shrinks.
    Random,
    /// Random bytes in the first half of each 1 KiB and zeros in the second, as in database pages.
    Half,
    /// Random characters of base64. Their codes alone save a quarter.
    Text,
    /// Random bytes in rows of 100 with a few equal ones before each, as in pages of a database.
    /// Zstd makes codes for them that save next to nothing.
    Rows,
    /// Words of a small vocabulary, in which compressors find many short matches.
    Words,
    /// Rows of many columns: small numbers, a name of a few and a note of more random characters,
    /// and a word. Matches are few and of many lengths.
    Columns,
    Zeros,
}

impl Content {
    pub(super) const ALL: [Self; 7] =
        [Self::Random, Self::Half, Self::Text, Self::Rows, Self::Words, Self::Columns, Self::Zeros];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Half => "half",
            Self::Text => "text",
            Self::Rows => "rows",
            Self::Words => "words",
            Self::Columns => "columns",
            Self::Zeros => "zeros",
        }
    }

    /// `len` bytes of this kind. Other seeds give other bytes, but for zeros.
    pub(super) fn bytes(self, len: usize, seed: u64) -> Vec<u8> {
        const CHARACTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut bytes = vec![0; len];
        let mut prng = Prng::new(seed);
        if self != Self::Zeros {
            prng.fill(&mut bytes);
        }
        match self {
            Self::Random | Self::Zeros => {}
            Self::Half => bytes.chunks_mut(1024).for_each(|page| {
                let half = page.len() / 2;
                page[half..].fill(0);
            }),
            Self::Text => {
                for byte in &mut bytes {
                    *byte = CHARACTERS[usize::from(*byte % 64)];
                }
            }
            Self::Rows => bytes.chunks_mut(106).for_each(|row| {
                let head = row.len().min(HEAD.len());
                row[..head].copy_from_slice(&HEAD[..head]);
            }),
            Self::Words => {
                let words = vocabulary();
                let drawn = std::iter::repeat_with(|| &words[draw(&mut prng, words.len())]);
                bytes.iter_mut().zip(drawn.flatten()).for_each(|(byte, &letter)| *byte = letter);
            }
            Self::Columns => {
                let words = vocabulary();
                let rows = std::iter::repeat_with(|| {
                    let mut row = vec![90, 9, 1, 1, 2, 31, 61, 19, 8];
                    row.extend([1, 1 + low(&mut prng, 10), low(&mut prng, 100), 0]);
                    let len = 30 + draw(&mut prng, 30);
                    row.extend((0..len).map(|_| CHARACTERS[draw(&mut prng, CHARACTERS.len())]));
                    row.extend(&words[draw(&mut prng, words.len())]);
                    row
                });
                bytes.iter_mut().zip(rows.flatten()).for_each(|(byte, value)| *byte = value);
            }
        }
        bytes
    }
}

/// What SQLite writes before a row of 100 bytes, but for its number: the length of the row and of
/// its header, NULL in place of the number, and the type of the text.
const HEAD: [u8; 6] = [104, 7, 3, 0, 0x81, 0x55];

/// Words of 3 to 9 letters with a space behind each, always the same ones.
fn vocabulary() -> Vec<Vec<u8>> {
    const WORDS: usize = 200;
    const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
    let mut prng = Prng::new(0);
    let mut word = || {
        let len = 3 + draw(&mut prng, 7);
        let letters = std::iter::repeat_with(|| LETTERS[draw(&mut prng, LETTERS.len())]).take(len);
        letters.chain([b' ']).collect()
    };
    (0..WORDS).map(|_| word()).collect()
}

/// A random number below `bound`, as one byte.
fn low(prng: &mut Prng, bound: u8) -> u8 {
    u8::try_from(draw(prng, bound.into())).expect("below a byte")
}

/// A random place in a list of this length.
fn draw(prng: &mut Prng, len: usize) -> usize {
    usize::try_from(prng.below(len as u64)).expect("below a length")
}
