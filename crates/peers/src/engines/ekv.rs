//! ekv, a key-value store for NOR flash: a tree of logs.

use ekv::config::PAGE_SIZE;
use ekv::flash::{Flash, PageID};
use ekv::{Config, Database, ReadError};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use flysch_chip::Clock;
use flysch_linux::block_device::BlockError;

use super::{ERASE_SIZE, REGIONS, now};
use crate::flash::Device;
use crate::nor::Nor;
use crate::store::{Failed, Store, Task, VALUE_SIZE};

const _: () = assert!(PAGE_SIZE == ERASE_SIZE, "its pages are chosen by a feature");

/// NOR flash, as ekv wants it.
struct Pages(Nor);

impl Flash for Pages {
    type Error = BlockError;

    fn page_count(&self) -> usize {
        REGIONS
    }

    async fn erase(&mut self, page: PageID) -> Result<(), BlockError> {
        self.0.erase(page.index() * PAGE_SIZE, PAGE_SIZE)
    }

    async fn read(&mut self, page: PageID, at: usize, bytes: &mut [u8]) -> Result<(), BlockError> {
        self.0.read(page.index() * PAGE_SIZE + at, bytes)
    }

    async fn write(&mut self, page: PageID, at: usize, bytes: &[u8]) -> Result<(), BlockError> {
        self.0.write(page.index() * PAGE_SIZE + at, bytes)
    }
}

pub(crate) fn session(
    (device, clock): (&Device, &Clock),
    is_new: bool,
    task: &mut Task<'_>,
) -> Result<(), Failed> {
    let flash = Pages(Nor::mount(device, clock).map_err(Failed::of)?);
    let database = Database::<_, NoopRawMutex>::new(flash, Config::default());
    if is_new {
        now(database.format()).map_err(Failed::of)?;
    }
    now(database.mount()).map_err(Failed::of)?;
    task(&mut Pairs(database))
}

struct Pairs(Database<Pages, NoopRawMutex>);

impl Store for Pairs {
    fn put(&mut self, key: u32, value: &[u8; VALUE_SIZE]) -> Result<(), Failed> {
        now(async {
            let mut transaction = self.0.write_transaction().await;
            transaction.write(&key.to_le_bytes(), value).await.map_err(Failed::of)?;
            transaction.commit().await.map_err(Failed::of)
        })
    }

    fn get(&mut self, key: u32) -> Result<Option<[u8; VALUE_SIZE]>, Failed> {
        let mut value = [0; VALUE_SIZE];
        now(async {
            let transaction = self.0.read_transaction().await;
            match transaction.read(&key.to_le_bytes(), &mut value).await {
                Ok(VALUE_SIZE) => Ok(Some(value)),
                Ok(len) => Err(Failed(format!("a value of {len} bytes"))),
                Err(ReadError::KeyNotFound) => Ok(None),
                Err(error) => Err(Failed::of(error)),
            }
        })
    }
}
