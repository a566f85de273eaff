//! The record area: records of 100 bytes in the order in which they arrive.
//!
//! The content of a record follows from its number, so nothing is stored for it. A read of one of
//! its pages takes as long as the part says and is recorded in the trace, in the scope `record`.
//! Programs of this area are the same for every method, so they are not counted.

use flysch_chip::EventKind;

use super::chip_setup::ChipSetup;
use super::keys::Keys;
use super::rows::RowKeys;

/// Size of a record in bytes. The paper has 20 of them on a page of 2 KiB.
const RECORD_SIZE: u32 = 100;

/// The scope in which reads of the record area are recorded.
pub const SCOPE: &str = "record";

/// The place to which an index directs a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The number of one record.
    Record(u32),
    /// A page of the record area.
    Page(u32),
}

pub const fn records_per_page(page_size: u32) -> u32 {
    if page_size < RECORD_SIZE { 1 } else { page_size / RECORD_SIZE }
}

/// The record area: the records of the load, then one more for each update of a key.
#[derive(Debug)]
pub struct Records {
    setup: ChipSetup,
    keys: Keys,
    rows: RowKeys,
    /// Number of records inserted so far.
    inserted: u32,
    /// The key of each record that an update added.
    updated: Vec<u32>,
    /// The number of each key's newest record. Empty until a key is updated.
    newest: Vec<u32>,
}

impl Records {
    /// An empty record area.
    pub fn new(setup: &ChipSetup, keys: Keys, rows: RowKeys) -> Self {
        let (setup, updated, newest) = (setup.clone(), Vec::new(), Vec::new());
        Self { setup, keys, rows, inserted: 0, updated, newest }
    }

    /// Append the next record. Returns its number.
    pub const fn append(&mut self) -> u32 {
        self.inserted += 1;
        self.inserted - 1
    }

    /// Append a new version of the record of a key that has one, after the load. Returns the old
    /// number and the new one.
    ///
    /// # Panics
    /// At 2^32 records.
    pub fn update(&mut self, key: u32) -> (u32, u32) {
        if self.newest.is_empty() {
            self.newest = (0..self.inserted).collect();
        }
        let new = self.inserted + u32::try_from(self.updated.len()).expect("fewer than 2^32");
        self.updated.push(key);
        (std::mem::replace(&mut self.newest[key as usize], new), new)
    }

    /// Read the page of a place. Returns how many records with the wanted key are there, without
    /// those that were replaced.
    pub fn count(&self, place: Place, wanted: &[u8]) -> usize {
        let per_page = records_per_page(self.setup.part.geometry.page_size);
        let (first, count, page) = match place {
            Place::Record(record) => (record, 1, record / per_page),
            Place::Page(page) => (page * per_page, per_page, page),
        };
        self.read(page);
        let is_there = |record: u32| {
            let is_newest =
                |&key: &u32| self.newest.get(key as usize).is_none_or(|&it| it == record);
            self.key_of(record)
                .filter(is_newest)
                .is_some_and(|key| self.keys.present(key) == wanted)
        };
        (first..first + count).filter(|&record| is_there(record)).count()
    }

    fn key_of(&self, record: u32) -> Option<u32> {
        if record < self.inserted {
            return Some(self.rows.key_of(record));
        }
        self.updated.get((record - self.inserted) as usize).copied()
    }

    fn read(&self, page: u32) {
        let ChipSetup { part, recorder, .. } = &self.setup;
        let _scope = recorder.scope(SCOPE);
        let began_ns = recorder.clock().now_ns();
        let bytes = part.geometry.page_size;
        recorder.clock().advance(part.timing.read_ns(u64::from(bytes)));
        recorder.record(EventKind::Read, page, bytes, began_ns);
    }
}
