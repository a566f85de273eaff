//! Roots: which is believed, which block takes the next, and how one is written.
//!
//! 1. The newest visible root is believed; the newest confirmed one is never touched by a mount.
//! 2. A mount writes to a root block on which no root is visible, else to the newest unconfirmed
//!    one, else to the oldest. Then it erases every other.

use std::rc::Rc;

use super::device::{Device, Done, PAGES, Page, Seen, Stop};
use super::engine::Engine;
use super::state::{Checkpoint, List};
use super::switches::Broken;

/// A root block as a mount sees it.
pub(crate) struct View {
    pub(crate) block: u8,
    pub(crate) root: Option<(u32, Rc<Checkpoint>)>,
    pub(crate) is_confirmed: bool,
    /// The root's own list, then those that it names.
    pub(crate) lists: Vec<List>,
    /// The lists on the last name page: the next one, and the one that was in use.
    pub(crate) named: Option<[List; 2]>,
    pub(crate) end: u8,
    /// The sequence number that its log leads to.
    pub(crate) seq: u32,
}

impl View {
    pub(crate) fn blank(block: u8) -> Self {
        Self {
            block,
            root: None,
            is_confirmed: false,
            lists: Vec::new(),
            named: None,
            end: 0,
            seq: 0,
        }
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.root.as_ref().map_or(0, |(epoch, _)| *epoch)
    }

    /// What makes one root newer than another.
    pub(crate) fn rank(&self) -> (u32, u32) {
        (self.seq, self.epoch())
    }
}

impl Engine {
    fn root_count(&self) -> usize {
        usize::from(self.config.root_count)
    }

    pub(crate) fn view_root(&mut self, block: u8) -> View {
        let mut view = View::blank(block);
        let mut first = None;
        let mut parts = 1;
        while view.end < parts {
            // As built, the parts between the first and the last are read of the root in force.
            if self.is_built() && view.end > 0 && view.end + 1 < parts {
                view.end += 1;
                continue;
            }
            let Seen::Page(page) = self.device.read(block, view.end) else { return view };
            let Page::Root { epoch, part, parts: count, checkpoint } = &*page else { return view };
            let is_next = *part == view.end
                && (view.end == 0 || first.as_ref().is_some_and(|(first, _)| first == epoch));
            if !is_next {
                return view;
            }
            parts = *count;
            view.end += 1;
            first = Some((*epoch, Rc::clone(checkpoint)));
        }
        let Some((epoch, checkpoint)) = first else { return view };
        view.root = Some((epoch, Rc::clone(&checkpoint)));
        view.lists.push(checkpoint.list);
        let confirm = self.device.read(block, view.end);
        view.is_confirmed = matches!(confirm,
            Seen::Page(page) if matches!(&*page, Page::Confirm { epoch: other } if *other == epoch));
        view.end += 1;
        if self.is_built() {
            self.view_names(&mut view, epoch);
            return view;
        }
        for page in view.end..PAGES {
            if let Seen::Page(content) = self.device.read(block, page)
                && let Page::Name { epoch: other, list, .. } = &*content
                && *other == epoch
            {
                view.lists.push(*list);
                view.end = page + 1;
            }
        }
        view
    }

    /// Whether the checkpoint of a root of which both ends were seen is whole.
    pub(crate) fn is_whole_root(&mut self, view: &View) -> bool {
        let Some((epoch, checkpoint)) = &view.root else { return false };
        let parts = if checkpoint.has_state { self.config.checkpoint_parts } else { 1 };
        (1..parts.saturating_sub(1)).all(|part| {
            matches!(self.device.read(view.block, part), Seen::Page(page)
                if matches!(&*page, Page::Root { epoch: other, part: at, .. }
                    if (other, *at) == (epoch, part)))
        })
    }

    /// The last name page of a root, or the one before it: the last may have been under way at a
    /// cut.
    fn view_names(&mut self, view: &mut View, epoch: u32) {
        let first = view.end;
        let is_blank =
            |device: &mut Device, page| matches!(device.read(view.block, page), Seen::Blank);
        let last = (first..PAGES).rev().find(|page| !is_blank(&mut self.device, *page));
        view.end = last.map_or(first, |last| last + 1);
        let reach = if self.is(Broken::LastNameOnly) { 1 } else { 2 };
        for page in (first..view.end).rev().take(reach) {
            if let Seen::Page(content) = self.device.read(view.block, page)
                && let Page::Name { epoch: other, list, used } = &*content
                && *other == epoch
            {
                view.named = Some([*list, *used]);
                return;
            }
        }
    }

    pub(crate) fn view_roots(&mut self) -> Vec<View> {
        let blocks = self.root_blocks;
        let mut views = Vec::with_capacity(4);
        for block in &blocks[..self.root_count()] {
            let view = self.view_root(*block);
            views.push(view);
        }
        views
    }

    fn target(&self, views: &[View]) -> Option<u8> {
        let is_good = |view: &&View| {
            !self.device.is_marked(view.block) && self.root_blocks.contains(&view.block)
        };
        let good: Vec<&View> = views.iter().filter(is_good).collect();
        // A root on a marked block is not believed: it needs not be kept.
        let counts = |view: &&View| !self.device.is_marked(view.block);
        let visible = || views.iter().filter(counts).filter(|view| view.root.is_some());
        if self.is(Broken::NaiveRoot) {
            return good.iter().min_by_key(|view| view.epoch()).map(|view| view.block);
        }
        let keep = visible()
            .filter(|view| view.is_confirmed)
            .max_by_key(|view| view.rank())
            .or_else(|| visible().min_by_key(|view| view.rank()))
            .map(|view| view.block);
        let others = || good.iter().filter(|view| Some(view.block) != keep);
        others()
            .find(|view| view.root.is_none())
            .or_else(|| others().filter(|view| !view.is_confirmed).max_by_key(|view| view.rank()))
            .or_else(|| others().min_by_key(|view| view.rank()))
            .map(|view| view.block)
    }

