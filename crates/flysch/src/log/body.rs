//! The body of a record: the content of a commit, a checkpoint or a root.
//!
//! ```text
//! flags 1 | commit 4 | time 8 | tail's commit 4 | base 2 | length 2 | tail bytes
//! write 6 | erases 4 | next block 2 | heads 4 each
//! spans 1 + 12 each | changes 1 + 4 each | state 2 + bytes
//! table 2 + bytes, in a checkpoint: from the block on that no page ahead of it has
//! ```
//!
//! 1. The tail from byte `base` on is here: all of it where `base` is 0.
//! 2. The state is whole in every record of the log; only the tail and the block table may rest on
//!    others. A record in byte-addressable memory may end behind the tail.

use flysch_nand::Nand;

use super::stream::{Sink, Source, StreamError};
use crate::media::{
    CHANGE_SIZE, CHANGES_MAX, ENTRY_SIZE, Media, MediaError, SPAN_SIZE, SPANS_MAX, Space, Span,
};

/// Flag: the record holds the block table.
pub(crate) const CHECKPOINT: u8 = 1;
/// Flag: the database was closed. Nothing but this record was being programmed when the power went.
pub(crate) const STOPPED: u8 = 2;
/// Flag: commits go to an `NvRam`, and the latest may be there alone.
pub(crate) const HAS_NVRAM: u8 = 4;
/// Flag: the record ends behind the tail. All that would follow is as in the record before.
pub(super) const UNCHANGED: u8 = 8;
/// Greatest number of a commit or a record. Greater ones are never written, so that there is room
/// to count on.
pub(crate) const NUMBER_MAX: u32 = u32::MAX - (1 << 24);
/// Greatest number of programs of a device's life: no part lasts as long.
const WRITE_MAX: u64 = 1 << 47;
/// Greatest number of erases of a device's life.
const ERASE_MAX: u32 = 1 << 31;
const _: () = assert!(WRITE_MAX < 1 << 48, "a record has six bytes for the write number");
/// Bytes of a body without its tail, heads, spans, changes, state and block table.
const LEAST: usize = 1 + 4 + 8 + 4 + 2 + 2 + 6 + 4 + 2 + 1 + 1 + 2 + 2;
/// Greatest number of bytes of a body without the tail, the state and the block table.
pub(super) const REST_MAX: usize =
    rest_size(Space::ALL.len()) + SPANS_MAX * SPAN_SIZE + CHANGES_MAX * CHANGE_SIZE;
const _: () = assert!(SPANS_MAX <= 0xFF && CHANGES_MAX <= 0xFF, "a record counts them in a byte");

/// Bytes of a body with so many heads, without spans, changes, the tail, the state and the block
/// table.
pub(super) const fn rest_size(spaces: usize) -> usize {
    LEAST + 4 * spaces
}

/// The content of a record, besides what the flash layer adds itself.
pub(crate) struct Body<'a> {
    pub(crate) flags: u8,
    pub(crate) commit: u32,
    pub(crate) time: u64,
    /// Rows of the tail, from which the record takes its part.
    pub(crate) tail: &'a [u8],
    /// The commit relative to which these rows give theirs.
    pub(crate) tail_base: u32,
    /// The first byte of the tail that no earlier record holds.
    pub(crate) base: usize,
    /// The encoded state of the rows and of the index store.
    pub(crate) state: &'a [u8],
    /// The first block of the block table that is not on pages ahead of the record.
    pub(crate) ahead: usize,
}

