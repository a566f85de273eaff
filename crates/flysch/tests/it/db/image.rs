//! A chip in memory that is copied in no time: pages without rules, reads that are counted.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use flysch_chip::Prng;
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

/// The content of a chip, and how much of it was read.
#[derive(Clone)]
pub(super) struct Image {
    pub(super) geometry: Geometry,
    /// None where a page is erased.
    pub(super) pages: Vec<Cells>,
    pub(super) bad: Vec<bool>,
    pub(super) reads: u64,
    /// Reads after which the caller is taken to go round in circles.
    pub(super) reads_max: u64,
    /// The read of this number gives noise, once.
    pub(super) noise_at: Option<u64>,
    /// Programs and erases until the power goes.
    pub(super) cut_in: Option<u64>,
    /// Programs and erases so far.
    pub(super) changes: [u64; 2],
    /// Erases of each block.
    pub(super) worn: Vec<u32>,
    /// Every program whose number this divides leaves a wrong byte, and says that all is well.
    pub(super) wrong_every: Option<u64>,
    /// Every program or erase whose number this divides fails.
    pub(super) fails_every: Option<u64>,
    /// Blocks of which every program fails, and those of which every erase does.
    pub(super) worn_out: [BTreeSet<u32>; 2],
    /// So many programs fail from now on. A test may set it amid a transaction.
    pub(super) fails_next: Rc<Cell<u32>>,
    /// Pages that ECC cannot correct any more, until their blocks are erased.
    pub(super) rotten: BTreeSet<usize>,
    /// Blocks of which one failed.
    pub(super) failed: Vec<BlockAddr>,
    /// Where each change leaves a copy of the chip, if it does.
    pub(super) moments: Option<Vec<Self>>,
    /// How pages read that were under way at a cut, or failed; none where a cut begins nothing.
    pub(super) doubt: Option<Doubt>,
    /// What such pages show at times; at others they show their cells.
    doubtful: BTreeMap<usize, Cells>,
    is_off: bool,
}

/// The bytes of a page; none where it is erased.
type Cells = Option<Rc<[u8]>>;

/// The sizes of a chip whose pages are programmed in order and once.
pub(super) fn geometry(page_size: u32, pages_per_block: u32, block_count: u32) -> Geometry {
    Geometry {
        page_size,
        oob_size: page_size / 32,
        sectors_per_page: page_size / 512,
        partial_programs: 1,
        pages_per_block,
        block_count,
        in_order: true,
    }
}

/// Whether a page that begins with this byte is one of a run. The lower half of it is the kind.
pub(super) const fn is_of_run(first: u8) -> bool {
    first & 15 == 7
}

/// Which of its two contents a doubtful page shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    pub(super) seed: u64,
    /// Whether each read draws anew.
    pub(super) is_fickle: bool,
}

impl Image {
    /// An erased chip of blocks of eight pages.
    pub(super) fn blank(page_size: u32, block_count: u32) -> Self {
        Self::of(page_size, 8, block_count)
    }

    /// An erased chip.
    pub(super) fn of(page_size: u32, pages_per_block: u32, block_count: u32) -> Self {
        let geometry = geometry(page_size, pages_per_block, block_count);
        Self {
            geometry,
            pages: vec![None; geometry.page_count() as usize],
            bad: vec![false; block_count as usize],
            reads: 0,
            reads_max: u64::MAX,
            noise_at: None,
            cut_in: None,
            changes: [0; 2],
            worn: vec![0; block_count as usize],
            wrong_every: None,
            fails_every: None,
            worn_out: [const { BTreeSet::new() }; 2],
            fails_next: Rc::default(),
            rotten: BTreeSet::new(),
            failed: Vec::new(),
            moments: None,
            doubt: None,
            doubtful: BTreeMap::new(),
            is_off: false,
        }
    }

    /// A copy of what the chip holds.
    fn copy(&self) -> Self {
        let (pages, bad, doubtful) = (self.pages.clone(), self.bad.clone(), self.doubtful.clone());
        let Geometry { page_size, pages_per_block, block_count, .. } = self.geometry;
        let rotten = self.rotten.clone();
        let blank = Self::of(page_size, pages_per_block, block_count);
        Self { pages, bad, rotten, doubtful, ..blank }
    }

    fn note_change(&mut self) {
        if let Some(mut moments) = self.moments.take() {
            moments.push(self.copy());
            self.moments = Some(moments);
        }
    }

    /// What a read of a page finds.
    fn seen(&self, page: usize) -> &Cells {
        match (self.doubt, self.doubtful.get(&page)) {
            (Some(Doubt { seed, is_fickle }), Some(cells)) => {
                let turn = if is_fickle { self.reads } else { 0 };
                let mut prng = Prng::new(seed ^ (page as u64) << 20 ^ turn << 40);
                if prng.below(2) == 0 { cells } else { &self.pages[page] }
            }
            _ => &self.pages[page],
        }
    }

    /// The pages of a block.
    fn pages_of(&self, block: BlockAddr) -> core::ops::Range<usize> {
        let count = self.geometry.pages_per_block as usize;
        block.0 as usize * count..(block.0 as usize + 1) * count
    }

