//! The memory table: the newest entries of all indexes, sorted, and packed to whole bytes.
//!
//! ```text
//! | hashed: committed | hashed: open | free … | ordered: open | ordered: committed |
//! ```
//!
//! An entry is one number made of index, code, pointer and flags, the index in the most significant
//! bits.
//!
//! 1. Each segment ascends by index and code. Entries of one code stand newest first in a unique
//!    index, and by pointer in others.
//! 2. The open segment is rolled back or committed as a whole.

use super::entry::{Entry, FLAG_BITS, INDEX_MAX, Shape, TAKE_BACK};

/// Bits of an index number.
const INDEX_BITS: u8 = 3;
const _: () = assert!(1 << INDEX_BITS == INDEX_MAX);

/// A part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Entries of the open transaction.
    Open,
    /// Entries of committed transactions.
    Committed,
}

/// One end of the table: that of hashed entries, or of ordered ones.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    code_bits: u8,
    pointer_bits: u8,
    entry_size: u8,
    /// Whether it grows from the end of the memory downwards.
    is_upper: bool,
    committed: u16,
    open: u16,
}

impl Side {
    fn new(code_bits: u8, pointer_bits: u8, is_upper: bool) -> Self {
        let bits = INDEX_BITS + code_bits + pointer_bits + FLAG_BITS;
        Self { code_bits, pointer_bits, entry_size: bits.div_ceil(8), is_upper, ..Self::default() }
    }

    const fn size(self) -> usize {
        (self.committed as usize + self.open as usize) * self.entry_size as usize
    }

    fn word(self, entry: &Entry) -> u128 {
        let code = u128::from(entry.index) << self.code_bits | u128::from(entry.code);
        let place = code << self.pointer_bits | u128::from(entry.pointer);
        place << FLAG_BITS | u128::from(entry.flags)
    }

    fn entry(self, word: u128) -> Entry {
        let place = word >> FLAG_BITS;
        let code = place >> self.pointer_bits;
        Entry {
            index: (code >> self.code_bits) as u8,
            code: (code & ((1 << self.code_bits) - 1)) as u64,
            pointer: (place & ((1 << self.pointer_bits) - 1)) as u32,
            flags: word as u8 & ((1 << FLAG_BITS) - 1),
        }
    }

    const fn range(self, segment: Segment) -> (usize, usize) {
        let committed = self.committed as usize;
        match segment {
            Segment::Committed => (0, committed),
            Segment::Open => (committed, committed + self.open as usize),
        }
    }
}

/// The sorted entries. Their memory is the caller's.
#[derive(Debug)]
pub(crate) struct Memtable<'ram> {
    bytes: &'ram mut [u8],
    sides: [Side; 2],
    shapes: [Shape; INDEX_MAX],
}

impl<'ram> Memtable<'ram> {
    pub(crate) fn new(bytes: &'ram mut [u8], shapes: &[Shape; INDEX_MAX]) -> Self {
        let widest = |is_ordered: bool, bits: fn(&Shape) -> u8| {
            shapes.iter().filter(|shape| shape.is_ordered() == is_ordered).map(bits).max()
        };
        let pointer_bits = shapes.iter().map(|shape| shape.pointer_bits).max().unwrap_or(0);
        let hashed = widest(false, |shape| shape.code_bits).unwrap_or(0);
        let sides = [Side::new(hashed, pointer_bits, false), Side::new(64, pointer_bits, true)];
        Self { bytes, sides, shapes: *shapes }
    }

    /// Bytes of an entry in this index.
    pub(crate) fn entry_size(&self, index: u8) -> usize {
        usize::from(self.sides[self.side_of(index)].entry_size)
    }

    /// Number of entries in both segments.
    pub(crate) fn len(&self) -> usize {
        self.sides.iter().map(|side| usize::from(side.committed + side.open)).sum()
    }

    /// Whether the open transaction has entries.
    pub(crate) fn has_open(&self) -> bool {
        self.sides.iter().any(|side| side.open > 0)
    }

    /// Bytes that are free.
    pub(crate) fn free_size(&self) -> usize {
        self.bytes.len() - self.sides[0].size() - self.sides[1].size()
    }

    /// The places of an index's entries in a segment: of the first, and one behind the last.
    pub(crate) fn places(&self, segment: Segment, index: u8) -> (usize, usize) {
        let from = self.find(segment, &Entry { index, ..Entry::default() });
        let (_, end) = self.sides[self.side_of(index)].range(segment);
        let mut others = index + 1..INDEX_MAX as u8;
        let next = others.find(|&next| self.side_of(next) == self.side_of(index));
        let to = next.map_or(end, |index| self.find(segment, &Entry { index, ..Entry::default() }));
        (from, to)
    }

