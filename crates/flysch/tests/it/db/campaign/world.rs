//! What a history happens on, drawn from its seed: a chip with its faults, a schema, memory.

use std::sync::Arc;

use flysch::db::{Constraints, Db, DbError, Options, ram_needed};
use flysch::media::{Partition, Verify};
use flysch::row::{Column, ColumnType, Index, IndexKind, Keep, RINGS_MAX, Schema, Table};
use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Part, Prng};
use flysch_nand::{BlockAddr, Geometry, WriteRule};

use super::{constraints, keys, queries};
use crate::db::image::geometry;

/// A chip, a schema, memory, and the sizes that values are drawn by.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) geometry: Geometry,
    pub(super) options: Options,
    pub(super) schema: &'static Schema<'static>,
    pub(super) constraints: Constraints<'static>,
    pub(super) ram: usize,
    /// Bytes of memory beside the chip, and how it is written.
    pub(super) nvram: Option<(usize, WriteRule)>,
    pub(super) bad: Vec<u32>,
    /// Programs and erases that fail, of a million.
    pub(super) failures: u32,
    /// Reads of a block after which a bit of it is wrong, and reads of a million with a wrong bit:
    /// ECC corrects either, and blocks are copied.
    pub(super) disturbed_after: Option<u32>,
    pub(super) wrong_bits: u32,
    pub(super) verify: Verify,
    /// Values of a key column.
    pub(super) keys: u64,
    /// What all texts begin with.
    pub(super) alike: &'static str,
    /// Bytes of a text or blob that is in no index, at most.
    pub(super) bytes_max: u64,
    /// Changes of a transaction, at most.
    pub(super) batch_max: u64,
    /// Changes of a large transaction, at most; 0 where there are none.
    pub(super) large_max: u64,
    /// Whether transactions go back to savepoints, and readers to commits and on with old cursors.
    pub(super) goes_back: bool,
    pub(super) asked: Asked,
    /// One in so many changes goes back. A long transaction gets nowhere where it does so often.
    pub(super) goes_back_in: u64,
}

/// What a database is asked. Histories of before stay as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    /// For keys, one by one, and ranges.
    Keys,
    /// For keys together as well.
    Together,
    /// For all that queries make of tables, also within transactions. It has more memory now and
    /// then.
    Everything,
    /// By cursors that go on among changes, too.
    AmongChanges,
    /// Such cursors are lists of keys and over two criteria as well, and get too little memory for
    /// a row now and then.
    InEveryWay,
}

/// The seed from which on bits read wrong, pages are read back, and cursors of all kinds go on
/// among changes. Histories of before stay as they were.
pub(super) const WRONG_FROM: u64 = 300_000_000;

/// The seed from which on there are transactions that take more blocks than a record can name.
const LARGE_FROM: u64 = 90_000_000;

/// Whether the history of a seed has such transactions. Histories of before stay as they were.
pub(super) const fn has_large(seed: u64) -> bool {
    seed >= LARGE_FROM && seed % 3 == 1
}

/// One of some things.
pub(super) fn one<T: Copy>(prng: &mut Prng, things: &[T]) -> T {
    things[prng.below(things.len() as u64) as usize]
}

