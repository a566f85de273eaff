//! NOR flash: a write clears bits, and an erase of a sector sets them.

use flysch_nand::{NvRam, NvRamError, WriteRule};

use super::array::{Traffic, WordArray};
use super::pieces::Pieces;
use crate::{Clock, Prng, Supply};

/// Value of a byte whose cells are erased.
const ERASED: u8 = 0xFF;

/// The figures of a NOR chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NorFigures {
    /// Size of the chip, bytes.
    pub size: u32,
    pub erase_size: u32,
    pub word_size: u32,
    /// Time to read a word, nanoseconds.
    pub read_ns: u64,
    /// Time to program a word, nanoseconds.
    pub write_ns: u64,
    /// Time to erase a sector, nanoseconds.
    pub erase_ns: u64,
    /// Number of erases that a sector is rated for.
    pub endurance: u32,
}

impl NorFigures {
    /// AMD `Am29LV008B`. It stands for the 1 MB of NOR in the secure token of the `PBFilter` paper,
    /// which gives no times. The chip has 1 MB in bytes, 70 ns access and 1,000,000 cycles per
    /// sector (data sheet); 9 us a byte and 0.7 s a sector are typical (from memory of the same
    /// data sheet). The smaller sectors of its boot block are taken as 64 KiB like the others.
    pub const AM29LV008B: Self = Self {
        size: 1 << 20,
        erase_size: 64 << 10,
        word_size: 1,
        read_ns: 70,
        write_ns: 9_000,
        erase_ns: 700_000_000,
        endurance: 1_000_000,
    };
}

/// Simulated NOR flash. All of it is erased at first.
#[derive(Debug)]
pub struct Nor {
    figures: NorFigures,
    words: WordArray,
    erase_counts: Vec<u32>,
}

impl Nor {
    /// Make a new chip on a power supply of its own. `seed` decides how many bytes an interrupted
    /// operation changes.
    pub fn new(figures: NorFigures, clock: Clock, seed: u64) -> Self {
        Self::on_supply(figures, clock, seed, Supply::new())
    }

    /// Make a new chip on a supply that other devices share.
    ///
    /// # Panics
    /// If the figures are impossible: a word without bytes, or a size that is no whole number of
    /// sectors.
    pub fn on_supply(figures: NorFigures, clock: Clock, seed: u64, supply: Supply) -> Self {
        let NorFigures { size, erase_size, word_size, .. } = figures;
        assert!(word_size > 0, "a word has bytes");
        assert!(erase_size > 0, "NOR has erase sectors");
        assert!(size.is_multiple_of(erase_size), "NOR is a whole number of sectors");
        let bytes = Pieces::new(size as usize, ERASED);
        let traffic = Traffic::default();
        let words = WordArray { bytes, clock, supply, word_size, prng: Prng::new(seed), traffic };
        Self { figures, words, erase_counts: vec![0; (size / erase_size) as usize] }
    }

    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        let erase_counts = self.erase_counts.clone();
        Self { figures: self.figures, words: self.words.fork(clock), erase_counts }
    }

    pub const fn figures(&self) -> &NorFigures {
        &self.figures
    }

    /// The power supply, for cutting it and switching it on again.
    pub fn supply(&self) -> Supply {
        self.words.supply.clone()
    }

    /// The reads and writes of the chip. Erases are not counted.
    pub const fn traffic(&self) -> Traffic {
        self.words.traffic
    }

    /// Number of erases of each sector.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erase_counts
    }
}

impl NvRam for Nor {
    fn size(&self) -> u32 {
        self.words.size()
    }

    fn write_rule(&self) -> WriteRule {
        WriteRule::ClearBits
    }

    fn erase_size(&self) -> u32 {
        self.figures.erase_size
    }

    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError> {
        self.words.read(addr, bytes, self.figures.read_ns)
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError> {
        self.words.check_bounds(addr, bytes.len());
        let mut cells = vec![0; bytes.len()];
        self.words.bytes.read(addr as usize, &mut cells);
        let sets = cells.iter().zip(bytes).position(|(cell, byte)| byte & !cell != 0);
        assert_eq!(sets, None, "a write to NOR at byte {addr} sets a bit at this place");
        let reach = self.words.begin(bytes.len())?;
        self.words.store(addr, &bytes[..reach.len], self.figures.write_ns);
        reach.outcome()
    }

    fn erase(&mut self, addr: u32) -> Result<(), NvRamError> {
        let size = self.figures.erase_size;
        assert!(addr.is_multiple_of(size), "byte {addr} begins no erase sector");
        self.words.check_bounds(addr, size as usize);
        let reach = self.words.begin(size as usize)?;
        self.words.clock.advance(self.figures.erase_ns);
        let count = &mut self.erase_counts[(addr / size) as usize];
        if *count >= self.figures.endurance {
            return Err(if reach.is_cut {
                NvRamError::PowerLost
            } else {
                NvRamError::WornOut(addr)
            });
        }
        *count += 1;
        self.words.bytes.fill(addr as usize, reach.len, ERASED);
        reach.outcome()
    }
}
