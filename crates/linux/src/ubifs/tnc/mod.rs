//! The index in memory (tree node cache): a B+tree whose leaves are the file system's nodes.
//!
//! Znodes are read when first needed and may be dropped while they are clean. A changed znode and
//! all above it are dirty: their places on flash are dead, and the next commit writes them.
//!
//! Invariants:
//! 1. Keys ascend; only directory entries whose names share a hash have equal keys.
//! 2. A dirty znode's parent is dirty.
//! 3. A branch's key is at most the first key below it.

mod change;
mod commit;
mod cursor;
mod lookup;
mod remove;
mod znode;

pub(super) use znode::{Place, Tnc};
