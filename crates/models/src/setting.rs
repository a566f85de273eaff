//! What is indexed and on what pages: Tables 2 and 3.

use super::error::{ModelError, check_bounds};

/// N, Sk, Sp and Sr of Tables 2 and 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// N: number of records inserted.
    pub keys: u32,
    /// Sk: size of a key in bytes.
    pub key_size: u32,
    /// Sp: size of a page in bytes.
    pub page_size: u32,
    /// Sr: size of a physical pointer in bytes.
    pub pointer_size: u32,
}

impl Setting {
    /// The paper's setting: keys of 12 bytes on pages of 2048, with pointers of 4 (section 6.1.3
    /// and Table 3).
    pub const fn published(keys: u32) -> Self {
        Self { keys, key_size: 12, page_size: 2048, pointer_size: 4 }
    }

    /// Check that the models can handle this setting: a page must hold at least eight entries.
    pub fn check(&self) -> Result<(), ModelError> {
        check_bounds(&[
            ("records", self.keys, 1, 1 << 30),
            ("bytes of a page", self.page_size, 256, 1 << 16),
            ("bytes of a pointer", self.pointer_size, 1, 8),
            ("bytes of a key", self.key_size, 1, self.page_size / 8 - 5 * self.pointer_size),
        ])
    }

    /// M of Table 4 for all methods but BFTL: how many entries (key and pointer) fit on a page.
    pub fn entries_per_page(&self) -> u32 {
        self.page_size / (self.key_size + self.pointer_size)
    }

    /// M of Table 4 for BFTL: how many index units (key and five pointers) fit on a page. The
    /// printed formula lacks the size of the key, but without it the RAM for C = 30 is not the
    /// stated 2728 KB.
    pub fn units_per_page(&self) -> u32 {
        self.page_size / (self.key_size + 5 * self.pointer_size)
    }

    /// RAM of a number of one-page buffers, in KiB.
    pub fn buffers_kb(&self, buffers: u32) -> f64 {
        f64::from(buffers) * f64::from(self.page_size) / 1024.0
    }
}
