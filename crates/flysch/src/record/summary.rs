//! The summary page of a block of rows: what a scan must know of its pages, and its void spans.

use flysch_nand::Nand;

use crate::bytes::array;
use crate::media::{Header, Kind, Media, MediaError, Numbers, Page, SPAN_SIZE, SPANS_MAX, Space};
use crate::media::{Span, clear};
use crate::row::{SUMMARY_SIZE, Summary};

/// ```text
/// summary 20 | spans 1 | span 9 each
/// ```
pub(super) fn emit_summary<N: Nand>(
    summary: &Summary,
    media: &Media<'_, N>,
    (space, block): (Space, u32),
    frame: &mut [u8],
) -> u16 {
    clear(frame);
    let layout = media.layout();
    layout.put(frame, 0, &summary.emit());
    let mut at = SUMMARY_SIZE + 1;
    let numbers = media.numbers();
    let mut count = 0;
    for span in media.spans.as_slice() {
        if span.space == space && numbers.block_of(span.from) == block {
            layout.put(frame, at, &span.emit());
            at += SPAN_SIZE;
            count += 1;
        }
    }
    layout.put(frame, SUMMARY_SIZE, &[count]);
    at as u16
}

/// What the summary page of a block says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSummary {
    pub(crate) summary: Summary,
    spans: [Option<Span>; SPANS_MAX],
}

impl BlockSummary {
    /// Read the summary page of a block of rows; none where the block has none, or none yet.
    /// Cost: nothing of the head's block, else one read.
    pub(crate) fn read<N: Nand>(
        media: &mut Media<'_, N>,
        (space, block): (Space, u32),
        frame: &mut [u8],
    ) -> Result<Option<Self>, MediaError> {
        let numbers = media.numbers();
        let number = (block + 1) * numbers.pages_per_block - 1;
        let last = Page { space, number };
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
        let Ok(Header { kind: Kind::Summary, .. }) = Header::parse(frame) else { return Ok(None) };
        let mut bytes = [0; SUMMARY_SIZE + 1];
        layout.take(frame, 0, &mut bytes);
        let Some(summary) = Summary::parse(&array(&bytes[..SUMMARY_SIZE])) else { return Ok(None) };
        let mut spans = [None; SPANS_MAX];
        let count = usize::from(bytes[SUMMARY_SIZE]).min(SPANS_MAX);
        for (number, span) in spans[..count].iter_mut().enumerate() {
            let mut bytes = [0; SPAN_SIZE];
            layout.take(frame, SUMMARY_SIZE + 1 + number * SPAN_SIZE, &mut bytes);
            *span = Span::parse(&bytes, media.numbers());
        }
        Ok(Some(Self { summary, spans }))
    }

    fn voids(&self, page: Page, numbers: Numbers) -> bool {
        self.spans.iter().flatten().any(|span| span.holds(page, numbers))
    }
}

/// Whether nobody may believe a page of rows: it lies in a void span, which the state holds or the
/// summary of its block, or its block is gone.
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
