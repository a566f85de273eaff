//! Bytes in pieces: copies share a piece until one of them changes it, and pieces that nobody has
//! written are one piece in the memory of the host.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a piece.
const SIZE: usize = 16 << 10;

/// A number of bytes, of which only the pieces that were written take memory of their own.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pieces: Vec<Arc<[u8; SIZE]>>,
    len: usize,
}

impl Pieces {
    /// `len` bytes, each of them `byte`.
    pub(crate) fn new(len: usize, byte: u8) -> Self {
        let blank = Arc::new([byte; SIZE]);
        Self { pieces: vec![blank; len.div_ceil(SIZE)], len }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        let mut rest = bytes;
        for (piece, range) in parts(at, rest.len()) {
            let (part, others) = rest.split_at_mut(range.len());
            part.copy_from_slice(&self.pieces[piece][range]);
            rest = others;
        }
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let mut rest = bytes;
        for (piece, range) in parts(at, bytes.len()) {
            let (part, others) = rest.split_at(range.len());
            Arc::make_mut(&mut self.pieces[piece])[range].copy_from_slice(part);
            rest = others;
        }
    }

    pub(crate) fn fill(&mut self, at: usize, len: usize, byte: u8) {
        for (piece, range) in parts(at, len) {
            Arc::make_mut(&mut self.pieces[piece])[range].fill(byte);
        }
    }
}

/// The parts of `len` bytes at `at`: the number of each piece, and the range in it.
fn parts(at: usize, len: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let end = at + len;
    let next = move |&from: &usize| Some((from / SIZE + 1) * SIZE);
    iter::successors(Some(at), next).take_while(move |&from| from < end).map(move |from| {
        let begin = from % SIZE;
        (from / SIZE, begin..SIZE.min(begin + end - from))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_they_were_written_and_a_copy_keeps_its_own() {
        let mut plain = vec![7; 3 * SIZE + 5];
        let mut pieces = Pieces::new(plain.len(), 7);
        let before = pieces.clone();
        for (at, len) in
            [(0, 0), (1, 3), (SIZE - 2, 4), (SIZE, SIZE), (10, 2 * SIZE), (3 * SIZE, 5)]
        {
            let written: Vec<u8> = (0..=250).cycle().take(len).collect();
            plain[at..at + len].copy_from_slice(&written);
            pieces.write(at, &written);
        }
        plain[SIZE - 1..=2 * SIZE].fill(9);
        pieces.fill(SIZE - 1, SIZE + 2, 9);
        let content = |pieces: &Pieces| {
            let mut bytes = vec![0; pieces.len()];
            pieces.read(0, &mut bytes);
            bytes
        };
        assert_eq!(content(&pieces), plain);
        assert!(content(&before).iter().all(|&byte| byte == 7));
    }
}
