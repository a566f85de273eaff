//! The node translation table, the reservation buffer in front of it, and the log below it.

use super::super::error::MethodError;
use super::super::method::Ram;
use super::super::page_log::PageLog;
use super::content::Content;
use super::unit::{NodeId, Op, Shape, Unit, units_of};

/// The list of pages of each node, and the units that are not on flash yet.
pub(super) struct Tables {
    log: PageLog,
    shape: Shape,
    /// The pages of each node, oldest first.
    lists: Vec<Vec<u32>>,
    /// Units that are not on flash yet, in order.
    buffer: Vec<u8>,
    buffer_max: usize,
    /// The page that is being read or built.
    page: Vec<u8>,
    pages_given: usize,
    list_max: Option<usize>,
}

impl Tables {
    /// Tables with `pages` pages of RAM. Two of them hold a page being read and the entries of a
    /// node; the rest is the buffer.
    pub(super) fn new(log: PageLog, shape: Shape, pages: usize, list_max: Option<usize>) -> Self {
        let page_size = log.geometry().page_size as usize;
        let buffer_max = (pages - 2) * shape.per_page * shape.unit_size();
        let buffer = Vec::with_capacity(buffer_max);
        let page = vec![0; page_size];
        let lists = Vec::new();
        Self { log, shape, lists, buffer, buffer_max, page, pages_given: pages, list_max }
    }

    pub(super) const fn capacity(&self) -> usize {
        self.shape.per_page
    }

    /// Add a node without entries.
    pub(super) fn add(&mut self) -> NodeId {
        self.lists.push(Vec::new());
        u32::try_from(self.lists.len() - 1).expect("fewer than 2^32 nodes")
    }

    pub(super) const fn page_count(&self) -> u32 {
        self.log.live_count()
    }

    pub(super) fn ram(&self) -> Ram {
        let listed: usize = self.lists.iter().map(Vec::len).sum();
        Ram {
            own: self.pages_given * self.page.len() + listed * size_of::<u32>(),
            tables: self.log.table_size() + self.lists.len() * size_of::<u32>(),
            fields: size_of::<Self>(),
        }
    }

    /// The entries of a node. Cost: one read for each page of its list.
    pub(super) fn load(&mut self, node: NodeId) -> Result<Content, MethodError> {
        let mut content = Content::new(self.shape.key_size);
        for place in 0..self.lists[node as usize].len() {
            self.log.read(self.lists[node as usize][place], &mut self.page)?;
            units_of(&self.page, node, self.shape).for_each(|unit| content.apply(&unit));
        }
        self.buffered(node).for_each(|unit| content.apply(&unit));
        Ok(content)
    }

    /// The pointer that a leaf holds for a key. Cost: it reads the pages of the list, beginning
    /// with the newest, until one has a unit of this key.
    pub(super) fn find(&mut self, node: NodeId, key: &[u8]) -> Result<Option<u32>, MethodError> {
        let known = |unit: &Unit<'_>| unit.op != Op::Cut && unit.key == key;
        let pointer = |unit: Unit<'_>| (unit.op == Op::Insert).then_some(unit.pointer);
        if let Some(unit) = self.buffered(node).filter(known).last() {
            return Ok(pointer(unit));
        }
        for place in (0..self.lists[node as usize].len()).rev() {
            self.log.read(self.lists[node as usize][place], &mut self.page)?;
            if let Some(unit) = units_of(&self.page, node, self.shape).filter(known).last() {
                return Ok(pointer(unit));
            }
        }
        Ok(None)
    }

    /// Put a unit into the buffer. Cost: usually nothing. If the buffer is full, it is programmed,
    /// and the lists that become too long are read and programmed anew.
    pub(super) fn put(
        &mut self,
        op: Op,
        node: NodeId,
        key: &[u8],
        pointer: u32,
    ) -> Result<(), MethodError> {
        if self.buffer.len() == self.buffer_max {
            self.flush()?;
        }
        Unit { op, node, key, pointer }.emit(&mut self.buffer);
        Ok(())
    }

    fn buffered(&self, node: NodeId) -> impl Iterator<Item = Unit<'_>> {
        let units = self.buffer.chunks_exact(self.shape.unit_size());
        let units = units.filter_map(|bytes| Unit::parse(bytes, self.shape));
        units.filter(move |unit| unit.node == node)
    }

    /// Write the buffer to flash. The units of a node go to the same page if they fit.
    fn flush(&mut self) -> Result<(), MethodError> {
        let (buffer, shape) = (std::mem::take(&mut self.buffer), self.shape);
        let units = buffer.chunks_exact(shape.unit_size());
        let mut units: Vec<Unit<'_>> =
            units.filter_map(|bytes| Unit::parse(bytes, shape)).collect();
        units.sort_by_key(|unit| unit.node);
        let mut page = PageOfUnits::default();
        let mut touched = Vec::new();
        for group in units.chunk_by(|one, other| one.node == other.node) {
            touched.push(group[0].node);
            for part in group.chunks(shape.per_page) {
                self.pack(&mut page, part)?;
            }
        }
        self.write(&mut page)?;
        let is_long =
            |node: &NodeId| self.list_max.is_some_and(|max| self.lists[*node as usize].len() > max);
        let long: Vec<NodeId> = touched.into_iter().filter(is_long).collect();
        for node in long {
            self.compact(&mut page, node)?;
        }
        self.write(&mut page)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Add units of one node to a page. If they do not all fit, the page is written first.
    fn pack(&mut self, page: &mut PageOfUnits, units: &[Unit<'_>]) -> Result<(), MethodError> {
        if page.bytes.len() / self.shape.unit_size() + units.len() > self.shape.per_page {
            self.write(page)?;
        }
        page.nodes.push(units[0].node);
        for unit in units {
            unit.emit(&mut page.bytes);
        }
        Ok(())
    }

    /// Write the entries of a node anew. Cost: one read for each page of its list, plus its share
    /// of the programmed pages.
    fn compact(&mut self, page: &mut PageOfUnits, node: NodeId) -> Result<(), MethodError> {
        let content = self.load(node)?;
        let unit = |(key, pointer)| Unit { op: Op::Insert, node, key, pointer };
        let units: Vec<Unit<'_>> = content.entries().map(unit).collect();
        let old = std::mem::take(&mut self.lists[node as usize]);
        for part in units.chunks(self.shape.per_page) {
            self.pack(page, part)?;
        }
        page.replaced.extend(old);
        Ok(())
    }

    /// Write the page, then release the pages that it replaces.
    fn write(&mut self, page: &mut PageOfUnits) -> Result<(), MethodError> {
        let PageOfUnits { mut bytes, nodes, replaced } = std::mem::take(page);
        if !nodes.is_empty() {
            bytes.resize(self.page.len(), 0xFF);
            let users = u16::try_from(nodes.len()).expect("a page has fewer units");
            let place = self.log.append(&bytes, users)?;
            for node in nodes {
                self.lists[node as usize].push(place);
            }
        }
        for page in replaced {
            self.log.release(page);
        }
        Ok(())
    }
}

/// A page under construction. Its units are ordered by node.
#[derive(Default)]
struct PageOfUnits {
    bytes: Vec<u8>,
    nodes: Vec<NodeId>,
    /// Pages that this page replaces. Each loses one user once this page is written.
    replaced: Vec<u32>,
}
