//! Cargo: the origins of the bytes that an operation of the chip concerns.
//!
//! A program that writes files gives a number, the origin, to each kind of data that it wants to
//! distinguish. The [`Ledger`] then follows the bytes: the file system reports where it stores a
//! part of a file, and which part of its address space a program of the chip writes. So the origins
//! of the bytes of each program, read and erase are known.
//!
//! Addresses are those of the file system. On raw flash they are its own; with UBI or a translation
//! layer in between, they are those of the volume or disk. That layer reports which address a
//! program writes, also when it copies data.

use std::collections::BTreeMap;

use flysch_nand::Geometry;

use super::event::EventKind;

/// The number of an origin. The writer of the bytes chooses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin(pub u32);

/// Origins, each with a number of bytes.
pub type Shares = Vec<(Origin, u32)>;

/// The origins of the bytes of each event of a trace, in the order of the events. Metadata of file
/// systems has no origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cargo {
    shares: Shares,
    ends: Vec<usize>,
}

impl Cargo {
    /// Append the cargo of the next event.
    pub fn push(&mut self, shares: impl IntoIterator<Item = (Origin, u32)>) {
        self.shares.extend(shares);
        self.ends.push(self.shares.len());
    }

    /// The cargo of the event at `place`. Empty if it is not known.
    pub fn of(&self, place: usize) -> &[(Origin, u32)] {
        let begin = if place == 0 { Some(0) } else { self.ends.get(place - 1).copied() };
        match (begin, self.ends.get(place)) {
            (Some(begin), Some(&end)) => &self.shares[begin..end],
            _ => &[],
        }
    }

    /// Remove the cargo of all events but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.shares.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

/// A file: its number, and the name of the file system. The number comes first because it
/// distinguishes most files.
type FileKey = (u32, &'static str);

/// Follows bytes from files to pages of the chip.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    geometry: Geometry,
    files: BTreeMap<FileKey, Ranges>,
    stored: Ranges,
    /// The address in the file system whose content the next program writes. None if it is not
    /// known.
    shipping: Option<u64>,
    /// The origin of what is being written to byte-addressable memory.
    writing: Option<Origin>,
    /// The content of the chip's pages, by origin.
    pages: Vec<Load>,
    pub(super) cargo: Cargo,
}

impl Ledger {
    pub(super) fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            files: BTreeMap::new(),
            stored: Ranges::default(),
            shipping: None,
            writing: None,
            pages: Vec::new(),
            cargo: Cargo::default(),
        }
    }

    pub(super) fn own(&mut self, file: FileKey, offset: u64, len: u64, origin: Origin) {
        self.files.entry(file).or_default().put(offset, len, Some(origin));
    }

    /// Note that a part of a file is stored in `size` bytes at an address. If the sizes differ, as
    /// after compression, the bytes are divided among the origins in proportion.
    pub(super) fn store(&mut self, file: FileKey, (offset, len): (u64, u64), at: u64, size: u64) {
        self.stored.put(at, size, None);
        let Some(ranges) = self.files.get(&file) else { return };
        let mut begin = 0;
        for (from, to, origin) in ranges.within(offset, len) {
            let (from, to) = ((from - offset) * size / len, (to - offset) * size / len);
            debug_assert!(begin <= from && to <= size, "parts are in order");
            begin = to;
            self.stored.put(at + from, to - from, Some(origin));
        }
    }

    /// Note that an address holds metadata of the file system.
    pub(super) fn clear(&mut self, at: u64, size: u64) {
        self.stored.put(at, size, None);
    }

    pub(super) fn ship(&mut self, at: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.shipping, at)
    }

    pub(super) fn write(&mut self, origin: Option<Origin>) -> Option<Origin> {
        std::mem::replace(&mut self.writing, origin)
    }

    /// Note the cargo of an operation.
    pub(super) fn record(&mut self, kind: EventKind, addr: u32) {
        match kind {
            EventKind::Program => self.program(addr),
            EventKind::Erase => self.erase(addr),
            EventKind::Read | EventKind::ReadOob | EventKind::ProgramOob | EventKind::BufferHit => {
                let load = usize::try_from(addr).ok().and_then(|page| self.pages.get(page));
                self.cargo.push(load.into_iter().flat_map(Load::shares));
            }
            EventKind::NvRead | EventKind::NvWrite | EventKind::NvErase => {
                self.cargo.push(self.writing.map(|origin| (origin, 1)));
            }
            EventKind::Mark => self.cargo.push(None),
        }
    }

    fn program(&mut self, page: u32) {
        let Some(at) = self.shipping else { return self.cargo.push(None) };
        let size = u64::from(self.geometry.page_size);
        self.shipping = Some(at + size);
        let mut load = Load::default();
        for (from, to, origin) in self.stored.within(at, size) {
            load.add(origin, u32::try_from(to - from).expect("within a page"));
        }
        load.sort();
        self.cargo.push(load.shares());
        let page = page as usize;
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, Load::default);
        }
        if load.first.is_some() {
            self.pages[page] = load;
        }
    }

    fn erase(&mut self, block: u32) {
        let count = self.geometry.pages_per_block as usize;
        let first = (block as usize * count).min(self.pages.len());
        let end = (first + count).min(self.pages.len());
        let pages = self.pages[first..end].iter_mut().map(std::mem::take);
        let loads: Vec<Load> = pages.filter(|load| load.first.is_some()).collect();
        self.cargo.push(merged(loads.iter().flat_map(Load::shares)));
    }
}

