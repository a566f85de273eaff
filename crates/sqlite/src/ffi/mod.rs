//! The boundary with the C library: the only code of the workspace with `unsafe`.

mod api;
pub(crate) mod connection;
mod file;
pub(crate) mod handles;
pub(crate) mod library;
mod memory;
pub(crate) mod registration;
mod sharing;
pub(crate) mod statement;

use std::ffi::{CStr, c_int};

pub(crate) use memory::SharedMemory;

use crate::vfs::VfsError;

/// Convert a length or an index that SQLite passes.
fn length(number: c_int) -> usize {
    usize::try_from(number).expect("SQLite passes no negative length")
}

/// Read a file name as text. `Database::open` takes UTF-8, so only `ATTACH` can pass another name.
fn text(name: &CStr) -> Result<&str, VfsError> {
    name.to_str().map_err(|_| VfsError::CannotOpen)
}