    /// The power goes in the middle of an erase: each page is as it was, or blank.
    fn erase_in_doubt(&mut self, block: BlockAddr) {
        for page in self.pages_of(block) {
            let cells = self.pages[page].take();
            self.doubtful.entry(page).or_insert(cells);
        }
    }

    /// The bytes of a page.
    pub(super) fn bytes(&self, page: usize) -> Vec<u8> {
        let blank = || vec![0xFF; self.geometry.page_size as usize];
        self.pages[page].as_ref().map_or_else(blank, |bytes| bytes.to_vec())
    }

    /// Make a page hold these bytes, whatever it held.
    pub(super) fn set(&mut self, page: usize, bytes: &[u8]) {
        self.pages[page] = Some(bytes.into());
    }

    /// The pages that are not erased.
    pub(super) fn written(&self) -> Vec<usize> {
        (0..self.pages.len()).filter(|page| self.pages[*page].is_some()).collect()
    }

    /// The pages that look like those of runs.
    pub(super) fn run_pages(&self) -> Vec<usize> {
        let is_run = |page: &usize| is_of_run(self.bytes(*page)[0]);
        self.written().into_iter().filter(is_run).collect()
    }

    /// Whether the operation under way fails, of a block: a program, or an erase.
    fn fails(&mut self, block: BlockAddr, is_erase: bool) -> bool {
        let number = self.changes[0] + self.changes[1];
        let fails = self.fails_every.is_some_and(|every| number.is_multiple_of(every))
            || self.worn_out[usize::from(is_erase)].contains(&block.0);
        if fails {
            self.failed.push(block);
        }
        fails
    }

    fn is_cut(&mut self) -> bool {
        let Some(left) = &mut self.cut_in else { return false };
        let is_cut = *left == 0;
        *left = left.saturating_sub(1);
        is_cut
    }

    /// Whether the operation that is cut leaves a doubt: the power is still on as it begins.
    const fn begins_in_doubt(&mut self) -> bool {
        self.doubt.is_some() && !core::mem::replace(&mut self.is_off, true)
    }

    /// Put the power on until so many programs and erases were done.
    pub(super) fn power_up(&mut self, cut_in: Option<u64>, doubt: Doubt) {
        (self.cut_in, self.doubt, self.is_off) = (cut_in, Some(doubt), false);
    }
}

impl Nand for Image {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        self.reads += 1;
        assert!(self.reads <= self.reads_max, "more than {} reads", self.reads_max);
        match self.seen(page.0 as usize) {
            Some(cells) => bytes.copy_from_slice(&cells[column as usize..][..bytes.len()]),
            None => bytes.fill(0xFF),
        }
        if self.noise_at == Some(self.reads) || self.rotten.contains(&(page.0 as usize)) {
            bytes.iter_mut().step_by(7).for_each(|byte| *byte ^= 0x5A);
            return Err(ReadError::Uncorrectable(page));
        }
        Ok(Ecc::Clean)
    }

    fn program(
        &mut self,
        page: PageAddr,
        _: u32,
        data: &[u8],
        _: &[u8],
    ) -> Result<(), ProgramError> {
        let is_sure = self.is_off || !self.doubtful.contains_key(&(page.0 as usize));
        assert!(is_sure, "page {page} is programmed though a cut left it in doubt");
        if self.is_cut() {
            if self.begins_in_doubt() {
                self.doubtful.insert(page.0 as usize, Some(data.into()));
            }
            return Err(ProgramError::PowerLost);
        }
        let block = self.geometry.block_of(page);
        // Where the image lies, a block may have got its mark behind the engine's back.
        let is_bad = self.fails_every.is_some() && self.bad[block.0 as usize];
        assert!(!is_bad, "a bad block is never programmed");
        let mut cells = self.bytes(page.0 as usize);
        cells.iter_mut().zip(data).for_each(|(cell, byte)| *cell &= byte);
        self.changes[0] += 1;
        if self.wrong_every.is_some_and(|every| self.changes[0].is_multiple_of(every)) {
            cells[data.len() / 3] ^= 0x10;
        }
        let next = self.fails_next.get();
        self.fails_next.set(next.saturating_sub(1));
        let fails = self.fails(block, false) || next > 0;
        if fails {
            cells[data.len() / 2..].fill(0);
            if self.doubt.is_some() {
                self.doubtful.insert(page.0 as usize, Some(data.into()));
            }
        }
        self.set(page.0 as usize, &cells);
        self.note_change();
        if fails { Err(ProgramError::Failed(page)) } else { Ok(()) }
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        if self.is_cut() {
            if self.begins_in_doubt() {
                self.erase_in_doubt(block);
            }
            return Err(EraseError::PowerLost);
        }
        assert!(!self.bad[block.0 as usize], "a bad block is never erased");
        self.changes[1] += 1;
        self.worn[block.0 as usize] += 1;
        if self.fails(block, true) {
            return Err(EraseError::Failed(block));
        }
        let pages = self.pages_of(block);
        self.doubtful.retain(|page, _| !pages.contains(page));
        self.rotten.retain(|page| !pages.contains(page));
        self.pages[pages].fill(None);
        self.note_change();
        Ok(())
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.reads += 1;
        Ok(self.bad[block.0 as usize])
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.bad[block.0 as usize] = true;
        self.note_change();
        Ok(())
    }
}
