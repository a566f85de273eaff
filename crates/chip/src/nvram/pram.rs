//! Phase-change RAM: any byte may be overwritten, words wear out.

use std::sync::Arc;

use flysch_nand::{NvRam, NvRamError, WriteRule};

use super::array::{Traffic, WordArray};
use crate::{Clock, Prng, Supply};

/// Bytes that share a wear counter. Counting words would cost more memory than it is worth; a line
/// counts every write that touches it, so that small writes side by side wear it sooner than they
/// would wear their cells.
const LINE_SIZE: u32 = 64;

/// What a PRAM chip is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PramFigures {
    /// Bytes.
    pub size: u32,
    /// Bytes per word.
    pub word_size: u32,
    /// Reading a word, nanoseconds.
    pub read_ns: u64,
    /// Writing a word, nanoseconds.
    pub write_ns: u64,
    /// Writes a line is rated for.
    pub endurance: u32,
}

impl PramFigures {
    /// Table 1 of the paper on a hybrid PRAM and NAND store for `SQLite`: 512 Mbit, 80 ns and 1 us
    /// per word, 1M write cycles. It does not state the word: 16 bits, as the buses of that time.
    pub const HYBRID_SQLITE: Self =
        Self { size: 64 << 20, word_size: 2, read_ns: 80, write_ns: 1_000, endurance: 1_000_000 };
}

/// Simulated PRAM. All bytes are 0 at first.
#[derive(Debug)]
pub struct Pram {
    figures: PramFigures,
    words: WordArray,
    /// Writes of each line.
    wear: Arc<Vec<u32>>,
}

impl Pram {
    /// Make a new chip under a supply of its own. `seed` decides how far a write comes at a cut.
    pub fn new(figures: PramFigures, clock: Clock, seed: u64) -> Self {
        Self::on_supply(figures, clock, seed, Supply::new())
    }

    /// Make a new chip under a supply that other devices share.
    ///
    /// # Panics
    /// Where a word has no bytes.
    pub fn on_supply(figures: PramFigures, clock: Clock, seed: u64, supply: Supply) -> Self {
        assert!(figures.word_size > 0, "a word has bytes");
        let bytes = Arc::new(vec![0; figures.size as usize]);
        let word_size = figures.word_size;
        let traffic = Traffic::default();
        let words = WordArray { bytes, clock, supply, word_size, prng: Prng::new(seed), traffic };
        let wear = Arc::new(vec![0; figures.size.div_ceil(LINE_SIZE) as usize]);
        Self { figures, words, wear }
    }

    /// Fork the chip onto another clock and a supply of its own.
    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        Self { figures: self.figures, words: self.words.fork(clock), wear: Arc::clone(&self.wear) }
    }

    /// What the chip is like.
    pub const fn figures(&self) -> &PramFigures {
        &self.figures
    }

    /// The supply, to cut it and switch it on again.
    pub fn supply(&self) -> Supply {
        self.words.supply.clone()
    }

    /// What moved through its bus.
    pub const fn traffic(&self) -> Traffic {
        self.words.traffic
    }

    /// Writes of the most written line of 64 bytes.
    pub fn write_count_max(&self) -> u32 {
        self.wear.iter().copied().max().unwrap_or(0)
    }

    /// The bytes before the first worn-out line, and where that is.
    fn worn_at(&self, addr: u32, len: usize) -> Option<(usize, u32)> {
        let lines = lines_of(addr, len);
        let first = lines.start;
        let worn = self.wear[lines].iter().position(|&count| count >= self.figures.endurance)?;
        let line = u32::try_from(first + worn).expect("fewer lines than bytes");
        let start = (line * LINE_SIZE).max(addr);
        Some(((start - addr) as usize, start))
    }

    fn store(&mut self, addr: u32, bytes: &[u8]) {
        self.words.store(addr, bytes, self.figures.write_ns);
        for count in &mut Arc::make_mut(&mut self.wear)[lines_of(addr, bytes.len())] {
            *count += 1;
        }
    }
}

/// The lines that `len` bytes at `addr` touch.
fn lines_of(addr: u32, len: usize) -> std::ops::Range<usize> {
    let line = LINE_SIZE as usize;
    let start = addr as usize / line;
    let end = (addr as usize + len).div_ceil(line);
    start..if len == 0 { start } else { end }
}

impl NvRam for Pram {
    fn size(&self) -> u32 {
        self.words.size()
    }

    fn write_rule(&self) -> WriteRule {
        WriteRule::Overwrite
    }

    fn erase_size(&self) -> u32 {
        0
    }

    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError> {
        self.words.read(addr, bytes, self.figures.read_ns)
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError> {
        self.words.check_bounds(addr, bytes.len());
        let reach = self.words.begin(bytes.len())?;
        if let Some((len, worn)) = self.worn_at(addr, reach.len) {
            self.store(addr, &bytes[..len]);
            return Err(if reach.is_cut {
                NvRamError::PowerLost
            } else {
                NvRamError::WornOut(worn)
            });
        }
        self.store(addr, &bytes[..reach.len]);
        reach.outcome()
    }

    fn erase(&mut self, addr: u32) -> Result<(), NvRamError> {
        panic!("erase at byte {addr} of memory that needs no erasing");
    }
}
