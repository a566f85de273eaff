//! Chips whose content comes from an image.

use std::io::Write;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, Part};

/// A chip whose pages hold these bytes, data and OOB. Unlike a programmed chip it may hold any
/// bytes.
pub(crate) fn chip_of<'a>(part: &Arc<Part>, pages: impl Iterator<Item = [&'a [u8]; 2]>) -> Chip {
    let mut bytes = Vec::new();
    pages.flatten().for_each(|part| bytes.extend_from_slice(part));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    Chip::load(Arc::clone(part), Clock::new(), 1, file.path()).unwrap()
}
