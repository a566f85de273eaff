//! Random strings and the characters they consist of.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use flysch_chip::Prng;
use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

/// The characters of random strings, which decide how well the strings can be compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Alphabet {
    /// Any byte except 0 and the apostrophe: 254 values.
    Bytes,
    /// The 64 characters of Base64.
    Base64,
    Digits,
    /// One letter, repeated: the most compressible string.
    Constant,
}

named!(Alphabet, "alphabet");

impl Alphabet {
    fn characters(self) -> Vec<u8> {
        match self {
            Self::Bytes => (1..=u8::MAX).filter(|&byte| byte != b'\'').collect(),
            Self::Base64 => {
                let letters = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9');
                letters.chain(*b"+/").collect()
            }
            Self::Digits => (b'0'..=b'9').collect(),
            Self::Constant => b"x".to_vec(),
        }
    }
}

/// A seeded source of random strings of one length.
///
/// The strings are pieces of one text. Machines that are filled alike draw the same text, so its
/// beginning is kept, see `TEXTS`.
#[derive(Clone, Debug)]
pub struct RandomStrings {
    source: Source,
    len: u32,
    /// How many characters were drawn.
    at: u64,
}

/// What a text follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source {
    characters: Characters,
    seed: u64,
}

/// The characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Characters {
    Of(Alphabet),
    /// The 95 of ASCII from the space on.
    Printable,
}

impl Characters {
    fn list(self) -> Vec<u8> {
        match self {
            Self::Of(alphabet) => alphabet.characters(),
            Self::Printable => (b' '..=b'~').collect(),
        }
    }
}

/// A text of `len` random printable characters, each of them the next number of a [`Prng`].
pub(crate) fn printable(len: u32, seed: u64) -> Vec<u8> {
    let mut text = Vec::new();
    Source { characters: Characters::Printable, seed }.append(0, len, &mut text);
    text
}

/// Characters that are kept of a text.
const KEPT_LEN: usize = 12 << 20;
/// Number of texts of which the beginning is kept: those of the seeds that are run at a time.
const KEPT_COUNT: usize = 4;

/// The beginnings of the texts that were drawn last.
static TEXTS: Mutex<VecDeque<(Source, Vec<u8>)>> = Mutex::new(VecDeque::new());

impl Source {
    /// Append `len` characters of the text to `text`, from its character `at` on.
    fn draw(self, at: u64, len: usize, text: &mut Vec<u8>) {
        let mut prng = Prng::new(self.seed).after(at);
        let characters = self.characters.list();
        let count = characters.len() as u64;
        text.extend(
            (0..len).map(|_| characters[usize::try_from(prng.below(count)).expect("below 256")]),
        );
    }

    /// Append `len` characters of the text to `text`, from its character `at` on. Those at its
    /// beginning are kept.
    fn append(self, at: u64, len: u32, text: &mut Vec<u8>) {
        /// Characters that are drawn in one call. On a real machine, making a text must take much
        /// less time than its statement.
        const PIECE: usize = 64 << 10;
        let end = usize::try_from(at + u64::from(len)).unwrap_or(usize::MAX);
        let len = len as usize;
        if end > KEPT_LEN {
            return self.draw(at, len, text);
        }
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let place = texts.iter().position(|(source, _)| *source == self);
        let place = place.unwrap_or_else(|| {
            if texts.len() == KEPT_COUNT {
                texts.pop_front();
            }
            texts.push_back((self, Vec::new()));
            texts.len() - 1
        });
        let kept = &mut texts[place].1;
        while kept.len() < end {
            self.draw(kept.len() as u64, PIECE, kept);
        }
        text.extend_from_slice(&kept[end - len..end]);
    }
}

impl RandomStrings {
    /// Strings of `len` characters of `alphabet`.
    pub fn new(alphabet: Alphabet, len: u32, seed: u64) -> Self {
        Self { source: Source { characters: Characters::Of(alphabet), seed }, len, at: 0 }
    }

    /// Append one string to `text`.
    pub fn append(&mut self, text: &mut Vec<u8>) {
        self.source.append(self.at, self.len, text);
        self.at += u64::from(self.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_never_end_their_literal() {
        let mut text = Vec::new();
        RandomStrings::new(Alphabet::Bytes, 20_000, 3).append(&mut text);
        assert!(!text.contains(&0) && !text.contains(&b'\''));
        assert!((1..=255).filter(|&byte| byte != b'\'').all(|byte| text.contains(&byte)));
    }

    /// Strings are the same whether their text is kept or not.
    #[test]
    fn strings_are_pieces_of_one_text() {
        let source = Source { characters: Characters::Of(Alphabet::Digits), seed: 9 };
        let mut whole = Vec::new();
        source.draw(0, 2 * KEPT_LEN, &mut whole);
        let mut text = Vec::new();
        let mut strings = RandomStrings::new(Alphabet::Digits, 1_000_003, source.seed);
        (0..20).for_each(|_| strings.append(&mut text));
        assert!(whole.starts_with(&text) && text.len() > KEPT_LEN);
    }
}
