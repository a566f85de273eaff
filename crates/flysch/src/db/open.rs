//! Creating a database, and finding one again.

use flysch_nand::Nand;

use super::commit::body;
use super::ram::Ram;
use super::{Db, DbError};
use crate::flash::array;
use crate::log::{self, Body, Buffers, Log};
use crate::media::{CELL_SIZE, ENTRY_SIZE, Layout, Media, Page, Partition, Sight, Space};
use crate::record::{Records, STATE_SIZE};
use crate::row::Schema;

/// Bytes of the state of a record, at most.
const STATE_MAX: usize = 1024;

/// How a database is created or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The blocks of the chip that belong to it; none for all of them.
    pub partition: Option<Partition>,
    /// A number that no one who gives keys can know: it keys the hashes of this device.
    pub seed: u64,
}

/// What an open found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Whether the database had been closed.
    pub is_clean: bool,
    /// Commits that were found.
    pub commits: u32,
    /// Bytes of rows that were found in the log.
    pub tail_size: usize,
    /// Pages that were under way, or may have been.
    pub void_pages: u32,
}

struct Parts<'ram> {
    table: &'ram mut [u8],
    tail: &'ram mut [u8],
    frame: &'ram mut [u8],
    state: &'ram mut [u8],
}

impl<'ram> Parts<'ram> {
    fn sizes(layout: Layout, partition: Partition) -> [usize; 4] {
        let table = partition.count as usize * ENTRY_SIZE;
        [table, layout.payload_size(), layout.page_size(), STATE_MAX]
    }

    fn carve(ram: &'ram mut [u8], layout: Layout, partition: Partition) -> Result<Self, DbError> {
        let sizes = Self::sizes(layout, partition);
        let needed = sizes.iter().sum();
        let mut ram = Ram::new(ram);
        if ram.len() < needed {
            return Err(DbError::RamTooSmall { needed });
        }
        let mut take = |at: usize| ram.take(sizes[at]).ok_or(DbError::RamTooSmall { needed });
        Ok(Self { table: take(0)?, tail: take(1)?, frame: take(2)?, state: take(3)? })
    }
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Make an empty database; what was in its blocks is lost. Cost: an erase for each of the first
    /// sixteen blocks, an erase for the log, and the pages of a root.
    pub fn create(
        nand: N,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Self, DbError> {
        let mut parts = Self::prepare(&nand, schema, options, ram)?;
        let partition = options.partition_of(&nand);
        let mut media = Media::new(nand, partition, core::mem::take(&mut parts.table));
        let records = Records::new(parts.tail);
        let salt = (options.seed ^ options.seed >> 32) as u32 | 1;
        parts.state[..STATE_SIZE].copy_from_slice(&records.emit());
        let body = Body {
            flags: 0,
            commit: 1,
            time: 0,
            tail: &[],
            tail_base: 0,
            base: 0,
            state: &parts.state[..STATE_SIZE],
        };
        let ids = (salt, schema.fingerprint());
        let log = log::format(&mut media, ids, &body, parts.frame)?;
        Ok(Self {
            media,
            log,
            found: None,
            records,
            schema,
            commit: 1,
            is_lazy: false,
            is_open: false,
            time: 0,
            frame: parts.frame,
            held: None,
            state: parts.state,
            report: OpenReport::default(),
        })
    }

    /// Open the database that is on the chip. Nothing is programmed or erased before the first
    /// write. Never formats.
    pub fn open(
        nand: N,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Self, DbError> {
        let mut parts = Self::prepare(&nand, schema, options, ram)?;
        let partition = options.partition_of(&nand);
        let mut media = Media::new(nand, partition, core::mem::take(&mut parts.table));
        let mut records = Records::new(parts.tail);
        let buffers =
            Buffers { tail: records.tail.memory(), frame: parts.frame, state: parts.state };
        let found = log::find(&mut media, schema.fingerprint(), buffers)?;
        let state = parts.state[..found.state_len].first_chunk::<STATE_SIZE>();
        let is_loaded = state.is_some_and(|state| records.load(state, &media));
        let preface = found.preface;
        let tail_size = preface.base + preface.len;
        if !is_loaded || !records.tail.restore(tail_size, preface.tail_base) {
            return Err(log::MountError::Broken.into());
        }
        let mut report = OpenReport {
            is_clean: found.is_clean,
            commits: preface.commit - 1,
            tail_size,
            void_pages: 0,
        };
        if !found.is_clean {
            report.void_pages = skip_doubtful(&mut media, &mut records, parts.frame)?;
        }
        // A number that was under way at a cut is never given again.
        let commit = preface.commit + u32::from(!found.is_clean);
        let log = found.log;
        Ok(Self {
            media,
            log,
            found: Some(found),
            records,
            schema,
            commit,
            is_lazy: false,
            is_open: false,
            time: preface.time,
            frame: parts.frame,
            held: None,
            state: parts.state,
            report,
        })
    }

    fn prepare(
        nand: &N,
        schema: &Schema<'_>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Parts<'ram>, DbError> {
        schema.check().map_err(DbError::Schema)?;
        let geometry = nand.geometry();
        let partition = options.partition_of(nand);
        let end = partition.first.checked_add(partition.count);
        let takes = geometry.check().is_ok()
            && (512..=16_384).contains(&geometry.page_size)
            && (8..=256).contains(&geometry.pages_per_block)
            && (24..=8192).contains(&partition.count)
            && end.is_some_and(|end| end <= geometry.block_count);
        if !takes {
            return Err(DbError::Geometry);
        }
        Parts::carve(ram, Layout::new(geometry.page_size), partition)
    }
}

impl Options {
    fn partition_of<N: Nand>(&self, nand: &N) -> Partition {
        let all = Partition { first: 0, count: nand.geometry().block_count };
        self.partition.unwrap_or(all)
    }
}

/// Leave out the pages behind each head that may have been under way at a cut. Gives their number.
/// Cost: some seven reads for each head whose block has pages left.
fn skip_doubtful<N: Nand>(
    media: &mut Media<'_, N>,
    records: &mut Records<'_>,
    frame: &mut [u8],
) -> Result<u32, DbError> {
    let numbers = media.numbers();
    let mut count = 0;
    for space in Space::ALL {
        let head = media.head(space);
        if media.table.find(space, numbers.block_of(head)).is_none() {
            continue;
        }
        let end = behind_last(media, Page { space, number: head }, frame)?;
        count += numbers.distance(head, end);
        if space == Space::Hot {
            records.skip(media, end)?;
        } else {
            media.skip(space, head, end)?;
        }
    }
    Ok(count)
}

/// The page one behind the last page of the head's block that is not blank. Pages are programmed
/// one after the other, without a gap.
fn behind_last<N: Nand>(
    media: &mut Media<'_, N>,
    head: Page,
    frame: &mut [u8],
) -> Result<u32, DbError> {
    let numbers = media.numbers();
    let left = numbers.pages_per_block - numbers.page_in_block(head.number);
    // A program failed here, and no record came to tell it.
    if media.is_marked(head)? {
        return Ok(numbers.next_block(head.number));
    }
    let (mut low, mut high) = (0, left);
    while low < high {
        let middle = low.midpoint(high);
        let page = Page { number: numbers.advance(head.number, middle), ..head };
        if media.look_at(page, &mut frame[..CELL_SIZE])? == Sight::Blank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if low + 1 >= left {
        return Ok(numbers.next_block(head.number));
    }
    Ok(numbers.advance(head.number, low + 1))
}
