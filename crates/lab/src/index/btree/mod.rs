//! A B+tree on a page-mapping translation layer, as a database on an SD card has it. Every node is
//! a page.
//!
//! `node` defines the bytes of a node, and `cache` keeps nodes in RAM.
//!
//! 1. The key of an entry in an inner node is the least key of its child. The first entry is an
//!    exception: its key stands for minus infinity.
//! 2. A full node is split in the middle. A leaf that grows at its end is split behind its last
//!    entry, so that ascending keys fill it.
//! 3. A node that deletions have emptied stays: nodes are never merged.

mod cache;
mod node;

use flysch_indexes::ConfigError;
use flysch_linux::ftl::{self, FtlOptions, Mapping, Victim};
use flysch_nand::Geometry;

use self::cache::NodeCache;
use self::node::{Shape, view, view_mut};
use super::chip_setup::ChipSetup;
use super::error::MethodError;
use super::method::{IndexMethod, MethodSpec, Ram};
use super::records::Place;

/// Default RAM in bytes: seven pages of 2 KiB, as in the paper's configuration B.
const RAM: usize = 14_336;
/// Nodes that are in RAM at the same time: the two halves of a split and one more.
const NODES_MIN: usize = 3;
/// How full nodes are when the device is sized, in percent. The mean of random keys is 69 (Yao
/// 1978), but the fill varies, because all leaves split at about the same time.
const FILL_PERCENT: u64 = 62;
/// The same for keys that come in runs of neighbouring values: each split leaves a half-full node
/// that gets no more keys.
const FILL_PERCENT_OF_STRETCHES: u64 = 45;
/// How far erase counts may differ before wear levelling moves data. The simulated cards use the
/// same value.
const WEAR_GAP: u32 = 64;
const SECTOR_SIZE: u32 = 512;
/// Spare blocks that the translation layer needs at least.
const SPARE_MIN: u32 = 6;

struct BTree {
    nodes: NodeCache,
    shape: Shape,
    root: u32,
    /// Number of levels, including the leaves.
    height: u32,
    page_limit: u32,
}

fn shape(spec: &MethodSpec, geometry: &Geometry) -> Shape {
    Shape::new(spec.key_size, geometry.page_size as usize)
}

/// The blocks that the tree needs, and the blocks of the device, which include spare ones.
fn sizes(spec: &MethodSpec, geometry: &Geometry) -> (u32, u32) {
    let capacity = shape(spec, geometry).capacity.max(2) as u64;
    let fill = if spec.in_stretches { FILL_PERCENT_OF_STRETCHES } else { FILL_PERCENT };
    let leaves = u64::from(spec.keys) * 100 / fill / capacity + 1;
    // Each level has fewer nodes than the one below by the fan-out: at least half the capacity.
    let nodes = leaves + leaves / (capacity / 2).max(2) * 2 + 8;
    let blocks = nodes.div_ceil(u64::from(geometry.pages_per_block));
    let percent = u64::from(spec.tuning.spare_percent.min(90));
    let spare = (blocks * percent).div_ceil(100 - percent).max(SPARE_MIN.into());
    (u32::try_from(blocks).unwrap_or(u32::MAX), u32::try_from(blocks + spare).unwrap_or(u32::MAX))
}

pub(super) fn block_count(spec: &MethodSpec, geometry: &Geometry) -> u32 {
    sizes(spec, geometry).1
}

pub(super) fn with<T>(
    spec: &MethodSpec,
    setup: &ChipSetup,
    visit: impl FnOnce(&mut dyn IndexMethod) -> Result<T, MethodError>,
) -> Result<T, MethodError> {
    let geometry = setup.part.geometry;
    let page_size = geometry.page_size as usize;
    super::method::check_page_size(&geometry, SECTOR_SIZE)?;
    super::method::check_key_size(spec, Shape::key_size_max(page_size))?;
    let (needed, given) = (NODES_MIN * page_size, spec.ram.unwrap_or(RAM.max(7 * page_size)));
    ConfigError::check_ram(needed, given)?;
    let (logical, block_count) = sizes(spec, &geometry);
    let options = FtlOptions {
        first_block: 0,
        block_count,
        spare_blocks: block_count - logical,
        sector_size: SECTOR_SIZE,
        wear_gap: WEAR_GAP,
        mapping: Mapping::Page { victim: Victim::Greedy },
    };
    let device = ftl::mount(Box::new(setup.device()), setup.recorder.clone(), options, &[])?;
    let page_limit = logical * geometry.pages_per_block;
    let mut nodes = NodeCache::new(device, given / page_size, page_size, page_limit);
    let root = nodes.add()?;
    view_mut(nodes.change(root)?, shape(spec, &geometry)).clear(true);
    visit(&mut BTree { nodes, shape: shape(spec, &geometry), root, height: 1, page_limit })
}

impl BTree {
    /// The nodes on the path from the root to the leaf of a key.
    fn descend(&mut self, key: &[u8]) -> Result<Vec<u32>, MethodError> {
        let mut path = vec![self.root];
        let mut page = self.root;
        for _ in 1..self.height {
            page = view(self.nodes.fetch(page)?, self.shape).child(key);
            path.push(page);
        }
        Ok(path)
    }

    /// Add an entry to the last node of a path. Splits full nodes from there up to the root.
    fn add(&mut self, mut path: Vec<u32>, key: &[u8], pointer: u32) -> Result<(), MethodError> {
        let (mut key, mut pointer) = (key.to_vec(), pointer);
        while let Some(page) = path.pop() {
            let mut node = view_mut(self.nodes.change(page)?, self.shape);
            if !node.is_full() {
                node.insert(&key, pointer);
                return Ok(());
            }
            let upper = node.split_off(&key, pointer);
            key = upper.least(self.shape).to_vec();
            pointer = self.nodes.add()?;
            view_mut(self.nodes.change(pointer)?, self.shape).fill(&upper);
        }
        self.grow(&key, pointer)
    }

    /// Make a new root above the old one and its new neighbour.
    fn grow(&mut self, key: &[u8], pointer: u32) -> Result<(), MethodError> {
        let root = self.nodes.add()?;
        let mut node = view_mut(self.nodes.change(root)?, self.shape);
        node.clear(false);
        node.insert(&vec![0; key.len()], self.root);
        node.insert(key, pointer);
        self.root = root;
        self.height += 1;
        Ok(())
    }

    fn leaf(&mut self, key: &[u8]) -> Result<u32, MethodError> {
        Ok(*self.descend(key)?.last().expect("a path begins with the root"))
    }
}

impl IndexMethod for BTree {
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        let path = self.descend(key)?;
        self.add(path, key, record)
    }

    fn update(&mut self, key: &[u8], _old: u32, new: u32) -> Result<(), MethodError> {
        let leaf = self.leaf(key)?;
        view_mut(self.nodes.change(leaf)?, self.shape).replace(key, new);
        Ok(())
    }

    fn delete(&mut self, key: &[u8], _record: u32) -> Result<(), MethodError> {
        let leaf = self.leaf(key)?;
        view_mut(self.nodes.change(leaf)?, self.shape).remove(key);
        Ok(())
    }

    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError> {
        let leaf = self.leaf(key)?;
        let record = view(self.nodes.fetch(leaf)?, self.shape).find(key);
        Ok(record.is_some_and(|record| is_there(Place::Record(record))))
    }

    fn valid_pages(&self) -> u32 {
        self.nodes.page_count()
    }

    fn ram(&self) -> Ram {
        let map = self.page_limit as usize * size_of::<u32>();
        Ram { own: self.nodes.ram_size(), tables: map, fields: size_of::<Self>() }
    }
}