/// The content of a page by origin: each origin once, with its number of bytes. Most pages have
/// only one.
#[derive(Clone, Debug, Default)]
struct Load {
    first: Option<(Origin, u32)>,
    others: Shares,
}

impl Load {
    fn add(&mut self, origin: Origin, bytes: u32) {
        let Some(first) = &mut self.first else {
            self.first = Some((origin, bytes));
            return;
        };
        let known = std::iter::once(first).chain(&mut self.others);
        match known.into_iter().find(|(known, _)| *known == origin) {
            Some((_, sum)) => *sum += bytes,
            None => self.others.push((origin, bytes)),
        }
    }

    /// Put the origins in order.
    fn sort(&mut self) {
        if !self.others.is_empty() {
            self.others.extend(self.first);
            self.others.sort_unstable();
            self.first = Some(self.others.remove(0));
        }
    }

    fn shares(&self) -> impl Iterator<Item = (Origin, u32)> {
        self.first.iter().chain(&self.others).copied()
    }
}

/// The sum of the bytes of each origin.
fn merged(shares: impl IntoIterator<Item = (Origin, u32)>) -> Shares {
    let mut sums: BTreeMap<Origin, u32> = BTreeMap::new();
    for (origin, bytes) in shares {
        *sums.entry(origin).or_default() += bytes;
    }
    sums.into_iter().collect()
}

/// Bytes of an address space that are kept in one list. Files are mostly written in pieces of this
/// size.
const PIECE: u64 = 4096;

/// Ranges of bytes with their origins. For each piece of the address space: begin and end within
/// the piece, and the origin. Ranges do not overlap, and are in order.
#[derive(Clone, Debug, Default)]
struct Ranges(BTreeMap<u64, Vec<(u16, u16, Origin)>>);

impl Ranges {
    /// Set the origin of a range, or remove it if `origin` is None.
    fn put(&mut self, at: u64, len: u64, origin: Option<Origin>) {
        for (piece, begin, end) in pieces(at, len) {
            if let Some(parts) = self.0.get_mut(&piece) {
                cut(parts, begin, end);
            }
            let Some(origin) = origin else { continue };
            let parts = self.0.entry(piece).or_default();
            let place = parts.partition_point(|(from, ..)| *from < begin);
            parts.insert(place, (begin, end, origin));
        }
    }

    /// The parts of a range that have an origin, each with begin, end and origin.
    fn within(&self, at: u64, len: u64) -> impl Iterator<Item = (u64, u64, Origin)> {
        pieces(at, len).flat_map(move |(piece, begin, end)| {
            let parts = self.0.get(&piece).map_or(&[][..], Vec::as_slice).iter();
            let parts = parts.filter(move |(from, to, _)| *from < end && *to > begin);
            parts.map(move |&(from, to, origin)| {
                let base = piece * PIECE;
                (base + u64::from(from.max(begin)), base + u64::from(to.min(end)), origin)
            })
        })
    }
}

/// The pieces that a range lies in, each with the begin and end of the range within it.
fn pieces(at: u64, len: u64) -> impl Iterator<Item = (u64, u16, u16)> {
    let end = at + len;
    let within = |byte: u64| u16::try_from(byte).expect("a piece is small");
    let last = if len == 0 { at / PIECE } else { end.div_ceil(PIECE) };
    (at / PIECE..last).map(move |piece| {
        let base = piece * PIECE;
        (piece, within(at.max(base) - base), within(end.min(base + PIECE) - base))
    })
}

/// Remove a range from the parts of a piece.
fn cut(parts: &mut Vec<(u16, u16, Origin)>, begin: u16, end: u16) {
    if parts.iter().all(|(from, to, _)| *from >= begin && *to <= end) {
        return parts.clear();
    }
    let mut kept = Vec::with_capacity(parts.len() + 1);
    for &(from, to, origin) in parts.iter() {
        if from < begin.min(to) {
            kept.push((from, to.min(begin), origin));
        }
        if to > end.max(from) {
            kept.push((from.max(end), to, origin));
        }
    }
    *parts = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        page_size: 100,
        oob_size: 4,
        sectors_per_page: 1,
        partial_programs: 1,
        pages_per_block: 2,
        block_count: 4,
        in_order: true,
    };

    #[test]
    fn ranges_are_cut_and_kept() {
        let mut ranges = Ranges::default();
        ranges.put(0, 100, Some(Origin(1)));
        ranges.put(40, 20, Some(Origin(2)));
        ranges.put(90, 30, None);
        let parts: Vec<_> = ranges.within(30, 80).collect();
        let wanted = [(30, 40, Origin(1)), (40, 60, Origin(2)), (60, 90, Origin(1))];
        assert_eq!(parts, wanted);
    }

    #[test]
    fn bytes_are_followed_from_the_file_to_the_erase() {
        let mut ledger = Ledger::new(GEOMETRY);
        let file = (7, "fs");
        ledger.own(file, 0, 50, Origin(1));
        ledger.own(file, 50, 50, Origin(2));
        // The part is compressed to half its size, and follows 20 bytes of metadata.
        ledger.store(file, (0, 100), 1020, 50);
        ledger.ship(Some(1000));
        ledger.record(EventKind::Program, 3);
        ledger.record(EventKind::Program, 4);
        ledger.record(EventKind::Read, 3);
        ledger.record(EventKind::Erase, 1);
        ledger.record(EventKind::Read, 3);
        let both = [(Origin(1), 25), (Origin(2), 25)];
        let found: Vec<&[(Origin, u32)]> = (0..5).map(|place| ledger.cargo.of(place)).collect();
        assert_eq!(found, [&both[..], &[], &both, &both, &[]]);
    }
}
