//! Programs and erases that are complete or that fail in some way. The fault injector uses them.

use std::sync::Arc;

use flysch_nand::{BlockAddr, PageAddr};

use super::{Block, Bytes, Chip, ERASED};
use crate::{Clock, Part, Prng};

impl Chip {
    /// Make a chip with the blocks of an image.
    pub(crate) fn of_blocks(part: Arc<Part>, clock: Clock, seed: u64, blocks: Vec<Block>) -> Self {
        assert_eq!(blocks.len(), part.geometry.block_count as usize, "blocks of another part");
        let blocks = blocks.into_iter().map(Arc::new).collect();
        Self { part, clock, blocks, prng: Prng::new(seed) }
    }

    /// Mark a block bad, which takes no time.
    pub(crate) fn set_bad(&mut self, block: BlockAddr) {
        let geometry = self.part.geometry;
        self.block_mut(block).mark_bad(&geometry);
    }

    /// Check that a program breaks no rule. Panics if it does.
    pub(crate) fn check_program(&self, page: PageAddr, column: u32, data: &[u8], oob: &[u8]) {
        let (block, page) = self.locate(page);
        let bytes = Bytes { page, column: column as usize, data, oob };
        self.block(block).check_program(&self.part.geometry, bytes);
    }

    /// Check that an erase of `block` breaks no rule. Panics if it does.
    pub(crate) fn check_erase(&self, block: BlockAddr) {
        assert!(!self.block(block).is_bad(), "erase of bad {block}");
    }

    /// Program a page. The rules have been checked.
    pub(crate) fn complete(&mut self, page: PageAddr, column: u32, data: &[u8], oob: &[u8]) {
        let (block, page) = self.locate(page);
        let geometry = self.part.geometry;
        self.clock.advance(self.part.timing.program_ns((data.len() + oob.len()) as u64));
        let bytes = Bytes { page, column: column as usize, data, oob };
        self.spoil(block, bytes);
        self.block_mut(block).program(&geometry, bytes);
    }

    /// Give the sectors that a program spoils more bit errors than ECC corrects. Their cells hold
    /// the old and the new bits combined.
    fn spoil(&mut self, block: BlockAddr, bytes: Bytes<'_>) {
        let spoiled = self.block(block).spoiled_sectors(&self.part.geometry, bytes);
        let errors = self.part.sector_strength().saturating_add(1);
        for sector in sectors_of(spoiled) {
            self.block_mut(block).flaw(bytes.page, sector, errors);
        }
    }

    /// Program only a random number of the first bytes. The rules have been checked. Half of the
    /// changed sectors get bit errors, at most about twice as many as ECC corrects.
    pub(crate) fn tear(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
        prng: &mut Prng,
    ) {
        let (block, page) = self.locate(page);
        let geometry = self.part.geometry;
        let len = data.len() + oob.len();
        self.clock.advance(self.part.timing.program_ns(len as u64));
        let len = usize::try_from(prng.below(len as u64 + 1)).expect("at most the length");
        let bytes = Bytes { page, column: column as usize, data, oob };
        self.spoil(block, bytes);
        let sectors = self.block_mut(block).program_prefix(&geometry, bytes, len);
        for sector in sectors_of(sectors) {
            if prng.below(2) == 0 {
                self.flaw_somewhat(block, page, sector, prng);
            }
        }
    }

    /// Program a random choice of a page's sectors, and perhaps the OOB bytes. The rules have been
    /// checked.
    pub(crate) fn scatter(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
        prng: &mut Prng,
    ) {
        let size = self.part.geometry.sector_size() as usize;
        let mut reached = data.to_vec();
        for sector in reached.chunks_mut(size).filter(|_| prng.below(2) == 0) {
            sector.fill(ERASED);
        }
        let oob = if prng.below(2) == 0 { oob } else { &[] };
        self.lay(page, column, &reached, oob);
    }

    /// Program a page, but from some byte on, clear only a random part of the bits. The rules have
    /// been checked.
    pub(crate) fn muddle(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
        prng: &mut Prng,
    ) {
        let whole = prng.below((data.len() + oob.len()) as u64 + 1);
        let mut bytes = [data, oob].concat();
        for byte in bytes.iter_mut().skip(usize::try_from(whole).expect("within the page")) {
            *byte |= noise(prng);
        }
        let (data, oob) = bytes.split_at(data.len());
        self.lay(page, column, data, oob);
    }

    /// Count a program of a page without changing any bit. The rules have been checked.
    pub(crate) fn spend(&mut self, page: PageAddr, column: u32, data: &[u8]) {
        let (block, page) = self.locate(page);
        let geometry = self.part.geometry;
        self.clock.advance(self.part.timing.program_ns(data.len() as u64));
        let bytes = Bytes { page, column: column as usize, data, oob: &[] };
        self.block_mut(block).spend(&geometry, bytes);
    }

    /// Program the zero bits of `data` and `oob`.
    fn lay(&mut self, page: PageAddr, column: u32, data: &[u8], oob: &[u8]) {
        let (block, page) = self.locate(page);
        let geometry = self.part.geometry;
        let len = data.len() + oob.len();
        self.clock.advance(self.part.timing.program_ns(len as u64));
        let bytes = Bytes { page, column: column as usize, data, oob };
        self.spoil(block, bytes);
        self.block_mut(block).program_prefix(&geometry, bytes, len);
    }