    /// Erase `block` and write a root of `self.last` with `list`, with its confirm page.
    pub(crate) fn write_root(&mut self, block: u8, epoch: u32, list: List) -> Done {
        self.top = self.top.max(epoch);
        self.device.erase(block)?;
        let parts = self.program_root(block, epoch, list, (self.last.clone(), true))?;
        self.confirm_root(block, parts, epoch, list)
    }

    /// Write a root into a block that is erased: with the state, or one that rests on the log.
    /// Gives its pages.
    pub(crate) fn program_root(
        &mut self,
        block: u8,
        epoch: u32,
        list: List,
        (copied, has_state): (Checkpoint, bool),
    ) -> Done<u8> {
        let cells = self.cells_of(block);
        let checkpoint = Rc::new(Checkpoint { list, has_state, cells, ..copied });
        let parts = if has_state { self.config.checkpoint_parts } else { 1 };
        for part in 0..parts {
            let checkpoint = Rc::clone(&checkpoint);
            self.device.program(block, part, Page::Root { epoch, part, parts, checkpoint })?;
        }
        Ok(parts)
    }

    /// Confirm a root: it is the one in force.
    pub(crate) fn confirm_root(&mut self, block: u8, parts: u8, epoch: u32, list: List) -> Done {
        if !self.is(Broken::NotConfirmed) {
            self.device.program(block, parts, Page::Confirm { epoch })?;
        }
        self.note_root(block, parts + 1, epoch, list);
        self.adopt_cells(block);
        Ok(())
    }

    /// The root of a mount, then nothing else is left on the root blocks.
    pub(crate) fn write_mount_root(&mut self, mut views: Vec<View>, mut list: List) -> Done {
        let mut epoch = views.iter().map(View::epoch).max().unwrap_or(0);
        let rivals = self.rivals();
        loop {
            epoch += 1;
            if !self.is_built() {
                list.id = list_id(self.seq, epoch);
            }
            let comes = self.move_targets().into_iter().next();
            let block = comes.or_else(|| self.target(&views));
            let block = block.ok_or(Stop::Breach("no root block is left"))?;
            match self.write_root(block, epoch, list) {
                Ok(()) => break,
                Err(Stop::Bad) => {
                    self.device.mark(block)?;
                    views.retain(|view| view.block != block);
                }
                Err(stop) => return Err(stop),
            }
        }
        self.list = list;
        let written = self.root.block;
        for block in rivals {
            let is_seen = |view: &View| view.block == block && view.root.is_some();
            let stays = self.is_built() && views.iter().any(is_seen);
            if block != written && !stays && !self.is(Broken::RivalsStay) {
                self.erase_root(block)?;
            }
        }
        Ok(())
    }

    /// A format: every root block gets a root, the first of them the last one.
    pub(crate) fn write_every_root(&mut self, mut list: List) -> Done {
        list.id = 0;
        for at in (0..self.root_count()).rev() {
            let (block, epoch) = (self.root_blocks[at], self.root.epoch + 1);
            self.write_root(block, epoch, list)?;
        }
        self.list = list;
        if let Some(anchors) = self.moves.anchors {
            self.device.erase(anchors[1])?;
            self.write_anchor(anchors[0], self.root_blocks)?;
        }
        self.begin_block()
    }

    /// Whether every root block that is not bad shows a confirmed root. One that does not may hold
    /// the root of a mount that was cut, which is seen the next time.
    pub(crate) fn has_no_rival(&self, views: &[View]) -> bool {
        let is_broken = self.is(Broken::RivalsOverlooked);
        let rivals = self.rivals();
        let mut counts = views.iter().filter(|view| rivals.contains(&view.block));
        is_broken || counts.all(|view| view.is_confirmed || self.device.is_marked(view.block))
    }

    fn erase_root(&mut self, block: u8) -> Done {
        if self.device.is_marked(block) {
            return Ok(());
        }
        match self.device.erase(block) {
            Err(Stop::Bad) => self.device.mark(block),
            other => other,
        }
    }

    /// In a session: the next root block takes a root that names `list`, the old one is erased.
    pub(crate) fn renew_root(&mut self, list: &mut List) -> Done {
        let old = self.root;
        let mut epoch = old.epoch;
        let count = self.root_count();
        let from = self.root_blocks.iter().position(|block| *block == old.block).unwrap_or(0);
        for step in 1..count {
            let block = self.root_blocks[(from + step) % count];
            if self.device.is_marked(block) {
                continue;
            }
            epoch += 1;
            list.id = list_id(self.seq, epoch);
            match self.write_root(block, epoch, *list) {
                Ok(()) => return self.erase_root(old.block),
                Err(Stop::Bad) => self.device.mark(block)?,
                Err(stop) => return Err(stop),
            }
        }
        Err(Stop::Breach("no root block is left"))
    }
}

/// The id of a root's own list; those that it names follow.
pub(crate) fn list_id(seq: u32, epoch: u32) -> u64 {
    u64::from(seq) << 32 | u64::from(epoch) << 8
}
