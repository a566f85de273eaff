//! Pages that became unreliable because power was cut while their cells changed: they read
//! differently each time, or correctly at first and then no more.

use std::collections::BTreeMap;

use flysch_nand::{Ecc, PageAddr, ReadError};

use crate::Prng;

/// The most reads for which a fading page is still correct.
const GOOD_READS_MAX: u64 = 4;

/// The unreliable pages: those that read differently each time, with their former content, and
/// those that fade.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsteady {
    pages: BTreeMap<PageAddr, Page>,
    fading: BTreeMap<PageAddr, Fading>,
}

#[derive(Clone, Debug)]
struct Fading {
    /// Number of correct reads that are left.
    good_reads: u64,
    prng: Prng,
}

#[derive(Clone, Debug)]
struct Page {
    /// The former data and OOB bytes.
    before: Vec<u8>,
    prng: Prng,
}

impl Unsteady {
    /// Make a page read differently each time from now on.
    pub(super) fn add(&mut self, page: PageAddr, before: Vec<u8>, seed: u64) {
        self.pages.insert(page, Page { before, prng: Prng::new(seed) });
    }

    /// Make a page read correctly only a few times from now on.
    pub(super) fn fade(&mut self, page: PageAddr, seed: u64) {
        let mut prng = Prng::new(seed);
        let good_reads = prng.below(GOOD_READS_MAX + 1);
        self.fading.insert(page, Fading { good_reads, prng });
    }

    /// Note that a page was programmed, so that its former content is gone.
    pub(super) fn overwrite(&mut self, page: PageAddr) {
        self.pages.remove(&page);
    }

    /// Note that pages were erased, so that they are reliable again.
    pub(super) fn forget(&mut self, pages: impl IntoIterator<Item = PageAddr>) {
        if !self.pages.is_empty() || !self.fading.is_empty() {
            for page in pages {
                self.pages.remove(&page);
                self.fading.remove(&page);
            }
        }
    }

    /// Change the bytes that were read from a page, if it is unreliable. Returns the result of the
    /// read, or None if it is not changed.
    pub(super) fn disturb(
        &mut self,
        page: PageAddr,
        column: u32,
        bytes: &mut [u8],
    ) -> Option<Result<Ecc, ReadError>> {
        if let Some(Fading { good_reads, prng }) = self.fading.get_mut(&page) {
            let Some(left) = good_reads.checked_sub(1) else {
                prng.fill(bytes);
                return Some(Err(ReadError::Uncorrectable(page)));
            };
            *good_reads = left;
            return None;
        }
        let Page { before, prng } = self.pages.get_mut(&page)?;
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
