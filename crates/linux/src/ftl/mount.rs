//! Mounting: the pages are scanned, the map is rebuilt, and what a power cut spoiled is repaired.

use flysch_chip::Recorder;
use flysch_nand::{Nand, PowerLost};

use super::log_block::LogBlockFtl;
use super::media::{Media, Place};
use super::merges;
use super::options::{FtlError, FtlOptions, Mapping};
use super::page_map::PageFtl;
use super::pool::{Block, Pool, State};
use super::scan::{Found, Scan};
use super::sectors::{Sectors, Store};
use super::tag::Tag;
use crate::block_device::{BlockDevice, BlockError};

impl From<PowerLost> for FtlError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

impl From<BlockError> for FtlError {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::PowerLost => Self::PowerLost,
            BlockError::WornOut | BlockError::Damaged { .. } => Self::WornOut,
        }
    }
}

/// Mount the device on the blocks that `options` names. A new chip is an empty device.
/// `erase_counts` has the erases of blocks without a tag; it may be empty for a new chip.
///
/// # Errors
/// The chip has too few good blocks, they are worn out, or power was lost.
pub fn mount(
    nand: Box<dyn Nand>,
    recorder: Recorder,
    options: FtlOptions,
    erase_counts: &[u32],
) -> Result<Box<dyn BlockDevice>, FtlError> {
    let media = Media::new(nand, &options, recorder.clone())?;
    let page_size = media.page_size();
    let page_count = options.logical_blocks().saturating_mul(media.pages_per_block());
    let scope = recorder.scope("ftl_mount");
    let store = load(media, &recorder, (&options, erase_counts), page_count)?;
    drop(scope);
    let sector_size = options.sector_size;
    let bytes = u64::from(page_count) * page_size as u64;
    let sector_count = u32::try_from(bytes / u64::from(sector_size)).unwrap_or(u32::MAX);
    Ok(Box::new(Sectors { store, recorder, sector_size, sector_count, page_size }))
}

/// Rebuild the store of logical pages.
fn load(
    mut media: Media,
    recorder: &Recorder,
    (options, erase_counts): (&FtlOptions, &[u32]),
    page_count: u32,
) -> Result<Store, FtlError> {
    let is_page_map = matches!(options.mapping, Mapping::Page { .. });
    let mut scan = Scan::of(&mut media, is_page_map)?;
    if !is_page_map {
        merges::drop_incomplete(&mut scan, media.pages_per_block());
    }
    scan.spoiled.retain(|found| found.tag.logical < page_count);
    let mut pool = rebuild(media, &scan, page_count as usize, options.wear_gap);
    pool.wear_in(erase_counts);
    check_spare(&pool, options)?;
    let open = resume(&mut pool)?;
    let recorder = recorder.clone();
    match options.mapping {
        Mapping::Page { victim } => {
            let mut ftl = PageFtl::new(pool, victim, recorder, &open);
            for tag in repairs(&scan.spoiled) {
                let (tag, data) = current(&mut ftl.pool, tag)?;
                ftl.write_at_once(tag, &data)?;
            }
            ftl.evacuate()?;
            Ok(Store::Page(ftl))
        }
        Mapping::LogBlock { logs } => {
            erase_spoiled_merges(&mut pool, &mut scan)?;
            let mut ftl = LogBlockFtl::new(pool, logs, recorder, &open);
            for tag in repairs(&scan.spoiled) {
                let (tag, data) = current(&mut ftl.pool, tag)?;
                ftl.write_at_once(tag, &data)?;
            }
            ftl.tidy_up()?;
            Ok(Store::LogBlock(ftl))
        }
    }
}

