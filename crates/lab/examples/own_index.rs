//! An index of your own, measured beside a published one. This index appends entries to pages in
//! the order of arrival. In RAM it keeps the smallest and the largest key of each page, and reads
//! each page that may hold a key. Random keys make that dear; ascending keys make it cheap.
//!
//! ```sh
//! cargo run --release --package flysch-lab --example own_index
//! ```

use std::error::Error;
use std::sync::Arc;

use flysch_chip::Part;
use flysch_indexes::flash::FlashError;
use flysch_lab::index::bench::{IndexBench, LookupKind};
use flysch_lab::index::chip_setup::{ChipSetup, Device};
use flysch_lab::index::error::MethodError;
use flysch_lab::index::keys::KeyDistribution;
use flysch_lab::index::method::{IndexMethod, MethodName, Ram, Tuning};
use flysch_lab::index::records::Place;
use flysch_lab::index::rows::LookupDistribution;
use flysch_nand::{BlockAddr, Nand, PageAddr};

const KEY_SIZE: usize = 12;
const ENTRY_SIZE: usize = KEY_SIZE + 4;

/// Pages of entries, and the bounds of the keys of each.
struct Bounds {
    device: Device,
    /// The smallest and the largest key of each page that is programmed.
    of_pages: Vec<[[u8; KEY_SIZE]; 2]>,
    /// Entries that wait for their page to be full.
    page: Vec<u8>,
    /// The page that was read last.
    read: Vec<u8>,
}

impl Bounds {
    fn new(setup: &ChipSetup) -> Self {
        let size = setup.part.geometry.page_size as usize;
        Self { device: setup.device(), of_pages: Vec::new(), page: Vec::new(), read: vec![0; size] }
    }

    /// Program the full page. Cost: one program, and one erase for each block.
    fn program(&mut self) -> Result<(), FlashError> {
        let geometry = self.device.geometry();
        let number = u32::try_from(self.of_pages.len()).expect("a chip has fewer pages");
        if number % geometry.pages_per_block == 0 {
            let block = BlockAddr(number / geometry.pages_per_block);
            self.device.erase(block).map_err(|_| FlashError::Full)?;
        }
        let keys = self.page.chunks_exact(ENTRY_SIZE).map(key_of);
        let bounds = [keys.clone().min(), keys.max()].map(|key| key.expect("the page is full"));
        self.page.resize(geometry.page_size as usize, 0xFF);
        self.device.program(PageAddr(number), 0, &self.page, &[])?;
        self.of_pages.push(bounds);
        self.page.clear();
        Ok(())
    }
}

fn key_of(entry: &[u8]) -> [u8; KEY_SIZE] {
    entry[..KEY_SIZE].try_into().expect("an entry begins with its key")
}

/// The record of a key among entries.
fn find(entries: &[u8], key: &[u8]) -> Option<u32> {
    let entry = entries.chunks_exact(ENTRY_SIZE).find(|entry| key_of(entry) == *key)?;
    Some(u32::from_le_bytes(entry[KEY_SIZE..].try_into().expect("a record has four bytes")))
}

impl IndexMethod for Bounds {
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        self.page.extend_from_slice(key);
        self.page.extend_from_slice(&record.to_le_bytes());
        if self.page.len() + ENTRY_SIZE > self.read.len() {
            self.program()?;
        }
        Ok(())
    }

    fn update(&mut self, _: &[u8], _: u32, _: u32) -> Result<(), MethodError> {
        Err(MethodError::Refused { method: "bounds", option: "updates" })
    }

    fn delete(&mut self, _: &[u8], _: u32) -> Result<(), MethodError> {
        Err(MethodError::Refused { method: "bounds", option: "deletes" })
    }

    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError> {
        if let Some(record) = find(&self.page, key) {
            return Ok(is_there(Place::Record(record)));
        }
        for number in (0..self.of_pages.len()).rev() {
            let [low, high] = &self.of_pages[number];
            if key < low.as_slice() || key > high.as_slice() {
                continue;
            }
            let number = u32::try_from(number).expect("a chip has fewer pages");
            self.device.read(PageAddr(number), 0, &mut self.read).map_err(FlashError::from)?;
            if let Some(record) = find(&self.read, key) {
                return Ok(is_there(Place::Record(record)));
            }
        }
        Ok(false)
    }

    fn valid_pages(&self) -> u32 {
        u32::try_from(self.of_pages.len()).expect("a chip has fewer pages")
    }

    fn ram(&self) -> Ram {
        let buffers = 2 * self.read.len();
        Ram {
            own: buffers + self.of_pages.len() * 2 * KEY_SIZE,
            tables: 0,
            fields: size_of::<Self>(),
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let part = Arc::new(Part::builtin("w25n01gv").ok_or("no such part")?);
    println!("{:<12}{:<11}{:>8}{:>14}", "index", "keys", "W, pages", "R, reads");
    for distribution in [KeyDistribution::Random, KeyDistribution::Ascending] {
        let bench = IndexBench {
            method: MethodName::Runs,
            keys: 20_000,
            rows_per_key: 1,
            key_size: KEY_SIZE,
            distribution,
            update_percent: 0,
            lookup_distribution: LookupDistribution::Uniform,
            lookups: vec![LookupKind::Present],
            lookup_count: 200,
            states: Some(0),
            seed: 1,
            part: Arc::clone(&part),
            active_mw: 66,
            ram: None,
            tuning: Tuning::default(),
        };
        let setup = ChipSetup::new(&part, 0, bench.seed)?;
        let own = bench.run_own(&setup, &mut Bounds::new(&setup))?;
        for (name, costs) in [("bounds", own), ("runs", bench.run()?)] {
            let reads = costs.r_present.unwrap_or(f64::NAN);
            println!("{name:<12}{:<11}{:>8.0}{reads:>14.2}", distribution.name(), costs.w_pages);
        }
    }
    Ok(())
}
