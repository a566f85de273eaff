//! The flash of the token, which counts reads by area.

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, Hooked, Hooks, Part, PartError};
use flysch_indexes::flash::Tag;
use flysch_nand::PageAddr;

/// The part with the times of the virtual flash layer (Table 7).
const PART: &str = "gemalto-vfl";

/// A chip that counts its reads.
pub(super) type Device = Hooked<Chip, Reads>;

/// A new, erased chip.
pub(super) fn blank() -> Result<Device, PartError> {
    let clock = Clock::new();
    let device = Chip::new(Arc::new(Part::named(PART)?), clock.clone(), 1);
    Ok(Hooked { device, hooks: Reads { clock, areas: BTreeMap::new(), counts: BTreeMap::new() } })
}

/// The number of reads from each area. The tag in a page's OOB bytes says which area it belongs to.
pub(super) struct Reads {
    clock: Clock,
    areas: BTreeMap<PageAddr, u8>,
    counts: BTreeMap<u8, u32>,
}

impl Reads {
    /// How long the flash has been busy, in milliseconds.
    pub(super) fn busy_ms(&self) -> f64 {
        flysch_charts::number::real(self.clock.now_ns()) / 1e6
    }

    pub(super) fn forget(&mut self) {
        self.counts.clear();
    }

    /// Number of reads from an area since the counts were set to zero.
    pub(super) fn of_area(&self, area: u8) -> u32 {
        self.counts.get(&area).copied().unwrap_or(0)
    }

    /// Number of all reads since the counts were set to zero.
    pub(super) fn all(&self) -> u32 {
        self.counts.values().sum()
    }
}

impl Hooks for Reads {
    fn after_read(&mut self, page: PageAddr, _: &mut [u8]) {
        let area = self.areas.get(&page).copied().unwrap_or(u8::MAX);
        *self.counts.entry(area).or_default() += 1;
    }

    fn before_program(&mut self, page: PageAddr, _: &[u8], oob: &[u8]) -> bool {
        if let Some(tag) = oob.first_chunk().and_then(Tag::parse) {
            self.areas.insert(page, tag.area);
        }
        true
    }
}
