//! BFTL: a B-tree whose nodes are stored as index units, scattered over the pages of a log. For
//! each node, a list in RAM names the pages that hold its units.
//!
//! Wu, Chang, Kuo: An efficient B-tree layer for flash-memory storage systems, RTCSA 2003, with the
//! sizes of the `PBFilter` paper (Tables 2 to 5). It writes to a log of its own on the bare chip,
//! so that its figures do not include the cost of a translation layer.
//!
//! ```text
//! change ▸ index unit ▸ reservation buffer ─full▸ pages, the units of a node together
//! node translation table: node ▸ pages that hold units of it, oldest first
//! ```
//!
//! `unit` defines the bytes of an index unit, `content` the entries that the units of a node
//! define, and `table` the node translation table with its buffer and its log.
//!
//! 1. The units of a node apply in order: those of older pages first, those of the buffer last.
//! 2. A list that is longer than C pages is compacted: the entries of the node are written anew.

mod content;
mod table;
mod unit;

use flysch_indexes::ConfigError;
use flysch_nand::Geometry;

use self::table::Tables;
use self::unit::{NodeId, Op, Shape};
use super::chip_setup::ChipSetup;
use super::error::MethodError;
use super::method::{IndexMethod, MethodName, MethodSpec, Ram};
use super::page_log::PageLog;
use super::records::Place;

/// Default RAM of the buffers in pages: seven, as in the paper's configuration B. The node
/// translation table comes in addition and grows without a limit.
const BUFFERS: usize = 7;
/// The least pages of RAM: the reservation buffer, a page that is read or built, and the entries of
/// a node.
const BUFFERS_MIN: usize = 3;

struct Bftl {
    tables: Tables,
    root: NodeId,
    /// Number of levels, including the leaves.
    height: u32,
}

/// Number of blocks that the log needs. Pages are freed only by compaction, so there is room for
/// twice the units of all keys and splits, and as much again for lists that are compacted while
/// their old pages are still listed.
pub(super) fn block_count(spec: &MethodSpec, geometry: &Geometry) -> u32 {
    let entries = u64::from(spec.keys) + 2 * u64::from(spec.changes);
    let pages = entries * 4 / Shape::new(spec.key_size, geometry).per_page.max(1) as u64;
    let blocks = pages / u64::from(geometry.pages_per_block) + 16;
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

pub(super) fn with<T>(
    spec: &MethodSpec,
    setup: &ChipSetup,
    visit: impl FnOnce(&mut dyn IndexMethod) -> Result<T, MethodError>,
) -> Result<T, MethodError> {
    let geometry = setup.part.geometry;
    let page_size = geometry.page_size as usize;
    super::method::check_key_size(spec, Shape::key_size_max(&geometry))?;
    let given = spec.ram.unwrap_or(BUFFERS * page_size);
    let needed = BUFFERS_MIN * page_size;
    ConfigError::check_ram(needed, given)?;
    let list_max = match spec.name {
        MethodName::Bftl2 => Some(spec.tuning.list_max.max(1) as usize),
        _ => None,
    };
    let log = PageLog::new(setup.device())?;
    let shape = Shape::new(spec.key_size, &geometry);
    let mut tables = Tables::new(log, shape, given / page_size, list_max);
    let root = tables.add();
    visit(&mut Bftl { tables, root, height: 1 })
}

impl Bftl {
    /// The nodes on the path from the root to the leaf of a key. Cost: reads the pages of each
    /// inner node's list.
    fn descend(&mut self, key: &[u8]) -> Result<Vec<NodeId>, MethodError> {
        let mut path = vec![self.root];
        let mut node = self.root;
        for _ in 1..self.height {
            node = self.tables.load(node)?.child(key);
            path.push(node);
        }
        Ok(path)
    }

    /// Add an entry to the last node of a path. Splits full nodes from there up to the root.
    fn add(&mut self, mut path: Vec<NodeId>, key: &[u8], pointer: u32) -> Result<(), MethodError> {
        let (mut key, mut pointer) = (key.to_vec(), pointer);
        while let Some(node) = path.pop() {
            let mut content = self.tables.load(node)?;
            content.insert(&key, pointer);
            self.tables.put(Op::Insert, node, &key, pointer)?;
            if content.len() <= self.tables.capacity() {
                return Ok(());
            }
            let upper = content.split_off(content.len() / 2);
            let neighbour = self.tables.add();
            for (key, pointer) in upper.entries() {
                self.tables.put(Op::Insert, neighbour, key, pointer)?;
            }
            key = upper.least().to_vec();
            pointer = neighbour;
            self.tables.put(Op::Cut, node, &key, 0)?;
        }
        let root = self.tables.add();
        self.tables.put(Op::Insert, root, &vec![0; key.len()], self.root)?;
        self.tables.put(Op::Insert, root, &key, pointer)?;
        self.root = root;
        self.height += 1;
        Ok(())
    }

    /// Add a unit to the leaf of a key. It must not make the leaf larger, so no split is needed.
    fn change(&mut self, op: Op, key: &[u8], pointer: u32) -> Result<(), MethodError> {
        let leaf = *self.descend(key)?.last().expect("a path begins with the root");
        self.tables.put(op, leaf, key, pointer)
    }
}

impl IndexMethod for Bftl {
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        let path = self.descend(key)?;
        self.add(path, key, record)
    }

    fn update(&mut self, key: &[u8], _old: u32, new: u32) -> Result<(), MethodError> {
        self.change(Op::Insert, key, new)
    }

    fn delete(&mut self, key: &[u8], _record: u32) -> Result<(), MethodError> {
        self.change(Op::Delete, key, 0)
    }

    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError> {
        let leaf = *self.descend(key)?.last().expect("a path begins with the root");
        let record = self.tables.find(leaf, key)?;
        Ok(record.is_some_and(|record| is_there(Place::Record(record))))
    }

    fn valid_pages(&self) -> u32 {
        self.tables.page_count()
    }

    fn ram(&self) -> Ram {
        let ram = self.tables.ram();
        Ram { fields: ram.fields + size_of::<Self>(), ..ram }
    }
}
