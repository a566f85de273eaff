//! Records over pages: a record is written and read as one stream of bytes, whatever number of
//! pages it takes.
//!
//! 1. The header of each page has the record's number and the page's part of it. A bit marks the
//!    last part.
//! 2. A record whose last part cannot be read does not count: the power went before it was
//!    complete.

use flysch_nand::Nand;

use super::nvram::NvWriter;
use crate::media::{Header, Kind, Label, Media, MediaError, Name, Sight, clear};

/// Bit in the `owner` of a page that is the last part of a record.
const LAST: u8 = 0x80;
/// Greatest number of parts of a record.
pub(crate) const PARTS_MAX: u8 = 0x7F;
const _: () = assert!(PARTS_MAX & LAST == 0, "a part and the mark of the last share a byte");

/// Where a record begins, and which pages are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) block: u32,
    /// The page of the block at which it begins.
    pub(crate) page: u32,
    pub(crate) name: Name,
    /// What its pages hold.
    pub(crate) kind: Kind,
    pub(crate) number: u32,
}

/// Where the bytes of a record go.
pub(crate) enum Sink<'a> {
    /// Nowhere: bytes are only counted.
    Count(usize),
    /// Into pages.
    Pages(Writer<'a>),
    /// Into an `NvRam`.
    NvRam(NvWriter<'a>),
}

impl<'a> Sink<'a> {
    /// Write to the pages from `place` on.
    pub(crate) fn to(place: Place, frame: &'a mut [u8]) -> Self {
        clear(frame);
        Self::Pages(Writer { place, frame, at: 0, part: 0 })
    }

    /// Write bytes. Cost: a program for each page that they fill.
    pub(crate) fn put<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        bytes: &[u8],
    ) -> Result<(), MediaError> {
        match self {
            Self::Count(count) => {
                *count += bytes.len();
                Ok(())
            }
            Self::Pages(writer) => writer.put(media, bytes),
            Self::NvRam(writer) => writer.put(bytes),
        }
    }

    /// Program the last page; returns the number of pages. Cost: one program.
    pub(crate) fn finish<N: Nand>(self, media: &mut Media<'_, N>) -> Result<u32, MediaError> {
        match self {
            Self::Count(_) | Self::NvRam(_) => Ok(0),
            Self::Pages(mut writer) => {
                writer.program(media, LAST)?;
                Ok(u32::from(writer.part))
            }
        }
    }
}

/// A record being written.
pub(crate) struct Writer<'a> {
    place: Place,
    frame: &'a mut [u8],
    at: usize,
    part: u8,
}

impl Writer<'_> {
    fn put<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        mut bytes: &[u8],
    ) -> Result<(), MediaError> {
        let layout = media.layout();
        while !bytes.is_empty() {
            if self.at == layout.payload_size() {
                self.program(media, 0)?;
                clear(self.frame);
                self.at = 0;
            }
            let len = bytes.len().min(layout.payload_size() - self.at);
            layout.put(self.frame, self.at, &bytes[..len]);
            self.at += len;
            bytes = &bytes[len..];
        }
        Ok(())
    }

    fn program<N: Nand>(&mut self, media: &mut Media<'_, N>, last: u8) -> Result<(), MediaError> {
        let is_full = self.at == media.layout().payload_size();
        debug_assert!(is_full || last == LAST, "only the last part is short");
        debug_assert!(self.at > 0, "a part without bytes is refused when it is read");
        assert!(self.part < PARTS_MAX, "a record has fewer parts than its header counts");
        let Place { block, page, name, kind, number } = self.place;
        if page + u32::from(self.part) >= media.geometry().pages_per_block {
            // The block table of many blocks does not fit a root in one small block.
            return Err(MediaError::Full);
        }
        let owner = self.part | last;
        let label = Label { kind, owner, used: self.at as u16, commit: number, rows: 0 };
        media.program(block, page + u32::from(self.part), name, label, self.frame)?;
        self.part += 1;
        Ok(())
    }
}

/// Whether a page is the last part of its record, and its number among the parts.
pub(crate) const fn part_of(header: &Header) -> (bool, u32) {
    (header.owner & LAST != 0, (header.owner & !LAST) as u32)
}

/// Why bytes of a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamError {
    /// The flash says no.
    Media(MediaError),
    /// The record is not complete, or has an impossible value.
    Broken,
    /// A page of the record here has no valid seal now. If it had one before, the power went while
    /// it was programmed, and each read may decide otherwise.
    Gone(Gone),
}

