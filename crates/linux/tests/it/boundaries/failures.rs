//! A block in which one program failed is not trusted again, even if its erase succeeds.

use flysch_chip::FaultPlan;
use flysch_nand::Nand;

use super::{churn, machine, write};
use crate::ftl::{LOG_BLOCK, PAGE_MAP};
use crate::jffs2::state::read_named;
use crate::machine::Kind;

/// UBI tests such a block instead, and marks it if the test fails.
const MARKING: [Kind; 4] = [Kind::Jffs2, Kind::Yaffs2, Kind::Ftl(PAGE_MAP), Kind::Ftl(LOG_BLOCK)];

/// The block gets its mark once its data has moved, whether the file system was mounted all the
/// time or not. (JFFS2 keeps in memory alone which block failed, as the kernel does.)
#[test]
fn a_block_in_which_one_program_failed_is_marked() {
    for kind in MARKING {
        for is_mounted_anew in [false, kind != Kind::Jffs2] {
            let machine = machine(kind);
            let mut vfs = machine.mount().unwrap();
            write(&mut vfs, "cold", 30_000, 77).unwrap();
            let plan = FaultPlan { program_failures_ppm: 15_000, seed: 3, ..FaultPlan::default() };
            machine.device.borrow_mut().arm(plan);
            for round in 0..200 {
                write(&mut vfs, "failing", 9000, round).unwrap();
                if machine.device.borrow().failures().len() > 2 {
                    break;
                }
            }
            machine.device.borrow_mut().arm(FaultPlan::default());
            if is_mounted_anew {
                vfs.unmount().unwrap();
                vfs = machine.mount().unwrap();
            }
            churn(&mut vfs, 400);
            vfs.unmount().unwrap();
            let failures = machine.device.borrow().failures().clone();
            assert!(failures.len() > 2, "{kind:?}: {failures:?}");
            for &block in failures.keys() {
                let is_marked = machine.device.clone().is_bad(block);
                assert_eq!(is_marked, Ok(true), "{kind:?}, {is_mounted_anew}: {block}");
            }
            let mut cold = vec![0; 30_000];
            flysch_chip::Prng::new(77).fill(&mut cold);
            let mut vfs = machine.mount().unwrap();
            assert!(read_named(&mut vfs, "cold").unwrap() == cold, "{kind:?}");
        }
    }
}
