//! Flushes the summary to L1, and writes a new set with more partitions from L1 and the old set.

use flysch_nand::{Nand, PageAddr};

use super::config::{FlushUnit, Layout};
use super::{LASTING, PASSING, PbFilter, Set};
use crate::area::Areas;
use crate::flash::{Flash, FlashError};

impl PbFilter<'_> {
    /// Program a chunk of all filters in the buffer into each L1 partition.
    pub(super) fn flush_summary<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
    ) -> Result<(), FlashError> {
        let layout = self.layout;
        if self.flushes == 0 && self.config.flush == FlushUnit::Sector {
            self.l1 = self.areas.reserve(flash, PASSING, layout.l1_pages())?;
        } else if self.flushes == 0 {
            self.l1 = self.areas.extent(PASSING).tail;
        }
        let chunk_size = layout.chunk_size as usize;
        let (chunk, spare) = self.pages.split_at_mut(chunk_size);
        for partition in 0..layout.partitions {
            gather(self.buffer, &layout, partition, self.filters, chunk);
            let page_size = layout.page_bits as usize / 8;
            match self.config.flush {
                FlushUnit::Sector => {
                    let page = self.flushes / layout.sectors * layout.partitions + partition;
                    let column = self.flushes % layout.sectors * layout.chunk_size;
                    let place = (PASSING, self.l1 + page, column);
                    let spare = &mut spare[..chunk_size];
                    self.areas.write_sector(flash, place, chunk, L1_NOTE, spare)?;
                }
                FlushUnit::Page => {
                    let spare = &mut spare[..page_size];
                    self.areas.append(flash, PASSING, chunk, L1_NOTE, spare)?;
                }
            }
        }
        self.buffer.fill(0);
        self.filters = 0;
        self.flushes += 1;
        Ok(())
    }

    /// Write the next set from L1 and the previous set. Cost: each page of both is read once.
    pub(super) fn write_set<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
    ) -> Result<(), FlashError> {
        let layout = self.layout;
        let step = self.set.step + 1;
        let is_full = step == layout.steps_max();
        let area = if is_full { LASTING } else { PASSING };
        let children = layout.set_pages(step) / layout.partitions;
        let page_size = layout.page_bits as usize / 8;
        let (l1_pages, old) = self.pages.split_at_mut(page_size * layout.sectors as usize);
        let first = self.areas.extent(area).tail;
        let old_pages = layout.set_pages(self.set.step);
        let ratio = layout.set_pages(step).checked_div(old_pages).unwrap_or(1);
        for partition in 0..layout.partitions {
            for (round, page) in (0..).zip(l1_pages.chunks_exact_mut(page_size)) {
                let logical = self.l1 + round * layout.partitions + partition;
                read(flash, &self.areas, (PASSING, logical), page)?;
            }
            for child in 0..children {
                let number = partition * children + child;
                if old_pages > 0 && number.is_multiple_of(ratio) {
                    let logical = self.set.first + number / ratio;
                    read(flash, &self.areas, (PASSING, logical), old)?;
                }
                let child = Child { layout: &layout, step, number };
                let target = &mut self.buffer[..page_size];
                child.write(flash, &mut self.areas, area, (old, l1_pages), target)?;
            }
        }
        self.buffer.fill(0);
        self.flushes = 0;
        if is_full {
            self.lasting += 1;
            self.set = Set::default();
        } else {
            self.set = Set { step, first };
        }
        self.trim(flash);
        Ok(())
    }

    /// Release what the newest set replaces.
    pub(super) fn trim<N: Nand>(&mut self, flash: &mut Flash<'_, N>) {
        let needed = if self.set.step == 0 { self.l1_or_tail() } else { self.set.first };
        self.areas.trim(flash, PASSING, needed);
    }

    fn l1_or_tail(&self) -> u32 {
        if self.flushes > 0 { self.l1 } else { self.areas.extent(PASSING).tail }
    }
}

/// The note in the tags of L1's pages.
pub(super) const L1_NOTE: u64 = 0;
/// The bit that marks the note of a set's page. The note also has the step and the number of the
/// page.
pub(super) const SET_NOTE: u64 = 1 << 63;

/// Collect the bits of one partition from all filters in the buffer, filter by filter.
fn gather(buffer: &[u8], layout: &Layout, partition: u32, filters: u32, chunk: &mut [u8]) {
    let width = (layout.filter_bits / layout.partitions / 8) as usize;
    chunk.fill(0);
    for (filter, part) in chunk.chunks_exact_mut(width).take(filters as usize).enumerate() {
        let start = filter * layout.filter_bits as usize / 8 + partition as usize * width;
        part.copy_from_slice(&buffer[start..start + width]);
    }
}

