//! The scan at a mount: which pages have a tag, and which of them a power cut spoiled.

use flysch_nand::PowerLost;

use super::media::{Media, Place};
use super::tag::Tag;

#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) tag: Tag,
}

pub(super) struct Scan {
    /// Pages with a tag, in ascending order of their sequence numbers.
    pub(super) pages: Vec<Found>,
    /// For each block, the number of the page behind its last programmed one. `None` if the block
    /// is bad.
    pub(super) ends: Vec<Option<u32>>,
    pub(super) spoiled: Vec<Found>,
    /// The highest sequence number found, plus one.
    pub(super) next_sequence: u64,
}

impl Scan {
    /// Read the tags of all pages of all good blocks, which costs one OOB read each. With `dense`,
    /// a block has no blank page before a programmed one, and is read only up to its first blank
    /// page.
    pub(super) fn of(media: &mut Media, dense: bool) -> Result<Self, PowerLost> {
        let mut pages = Vec::new();
        let mut ends = Vec::new();
        for block in 0..media.block_count {
            let is_bad = media.is_bad(block)?;
            let end =
                if is_bad { None } else { Some(scan_block(media, block, dense, &mut pages)?) };
            ends.push(end);
        }
        pages.sort_by_key(|found| found.tag.sequence);
        let last = pages.last().map_or(0, |found| found.tag.sequence);
        let mut scan =
            Self { pages, ends, spoiled: Vec::new(), next_sequence: last.saturating_add(1) };
        scan.drop_spoiled(media)?;
        Ok(scan)
    }

    /// Take the last pages off the list as long as they cannot be read. A power cut spoils the last
    /// page that was programmed, and the repair of that page may have been cut, too.
    fn drop_spoiled(&mut self, media: &mut Media) -> Result<(), PowerLost> {
        let mut data = vec![0; media.page_size()];
        while let Some(last) = self.pages.last().copied() {
            if last.tag.is_damaged || media.read(last.place, &mut data)? {
                break;
            }
            self.spoiled.push(last);
            self.pages.pop();
        }
        Ok(())
    }
}

/// Add the pages of a block that have a tag to `pages`. Returns where the programmed pages end.
fn scan_block(
    media: &mut Media,
    block: u32,
    dense: bool,
    pages: &mut Vec<Found>,
) -> Result<u32, PowerLost> {
    let mut end = 0;
    for page in 0..media.pages_per_block() {
        let place = Place { block, page };
        if let Some(tag) = media.read_tag(place)? {
            pages.push(Found { place, tag });
        } else if media.is_blank(place)? {
            if dense {
                break;
            }
            continue;
        }
        end = page + 1;
    }
    Ok(end)
}
