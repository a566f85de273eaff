//! Bad blocks, failing operations, bit errors, and chips full of random bytes.

use std::sync::Arc;

use flysch_chip::{Clock, FaultInjector, FaultPlan, Prng, Shared};
use flysch_linux::block_device::BlockError;
use flysch_nand::{BlockAddr, Nand, PageAddr};

use super::{Device, MAPPINGS, Model, attach, chip, shape};
use crate::image::chip_of;

#[test]
fn blocks_that_go_bad_lose_nothing() {
    for mapping in MAPPINGS {
        let chip = chip(30, 8);
        let injector = FaultInjector::with_factory_bad_blocks(chip, [BlockAddr(3)]);
        let device = Shared::new(injector);
        let shape = super::FtlOptions { spare_blocks: 14, ..shape(30, 512, mapping) };
        let mut ftl = attach(&device, shape).unwrap();
        let mut model = Model::of(&*ftl);
        let grown_bad_blocks = [(BlockAddr(5), 40), (BlockAddr(9), 300), (BlockAddr(12), 500)];
        let plan = FaultPlan {
            failing_pages: [PageAddr(19 * 8 + 3)].into(),
            grown_bad_blocks: grown_bad_blocks.into(),
            ..FaultPlan::default()
        };
        device.borrow_mut().arm(plan);
        let mut prng = Prng::new(11);
        for _ in 0..6 {
            for _ in 0..150 {
                model.write(&mut *ftl, &mut prng).unwrap();
            }
            model.check(&mut *ftl).unwrap();
            ftl = attach(&device, shape).unwrap();
            model.check(&mut *ftl).unwrap();
        }
        let bad = (0..30).filter(|&block| device.borrow_mut().is_bad(BlockAddr(block)).unwrap());
        assert_eq!(bad.collect::<Vec<_>>(), [3, 5, 9, 12, 19], "{mapping:?}");
    }
}

#[test]
fn a_device_without_good_blocks_left_says_so() {
    for mapping in MAPPINGS {
        let device = Shared::new(FaultInjector::new(chip(24, 8)));
        let mut ftl = attach(&device, shape(24, 512, mapping)).unwrap();
        let mut model = Model::of(&*ftl);
        let plan = FaultPlan { program_failures_ppm: 100_000, ..FaultPlan::default() };
        device.borrow_mut().arm(plan);
        let mut prng = Prng::new(12);
        let error = (0..10_000).find_map(|_| model.write(&mut *ftl, &mut prng).err());
        assert_eq!(error, Some(BlockError::WornOut), "{mapping:?}");
        model.check(&mut *ftl).unwrap();
    }
}

/// A page that ECC cannot correct is reported with its sector. Moving the page must not make it
/// look valid.
#[test]
fn lost_pages_stay_lost() {
    for mapping in MAPPINGS {
        let device = Shared::new(FaultInjector::new(chip(24, 8)));
        let shape = shape(24, 512, mapping);
        let mut ftl = attach(&device, shape).unwrap();
        for sector in 0..64 {
            ftl.write(sector, &[7; 512]).unwrap();
        }
        let data = ftl_page_of(&device, 7);
        let flawed_pages = data.into_iter().map(|page| (page, 40)).collect();
        device.borrow_mut().arm(FaultPlan { flawed_pages, ..FaultPlan::default() });
        assert_eq!(ftl.read(0, &mut [0; 512]), Err(BlockError::Damaged { sector: 0 }));
        for _ in 0..200 {
            for sector in 64..128 {
                let outcome = ftl.write(sector, &[1; 512]);
                let lost = matches!(outcome, Ok(()) | Err(BlockError::Damaged { .. }));
                assert!(lost, "{outcome:?}");
            }
        }
        device.borrow_mut().arm(FaultPlan::default());
        for _ in 0..2 {
            let outcome = ftl.read(0, &mut [0; 512]);
            assert_eq!(outcome, Err(BlockError::Damaged { sector: 0 }), "{mapping:?}");
            ftl = attach(&device, shape).unwrap();
        }
    }
}

/// The pages whose first byte is `value`.
fn ftl_page_of(device: &Device, value: u8) -> Vec<PageAddr> {
    let pages = (0..24 * 8).map(PageAddr);
    let holds = |page: &PageAddr| {
        let mut byte = [0];
        device.clone().read(*page, 0, &mut byte).unwrap();
        byte == [value]
    };
    pages.filter(holds).collect()
}

