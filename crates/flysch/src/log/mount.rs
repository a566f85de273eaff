//! Finding the database at a mount: the newest root, its last list, the last record.
//!
//! Nothing is programmed or erased here. What is found may rest on pages that were being programmed
//! when the power went: these may read differently the next time.

use flysch_nand::Nand;

use super::body::{self, NUMBER_MAX, Preface};
use super::error::{Halt, MountError};
use super::front::{CELLS_MAX, Front, List};
use super::moves::Moves;
use super::root::{self, Named, Seen};
use super::sight::Sights;
use super::stream::{Gone, Place, Reader, Source, StreamError, part_of};
use super::table::{self, blocks_ahead};
use super::{CHAIN_MAX, CHECKPOINT, HAS_NVRAM, Log, Next, NvLog, STOPPED, lost, name_of};
use crate::media::{Kind, Media, Sight};
use crate::row::Schema;

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) preface: Preface,
    /// Bytes of the state of the rows and the index store.
    pub(crate) state_len: usize,
}

/// What a mount found and cannot be sure of, until the first write makes it certain.
#[derive(Debug)]
pub(crate) struct Doubt {
    /// Whether the last session ended with a close, so that nothing was being programmed.
    pub(crate) is_clean: bool,
    pub(super) sights: Sights,
}

impl Doubt {
    /// Nothing was looked at yet.
    pub(crate) const NONE: Self = Self { is_clean: false, sights: Sights::NONE };
}

/// How a database is made: what must be the same whenever it is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'s> {
    /// A digest of the schema and the options.
    pub(crate) identity: u32,
    pub(crate) schema: &'s Schema<'s>,
}

/// Buffers that the search fills.
pub(crate) struct Buffers<'a> {
    /// The memory of the tail.
    pub(crate) tail: &'a mut [u8],
    pub(crate) frame: &'a mut [u8],
    pub(crate) state: &'a mut [u8],
}

/// The `NvRam` that takes commits, if there is one.
pub(crate) type Nvram<'a, 'ram> = Option<&'a mut NvLog<'ram>>;

/// Find the database, and put what is found to `log` and `doubt`. Nothing is programmed or erased.
/// Cost: some 40 reads, see `docs/design.md`.
#[inline(never)]
pub(crate) fn find<'s, N: Nand>(
    media: &mut Media<'_, N>,
    made: Made<'s>,
    Buffers { tail, frame, state }: Buffers<'_>,
    mut nvram: Nvram<'_, '_>,
    (log, doubt): (&mut Log<'s>, &mut Doubt),
) -> Result<Found, MountError> {
    media.draw_anew();
    doubt.sights.look(media, frame)?;
    loop {
        let buffers = Buffers { tail: &mut *tail, frame: &mut *frame, state: &mut *state };
        match find_among(media, made, buffers, &mut nvram, (&mut *log, &mut *doubt)) {
            Err(Halt::Gone(Gone { block, kind: Kind::Root, .. })) => {
                if !doubt.sights.forget(u32::from(block)) {
                    return Err(MountError::Broken);
                }
            }
            Err(Halt::Gone(_)) => return Err(MountError::Broken),
            Err(Halt::Error(error)) => return Err(error),
            Ok(found) => return Ok(found),
        }
    }
}

/// Find the database by the newest of the visible roots.
#[inline(never)]
fn find_among<'s, N: Nand>(
    media: &mut Media<'_, N>,
    made: Made<'s>,
    Buffers { tail, frame, state }: Buffers<'_>,
    nvram: &mut Nvram<'_, '_>,
    (log, doubt): (&mut Log<'s>, &mut Doubt),
) -> Result<Found, Halt> {
    let mut front = Front::NONE;
    let mut lists = [None; 2];
    begin(media, &mut doubt.sights, made, frame, (&mut *log, &mut front, &mut lists))?;
    let mut found = Finding { log, front: &front, media, frame, tail };
    let record = found.read_last(&lists, state)?;
    found.done(record, nvram.as_deref_mut(), state, doubt)
}

