//! Blocks that are bad from the factory or fail later: no data is lost, and none of them is used
//! again.

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Prng, Shared};
use flysch_nand::BlockAddr;

use super::{ALL_OPTIONS, Bench, read_users};
use crate::jffs2::admit::History;
use crate::jffs2::operation::{Mix, Operation, User};
use crate::jffs2::small_part;
use crate::jffs2::state::{State, difference};

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
