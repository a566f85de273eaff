//! Blocks that are bad from the factory or fail later: no data is lost, and none of them is used
//! again.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Hooked, Hooks, Prng, Shared};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::mtd::{EccMode, Partition, RawNand};
use flysch_linux::vfs::Vfs;
use flysch_linux::yaffs2::Yaffs2;
use flysch_nand::{BlockAddr, PageAddr};

use super::{ALL_OPTIONS, Bench, read_users};
use crate::jffs2::admit::History;
use crate::jffs2::operation::{Mix, Operation, User};
use crate::jffs2::small_part;
use crate::jffs2::state::{State, difference, read_named};

#[test]
fn failing_blocks_are_retired_and_nothing_is_lost() {
    for (seed, options) in (0..).zip(ALL_OPTIONS) {
        let part = small_part(8, 72);
        let chip = Chip::new(part, Clock::new(), seed);
        let bad = [3, 17].map(BlockAddr);
        let fresh = Bench::of_chip(&chip, options);
        let chip = chip.fork(fresh.recorder.clock().clone());
        let injector = FaultInjector::with_factory_bad_blocks(chip, bad);
        let bench = Bench { device: Shared::new(injector), ..fresh };
        bench.format().unwrap();
        let plan = FaultPlan {
            seed,
            program_failures_ppm: 4000,
            erase_failures_ppm: 4000,
            ..FaultPlan::default()
        };
        bench.arm(plan);
        let mut prng = Prng::new(seed);
        let mut user = User::new(bench.mount().unwrap());
        let mut history = History::new(State::default());
        let mix = Mix { write_len_max: 6000, file_len_max: 12_000, sleeps: true };
        for place in 0..500 {
            let story = format_args!("{options:?}, {place}");
            history = history.step(&mut user, &mut prng, mix, story);
            if place % 100 == 99 {
                user.perform(&Operation::LetGo).unwrap();
                history.push(Operation::LetGo);
                user = User::new(bench.mount().unwrap());
                let found = read_users(&mut user.vfs).unwrap();
                let why = difference(&found, &history.last().visible());
                assert_eq!(why, None, "{options:?}, after {place}");
            }
        }
        let retired = bench.device.borrow().chip().wear().bad_block_count;
        assert!(retired > 3, "{retired} blocks are bad");
    }
}

/// One block in three, whose first program leaves nothing until it is erased, and says nothing of
/// it.
struct Dull {
    pages_per_block: u32,
    erased: BTreeSet<u32>,
    refused: u32,
}

impl Hooks for Dull {
    fn before_program(&mut self, page: PageAddr, _: &[u8], _: &[u8]) -> bool {
        let (block, place) = (page.0 / self.pages_per_block, page.0 % self.pages_per_block);
        let is_dull = place == 0 && block.is_multiple_of(3) && !self.erased.contains(&block);
        self.refused += u32::from(is_dull);
        !is_dull
    }

    fn before_erase(&mut self, block: BlockAddr) {
        self.erased.insert(block.0);
    }
}

/// The first program in a block that nobody has erased since the mount is read back.
#[test]
fn a_block_that_does_not_take_its_first_page_is_passed_over() {
    for options in ALL_OPTIONS {
        let bench = Bench::new(small_part(8, 40), options);
        bench.format().unwrap();
        let hooks = Dull { pages_per_block: 8, erased: BTreeSet::new(), refused: 0 };
        let device = Shared::new(Hooked { device: bench.device.clone(), hooks });
        let (recorder, nand) = (bench.recorder.clone(), Box::new(device.clone()));
        let raw = RawNand::attach(nand, recorder.clone(), bench.cpu(), EccMode::Hardware, (0, 0))
            .unwrap();
        let mtd = Partition::new(Rc::new(RefCell::new(raw)), 0, 40).unwrap();
        let fs = Yaffs2::mount(mtd, options, bench.cpu(), &recorder).unwrap();
        let mut vfs = Vfs::mount(Box::new(fs), ReadAheadProfile::C, bench.cpu(), recorder);
        for number in 0..4 {
            let fd = vfs.open(&format!("file{number}"), true).unwrap();
            vfs.write(fd, 0, &[number; 9000]).unwrap();
            vfs.close(fd).unwrap();
        }
        vfs.sync().unwrap();
        drop(vfs);
        assert!(device.borrow().hooks.refused > 0, "{options:?}");
        let mut vfs = bench.mount().unwrap();
        for number in 0..4 {
            let found = read_named(&mut vfs, &format!("file{number}")).unwrap();
            assert!(found == [number; 9000], "{options:?}: file{number}");
        }
    }
}
