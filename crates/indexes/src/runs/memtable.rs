//! The memory table: the newest entries, sorted, each in as few bytes as an entry needs.

/// Sorted entries. The caller provides the memory.
#[derive(Debug)]
pub(super) struct Memtable<'ram> {
    bytes: &'ram mut [u8],
    entry_size: usize,
    len: usize,
}

impl<'ram> Memtable<'ram> {
    pub(super) fn new(bytes: &'ram mut [u8], entry_size: usize) -> Self {
        debug_assert!((1..=8).contains(&entry_size), "an entry is one number");
        Self { bytes, entry_size, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_full(&self) -> bool {
        (self.len + 1) * self.entry_size > self.bytes.len()
    }

    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn entry(&self, place: usize) -> u64 {
        let mut word = [0; 8];
        let start = place * self.entry_size;
        word[..self.entry_size].copy_from_slice(&self.bytes[start..start + self.entry_size]);
        u64::from_le_bytes(word)
    }

    /// The index of the first entry that is not less than `entry`.
    pub(super) fn find(&self, entry: u64) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if self.entry(middle) < entry {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(super) fn insert(&mut self, entry: u64) {
        assert!(!self.is_full(), "a full table is flushed first");
        let place = self.find(entry) * self.entry_size;
        let end = self.len * self.entry_size;
        self.bytes.copy_within(place..end, place + self.entry_size);
        let word = entry.to_le_bytes();
        self.bytes[place..place + self.entry_size].copy_from_slice(&word[..self.entry_size]);
        self.len += 1;
    }
}
