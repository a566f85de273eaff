//! The token's flash: reads counted by what is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, Part, PartError};
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

use flysch::flash::Tag;

/// The part with the times of the virtual flash layer (Table 7).
const PART: &str = "gemalto-vfl";

/// A chip that knows which area a page was programmed for, by the tag in its OOB area.
pub(super) struct Device {
    chip: Chip,
    clock: Clock,
    areas: BTreeMap<PageAddr, u8>,
    reads: BTreeMap<u8, u32>,
}

impl Device {
    /// A blank one.
    pub(super) fn new() -> Result<Self, PartError> {
        let clock = Clock::new();
        let chip = Chip::new(Arc::new(Part::named(PART)?), clock.clone(), 1);
        Ok(Self { chip, clock, areas: BTreeMap::new(), reads: BTreeMap::new() })
    }

    /// Milliseconds that the flash has been busy.
    pub(super) fn busy_ms(&self) -> f64 {
        crate::report::number::real(self.clock.now_ns()) / 1e6
    }

    /// Forget the reads counted so far.
    pub(super) fn forget(&mut self) {
        self.reads.clear();
    }

    /// Reads of an area's pages since.
    pub(super) fn reads_of(&self, area: u8) -> u32 {
        self.reads.get(&area).copied().unwrap_or(0)
    }

    /// All reads since.
    pub(super) fn reads(&self) -> u32 {
        self.reads.values().sum()
    }
}

impl Nand for Device {
    fn geometry(&self) -> Geometry {
        self.chip.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        let area = self.areas.get(&page).copied().unwrap_or(u8::MAX);
        *self.reads.entry(area).or_default() += 1;
        self.chip.read(page, column, bytes)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        if let Some(tag) = oob.first_chunk().and_then(Tag::parse) {
            self.areas.insert(page, tag.area);
        }
        self.chip.program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.chip.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.chip.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.chip.mark_bad(block)
    }
}
