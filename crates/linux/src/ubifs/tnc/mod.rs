//! The index in memory, which the kernel calls the tree node cache (TNC). It is a B+tree whose
//! leaves are the nodes of the file system.
//!
//! A node of the tree in memory is called a znode. Znodes are read when they are first needed, and
//! clean ones may be dropped. A changed znode and all above it are dirty: their nodes on flash are
//! obsolete, and the next commit writes them again.
//!
//! Invariants:
//! 1. Keys ascend. Only directory entries whose names have the same hash have equal keys.
//! 2. The parent of a dirty znode is dirty.
//! 3. The key of a branch is at most the first key below it.

mod change;
mod commit;
mod cursor;
mod gaps;
mod lookup;
mod remove;
mod znode;

pub(super) use znode::{Place, Tnc};