/// A record whose page cannot be seen, or not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) block: u16,
    /// The page of the block at which the record begins.
    pub(crate) page: u16,
    pub(crate) kind: Kind,
}

impl Gone {
    /// Whether it is a record behind the first of its block, which begins at page `first`, and
    /// before page `end`.
    pub(crate) fn is_between(self, first: u32, end: u32) -> bool {
        first < u32::from(self.page) && u32::from(self.page) < end
    }
}

impl From<Place> for Gone {
    fn from(Place { block, page, kind, .. }: Place) -> Self {
        Self { block: block as u16, page: page as u16, kind }
    }
}

impl From<MediaError> for StreamError {
    fn from(error: MediaError) -> Self {
        Self::Media(error)
    }
}

/// A source of a record's bytes in sequence.
pub(crate) trait Source<N: Nand> {
    /// Take the next bytes.
    fn take(&mut self, media: &mut Media<'_, N>, out: &mut [u8]) -> Result<(), StreamError>;
}

impl<N: Nand> dyn Source<N> + '_ {
    /// Take a number of `LEN` bytes.
    pub(crate) fn number<const LEN: usize>(
        &mut self,
        media: &mut Media<'_, N>,
    ) -> Result<u64, StreamError> {
        let mut bytes = [0; 8];
        self.take(media, &mut bytes[..LEN])?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Pass over bytes.
    pub(crate) fn skip(
        &mut self,
        media: &mut Media<'_, N>,
        mut len: usize,
    ) -> Result<(), StreamError> {
        let mut scrap = [0; 32];
        while len > 0 {
            let some = len.min(scrap.len());
            self.take(media, &mut scrap[..some])?;
            len -= some;
        }
        Ok(())
    }
}

/// A record that is being read from pages.
pub(crate) struct Reader<'a> {
    place: Place,
    frame: &'a mut [u8],
    at: usize,
    used: usize,
    part: u32,
    is_last: bool,
    /// Number of pages read so far.
    pub(crate) reads: u32,
}

impl<'a> Reader<'a> {
    /// Read the record at `place`. Cost: one read for each page, once its bytes are taken.
    pub(crate) fn open<N: Nand>(
        place: Place,
        frame: &'a mut [u8],
        media: &mut Media<'_, N>,
    ) -> Result<Self, StreamError> {
        let mut reader = Self { place, frame, at: 0, used: 0, part: 0, is_last: false, reads: 0 };
        reader.load(media)?;
        Ok(reader)
    }

    /// Read on to the last part, to see that the record is complete; returns its number of pages.
    pub(crate) fn finish<N: Nand>(mut self, media: &mut Media<'_, N>) -> Result<u32, StreamError> {
        while !self.is_last {
            self.part += 1;
            self.load(media)?;
        }
        Ok(self.part + 1)
    }

    fn load<N: Nand>(&mut self, media: &mut Media<'_, N>) -> Result<(), StreamError> {
        let Place { block, page, name, kind, number } = self.place;
        if page + self.part >= media.geometry().pages_per_block {
            return Err(StreamError::Broken);
        }
        self.reads += 1;
        let Sight::Page(header) = media.look(block, page + self.part, name, self.frame)? else {
            return Err(StreamError::Gone(self.place.into()));
        };
        let (is_last, part) = part_of(&header);
        let fits = usize::from(header.used) <= media.layout().payload_size();
        let belongs = header.kind == kind && header.commit == number && part == self.part;
        // An empty part that is not the last could make a record that never ends.
        if !fits || !belongs || header.used == 0 && !is_last {
            return Err(StreamError::Broken);
        }
        (self.at, self.used, self.is_last) = (0, usize::from(header.used), is_last);
        Ok(())
    }
}

impl<N: Nand> Source<N> for Reader<'_> {
    fn take(&mut self, media: &mut Media<'_, N>, mut out: &mut [u8]) -> Result<(), StreamError> {
        while !out.is_empty() {
            if self.at == self.used {
                if self.is_last {
                    return Err(StreamError::Broken);
                }
                self.part += 1;
                self.load(media)?;
            }
            let len = out.len().min(self.used - self.at);
            media.layout().take(self.frame, self.at, &mut out[..len]);
            self.at += len;
            out = &mut out[len..];
        }
        Ok(())
    }
}
