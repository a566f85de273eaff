//! Phase-change RAM: any byte can be overwritten, and cells wear out.

use std::sync::Arc;

use flysch_nand::{NvRam, NvRamError, WriteRule};

use super::array::{Traffic, WordArray};
use super::pieces::Pieces;
use crate::changes::{Change, Changes};
use crate::{Clock, Prng, Supply};

/// Number of bytes that share a wear counter. A counter for each word would take too much memory.
/// Every write that touches a line counts for the whole line. So small writes next to each other
/// count as more wear than their cells have.
const LINE_SIZE: u32 = 64;

/// The figures of a PRAM chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PramFigures {
    /// Size of the chip, bytes.
    pub size: u32,
    pub word_size: u32,
    /// Time to read a word, nanoseconds.
    pub read_ns: u64,
    /// Time to write a word, nanoseconds.
    pub write_ns: u64,
    /// Number of writes that a line is rated for.
    pub endurance: u32,
}

impl PramFigures {
    /// Table 1 of the paper on a hybrid PRAM and NAND store for `SQLite`: 512 Mbit, 80 ns and 1 us
    /// per word, 1M write cycles. The paper does not give the size of a word; 16 bits is that of
    /// the buses of its time.
    pub const HYBRID_SQLITE: Self =
        Self { size: 64 << 20, word_size: 2, read_ns: 80, write_ns: 1_000, endurance: 1_000_000 };
}

#[derive(Clone, Debug)]
pub struct Pram {
    figures: PramFigures,
    words: WordArray,
    /// Number of writes of each line.
    wear: Arc<Vec<u32>>,
    /// The list to which writes are added. None if they are not recorded.
    kept: Option<Changes>,
}

impl Pram {
    /// Make a new chip on a power supply of its own. `seed` decides how many bytes an interrupted
    /// write changes.
    pub fn new(figures: PramFigures, clock: Clock, seed: u64) -> Self {
        Self::on_supply(figures, clock, seed, Supply::new())
    }

    /// Make a new chip on a supply that other devices share.
    ///
    /// # Panics
    /// If a word has no bytes.
    pub fn on_supply(figures: PramFigures, clock: Clock, seed: u64, supply: Supply) -> Self {
        assert!(figures.word_size > 0, "a word has bytes");
        let bytes = Pieces::new(figures.size as usize, 0);
        let word_size = figures.word_size;
        let traffic = Traffic::default();
        let words = WordArray { bytes, clock, supply, word_size, prng: Prng::new(seed), traffic };
        let wear = Arc::new(vec![0; figures.size.div_ceil(LINE_SIZE) as usize]);
        Self { figures, words, wear, kept: None }
    }

    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        let wear = Arc::clone(&self.wear);
        Self { figures: self.figures, words: self.words.fork(clock), wear, kept: None }
    }

    /// From now on, let `seed` decide how many bytes an interrupted write changes.
    pub const fn reseed(&mut self, seed: u64) {
        self.words.prng = Prng::new(seed);
    }

    /// Record all writes from now on.
    pub fn keep_changes(&mut self, changes: Changes) {
        self.kept = Some(changes);
    }

    pub const fn figures(&self) -> &PramFigures {
        &self.figures
    }

    /// The power supply, for cutting it and switching it on again.
    pub fn supply(&self) -> Supply {
        self.words.supply.clone()
    }

    /// The reads and writes of the chip.
    pub const fn traffic(&self) -> Traffic {
        self.words.traffic
    }

    /// Number of writes to the line of 64 bytes that was written most often.
    pub fn write_count_max(&self) -> u32 {
        self.wear.iter().copied().max().unwrap_or(0)
    }

    /// The first worn-out line in a range of bytes: how many bytes come before it, and its address.
    /// None if no line is worn out.
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

/// The indices of the lines that `len` bytes at `addr` touch.
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
        if let Some(kept) = self.kept.as_ref().filter(|_| !reach.is_cut) {
            kept.push(Change::Write { addr, bytes: bytes.to_vec() });
        }
        self.store(addr, &bytes[..reach.len]);
        reach.outcome()
    }

    fn erase(&mut self, addr: u32) -> Result<(), NvRamError> {
        panic!("erase at byte {addr} of memory that needs no erasing");
    }
}
