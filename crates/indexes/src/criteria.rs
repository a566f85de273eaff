//! Queries of several criteria, as a pipeline: section 5.2 of the `PBFilter` paper.
//!
//! ```text
//! summary of the first equality ─▸ of the next, only where it agrees ─▸ bitmaps of the ranges, only
//! of rows that are left ─▸ the key page of each equality, only where a bitmap has such a row ─▸ row
//! ```
//!
//! The indexes have the same rows: row `n` is the `n`th key inserted and the `n`th value appended.
//! Nothing is kept between two rows but what each index's own buffers hold, so RAM does not grow
//! with the rows that meet a criterion.
//!
//! * All equality, predefined: an index over the attributes' concatenation is one lookup.
//! * All equality, ad hoc: the most selective first; of the others' summaries only parts are read
//!   in which it agrees. The same layout makes filter `n` of each speak of the same rows.
//! * All ranges: [`BitmapIndex::lookup`](super::bitmap::BitmapIndex::lookup).
//! * Mixed: [`select`] with both.

use core::ops::{ControlFlow, Range};

use flysch_nand::Nand;

use super::IndexError;
use super::bitmap::Criterion;
use super::pbfilter::PbFilter;
use crate::flash::{Flash, FlashError};

/// One criterion of a query: the rows of this key.
#[derive(Debug)]
pub struct Equal<'a, 'ram> {
    /// The index of the attribute.
    pub index: &'a mut PbFilter<'ram>,
    pub key: &'a [u8],
}

/// Give `visit` the rows that meet every criterion until it breaks: those of key pages ascending,
/// then those still in RAM. The most selective equality should come first.
///
/// Cost: the first one's summary, as a lookup of an absent key; of each other summary the parts in
/// which those before it agree; for each filter that all agree on the chunks that the ranges need,
/// and where they leave a row, a page of keys of each equality.
///
/// # Panics
/// Where there is no equality, or their indexes have keys of different sizes or different
/// parameters.
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

/// The criteria under evaluation.
struct Query<'q, 'equal, 'ram, 'range, 'bits> {
    first: &'q mut Equal<'equal, 'ram>,
    others: &'q mut [Equal<'equal, 'ram>],
    ranges: &'q mut [Criterion<'range, 'bits>],
}

impl Query<'_, '_, '_, '_, '_> {
    /// Leave the filters of a part on which all equalities agree; give the number of its filters.
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

    /// Give the rows of a key page on flash, unless the ranges leave none of them.
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

    /// Whether each range has one of these rows.
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

    /// Give the rows of a key page that meet all criteria.
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
