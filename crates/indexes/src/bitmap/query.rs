//! Queries: bitmaps are combined by the rules of Chan and Ioannidis, group by group.

use core::ops::{ControlFlow, RangeInclusive};

use flysch_nand::{Nand, PageAddr};

use super::{BitmapIndex, Encoding};
use crate::IndexError;
use crate::flash::{Flash, FlashError};

/// A criterion of a query: the rows whose value is in a range.
#[derive(Debug)]
pub struct Criterion<'a, 'ram> {
    /// The index of the attribute.
    pub index: &'a mut BitmapIndex<'ram>,
    pub values: RangeInclusive<u32>,
}

/// How a bitmap is combined with the result so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combine {
    And,
    AndNot,
    Or,
}

impl BitmapIndex<'_> {
    /// Call `visit` with the rows that meet this criterion and all of `others`, ascending, until it
    /// breaks. The indexes must have the same rows and groups. Cost: for each group the chunks that
    /// each criterion needs, until no row is left.
    ///
    /// For queries with criteria of equality see [`select`](crate::criteria::select).
    ///
    /// # Panics
    /// If the indexes differ in their groups.
    pub fn lookup<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        values: &RangeInclusive<u32>,
        others: &mut [Criterion<'_, '_>],
        mut visit: impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let size = self.chunk_size;
        assert!(others.iter().all(|other| other.index.chunk_size == size), "groups differ");
        for group in 0..self.rows.div_ceil(self.rows_per_group()) {
            self.evaluate(flash, group, values).map_err(IndexError::from)?;
            // The other criteria have removed rows from the result, so it cannot be used again for
            // this criterion alone.
            self.evaluated = None;
            for other in &mut *others {
                if self.chunks[..size].iter().all(|&byte| byte == 0) {
                    break;
                }
                let outcome = other.index.evaluate(flash, group, &other.values);
                outcome.map_err(IndexError::from)?;
                combine(&mut self.chunks[..size], &other.index.chunks[..size], Combine::And);
            }
            let first = group * self.rows_per_group();
            for bit in 0..self.rows_per_group().min(self.rows - first) {
                if self.chunks[bit as usize / 8] >> (bit % 8) & 1 != 0
                    && visit(flash, first + bit)?.is_break()
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether a row's value is in the range. Cost: the chunks of a group that the range needs;
    /// nothing for further rows of the same group.
    pub fn holds<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        row: u32,
        values: &RangeInclusive<u32>,
    ) -> Result<bool, IndexError> {
        let bit = row % self.rows_per_group();
        self.evaluate(flash, row / self.rows_per_group(), values)?;
        Ok(row < self.rows && self.chunks[bit as usize / 8] >> (bit % 8) & 1 != 0)
    }

    /// Compute which rows of a group are in the range. The result is in the first chunk.
    fn evaluate<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        group: u32,
        values: &RangeInclusive<u32>,
    ) -> Result<(), FlashError> {
        let (low, high) = (*values.start(), (*values.end()).min(self.config.bases.value_max()));
        let size = self.chunk_size;
        if self.evaluated == Some((group, low, high)) {
            return Ok(());
        }
        self.evaluated = None;
        if low > high {
            self.chunks[..size].fill(0);
            return Ok(());
        }
        if low == high {
            self.equal(flash, group, low)?;
        } else {
            self.within(flash, group, (low, high))?;
        }
        let is_on_flash = group < self.rows / self.rows_per_group();
        self.evaluated = is_on_flash.then_some((group, low, high));
        Ok(())
    }

    /// Compute the rows of a range of several values.
    fn within<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        group: u32,
        (low, high): (u32, u32),
    ) -> Result<(), FlashError> {
        let size = self.chunk_size;
        self.at_most(flash, group, high)?;
        if low > 0 {
            self.chunks.copy_within(..size, 2 * size);
            self.at_most(flash, group, low - 1)?;
            let (result, rest) = self.chunks.split_at_mut(size);
            result.iter_mut().zip(&rest[size..]).for_each(|(below, all)| *below = all & !*below);
        }
        Ok(())
    }

    /// Compute the rows with at most `value`. Digits are examined from the least significant one
    /// up: a lower digit decides, and an equal digit leaves the decision to the digits below it.
    fn at_most<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        group: u32,
        value: u32,
    ) -> Result<(), FlashError> {
        self.chunks[..self.chunk_size].fill(0xFF);
        let encoding = self.config.encoding;
        for (place, (first, base, digit)) in self.config.bases.digits(value, encoding).enumerate() {
            match encoding {
                Encoding::Range => {
                    if digit + 1 < base {
                        self.take(flash, group, first + u32::from(digit), Combine::And)?;
                    }
                    if digit > 0 && place > 0 {
                        self.take(flash, group, first + u32::from(digit) - 1, Combine::Or)?;
                    }
                }
                Encoding::Equality => {
                    let lower = first..first + u32::from(digit);
                    self.take(flash, group, lower.end, Combine::And)?;
                    for bitmap in lower {
                        self.take(flash, group, bitmap, Combine::Or)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn equal<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        group: u32,
        value: u32,
    ) -> Result<(), FlashError> {
        self.chunks[..self.chunk_size].fill(0xFF);
        let encoding = self.config.encoding;
        for (first, base, digit) in self.config.bases.digits(value, encoding) {
            let bitmap = first + u32::from(digit);
            if encoding == Encoding::Equality || digit + 1 < base {
                self.take(flash, group, bitmap, Combine::And)?;
            }
            if encoding == Encoding::Range && digit > 0 {
                self.take(flash, group, bitmap - 1, Combine::AndNot)?;
            }
        }
        Ok(())
    }

    /// Read a bitmap's chunk and combine it with the result. Cost: one read, or none if the group
    /// is still in RAM.
    fn take<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        group: u32,
        bitmap: u32,
        how: Combine,
    ) -> Result<(), FlashError> {
        let size = self.chunk_size;
        let place = bitmap as usize * size;
        let (result, rest) = self.chunks.split_at_mut(size);
        if group == self.rows / (size as u32 * 8) {
            combine(result, &self.group[place..place + size], how);
            return Ok(());
        }
        let page_size = self.spare.len();
        let page = group * u32::from(self.config.group_pages) + (place / page_size) as u32;
        let found = self.areas.locate(flash, 0, page);
        let found = found.ok_or(FlashError::Corrupt(PageAddr(page)))?;
        flash.read(found, (place % page_size) as u32, &mut rest[..size])?;
        combine(result, &rest[..size], how);
        Ok(())
    }
}

fn combine(result: &mut [u8], bitmap: &[u8], how: Combine) {
    for (byte, other) in result.iter_mut().zip(bitmap) {
        match how {
            Combine::And => *byte &= other,
            Combine::AndNot => *byte &= !other,
            Combine::Or => *byte |= other,
        }
    }
}
