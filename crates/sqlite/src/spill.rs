//! Files that stay in memory while they are small, as statement journals do in SQLite since release
//! 3.12.0.
//! This crate configures SQLite to make every statement journal a file at once, as releases before
//! 3.12.0 do (`ffi::library`). A `Vfs` that models a later release opens a [`SpillFile`] for it.

use crate::flags::{Characteristics, SyncFlags};
use crate::vfs::{File, VfsError};

/// A nameless file that lives in memory and is created only when it grows beyond a limit.
pub struct SpillFile {
    limit: u64,
    make: Box<dyn Fn() -> Result<Box<dyn File>, VfsError>>,
    place: Place,
}

enum Place {
    Memory(Vec<u8>),
    File(Box<dyn File>),
}

impl SpillFile {
    /// Create an empty file in memory. `make` creates the real file once there are more than
    /// `limit` bytes.
    pub fn new(limit: u32, make: impl Fn() -> Result<Box<dyn File>, VfsError> + 'static) -> Self {
        Self { limit: limit.into(), make: Box::new(make), place: Place::Memory(Vec::new()) }
    }

    /// Move the bytes from memory to a real file.
    fn spill(&mut self) -> Result<(), VfsError> {
        if let Place::Memory(bytes) = &self.place {
            let mut file = (self.make)()?;
            file.write(0, bytes)?;
            self.place = Place::File(file);
        }
        Ok(())
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("what is in memory is small")
}

impl File for SpillFile {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, VfsError> {
        match &mut self.place {
            Place::File(file) => file.read(offset, bytes),
            Place::Memory(content) => {
                let start = content.len().min(index(offset));
                let size = bytes.len().min(content.len() - start);
                bytes[..size].copy_from_slice(&content[start..start + size]);
                Ok(size)
            }
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), VfsError> {
        let end = offset + bytes.len() as u64;
        if end > self.limit {
            self.spill()?;
        }
        match &mut self.place {
            Place::File(file) => file.write(offset, bytes),
            Place::Memory(content) => {
                if content.len() < index(end) {
                    content.resize(index(end), 0);
                }
                content[index(offset)..index(end)].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn truncate(&mut self, size: u64) -> Result<(), VfsError> {
        match &mut self.place {
            Place::File(file) => file.truncate(size),
            Place::Memory(content) => {
                content.truncate(index(size));
                Ok(())
            }
        }
    }

    fn sync(&mut self, flags: SyncFlags) -> Result<(), VfsError> {
        match &mut self.place {
            Place::File(file) => file.sync(flags),
            Place::Memory(_) => Ok(()),
        }
    }

    fn size(&mut self) -> Result<u64, VfsError> {
        match &mut self.place {
            Place::File(file) => file.size(),
            Place::Memory(content) => Ok(content.len() as u64),
        }
    }

    fn sector_size(&self) -> u32 {
        match &self.place {
            Place::File(file) => file.sector_size(),
            Place::Memory(_) => 512,
        }
    }

    fn characteristics(&self) -> Characteristics {
        match &self.place {
            Place::File(file) => file.characteristics(),
            Place::Memory(_) => Characteristics::NONE,
        }
    }
}
