//! The summary page of a block of rows: what scans must know about its pages, and its void spans.

use flysch_nand::Nand;

use crate::bytes::array;
use crate::media::{Header, Kind, Media, MediaError, Numbers, Page, SPAN_SIZE, SPANS_MAX, Space};
use crate::media::{Span, clear};
use crate::row::{SUMMARY_SIZE, Summary};

/// Bytes of a [`BlockEnd`].
const END_SIZE: usize = 8 + 4 + 4;

/// How far a ring had come when this block of it was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockEnd {
    /// The time at which the block became full, in microseconds.
    pub(crate) time: u64,
    /// Number of rows that the ring ever had up to there; it may be less than the true one.
    pub(crate) rows: u32,
    /// The greatest commit of a row in this block or an earlier one.
    pub(crate) commit: u32,
}

impl BlockEnd {
    fn emit(self) -> [u8; END_SIZE] {
        let mut bytes = [0; END_SIZE];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.rows.to_le_bytes());
        bytes[12..].copy_from_slice(&self.commit.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; END_SIZE]) -> Self {
        Self {
            time: u64::from_le_bytes(array(&bytes[..8])),
            rows: u32::from_le_bytes(array(&bytes[8..12])),
            commit: u32::from_le_bytes(array(&bytes[12..])),
        }
    }
}

/// ```text
/// summary 20 | spans 1 | span 9 each | of a ring: time 8, rows 4, commit 4
/// ```
pub(super) fn emit_summary<N: Nand>(
    (summary, end): (&Summary, Option<BlockEnd>),
    media: &Media<'_, N>,
    (space, block): (Space, u32),
    frame: &mut [u8],
) -> u16 {
    clear(frame);
    let layout = media.layout();
    layout.put(frame, 0, &summary.emit());
    let mut at = SUMMARY_SIZE + 1;
    let mut count = 0;
    for span in media.spans.of_block(space, block, media.numbers()) {
        layout.put(frame, at, &span.emit());
        at += SPAN_SIZE;
        count += 1;
    }
    layout.put(frame, SUMMARY_SIZE, &[count]);
    if let Some(end) = end {
        layout.put(frame, at, &end.emit());
        at += END_SIZE;
    }
    at as u16
}

/// The content of the summary page of a block of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSummary {
    pub(crate) summary: Summary,
    /// How far a ring had come; None where the block is not a ring's.
    pub(crate) end: Option<BlockEnd>,
    /// A bit for each page of the block, set where the page lies in a void span.
    void: [u32; 8],
}

impl BlockSummary {
    /// Read the summary page of a block of rows; None where the block has none, or has none yet.
    /// Cost: nothing for the head's block, else one read.
    pub(crate) fn read<N: Nand>(
        media: &mut Media<'_, N>,
        (space, block): (Space, u32),
        frame: &mut [u8],
    ) -> Result<Option<Self>, MediaError> {
        let numbers = media.numbers();
        let last = Page { space, number: numbers.last_page(block) };
        if block == numbers.block_of(media.head(space))
            || media.spans.find(last, numbers).is_some()
            || media.table.find(space, block).is_none()
        {
            return Ok(None);
        }
        match media.read(last, 0, frame) {
            Ok(()) => {}
            Err(MediaError::Corrupt(_) | MediaError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        let layout = media.layout();
        let Ok(Header { kind: Kind::Summary, used, .. }) = Header::parse(frame) else {
            return Ok(None);
        };
        let mut bytes = [0; SUMMARY_SIZE + 1];
        layout.take(frame, 0, &mut bytes);
        let Some(summary) = Summary::parse(&array(&bytes[..SUMMARY_SIZE])) else { return Ok(None) };
        let mut void = [0; 8];
        let count = usize::from(bytes[SUMMARY_SIZE]).min(SPANS_MAX);
        for number in 0..count {
            let mut bytes = [0; SPAN_SIZE];
            layout.take(frame, SUMMARY_SIZE + 1 + number * SPAN_SIZE, &mut bytes);
            let Some(span) = Span::parse(&bytes, numbers) else { continue };
            for page in 0..numbers.pages_per_block {
                let number = block * numbers.pages_per_block + page;
                let is_held = span.holds(Page { space, number }, numbers);
                void[(page / 32) as usize] |= u32::from(is_held) << (page % 32);
            }
        }
        let end_at = SUMMARY_SIZE + 1 + count * SPAN_SIZE;
        let mut bytes = [0; END_SIZE];
        let has_end = space.is_ring() && usize::from(used) >= end_at + END_SIZE;
        let end = has_end.then(|| {
            layout.take(frame, end_at, &mut bytes);
            BlockEnd::parse(&bytes)
        });
        Ok(Some(Self { summary, end, void }))
    }

    /// Whether any page of the block lies in a void span.
    pub(crate) fn has_void(&self) -> bool {
        self.void.iter().any(|pages| *pages != 0)
    }

    /// Whether a page of the block lies in a void span.
    const fn voids(&self, page: Page, numbers: Numbers) -> bool {
        let at = numbers.page_in_block(page.number);
        debug_assert!(at < 256, "a block has a bit for each page");
        self.void[(at / 32) as usize] >> (at % 32) & 1 != 0
    }
}

/// Whether a page of rows is void: it lies in a void span of the state or of its block's summary,
/// or its block was let go.
pub(crate) fn is_void<N: Nand>(
    media: &mut Media<'_, N>,
    page: Page,
    summary: Option<&BlockSummary>,
) -> bool {
    let numbers = media.numbers();
    media.spans.find(page, numbers).is_some()
        || summary.is_some_and(|summary| summary.voids(page, numbers))
        || media.table.find(page.space, numbers.block_of(page.number)).is_none()
}