pub(super) fn read<N: Nand>(
    flash: &mut Flash<'_, N>,
    areas: &Areas<'_>,
    (area, logical): (usize, u32),
    page: &mut [u8],
) -> Result<(), FlashError> {
    let place = areas.locate(flash, area, logical);
    flash.read(place.ok_or(FlashError::Corrupt(PageAddr(logical)))?, 0, page)
}

/// A page of the set that is being written.
struct Child<'a> {
    layout: &'a Layout,
    step: u32,
    number: u32,
}

impl Child<'_> {
    /// Make the page from a page of the old set and pages of L1, and append it.
    fn write<N: Nand>(
        &self,
        flash: &mut Flash<'_, N>,
        areas: &mut Areas<'_>,
        area: usize,
        (old, l1_pages): (&[u8], &[u8]),
        target: &mut [u8],
    ) -> Result<(), FlashError> {
        let note = SET_NOTE | u64::from(self.step) << 32 | u64::from(self.number);
        loop {
            target.fill(0);
            self.copy_old(old, target);
            self.transpose_l1(l1_pages, target);
            match areas.program(flash, area, target, note) {
                Ok(()) => break,
                Err(FlashError::ProgramFailed(_)) => areas.relocate(flash, area, true, target)?,
                Err(error) => return Err(error),
            }
        }
        areas.advance(area);
        Ok(())
    }

    /// Copy the rows of this page from the page of the old set that holds them.
    fn copy_old(&self, old: &[u8], target: &mut [u8]) {
        let old_step = self.step - 1;
        if old_step == 0 {
            return;
        }
        let (width, old_width) = (self.width(), self.layout.set_width(old_step));
        let filters = old_step * self.layout.filters_per_step();
        let row_size = |width| (self.layout.page_bits / width / 8) as usize;
        let skipped = self.number * width % old_width;
        for row in 0..width {
            let from = (skipped + row) as usize * row_size(old_width);
            let to = row as usize * row_size(width);
            let len = filters as usize / 8;
            target[to..to + len].copy_from_slice(&old[from..from + len]);
        }
    }

    /// Transpose the chunks of L1, which are ordered by filter, into rows, which are ordered by
    /// bit. Eight filters are a byte of a row, and eight rows, or all if they are fewer, are bits
    /// of one byte of a filter.
    fn transpose_l1(&self, l1_pages: &[u8], target: &mut [u8]) {
        let layout = self.layout;
        let width = self.width();
        let chunk_bits = layout.filter_bits / layout.partitions;
        let row_size = (layout.page_bits / width / 8) as usize;
        let before = (self.step - 1) * layout.filters_per_step();
        for row in (0..width).step_by(8) {
            let bit = (self.number * width + row) % chunk_bits;
            let rows = row as usize..width.min(row + 8) as usize;
            for filter in (0..layout.filters_per_step()).step_by(8) {
                let of = |nth: u32| l1_pages[((filter + nth) * chunk_bits + bit) as usize / 8];
                let by_bit = transposed([0, 1, 2, 3, 4, 5, 6, 7].map(of));
                let column = (before + filter) as usize / 8;
                for (row, byte) in rows.clone().zip(&by_bit[bit as usize % 8..]) {
                    target[row * row_size + column] = *byte;
                }
            }
        }
    }

    const fn width(&self) -> u32 {
        self.layout.set_width(self.step)
    }
}

/// The bits of eight bytes, transposed: bit `n` of byte `m` becomes bit `m` of byte `n`. Squares of
/// one, two and four bits change places (Warren, Hacker's Delight, 2nd edition, section 7-3).
const fn transposed(bytes: [u8; 8]) -> [u8; 8] {
    let bits = u64::from_le_bytes(bytes);
    let bits = exchanged(bits, 7, 0x00AA_00AA_00AA_00AA);
    let bits = exchanged(bits, 14, 0x0000_CCCC_0000_CCCC);
    exchanged(bits, 28, 0x0000_0000_F0F0_F0F0).to_le_bytes()
}

/// The bits of `mask` change places with those that are `distance` higher.
const fn exchanged(bits: u64, distance: u32, mask: u64) -> u64 {
    let differing = (bits ^ bits >> distance) & mask;
    bits ^ differing ^ differing << distance
}
