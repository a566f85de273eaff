//! redb, a B+tree that copies on write: one file, whose bytes lie on the translation layer behind a
//! sector that holds its length.
//!
//! redb writes the pages of a transaction in the order of a hash table, which differs from run to
//! run. The file puts them in order of their offsets, so that a run can be repeated.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io;

use flysch_chip::Clock;
use flysch_linux::block_device::BlockError;
use fragile::Fragile;
use redb::{Builder, Database, StorageBackend, TableDefinition};

use crate::flash::Device;
use crate::nor::Nor;
use crate::store::{Failed, Store, Task, VALUE_SIZE};

const PAIRS: TableDefinition<'static, u32, &[u8]> = TableDefinition::new("pair");
/// Where the file begins.
const START: usize = 512;
/// Memory that redb uses for pages.
const CACHE: usize = 1 << 20;

/// The file. Simulations run on one thread, although redb asks for a backend that may be used by
/// several.
struct File(Fragile<RefCell<Pages>>);

struct Pages {
    nor: Nor,
    /// What was written since the last other call, by offset.
    written: BTreeMap<u64, Vec<u8>>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file on a translation layer")
    }
}

impl File {
    fn call<T>(&self, call: impl FnOnce(&mut Nor) -> Result<T, BlockError>) -> io::Result<T> {
        // A panic of the chip ends a call in the middle, and redb calls once more as it is dropped.
        let mut pages = self.0.get().try_borrow_mut().map_err(io::Error::other)?;
        let Pages { nor, written } = &mut *pages;
        for (offset, bytes) in std::mem::take(written) {
            nor.overwrite(START + offset as usize, &bytes).map_err(io::Error::other)?;
        }
        call(nor).map_err(io::Error::other)
    }
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        let mut len = [0; 8];
        self.call(|nor| nor.read(0, &mut len))?;
        // A length that was never written reads as erased.
        Ok(u64::from_le_bytes(len).checked_add(1).map_or(0, |len| len - 1))
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.call(|nor| nor.read(START + offset as usize, &mut bytes))?;
        Ok(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.call(|nor| nor.overwrite(0, &len.to_le_bytes()))
    }

    fn sync_data(&self, _eventual: bool) -> io::Result<()> {
        self.call(Nor::sync)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let same =
            |pages: &Pages| pages.written.get(&offset).is_none_or(|old| old.len() == bytes.len());
        if !same(&self.0.get().borrow()) {
            self.call(|_| Ok(()))?;
        }
        self.0.get().borrow_mut().written.insert(offset, bytes.to_vec());
        Ok(())
    }
}

pub(crate) fn session(
    (device, clock): (&Device, &Clock),
    task: &mut Task<'_>,
) -> Result<(), Failed> {
    let nor = Nor::mount(device, clock).map_err(Failed::of)?;
    let file = File(Fragile::new(RefCell::new(Pages { nor, written: BTreeMap::new() })));
    let database = Builder::new().set_cache_size(CACHE).create_with_backend(file);
    task(&mut Pairs(database.map_err(Failed::of)?))
}

struct Pairs(Database);

impl Store for Pairs {
    fn put(&mut self, key: u32, value: &[u8; VALUE_SIZE]) -> Result<(), Failed> {
        let transaction = self.0.begin_write().map_err(Failed::of)?;
        let mut table = transaction.open_table(PAIRS).map_err(Failed::of)?;
        table.insert(key, value.as_slice()).map(drop).map_err(Failed::of)?;
        drop(table);
        transaction.commit().map_err(Failed::of)
    }

    fn get(&mut self, key: u32) -> Result<Option<[u8; VALUE_SIZE]>, Failed> {
        let transaction = self.0.begin_read().map_err(Failed::of)?;
        let table = match transaction.open_table(PAIRS) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(Failed::of(error)),
        };
        let found = table.get(key).map_err(Failed::of)?;
        found.map(|value| value.value().try_into().map_err(Failed::of)).transpose()
    }
}
