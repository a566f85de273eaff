//! Wear: erase counts stay close together, whichever part of the device is written.

use flysch_chip::{Change, Changes, Clock, FaultInjector, Prng, Recorder, Shared};
use flysch_linux::block_device::BlockDevice;
use flysch_linux::ftl::{FtlOptions, mount};

use super::{COST_BENEFIT, LOG_BLOCK, MAPPINGS, PAGE_MAP, attach, chip, shape};

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

/// Erases of blocks that have no tag yet are told at the mount, and count: worn blocks wait until
/// the others are as worn.
#[test]
fn wear_from_before_the_first_tag_counts() {
    for mapping in MAPPINGS {
        let device = Shared::new(FaultInjector::new(chip(40, 16)));
        let mut counts = vec![0; 40];
        counts[..3].fill(1000);
        let recorder = Recorder::new(Clock::new(), "test");
        // Nothing is moved to worn blocks on purpose.
        let shape = FtlOptions { wear_gap: 10_000, ..shape(40, 4096, mapping) };
        let mut ftl = mount(Box::new(device.clone()), recorder, shape, &counts).unwrap();
        let sectors = ftl.sector_count();
        for number in 0..10 * sectors {
            ftl.write(number % (sectors / 2), &[1; 4096]).unwrap();
        }
        let erases = device.borrow().chip().erase_counts();
        assert!(erases[3..].iter().sum::<u32>() > 200, "{mapping:?}: {erases:?}");
        assert_eq!(erases[..3], [0; 3], "{mapping:?}: {erases:?}");
    }
}

/// Writes at random cost no more copies than if each block that is emptied were as full as the mean
/// of all.
#[test]
fn random_writes_copy_no_more_than_the_mean_block_holds() {
    for mapping in [PAGE_MAP, COST_BENEFIT] {
        let device = Shared::new(FaultInjector::new(chip(40, 16)));
        let mut ftl = attach(&device, shape(40, 512, mapping)).unwrap();
        let wanted = ftl.sector_count() / 4;
        let mut prng = Prng::new(3);
        let changes = Changes::default();
        device.borrow_mut().keep_changes(changes.clone());
        let mut write = |count: u32| {
            for number in 0..count {
                let drawn = u32::try_from(prng.below(u64::from(wanted))).unwrap();
                let page = if count == wanted { number } else { drawn };
                ftl.write(page * 4, &[1; 2048]).unwrap();
            }
            let is_program = |change: &Change| matches!(change, Change::Program { .. });
            changes.take().into_iter().filter(is_program).count() as u64
        };
        write(wanted);
        let writes = 20 * wanted;
        let programs = write(writes);
        let pages = u64::from(40 * 16_u32);
        let limit = u64::from(writes) * pages / (pages - u64::from(wanted));
        assert!(programs <= limit, "{mapping:?}: {programs} programs, limit {limit}");
    }
}

/// A logical block that is written in the order of its pages takes the place of the old one without
/// a copy. In any other order each of its pages is copied once.
#[test]
fn only_a_log_in_order_becomes_a_data_block() {
    let orders: [([u32; 8], u64); 5] = [
        ([0, 1, 2, 3, 4, 5, 6, 7], 0),
        ([7, 6, 5, 4, 3, 2, 1, 0], 8),
        ([0, 7, 6, 5, 4, 3, 2, 1], 8),
        ([0, 1, 2, 3, 4, 5, 7, 6], 8),
        ([0, 1, 2, 3, 4, 5, 6, 0], 8),
    ];
    for (order, copies) in orders {
        let device = Shared::new(FaultInjector::new(chip(24, 8)));
        let mut ftl = attach(&device, shape(24, 512, LOG_BLOCK)).unwrap();
        let mut write = |page: u32| ftl.write(page * 4, &[1; 2048]).unwrap();
        (0..8).for_each(&mut write);
        // The next page of the same logical block makes room by a merge.
        write(0);
        let changes = Changes::default();
        device.borrow_mut().keep_changes(changes.clone());
        (1..8).for_each(&mut write);
        order.into_iter().for_each(&mut write);
        write(0);
        let is_program = |change: &Change| matches!(change, Change::Program { .. });
        let programs = changes.take().into_iter().filter(is_program).count() as u64;
        assert_eq!(programs, 7 + 8 + 1 + copies, "{order:?}");
    }
}
