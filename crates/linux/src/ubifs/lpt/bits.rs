//! Bit packing: fields have any width, and the least significant bit comes first.

#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    bit: usize,
}

impl BitWriter {
    pub(super) fn put(&mut self, value: u32, width: u32) {
        for place in 0..width {
            if self.bit.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if value >> place & 1 == 1 {
                *self.bytes.last_mut().expect("just pushed") |= 1 << (self.bit % 8);
            }
            self.bit += 1;
        }
    }

    pub(super) fn finish(mut self, size: u32) -> Vec<u8> {
        self.bytes.resize(size as usize, 0);
        self.bytes
    }
}

/// Reads fields one after the other. Bits behind the end read as zeros.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl<'a> BitReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bit: 0 }
    }

    pub(super) fn take(&mut self, width: u32) -> u32 {
        let mut value = 0;
        for place in 0..width {
            let byte = self.bytes.get(self.bit / 8).copied().unwrap_or(0);
            value |= u32::from(byte >> (self.bit % 8) & 1) << place;
            self.bit += 1;
        }
        value
    }
}
