//! The index store: one for all indexes of a database.
//!
//! ```text
//! memory table -flush> recent runs -small merge> merged runs -large merge, by index> levels
//!                      (a Bloom filter in RAM for each)
//! ```
//!
//! Keys are not stored: an entry is a code and the position of a row, and the row decides whether
//! it has the key. The place of a hash in a run follows from the hash, so that a lookup reads one
//! unit of a run.
//!
//! 1. The last level has the oldest entries, the memory table the newest. A merge reads runs that
//!    follow each other in age.
//! 2. Runs that the state on flash names stay readable until the next state is on flash.
//! 3. The memory table and the Bloom filters are not part of the state. After a mount the first is
//!    filled from rows again, the others from the recent runs, a few reads at a time.

mod all;
mod bloom;
mod bytes;
mod config;
mod entry;
mod error;
mod fence;
mod flush;
mod group;
mod hints;
mod job;
mod learn;
mod levels;
mod lost;
mod memtable;
mod merge;
mod newest;
mod open;
mod plan;
mod press;
mod probe;
mod put_off;
mod range;
mod read;
mod ring;
mod row_blocks;
mod run;
mod seek;
mod solo;
mod splitters;
mod state;
mod sweep;
mod table;
mod take_backs;
mod unit;
mod watch;
mod writer;

pub(crate) use all::All;
pub use bloom::places;
pub use config::{ConfigError, IndexPlan, Order, Rows, StoreConfig};
pub use entry::{Entry, INDEX_MAX, SHARED, TAKE_BACK, TOMBSTONE};
pub use error::{StateError, StoreError};
pub use levels::log2;
pub(crate) use lost::{Gap, Looked, STRETCHES_MAX, insist};
pub(crate) use newest::Newest;
pub use probe::Probe;
pub(crate) use probe::SoleProbe;
pub use range::{Held, Range};
pub(crate) use read::Reading;
pub use solo::Solo;
pub(crate) use sweep::{Batch, Marks, Sight, Sweep};

use flysch_nand::Nand;

use self::bloom::Blooms;
use self::entry::Shape;
use self::fence::Fence;
use self::hints::Hints;
use self::job::Job;
use self::lost::Lost;
use self::memtable::Memtable;
use self::merge::Inputs;
use self::newest::Noted;
use self::put_off::PutOff;
use self::run::{Head, OPEN, Run};
use self::table::Runs;
use self::take_backs::Behind;
use crate::media::{Media, Numbers, Space};

/// Memory that the caller lends for one call.
#[derive(Debug)]
pub struct Lent<'a> {
    /// A buffer of the size of a page.
    pub page: &'a mut [u8],
    /// A buffer of the size of a cell.
    pub cell: &'a mut [u8],
    /// The number of the next commit, for the pages' headers.
    pub commit: u32,
}

/// What one call of [`Store::work`] took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pages read from the array.
    pub reads: u32,
    /// Pages programmed into the array.
    pub programs: u32,
    /// Whether more work is due.
    pub is_left: bool,
}

/// The store of all indexes of a database.
#[derive(Debug)]
pub struct Store<'ram> {
    config: StoreConfig,
    shapes: [Shape; INDEX_MAX],
    memtable: Memtable<'ram>,
    blooms: Blooms<'ram>,
    windows: &'ram mut [u8],
    runs: Runs<'ram>,
    fence: Fence<'ram>,
    job: Option<Job>,
    put_off: PutOff,
    /// Units of the large merge's output when it was last continued.
    taken_up_at: u32,
    inputs: Inputs,
    /// How many of 256 entries have different codes, for each index, as its last merge found.
    distinct: [u16; INDEX_MAX],
    /// Counts changes of the runs, and of the memory table.
    run_changes: u32,
    puts: u32,
    /// Counts merges of all levels of an index that ended.
    full_merges: u32,
    /// The name of the run whose Bloom filter is being filled, and its next unit. No recent run has
    /// the name 0.
    learning: (u32, u32),
    /// Whether a round is to merge all levels, because space is short.
    is_pressed: bool,
    reach: Reach,
    /// Whether merges may drop nothing, because a snapshot is open.
    keeps_all: bool,
    /// A bit for each index, set once rows of it were replaced or moved.
    updated: u8,
    lost: Lost,
    hints: Hints,
    noted: Noted,
    behind: Behind,
}

