//! RAM: the caller gives one stretch of bytes, and the parts of the database take theirs from it.

/// What is left of the caller's memory.
#[derive(Debug)]
pub(crate) struct Ram<'ram> {
    rest: &'ram mut [u8],
}

impl<'ram> Ram<'ram> {
    /// RAM of which nothing is taken yet.
    pub(crate) const fn new(bytes: &'ram mut [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Take the next `size` bytes; None where fewer are left.
    pub(crate) fn take(&mut self, size: usize) -> Option<&'ram mut [u8]> {
        let rest = core::mem::take(&mut self.rest);
        if size > rest.len() {
            self.rest = rest;
            return None;
        }
        let (bytes, rest) = rest.split_at_mut(size);
        self.rest = rest;
        Some(bytes)
    }
}
