//! Chips full of anything: mounting and looking up gives an answer or an error, never a panic.

use std::ops::ControlFlow;

use flysch::flash::Flash;
use flysch::index::IndexError;
use flysch::index::pbfilter::{FlushUnit, PbConfig, PbFilter};
use flysch::index::runs::{Output, Pace, Runs};
use flysch_chip::{Chip, Prng};
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

use crate::world::{apply, chip, operations, pointers, small_config, small_geometry};

/// A chip on which some reads give other bytes than were programmed.
struct Liar {
    chip: Chip,
    prng: Prng,
    /// Reads in a thousand that lie.
    per_mille: u64,
}

impl Nand for Liar {
    fn geometry(&self) -> Geometry {
        self.chip.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        let outcome = self.chip.read(page, column, bytes);
        if self.prng.below(1000) < self.per_mille && !bytes.is_empty() {
            let place = self.prng.below(bytes.len() as u64) as usize;
            match self.prng.below(3) {
                0 => bytes[place] ^= 1 << self.prng.below(8),
                1 => self.prng.fill(&mut bytes[place..]),
                _ => bytes[..=place].fill(0),
            }
        }
        outcome
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        self.chip.program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.chip.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.chip.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.chip.mark_bad(block)
    }
}

#[test]
fn runs_on_garbage_answer_or_refuse() {
    let geometry = small_geometry();
    let mut refused = 0;
    for seed in 0..300 {
        let config = small_config(Pace::Spread, Output::Page, if seed % 3 == 0 { 6 } else { 0 });
        let mut table = vec![0; Flash::<Liar>::ram_size(&geometry)];
        let mut ram = vec![0; config.ram_size(&geometry)];
        let liar = Liar { chip: chip(geometry), prng: Prng::new(seed), per_mille: 0 };
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        let mut runs = Runs::create(&mut flash, config, &mut ram).unwrap();
        for op in operations(seed, 500) {
            apply(&mut runs, &mut flash, op).unwrap();
        }
        flash.nand_mut().per_mille = 1 + seed;
        for key in 0..60 {
            refused += u32::from(pointers(&mut runs, &mut flash, key).is_err());
        }
        let liar = flash.into_nand();
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        match Runs::mount(&mut flash, config, &mut ram) {
            Err(_) => refused += 1,
            Ok(mut runs) => {
                for key in 0..60 {
                    refused += u32::from(pointers(&mut runs, &mut flash, key).is_err());
                }
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

#[test]
fn pbfilter_on_garbage_answers_or_refuses() {
    let geometry = small_geometry();
    let config = PbConfig {
        flush: FlushUnit::Page,
        blocks_max: 90,
        ..PbConfig::published(12, 2_000, &geometry)
    };
    for seed in 0..60 {
        let mut table = vec![0; Flash::<Liar>::ram_size(&geometry)];
        let mut ram = vec![0; config.ram_size(&geometry)];
        let liar = Liar { chip: chip(geometry), prng: Prng::new(seed), per_mille: 0 };
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        let mut index = PbFilter::create(&mut flash, config, &mut ram).unwrap();
        for number in 0..3_000_u32 {
            let mut key = [0; 12];
            key[..4].copy_from_slice(&number.to_le_bytes());
            index.insert(&mut flash, &key, number).unwrap();
        }
        flash.nand_mut().per_mille = 1 + seed * 5;
        let liar = flash.into_nand();
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        let Ok(mut index) = PbFilter::mount(&mut flash, config, &mut ram) else { continue };
        for number in 0..40_u8 {
            let stop = |_: &mut Flash<'_, Liar>, _| Ok::<_, IndexError>(ControlFlow::Continue(()));
            let outcome = index.lookup(&mut flash, &[number; 12], stop);
            assert!(matches!(outcome, Ok(()) | Err(IndexError::Flash(_))), "{outcome:?}");
        }
    }
}