/// The pool that follows from the tags.
fn rebuild(media: Media, scan: &Scan, page_count: usize, wear_gap: u32) -> Pool {
    let pages_per_block = media.pages_per_block() as usize;
    let block = |end: &Option<u32>| Block {
        state: if end.is_some() { State::Free } else { State::Bad },
        erase_count: 0,
        live_count: 0,
        next_page: end.unwrap_or(0),
        sequence: 0,
        owners: vec![None; pages_per_block],
    };
    let mut blocks: Vec<Block> = scan.ends.iter().map(block).collect();
    let mut places: Vec<Option<Place>> = vec![None; page_count];
    for Found { place, tag } in &scan.pages {
        let block = &mut blocks[place.block as usize];
        block.erase_count = block.erase_count.max(tag.erase_count);
        block.sequence = block.sequence.max(tag.sequence);
        if let Some(known) = places.get_mut(tag.logical as usize) {
            *known = Some(*place);
        }
    }
    for (logical, place) in (0..).zip(&places) {
        let Some(place) = place else { continue };
        let block = &mut blocks[place.block as usize];
        block.owners[place.page as usize] = Some(logical);
        block.live_count += 1;
        block.state = State::Used;
    }
    let next_sequence = scan.next_sequence;
    Pool { media, blocks, places, next_sequence, is_holding: false, wear_gap }
}

fn check_spare(pool: &Pool, options: &FtlOptions) -> Result<(), FtlError> {
    let good = pool.blocks.iter().filter(|block| block.state != State::Bad).count();
    let good = u32::try_from(good).expect("as many as blocks");
    let needed = match options.logical_blocks() {
        0 => options.spare_blocks.saturating_add(1),
        logical => logical + options.spare_min(),
    };
    if good < needed {
        return Err(FtlError::TooFewSpare { good, needed });
    }
    Ok(())
}

/// Open those used blocks again that end in blank pages, the ones with most room first. Their last
/// erase was complete, since they hold a valid page.
fn resume(pool: &mut Pool) -> Result<Vec<u32>, FtlError> {
    let mut open = Vec::new();
    for block in 0..pool.media.block_count {
        if pool.block(block).state == State::Used && has_blank_end(pool, block)? {
            pool.block_mut(block).state = State::Open;
            open.push(block);
        }
    }
    open.sort_by_key(|&block| pool.block(block).next_page);
    Ok(open)
}

fn has_blank_end(pool: &mut Pool, block: u32) -> Result<bool, PowerLost> {
    let pages = pool.block(block).next_page..pool.media.pages_per_block();
    if pages.is_empty() {
        return Ok(false);
    }
    for page in pages {
        if !pool.media.is_blank(Place { block, page })? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tags with which the spoiled pages are written again.
fn repairs(spoiled: &[Found]) -> Vec<Tag> {
    let mut logical: Vec<u32> = spoiled.iter().map(|found| found.tag.logical).collect();
    logical.dedup();
    logical.into_iter().map(Tag::of).collect()
}

/// The content of a logical page before it was spoiled, with its tag. If the content was lost
/// already, the tag says so.
fn current(pool: &mut Pool, tag: Tag) -> Result<(Tag, Vec<u8>), BlockError> {
    let mut data = vec![0; pool.media.page_size()];
    let is_damaged = !pool.read(tag.logical, &mut data)?;
    Ok((Tag { is_damaged, ..tag }, data))
}

/// Erase the blocks of interrupted merges that hold a spoiled copy. This comes before any program:
/// otherwise the next mount would take the copy for valid.
fn erase_spoiled_merges(pool: &mut Pool, scan: &mut Scan) -> Result<(), BlockError> {
    let merged = scan.spoiled.iter().filter(|found| found.tag.is_merged);
    let blocks: Vec<u32> = merged.map(|found| found.place.block).collect();
    for block in blocks {
        if pool.block(block).live_count == 0 {
            pool.renew(block)?;
        }
    }
    let was_erased = |found: &Found| pool.block(found.place.block).live_count == 0;
    scan.spoiled.retain(|found| !(found.tag.is_merged && was_erased(found)));
    Ok(())
}
