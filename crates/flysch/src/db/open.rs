//! Creating a database, and finding one again.

use flysch_nand::{Geometry, Nand, NvRam};

use super::call::Begun;
use super::commit::Recording;
use super::compact::Compaction;
use super::level::Levelling;
use super::ram::Parts;
use super::spill::Spilled;
use super::view::{Held, View};
use super::{Constraints, Db, DbError};
use crate::log::{self, Buffers, Doubt, Log, Made, MountError, NvLog, pages_needed};
use crate::media::{CELL_SIZE, Layout, Media, Page, Partition, RING_BLOCKS_MAX, Sight, Space};
use crate::record::{ROW_SPACES, Records, state_size};
use crate::row::{HashKey, Schema};
use crate::store::{Store, StoreError};

/// How a database is created or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The blocks of the chip that the database may use; None for all of them.
    pub partition: Option<Partition>,
    /// A secret random number of this device. It keys the hashes, so that nobody can choose keys
    /// that collide.
    pub seed: u64,
    /// Rows for which each table is planned: the width of hashes and the number of levels follow.
    pub capacity: u32,
}

/// What an open found, and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Whether the last session ended with [`Db::close`].
    pub is_clean: bool,
    /// Commits that were found.
    pub commits: u32,
    /// Bytes of the tail, whose rows were found in the log.
    pub tail_size: usize,
    /// Pages whose program a power cut may have interrupted. What they hold is ignored.
    pub void_pages: u32,
    /// Reads of flash that the open took.
    pub reads: u32,
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Make an empty database; what was in its blocks is lost. Cost: an erase for each of the first
    /// sixteen blocks, an erase for the log, and the pages of a root.
    pub fn create(
        nand: N,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Self, DbError> {
        Self::create_with_nvram(nand, None, schema, options, ram)
    }

    /// Make an empty database whose commits go to byte-addressable memory first. Cost: as
    /// [`Db::create`].
    #[inline(never)]
    pub fn create_with_nvram(
        nand: N,
        nvram: Option<&'ram mut dyn NvRam>,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Self, DbError> {
        let parts = Self::prepare(&nand, schema, options, ram)?;
        let mut made = Ok(Self::blank(nand, nvram, (schema, options), parts));
        end_with(&mut made, |db| db.write_first(options));
        made
    }

    /// Write the root of an empty database.
    #[inline(never)]
    pub(super) fn write_first(&mut self, options: Options) -> Result<(), DbError> {
        let salt = (options.seed ^ options.seed >> 32) as u32;
        let made = options.made(self.schema);
        let Recording { body, log, media, frame, .. } = self.recording();
        debug_assert!(body.commit == 1 && body.time == 0, "nothing was committed yet");
        log::format(media, salt, made, &body, (log, frame))?;
        self.begin_nvram_anew();
        Ok(())
    }

    /// A database in RAM, before its chip was read or written.
    #[inline(never)]
    pub(super) fn blank(
        nand: N,
        nvram: Option<&'ram mut dyn NvRam>,
        (schema, options): (&'s Schema<'s>, Options),
        Parts { table, tail, frame, scratch, config, carved }: Parts<'ram>,
    ) -> Self {
        let partition = options.partition_on(&nand.geometry());
        Self {
            media: Media::new(nand, partition, table, schema.ring_count()),
            log: Log::NONE,
            doubt: None,
            nvram: nvram.map(NvLog::new),
            records: Records::new(tail, schema),
            schema,
            commit: 1,
            is_lazy: false,
            under_way: None,
            next_time: 0,
            time: 0,
            savepoints: 0,
            clock: None,
            store: Store::new(config, carved),
            key: HashKey::from_seed(options.seed),
            compaction: Compaction::new(),
            view: View::NOW,
            open_views: Held::default(),
            levelling: Levelling::default(),
            rings: super::ring::Rings::default(),
            is_log_due: false,
            constraints: Constraints::NONE,
            enforcer: None,
            unpaid: 0,
            begun: Begun::default(),
            held_cells: None,
            sound_block: None,
            let_go_at: 0,
            spilled: Spilled::default(),
            frame,
            held: None,
            scratch,
            report: OpenReport::default(),
        }
    }

    /// Open the database that is on the chip. Nothing is programmed or erased before the first
    /// write. Never formats.
    ///
    /// # Errors
    /// [`MountError::Schema`] where it was made with another schema, seed or capacity. It says what
    /// differs first; [`Difference::within`](crate::row::Difference::within) gives the names.
    /// [`MountError::LessRam`] where the session before had more RAM, and left more entries in it
    /// than this one takes.
    pub fn open(
        nand: N,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Self, DbError> {
        Self::open_with_nvram(nand, None, schema, options, ram)
    }

    /// Open a database whose commits went to byte-addressable memory first. Without that memory it
    /// is not opened, as commits may be in it alone: where it is lost, give an empty one. Cost: as
    /// [`Db::open`], and the memory is read.
    #[inline(never)]
    pub fn open_with_nvram(
        nand: N,
        nvram: Option<&'ram mut dyn NvRam>,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Self, DbError> {
        let parts = Self::prepare(&nand, schema, options, ram)?;
        let mut made = Ok(Self::blank(nand, nvram, (schema, options), parts));
        end_with(&mut made, |db| db.find_all(options));
        made
    }

    /// Find what is on the chip: the log, the states of the layers, the rows behind them.
    #[inline(never)]
    pub(super) fn find_all(&mut self, options: Options) -> Result<(), DbError> {
        let is_clean = self.find_state(options)?;
        let heads = ROW_SPACES.map(|space| self.media.head(space));
        let void_pages = if is_clean { 0 } else { self.skip_doubtful()? };
        self.note_changed();
        self.replay(heads).map_err(|error| match error {
            DbError::Store(StoreError::MemtableFull) => MountError::LessRam.into(),
            error => error,
        })?;
        let reads = self.media.counts.reads;
        let counts = self.media.counts;
        debug_assert!(counts.programs_in_all() == 0, "an open programs nothing");
        debug_assert!(counts.erases == 0, "an open erases nothing");
        self.check();
        self.report = OpenReport { void_pages, reads, ..self.report };
        Ok(())
    }

    /// Find the last record, and take its state over. Says whether the database had been closed.
    #[inline(never)]
    fn find_state(&mut self, options: Options) -> Result<bool, DbError> {
        let tail = self.records.tail.memory();
        let buffers = Buffers { tail, frame: self.frame, state: self.scratch };
        let made = options.made(self.schema);
        let doubt = self.doubt.insert(Doubt::NONE);
        let places = (&mut self.log, &mut *doubt);
        let found = log::find(&mut self.media, made, buffers, self.nvram.as_mut(), places)?;
        let (is_clean, preface) = (doubt.is_clean, found.preface);
        let state = self.scratch[..found.state_len].split_at_checked(self.records.state_size());
        let is_loaded = state.is_some_and(|(rows, indexes)| {
            self.records.load(rows, &self.media) && self.store.load_state(indexes).is_ok()
        });
        let tail_size = preface.base + preface.len;
        if !is_loaded || !self.records.tail.restore(tail_size, preface.tail_base) {
            return Err(MountError::Broken.into());
        }
        // A commit number that was in use when the power was cut is not used again.
        self.commit = preface.commit + u32::from(!is_clean);
        (self.next_time, self.time) = (preface.time, preface.time);
        // When the rows of the tail came is not known. The last commit's time is the latest
        // possible.
        self.records.now = preface.time;
        for space in ROW_SPACES {
            self.records.note_newest(space, preface.commit);
        }
        let commits = preface.commit - 1;
        self.report = OpenReport { is_clean, commits, tail_size, ..self.report };
        Ok(is_clean)
    }

    /// Leave out the pages behind each head whose program a cut may have interrupted, and the rest
    /// of a block up to its summary where it has too many of them. Returns their number. Cost: some
    /// eight reads for each head whose block has pages left.
    #[inline(never)]
    fn skip_doubtful(&mut self) -> Result<u32, DbError> {
        let (media, records) = (&mut self.media, &mut self.records);
        let numbers = media.numbers();
        let mut count = 0;
        for space in Space::ALL {
            let head = media.head(space);
            if media.table.find(space, numbers.block_of(head)).is_none() {
                continue;
            }
            let mut end = behind_last(media, Page { space, number: head }, self.frame)?;
            let block = numbers.block_of(head);
            if space.holds_rows()
                && media.spans.crowd(space, block, numbers)
                && numbers.block_of(end) == block
            {
                let last = numbers.last_page(block);
                media.note_void(space, block, numbers.distance(end, last));
                end = last;
            }
            debug_assert!(
                (1..=numbers.pages_per_block).contains(&numbers.distance(head, end)),
                "the block has them"
            );
            count += numbers.distance(head, end);
            if space.holds_rows() {
                records.skip(media, space, end)?;
            } else {
                media.skip(space, head, end)?;
            }
        }
        Ok(count)
    }

    #[inline(never)]
    pub(super) fn prepare(
        nand: &N,
        schema: &Schema<'_>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<Parts<'ram>, DbError> {
        schema.check().map_err(DbError::Schema)?;
        let geometry = nand.geometry();
        let partition = options.partition_on(&geometry);
        let end = partition.first.checked_add(partition.count);
        let takes = geometry.check().is_ok()
            && is_within_limits(&geometry, partition)
            && end.is_some_and(|end| end <= geometry.block_count);
        let has_rings = schema.ring_count() > 0;
        if !takes || has_rings && partition.count > RING_BLOCKS_MAX {
            return Err(DbError::Geometry);
        }
        // The longest tail, and no runs yet.
        let rings = schema.ring_count();
        let sizes = (Space::ALL.len(), state_size(rings) + Store::STATE_MIN);
        let layout = Layout::new(geometry.page_size);
        let needed = pages_needed(layout, partition.count, schema.description_size(), sizes);
        if needed > geometry.pages_per_block {
            return Err(DbError::BlockTooSmall { needed });
        }
        Parts::carve(ram, &geometry, partition, (schema, options.capacity))
    }
}

/// Do the last step of making a database. It is done in place, as a database is too large to be
/// moved.
fn end_with<D>(made: &mut Result<D, DbError>, step: impl FnOnce(&mut D) -> Result<(), DbError>) {
    if let Ok(db) = made
        && let Err(error) = step(db)
    {
        *made = Err(error);
    }
}

impl Options {
    /// What must be the same at each open: the schema and the capacity, under the seed.
    fn made<'s>(&self, schema: &'s Schema<'s>) -> Made<'s> {
        let mut hash = HashKey::from_seed(self.seed).start();
        hash.write(&schema.fingerprint().to_le_bytes());
        hash.write(&self.capacity.to_le_bytes());
        Made { identity: hash.finish() as u32, schema }
    }

    pub(super) const fn partition_on(&self, geometry: &Geometry) -> Partition {
        match self.partition {
            Some(partition) => partition,
            None => Partition { first: 0, count: geometry.block_count },
        }
    }
}

/// Whether pages and blocks have sizes that a database takes, and the partition as many blocks.
pub(super) const fn is_within_limits(geometry: &Geometry, partition: Partition) -> bool {
    let Geometry { page_size, pages_per_block, .. } = *geometry;
    let count = partition.count;
    page_size >= 512
        && page_size <= 16_384
        && pages_per_block >= 8
        && pages_per_block <= 256
        && count >= Partition::COUNT_MIN
        && count <= 8192
}

/// The page one behind the last page of the head's block that is not blank. Pages are programmed in
/// order without a gap, but for the summary of a block whose last pages a mount left out. Where the
/// record of that is lost, the summary is in doubt as well.
fn behind_last<N: Nand>(
    media: &mut Media<'_, N>,
    head: Page,
    frame: &mut [u8],
) -> Result<u32, DbError> {
    let numbers = media.numbers();
    let (last, next) =
        (numbers.last_page(numbers.block_of(head.number)), numbers.next_block(head.number));
    // A program failed in this block, and the power was cut before a record told so.
    if head.number == last || media.is_marked(head)? {
        return Ok(next);
    }
    let mut is_blank = |number| {
        let sight = media.look_at(Page { number, ..head }, &mut frame[..CELL_SIZE])?;
        Ok::<_, DbError>(sight == Sight::Blank)
    };
    if head.space.holds_rows() && !is_blank(last)? {
        return Ok(next);
    }
    let left = numbers.distance(head.number, last);
    let (mut low, mut high) = (0, left);
    while low < high {
        let middle = low.midpoint(high);
        if is_blank(numbers.advance(head.number, middle))? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(if low == left { next } else { numbers.advance(head.number, low + 1) })
}
