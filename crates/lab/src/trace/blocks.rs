//! Operations counted for each block.

use flysch_chip::{Event, EventPlace, Trace};
use flysch_nand::{Geometry, PageAddr};
use serde::Serialize;

use super::tally::Tally;

/// The operations on one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BlockRow {
    /// Block number, counted from the start of the chip.
    pub block: u32,
    #[serde(flatten)]
    pub tally: Tally,
}

/// Count the events of each block of the chip. Marks and events of the NVRAM belong to no block.
pub fn by_block(trace: &Trace) -> Vec<Tally> {
    let mut blocks = vec![Tally::default(); trace.geometry.block_count as usize];
    for event in &trace.events {
        if let Some(block) = block_of(&trace.geometry, event) {
            blocks[block as usize].add(event);
        }
    }
    blocks
}

/// The blocks with at least one event.
pub fn block_rows(blocks: &[Tally]) -> Vec<BlockRow> {
    let numbered = (0..).zip(blocks);
    let touched = numbered.filter(|(_, tally)| tally.event_count() > 0);
    touched.map(|(block, &tally)| BlockRow { block, tally }).collect()
}

/// The block of an event. None for marks and for events of the NVRAM.
pub(super) const fn block_of(geometry: &Geometry, event: &Event) -> Option<u32> {
    match event.kind.place() {
        EventPlace::Nowhere | EventPlace::Byte => None,
        EventPlace::Block => Some(event.addr),
        EventPlace::Page => Some(geometry.block_of(PageAddr(event.addr)).0),
    }
}
