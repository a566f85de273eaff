//! Wear: erase counts stay close together, whichever part of the device is written.

use flysch_chip::{FaultInjector, Prng, Shared};
use flysch_linux::block_device::BlockDevice;

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
