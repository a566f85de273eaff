//! The entries of a node, as its index units define them.

use super::super::entries::{Entries, POINTER_SIZE};
use super::unit::{NodeId, Op, Unit};

/// The entries of a node in ascending order of keys, without gaps between them.
#[derive(Clone, Debug)]
pub(super) struct Content {
    key_size: usize,
    bytes: Vec<u8>,
}

impl Content {
    pub(super) const fn new(key_size: usize) -> Self {
        Self { key_size, bytes: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.view().len()
    }

    const fn entry_size(&self) -> usize {
        self.key_size + POINTER_SIZE
    }

    fn view(&self) -> Entries<'_> {
        Entries { bytes: &self.bytes, key_size: self.key_size }
    }

    /// Apply the change that a unit describes.
    pub(super) fn apply(&mut self, unit: &Unit<'_>) {
        match unit.op {
            Op::Insert => self.insert(unit.key, unit.pointer),
            Op::Delete => {
                let (place, is_it) = self.view().search(unit.key);
                if is_it {
                    let at = place * self.entry_size();
                    self.bytes.drain(at..at + self.entry_size());
                }
            }
            Op::Cut => {
                let (place, _) = self.view().search(unit.key);
                self.bytes.truncate(place * self.entry_size());
            }
        }
    }

    /// Add an entry. It replaces an entry with the same key.
    pub(super) fn insert(&mut self, key: &[u8], pointer: u32) {
        let (place, is_it) = self.view().search(key);
        let at = place * self.entry_size();
        let replaced = if is_it { self.entry_size() } else { 0 };
        let entry = key.iter().copied().chain(pointer.to_le_bytes());
        self.bytes.splice(at..at + replaced, entry);
    }

    /// The child node that contains a key.
    pub(super) fn child(&self, key: &[u8]) -> NodeId {
        self.view().child(key)
    }

    /// Remove the entries from position `place` on and return them.
    pub(super) fn split_off(&mut self, place: usize) -> Self {
        let bytes = self.bytes.split_off(place * self.entry_size());
        Self { key_size: self.key_size, bytes }
    }

    /// The smallest key of the node.
    pub(super) fn least(&self) -> &[u8] {
        self.view().key(0)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], u32)> {
        (0..self.len()).map(|place| (self.view().key(place), self.view().pointer(place)))
    }
}