impl World {
    pub(super) fn draw(seed: u64) -> Self {
        let mut prng = Prng::new(seed ^ 0xC0FF_EE00);
        let prng = &mut prng;
        let page_size = one(prng, &[512, 512, 512, 1024, 1024, 2048, 2048, 4096, 8192, 16_384]);
        let pages_per_block = if page_size > 2048 { 8 } else { one(prng, &[8, 8, 8, 16, 32]) };
        let more = one(prng, &[1, 12, 40]);
        let (is_large, is_late) = (has_large(seed), seed >= constraints::FROM);
        let block_count = 24 + prng.below(more) as u32 + if is_large { 60 } else { 0 };
        // A partition leaves blocks alone on both sides.
        let (before, behind) = one(prng, &[(0, 0), (0, 0), (0, 0), (3, 5)]);
        let geometry = geometry(page_size, pages_per_block, before + block_count + behind);
        let partition = Partition { first: before, count: block_count };
        let bad_rate = one(prng, &[0, 0, 20, 60]);
        let is_bad = |_: &u32| prng.below(1000) < bad_rate;
        let bad = (before..before + block_count).filter(is_bad).take(4).collect();
        let nvram = match prng.below(6) {
            0 => Some((one(prng, &[1500, 4096]), WriteRule::Overwrite)),
            1 => Some((one(prng, &[4096, 8192]), WriteRule::ClearBits)),
            _ => None,
        };
        let schema = without_indexes(with_rings(draw_schema(prng), seed), seed);
        let schema = with_ranges(keys::draw(schema, seed), seed);
        let (schema, constraints) = constraints::draw(schema, seed);
        let capacity = one(prng, &[2, 2, 16, 1000, 100_000]);
        let options = Options { partition: Some(partition), seed: prng.next(), capacity };
        let payload = u64::from(page_size / 512 * 506 - 20);
        let bytes_max = one(prng, &[10, 60, 60, 200, payload, payload * 3]);
        let mut world = Self {
            geometry,
            options,
            schema,
            constraints,
            ram: 0,
            nvram,
            bad,
            failures: one(prng, &[0, 0, 0, 1000, 4000]),
            disturbed_after: None,
            wrong_bits: 0,
            verify: Verify::Never,
            keys: one(prng, &[3, 30, 120, 120, 400]),
            alike: "",
            bytes_max,
            batch_max: one(prng, &[1, 4, 12, 60]),
            large_max: if is_large { 1_000 } else { 0 },
            goes_back: matches!(seed % 4, 0 | 3) || is_large && is_late,
            asked: match seed {
                WRONG_FROM.. => Asked::InEveryWay,
                keys::FROM.. => Asked::AmongChanges,
                queries::FROM.. => Asked::Everything,
                constraints::FROM.. => Asked::Together,
                _ => Asked::Keys,
            },
            goes_back_in: if is_large && is_late { 60 } else { 8 },
        };
        if seed >= keys::FROM && world.keys <= 30 && seed.is_multiple_of(8) {
            world.alike = keys::ALIKE;
        }
        world.ram = world.least_ram() + one(prng, &[0, 300, 2000, 9000, 30_000]);
        if seed >= WRONG_FROM {
            let prng = &mut Prng::new(seed ^ 0x0B17_0000);
            // ECC corrects one bit, not two.
            (world.disturbed_after, world.wrong_bits) = match prng.below(3) {
                0 => (one(prng, &[None, Some(30), Some(300), Some(3000)]), 0),
                1 => (None, one(prng, &[20, 400, 10_000])),
                _ => (None, 0),
            };
            world.verify = one(prng, &[Verify::Never, Verify::Commits, Verify::All]);
        }
        world
    }

    /// What goes wrong with reads.
    pub(super) fn faults(&self, seed: u64) -> FaultPlan {
        FaultPlan {
            seed,
            read_disturb: self.disturbed_after,
            read_errors_ppm: self.wrong_bits,
            read_error_bits_max: 1,
            ..FaultPlan::default()
        }
    }

