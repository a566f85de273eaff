//! The border with C: the only place of the workspace with `unsafe`.

pub(crate) mod connection;
mod file;
pub(crate) mod library;
pub(crate) mod registration;
mod sharing;
pub(crate) mod statement;

use std::ffi::{CStr, c_int};

use crate::vfs::VfsError;

/// A length or an index that SQLite passes.
fn length(number: c_int) -> usize {
    usize::try_from(number).expect("SQLite passes no negative length")
}

/// The text of a file name. Names come from `Database::open`, so they are UTF-8 unless a statement attached another.
fn text(name: &CStr) -> Result<&str, VfsError> {
    name.to_str().map_err(|_| VfsError::CannotOpen)
}
