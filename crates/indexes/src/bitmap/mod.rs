//! Bitmap indexes: a bit for each row in each of a few bitmaps.
//!
//! Chan, Ioannidis: Bitmap index design and evaluation, SIGMOD 1998, as section 5.1 of the
//! `PBFilter` paper uses it. A value is split into digits of a mixed base, and each digit is
//! represented by bitmaps.
//!
//! ```text
//! group of rows | bitmap 0: chunk | bitmap 1: chunk | … |   a few whole pages
//! ```
//!
//! Rows are appended to a buffer for one group, which is written to flash when it is full. A query
//! reads the chunks that it needs, group by group, and returns rows at once. So its RAM does not
//! grow with the number of rows.

mod component;
mod query;

pub use component::{Bases, Encoding};
pub use query::Criterion;

use flysch_nand::Nand;

use super::{ConfigError, IndexError};
use crate::area::Areas;
use crate::flash::Flash;

/// The parameters of a bitmap index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitmapConfig {
    /// The area number of the index. No other structure may use it.
    pub first_area: u8,
    /// The bases of a value's digits.
    pub bases: Bases,
    /// How a digit is represented by bitmaps.
    pub encoding: Encoding,
    /// Pages of a group. With more pages, chunks are longer, and a query makes fewer reads.
    pub group_pages: u8,
    /// The most blocks that the index may use.
    pub blocks_max: u16,
}

impl BitmapConfig {
    /// Bytes of RAM that these parameters need, in addition to the index's own fields: a group,
    /// three chunks, a page, and the table of blocks.
    pub fn ram_size(&self, page_size: usize) -> usize {
        let group = usize::from(self.group_pages) * page_size;
        group + 3 * self.chunk_size(page_size) + page_size + usize::from(self.blocks_max) * 2
    }

    fn chunk_size(&self, page_size: usize) -> usize {
        let slots = self.bases.bitmap_count(self.encoding).next_power_of_two() as usize;
        usize::from(self.group_pages) * page_size / slots
    }
}

/// A bitmap index over rows that are numbered from 0.
#[derive(Debug)]
pub struct BitmapIndex<'ram> {
    config: BitmapConfig,
    areas: Areas<'ram>,
    /// The chunks of the group that is being filled.
    group: &'ram mut [u8],
    /// Three buffers of a chunk: the result of a query, the bitmap that is being read, and an
    /// intermediate result.
    chunks: &'ram mut [u8],
    spare: &'ram mut [u8],
    chunk_size: usize,
    rows: u32,
    /// The group, and the least and greatest value, whose rows the first chunk holds. None if it
    /// holds no result that was read from flash.
    evaluated: Option<(u32, u32, u32)>,
}

impl<'ram> BitmapIndex<'ram> {
    /// Make an empty index. What its area held is lost.
    pub fn create<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: BitmapConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let index = Self::new(flash, config, ram)?;
        index.areas.wipe(flash)?;
        Ok(index)
    }

    /// Find an existing index. Cost: two OOB reads for each free block, and reads of the last
    /// pages.
    pub fn mount<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: BitmapConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let mut index = Self::new(flash, config, ram)?;
        let group = u32::from(config.group_pages);
        let pages = index.areas.restore_groups(flash, group, index.spare)?;
        index.rows = pages / group * index.rows_per_group();
        Ok(index)
    }

    fn new<N: Nand>(
        flash: &Flash<'_, N>,
        config: BitmapConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let page_size = flash.geometry().page_size as usize;
        ConfigError::check_ram(config.ram_size(page_size), ram.len())?;
        let chunk_size = config.chunk_size(page_size);
        if chunk_size == 0 || chunk_size > page_size {
            let slots = config.bases.bitmap_count(config.encoding).next_power_of_two();
            let (parameter, given) = ("group_pages", u32::from(config.group_pages));
            let (min, max) = (slots.div_ceil(page_size as u32), slots);
            return Err(if chunk_size == 0 {
                ConfigError::TooSmall { parameter, min, given }.into()
            } else {
                ConfigError::TooLarge { parameter, max, given }.into()
            });
        }
        let (group, ram) = ram.split_at_mut(usize::from(config.group_pages) * page_size);
        let (chunks, ram) = ram.split_at_mut(3 * chunk_size);
        let (spare, ram) = ram.split_at_mut(page_size);
        let blocks = &mut ram[..usize::from(config.blocks_max) * 2];
        group.fill(0);
        let areas = Areas::new(blocks, config.first_area, 1);
        Ok(Self { config, areas, group, chunks, spare, chunk_size, rows: 0, evaluated: None })
    }

    /// Number of rows on flash. After a mount, append all later rows again.
    pub const fn flushed(&self) -> u32 {
        self.rows / self.rows_per_group() * self.rows_per_group()
    }

    /// Append the value of the next row. Cost: the programs of a group, once it is full.
    ///
    /// # Panics
    /// If the value cannot be represented with the bases.
    pub fn append<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        value: u32,
    ) -> Result<(), IndexError> {
        let bit = self.rows % self.rows_per_group();
        for bitmap in self.config.bases.bitmaps_of(value, self.config.encoding) {
            let place = bitmap as usize * self.chunk_size + bit as usize / 8;
            self.group[place] |= 1 << (bit % 8);
        }
        self.rows += 1;
        if self.rows.is_multiple_of(self.rows_per_group()) {
            for page in self.group.chunks_exact(self.spare.len()) {
                self.areas.append(flash, 0, page, 0, self.spare)?;
            }
            self.group.fill(0);
        }
        Ok(())
    }

    const fn rows_per_group(&self) -> u32 {
        self.chunk_size as u32 * 8
    }
}
