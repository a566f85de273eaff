//! The bytes of a test file: as they are, as they were last synced, and the changes in between.

#[derive(Clone, Default)]
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    pub(crate) durable: Vec<u8>,
    pub(crate) pending: Vec<Change>,
}

#[derive(Clone)]
pub(crate) enum Change {
    Write(usize, Vec<u8>),
    Resize(usize),
}

impl Change {
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Resize(size) => bytes.resize(*size, 0),
            Self::Write(offset, data) => {
                let end = offset + data.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset..end].copy_from_slice(data);
            }
        }
    }

    /// What a power cut leaves of the change: all, nothing, or the beginning of a write.
    pub(crate) fn survivor(&self, random: &mut u64) -> Option<Self> {
        match (next(random) % 3, self) {
            (0, _) => None,
            (1, Self::Write(offset, data)) => {
                let size = usize::try_from(next(random)).unwrap() % (data.len() + 1);
                Some(Self::Write(*offset, data[..size].to_vec()))
            }
            _ => Some(self.clone()),
        }
    }
}

/// Vigna's random number generator xorshift64*.
pub(crate) fn next(random: &mut u64) -> u64 {
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    random.wrapping_mul(0x2545_f491_4f6c_dd1d)
}
