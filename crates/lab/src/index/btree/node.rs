//! The bytes of a node of the B+tree.
//!
//! ```text
//! 0            2           8
//! | count u16 | leaf u8 | key, pointer u32 | key, pointer u32 | ...    ascending keys
//! ```

use super::super::entries::{Entries, POINTER_SIZE};

const HEADER_SIZE: usize = 8;
/// A node must hold at least this many entries, so that it can be split.
const CAPACITY_MIN: usize = 4;

/// The sizes that follow from the key size and the page size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    key_size: usize,
    /// The most entries that a node may have.
    pub(super) capacity: usize,
}

impl Shape {
    pub(super) const fn new(key_size: usize, page_size: usize) -> Self {
        Self { key_size, capacity: (page_size - HEADER_SIZE) / (key_size + POINTER_SIZE) }
    }

    pub(super) const fn key_size_max(page_size: usize) -> usize {
        (page_size - HEADER_SIZE) / CAPACITY_MIN - POINTER_SIZE
    }

    const fn entry_size(self) -> usize {
        self.key_size + POINTER_SIZE
    }
}

/// The upper half of a node that was split.
#[derive(Debug)]
pub(super) struct Half {
    is_leaf: bool,
    entries: Vec<u8>,
}

impl Half {
    /// The least key of this half.
    pub(super) fn least(&self, shape: Shape) -> &[u8] {
        &self.entries[..shape.key_size]
    }
}

/// A view of the bytes of a node.
pub(super) struct Node<B> {
    bytes: B,
    shape: Shape,
}

pub(super) const fn view(bytes: &[u8], shape: Shape) -> Node<&[u8]> {
    Node { bytes, shape }
}

pub(super) const fn view_mut(bytes: &mut [u8], shape: Shape) -> Node<&mut [u8]> {
    Node { bytes, shape }
}

impl<B: AsRef<[u8]>> Node<B> {
    fn count(&self) -> usize {
        let bytes = self.bytes.as_ref();
        usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn is_leaf(&self) -> bool {
        self.bytes.as_ref()[2] != 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.count() == self.shape.capacity
    }

    fn entries(&self) -> Entries<'_> {
        let size = self.count() * self.shape.entry_size();
        Entries {
            bytes: &self.bytes.as_ref()[HEADER_SIZE..][..size],
            key_size: self.shape.key_size,
        }
    }

    /// The pointer that the node holds for a key.
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        let (place, is_it) = self.entries().search(key);
        is_it.then(|| self.entries().pointer(place))
    }

    /// The child node that contains a key.
    pub(super) fn child(&self, key: &[u8]) -> u32 {
        self.entries().child(key)
    }
}

impl Node<&mut [u8]> {
    /// Turn these bytes into an empty node.
    pub(super) fn clear(&mut self, is_leaf: bool) {
        self.bytes.fill(0);
        self.bytes[2] = u8::from(is_leaf);
    }

    /// Replace the entries of this node by those of a half.
    pub(super) fn fill(&mut self, half: &Half) {
        self.clear(half.is_leaf);
        self.bytes[HEADER_SIZE..][..half.entries.len()].copy_from_slice(&half.entries);
        self.count_entries(half.entries.len() / self.shape.entry_size());
    }

    /// Add an entry to a node that is not full. It replaces an entry with the same key.
    pub(super) fn insert(&mut self, key: &[u8], pointer: u32) {
        let (place, is_it) = self.entries().search(key);
        let (count, size) = (self.count(), self.shape.entry_size());
        if !is_it {
            let at = HEADER_SIZE + place * size;
            self.bytes.copy_within(at..HEADER_SIZE + count * size, at + size);
            self.bytes[at..at + key.len()].copy_from_slice(key);
            self.count_entries(count + 1);
        }
        self.point(place, pointer);
    }

    /// Change the pointer of a key. Does nothing if the key is not there.
    pub(super) fn replace(&mut self, key: &[u8], pointer: u32) {
        let (place, is_it) = self.entries().search(key);
        if is_it {
            self.point(place, pointer);
        }
    }

    /// Remove the entry of a key. Does nothing if the key is not there.
    pub(super) fn remove(&mut self, key: &[u8]) {
        let (place, is_it) = self.entries().search(key);
        if is_it {
            let (count, size) = (self.count(), self.shape.entry_size());
            let at = HEADER_SIZE + place * size;
            self.bytes.copy_within(at + size..HEADER_SIZE + count * size, at);
            self.count_entries(count - 1);
        }
    }

    /// Add an entry to a full node, then remove the upper half and return it. If the entry becomes
    /// the last of a leaf, the upper half is that entry alone.
    pub(super) fn split_off(&mut self, key: &[u8], pointer: u32) -> Half {
        let (place, _) = self.entries().search(key);
        let (count, size) = (self.count(), self.shape.entry_size());
        let mut entries = self.bytes[HEADER_SIZE..HEADER_SIZE + count * size].to_vec();
        let added = key.iter().copied().chain(pointer.to_le_bytes());
        entries.splice(place * size..place * size, added);
        let is_leaf = self.is_leaf();
        let kept = if is_leaf && place == count { count } else { count.div_ceil(2) };
        let upper = entries.split_off(kept * size);
        self.bytes[HEADER_SIZE..][..entries.len()].copy_from_slice(&entries);
        self.count_entries(kept);
        Half { is_leaf, entries: upper }
    }

    fn point(&mut self, place: usize, pointer: u32) {
        let at = HEADER_SIZE + place * self.shape.entry_size() + self.shape.key_size;
        self.bytes[at..at + POINTER_SIZE].copy_from_slice(&pointer.to_le_bytes());
    }

    fn count_entries(&mut self, count: usize) {
        let count = u16::try_from(count).expect("a page has fewer entries");
        self.bytes[..2].copy_from_slice(&count.to_le_bytes());
    }
}
