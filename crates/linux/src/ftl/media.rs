//! The chip as the translation layers use it: whole pages with tags, in one range of blocks.

use flysch_chip::{Recorder, Shared};
use flysch_nand::{
    BlockAddr, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError, is_erased,
};

use super::options::{FtlError, FtlOptions};
use super::tag::{self, Tag};

/// The place of a page: the number of its block in the range, and its number in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) block: u32,
    pub(super) page: u32,
}

/// Whether a program or an erase succeeded, if power was not lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Outcome {
    Done,
    Failed,
}

/// Clones share the chip.
#[derive(Clone)]
pub(super) struct Media {
    nand: Shared<Box<dyn Nand>>,
    geometry: Geometry,
    first_block: u32,
    pub(super) block_count: u32,
    recorder: Recorder,
}

impl Media {
    /// Use the blocks that `options` names of the chip.
    pub(super) fn new(
        nand: Box<dyn Nand>,
        options: &FtlOptions,
        recorder: Recorder,
    ) -> Result<Self, FtlError> {
        let geometry = nand.geometry();
        let end = options.first_block.checked_add(options.block_count);
        let has_blocks = end.is_some_and(|end| end <= geometry.block_count);
        let has_tags = geometry.oob_size as usize >= tag::START + tag::SIZE;
        let (sector, page) = (options.sector_size, geometry.page_size);
        let fits = sector == 512 || sector == 4096;
        let fits = fits && (page.is_multiple_of(sector) || sector.is_multiple_of(page));
        if !has_blocks || !has_tags || !fits {
            return Err(FtlError::Shape);
        }
        let FtlOptions { first_block, block_count, .. } = *options;
        let nand = Shared::new(nand);
        Ok(Self { nand, geometry, first_block, block_count, recorder })
    }

    pub(super) const fn page_size(&self) -> usize {
        self.geometry.page_size as usize
    }

    pub(super) const fn pages_per_block(&self) -> u32 {
        self.geometry.pages_per_block
    }

    pub(super) fn is_bad(&mut self, block: u32) -> Result<bool, PowerLost> {
        self.nand.borrow_mut().is_bad(self.block_addr(block))
    }

    pub(super) fn mark_bad(&mut self, block: u32) -> Result<(), PowerLost> {
        self.nand.borrow_mut().mark_bad(self.block_addr(block))
    }

    /// Read the tag of a page, which costs one OOB read. OOB bytes have no ECC here; the checksum
    /// of the tag detects errors.
    pub(super) fn read_tag(&mut self, place: Place) -> Result<Option<Tag>, PowerLost> {
        let mut bytes = [0; tag::SIZE];
        let column = self.geometry.page_size + u32::try_from(tag::START).expect("a small number");
        match self.nand.borrow_mut().read(self.page_addr(place), column, &mut bytes) {
            Err(ReadError::PowerLost) => Err(PowerLost),
            Ok(_) | Err(ReadError::Uncorrectable(_)) => Ok(Tag::parse(&bytes)),
        }
    }

    /// Read a whole page with its tag. Returns whether the data is what the tag says.
    pub(super) fn read(&mut self, place: Place, data: &mut [u8]) -> Result<bool, PowerLost> {
        let mut bytes = vec![0; self.page_size() + tag::START + tag::SIZE];
        let outcome = self.nand.borrow_mut().read(self.page_addr(place), 0, &mut bytes);
        if outcome == Err(ReadError::PowerLost) {
            return Err(PowerLost);
        }
        let (page, oob) = bytes.split_at(self.page_size());
        data.copy_from_slice(page);
        let tag: &[u8; tag::SIZE] = oob[tag::START..].try_into().expect("as long as a tag");
        let said = Tag::parse(tag).filter(|tag| !tag.is_damaged);
        let is_sound = said.is_some_and(|tag| tag.data_crc == crc32fast::hash(data));
        Ok(outcome.is_ok() && is_sound)
    }

    /// Whether no cell of a page was programmed since its erase. This costs one read.
    pub(super) fn is_blank(&mut self, place: Place) -> Result<bool, PowerLost> {
        let mut bytes = vec![0; self.page_size() + self.geometry.oob_size as usize];
        match self.nand.borrow_mut().read(self.page_addr(place), 0, &mut bytes) {
            Err(ReadError::PowerLost) => Err(PowerLost),
            Err(ReadError::Uncorrectable(_)) => Ok(false),
            Ok(_) => Ok(is_erased(&bytes)),
        }
    }

    /// Program a page with its tag, which costs one program.
    pub(super) fn program(
        &mut self,
        place: Place,
        data: &[u8],
        tag: &Tag,
    ) -> Result<Outcome, PowerLost> {
        debug_assert_eq!(data.len(), self.page_size());
        let mut oob = [0xFF; tag::START + tag::SIZE];
        oob[tag::START..].copy_from_slice(&tag.emit());
        let _shipment = self.recorder.ship(u64::from(tag.logical) * data.len() as u64);
        match self.nand.borrow_mut().program(self.page_addr(place), 0, data, &oob) {
            Ok(()) => Ok(Outcome::Done),
            Err(ProgramError::Failed(_)) => Ok(Outcome::Failed),
            Err(ProgramError::PowerLost) => Err(PowerLost),
        }
    }

    pub(super) fn erase(&mut self, block: u32) -> Result<Outcome, PowerLost> {
        match self.nand.borrow_mut().erase(self.block_addr(block)) {
            Ok(()) => Ok(Outcome::Done),
            Err(EraseError::Failed(_)) => Ok(Outcome::Failed),
            Err(EraseError::PowerLost) => Err(PowerLost),
        }
    }

    const fn block_addr(&self, block: u32) -> BlockAddr {
        BlockAddr(self.first_block + block)
    }

    const fn page_addr(&self, place: Place) -> PageAddr {
        PageAddr(self.geometry.first_page(self.block_addr(place.block)).0 + place.page)
    }
}
