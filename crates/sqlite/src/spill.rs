//! Files that are in memory while they are small: what later releases do with statement journals.
//!
//! The release that is compiled in makes a file of every statement journal at once, as releases
//! before 3.12.0 did (`ffi::library`); a `Vfs` of a later era opens this instead.

use crate::flags::{Characteristics, SyncFlags};
use crate::vfs::{File, VfsError};

/// A nameless file that is made when it grows beyond a limit.
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
    /// An empty file in memory; `make` gives it a place once it is larger than `limit` bytes.
    pub fn new(limit: u32, make: impl Fn() -> Result<Box<dyn File>, VfsError> + 'static) -> Self {
        Self { limit: limit.into(), make: Box::new(make), place: Place::Memory(Vec::new()) }
    }

    /// Write what is in memory to the file, which takes its place.
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
