//! Pages that read differently each time, because the power went while their cells were changed.

use std::collections::BTreeMap;

use flysch_nand::{Ecc, PageAddr, ReadError};

use crate::Prng;

/// The pages, and how each looked before the operation.
#[derive(Debug, Default)]
pub(super) struct Unsteady(BTreeMap<PageAddr, Page>);

#[derive(Debug)]
struct Page {
    /// Data and OOB bytes.
    before: Vec<u8>,
    prng: Prng,
}

impl Unsteady {
    /// From now on each read of a page decides how it looks.
    pub(super) fn add(&mut self, page: PageAddr, before: Vec<u8>, seed: u64) {
        self.0.insert(page, Page { before, prng: Prng::new(seed) });
    }

    /// Pages were programmed or erased: they are steady.
    pub(super) fn forget(&mut self, pages: impl IntoIterator<Item = PageAddr>) {
        if !self.0.is_empty() {
            pages.into_iter().for_each(|page| drop(self.0.remove(&page)));
        }
    }

    /// Change what was read of a page as it looks after the operation. None where nothing is
    /// changed.
    pub(super) fn disturb(
        &mut self,
        page: PageAddr,
        column: u32,
        bytes: &mut [u8],
    ) -> Option<Result<Ecc, ReadError>> {
        let Page { before, prng } = self.0.get_mut(&page)?;
        match prng.below(4) {
            0 => {
                bytes.copy_from_slice(&before[column as usize..][..bytes.len()]);
                Some(Ok(Ecc::Clean))
            }
            1 => {
                let old = before[column as usize..].iter();
                for (byte, old) in bytes.iter_mut().zip(old) {
                    let [mask, ..] = prng.next().to_le_bytes();
                    *byte = *byte & mask | old & !mask;
                }
                Some(Err(ReadError::Uncorrectable(page)))
            }
            _ => None,
        }
    }
}
