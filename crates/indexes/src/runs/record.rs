//! The commit record: the state of the index that does not follow from its pages.
//!
//! ```text
//! 0       4       8     10     11      12         16        20     24       25     26       32
//! | magic | CRC32 | len | runs | areas | sequence | flushed | seed | target | jobs | shape  | extents, runs, jobs
//! ```
//!
//! The CRC covers all that follows it. A record begins at a sector of the log's pages.

use flysch::bytes::{array, crc32};

use super::job::Job;
use super::run::{RUN_SIZE, Run};
use crate::area::Extent;

const MAGIC: [u8; 4] = *b"FlRn";
const EXTENT_SIZE: usize = 8;

mod field {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const CRC: Range<usize> = 4..8;
    pub(super) const LEN: Range<usize> = 8..10;
    pub(super) const RUN_COUNT: usize = 10;
    pub(super) const AREA_COUNT: usize = 11;
    pub(super) const SEQUENCE: Range<usize> = 12..16;
    pub(super) const FLUSHED: Range<usize> = 16..20;
    pub(super) const SEED: Range<usize> = 20..24;
    pub(super) const TARGET: usize = 24;
    pub(super) const JOB_COUNT: usize = 25;
    pub(super) const SHAPE: Range<usize> = 26..29;
    pub(super) const END: usize = 32;
}

/// The fixed fields of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sequence: u32,
    pub(super) flushed: u32,
    pub(super) seed: u32,
    pub(super) target: u8,
    /// Hash bits, pointer bits and levels. A record with other parameters belongs to another index.
    pub(super) shape: [u8; 3],
}

/// The size in bytes of a record with this many extents, runs and jobs.
pub(super) const fn record_size(areas: usize, runs: usize, jobs: usize) -> usize {
    field::END + areas * EXTENT_SIZE + (runs + jobs) * RUN_SIZE
}

/// Write a record to the start of `out`. Returns its length.
pub(super) fn emit(
    out: &mut [u8],
    head: &Head,
    extents: impl ExactSizeIterator<Item = Extent>,
    runs: &[Run],
    jobs: &[Option<Job>],
) -> usize {
    let area_count = extents.len();
    let job_count = jobs.iter().flatten().count();
    let len = record_size(area_count, runs.len(), job_count);
    assert!(len <= out.len(), "the number of runs is bounded by the buffer");
    out.fill(0xFF);
    out[field::MAGIC].copy_from_slice(&MAGIC);
    out[field::LEN].copy_from_slice(&(len as u16).to_le_bytes());
    out[field::RUN_COUNT] = runs.len() as u8;
    out[field::AREA_COUNT] = area_count as u8;
    out[field::SEQUENCE].copy_from_slice(&head.sequence.to_le_bytes());
    out[field::FLUSHED].copy_from_slice(&head.flushed.to_le_bytes());
    out[field::SEED].copy_from_slice(&head.seed.to_le_bytes());
    out[field::TARGET] = head.target;
    out[field::JOB_COUNT] = job_count as u8;
    out[field::SHAPE].copy_from_slice(&head.shape);
    let (extent_bytes, rest) = out[field::END..len].split_at_mut(area_count * EXTENT_SIZE);
    for (bytes, extent) in extent_bytes.chunks_exact_mut(EXTENT_SIZE).zip(extents) {
        bytes[..4].copy_from_slice(&extent.head.to_le_bytes());
        bytes[4..].copy_from_slice(&extent.tail.to_le_bytes());
    }
    let outputs = jobs.iter().flatten().map(|job| Run { frozen: job.reader, ..job.out });
    let entries = runs.iter().copied().chain(outputs);
    for (bytes, run) in rest.chunks_exact_mut(RUN_SIZE).zip(entries) {
        bytes.copy_from_slice(&run.emit());
    }
    let crc = crc32(0, &out[field::LEN.start..len]);
    out[field::CRC].copy_from_slice(&crc.to_le_bytes());
    len
}

/// The length in the header of a record. None if the bytes do not begin with a record.
pub(super) fn peek_len(bytes: &[u8]) -> Option<usize> {
    let len = usize::from(u16::from_le_bytes(array(&bytes[field::LEN])));
    (bytes[field::MAGIC] == MAGIC && len >= field::END).then_some(len)
}

/// A record whose checksum is right.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordView<'a> {
    bytes: &'a [u8],
}

impl<'a> RecordView<'a> {
    /// Check the bytes of a whole record. None if they are not valid.
    pub(super) fn check(bytes: &'a [u8]) -> Option<Self> {
        let crc = u32::from_le_bytes(array(&bytes[field::CRC]));
        let view = Self { bytes };
        let len = record_size(
            usize::from(bytes[field::AREA_COUNT]),
            usize::from(bytes[field::RUN_COUNT]),
            usize::from(bytes[field::JOB_COUNT]),
        );
        let is_sound = crc == crc32(0, &bytes[field::LEN.start..]);
        (is_sound && len == bytes.len() && view.entries().all(|run| run.is_some())).then_some(view)
    }

    pub(super) fn head(&self) -> Head {
        let word = |range| u32::from_le_bytes(array(&self.bytes[range]));
        Head {
            sequence: word(field::SEQUENCE),
            flushed: word(field::FLUSHED),
            seed: word(field::SEED),
            target: self.bytes[field::TARGET],
            shape: array(&self.bytes[field::SHAPE]),
        }
    }

    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> + 'a {
        let count = usize::from(self.bytes[field::AREA_COUNT]);
        let bytes = &self.bytes[field::END..][..count * EXTENT_SIZE];
        bytes.chunks_exact(EXTENT_SIZE).map(|bytes| Extent {
            head: u32::from_le_bytes(array(&bytes[..4])),
            tail: u32::from_le_bytes(array(&bytes[4..])),
        })
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + 'a {
        self.entries().flatten().take(usize::from(self.bytes[field::RUN_COUNT]))
    }

    /// The outputs of the jobs. In each, `frozen` holds the job's reader bit.
    pub(super) fn jobs(&self) -> impl Iterator<Item = Run> + 'a {
        self.entries().flatten().skip(usize::from(self.bytes[field::RUN_COUNT]))
    }

    fn entries(&self) -> impl Iterator<Item = Option<Run>> + 'a {
        let start = field::END + usize::from(self.bytes[field::AREA_COUNT]) * EXTENT_SIZE;
        self.bytes[start..].chunks_exact(RUN_SIZE).map(|bytes| Run::parse(&array(bytes)))
    }
}