    /// The first place in a segment whose entry does not come before `entry`. Flags are not
    /// compared.
    pub(crate) fn find(&self, segment: Segment, entry: &Entry) -> usize {
        let at = self.side_of(entry.index);
        let side = &self.sides[at];
        let is_unique = self.shapes[usize::from(entry.index)].is_unique;
        let shift = FLAG_BITS + if is_unique { side.pointer_bits } else { 0 };
        let wanted = side.word(entry) >> shift;
        let (mut low, mut high) = side.range(segment);
        while low < high {
            let middle = low.midpoint(high);
            if self.word(at, middle) >> shift < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The entry at a place, on the side of its index.
    pub(crate) fn entry(&self, index: u8, place: usize) -> Entry {
        let side = self.side_of(index);
        self.sides[side].entry(self.word(side, place))
    }

    /// Whether there is room for one more entry of an index.
    pub(crate) fn has_room(&self, index: u8) -> bool {
        self.free_size() >= self.entry_size(index)
    }

    /// Whether an entry can be put into the open segment: there is room for it, or it takes the
    /// place of another one. A mount puts entries in another order than the session did, so the
    /// last ones may come to a table that is full.
    pub(crate) fn takes(&self, entry: &Entry, keeps_all: bool) -> bool {
        let ends_another = || {
            let place = self.find(Segment::Open, entry);
            self.ended(Segment::Open, entry, place).is_some()
        };
        self.has_room(entry.index) || !keeps_all && ends_another()
    }

    /// Put an entry into the open segment. With `keeps_all` the entries that it replaces stay.
    pub(crate) fn put(&mut self, entry: &Entry, keeps_all: bool) {
        assert!(self.shapes[usize::from(entry.index)].takes(entry), "an entry fits its index");
        assert!(self.takes(entry, keeps_all), "a full table is flushed first");
        let at = self.side_of(entry.index);
        let word = self.sides[at].word(entry);
        self.insert(Segment::Open, at, word, keeps_all);
    }

    pub(crate) fn clear(&mut self) {
        self.sides.iter_mut().for_each(|side| (side.open, side.committed) = (0, 0));
    }

    /// Remove the entries of the open transaction.
    pub(crate) fn roll_back(&mut self) {
        self.sides.iter_mut().for_each(|side| side.open = 0);
    }

    /// Move the open entries to the committed ones. With `keeps_all` entries that they replace
    /// stay.
    pub(crate) fn commit(&mut self, keeps_all: bool) {
        for at in 0..self.sides.len() {
            while self.sides[at].open > 0 {
                let (_, end) = self.sides[at].range(Segment::Open);
                // The oldest entry of a code is moved first, so that the newest ends up in front.
                let word = self.word(at, end - 1);
                self.sides[at].open -= 1;
                self.insert(Segment::Committed, at, word, keeps_all);
            }
        }
    }

    /// Replace page `from` in all pointers by page `to`. The lower `shift` bits are those of the
    /// cell.
    pub(crate) fn rename(&mut self, from: u32, to: u32, shift: u8) {
        for at in 0..self.sides.len() {
            for segment in [Segment::Committed, Segment::Open] {
                self.rename_in(at, segment, (from, to), shift);
            }
        }
    }

    /// Remove the entries of a segment for which `keep` says no.
    pub(crate) fn retain(&mut self, segment: Segment, keep: impl Fn(&Entry) -> bool) {
        for at in 0..self.sides.len() {
            let (from, to) = self.sides[at].range(segment);
            let (_, end) = self.sides[at].range(Segment::Open);
            let mut kept = from;
            for place in from..end {
                let word = self.word(at, place);
                if place >= to || keep(&self.sides[at].entry(word)) {
                    self.write(at, kept, word);
                    kept += 1;
                }
            }
            let gone = (end - kept) as u16;
            match segment {
                Segment::Open => self.sides[at].open -= gone,
                Segment::Committed => self.sides[at].committed -= gone,
            }
        }
    }

    fn rename_in(&mut self, at: usize, segment: Segment, (from, to): (u32, u32), shift: u8) {
        let (start, end) = self.sides[at].range(segment);
        let cells = (1 << shift) - 1;
        for place in start..end {
            let side = self.sides[at];
            let entry = side.entry(self.word(at, place));
            if entry.pointer >> shift == from {
                let pointer = to << shift | entry.pointer & cells;
                self.write(at, place, side.word(&Entry { pointer, ..entry }));
            }
        }
        for place in start + 1..end {
            let word = self.word(at, place);
            let is_unique = self.shapes[usize::from(self.sides[at].entry(word).index)].is_unique;
            let mut to = place;
            while !is_unique && to > start && self.word(at, to - 1) > word {
                self.write(at, to, self.word(at, to - 1));
                to -= 1;
            }
            self.write(at, to, word);
        }
    }

    /// Insert an entry, as a number, at its place, and remove what it replaces.
    fn insert(&mut self, segment: Segment, at: usize, word: u128, keeps_all: bool) {
        let side = self.sides[at];
        let entry = side.entry(word);
        let place = self.find(segment, &entry);
        if !keeps_all && let Some(ended) = self.ended(segment, &entry, place) {
            let old = side.entry(self.word(at, ended));
            let is_unique = self.shapes[usize::from(entry.index)].is_unique;
            // A take-back of an older entry stays one.
            let is_needed = is_unique || old.is(TAKE_BACK) && !old.is_spent();
            let is_spent = entry.is(TAKE_BACK) && !is_needed;
            let word = if is_spent { side.word(&entry.spent()) } else { word };
            self.shift(at, ended, place, word);
            return;
        }
        let (_, end) = side.range(Segment::Open);
        for behind in (place..end).rev() {
            let moved = self.word(at, behind);
            self.write(at, behind + 1, moved);
        }
        self.write(at, place, word);
        match segment {
            Segment::Open => self.sides[at].open += 1,
            Segment::Committed => self.sides[at].committed += 1,
        }
    }

    /// The place of the older entry that `entry`, which is to be put at `place`, replaces; None
    /// where there is no such entry. What takes an entry back needs as much room as the entry:
    /// after a power cut that is there again.
    fn ended(&self, segment: Segment, entry: &Entry, place: usize) -> Option<usize> {
        let at = self.side_of(entry.index);
        let is_unique = self.shapes[usize::from(entry.index)].is_unique;
        let (_, end) = self.sides[at].range(segment);
        let words = (place..end).map(|place| (place, self.sides[at].entry(self.word(at, place))));
        let mut group = words.take_while(|(_, old)| {
            (old.index, old.code) == (entry.index, entry.code)
                && (is_unique || old.pointer == entry.pointer)
        });
        if entry.is(TAKE_BACK) {
            return group.find(|(_, old)| old.pointer == entry.pointer).map(|(place, _)| place);
        }
        // Rows of several keys may begin in one cell, so an entry that differs in its flags stays.
        let is_same =
            |old: &Entry| old.pointer == entry.pointer && (!is_unique || old.flags == entry.flags);
        let is_replaced =
            |old: &Entry| is_same(old) || is_unique && entry.is_sole() && old.is_sole();
        group.find(|(_, old)| is_replaced(old)).map(|(place, _)| place)
    }

    /// Put `word` at `to`, over the entry at `from` behind it; those between move by one.
    fn shift(&mut self, at: usize, from: usize, to: usize, word: u128) {
        debug_assert!(to <= from, "what is replaced comes behind");
        for place in (to..from).rev() {
            let moved = self.word(at, place);
            self.write(at, place + 1, moved);
        }
        self.write(at, to, word);
    }

    fn side_of(&self, index: u8) -> usize {
        usize::from(self.shapes[usize::from(index)].is_ordered())
    }

    fn offset(&self, at: usize, place: usize) -> usize {
        let Side { entry_size, is_upper, .. } = self.sides[at];
        let start = place * usize::from(entry_size);
        if is_upper { self.bytes.len() - start - usize::from(entry_size) } else { start }
    }

    fn word(&self, at: usize, place: usize) -> u128 {
        let size = usize::from(self.sides[at].entry_size);
        let mut word = [0; 16];
        word[..size].copy_from_slice(&self.bytes[self.offset(at, place)..][..size]);
        u128::from_le_bytes(word)
    }

    fn write(&mut self, at: usize, place: usize, word: u128) {
        let size = usize::from(self.sides[at].entry_size);
        let start = self.offset(at, place);
        self.bytes[start..start + size].copy_from_slice(&word.to_le_bytes()[..size]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::{SHARED, TOMBSTONE};
    use super::*;

    fn shapes() -> [Shape; INDEX_MAX] {
        let shape = Shape { code_bits: 24, pointer_bits: 17, is_unique: true };
        let mut shapes = [shape; INDEX_MAX];
        shapes[1].is_unique = false;
        shapes[2] = Shape { code_bits: 64, pointer_bits: 17, is_unique: true };
        shapes
    }

    fn entry(index: u8, code: u64, pointer: u32, flags: u8) -> Entry {
        Entry { index, code, pointer, flags }
    }

    fn listed(table: &Memtable<'_>, segment: Segment, index: u8, wanted: &[(u64, u32)]) {
        let (from, to) = table.places(segment, index);
        let pairs = (from..to).map(|place| {
            let entry = table.entry(index, place);
            assert_eq!(entry.index, index);
            (entry.code, entry.pointer)
        });
        assert!(pairs.eq(wanted.iter().copied()), "{segment:?} of index {index}");
    }

    #[test]
    fn the_newest_stands_first_and_replaces_what_is_not_shared() {
        let mut memory = [0; 200];
        let mut table = Memtable::new(&mut memory, &shapes());
        table.put(&entry(0, 5, 10, 0), false);
        table.put(&entry(0, 5, 11, SHARED), false);
        table.commit(false);
        table.put(&entry(0, 5, 12, 0), false);
        listed(&table, Segment::Open, 0, &[(5, 12)]);
        table.commit(false);
        listed(&table, Segment::Committed, 0, &[(5, 12), (5, 11)]);
        table.put(&entry(0, 5, 13, TOMBSTONE), true);
        table.put(&entry(2, u64::MAX, 3, 0), true);
        table.commit(true);
        listed(&table, Segment::Committed, 0, &[(5, 13), (5, 12), (5, 11)]);
        listed(&table, Segment::Committed, 2, &[(u64::MAX, 3)]);
        table.put(&entry(0, 5, 11, SHARED | TAKE_BACK), false);
        table.commit(false);
        listed(&table, Segment::Committed, 0, &[(5, 11), (5, 13), (5, 12)]);
    }

    #[test]
    fn many_rows_of_a_code_stand_by_pointer_and_go_by_pointer() {
        let mut memory = [0; 200];
        let mut table = Memtable::new(&mut memory, &shapes());
        for pointer in [7, 3, 9] {
            table.put(&entry(1, 5, pointer, 0), false);
        }
        table.commit(false);
        table.put(&entry(1, 5, 3, TAKE_BACK), false);
        table.put(&entry(1, 5, 8, TAKE_BACK), false);
        listed(&table, Segment::Open, 1, &[(5, 3), (5, 8)]);
        table.commit(false);
        // What is taken back keeps its room, and an entry that was elsewhere is not forgotten.
        listed(&table, Segment::Committed, 1, &[(5, 3), (5, 7), (5, 8), (5, 9)]);
        let is_spent = |table: &Memtable<'_>, wanted| {
            let place = table.find(Segment::Committed, &entry(1, 5, wanted, 0));
            table.entry(1, place).is_spent()
        };
        assert!(is_spent(&table, 3) && !is_spent(&table, 8));
        table.put(&entry(1, 4, 1, 0), false);
        table.roll_back();
        assert_eq!(table.len(), 4);
        for pointer in [3, 8] {
            table.put(&entry(1, 5, pointer, TAKE_BACK), false);
            table.commit(false);
        }
        assert!(is_spent(&table, 3) && !is_spent(&table, 8), "a second time");
    }

    #[test]
    fn a_page_is_renamed_and_order_kept() {
        let mut memory = [0; 200];
        let mut table = Memtable::new(&mut memory, &shapes());
        for pointer in [5 << 2 | 1, 6 << 2, 9 << 2 | 3] {
            table.put(&entry(1, 5, pointer, 0), false);
        }
        table.commit(false);
        table.rename(5, 7, 2);
        listed(&table, Segment::Committed, 1, &[(5, 24), (5, 29), (5, 39)]);
        table.retain(Segment::Committed, |entry| entry.pointer > 24);
        listed(&table, Segment::Committed, 1, &[(5, 29), (5, 39)]);
    }

    #[test]
    fn room_is_counted_from_both_ends() {
        let mut memory = [0; 40];
        let mut table = Memtable::new(&mut memory, &shapes());
        assert_eq!((table.entry_size(0), table.entry_size(2)), (6, 11));
        for n in 0..3 {
            table.put(&entry(2, n, 0, 0), false);
        }
        assert!(table.has_room(0));
        table.put(&entry(0, 9, 9, 0), false);
        assert!(!table.has_room(0));
        assert!(!table.takes(&entry(0, 8, 9, 0), false), "it is another one");
        assert!(table.takes(&entry(0, 9, 9, 0), false), "it takes the place of its like");
        assert!(!table.takes(&entry(0, 9, 9, 0), true), "its like stays");
        assert_eq!(table.free_size(), 1);
        listed(&table, Segment::Open, 2, &[(0, 0), (1, 0), (2, 0)]);
        listed(&table, Segment::Open, 0, &[(9, 9)]);
    }
}
