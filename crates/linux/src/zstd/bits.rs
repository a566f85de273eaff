//! Bit streams. They are written with the least significant bit first, and most are read backwards
//! from a final bit of one.

#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Write the low `width` bits of `value`. The width is at most 32.
    pub(super) fn put(&mut self, value: u32, width: u32) {
        let value = u64::from(value) & ((1 << width) - 1);
        self.pending |= value << self.count;
        self.count += width;
        while self.count >= 8 {
            self.flush_byte();
        }
    }

    fn flush_byte(&mut self) {
        self.bytes.push(self.pending.to_le_bytes()[0]);
        self.pending >>= 8;
        self.count = self.count.saturating_sub(8);
    }

    /// End a stream that is read forwards.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.flush_byte();
        }
        self.bytes
    }

    /// End a stream that is read backwards, with a bit of one that marks its end.
    pub(super) fn close(mut self) -> Vec<u8> {
        self.put(1, 1);
        self.finish()
    }
}

pub(super) const fn high_bit(value: u32) -> u32 {
    value.ilog2()
}
