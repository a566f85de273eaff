//! The tree in memory: a node is read when it is first needed.

use super::node::{Lprops, Nnode, Pnode, Spot};
use super::shape::{FANOUT, LptShape};
use crate::ubi::Ubi;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::MasterNode;

#[derive(Clone, Debug)]
pub(super) struct Cached<N> {
    pub node: N,
    pub dirty: bool,
}

#[derive(Clone, Debug)]
pub(in super::super) struct Lpt {
    pub(super) shape: LptShape,
    pub(super) first: u32,
    pub(super) main_first: u32,
    pub(super) pnodes: Vec<Option<Cached<Pnode>>>,
    /// The levels above the pnodes, the lowest first.
    pub(super) nnodes: Vec<Vec<Option<Cached<Nnode>>>>,
    pub(super) root: Option<(u32, u32)>,
    pub(super) head: (u32, u32),
    pub(super) table: Vec<(u32, u32)>,
    pub(super) table_at: (u32, u32),
    pub(super) save_at: (u32, u32),
    /// LEBs to be unmapped once the commit is on flash.
    pub(super) done_with: Vec<u32>,
    /// The places of pnodes that came into memory since [`Lpt::take_fresh`] asked last.
    fresh: Vec<u32>,
}

impl Lpt {
    /// The tree of a new file system, all of it in memory. `lprops` are the properties of its main
    /// LEBs.
    pub(in super::super) fn new(
        shape: LptShape,
        (first, main_first): (u32, u32),
        lprops: &[Lprops],
    ) -> Self {
        let mut lpt = Self::bare(shape, first, main_first);
        for (place, pnode) in lpt.pnodes.iter_mut().enumerate() {
            let empty = Lprops { free: lpt.shape.leb_size, ..Lprops::default() };
            let lprops = |n: usize| lprops.get(4 * place + n).copied().unwrap_or(empty);
            *pnode = Some(Cached { node: std::array::from_fn(lprops), dirty: true });
        }
        for level in &mut lpt.nnodes {
            level.fill(Some(Cached { node: Nnode::default(), dirty: true }));
        }
        lpt.table = vec![(lpt.shape.leb_size, 0); lpt.shape.lebs as usize];
        lpt.head = (first, 0);
        lpt
    }

    /// The tree that a master node refers to. Only its table is read.
    pub(in super::super) fn open(
        shape: LptShape,
        (first, main_first): (u32, u32),
        master: &MasterNode,
        ubi: &mut Ubi,
    ) -> Result<Self, Fault> {
        let mut lpt = Self::bare(shape, first, main_first);
        lpt.root = Some(master.lpt_root);
        lpt.head = master.lpt_head;
        lpt.table_at = master.lpt_table;
        lpt.save_at = master.lpt_save;
        let (lnum, offset) = lpt.head;
        let has_save = !lpt.shape.big || lpt.save_at.0 == 0 || lpt.contains(lpt.save_at.0);
        let is_whole = offset.is_multiple_of(lpt.shape.page_size) && offset <= lpt.shape.leb_size;
        if !(lpt.contains(lnum) && is_whole && has_save) {
            return Err(Fault::Damaged { lnum: 1, offset: 0 });
        }
        let bytes = lpt.read(ubi, lpt.table_at, lpt.shape.table_size)?;
        let (lnum, offset) = lpt.table_at;
        lpt.table = lpt.shape.parse_table(&bytes).ok_or(Fault::Damaged { lnum, offset })?;
        Ok(lpt)
    }

    fn bare(shape: LptShape, first: u32, main_first: u32) -> Self {
        let pnodes = vec![None; shape.counts[0] as usize];
        let nnodes = shape.counts[1..].iter().map(|&count| vec![None; count as usize]).collect();
        Self {
            shape,
            first,
            main_first,
            pnodes,
            nnodes,
            root: None,
            head: (first, 0),
            table: Vec::new(),
            table_at: (first, 0),
            save_at: (0, 0),
            done_with: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// Whether a LEB belongs to the area of the tree.
    pub(super) const fn contains(&self, lnum: u32) -> bool {
        lnum >= self.first && lnum < self.first + self.shape.lebs
    }

    /// The properties of a main LEB, which are read if need be.
    pub(in super::super) fn lprops(&mut self, lnum: u32, ubi: &mut Ubi) -> Result<Lprops, Fault> {
        let (place, part) = self.place_of(lnum);
        Ok(self.pnode(place, ubi)?.node[part])
    }

    /// The properties of a main LEB, if they are in memory.
    pub(in super::super) fn peek(&self, lnum: u32) -> Option<Lprops> {
        let (place, part) = self.place_of(lnum);
        self.pnodes[place as usize].as_ref().map(|pnode| pnode.node[part])
    }

    /// Change the properties of a main LEB, and make its nodes dirty.
    pub(in super::super) fn set_lprops(
        &mut self,
        lnum: u32,
        lprops: Lprops,
        ubi: &mut Ubi,
    ) -> Result<(), Fault> {
        let (place, part) = self.place_of(lnum);
        let pnode = self.pnode(place, ubi)?;
        let old = std::mem::replace(&mut pnode.node[part], lprops);
        let changed = (old.free, old.dirty, old.index) != (lprops.free, lprops.dirty, lprops.index);
        if changed {
            pnode.dirty = true;
            let mut at = place;
            for level in &mut self.nnodes {
                at /= FANOUT;
                level[at as usize].as_mut().expect("read with its child").dirty = true;
            }
        }
        Ok(())
    }

    /// The main LEBs whose properties came into memory since this was asked last.
    pub(in super::super) fn take_fresh(&mut self) -> Vec<(u32, Lprops)> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh.into_iter().flat_map(|place| self.of_pnode(place)).collect()
    }

    /// A main LEB, if its properties are in memory, and those whose properties the same node holds.
    pub(in super::super) fn node_of(&self, lnum: u32) -> impl Iterator<Item = (u32, Lprops)> + '_ {
        self.of_pnode(self.place_of(lnum).0)
    }

