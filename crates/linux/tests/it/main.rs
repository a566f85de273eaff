//! Behaviour of the storage stack, one layer after the other.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod boundaries;
mod campaign;
mod counting;
mod crash;
mod ftl;
mod hostile;
mod image;
mod jffs2;
mod machine;
mod mtd;
mod plainfs;
mod pramfs;
mod read_ahead;
mod refused;
mod ubifs;
mod vfs;
mod yaffs2;
