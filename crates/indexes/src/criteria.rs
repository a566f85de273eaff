//! Queries with several criteria, as a pipeline: section 5.2 of the `PBFilter` paper.
//!
//! ```text
//! summary of the first equality ─▸ of the next, only where it agrees ─▸ bitmaps of the ranges, only
//! of rows that are left ─▸ the key page of each equality, only where a bitmap has such a row ─▸ row
//! ```
//!
//! All indexes have the same rows: row `n` is the `n`th key inserted into one and the `n`th value
//! appended to another. Between two rows, nothing is kept but the content of each index's own
//! buffers. So RAM does not grow with the number of rows that meet a criterion.
//!
//! - Equalities on predefined attributes: one lookup in an index over the concatenated attributes.
//! - Equalities on any attributes: the most selective comes first. Of the other summaries, only the
//!   parts are read in which the first one has matching filters. The indexes have the same layout,
//!   so filter `n` of each covers the same rows.
//! - Only ranges: [`BitmapIndex::lookup`](super::bitmap::BitmapIndex::lookup).
//! - Equalities and ranges: [`select`].

use core::ops::{ControlFlow, Range};

use flysch_nand::Nand;

use super::IndexError;
use super::bitmap::Criterion;
use super::pbfilter::PbFilter;
use crate::flash::{Flash, FlashError};

/// A criterion of equality: the rows with this key.
#[derive(Debug)]
pub struct Equal<'a, 'ram> {
    /// The index of the attribute.
    pub index: &'a mut PbFilter<'ram>,
    pub key: &'a [u8],
}

/// Call `visit` with the rows that meet every criterion until it breaks: first rows whose key pages
/// are on flash, in ascending order, then those in RAM. The most selective equality should come
/// first.
///
/// Cost: the summary of the first equality, as a lookup of an absent key reads it. Of each other
/// summary, the parts in which all previous ones have matching filters. For each filter that
/// matches in all of them, the chunks that the ranges need, and, if rows are left, a page of keys
/// of each equality.
///
/// # Panics
/// If there is no equality, or if the indexes differ in key size or other parameters.
pub fn select<N: Nand, E: From<IndexError>>(
    flash: &mut Flash<'_, N>,
    equalities: &mut [Equal<'_, '_>],
    ranges: &mut [Criterion<'_, '_>],
    mut visit: impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let Some((first, others)) = equalities.split_first_mut() else {
        unreachable!("a query without equality is asked of a bitmap index")
    };
    for other in &*others {
        assert!(first.index.has_rows_of(other.index), "the indexes have the same rows");
    }
    first.index.check_key(first.key).map_err(IndexError::from)?;
    for other in &*others {
        other.index.check_key(other.key).map_err(IndexError::from)?;
    }
    let mut query = Query { first, others, ranges };
    let mut base = 0;
    for part in query.first.index.parts() {
        let filters = query.agree(flash, part).map_err(IndexError::from)?;
        let pages = query.first.index.pages_per_filter();
        for page in 0..filters * pages {
            if query.first.index.agrees(page / pages)
                && query.visit_page(flash, base * pages + page, &mut visit)?.is_break()
            {
                return Ok(());
            }
        }
        base += filters;
    }
    let open = query.first.index.open_page();
    query.visit_rows(flash, open, &mut visit).map(drop)
}

/// A query that is being evaluated.
struct Query<'q, 'equal, 'ram, 'range, 'bits> {
    first: &'q mut Equal<'equal, 'ram>,
    others: &'q mut [Equal<'equal, 'ram>],
    ranges: &'q mut [Criterion<'range, 'bits>],
}

impl Query<'_, '_, '_, '_, '_> {
    /// Find the filters of a part that match in all equalities. Returns the number of filters in
    /// the part.
    fn agree<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        part: super::pbfilter::Part,
    ) -> Result<u32, FlashError> {
        let filters = self.first.index.match_filters(flash, part, self.first.key)?;
        for other in &mut *self.others {
            if (0..filters).all(|filter| !self.first.index.agrees(filter)) {
                break;
            }
            other.index.match_filters(flash, part, other.key)?;
            self.first.index.agree_with(other.index);
        }
        Ok(filters)
    }

    /// Visit the rows of a key page on flash, unless the ranges exclude all of them.
    fn visit_page<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        page: u32,
        visit: &mut impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let rows = self.first.index.rows_of(page);
        if rows.is_empty() || !self.may_be_met(flash, &rows)? {
            return Ok(ControlFlow::Continue(()));
        }
        self.visit_rows(flash, page, visit)
    }

    /// Whether each range contains at least one of these rows.
    fn may_be_met<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        rows: &Range<u32>,
    ) -> Result<bool, IndexError> {
        for range in &mut *self.ranges {
            let mut is_met = false;
            for row in rows.clone() {
                is_met = is_met || range.index.holds(flash, row, &range.values)?;
            }
            if !is_met {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visit the rows of a key page that meet all criteria.
    fn visit_rows<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        page: u32,
        visit: &mut impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        self.first.index.load_page(flash, page).map_err(IndexError::from)?;
        let mut is_loaded = false;
        for row in self.first.index.rows_from(page) {
            if !self.first.index.is_row_of(page, row, self.first.key) {
                continue;
            }
            if !is_loaded {
                for other in &mut *self.others {
                    other.index.load_page(flash, page).map_err(IndexError::from)?;
                }
                is_loaded = true;
            }
            let mut is_met =
                self.others.iter().all(|other| other.index.is_row_of(page, row, other.key));
            for range in &mut *self.ranges {
                is_met = is_met && range.index.holds(flash, row, &range.values)?;
            }
            if is_met && visit(flash, row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