    /// A world of few keys on a sound chip: what is rare elsewhere comes about often.
    pub(super) fn of_few_keys(seed: u64) -> Self {
        let seeds = WRONG_FROM + seed * 64..;
        let mut worlds = seeds.map(Self::draw);
        // A table without a key only grows.
        let is_keyed = |world: &Self| world.schema.tables.iter().all(|t| t.primary_key().is_some());
        let mut world = worlds.find(is_keyed).expect("most tables have a key");
        let prng = &mut Prng::new(seed ^ 0xFE33_0000);
        let blocks = one(prng, &[30, 60, 60, 200]);
        world.geometry = Geometry { block_count: blocks, ..world.geometry };
        world.options.partition = None;
        (world.bad, world.nvram, world.failures) = (Vec::new(), None, 0);
        world.keys = one(prng, &[1, 2, 3, 6, 12, 30, 60]);
        world.alike = one(prng, &["", keys::ALIKE]);
        world.bytes_max = one(prng, &[1, 10, 60, 200]);
        world.batch_max = one(prng, &[1, 1, 3, 12, 60]);
        (world.goes_back, world.goes_back_in) = (true, 8);
        world.ram = world.least_ram() + one(prng, &[0, 100, 300, 1000, 3000, 9000]);
        world
    }

    pub(super) fn chip(&self) -> FaultInjector {
        let part = Part { geometry: self.geometry, ..Part::builtin("gemalto-vfl").unwrap() };
        let chip = Chip::new(Arc::new(part), Clock::new(), 1);
        let bad = self.bad.iter().copied().map(BlockAddr);
        FaultInjector::with_factory_bad_blocks(chip, bad)
    }

    /// The least memory, as the engine says.
    fn least_ram(&self) -> usize {
        let mut nand = self.chip();
        let refused = Db::create(&mut nand, self.schema, self.options, &mut []).map(drop);
        let needed = ram_needed(self.schema, &self.geometry, &self.options);
        assert_eq!(refused, Err(DbError::RamTooSmall { needed }), "told ahead as at the open");
        needed
    }
}

const TYPES: [ColumnType; 6] = [
    ColumnType::Bool,
    ColumnType::Integer,
    ColumnType::Real,
    ColumnType::Text,
    ColumnType::Blob,
    ColumnType::Time,
];
/// Types of keys: a bool has too few values.
const KEYS: [ColumnType; 5] = [
    ColumnType::Integer,
    ColumnType::Integer,
    ColumnType::Text,
    ColumnType::Time,
    ColumnType::Blob,
];
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Things that live as long as the program.
pub(super) fn leak<T>(things: Vec<T>) -> &'static [T] {
    Box::leak(things.into_boxed_slice())
}

pub(super) fn schema_of(tables: Vec<Table<'static>>) -> &'static Schema<'static> {
    let schema = Box::leak(Box::new(Schema { tables: leak(tables) }));
    schema.check().unwrap();
    schema
}

/// Some tables, with eight indexes in all at most.
fn draw_schema(prng: &mut Prng) -> &'static Schema<'static> {
    let count = 1 + prng.below(3) as usize;
    let mut left = 8;
    let tables: Vec<Table<'static>> = (0..count)
        .map(|number| {
            let table = draw_table(prng, NAMES[number], left.min(4));
            left -= table.indexes.len();
            table
        })
        .collect();
    schema_of(tables)
}

/// Some of the tables that have a key become rings, drawn apart: histories of before stay as they
/// were.
fn with_rings(schema: &'static Schema<'static>, seed: u64) -> &'static Schema<'static> {
    let mut prng = Prng::new(seed ^ 0x0D15_EA5E);
    if !(seed % 3 == 2 || seed >= 100_000 && prng.below(4) > 0) {
        return schema;
    }
    let mut tables = schema.tables.to_vec();
    let mut left = RINGS_MAX;
    for table in tables.iter_mut().filter(|table| table.primary_key().is_some()) {
        if left > 0 && prng.below(3) > 0 {
            left -= 1;
            table.keep = Some(match prng.below(3) {
                0 => Keep::Rows(one(&mut prng, &[1, 20, 300])),
                1 => Keep::Bytes(one(&mut prng, &[1, 20_000, 200_000])),
                _ => Keep::Time(one(&mut prng, &[10, 100, 100_000])),
            });
        }
    }
    schema_of(tables)
}

