//! Wear: erase counts stay close together, whichever part of the device is written.

use flysch_chip::{Clock, FaultInjector, Prng, Recorder, Shared};
use flysch_linux::block_device::BlockDevice;
use flysch_linux::ftl::mount;

use super::{MAPPINGS, attach, chip, shape};

/// Which part of the device is overwritten.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// All of it, from start to end.
    Sequential,
    /// Sectors at random places.
    Random,
    /// The first tenth of it, while the rest holds data.
    Hot,
}

/// Write 100 times as many sectors as the device has.
fn overwrite(ftl: &mut dyn BlockDevice, load: Load) {
    let count = ftl.sector_count();
    let mut prng = Prng::new(1);
    let bytes = vec![1; ftl.sector_size() as usize];
    for sector in 0..count {
        ftl.write(sector, &bytes).unwrap();
    }
    for number in 0..100 * count {
        let bound = if matches!(load, Load::Hot) { count / 10 } else { count };
        let drawn = u32::try_from(prng.below(u64::from(bound))).unwrap();
        let sector = if matches!(load, Load::Sequential) { number % count } else { drawn };
        ftl.write(sector, &bytes).unwrap();
    }
}

#[test]
fn wear_is_level_after_a_hundred_overwrites() {
    for mapping in MAPPINGS {
        for load in [Load::Sequential, Load::Random, Load::Hot] {
            let device = Shared::new(FaultInjector::new(chip(40, 16)));
            let mut ftl = attach(&device, shape(40, 4096, mapping)).unwrap();
            overwrite(&mut *ftl, load);
            let counts = device.borrow().chip().erase_counts();
            let most = counts.iter().copied().max().unwrap();
            let sum: u32 = counts.iter().sum();
            let count = u32::try_from(counts.len()).unwrap();
            let figures = format!("{mapping:?}, {load:?}: most {most}, mean {}", sum / count);
            assert!(most * count * 10 <= sum * 11, "{figures}");
        }
    }
}

/// Counters that have reached their end stay there. The order of wear is not turned round.
#[test]
fn counters_at_their_end_stay_there() {
    for mapping in MAPPINGS {
        let device = Shared::new(FaultInjector::new(chip(40, 16)));
        let mut counts = vec![u32::MAX; 40];
        counts[7..].fill(u32::MAX - 3);
        let recorder = Recorder::new(Clock::new(), "test");
        let shape = shape(40, 4096, mapping);
        let mut ftl = mount(Box::new(device.clone()), recorder, shape, &counts).unwrap();
        let sectors = ftl.sector_count();
        for number in 0..4 * sectors {
            ftl.write(number % sectors, &[1; 4096]).unwrap();
        }
        drop(ftl);
        let mut ftl = attach(&device, shape).unwrap();
        for number in 0..2 * sectors {
            ftl.write(number % sectors, &[2; 4096]).unwrap();
        }
        let mut bytes = [0; 4096];
        ftl.read(sectors - 1, &mut bytes).unwrap();
        assert_eq!(bytes, [2; 4096], "{mapping:?}");
    }
}

/// A mount knows from the tags how worn each block is, and goes on from there.
#[test]
fn wear_stays_level_across_mounts() {
    for mapping in MAPPINGS {
        let device = Shared::new(FaultInjector::new(chip(40, 16)));
        let mut ftl = attach(&device, shape(40, 4096, mapping)).unwrap();
        let count = ftl.sector_count();
        for sector in 0..count {
            ftl.write(sector, &[1; 4096]).unwrap();
        }
        let mut prng = Prng::new(2);
        for number in 0..60 * count {
            if number % 400 == 0 {
                drop(ftl);
                ftl = attach(&device, shape(40, 4096, mapping)).unwrap();
            }
            let sector = u32::try_from(prng.below(u64::from(count / 10))).unwrap();
            ftl.write(sector, &[2; 4096]).unwrap();
        }
        let counts = device.borrow().chip().erase_counts();
        let most = counts.iter().copied().max().unwrap();
        let mean = counts.iter().sum::<u32>() / 40;
        assert!(mean > 20 && most <= mean + 12, "{mapping:?}: most {most}, mean {mean}");
    }
}