impl Body<'_> {
    /// Number of bytes of the body.
    pub(crate) fn size<N: Nand>(&self, media: &mut Media<'_, N>) -> usize {
        let mut count = Sink::Count(0);
        let counted = self.emit(&mut count, media);
        debug_assert_eq!(counted, Ok(()), "counting touches no flash");
        match count {
            Sink::Count(count) => count,
            Sink::Pages(_) | Sink::NvRam(_) => 0,
        }
    }

    #[inline(never)]
    pub(crate) fn emit<N: Nand>(
        &self,
        sink: &mut Sink<'_>,
        media: &mut Media<'_, N>,
    ) -> Result<(), MediaError> {
        assert!(self.base <= self.tail.len(), "what is new lies within the tail");
        debug_assert!(
            self.tail.len() <= media.layout().payload_size(),
            "a mount reads the tail back"
        );
        debug_assert!(self.commit > 0, "commits are counted from 1");
        debug_assert!(self.state.len() <= 0xFFFF, "the state's length has two bytes");
        sink.put(media, &[self.flags])?;
        sink.put(media, &self.commit.to_le_bytes())?;
        sink.put(media, &self.time.to_le_bytes())?;
        sink.put(media, &self.tail_base.to_le_bytes())?;
        sink.put(media, &(self.base as u16).to_le_bytes())?;
        sink.put(media, &((self.tail.len() - self.base) as u16).to_le_bytes())?;
        sink.put(media, &self.tail[self.base..])?;
        if self.flags & UNCHANGED != 0 {
            return Ok(());
        }
        emit_flash(sink, media)?;
        sink.put(media, &(self.state.len() as u16).to_le_bytes())?;
        sink.put(media, self.state)?;
        if self.flags & CHECKPOINT != 0 { emit_table(sink, media, self.ahead) } else { Ok(()) }
    }
}

/// Bytes that are moved at a time, in whole entries of the block table.
const CHUNK: usize = 16 * ENTRY_SIZE;

fn emit_flash<N: Nand>(sink: &mut Sink<'_>, media: &mut Media<'_, N>) -> Result<(), MediaError> {
    let write = media.write.to_le_bytes();
    sink.put(media, &write[..6])?;
    let (erases, next) = (media.erases.to_le_bytes(), (media.next as u16).to_le_bytes());
    sink.put(media, &erases)?;
    sink.put(media, &next)?;
    for at in 0..media.space_count() {
        debug_assert!(media.heads[at] < media.numbers().page_count(), "a head is a page");
        let head = media.heads[at].to_le_bytes();
        sink.put(media, &head)?;
    }
    sink.put(media, &[media.spans.as_slice().len() as u8])?;
    for at in 0..media.spans.as_slice().len() {
        let span = media.spans.as_slice()[at].emit();
        sink.put(media, &span)?;
    }
    sink.put(media, &[media.changes.len() as u8])?;
    let rounds_up = media.write.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 != 0;
    for at in 0..media.changes.len() {
        let change = media.changes.emit(at, &media.table, rounds_up);
        sink.put(media, &change)?;
    }
    Ok(())
}

fn emit_table<N: Nand>(
    sink: &mut Sink<'_>,
    media: &mut Media<'_, N>,
    ahead: usize,
) -> Result<(), MediaError> {
    let (begin, size) = (ahead * ENTRY_SIZE, media.table.bytes().len());
    assert!(begin <= size, "what lies ahead is a part of the table");
    sink.put(media, &((size / ENTRY_SIZE - ahead) as u16).to_le_bytes())?;
    let mut bytes = [0; CHUNK];
    for from in (begin..size).step_by(CHUNK) {
        let len = (size - from).min(CHUNK);
        bytes[..len].copy_from_slice(&media.table.bytes()[from..from + len]);
        sink.put(media, &bytes[..len])?;
    }
    Ok(())
}

/// The first fields of a body, up to the length of the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preface {
    pub(crate) flags: u8,
    pub(crate) commit: u32,
    pub(crate) time: u64,
    pub(crate) tail_base: u32,
    pub(crate) base: usize,
    /// Bytes of the tail that the record holds.
    pub(crate) len: usize,
}

impl Preface {
    /// Read the first fields of a body.
    pub(crate) fn read<N: Nand>(
        reader: &mut dyn Source<N>,
        media: &mut Media<'_, N>,
    ) -> Result<Self, StreamError> {
        let preface = Self {
            flags: reader.number::<1>(media)? as u8,
            commit: reader.number::<4>(media)? as u32,
            time: reader.number::<8>(media)?,
            tail_base: reader.number::<4>(media)? as u32,
            base: reader.number::<2>(media)? as usize,
            len: reader.number::<2>(media)? as usize,
        };
        let end = preface.base + preface.len;
        let is_sane =
            end <= media.layout().payload_size() && (1..=NUMBER_MAX).contains(&preface.commit);
        if is_sane { Ok(preface) } else { Err(StreamError::Broken) }
    }

