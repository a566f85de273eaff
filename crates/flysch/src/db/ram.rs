//! RAM: the caller gives one stretch of bytes, and the parts of the database take theirs from it.

use flysch_nand::Geometry;

use super::kept::plans;
use super::open::is_within_limits;
use super::{DbError, Options};
use crate::log::STATE_MAX;
use crate::media::{CELL_SIZE, ENTRY_SIZE, Layout, Partition};
use crate::record::state_size;
use crate::row::Schema;
use crate::store::{ConfigError, IndexPlan, Store, StoreConfig};

/// Least size of the scratch memory: two cells. It is larger where the state of a record is.
const SCRATCH_MIN: usize = 2 * CELL_SIZE;

/// Bytes of RAM without which a database of this schema is not opened, for a chip of this geometry
/// and as many blocks of it as the options say. It is what [`DbError::RamTooSmall`] would tell.
///
/// # Panics
/// Where the schema breaks a rule, or pages or blocks are none for which an open would not say
/// [`DbError::Geometry`]; in a constant that is an error of the compiler.
pub const fn ram_needed(schema: &Schema<'_>, geometry: &Geometry, options: &Options) -> usize {
    assert!(schema.check().is_ok(), "the schema breaks a rule");
    let partition = options.partition_on(geometry);
    assert!(
        is_within_limits(geometry, partition),
        "pages have 512 bytes to 16 KiB, blocks 8 to 256 pages, partitions 24 to 8,192 blocks"
    );
    let Some((plans, count)) = plans(schema, options.capacity) else {
        panic!("the store does not take so many indexes")
    };
    let rings = schema.ring_count();
    let least = StoreConfig::least(plans.split_at(count).0, geometry, (partition.count, rings));
    let [table, tail, frame] = Parts::sizes(Layout::new(geometry.page_size), partition);
    table + tail + frame + least.carved() + scratch_size(&least, rings)
}

/// RAM for a database. That it is enough is checked where it is made: for a `static`, when the
/// firmware is compiled.
///
/// ```
/// # use flysch::db::{DbRam, Options, ram_needed};
/// # use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table};
/// # use flysch_nand::Geometry;
/// # const SCHEMA: Schema<'static> = Schema {
/// #     tables: &[Table {
/// #         name: "reading",
/// #         columns: &[Column::required("at", ColumnType::Time)],
/// #         indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
/// #         zone: None,
/// #         keep: None,
/// #     }],
/// # };
/// # const CHIP: Geometry = Geometry {
/// #     page_size: 2048,
/// #     oob_size: 64,
/// #     sectors_per_page: 4,
/// #     partial_programs: 4,
/// #     pages_per_block: 64,
/// #     block_count: 128,
/// #     in_order: true,
/// # };
/// const OPTIONS: Options = Options { partition: None, seed: 0x5EED, capacity: 100_000 };
///
/// // As little as there may be.
/// const LEAST: usize = ram_needed(&SCHEMA, &CHIP, &OPTIONS);
/// const RAM: DbRam<LEAST> = DbRam::new(&SCHEMA, &CHIP, &OPTIONS);
/// let mut ram = RAM;
/// assert_eq!(ram.bytes().len(), LEAST);
/// ```
#[derive(Debug)]
pub struct DbRam<const SIZE: usize> {
    bytes: [u8; SIZE],
}

impl<const SIZE: usize> DbRam<SIZE> {
    /// RAM for a database of this schema on a chip of this geometry. A byte less than it needs does
    /// not compile:
    ///
    /// ```compile_fail,E0080
    /// # use flysch::db::{DbRam, Options, ram_needed};
    /// # use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table};
    /// # use flysch_nand::Geometry;
    /// # const SCHEMA: Schema<'static> = Schema {
    /// #     tables: &[Table {
    /// #         name: "reading",
    /// #         columns: &[Column::required("at", ColumnType::Time)],
    /// #         indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
    /// #         zone: None,
    /// #         keep: None,
    /// #     }],
    /// # };
    /// # const CHIP: Geometry = Geometry {
    /// #     page_size: 2048,
    /// #     oob_size: 64,
    /// #     sectors_per_page: 4,
    /// #     partial_programs: 4,
    /// #     pages_per_block: 64,
    /// #     block_count: 128,
    /// #     in_order: true,
    /// # };
    /// # const OPTIONS: Options = Options { partition: None, seed: 0x5EED, capacity: 100_000 };
    /// # const LEAST: usize = ram_needed(&SCHEMA, &CHIP, &OPTIONS);
    /// const RAM: DbRam<{ LEAST - 1 }> = DbRam::new(&SCHEMA, &CHIP, &OPTIONS);
    /// # let _ram = RAM;
    /// ```
    ///
    /// # Panics
    /// Where it is less than [`ram_needed`]; in a constant that is an error of the compiler.
    pub const fn new(schema: &Schema<'_>, geometry: &Geometry, options: &Options) -> Self {
        assert!(SIZE >= ram_needed(schema, geometry, options), "this is less than `ram_needed`");
        Self { bytes: [0; SIZE] }
    }

