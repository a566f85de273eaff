//! The map of sequential-storage, for NOR flash: a circle of pages, searched from the newest on. It
//! is used without a cache, as its states are then those of the flash.

use std::fmt;

use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use flysch_chip::Clock;
use flysch_linux::block_device::BlockError;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

use super::{ERASE_SIZE, REGIONS, now};
use crate::flash::Device;
use crate::nor::Nor;
use crate::store::{Failed, Store, Task, VALUE_SIZE};

const SIZE: usize = ERASE_SIZE * REGIONS;

/// NOR flash, as the crate wants it.
struct Bytes(Nor);

/// A failure of the translation layer.
struct Broken(BlockError);

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl NorFlashError for Broken {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl ErrorType for Bytes {
    type Error = Broken;
}

impl ReadNorFlash for Bytes {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Broken> {
        self.0.read(at as usize, bytes).map_err(Broken)
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Bytes {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Broken> {
        self.0.erase(from as usize, (to - from) as usize).map_err(Broken)
    }

    async fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Broken> {
        self.0.write(at as usize, bytes).map_err(Broken)
    }
}

type Map = MapStorage<u32, Bytes, Cache<Uncached, Uncached, Uncached, u32>>;

pub(crate) fn session(
    (device, clock): (&Device, &Clock),
    task: &mut Task<'_>,
) -> Result<(), Failed> {
    let flash = Bytes(Nor::mount(device, clock).map_err(Failed::of)?);
    let map = MapStorage::new(flash, MapConfig::new(0..SIZE as u32), Cache::new_uncached());
    task(&mut Pairs(map))
}

struct Pairs(Map);

impl Store for Pairs {
    fn put(&mut self, key: u32, value: &[u8; VALUE_SIZE]) -> Result<(), Failed> {
        let mut buffer = [0; 128];
        now(self.0.store_item(&mut buffer, &key, &value.as_slice())).map_err(Failed::of)
    }

    fn get(&mut self, key: u32) -> Result<Option<[u8; VALUE_SIZE]>, Failed> {
        let mut buffer = [0; 128];
        let found = now(self.0.fetch_item::<&[u8]>(&mut buffer, &key)).map_err(Failed::of)?;
        found.map(|value| value.try_into().map_err(Failed::of)).transpose()
    }
}