    /// Read the tail's bytes of a record into the memory of the tail.
    pub(crate) fn read_tail<N: Nand>(
        &self,
        reader: &mut dyn Source<N>,
        media: &mut Media<'_, N>,
        tail: &mut [u8],
    ) -> Result<(), StreamError> {
        let bytes = tail.get_mut(self.base..self.base + self.len).ok_or(StreamError::Broken)?;
        reader.take(media, bytes)
    }
}

/// Read what a body says about the flash, and take it over. The block table of the checkpoint
/// before must already be loaded. The bytes of the layers' state are read to `state`.
pub(crate) fn read_flash<'s, N: Nand>(
    reader: &mut dyn Source<N>,
    media: &mut Media<'_, N>,
    state: &'s mut [u8],
) -> Result<&'s [u8], StreamError> {
    let numbers = media.numbers();
    media.write = reader.number::<6>(media)?;
    media.erases = reader.number::<4>(media)? as u32;
    media.next = reader.number::<2>(media)? as u32;
    if media.write > WRITE_MAX || media.erases > ERASE_MAX {
        return Err(StreamError::Broken);
    }
    for at in 0..media.space_count() {
        let head = reader.number::<4>(media)? as u32;
        if head >= numbers.page_count() {
            return Err(StreamError::Broken);
        }
        media.heads[at] = head;
    }
    media.spans.clear();
    let spans = reader.number::<1>(media)? as usize;
    if spans > SPANS_MAX {
        return Err(StreamError::Broken);
    }
    for _ in 0..spans {
        let mut bytes = [0; SPAN_SIZE];
        reader.take(media, &mut bytes)?;
        let span = Span::parse(&bytes, numbers).ok_or(StreamError::Broken)?;
        media.spans.add(span, numbers).map_err(|()| StreamError::Broken)?;
    }
    read_changes(reader, media)?;
    let len = reader.number::<2>(media)? as usize;
    let state = state.get_mut(..len).ok_or(StreamError::Broken)?;
    reader.take(media, state)?;
    Ok(state)
}

fn read_changes<N: Nand>(
    reader: &mut dyn Source<N>,
    media: &mut Media<'_, N>,
) -> Result<(), StreamError> {
    media.changes.clear();
    for _ in 0..reader.number::<1>(media)? {
        let mut bytes = [0; CHANGE_SIZE];
        reader.take(media, &mut bytes)?;
        media.load_change(bytes).map_err(|()| StreamError::Broken)?;
    }
    Ok(())
}

/// Pass over what a body says about the flash, and load the block table behind it, from block
/// `ahead` on.
pub(crate) fn read_table<N: Nand>(
    reader: &mut dyn Source<N>,
    media: &mut Media<'_, N>,
    ahead: usize,
) -> Result<(), StreamError> {
    reader.skip(media, 6 + 4 + 2 + 4 * media.space_count())?;
    let spans = reader.number::<1>(media)? as usize;
    reader.skip(media, spans * SPAN_SIZE)?;
    let changes = reader.number::<1>(media)? as usize;
    reader.skip(media, changes * CHANGE_SIZE)?;
    let state = reader.number::<2>(media)? as usize;
    reader.skip(media, state)?;
    let count = reader.number::<2>(media)? as u32;
    if count as usize + ahead != media.table.len() as usize {
        return Err(StreamError::Broken);
    }
    let size = media.table.len() as usize * ENTRY_SIZE;
    let mut bytes = [0; CHUNK];
    for from in (ahead * ENTRY_SIZE..size).step_by(CHUNK) {
        let len = (size - from).min(CHUNK);
        reader.take(media, &mut bytes[..len])?;
        let loaded = media.table.load(from / ENTRY_SIZE, &bytes[..len]);
        loaded.map_err(|()| StreamError::Broken)?;
    }
    Ok(())
}
