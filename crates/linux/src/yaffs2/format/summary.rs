//! The summary of a block: the tags of all its chunks, stored in its last chunks.

use super::{Tags, put_u32, u32_at};

const VERSION: u32 = 1;
const HEAD_SIZE: usize = 16;
const RECORD_SIZE: usize = 12;

/// Length of the summary of `chunks` chunks, bytes.
pub(in super::super) const fn summary_size(chunks: usize) -> usize {
    HEAD_SIZE + RECORD_SIZE * chunks
}

/// The bytes of a block's summary.
pub(in super::super) fn emit_summary(block: u32, sequence: u32, all: &[Tags]) -> Vec<u8> {
    let mut bytes = vec![0; summary_size(all.len())];
    for (place, tags) in all.iter().enumerate() {
        for (word, value) in tags.words().into_iter().enumerate() {
            put_u32(&mut bytes, HEAD_SIZE + RECORD_SIZE * place + 4 * word, value);
        }
    }
    put_u32(&mut bytes, 0, VERSION);
    put_u32(&mut bytes, 4, block);
    put_u32(&mut bytes, 8, sequence);
    let sum = sum(&bytes[HEAD_SIZE..]);
    put_u32(&mut bytes, 12, sum);
    bytes
}

/// Parse the summary of a block with `chunks` chunks. `None` if it is not that block's summary. A
/// record that makes no sense is `None` inside.
pub(in super::super) fn parse_summary(
    bytes: &[u8],
    block: u32,
    sequence: u32,
    chunks: usize,
) -> Option<Vec<Option<Tags>>> {
    let bytes = bytes.get(..summary_size(chunks))?;
    let records = &bytes[HEAD_SIZE..];
    let is_good = [VERSION, block, sequence, sum(records)]
        == [u32_at(bytes, 0), u32_at(bytes, 4), u32_at(bytes, 8), u32_at(bytes, 12)];
    let tags = |record: &[u8]| {
        let words = [u32_at(record, 0), u32_at(record, 4), u32_at(record, 8)];
        Tags::of_words(sequence, words)
    };
    is_good.then(|| records.chunks(RECORD_SIZE).map(tags).collect())
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&byte| u32::from(byte)).sum()
}
