//! The summary of a block: the tags of all its chunks, stored in its last chunks.
//!
//! A summary that is longer than a chunk has a header in each of its chunks. The checksum is that
//! of all records, the sum of their bytes. Blocks are numbered from 1, for the real code adds one
//! to the numbers of a device whose first block is 0.

use super::{Tags, put_u32, u32_at};

const VERSION: u32 = 1;
const HEAD_SIZE: usize = 16;
const RECORD_SIZE: usize = 12;

/// Where the summary of a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct SummaryShape {
    /// Bytes of a chunk.
    chunk_size: usize,
    /// Chunks that have a record, all of them before the first one of the summary.
    pub covered: u32,
    /// Chunks at the end of a block that are reserved for the summary.
    pub reserved: u32,
    /// How many of the reserved chunks the summary takes.
    pub parts: u32,
}

impl SummaryShape {
    pub(in super::super) fn of(chunks: u32, chunk_size: usize) -> Self {
        let room = chunk_size - HEAD_SIZE;
        let count = |chunks: u32| RECORD_SIZE * chunks as usize;
        let narrow = |count: usize| u32::try_from(count).expect("a few chunks");
        // The real code reserves room for records of all chunks, those of the summary included,
        // and rounds up by more than the room in a chunk.
        let reserved = narrow((count(chunks) + chunk_size - 1) / room);
        let covered = chunks - reserved;
        Self { chunk_size, covered, reserved, parts: narrow(count(covered).div_ceil(room)) }
    }

    /// Bytes of part `part` that mean something, its header included.
    pub(in super::super) fn len(self, part: u32) -> usize {
        let room = self.chunk_size - HEAD_SIZE;
        let rest = RECORD_SIZE * self.covered as usize - room * part as usize;
        HEAD_SIZE + rest.min(room)
    }
}

/// The chunks of a block's summary. `all` are the tags of the chunks that it covers.
pub(in super::super) fn emit_summary(
    shape: SummaryShape,
    block: u32,
    sequence: u32,
    all: &[Tags],
) -> Vec<Vec<u8>> {
    let mut records = vec![0; RECORD_SIZE * all.len()];
    for (place, tags) in all.iter().enumerate() {
        for (word, value) in tags.words().into_iter().enumerate() {
            put_u32(&mut records, RECORD_SIZE * place + 4 * word, value);
        }
    }
    let head = [VERSION, block + 1, sequence, sum(&records)];
    let chunk = |records: &[u8]| {
        let mut chunk = vec![0xFF; shape.chunk_size];
        for (word, value) in head.into_iter().enumerate() {
            put_u32(&mut chunk, 4 * word, value);
        }
        chunk[HEAD_SIZE..HEAD_SIZE + records.len()].copy_from_slice(records);
        chunk
    };
    records.chunks(shape.chunk_size - HEAD_SIZE).map(chunk).collect()
}

/// Parse the chunks of a block's summary. `None` if it is not that block's summary. A record that
/// makes no sense is `None` inside.
pub(in super::super) fn parse_summary(
    shape: SummaryShape,
    block: u32,
    sequence: u32,
    parts: &[Vec<u8>],
) -> Option<Vec<Option<Tags>>> {
    let mut records = Vec::new();
    for (number, part) in (0..).zip(parts) {
        records.extend_from_slice(part.get(HEAD_SIZE..shape.len(number))?);
    }
    let head = [VERSION, block + 1, sequence, sum(&records)];
    let found = |part: &Vec<u8>| [0, 4, 8, 12].map(|at| u32_at(part, at));
    // The real code reads the header of each part, and relies on that of the last one.
    let is_good = parts.last().map(found) == Some(head);
    let tags = |record: &[u8]| {
        let words = [u32_at(record, 0), u32_at(record, 4), u32_at(record, 8)];
        Tags::of_words(sequence, words)
    };
    is_good.then(|| records.chunks(RECORD_SIZE).map(tags).collect())
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&byte| u32::from(byte)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(count: u32) -> Vec<Tags> {
        let tags = |chunk| Tags { sequence: 0x1005, object: 300, chunk, bytes: 2048, extra: None };
        (1..=count).map(tags).collect()
    }

    /// 64 chunks of 2 KiB take one chunk, and 256 of 1 KiB take four, each with its header.
    #[test]
    fn each_chunk_of_a_summary_has_its_header() {
        for (chunks, size, reserved, parts) in
            [(64, 2048, 1, 1), (256, 1024, 4, 3), (512, 2048, 4, 3)]
        {
            let shape = SummaryShape::of(chunks, size);
            assert_eq!((shape.reserved, shape.parts), (reserved, parts), "{chunks} of {size}");
            let tags = tags(shape.covered);
            let mut emitted = emit_summary(shape, 9, 0x1005, &tags);
            for chunk in &emitted {
                assert_eq!([0, 4, 8].map(|at| u32_at(chunk, at)), [1, 10, 0x1005]);
            }
            let parse = |emitted: &[Vec<u8>]| parse_summary(shape, 9, 0x1005, emitted);
            assert_eq!(parse(&emitted), Some(tags.into_iter().map(Some).collect()));
            assert_eq!(parse_summary(shape, 10, 0x1005, &emitted), None);
            emitted[0][HEAD_SIZE + 3] ^= 1;
            assert_eq!(parse(&emitted), None, "the checksum is that of all parts");
        }
        let shape = SummaryShape::of(64, 2048);
        assert_eq!((shape.covered, shape.len(0)), (63, 16 + 12 * 63));
    }
}