/// Find the newest root and what it says of the log, and the lists that may be in use, the newest
/// first.
#[inline(never)]
fn begin<'s, N: Nand>(
    media: &mut Media<'_, N>,
    sights: &mut Sights,
    made: Made<'s>,
    frame: &mut [u8],
    (log, front, lists): (&mut Log<'s>, &mut Front, &mut [Option<List>; 2]),
) -> Result<(), Halt> {
    let newest = newest_of(media, sights, front, frame)?;
    check(media, (&newest, front), made, frame)?;
    media.salt = front.salt;
    *log = Log::NONE;
    log.moves = Moves::of(media, &sights.anchors, (&newest, &front.cells, front.leaving), frame)?;
    if lost::has_newer_name(media, (front, sights), &newest, frame)? {
        return Err(MountError::Broken.into());
    }
    log.root_page = find_lists(media, &newest, (front, lists), frame)?;
    let epochs = sights.seen.iter().flatten().map(|seen| seen.epoch);
    (log.root, log.number) = (newest, newest.epoch);
    log.epoch = epochs.max().unwrap_or(newest.epoch);
    log.go_to(&front.list, 0);
    log.cells = front.cells;
    (log.page, log.ahead, log.record_pages) = (u32::from(front.ahead), front.ahead, 1);
    (log.salt, log.identity, log.schema) = (front.salt, front.identity, made.schema);
    Ok(())
}

/// The newest root, wherever it lies, and its front.
#[inline(never)]
fn newest_of<N: Nand>(
    media: &mut Media<'_, N>,
    sights: &mut Sights,
    front: &mut Front,
    frame: &mut [u8],
) -> Result<Seen, Halt> {
    loop {
        let newest = match newest_good(media, &sights.seen) {
            Err(MountError::Missing) if sights.look_further(media, frame)? => continue,
            newest => newest?,
        };
        read_front(media, &newest, front, frame)?;
        if !sights.looks_again(media, (&newest, front), frame)? {
            return Ok(newest);
        }
    }
}

/// Read the front of a root.
#[inline(never)]
fn read_front<N: Nand>(
    media: &mut Media<'_, N>,
    root: &Seen,
    front: &mut Front,
    frame: &mut [u8],
) -> Result<(), StreamError> {
    let mut reader = Reader::open(root::place(root.block, root.epoch), frame, media)?;
    *front = Front::read(&mut reader, media)?;
    Ok(())
}

/// The newest root on a block that is not marked bad. A block is marked where a root could not be
/// written to it. What that failed program left may read as whole one time and not the next, so no
/// root there is believed.
#[inline(never)]
fn newest_good<N: Nand>(
    media: &mut Media<'_, N>,
    seen: &[Option<Seen>],
) -> Result<Seen, MountError> {
    let mut left = [None; CELLS_MAX];
    left[..seen.len()].copy_from_slice(seen);
    loop {
        let newest = left.iter().flatten().max_by_key(|seen| seen.epoch).copied();
        let newest = newest.ok_or(MountError::Missing)?;
        if !media.is_bad(newest.block)? {
            return Ok(newest);
        }
        // A root on a good block may have the same epoch.
        for seen in left.iter_mut().filter(|seen| **seen == Some(newest)) {
            *seen = None;
        }
    }
}

/// Refuse a database that was made otherwise than the caller says. Cost: none where it was not.
#[inline(never)]
fn check<N: Nand>(
    media: &mut Media<'_, N>,
    (root, front): (&Seen, &Front),
    made: Made<'_>,
    frame: &mut [u8],
) -> Result<(), Halt> {
    let partition = media.partition();
    if (front.first, front.count) != (partition.first, partition.count) {
        return Err(MountError::Partition.into());
    }
    if front.identity == made.identity {
        let size = made.schema.description_size();
        let is_sane = front.described.is_none_or(|described| usize::from(described) == size);
        return if is_sane { Ok(()) } else { Err(MountError::Broken.into()) };
    }
    let mut reader = Reader::open(root::place(root.block, root.epoch), frame, media)?;
    Front::read(&mut reader, media)?;
    Err(MountError::Schema(front.compare(made.schema, &mut reader, media)?).into())
}