#[test]
fn noise_is_an_empty_device_at_worst() {
    for mapping in MAPPINGS {
        for seed in 0..20 {
            let mut prng = Prng::new(seed);
            let mut injector = FaultInjector::new(chip(24, 8));
            for page in 0..24 * 8 {
                let mut data = vec![0; 2048];
                let mut oob = vec![0xFF; 64];
                prng.fill(&mut data);
                prng.fill(&mut oob[1..]);
                injector.program(PageAddr(page), 0, &data, &oob).unwrap();
            }
            let device = Shared::new(injector);
            let mut ftl = attach(&device, shape(24, 512, mapping)).unwrap();
            let mut model = Model::of(&*ftl);
            model.check(&mut *ftl).unwrap();
            for _ in 0..100 {
                model.write(&mut *ftl, &mut prng).unwrap();
            }
            model.check(&mut *ftl).unwrap();
        }
    }
}

/// A regression. Tags may claim any number of erases: the counters end at the largest, and the
/// device goes on.
#[test]
fn the_largest_erase_counts_are_survived() {
    for mapping in MAPPINGS {
        let device = Shared::new(FaultInjector::new(chip(24, 8)));
        let shape = shape(24, 512, mapping);
        let mut ftl = attach(&device, shape).unwrap();
        let mut model = Model::of(&*ftl);
        let mut prng = Prng::new(4);
        (0..60).for_each(|_| model.write(&mut *ftl, &mut prng).unwrap());
        let pages = pages_with_tags(&device, |tag| tag[4..8].fill(0xFF));
        let part = Arc::new(device.borrow().chip().part().clone());
        let worn = chip_of(&part, pages.iter().map(|(data, oob)| [&data[..], &oob[..]]));
        let device = Shared::new(FaultInjector::new(worn));
        let mut ftl = attach(&device, shape).unwrap();
        for _ in 0..300 {
            model.write(&mut *ftl, &mut prng).unwrap();
        }
        model.check(&mut *ftl).unwrap();
    }
}

/// A page between others reads as erased. Whatever the device makes of it, what is written from
/// then on is there.
#[test]
fn a_page_that_reads_as_blank_spoils_nothing_that_comes_later() {
    for mapping in MAPPINGS {
        let device = Shared::new(FaultInjector::new(chip(14, 4)));
        let shape = shape(14, 512, mapping);
        let mut ftl = attach(&device, shape).unwrap();
        let mut model = Model::of(&*ftl);
        let mut prng = Prng::new(4);
        (0..70).for_each(|_| model.write(&mut *ftl, &mut prng).unwrap());
        let pages = pages_with_tags(&device, |_| {});
        let part = Arc::new(device.borrow().chip().part().clone());
        let used = (0..pages.len()).filter(|&at| pages[at].1.iter().any(|&byte| byte != 0xFF));
        let used: Vec<usize> = used.collect();
        assert!(used.len() > 20, "{mapping:?}: {used:?}");
        for blank in used {
            let mut pages = pages.clone();
            pages[blank].0.fill(0xFF);
            pages[blank].1.fill(0xFF);
            let holed = chip_of(&part, pages.iter().map(|(data, oob)| [&data[..], &oob[..]]));
            let device = Shared::new(FaultInjector::new(holed));
            let mut ftl = attach(&device, shape).unwrap();
            let mut wanted = Vec::new();
            for sector in 0..ftl.sector_count() {
                let bytes = [u8::try_from(sector % 251).unwrap(); 512];
                ftl.write(sector, &bytes).unwrap();
                wanted.extend(bytes);
            }
            for _ in 0..2 {
                let mut found = vec![0; wanted.len()];
                assert_eq!(ftl.read(0, &mut found), Ok(()), "{mapping:?}, page {blank}");
                assert!(found == wanted, "{mapping:?}, page {blank}");
                ftl = attach(&device, shape).unwrap();
            }
        }
    }
}

/// The data and OOB bytes of all pages, with a change in each tag and its checksum right again.
fn pages_with_tags(device: &Device, change: impl Fn(&mut [u8])) -> Vec<(Vec<u8>, Vec<u8>)> {
    let geometry = device.geometry();
    let mut chip = device.borrow().chip().fork(Clock::new());
    let page = |page| {
        let mut data = vec![0; (geometry.page_size + geometry.oob_size) as usize];
        chip.read(PageAddr(page), 0, &mut data).unwrap();
        let mut oob = data.split_off(geometry.page_size as usize);
        let tag = &mut oob[2..30];
        if tag[0] != 0xFF {
            change(tag);
            let crc = crc32fast::hash(&tag[..24]);
            tag[24..].copy_from_slice(&crc.to_le_bytes());
        }
        (data, oob)
    };
    (0..geometry.page_count()).map(page).collect()
}