/// How far the session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Mount,
    /// A page of a merge was programmed.
    Merge,
    /// A run was flushed.
    Flush,
}

/// Slices of merging at an insert where merges were left behind.
const SLICES_BEHIND: u32 = 8;

impl<'ram> Store<'ram> {
    /// An empty store. `ram` has [`StoreConfig::carved`] bytes.
    ///
    /// # Panics
    /// Where it has not.
    #[inline(never)]
    pub fn new(config: StoreConfig, ram: &'ram mut [u8]) -> Self {
        assert!(ram.len() == config.carved(), "the store has its bytes");
        let shapes = config.shapes();
        let (windows, ram) = ram.split_at_mut(config.window_size);
        let (table, ram) = ram.split_at_mut(config.table_size);
        let (fence, ram) = ram.split_at_mut(config.fence_size);
        let (memtable, blooms) = ram.split_at_mut(config.memtable_size);
        Self {
            config,
            shapes,
            memtable: Memtable::new(memtable, &shapes),
            blooms: Blooms::new(blooms),
            windows,
            runs: Runs::new(table, &config),
            fence: Fence::new(fence),
            job: None,
            put_off: PutOff::NONE,
            taken_up_at: 0,
            inputs: Inputs::NONE,
            distinct: [256; INDEX_MAX],
            run_changes: 0,
            puts: 0,
            full_merges: 0,
            learning: (0, 0),
            is_pressed: false,
            reach: Reach::Mount,
            keeps_all: false,
            updated: 0,
            lost: Lost::NONE,
            hints: Hints::new(),
            noted: Noted::new(),
            behind: Behind::NONE,
        }
    }

    /// The parameters that the store was made with.
    pub const fn config(&self) -> &StoreConfig {
        &self.config
    }

    /// Bits of a code of an index.
    pub(crate) fn code_bits(&self, index: u8) -> u8 {
        self.shapes[usize::from(index)].code_bits
    }

    /// Say whether merges and the memory table keep entries that newer ones replace, as they must
    /// while a snapshot is open. A merge that was begun goes on as before.
    pub const fn keep_all(&mut self, keeps_all: bool) {
        self.keeps_all = keeps_all;
    }

    /// Say that rows of an index may be replaced or moved from now on.
    pub const fn set_updated(&mut self, index: u8) {
        self.updated |= 1 << index;
    }

    /// Whether lookups in an index have to go from the newest entries to the oldest.
    pub(crate) fn is_updated(&self, index: u8) -> bool {
        self.config.indexes[usize::from(index)].is_updated || self.updated >> index & 1 != 0
    }

    /// Put an entry of the open transaction into the memory table. Cost: none.
    ///
    /// # Errors
    /// [`StoreError::MemtableFull`]: nothing was put.
    ///
    /// # Panics
    /// Where code or pointer have more bits than the index keeps.
    pub fn put(&mut self, entry: &Entry) -> Result<(), StoreError> {
        assert!(entry.index < self.config.index_count, "the store has the index");
        if !self.memtable.takes(entry, self.keeps_all) {
            return Err(StoreError::MemtableFull);
        }
        debug_assert!(
            entry.code <= self.shapes[usize::from(entry.index)].code_max(),
            "the code has its bits"
        );
        self.memtable.put(entry, self.keeps_all);
        self.noted.forget(entry.index, entry.code);
        self.puts = self.puts.wrapping_add(1);
        Ok(())
    }

    /// Whether there is room for `count` entries, of whichever index.
    pub fn has_room(&self, count: usize) -> bool {
        let widest =
            (0..self.config.index_count).map(|index| self.memtable.entry_size(index)).max();
        self.memtable.free_size() >= count * widest.unwrap_or(0)
    }

    /// Make the open transaction's entries and runs committed. Cost: none.
    pub fn commit(&mut self) {
        self.memtable.commit(self.keeps_all);
        self.runs.change(|head| head.marks &= !OPEN);
        self.puts = self.puts.wrapping_add(1);
    }

