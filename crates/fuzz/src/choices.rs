//! The input of a fuzz target, read as a sequence of numbers.

use flysch_chip::Prng;

/// A sequence of numbers, read from bytes. After the last byte, all numbers are 0.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub const fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        first
    }

    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// A number below `bound`. 0 if `bound` is 0. A small bound takes one byte of the input.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound < 2 {
            return 0;
        }
        let bytes = if bound <= 1 << 8 { 1 } else { 1 + usize::from(bound > 1 << 16) * 2 + 1 };
        let drawn = (0..bytes).fold(0, |drawn, _| drawn << 8 | usize::from(self.byte()));
        drawn % bound
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.below(all.len())).copied()
    }
}

/// A random input of at most `len_max` bytes. Short inputs are more likely than long ones.
pub fn drawn(seed: u64, len_max: usize) -> Vec<u8> {
    let mut prng = Prng::new(seed);
    let reach = 1 + prng.below(len_max.max(1) as u64);
    let len = usize::try_from(1 + prng.below(reach)).unwrap_or(1);
    let mut bytes = vec![0; len];
    prng.fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_end_and_stay_below_their_bounds() {
        let bytes = drawn(3, 400);
        let mut choices = Choices::new(&bytes);
        for bound in [0, 1, 2, 255, 256, 257, 65_537, 1 << 22].into_iter().cycle() {
            assert!(choices.below(bound) < bound.max(1));
            if choices.is_over() {
                break;
            }
        }
        assert_eq!((choices.byte(), choices.word(), choices.below(9)), (0, 0, 0));
    }
}
