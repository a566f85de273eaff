//! Entries of a key and its pointer, little-endian, in ascending order of keys and without gaps.

/// Size of a pointer in bytes.
pub(super) const POINTER_SIZE: usize = 4;

/// A view of a sequence of entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries<'a> {
    /// The bytes of the entries. The last entry is complete.
    pub bytes: &'a [u8],
    /// Size of a key in bytes.
    pub key_size: usize,
}

impl<'a> Entries<'a> {
    const fn entry_size(self) -> usize {
        self.key_size + POINTER_SIZE
    }

    pub(super) const fn len(self) -> usize {
        self.bytes.len() / self.entry_size()
    }

    pub(super) fn key(self, place: usize) -> &'a [u8] {
        &self.bytes[place * self.entry_size()..][..self.key_size]
    }

    pub(super) fn pointer(self, place: usize) -> u32 {
        word(&self.bytes[place * self.entry_size() + self.key_size..])
    }

    /// The position of the first entry whose key is not less than `key`, and whether it equals
    /// `key`.
    pub(super) fn search(self, key: &[u8]) -> (usize, bool) {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low, low < self.len() && self.key(low) == key)
    }

    /// The child node that contains a key. Only for entries whose pointers are children.
    pub(super) fn child(self, key: &[u8]) -> u32 {
        let (place, is_it) = self.search(key);
        self.pointer(if is_it { place } else { place.saturating_sub(1) })
    }
}

/// The little-endian word at the start of `bytes`.
pub(super) fn word(bytes: &[u8]) -> u32 {
    let word = bytes.first_chunk().expect("an entry's word is within its page");
    u32::from_le_bytes(*word)
}