    fn of_pnode(&self, place: u32) -> impl Iterator<Item = (u32, Lprops)> + '_ {
        let all = place * FANOUT..((place + 1) * FANOUT).min(self.shape.main_lebs);
        let lebs = all.map(|index| self.main_first + index);
        lebs.filter_map(|lnum| Some((lnum, self.peek(lnum)?)))
    }

    /// The first main LEB whose properties are not in memory. The search begins at `from` and wraps
    /// around.
    pub(in super::super) fn first_unknown(&self, from: u32) -> Option<u32> {
        let count = self.shape.counts[0];
        let start = from.saturating_sub(self.main_first) / FANOUT % count;
        let mut places = (start..count).chain(0..start);
        let place = places.find(|&place| self.pnodes[place as usize].is_none())?;
        Some(self.main_first + place * FANOUT)
    }

    fn place_of(&self, lnum: u32) -> (u32, usize) {
        let index = lnum - self.main_first;
        assert!(index < self.shape.main_lebs, "LEB {lnum} is not of the main area");
        (index / FANOUT, (index % FANOUT) as usize)
    }

    fn pnode(&mut self, place: u32, ubi: &mut Ubi) -> Result<&mut Cached<Pnode>, Fault> {
        if self.pnodes[place as usize].is_none() {
            let node = match self.child_spot(0, place, ubi)? {
                Some(at) => {
                    let bytes = self.read(ubi, at, self.shape.pnode_size)?;
                    let node = self.shape.parse_pnode(&bytes, place);
                    node.ok_or(Fault::Damaged { lnum: at.0, offset: at.1 })?
                }
                // A node that was never written: all its LEBs are empty.
                None => [Lprops { free: self.shape.leb_size, ..Lprops::default() }; 4],
            };
            self.pnodes[place as usize] = Some(Cached { node, dirty: false });
            self.fresh.push(place);
        }
        Ok(self.pnodes[place as usize].as_mut().expect("just read"))
    }

    /// Where on flash a node is. Its parent holds the answer, and is read first if need be.
    fn child_spot(&mut self, level: usize, place: u32, ubi: &mut Ubi) -> Result<Spot, Fault> {
        if level == self.nnodes.len() {
            return Ok(self.root);
        }
        let parent = place / FANOUT;
        if self.nnodes[level][parent as usize].is_none() {
            let node = match self.child_spot(level + 1, parent, ubi)? {
                Some(at) => {
                    let bytes = self.read(ubi, at, self.shape.nnode_size)?;
                    let number = self.shape.number(level + 1, parent);
                    let node = self.shape.parse_nnode(&bytes, self.first, number);
                    node.ok_or(Fault::Damaged { lnum: at.0, offset: at.1 })?
                }
                None => Nnode::default(),
            };
            self.nnodes[level][parent as usize] = Some(Cached { node, dirty: false });
        }
        let node = self.nnodes[level][parent as usize].as_ref().expect("just read");
        Ok(node.node[(place % FANOUT) as usize])
    }

    fn read(&self, ubi: &mut Ubi, (lnum, offset): (u32, u32), len: u32) -> Result<Vec<u8>, Fault> {
        let fits = self.contains(lnum)
            && offset.checked_add(len).is_some_and(|end| end <= self.shape.leb_size);
        if !fits {
            return Err(Fault::Damaged { lnum, offset });
        }
        let mut bytes = vec![0; len as usize];
        ubi.read(lnum, offset, &mut bytes)?;
        Ok(bytes)
    }
}
