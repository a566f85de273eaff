//! `TicKV`, a key-value store for NOR flash: a key is searched from the region on that its hash
//! names.
//!
//! It has no call that replaces a value. So a put of a key that exists makes the old value invalid
//! and then appends the new one, as its documentation asks for. Between the two, a cut leaves
//! neither.

use std::cell::RefCell;

use flysch_chip::{Clock, Prng};
use tickv::{ErrorCode, FlashController, TicKV};

use super::{ERASE_SIZE, REGIONS};
use crate::flash::Device;
use crate::nor::Nor;
use crate::store::{Failed, Store, Task, VALUE_SIZE};

/// The hash of the key that marks a formatted region; no key of ours has it.
const MAIN: u64 = 0xF00D_F00D_F00D_F00D;

/// NOR flash, as the crate wants it.
struct Regions(RefCell<Nor>);

impl FlashController<ERASE_SIZE> for &Regions {
    fn read_region(&self, region: usize, bytes: &mut [u8; ERASE_SIZE]) -> Result<(), ErrorCode> {
        let read = self.0.borrow_mut().read(region * ERASE_SIZE, bytes);
        read.map_err(|_| ErrorCode::ReadFail)
    }

    fn write(&self, address: usize, bytes: &[u8]) -> Result<(), ErrorCode> {
        self.0.borrow_mut().write(address, bytes).map_err(|_| ErrorCode::WriteFail)
    }

    fn erase_region(&self, region: usize) -> Result<(), ErrorCode> {
        let erased = self.0.borrow_mut().erase(region * ERASE_SIZE, ERASE_SIZE);
        erased.map_err(|_| ErrorCode::EraseFail)
    }
}

pub(crate) fn session(
    (device, clock): (&Device, &Clock),
    is_new: bool,
    task: &mut Task<'_>,
) -> Result<(), Failed> {
    let mut nor = Nor::mount(device, clock).map_err(Failed::of)?;
    if is_new {
        nor.erase(0, ERASE_SIZE * REGIONS).map_err(Failed::of)?;
    }
    let flash = Regions(RefCell::new(nor));
    let mut buffer = [0; ERASE_SIZE];
    let tickv = TicKV::new(&flash, &mut buffer, ERASE_SIZE * REGIONS);
    tickv.initialise(MAIN).map_err(Failed::of)?;
    task(&mut Pairs(tickv))
}

struct Pairs<'f>(TicKV<'f, &'f Regions, ERASE_SIZE>);

/// A hash of a key, as the crate asks for: a number drawn by a seed of the key's own.
fn hash(key: u32) -> u64 {
    Prng::new(u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15)).next()
}

impl Store for Pairs<'_> {
    fn put(&mut self, key: u32, value: &[u8; VALUE_SIZE]) -> Result<(), Failed> {
        let hash = hash(key);
        let append = || self.0.append_key(hash, value);
        match append() {
            Err(ErrorCode::KeyAlreadyExists) => {
                self.0.invalidate_key(hash).map_err(Failed::of)?;
            }
            Err(ErrorCode::RegionFull | ErrorCode::FlashFull) => {
                self.0.garbage_collect().map_err(Failed::of)?;
            }
            done => return done.map(drop).map_err(Failed::of),
        }
        match append() {
            Err(ErrorCode::RegionFull | ErrorCode::FlashFull) => {
                self.0.garbage_collect().map_err(Failed::of)?;
                append().map(drop).map_err(Failed::of)
            }
            done => done.map(drop).map_err(Failed::of),
        }
    }

    fn get(&mut self, key: u32) -> Result<Option<[u8; VALUE_SIZE]>, Failed> {
        let mut value = [0; VALUE_SIZE];
        match self.0.get_key(hash(key), &mut value) {
            Ok(_) => Ok(Some(value)),
            Err(ErrorCode::KeyNotFound) => Ok(None),
            Err(error) => Err(Failed::of(error)),
        }
    }
}
