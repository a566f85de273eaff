//! The simulated chip: an array of blocks that follows the rules of NAND, with timing, wear and bit
//! errors.
//!
//! Invariants:
//! 1. Only an erase sets bits; every other operation clears them.
//! 2. Each operation advances the clock by the times of the part before it returns.
//! 3. A fork shares its blocks with the original until one of the two changes them.
//! 4. Bit errors belong to a sector and stay until it is erased. In each sector, ECC corrects as
//!    many errors as its ECC steps together can. If there are more, a read returns the raw bytes,
//!    which are the same at every read.

mod block;
mod faults;
mod wear;

use std::sync::Arc;

use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

use crate::{Clock, Part, Prng};
use block::Bytes;
pub(crate) use block::{Block, ERASED};
pub use wear::Wear;

/// A simulated NAND chip.
///
/// A breach of the contract panics. A worn-out block fails to erase. All other faults come from a
/// [`FaultInjector`](crate::FaultInjector) around the chip.
#[derive(Clone, Debug)]
pub struct Chip {
    part: Arc<Part>,
    clock: Clock,
    blocks: Vec<Arc<Block>>,
    prng: Prng,
}

impl Chip {
    /// Make a chip without bad blocks, as new from the factory. `seed` decides its random
    /// behaviour.
    ///
    /// # Panics
    /// If the part's geometry is impossible, which no parsed part's is.
    pub fn new(part: Arc<Part>, clock: Clock, seed: u64) -> Self {
        part.geometry.check().expect("a part's geometry is checked when it is parsed");
        let blank = Arc::new(Block::blank(&part.geometry, 0));
        let blocks = vec![blank; part.geometry.block_count as usize];
        Self { part, clock, blocks, prng: Prng::new(seed) }
    }

    /// Make a copy of the chip with another clock. Both share their blocks until one of them
    /// changes them.
    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        Self { clock, ..self.clone() }
    }

    pub fn part(&self) -> &Part {
        &self.part
    }

    /// Set how often each block was erased before, beginning with the first block of the chip.
    pub fn wear_in(&mut self, erase_counts: &[u32]) {
        for (block, &erase_count) in self.blocks.iter_mut().zip(erase_counts) {
            Arc::make_mut(block).wear_in(erase_count);
        }
    }

    /// Number of erases of each block.
    pub fn erase_counts(&self) -> Vec<u32> {
        self.blocks.iter().map(|block| block.erase_count()).collect()
    }

    pub(crate) fn block(&self, block: BlockAddr) -> &Block {
        let Some(found) = self.blocks.get(block.0 as usize) else {
            panic!("{block} is beyond the chip");
        };
        found
    }

    pub(crate) fn block_mut(&mut self, block: BlockAddr) -> &mut Block {
        Arc::make_mut(&mut self.blocks[block.0 as usize])
    }

    /// Read like [`Nand::read`], with `errors` additional bit errors in the first sector that is
    /// read.
    pub(crate) fn read_with_errors(
        &mut self,
        page: PageAddr,
        column: u32,
        bytes: &mut [u8],
        errors: u16,
    ) -> Result<Ecc, ReadError> {
        let (block, at) = self.locate(page);
        let geometry = &self.part.geometry;
        let end = column as usize + bytes.len();
        assert!(end <= (geometry.page_size + geometry.oob_size) as usize, "read past {page}");
        self.clock.advance(self.part.timing.read_ns(bytes.len() as u64));
        let cells = self.block(block);
        cells.read(geometry, at, column as usize, bytes);
        if column >= geometry.page_size || bytes.is_empty() {
            return Ok(Ecc::Clean);
        }
        let data_len = bytes.len().min((geometry.page_size - column) as usize);
        let first = column / geometry.sector_size();
        let mut flaws: Vec<(u32, u16)> = cells.flaws(at).collect();
        if errors > 0 {
            flaws.push((first, errors));
        }
        if flaws.is_empty() {
            Ok(Ecc::Clean)
        } else {
            self.correct(page, column, &mut bytes[..data_len], &flaws)
        }
    }

    /// Apply ECC to `data`, which was read from `column` on, given the bit errors of the page.
    fn correct(
        &self,
        page: PageAddr,
        column: u32,
        data: &mut [u8],
        flaws: &[(u32, u16)],
    ) -> Result<Ecc, ReadError> {
        let size = self.part.geometry.sector_size();
        let end = column + u32::try_from(data.len()).expect("a page is far below 4 GiB");
        let mut corrected = 0;
        let mut outcome = Ok(());
        for sector in column / size..end.div_ceil(size) {
            let here = flaws.iter().filter(|(flawed, _)| *flawed == sector);
            let errors = here.fold(0_u16, |sum, (_, errors)| sum.saturating_add(*errors));
            if errors <= self.part.sector_strength() {
                corrected += errors;
                continue;
            }
            let seed = u64::from(page.0) << 32 | u64::from(sector);
            let start = i64::from(column) - i64::from(sector * size);
            block::flip_bits(seed, errors, size, start, data);
            outcome = Err(ReadError::Uncorrectable(page));
        }
        outcome.map(|()| if corrected == 0 { Ecc::Clean } else { Ecc::Corrected(corrected) })
    }

    fn locate(&self, page: PageAddr) -> (BlockAddr, u32) {
        let geometry = &self.part.geometry;
        assert!(page.0 < geometry.page_count(), "{page} is beyond the chip");
        (geometry.block_of(page), geometry.page_in_block(page))
    }

    /// Whether an erase fails because of wear. Beyond the rated endurance it fails with probability
    /// (cycles - endurance) / endurance, which is certain at twice the rating. This slope is a
    /// choice of the simulator, since data sheets only give the rating.
    fn wears_out(&mut self, erase_count: u32) -> bool {
        let rated = u64::from(self.part.endurance);
        let cycles = u64::from(erase_count);
        cycles >= rated && self.prng.below(rated) < (cycles - rated).saturating_add(1)
    }
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        self.part.geometry
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        self.read_with_errors(page, column, bytes, 0)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        self.check_program(page, column, data, oob);
        self.complete(page, column, data, oob);
        Ok(())
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.check_erase(block);
        if self.wears_out(self.block(block).erase_count()) {
            let mut prng = Prng::new(self.prng.next());
            self.half_erase(block, &mut prng);
            return Err(EraseError::Failed(block));
        }
        self.blank(block);
        Ok(())
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.clock.advance(self.part.timing.read_ns(1));
        Ok(self.block(block).is_bad())
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.clock.advance(self.part.timing.program_ns(1));
        self.set_bad(block);
        Ok(())
    }
}