    pub(crate) fn pages_of(&self, block: BlockAddr) -> impl Iterator<Item = PageAddr> + use<> {
        let count = self.part.geometry.pages_per_block;
        (block.0 * count..(block.0 + 1) * count).map(PageAddr)
    }

    /// Data and OOB bytes of a page, without bit errors.
    pub(crate) fn content(&self, page: PageAddr) -> Vec<u8> {
        let (block, page) = self.locate(page);
        let geometry = &self.part.geometry;
        let mut bytes = vec![ERASED; (geometry.page_size + geometry.oob_size) as usize];
        self.block(block).read(geometry, page, 0, &mut bytes);
        bytes
    }

    /// Erase a random choice of a block's pages. The rules have been checked.
    pub(crate) fn erase_some(&mut self, block: BlockAddr, prng: &mut Prng) {
        self.clock.advance(self.part.timing.erase_ns());
        self.block_mut(block).erase_pages(|_| prng.below(2) == 0);
    }

    /// Erase a block, but in some pages set only a random part of the bits. The rules have been
    /// checked.
    pub(crate) fn erase_in_part(&mut self, block: BlockAddr, prng: &mut Prng) {
        let before: Vec<_> = self.pages_of(block).map(|page| (page, self.content(page))).collect();
        self.blank(block);
        let size = self.part.geometry.page_size as usize;
        for (page, mut bytes) in before {
            if prng.below(2) == 0 {
                for byte in &mut bytes {
                    *byte |= noise(prng);
                }
                let (data, oob) = bytes.split_at(size);
                self.lay(page, 0, data, oob);
            }
        }
    }

    /// Fail to program. The rules have been checked. A random number of the first bytes are
    /// programmed, and the former content of the page may be lost.
    pub(crate) fn fail_program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
        prng: &mut Prng,
    ) {
        self.tear(page, column, data, oob, prng);
        let (block, page) = self.locate(page);
        if prng.below(2) == 0 {
            for sector in sectors_of(self.block(block).programmed_sectors(page)) {
                self.flaw_beyond(block, page, sector, prng);
            }
        }
    }

    /// Give the sectors of `len` data bytes at `column` more bit errors than ECC corrects.
    pub(crate) fn weaken(&mut self, page: PageAddr, column: u32, len: usize, prng: &mut Prng) {
        let (block, page) = self.locate(page);
        let size = self.part.geometry.sector_size();
        let end = column + u32::try_from(len).expect("a page is far below 4 GiB");
        for sector in column / size..end.div_ceil(size) {
            self.flaw_beyond(block, page, sector, prng);
        }
    }

    /// Give all sectors of a page more bit errors than ECC corrects, until its block is erased: its
    /// cells have lost their charge.
    pub fn rot(&mut self, page: PageAddr, prng: &mut Prng) {
        let size = self.part.geometry.page_size as usize;
        self.weaken(page, 0, size, prng);
    }

    /// Erase a block. The rules have been checked.
    pub(crate) fn blank(&mut self, block: BlockAddr) {
        self.clock.advance(self.part.timing.erase_ns());
        let shared = &mut self.blocks[block.0 as usize];
        if let Some(block) = Arc::get_mut(shared) {
            block.erase();
        } else {
            // The block is shared with a fork. Its cells need not be copied to be erased.
            *shared = Arc::new(Block::blank(&self.part.geometry, shared.erase_count() + 1));
        }
    }

    /// Erase a block, but give a quarter of its pages more bit errors than ECC corrects. The rules
    /// have been checked.
    pub(crate) fn blank_weakly(&mut self, block: BlockAddr, prng: &mut Prng) {
        self.blank(block);
        for page in 0..self.part.geometry.pages_per_block {
            if prng.below(4) == 0 {
                for sector in 0..self.part.geometry.sectors_per_page {
                    self.flaw_beyond(block, page, sector, prng);
                }
            }
        }
    }

    /// Erase a random choice of a block's pages. The rules have been checked. A quarter of all
    /// pages, erased or not, get bit errors, at most about twice as many as ECC corrects.
    pub(crate) fn half_erase(&mut self, block: BlockAddr, prng: &mut Prng) {
        self.clock.advance(self.part.timing.erase_ns());
        let reach = prng.below(9);
        self.block_mut(block).erase_pages(|_| prng.below(8) < reach);
        for page in 0..self.part.geometry.pages_per_block {
            if prng.below(4) == 0 {
                for sector in 0..self.part.geometry.sectors_per_page {
                    self.flaw_somewhat(block, page, sector, prng);
                }
            }
        }
    }

    fn flaw_somewhat(&mut self, block: BlockAddr, page: u32, sector: u32, prng: &mut Prng) {
        let bound = 2 * u64::from(self.part.sector_strength()) + 2;
        let errors = u16::try_from(prng.below(bound)).unwrap_or(u16::MAX);
        self.block_mut(block).flaw(page, sector, errors);
    }

    fn flaw_beyond(&mut self, block: BlockAddr, page: u32, sector: u32, prng: &mut Prng) {
        let strength = u64::from(self.part.sector_strength());
        let errors = strength + 1 + prng.below(strength + 1);
        self.block_mut(block).flaw(page, sector, u16::try_from(errors).unwrap_or(u16::MAX));
    }
}

/// A byte in which each bit is set with a probability of one half.
fn noise(prng: &mut Prng) -> u8 {
    prng.next().to_le_bytes()[0]
}

/// The numbers of the sectors whose bits are set in `mask`.
fn sectors_of(mask: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).filter(move |sector| mask & (1 << sector) != 0)
}
