//! The device contract: what flysch expects of a raw NAND chip, on one page.
//!
//! A driver implements [`Nand`], and everything else in flysch is written against this trait. The
//! simulated chip, the fault injector and the tracer each *are* a `Nand`, and so is the driver of a
//! board.
//!
//! # The chip
//!
//! * A chip is an array of **blocks** (erase units). A block is an array of **pages** (program and
//!   read units). Pages are numbered from the start of the chip: [`PageAddr`], [`BlockAddr`].
//! * A page has `page_size` data bytes and, behind them, `oob_size` out-of-band (OOB) bytes. Column
//!   `page_size` is the first OOB byte.
//! * Erased cells read `0xFF`. A program clears bits and never sets one. A `0xFF` byte in a program
//!   leaves its cells as they are.
//!
//! # Rules for the caller
//!
//! A breach is a bug of the caller. The driver asserts; it does not return an error.
//!
//! 1. A sector is programmed at most once between two erases, and a page at most
//!    [`Geometry::partial_programs`] times. Programs of OOB bytes alone count, too.
//! 2. If [`Geometry::in_order`] is set, the pages of a block are programmed in ascending order.
//! 3. A bad block is neither programmed nor erased.
//! 4. Addresses are within the geometry. A program of data begins and ends on a sector boundary.
//! 5. The first OOB byte of a block's first page is the bad-block mark of the chip's maker. Only
//!    [`Nand::mark_bad`] changes it; every other program leaves it `0xFF`.
//!
//! # Errors of the driver
//!
//! Faults of the chip and its supply are returned as errors.
//!
//! * [`ReadError::Uncorrectable`]: there are more bit errors than ECC corrects. The buffer holds
//!   the raw bytes nevertheless, because a layer with checksums of its own may find valid data in
//!   them.
//! * [`ProgramError::Failed`], [`EraseError::Failed`]: the status of the chip says so. The content
//!   of the page or block is then undefined. The caller retires the block with [`Nand::mark_bad`].
//! * `PowerLost`: only simulations and supervised supplies can know it. The outcome of the
//!   operation under way is unknown, and every later call returns the same error.
//!
//! # What survives a power cut
//!
//! Every program and erase that returned `Ok` survives. The operation under way may have happened
//! completely, in part, or not at all: a page may be torn, a block half erased. The contract
//! guarantees nothing about it.

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

/// Whether all of these bytes are those of erased cells.
pub fn is_erased(bytes: &[u8]) -> bool {
    // Each byte but the first must equal the one before it: one comparison of memory, which is many
    // times as fast as a loop.
    let Some((&first, others)) = bytes.split_first() else { return true };
    first == 0xFF && *others == bytes[..others.len()]
}

/// What ECC had to do in a read that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecc {
    /// ECC found no bit error.
    Clean,
    /// ECC corrected this many bit errors. If the number is close to the strength of the ECC, the
    /// block should be scrubbed.
    Corrected(u16),
}

/// A raw NAND chip. Each call returns when its operation is complete.
///
/// Costs are given in array operations. A read, program or erase is one, however few bytes it
/// moves.
pub trait Nand {
    /// The geometry of the chip. It never changes.
    fn geometry(&self) -> Geometry;

    /// Read `bytes.len()` bytes of `page` from `column` on. This costs one array read.
    ///
    /// `column + bytes.len()` is at most `page_size + oob_size`. ECC covers the data bytes.
    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError>;

    /// Program `data` at `column`, and `oob` at the start of the OOB area. This costs one array
    /// program.
    ///
    /// `data` is a whole number of sectors, or empty for a program of OOB bytes alone. `oob` may be
    /// empty. After `Ok` the bytes survive a power cut.
    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError>;

    /// Erase `block`, so that all its cells read `0xFF`. This costs one array erase.
    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError>;

    /// Whether `block` carries a bad-block mark. This costs one OOB read if the driver has no
    /// table.
    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost>;

    /// Mark `block` bad for ever. This costs one OOB program. A block may be marked twice.
    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost>;
}

/// A chip that is borrowed, so that its owner keeps it after the borrower is dropped.
impl<N: Nand + ?Sized> Nand for &mut N {
    fn geometry(&self) -> Geometry {
        (**self).geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        (**self).read(page, column, bytes)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        (**self).program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        (**self).erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        (**self).is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        (**self).mark_bad(block)
    }
}