    /// The bytes, which an open takes.
    pub const fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Bytes of the scratch memory: it takes the longest state that there can be.
const fn scratch_size(config: &StoreConfig, rings: usize) -> usize {
    let state = state_size(rings) + Store::state_size_max(config);
    if state > SCRATCH_MIN { state } else { SCRATCH_MIN }
}

/// The RAM of a database, shared out.
pub(super) struct Parts<'ram> {
    pub(super) table: &'ram mut [u8],
    pub(super) tail: &'ram mut [u8],
    pub(super) frame: &'ram mut [u8],
    pub(super) scratch: &'ram mut [u8],
    /// The store's parameters and memory.
    pub(super) config: StoreConfig,
    pub(super) carved: &'ram mut [u8],
}

impl<'ram> Parts<'ram> {
    const fn sizes(layout: Layout, partition: Partition) -> [usize; 3] {
        let table = partition.count as usize * ENTRY_SIZE;
        [table, layout.payload_size(), layout.page_size()]
    }

    /// Plan the index store within `rest` bytes of RAM, beside a buffer for the longest state that
    /// the store can have. Returns the plan and the buffer's size, or as an error the bytes needed.
    fn plan(
        rest: usize,
        plans: &[IndexPlan],
        geometry: &Geometry,
        (partition, rings): (Partition, usize),
    ) -> Result<(StoreConfig, usize), ConfigError> {
        let fields = size_of::<Store<'static>>();
        let blocks = (partition.count, rings);
        let plan = |ram| StoreConfig::plan_with_rings(ram + fields, plans, geometry, blocks);
        let scratch_of = |config| scratch_size(config, rings);
        let least = plan(StoreConfig::least(plans, geometry, blocks).carved())?;
        let needed = least.carved() + scratch_of(&least);
        if rest < needed {
            return Err(ConfigError::RamTooSmall { needed });
        }
        // With more RAM the table becomes longer, and the state with it: where both do not fit, the
        // least of them do.
        let most = plan(rest - scratch_of(&least))?;
        let scratch = scratch_of(&most);
        match plan(rest.saturating_sub(scratch)) {
            Ok(config) => Ok((config, scratch)),
            Err(ConfigError::RamTooSmall { .. }) => Ok((least, scratch_of(&least))),
            Err(error) => Err(error),
        }
    }

    #[inline(never)]
    pub(super) fn carve(
        ram: &'ram mut [u8],
        geometry: &Geometry,
        partition: Partition,
        (schema, capacity): (&Schema<'_>, u32),
    ) -> Result<Self, DbError> {
        let sizes = Self::sizes(Layout::new(geometry.page_size), partition);
        let fixed: usize = sizes.iter().sum();
        let (plans, count) = plans(schema, capacity).ok_or(DbError::Unknown)?;
        let rest = ram.len().saturating_sub(fixed);
        let rings = schema.ring_count();
        let planned = Self::plan(rest, &plans[..count], geometry, (partition, rings));
        let (config, scratch) = planned.map_err(|error| match error {
            ConfigError::RamTooSmall { needed } => DbError::RamTooSmall { needed: fixed + needed },
            ConfigError::Indexes => DbError::Unknown,
        })?;
        debug_assert!(config.carved() + scratch <= rest, "the plan keeps to the RAM");
        let state = state_size(rings) + Store::state_size_max(&config);
        debug_assert!(scratch >= state, "the longest state of the plan fits");
        debug_assert!(state <= STATE_MAX, "a mount seeks roots of that size");
        let needed = fixed + config.carved() + scratch;
        let mut ram = Ram::new(ram);
        let mut take = |size| ram.take(size).ok_or(DbError::RamTooSmall { needed });
        let [table, tail, frame] = sizes;
        Ok(Self {
            table: take(table)?,
            tail: take(tail)?,
            frame: take(frame)?,
            scratch: take(scratch)?,
            carved: take(config.carved())?,
            config,
        })
    }
}

/// What is left of the caller's memory.
#[derive(Debug)]
pub(crate) struct Ram<'ram> {
    rest: &'ram mut [u8],
}

impl<'ram> Ram<'ram> {
    /// RAM of which nothing is taken yet.
    pub(crate) const fn new(bytes: &'ram mut [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Take the next `size` bytes; None where fewer are left.
    pub(crate) fn take(&mut self, size: usize) -> Option<&'ram mut [u8]> {
        let rest = core::mem::take(&mut self.rest);
        if size > rest.len() {
            self.rest = rest;
            return None;
        }
        let (bytes, rest) = rest.split_at_mut(size);
        self.rest = rest;
        Some(bytes)
    }
}
