//! littlefs, a file system for small flash: a file for each key, on the bare chip.
//!
//! It writes a page at a time, each once and in order, so it needs no translation layer. It knows
//! no bad blocks by their marks; the simulated chip has none from the factory.
//!
//! The chip panics where one of its rules is broken. No panic may pass through C, so it waits until
//! littlefs has returned.

use std::panic::{self, AssertUnwindSafe};

use flysch_nand::{BlockAddr, Nand, PageAddr};
use littlefs2::consts::{U8, U2048};
use littlefs2::driver::Storage;
use littlefs2::fs::Filesystem;
use littlefs2::io::{Error, Result};
use littlefs2::path::PathBuf;

use crate::flash::{BLOCKS, Device};
use crate::store::{Failed, Store, Task, VALUE_SIZE};

const PAGE: usize = 2048;
const PAGES_PER_BLOCK: usize = 64;

/// The chip, as littlefs wants it.
struct Flash {
    device: Device,
    /// Whether a rule of the chip was broken.
    is_broken: bool,
}

impl Flash {
    fn call<T, E>(
        &mut self,
        call: impl FnOnce(&mut Device) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let called = panic::catch_unwind(AssertUnwindSafe(|| call(&mut self.device)));
        self.is_broken |= called.is_err();
        called.map_err(|_| Error::IO)?.map_err(|_| Error::IO)
    }
}

impl Storage for Flash {
    const READ_SIZE: usize = PAGE;
    const WRITE_SIZE: usize = PAGE;
    const BLOCK_SIZE: usize = PAGE * PAGES_PER_BLOCK;
    const BLOCK_COUNT: usize = BLOCKS as usize;
    const BLOCK_CYCLES: isize = 500;
    type CACHE_SIZE = U2048;
    type LOOKAHEAD_SIZE = U8;

    fn read(&mut self, offset: usize, bytes: &mut [u8]) -> Result<usize> {
        let pages = (offset / PAGE..).zip(bytes.chunks_exact_mut(PAGE));
        for (page, bytes) in pages {
            self.call(|device| device.read(PageAddr(page as u32), 0, bytes))
                .map_err(|_| Error::CORRUPTION)?;
        }
        Ok(bytes.len())
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<usize> {
        for (page, bytes) in (offset / PAGE..).zip(bytes.chunks_exact(PAGE)) {
            self.call(|device| device.program(PageAddr(page as u32), 0, bytes, &[]))?;
        }
        Ok(bytes.len())
    }

    fn erase(&mut self, offset: usize, len: usize) -> Result<usize> {
        for block in offset / Self::BLOCK_SIZE..(offset + len) / Self::BLOCK_SIZE {
            self.call(|device| device.erase(BlockAddr(block as u32)))?;
        }
        Ok(len)
    }
}

pub(crate) fn session(
    device: &Device,
    is_new: bool,
    task: &mut Task<'_>,
) -> std::result::Result<(), Failed> {
    let mut flash = Flash { device: device.clone(), is_broken: false };
    if is_new {
        Filesystem::format(&mut flash).map_err(Failed::of)?;
    }
    let mut done = Ok(());
    let mounted = Filesystem::mount_and_then(&mut flash, |files| {
        done = task(&mut Files { files });
        Ok(())
    });
    assert!(!flash.is_broken, "no rule of the chip is broken");
    mounted.map_err(Failed::of).and(done)
}

struct Files<'f, 'm> {
    files: &'f Filesystem<'m, Flash>,
}

fn name(key: u32) -> std::result::Result<PathBuf, Failed> {
    PathBuf::try_from(format!("{key}").as_str()).map_err(Failed::of)
}

impl Store for Files<'_, '_> {
    fn put(&mut self, key: u32, value: &[u8; VALUE_SIZE]) -> std::result::Result<(), Failed> {
        self.files.write(&name(key)?, value).map_err(Failed::of)
    }

    fn get(&mut self, key: u32) -> std::result::Result<Option<[u8; VALUE_SIZE]>, Failed> {
        match self.files.read::<VALUE_SIZE>(&name(key)?) {
            Ok(value) => value.as_slice().try_into().map(Some).map_err(Failed::of),
            Err(Error::NO_SUCH_ENTRY) => Ok(None),
            Err(error) => Err(Failed::of(error)),
        }
    }
}
