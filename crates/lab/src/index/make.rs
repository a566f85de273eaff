//! Make an index of a given method on a chip.

use flysch_nand::Geometry;

use super::chip_setup::ChipSetup;
use super::error::MethodError;
use super::method::{IndexMethod, MethodName, MethodSpec};
use super::{bftl, btree, hash_runs, pbfilter, skimpystash, store};

impl MethodSpec {
    /// The number of blocks that the method may need.
    pub fn block_count(&self, geometry: &Geometry) -> Result<u32, MethodError> {
        match self.name {
            MethodName::Pbfilter | MethodName::Pbfilter2 => pbfilter::block_count(self, geometry),
            MethodName::Runs | MethodName::RunsFilter => Ok(hash_runs::block_count(self, geometry)),
            MethodName::Btree => Ok(btree::block_count(self, geometry)),
            MethodName::Bftl1 | MethodName::Bftl2 => Ok(bftl::block_count(self, geometry)),
            MethodName::Skimpystash => Ok(skimpystash::block_count(self, geometry)),
            MethodName::Store | MethodName::StoreOrdered => Ok(store::block_count(self, geometry)?),
        }
    }

    /// Make the index on a new chip and pass it to `visit`. Its RAM is freed when `visit` returns.
    pub fn with<T>(
        &self,
        setup: &ChipSetup,
        visit: impl FnOnce(&mut dyn IndexMethod) -> Result<T, MethodError>,
    ) -> Result<T, MethodError> {
        match self.name {
            MethodName::Pbfilter | MethodName::Pbfilter2 => pbfilter::with(self, setup, visit),
            MethodName::Runs | MethodName::RunsFilter => hash_runs::with(self, setup, visit),
            MethodName::Btree => btree::with(self, setup, visit),
            MethodName::Bftl1 | MethodName::Bftl2 => bftl::with(self, setup, visit),
            MethodName::Skimpystash => skimpystash::with(self, setup, visit),
            MethodName::Store | MethodName::StoreOrdered => store::with(self, setup, visit),
        }
    }
}
