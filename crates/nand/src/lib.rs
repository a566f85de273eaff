//! The device contract: what flysch asks of a raw NAND chip, on one page.
//!
//! A driver implements [`Nand`]; everything else in flysch is written against it: the simulated
//! chip, the fault injector and the tracer each *are* a `Nand`, and so is a board's own driver.
//!
//! # The chip
//!
//! * A chip is an array of **blocks** (erase units), a block of **pages** (program and read
//!   units). Pages are numbered through from the start of the chip: [`PageAddr`], [`BlockAddr`].
//! * A page has `page_size` data bytes and `oob_size` out-of-band bytes behind them. Column
//!   `page_size` is the first OOB byte.
//! * Erased cells read `0xFF`. A program clears bits and never sets one; a `0xFF` byte in a
//!   program leaves its cells as they are.
//!
//! # What the caller keeps to (a breach is a bug of the caller: assert, do not return an error)
//!
//! 1. A sector is programmed at most once between erases, and a page at most
//!    [`Geometry::partial_programs`] times (OOB-only programs count).
//! 2. Where [`Geometry::in_order`] is set, the pages of a block are programmed in ascending order.
//! 3. A bad block is neither programmed nor erased.
//! 4. Addresses are within the geometry; a program of data begins and ends on a sector boundary.
//! 5. The first OOB byte of a block's first page is the maker's bad-block mark: every program but
//!    [`Nand::mark_bad`] leaves it `0xFF`.
//!
//! # What the driver answers (the world's doing: always a `Result`)
//!
//! * [`ReadError::Uncorrectable`]: more bit errors than ECC corrects. The buffer holds the raw
//!   bytes nevertheless: layers with checksums of their own may still find good data in them.
//! * [`ProgramError::Failed`], [`EraseError::Failed`]: the chip's status says so. The page's
//!   content is then undefined; the caller retires the block with [`Nand::mark_bad`].
//! * `PowerLost`: only simulations and supervised supplies know it. Nothing may be believed of
//!   the operation under way, and every later call answers the same.
//!
//! # What survives a power cut
//!
//! Every program and erase that returned `Ok`. The one under way may have happened, not, or in
//! part: a torn page, a half-erased block. The contract promises nothing about it.

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod address;
mod error;
mod geometry;
mod nvram;

pub use address::{BlockAddr, PageAddr};
pub use error::{EraseError, PowerLost, ProgramError, ReadError};
pub use geometry::{Geometry, GeometryError};
pub use nvram::{NvRam, NvRamError, WriteRule};

/// Tell what ECC had to do for a read that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecc {
    /// No bit error.
    Clean,
    /// This many bit errors, all corrected. Scrub the block when the number nears the strength.
    Corrected(u16),
}

/// A raw NAND chip, driven synchronously.
///
/// Costs are stated in array operations: a read, program or erase is one each, however short.
pub trait Nand {
    /// Tell the chip's geometry. Constant over the life of the device.
    fn geometry(&self) -> Geometry;

    /// Read `bytes.len()` bytes of `page` from `column` on: one array read.
    ///
    /// `column + bytes.len()` is at most `page_size + oob_size`. ECC covers the data bytes.
    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError>;

    /// Program `data` at `column` and `oob` at the start of the OOB area: one array program.
    ///
    /// `data` is a whole number of sectors, or empty for a program of OOB alone; `oob` may be
    /// empty. On `Ok` the bytes survive a power cut.
    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError>;

    /// Erase `block`: one array erase. All its cells read `0xFF` afterwards.
    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError>;

    /// Tell whether `block` carries a bad-block mark: one OOB read on chips without a table.
    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost>;

    /// Mark `block` bad, for ever: one OOB program. Marking twice is allowed.
    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost>;
}
