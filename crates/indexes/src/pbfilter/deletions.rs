//! The deletion area: the pointers of deleted records, with a summary like that of the keys.

use core::ops::ControlFlow;

use flysch_nand::Nand;

use super::{PbConfig, PbFilter};
use crate::IndexError;
use crate::flash::Flash;

/// The pointers of deleted records. One deletion area can serve all tables of a database.
#[derive(Debug)]
pub struct Deletions<'ram> {
    pointers: PbFilter<'ram>,
}

impl<'ram> Deletions<'ram> {
    /// The parameters of a deletion area for an index with the parameters `keys`.
    pub const fn config(keys: PbConfig) -> PbConfig {
        PbConfig { key_size: 4, pointer_size: 0, ..keys }
    }

    /// Use an empty index that was made with [`Deletions::config`], or such an index that was
    /// mounted again.
    ///
    /// # Panics
    /// If the index has other sizes.
    pub fn new(pointers: PbFilter<'ram>) -> Self {
        let PbConfig { key_size, pointer_size, .. } = *pointers.config();
        assert_eq!((key_size, pointer_size), (4, 0), "the keys are pointers");
        Self { pointers }
    }

    /// The index of the pointers.
    pub const fn index(&self) -> &PbFilter<'ram> {
        &self.pointers
    }

    /// Note that a record is deleted. Cost: that of [`PbFilter::insert`].
    pub fn delete<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        pointer: u32,
    ) -> Result<(), IndexError> {
        self.pointers.insert(flash, &pointer.to_le_bytes(), 0)
    }

    /// Whether a record was deleted. Cost: mostly that of [`PbFilter::lookup`] for an absent key.
    pub fn contains<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        pointer: u32,
    ) -> Result<bool, IndexError> {
        let mut is_deleted = false;
        self.pointers.lookup(flash, &pointer.to_le_bytes(), |_, _| {
            is_deleted = true;
            Ok::<_, IndexError>(ControlFlow::Break(()))
        })?;
        Ok(is_deleted)
    }
}