/// Find the lists that may be in use, the newest first; returns the root's next page for a name.
#[inline(never)]
fn find_lists<N: Nand>(
    media: &mut Media<'_, N>,
    root: &Seen,
    (front, lists): (&Front, &mut [Option<List>; 2]),
    frame: &mut [u8],
) -> Result<u32, MountError> {
    let first = root.pages + 1;
    let (mut low, mut high) = (first, media.geometry().pages_per_block);
    while low < high {
        let middle = low.midpoint(high);
        if root::read_name(media, root, middle, frame)? == Named::Blank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // The power may have gone while the last name was programmed: then the name before it holds.
    let mut page = low;
    while page > first && page + 2 > low {
        page -= 1;
        if let Named::Lists(named) = root::read_name(media, root, page, frame)? {
            *lists = named.map(Some);
            return Ok(low);
        }
    }
    *lists = [Some(front.list), None];
    Ok(low)
}

/// The state of a search.
struct Finding<'a, 'ram, 's, N> {
    log: &'a mut Log<'s>,
    front: &'a Front,
    media: &'a mut Media<'ram, N>,
    frame: &'a mut [u8],
    tail: &'a mut [u8],
}

impl<N: Nand> Finding<'_, '_, '_, N> {
    #[inline(never)]
    fn done(
        &mut self,
        record: (Preface, usize),
        nvram: Nvram<'_, '_>,
        state: &mut [u8],
        doubt: &mut Doubt,
    ) -> Result<Found, Halt> {
        let (preface, state_len) = match nvram {
            Some(nvram) => nvram.replay(self.media, record, (self.tail, state))?,
            None if record.0.flags & HAS_NVRAM != 0 => return Err(MountError::NoNvRam.into()),
            None => record,
        };
        let goes_on = self.log.has_next() || self.log.next.is_named;
        let is_clean =
            preface.flags & STOPPED != 0 && goes_on && self.has_no_rival(&doubt.sights)?;
        self.log.claim_blocks(self.media);
        if !is_clean && self.log.is_succeeded(self.media, self.frame)? {
            return Err(MountError::Broken.into());
        }
        self.log.check(self.media);
        debug_assert!(self.log.logged() == 0, "the first record of a session has the whole tail");
        doubt.is_clean = is_clean;
        Ok(Found { preface, state_len })
    }

    /// Whether every root block that is not bad shows a confirmed root. One that does not may hold
    /// a root which an earlier mount began, and which may become visible at the next mount.
    fn has_no_rival(&mut self, sights: &Sights) -> Result<bool, Halt> {
        for (block, seen) in sights.iter() {
            let is_sure = seen.is_some_and(|seen| seen.is_confirmed);
            if !is_sure && self.log.is_root_block(block) && !self.media.is_bad(u32::from(block))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Read the last record of the newest list that has one, or else the root.
    #[inline(never)]
    fn read_last(
        &mut self,
        lists: &[Option<List>; 2],
        state: &mut [u8],
    ) -> Result<(Preface, usize), Halt> {
        for list in lists.iter().flatten() {
            if let Some(record) = self.read_list(list, state)? {
                // A root without a state was written in the midst of its log.
                self.log.moves.is_certain = self.front.has_state;
                return Ok(record);
            }
            // The list was named, but the power went before its first block was begun.
            if list.ordinal != self.log.list.ordinal {
                self.log.next.list = Some(*list);
                self.log.next.is_named = true;
            }
        }
        self.log.go_to(&self.front.list, 0);
        self.log.next = Next::NONE;
        self.read_root(state)
    }

    /// Read the last record of a list; None where the list has none.
    #[inline(never)]
    fn read_list(
        &mut self,
        list: &List,
        state: &mut [u8],
    ) -> Result<Option<(Preface, usize)>, Halt> {
        let mut below = list.len;
        while let Some(at) = self.last_block(list, below)? {
            self.log.go_to(list, at);
            match self.read_block(state) {
                // The power went while the block's first record was programmed: the last one is in
                // the block before.
                Err(Halt::Gone(Gone { page, kind: Kind::Record, .. }))
                    if page == u16::from(self.log.ahead) =>
                {
                    below = at;
                }
                record => return record.map(Some),
            }
            self.log.go_to(&self.front.list, 0);
        }
        Ok(None)
    }

    /// The place in the list of the last block, before place `below`, that begins with a record of
    /// its own ordinal; None where there is none.
    fn last_block(&mut self, list: &List, below: u8) -> Result<Option<u8>, Halt> {
        for at in (0..below).rev() {
            let block = u32::from(list.blocks[usize::from(at)]);
            let name = name_of(list.ordinal + u32::from(at));
            let first = self.first();
            let sight = self.media.look(block, first, name, self.frame)?;
            if let Sight::Page(header) = sight
                && header.kind == Kind::Record
                && self.is_whole(block, first, name.life, header.commit)?
            {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    #[inline(never)]
    fn is_whole(&mut self, block: u32, page: u32, life: u32, number: u32) -> Result<bool, Halt> {
        let place = Place { block, page, name: name_of(life), kind: Kind::Record, number };
        let opened = Reader::open(place, self.frame, self.media);
        match opened.and_then(|reader| reader.finish(self.media)) {
            Ok(_) => Ok(true),
            Err(StreamError::Broken | StreamError::Gone(_)) => Ok(false),
            Err(StreamError::Media(error)) => Err(error.into()),
        }
    }

    /// The page of a log block at which its first record begins.
    const fn first(&self) -> u32 {
        self.log.ahead as u32
    }

    fn place(&self, page: u32, number: u32) -> Place {
        let Log { list, at, .. } = &*self.log;
        let block = u32::from(list.blocks[usize::from(*at)]);
        let name = name_of(list.ordinal + u32::from(*at));
        Place { block, page, name, kind: Kind::Record, number }
    }

    /// One behind the last page of the block that is not blank. One blank page may lie before it:
    /// the second stop page of a close that was cut, which was seen at one mount.
    fn end(&mut self) -> Result<u32, Halt> {
        let (mut low, mut high) = (self.first() + 1, self.media.geometry().pages_per_block);
        while low < high {
            let middle = low.midpoint(high);
            if self.is_blank(middle)? && self.is_blank(middle + 1)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    fn is_blank(&mut self, page: u32) -> Result<bool, Halt> {
        if page >= self.media.geometry().pages_per_block {
            return Ok(true);
        }
        let Place { block, name, .. } = self.place(page, 0);
        Ok(self.media.look(block, page, name, self.frame)? == Sight::Blank)
    }

    /// The last whole record that ends before page `end`, by its first page and its number; None
    /// where there is none.
    #[inline(never)]
    fn record_before(&mut self, end: u32) -> Result<Option<(u32, u32)>, Halt> {
        debug_assert!(end <= self.media.geometry().pages_per_block, "what is sought is there");
        let mut page = end;
        while page > self.first() {
            page -= 1;
            let Place { block, name, .. } = self.place(page, 0);
            let Sight::Page(header) = self.media.look(block, page, name, self.frame)? else {
                continue;
            };
            let (is_last, part) = part_of(&header);
            let is_record = header.kind == Kind::Record && header.commit <= NUMBER_MAX;
            if !is_record || !is_last || part + self.first() > page {
                continue;
            }
            if part == 0 || self.is_whole(block, page - part, name.life, header.commit)? {
                return Ok(Some((page - part, header.commit)));
            }
        }
        Ok(None)
    }

    /// Read the block's last record, and the records before it that hold parts of its tail.
    #[inline(never)]
    fn read_block(&mut self, state: &mut [u8]) -> Result<(Preface, usize), Halt> {
        let mut end = self.end()?;
        self.log.page = end;
        loop {
            match self.read_before(end, state) {
                // The power went while the last record was programmed: the one before it is the
                // last.
                Err(Halt::Gone(gone))
                    if gone.kind == Kind::Record && gone.is_between(self.first(), end) =>
                {
                    end = u32::from(gone.page);
                }
                record => break record,
            }
        }
    }

    /// Read the last record that ends before a page, and the records before it that hold parts of
    /// its tail.
    #[inline(never)]
    fn read_before(&mut self, end: u32, state: &mut [u8]) -> Result<(Preface, usize), Halt> {
        debug_assert!(self.first() < end, "a log block has a place for a record");
        let gone = Halt::Gone(self.place(self.first(), 0).into());
        let last = self.record_before(end)?.ok_or(gone)?;
        let mut chain = [last; CHAIN_MAX];
        let mut len = 1;
        loop {
            let (page, number) = chain[len - 1];
            if self.base_of(page, number)? == 0 {
                break;
            }
            if len == CHAIN_MAX {
                return Err(MountError::Broken.into());
            }
            let before = self.record_before(page)?;
            let follows = |before: &(u32, u32)| before.1 + 1 == number;
            chain[len] = before.filter(follows).ok_or(MountError::Broken)?;
            len += 1;
        }
        self.read_table()?;
        let mut reached = 0;
        for &(page, number) in chain[1..len].iter().rev() {
            reached = self.read_part(self.place(page, number), reached, None)?.1;
        }
        let record = self.read_part(self.place(last.0, last.1), reached, Some(state))?;
        self.log.number = last.1 + 1;
        Ok(record)
    }

    /// Where in the tail the part begins that a record holds.
    #[inline(never)]
    fn base_of(&mut self, page: u32, number: u32) -> Result<usize, StreamError> {
        let mut reader = Reader::open(self.place(page, number), self.frame, self.media)?;
        Ok(Preface::read(&mut reader, self.media)?.base)
    }

    /// Read the part of the tail in a record that follows one whose tail ended at `reached`, and
    /// with a buffer for it the state. Returns the bytes of the state; without a buffer where the
    /// tail ends.
    #[inline(never)]
    fn read_part(
        &mut self,
        place: Place,
        reached: usize,
        state: Option<&mut [u8]>,
    ) -> Result<(Preface, usize), StreamError> {
        let mut reader = Reader::open(place, self.frame, self.media)?;
        let source: &mut dyn Source<N> = &mut reader;
        if place.kind == Kind::Root {
            self.front.pass(source, self.media)?;
        }
        let preface = Preface::read(source, self.media)?;
        if preface.base != 0 && preface.base != reached {
            return Err(StreamError::Broken);
        }
        preface.read_tail(source, self.media, self.tail)?;
        let read = match state {
            Some(state) => body::read_flash(source, self.media, state)?.len(),
            None => preface.base + preface.len,
        };
        Ok((preface, read))
    }

    /// Load the block table from the checkpoint with which the block begins, or from the root.
    #[inline(never)]
    fn read_table(&mut self) -> Result<(), Halt> {
        let first = self.place(self.first(), 0);
        if self.read_own_table(first)? {
            return Ok(());
        }
        self.log.root_has_base = true;
        self.read_root_table()
    }

    /// Load the block table from the checkpoint at `first`; false where that is no checkpoint.
    #[inline(never)]
    fn read_own_table(&mut self, first: Place) -> Result<bool, Halt> {
        let sight = self.media.look(first.block, first.page, first.name, self.frame)?;
        let Sight::Page(header) = sight else { return Err(Halt::Gone(first.into())) };
        let place = self.place(first.page, header.commit);
        let mut reader = Reader::open(place, self.frame, self.media)?;
        let source: &mut dyn Source<N> = &mut reader;
        let preface = Preface::read(source, self.media)?;
        if preface.flags & CHECKPOINT == 0 {
            return Ok(false);
        }
        source.skip(self.media, preface.len)?;
        let ahead = blocks_ahead(self.media, self.log.ahead);
        body::read_table(source, self.media, ahead)?;
        table::read(self.media, place, self.frame)?;
        Ok(true)
    }

    #[inline(never)]
    fn read_root_table(&mut self) -> Result<(), Halt> {
        if !self.front.has_state {
            return Err(MountError::Broken.into());
        }
        let place = root::place(self.log.root.block, self.log.root.epoch);
        let mut reader = Reader::open(place, self.frame, self.media)?;
        let source: &mut dyn Source<N> = &mut reader;
        self.front.pass(source, self.media)?;
        let preface = Preface::read(source, self.media)?;
        source.skip(self.media, preface.len)?;
        Ok(body::read_table(source, self.media, 0)?)
    }

    /// Read everything from the root, where nothing was logged since the mount that wrote it.
    #[inline(never)]
    fn read_root(&mut self, state: &mut [u8]) -> Result<(Preface, usize), Halt> {
        self.read_root_table()?;
        let place = root::place(self.log.root.block, self.log.root.epoch);
        Ok(self.read_part(place, 0, Some(state))?)
    }
}
