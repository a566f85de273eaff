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
    Zeros,
}

impl Content {
    pub(super) const ALL: [Self; 4] = [Self::Random, Self::Half, Self::Text, Self::Zeros];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Half => "half",
            Self::Text => "text",
            Self::Zeros => "zeros",
        }
    }

    /// `len` bytes of this kind.
    pub(super) fn bytes(self, len: usize, seed: u64) -> Vec<u8> {
        const CHARACTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut bytes = vec![0; len];
        if self != Self::Zeros {
            Prng::new(seed).fill(&mut bytes);
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
        }
        bytes
    }
}
