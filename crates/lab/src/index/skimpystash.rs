//! `SkimpyStash`: buckets in RAM. Each bucket is the head of a chain of entries in a log on flash.
//!
//! Debnath, Sengupta, Li: `SkimpyStash`: RAM space skimpy key-value store on flash-based storage,
//! SIGMOD 2011. A key has one possible bucket. Chains are not compacted: with eight entries, no
//! chain fills a page.
//!
//! ```text
//! RAM    bucket | newest entry u32 | Bloom filter of 64 bits |
//! flash  page   | key, record u32, previous entry u32 | ... |
//! ```

use flysch_indexes::ConfigError;
use flysch_indexes::hash::hash64;
use flysch_nand::Geometry;

use super::chip_setup::ChipSetup;
use super::entries::word;
use super::error::MethodError;
use super::method::{IndexMethod, MethodSpec, Ram};
use super::page_log::PageLog;
use super::records::Place;

/// As an entry: the end of a chain. As a record: the key was deleted.
const NONE: u32 = u32::MAX;
/// Bits that each key sets in its bucket's Bloom filter: near the best for 8 bits a key.
const HASH_COUNT: u32 = 5;
/// Size of a bucket in bytes.
const BUCKET_SIZE: usize = 12;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    newest: u32,
    bloom: u64,
}

struct SkimpyStash {
    log: PageLog,
    buckets: Vec<Bucket>,
    key_size: usize,
    /// The page that is being filled in RAM.
    page: Vec<u8>,
    /// A buffer for the page that was read last.
    spare: Vec<u8>,
    /// The numbers that the log gave the pages, in the order of writing.
    pages: Vec<u32>,
    count: u32,
}

/// How many entries fit on a page.
fn per_page(key_size: usize, geometry: &Geometry) -> u32 {
    let per_page = geometry.page_size as usize / (key_size + 8);
    u32::try_from(per_page).expect("fewer than bytes")
}

pub(super) fn block_count(spec: &MethodSpec, geometry: &Geometry) -> u32 {
    let entries = u64::from(spec.keys) + u64::from(spec.changes);
    let per_page = u64::from(per_page(spec.key_size, geometry).max(1));
    let blocks = entries / per_page / u64::from(geometry.pages_per_block) + 2;
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

pub(super) fn with<T>(
    spec: &MethodSpec,
    setup: &ChipSetup,
    visit: impl FnOnce(&mut dyn IndexMethod) -> Result<T, MethodError>,
) -> Result<T, MethodError> {
    let geometry = setup.part.geometry;
    let page_size = geometry.page_size as usize;
    super::method::check_key_size(spec, page_size - 8)?;
    let bucket_count = (spec.keys / spec.tuning.chain_len.max(1)).max(1) as usize;
    let needed = bucket_count * BUCKET_SIZE + 2 * page_size;
    spec.ram.map_or(Ok(()), |given| ConfigError::check_ram(needed, given))?;
    visit(&mut SkimpyStash {
        log: PageLog::new(setup.device())?,
        buckets: vec![Bucket { newest: NONE, bloom: 0 }; bucket_count],
        key_size: spec.key_size,
        page: vec![0xFF; page_size],
        spare: vec![0; page_size],
        pages: Vec::new(),
        count: 0,
    })
}

impl SkimpyStash {
    /// The bucket of a key, and the bits that the key sets in the bucket's Bloom filter.
    fn place(&self, key: &[u8]) -> (usize, u64) {
        let hash = hash64(key, 0);
        let bucket = ((hash >> 32) * self.buckets.len() as u64) >> 32;
        let bits = (0..HASH_COUNT).fold(0, |bits, nth| bits | 1 << (hash >> (6 * nth) & 63));
        (usize::try_from(bucket).expect("below their number"), bits)
    }

    fn append(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        let (bucket, bits) = self.place(key);
        let per_page = per_page(self.key_size, self.log.geometry());
        let entry = &mut self.page[(self.count % per_page) as usize * (self.key_size + 8)..];
        entry[..self.key_size].copy_from_slice(key);
        entry[self.key_size..][..4].copy_from_slice(&record.to_le_bytes());
        let bucket = &mut self.buckets[bucket];
        entry[self.key_size + 4..][..4].copy_from_slice(&bucket.newest.to_le_bytes());
        *bucket = Bucket { newest: self.count, bloom: bucket.bloom | bits };
        self.count += 1;
        if self.count.is_multiple_of(per_page) {
            self.pages.push(self.log.append(&self.page, 1)?);
            self.page.fill(0xFF);
        }
        Ok(())
    }
}

impl IndexMethod for SkimpyStash {
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        self.append(key, record)
    }

    fn update(&mut self, key: &[u8], _old: u32, new: u32) -> Result<(), MethodError> {
        self.append(key, new)
    }

    fn delete(&mut self, key: &[u8], _record: u32) -> Result<(), MethodError> {
        self.append(key, NONE)
    }

    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError> {
        let (bucket, bits) = self.place(key);
        let Bucket { newest, bloom } = self.buckets[bucket];
        let per_page = per_page(self.key_size, self.log.geometry());
        let mut next = if bloom & bits == bits { newest } else { NONE };
        let mut loaded = None;
        while next != NONE {
            let number = (next / per_page) as usize;
            if let Some(&page) = self.pages.get(number)
                && loaded != Some(number)
            {
                self.log.read(page, &mut self.spare)?;
                loaded = Some(number);
            }
            let page = if number < self.pages.len() { &self.spare } else { &self.page };
            let entry = &page[(next % per_page) as usize * (self.key_size + 8)..];
            let record = word(&entry[self.key_size..]);
            if entry.starts_with(key) {
                return Ok(record != NONE && is_there(Place::Record(record)));
            }
            next = word(&entry[self.key_size + 4..]);
        }
        Ok(false)
    }

    fn valid_pages(&self) -> u32 {
        self.log.live_count()
    }

    fn ram(&self) -> Ram {
        Ram {
            own: self.buckets.len() * BUCKET_SIZE + self.page.len() + self.spare.len(),
            tables: self.pages.len() * size_of::<u32>(),
            fields: size_of::<Self>(),
        }
    }
}
