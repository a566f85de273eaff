//! The cache for short operations: it holds a few chunks of any files, and writes a dirty one when
//! it must leave.

#[derive(Clone, Debug)]
pub(super) struct CachedChunk {
    pub object: u32,
    pub chunk: u32,
    pub data: Vec<u8>,
    /// Number of its bytes that belong to the file.
    pub len: u32,
    pub is_dirty: bool,
    used_at: u64,
}

#[derive(Clone, Debug)]
pub(super) struct ShortOps {
    entries: Vec<CachedChunk>,
    capacity: usize,
    uses: u64,
}

impl ShortOps {
    pub(super) fn new(capacity: u32) -> Self {
        Self { entries: Vec::new(), capacity: capacity as usize, uses: 0 }
    }

    pub(super) const fn is_used(&self) -> bool {
        self.capacity > 0
    }

    pub(super) fn find(&self, object: u32, chunk: u32) -> Option<&CachedChunk> {
        self.entries.iter().find(|entry| entry.object == object && entry.chunk == chunk)
    }

    /// A chunk to change; this counts as a use.
    pub(super) fn touch(&mut self, object: u32, chunk: u32) -> Option<&mut CachedChunk> {
        self.uses += 1;
        let uses = self.uses;
        let entries = self.entries.iter_mut();
        let found = { entries }.find(|entry| entry.object == object && entry.chunk == chunk)?;
        found.used_at = uses;
        Some(found)
    }

    /// The chunk that must leave before another can come in: the one used longest ago. `None` if
    /// there is room.
    pub(super) fn must_leave(&self) -> Option<(u32, u32)> {
        if self.entries.len() < self.capacity {
            return None;
        }
        let oldest = self.entries.iter().min_by_key(|entry| entry.used_at);
        oldest.map(|entry| (entry.object, entry.chunk))
    }

    /// Put a clean chunk in. There must be room for it.
    pub(super) fn insert(&mut self, object: u32, chunk: u32, data: Vec<u8>) {
        assert!(self.entries.len() < self.capacity, "one has left");
        self.uses += 1;
        let used_at = self.uses;
        self.entries.push(CachedChunk { object, chunk, data, len: 0, is_dirty: false, used_at });
    }

    pub(super) fn remove(&mut self, object: u32, chunk: u32) {
        self.entries.retain(|entry| entry.object != object || entry.chunk != chunk);
    }

    pub(super) fn remove_object(&mut self, object: u32) {
        self.entries.retain(|entry| entry.object != object);
    }

    /// The dirty chunks of an object, or of all objects, in order.
    pub(super) fn dirty(&self, object: Option<u32>) -> Vec<(u32, u32)> {
        let dirty = self.entries.iter().filter(|entry| entry.is_dirty);
        let of = dirty.filter(|entry| object.is_none_or(|object| entry.object == object));
        let mut keys: Vec<(u32, u32)> = of.map(|entry| (entry.object, entry.chunk)).collect();
        keys.sort_unstable();
        keys
    }
}
