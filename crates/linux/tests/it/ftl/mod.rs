//! Flash translation layers: compared with a model, under power cuts and faults, and how they wear
//! a chip.

mod cuts;
mod faults;
mod wear;

use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, Part, Prng, Recorder, Shared};
use flysch_linux::block_device::{BlockDevice, BlockError};
use flysch_linux::ftl::{FtlError, FtlOptions, Mapping, Victim, mount};
use flysch_nand::Geometry;

pub(crate) const PAGE_MAP: Mapping = Mapping::Page { victim: Victim::Greedy };
pub(crate) const COST_BENEFIT: Mapping = Mapping::Page { victim: Victim::CostBenefit };
pub(crate) const LOG_BLOCK: Mapping = Mapping::LogBlock { logs: 3 };
const MAPPINGS: [Mapping; 3] = [PAGE_MAP, COST_BENEFIT, LOG_BLOCK];

pub(crate) type Device = Shared<FaultInjector>;

/// A chip of `blocks` blocks with `pages` pages each. In other respects it is like that of nandsim.
pub(crate) fn chip(blocks: u32, pages: u32) -> Chip {
    let part = Part::builtin("nandsim").unwrap();
    let geometry = Geometry {
        pages_per_block: pages,
        block_count: blocks,
        in_order: true,
        partial_programs: 1,
        ..part.geometry
    };
    Chip::new(Arc::new(Part { geometry, ..part }), Clock::new(), 1)
}

pub(crate) fn shape(block_count: u32, sector_size: u32, mapping: Mapping) -> FtlOptions {
    FtlOptions { first_block: 0, block_count, spare_blocks: 7, sector_size, wear_gap: 4, mapping }
}

pub(crate) fn attach(device: &Device, shape: FtlOptions) -> Result<Box<dyn BlockDevice>, FtlError> {
    let recorder = Recorder::new(Clock::new(), "test");
    mount(Box::new(device.clone()), recorder, shape, &[])
}

/// What the sectors should hold. A sector whose write was cut may hold either version.
#[derive(Clone)]
struct Model {
    sectors: Vec<Vec<u8>>,
}

impl Model {
    fn of(ftl: &dyn BlockDevice) -> Self {
        let fill = |_| vec![0];
        Self { sectors: (0..ftl.sector_count()).map(fill).collect() }
    }

    /// Write some sectors with one value, more often near the start of the device.
    fn write(&mut self, ftl: &mut dyn BlockDevice, prng: &mut Prng) -> Result<(), BlockError> {
        let count = ftl.sector_count();
        let bound = if prng.below(3) == 0 { count } else { count / 4 };
        let first = u32::try_from(prng.below(u64::from(bound))).unwrap();
        let len = u32::try_from(1 + prng.below(4)).unwrap().min(count - first);
        let value = u8::try_from(1 + prng.below(254)).unwrap();
        let bytes = vec![value; (len * ftl.sector_size()) as usize];
        let outcome = ftl.write(first, &bytes);
        for sector in &mut self.sectors[first as usize..][..len as usize] {
            match outcome {
                Ok(()) => *sector = vec![value],
                Err(_) => sector.push(value),
            }
        }
        outcome
    }

    /// Compare all sectors. Where a cut left two versions possible, the one found is expected from
    /// here on.
    fn check(&mut self, ftl: &mut dyn BlockDevice) -> Result<(), BlockError> {
        let size = ftl.sector_size() as usize;
        let mut bytes = vec![0; self.sectors.len() * size];
        ftl.read(0, &mut bytes)?;
        for (at, (known, found)) in self.sectors.iter_mut().zip(bytes.chunks(size)).enumerate() {
            assert!(found.iter().all(|byte| *byte == found[0]), "sector {at} is torn");
            assert!(known.contains(&found[0]), "sector {at}: {} of {known:?}", found[0]);
            *known = vec![found[0]];
        }
        Ok(())
    }
}

#[test]
fn a_device_holds_what_was_written_across_mounts() {
    for (mapping, sector_size) in MAPPINGS.iter().flat_map(|&m| [(m, 512), (m, 4096)]) {
        let device = Shared::new(FaultInjector::new(chip(24, 8)));
        let shape = shape(24, sector_size, mapping);
        let mut ftl = attach(&device, shape).unwrap();
        let mut model = Model::of(&*ftl);
        let mut prng = Prng::new(7);
        for round in 0..20 {
            for _ in 0..50 + round {
                model.write(&mut *ftl, &mut prng).unwrap();
            }
            model.check(&mut *ftl).unwrap();
            ftl.flush().unwrap();
            ftl = attach(&device, shape).unwrap();
            model.check(&mut *ftl).unwrap();
        }
    }
}

#[test]
fn impossible_shapes_are_refused() {
    let device = Shared::new(FaultInjector::new(chip(24, 8)));
    let good = shape(24, 512, PAGE_MAP);
    let cases = [
        (FtlOptions { first_block: 1, ..good }, FtlError::Shape),
        (FtlOptions { sector_size: 100, ..good }, FtlError::Shape),
        (FtlOptions { spare_blocks: 4, ..good }, FtlError::TooFewSpare { good: 24, needed: 25 }),
        (FtlOptions { spare_blocks: 24, ..good }, FtlError::TooFewSpare { good: 24, needed: 25 }),
    ];
    for (shape, error) in cases {
        assert_eq!(attach(&device, shape).err(), Some(error));
    }
}
