//! The bytes of PRAMFS: where the parts are in the memory, and how each record is read and written.
//!
//! ```text
//! 0 super  128 its copy  256 rename record  512 inode table  bitmap  (to a block's edge) blocks
//! ```
//!
//! Checksums are CRC-16; numbers are little-endian.

pub(super) mod dentry;
pub(super) mod inode;
pub(super) mod rename;
pub(super) mod super_block;

/// Length of the super block, of its copy, of the rename record and of an inode, bytes.
pub(super) const RECORD_SIZE: u32 = 128;
/// Address of the copy of the super block.
pub(super) const COPY_ADDR: u32 = RECORD_SIZE;
/// Address of the rename record.
pub(super) const RENAME_ADDR: u32 = 2 * RECORD_SIZE;
/// Address of the inode table.
pub(super) const TABLE_ADDR: u32 = 4 * RECORD_SIZE;
pub(super) const POINTER_SIZE: u32 = 8;

/// The bytes of a pointer: the number of the block and its complement, so that a torn write is
/// detected.
pub(super) fn emit_pointer(block: Option<u32>) -> [u8; POINTER_SIZE as usize] {
    let mut bytes = [0; POINTER_SIZE as usize];
    if let Some(block) = block {
        bytes[..4].copy_from_slice(&block.to_le_bytes());
        bytes[4..].copy_from_slice(&(!block).to_le_bytes());
    }
    bytes
}

/// Parse a pointer. `None` if it is empty or torn.
pub(super) fn parse_pointer(bytes: &[u8]) -> Option<u32> {
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (half(0) == !half(4)).then(|| half(0))
}
