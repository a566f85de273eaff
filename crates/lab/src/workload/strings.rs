//! Random strings and the characters they consist of.

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
#[derive(Clone, Debug)]
pub struct RandomStrings {
    characters: Vec<u8>,
    len: u32,
    prng: Prng,
}

impl RandomStrings {
    /// Strings of `len` characters of `alphabet`.
    pub fn new(alphabet: Alphabet, len: u32, seed: u64) -> Self {
        Self { characters: alphabet.characters(), len, prng: Prng::new(seed) }
    }

    /// Append one string to `text`.
    ///
    /// # Panics
    /// Never: an alphabet has fewer than 256 characters.
    pub fn append(&mut self, text: &mut Vec<u8>) {
        let Self { characters, len, prng } = self;
        let count = characters.len() as u64;
        // All characters are drawn in one call. On a real machine, making a text must take much
        // less time than its statement.
        text.extend(
            (0..*len).map(|_| characters[usize::try_from(prng.below(count)).expect("below 256")]),
        );
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
}
