//! Levels: how near to the flash array a live trace records.

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

/// How near to the flash array operations are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Level {
    /// Array operations of raw NAND: what the chip does, page by page. It does not see controllers
    /// whose driver has page functions of its own.
    Chip,
    /// Requests to SPI-NAND. It has no page buffer, so each page of a request is one array
    /// operation.
    SpiNand,
    /// Requests to raw NAND, as the pages they touch. Reads that the one-page buffer serves count
    /// too.
    Mtd,
    /// The operations of nandsim itself, without addresses. The other levels are checked against
    /// it.
    Nandsim,
}

named!(Level, "hook");
