//! Behaviour of the storage stack, layer by layer.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod counting;
mod jffs2;
mod read_ahead;
mod ubifs;
mod vfs;
