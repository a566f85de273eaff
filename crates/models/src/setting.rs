//! What is indexed, and on what pages: Tables 2 and 3.

use super::error::{ModelError, check_bounds};

/// N, Sk, Sp and Sr of Tables 2 and 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// N: records inserted.
    pub keys: u32,
    /// Sk: bytes of a key.
    pub key_size: u32,
    /// Sp: bytes of a page.
    pub page_size: u32,
    /// Sr: bytes of a physical pointer.
    pub pointer_size: u32,
}

impl Setting {
    /// So many keys of 12 bytes on pages of 2048, with pointers of 4 (section 6.1.3 and Table 3).
    pub const fn published(keys: u32) -> Self {
        Self { keys, key_size: 12, page_size: 2048, pointer_size: 4 }
    }

    /// Refuse what the models make no sense of: a page holds eight entries at least.
    pub fn check(&self) -> Result<(), ModelError> {
        check_bounds(&[
            ("records", self.keys, 1, 1 << 30),
            ("bytes of a page", self.page_size, 256, 1 << 16),
            ("bytes of a pointer", self.pointer_size, 1, 8),
            ("bytes of a key", self.key_size, 1, self.page_size / 8 - 5 * self.pointer_size),
        ])
    }

    /// M of Table 4 for all but BFTL: entries of a key and a pointer in a page.
    pub fn entries_per_page(&self) -> u32 {
        self.page_size / (self.key_size + self.pointer_size)
    }

    /// M of Table 4 for BFTL: index units of a key and five pointers in a page. The key's size is
    /// missing in print; without it no RAM of 2728 KB comes out for C = 30.
    pub fn units_per_page(&self) -> u32 {
        self.page_size / (self.key_size + 5 * self.pointer_size)
    }

    /// RAM of so many buffers of a page, in KiB.
    pub fn buffers_kb(&self, buffers: u32) -> f64 {
        f64::from(buffers) * f64::from(self.page_size) / 1024.0
    }
}
