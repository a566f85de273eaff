//! Which page of the database each write to a rollback journal or a write-ahead log holds.

use std::collections::BTreeMap;

use super::page::u32_at;

const WAL_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;
const WAL_PAGE_SIZE_AT: usize = 8;

/// What was written to a journal or log so far.
#[derive(Clone, Default)]
pub(super) struct Journals {
    /// The last write, if it was a page number alone: the offset at which its page follows, and the
    /// number.
    announced: Option<(u64, u32)>,
    /// Page size of the write-ahead log, bytes.
    page_size: u64,
    /// The page number of each frame of a log, and whether the frame ends a transaction.
    frames: BTreeMap<u64, (u32, bool)>,
}

/// What a write to a rollback journal contains.
pub(super) enum JournalPart {
    Page(u32),
    /// Headers, page numbers and checksums of the journal itself.
    Own,
}

/// What a part of a write to a write-ahead log contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalPart {
    Own,
    Page {
        number: u32,
        /// Whether the part holds the whole page.
        is_whole: bool,
        /// Whether the frame ends a transaction.
        is_last: bool,
    },
}

impl Journals {
    /// Classify a write to a rollback journal. SQLite writes a page there in three calls: its
    /// number, the page, a checksum.
    pub(super) fn journal_part(&mut self, offset: u64, bytes: &[u8], size: usize) -> JournalPart {
        let announced = self.announced.take();
        if bytes.len() == 4 {
            self.announced = u32_at(bytes, 0).map(|number| (offset + 4, number));
            return JournalPart::Own;
        }
        match announced {
            Some((at, number)) if at == offset && bytes.len() == size => JournalPart::Page(number),
            _ => JournalPart::Own,
        }
    }

    /// Split a write to a write-ahead log into its parts, each with offset in the file and length.
    pub(super) fn wal_parts(&mut self, offset: u64, bytes: &[u8]) -> Vec<(u64, u64, WalPart)> {
        if offset == 0
            && let Some(size) = u32_at(bytes, WAL_PAGE_SIZE_AT)
        {
            self.page_size = size.into();
            self.frames.clear();
        }
        let end = offset + bytes.len() as u64;
        let mut parts = Vec::new();
        let mut at = offset;
        while at < end {
            let (part, until) = self.wal_part(at, end, bytes, offset);
            parts.push((at, until - at, part));
            at = until;
        }
        parts
    }

    fn wal_part(&mut self, at: u64, end: u64, bytes: &[u8], offset: u64) -> (WalPart, u64) {
        if at < WAL_HEADER || self.page_size == 0 {
            return (WalPart::Own, if at < WAL_HEADER { end.min(WAL_HEADER) } else { end });
        }
        let frame_size = FRAME_HEADER + self.page_size;
        let (frame, inside) = ((at - WAL_HEADER) / frame_size, (at - WAL_HEADER) % frame_size);
        let begin = WAL_HEADER + frame * frame_size;
        if inside < FRAME_HEADER {
            let place = usize::try_from(at - offset).expect("within the write");
            if inside == 0
                && let (Some(number), Some(pages)) =
                    (u32_at(bytes, place), u32_at(bytes, place + 4))
            {
                self.frames.insert(frame, (number, pages > 0));
            }
            return (WalPart::Own, end.min(begin + FRAME_HEADER));
        }
        let until = end.min(begin + frame_size);
        let Some(&(number, is_commit)) = self.frames.get(&frame) else {
            return (WalPart::Own, until);
        };
        let is_whole = inside == FRAME_HEADER && until == begin + frame_size;
        let is_last = is_commit && until == begin + frame_size;
        (WalPart::Page { number, is_whole, is_last }, until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cut_into_frames() {
        let mut journals = Journals::default();
        let mut header = [0; 32];
        header[10] = 2;
        assert_eq!(journals.wal_parts(0, &header), [(0, 32, WalPart::Own)]);
        let mut frame = [0; 24];
        (frame[3], frame[7]) = (9, 1);
        assert_eq!(journals.wal_parts(32, &frame), [(32, 24, WalPart::Own)]);
        let page = WalPart::Page { number: 9, is_whole: true, is_last: true };
        assert_eq!(journals.wal_parts(56, &[0; 512]), [(56, 512, page)]);
        let half = WalPart::Page { number: 9, is_whole: false, is_last: false };
        assert_eq!(journals.wal_parts(56, &[0; 100]), [(56, 100, half)]);
    }
}