    /// Drop the open transaction's entries and runs. Cost: none.
    pub fn roll_back(&mut self) {
        self.memtable.roll_back();
        self.drop_opens();
        self.noted.clear();
        self.puts = self.puts.wrapping_add(1);
        self.run_changes = self.run_changes.wrapping_add(1);
    }

    /// Replace page `from` by page `to` in the pointers of the memory table. Both are pointers
    /// without the bits of the cell. Cost: none.
    pub fn rename_page(&mut self, from: u32, to: u32) {
        self.memtable.rename(from, to, self.config.cell_bits());
        self.noted.clear();
        self.puts = self.puts.wrapping_add(1);
    }

    /// Whether [`Store::work`] has anything to do.
    pub fn is_due(&self) -> bool {
        self.job.is_some() || self.is_learning() || self.due().is_some()
    }

    /// Whether a merge is under way or to be begun.
    pub(crate) fn is_merging(&self) -> bool {
        self.job.is_some() || self.due().is_some()
    }

    /// How often [`Store::work`] is to be called at the next insert; 0 where no work is due. More
    /// than once only where merges were left behind, as they are in sessions of few rows, or do
    /// not keep up with a transaction on small pages.
    pub fn slices_due(&self) -> u32 {
        let is_late = self.is_behind() || self.is_open_late() || self.is_page_owed();
        if is_late { SLICES_BEHIND } else { u32::from(self.is_due()) }
    }

    /// Do one slice of the work that is due. Cost: at most [`StoreConfig::reads_max`] reads and one
    /// program; one more program for each that fails, up to four.
    #[inline(never)]
    pub fn work<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        lent: &mut Lent<'_>,
    ) -> Result<Work, StoreError> {
        let goes_first = || (self.is_behind() || self.is_cut_short()) && self.is_merging();
        let mut work = if self.is_learning() && !goes_first() {
            self.learn(media, lent.cell)?
        } else if self.job.is_some() || self.start_due() {
            self.step(media, lent)?
        } else {
            Work::default()
        };
        if work.programs > 0 {
            self.reach = self.reach.max(Reach::Merge);
        }
        work.is_left = self.is_due();
        Ok(work)
    }

    /// Whether a run, in the table or being written, has pages in a logical block. Other blocks of
    /// runs may be let go, once this state is on flash.
    pub fn is_live(&self, space: Space, block: u32) -> bool {
        let numbers: Numbers = self.config.numbers;
        let touches = |run: &Run| run.touches(space, block, numbers);
        self.runs.slots().any(|slot| touches(&self.runs.run(slot)))
            || self.job.as_ref().is_some_and(|job| touches(&job.out.run))
            || self.put_off_run().is_some_and(|run| touches(&run))
    }

    /// Number of entries in the memory table.
    pub fn held(&self) -> usize {
        self.memtable.len()
    }

    /// Number of runs, and number of pages that they have.
    pub fn run_count(&self) -> (usize, u32) {
        (self.runs.slots().end, self.runs.iter().map(|run| run.pages()).sum())
    }

    /// Pages that the largest merge of an index would still write. Those that the merge under way
    /// or put off has already written are not counted.
    pub fn merge_size(&self) -> u32 {
        let mut pages = [0; INDEX_MAX];
        for run in self.runs.iter().filter(|run| !run.head.is_recent()) {
            pages[usize::from(run.head.indexes)] += run.pages();
        }
        let large = self.job.as_ref().filter(|job| job.index.is_some());
        let large = large.map(|job| job.out.run.pages());
        let written = large.or_else(|| self.put_off_run().map(|run| run.pages())).unwrap_or(0);
        pages.into_iter().max().unwrap_or(0_u32).saturating_sub(written)
    }

    fn is_learning(&self) -> bool {
        self.unlearnt().is_some()
    }

    /// Set marks of a run.
    fn mark(&mut self, slot: usize, marks: u8) {
        let head = self.runs.head(slot);
        self.runs.set_head(slot, Head { marks: head.marks | marks, ..head });
    }
}