/// Some of the tables that have no key lose their indexes, too, so that a database may have none.
fn without_indexes(schema: &'static Schema<'static>, seed: u64) -> &'static Schema<'static> {
    let mut prng = Prng::new(seed ^ 0x1D1E_0000);
    let mut tables = schema.tables.to_vec();
    for table in tables.iter_mut().filter(|table| table.primary_key().is_none()) {
        if seed >= constraints::FROM && prng.below(2) == 0 {
            table.indexes = &[];
        }
    }
    schema_of(tables)
}

/// Some tables get an ordered index over several columns, one of them a text or blob at most: of
/// longer keys the end is not compared.
fn with_ranges(schema: &'static Schema<'static>, seed: u64) -> &'static Schema<'static> {
    if seed < queries::FROM {
        return schema;
    }
    let mut prng = Prng::new(seed ^ 0x5EED_0003);
    let mut tables = schema.tables.to_vec();
    for number in 0..tables.len() {
        let Table { columns, indexes, .. } = tables[number];
        let is_long = |column: &u8| {
            matches!(columns[usize::from(*column)].kind, ColumnType::Text | ColumnType::Blob)
        };
        let mut key: Vec<u8> = Vec::new();
        for _ in 0..2 + prng.below(2) {
            let column = prng.below(columns.len() as u64) as u8;
            let fits = !is_long(&column) || !key.iter().any(is_long);
            if fits && !key.contains(&column) {
                key.push(column);
            }
        }
        if key.len() < 2 || prng.below(3) == 0 {
            continue;
        }
        let index = Index { columns: leak(key), kind: IndexKind::Ordered, is_unique: false };
        let before = tables[number];
        tables[number].indexes = leak([indexes, &[index]].concat());
        if (Schema { tables: &tables }).check().is_err() {
            tables[number] = before;
        }
    }
    schema_of(tables)
}

fn draw_table(prng: &mut Prng, name: &'static str, indexes_max: usize) -> Table<'static> {
    let key_columns = 1 + usize::from(prng.below(5) == 0);
    let columns = key_columns + 1 + prng.below(4) as usize;
    let columns: Vec<Column<'static>> = (0..columns)
        .map(|number| {
            let is_key = number < key_columns;
            let kind = if is_key { one(prng, &KEYS) } else { one(prng, &TYPES) };
            let is_nullable = !is_key && prng.below(4) == 0;
            Column { name: NAMES[number], kind, is_nullable }
        })
        .collect();
    let mut indexes = Vec::new();
    if prng.below(10) > 0 {
        let is_ordered = key_columns == 1 && prng.below(2) == 0;
        let kind = if is_ordered { IndexKind::Ordered } else { IndexKind::Hash };
        let key: &'static [u8] = if key_columns == 1 { &[0] } else { &[1, 0] };
        indexes.push(Index { columns: key, kind, is_unique: true });
    }
    for _ in 0..prng.below(3) {
        let column = prng.below(columns.len() as u64) as u8;
        let kind = one(prng, &[IndexKind::Ordered, IndexKind::Hash]);
        // A unique ordered index over text takes what agrees in eight bytes for equal.
        let kinds = [ColumnType::Integer, ColumnType::Time, ColumnType::Real];
        let may_be_unique = kinds.contains(&columns[usize::from(column)].kind);
        let is_unique = !indexes.is_empty() && may_be_unique && prng.below(3) == 0;
        if indexes.len() < indexes_max {
            indexes.push(Index { columns: leak(vec![column]), kind, is_unique });
        }
    }
    if indexes.is_empty() && indexes_max > 0 {
        indexes.push(Index { columns: &[0], kind: IndexKind::Hash, is_unique: false });
    }
    let may_be_zone =
        |column: &Column<'_>| matches!(column.kind, ColumnType::Integer | ColumnType::Time);
    let zone = columns.iter().position(may_be_zone).map(|column| column as u8);
    Table {
        name,
        columns: leak(columns),
        indexes: leak(indexes),
        zone: zone.filter(|_| prng.below(2) == 0),
        keep: None,
    }
}
