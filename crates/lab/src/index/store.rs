//! The index store of the database engine as an index method, in the RAM that the bench gives it.
//! Entries are ordered by hash, or by keys of at most eight bytes.
//!
//! The store keeps codes and pointers. Two keys may share a code; entries with such a code carry a
//! flag. In the database, the check that a new key is unique finds the other key and so knows when
//! to set the flag. Here a map outside of the index replaces that check. It costs nothing, because
//! no method in this comparison checks uniqueness.

use std::collections::BTreeMap;

use flysch::media::{CELL_SIZE, Partition};
use flysch::row::HashKey;
use flysch::store::{
    Entry, IndexPlan, Order, Probe, Rows, SHARED, Solo, Store, StoreConfig, TAKE_BACK,
};
use flysch_indexes::ConfigError;
use flysch_nand::Geometry;

use super::chip_setup::{ChipSetup, Device};
use super::error::MethodError;
use super::method::{IndexMethod, MethodName, MethodSpec, Ram, check_key_size, check_page_size};
use super::records::{Place, records_per_page};

/// Default RAM in bytes: the paper's seven pages of 2 KiB.
const RAM: usize = 14_336;
/// Bytes of an entry in a run, at most.
const ENTRY_SIZE: u64 = 8;
/// Blocks in addition to those for entries: for write positions, and for runs that are being
/// merged.
const SPARE_BLOCKS: u64 = 16;

struct StoreMethod<'ram> {
    solo: Solo<'ram, Device>,
    /// The hash of keys. None if entries are ordered by keys.
    hash: Option<HashKey>,
    code_bits: u8,
    /// How many records one pointer stands for: one, or all of a page.
    span: u32,
    geometry: Geometry,
    /// Whether two keys may share a code although each has one row.
    may_meet: bool,
    /// Number of keys with each code. Only kept if `may_meet`.
    met: BTreeMap<u64, u32>,
}

/// The most blocks that the store needs. Its pages hold whole cells.
pub(super) fn block_count(spec: &MethodSpec, geometry: &Geometry) -> Result<u32, ConfigError> {
    let cell = u32::try_from(CELL_SIZE).expect("a cell is a part of a page");
    check_page_size(geometry, cell)?;
    let block = u64::from(geometry.page_size) * u64::from(geometry.pages_per_block);
    let size = u64::from(spec.keys) * ENTRY_SIZE * 3;
    // A pointer names a cell of a page in one of two spaces. If rows are updated, every record
    // needs a pointer of its own.
    let records = if spec.changes > 0 { u64::from(spec.keys) + u64::from(spec.changes) } else { 0 };
    let named = u64::from(geometry.page_size / cell) * 2 * u64::from(geometry.pages_per_block);
    let blocks = (size.div_ceil(block) + SPARE_BLOCKS).max(records.div_ceil(named));
    Ok(u32::try_from(blocks).unwrap_or(u32::MAX))
}

pub(super) fn with<T>(
    spec: &MethodSpec,
    setup: &ChipSetup,
    visit: impl FnOnce(&mut dyn IndexMethod) -> Result<T, MethodError>,
) -> Result<T, MethodError> {
    let geometry = setup.part.geometry;
    let is_ordered = spec.name == MethodName::StoreOrdered;
    if is_ordered {
        check_key_size(spec, size_of::<u64>())?;
    }
    let plan = IndexPlan {
        order: if is_ordered { Order::Key } else { Order::Hash },
        rows: if spec.rows_per_key > 1 { Rows::Many } else { Rows::One },
        is_updated: spec.changes > 0,
        levels: 3,
        capacity: spec.keys,
    };
    let lent = geometry.page_size as usize + CELL_SIZE;
    let ram = spec.ram.unwrap_or(RAM).saturating_sub(lent);
    let config = StoreConfig::plan(ram, &[plan], &geometry, geometry.block_count)?;
    let partition = Partition { first: 0, count: geometry.block_count };
    let mut memory = vec![0; Solo::<Device>::carved(&config, partition)];
    let span = if spec.changes > 0 { 1 } else { records_per_page(geometry.page_size) };
    visit(&mut StoreMethod {
        solo: Solo::new(setup.device(), partition, config, &mut memory),
        hash: (!is_ordered).then(|| HashKey::from_seed(setup.seed)),
        code_bits: plan.code_bits(),
        span,
        geometry,
        may_meet: spec.rows_per_key == 1 && !is_ordered,
        met: BTreeMap::new(),
    })
}

impl StoreMethod<'_> {
    fn code(&self, key: &[u8]) -> u64 {
        let Some(hash) = self.hash else {
            return key.iter().fold(0, |code, &byte| code << 8 | u64::from(byte));
        };
        let mut hash = hash.start();
        hash.write(key);
        hash.finish() >> (64 - self.code_bits)
    }

    fn put(&mut self, code: u64, record: u32, flags: u8) -> Result<(), MethodError> {
        let mask = u32::MAX >> (32 - self.solo.store().config().pointer_bits());
        let pointer = (record / self.span) & mask;
        self.solo.insert(&Entry { index: 0, code, pointer, flags })?;
        Ok(())
    }

    /// The flag for entries whose code several keys share; 0 otherwise.
    fn shared(&self, code: u64) -> u8 {
        if self.met.get(&code).is_some_and(|count| *count > 1) { SHARED } else { 0 }
    }
}

impl IndexMethod for StoreMethod<'_> {
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        let code = self.code(key);
        if self.may_meet {
            *self.met.entry(code).or_default() += 1;
        }
        self.put(code, record, self.shared(code))
    }

    fn update(&mut self, key: &[u8], old: u32, new: u32) -> Result<(), MethodError> {
        let code = self.code(key);
        let shared = self.shared(code);
        if shared > 0 {
            self.put(code, old, shared | TAKE_BACK)?;
        }
        self.put(code, new, shared)
    }

    fn delete(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        let code = self.code(key);
        self.put(code, record, self.shared(code) | TAKE_BACK)
    }

    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError> {
        let code = self.code(key);
        let mut probe = Probe::new(self.solo.store().config(), 0, code);
        while let Some(entry) = self.solo.next(&mut probe)? {
            let pointer = entry.pointer;
            let place = if self.span == 1 { Place::Record(pointer) } else { Place::Page(pointer) };
            if is_there(place) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn valid_pages(&self) -> u32 {
        self.solo.store().run_count().1
    }

    fn ram(&self) -> Ram {
        let config = self.solo.store().config();
        Ram {
            own: config.carved() + self.geometry.page_size as usize + CELL_SIZE,
            tables: self.geometry.block_count as usize * 2,
            fields: size_of::<Store<'_>>(),
        }
    }
}
