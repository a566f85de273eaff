//! A block that shows that its erase was cut is erased before it is programmed.

use flysch_chip::{Change, Changes, Ending, FaultPlan};
use flysch_nand::{BlockAddr, Nand, PageAddr};

use super::{STACKS, machine, write};
use crate::machine::Machine;

/// Change files, and sync each.
fn work(machine: &Machine, rounds: u64) -> Option<()> {
    let mut vfs = machine.mount().ok()?;
    for round in 0..rounds {
        write(&mut vfs, &format!("file{}", round % 3), 9000, round).ok()?;
        write(&mut vfs, &format!("gone{round}"), 100, round).ok()?;
        vfs.unlink(&format!("gone{round}")).ok()?;
        vfs.sync().ok()?;
        vfs.sleep(100_000_000);
        if round % 5 == 4 {
            vfs.unlink("file1").ok()?;
            vfs.sync().ok()?;
        }
    }
    Some(())
}

fn names(machine: &Machine) -> impl Iterator<Item = String> {
    let entries = machine.mount().unwrap().list("/").unwrap();
    entries.into_iter().map(|entry| String::from_utf8(entry.name).unwrap())
}

/// Whether some page of a block reads as blank although a later one does not.
fn has_gap(machine: &Machine, block: BlockAddr) -> bool {
    let mut chip = machine.device.borrow().chip().fork(flysch_chip::Clock::new());
    let geometry = chip.geometry();
    let mut bytes = vec![0; (geometry.page_size + geometry.oob_size) as usize];
    let mut is_blank = |page| {
        let _quality = chip.read(PageAddr(page), 0, &mut bytes);
        bytes.iter().all(|&byte| byte == 0xFF)
    };
    let first = geometry.first_page(block).0;
    let pages: Vec<bool> = (first..first + geometry.pages_per_block).map(&mut is_blank).collect();
    let end = pages.iter().rposition(|is_blank| !is_blank).unwrap_or(0);
    pages[..end].contains(&true)
}

#[test]
fn a_block_that_was_half_erased_is_erased_before_it_is_used() {
    for kind in STACKS {
        let origin = machine(kind);
        work(&origin, 120).unwrap();
        let whole = origin.fork();
        let changes = Changes::default();
        whole.device.borrow_mut().keep_changes(changes.clone());
        work(&whole, 40).unwrap();
        let erases = (0..).zip(changes.take()).filter_map(|(place, change)| match change {
            Change::Erase(block) => Some((place, block)),
            _ => None,
        });
        let mut shown = 0;
        for (place, block) in erases.take(25) {
            for seed in 0..2 {
                let machine = origin.fork();
                let (cut_at_change, ending) = (Some(place), Some(Ending::Torn));
                let plan = FaultPlan { seed, cut_at_change, ending, ..FaultPlan::default() };
                machine.device.borrow_mut().arm(plan);
                assert_eq!(work(&machine, 40), None, "{kind:?}: the power goes");
                machine.device.borrow_mut().power_up();
                machine.device.borrow_mut().arm(FaultPlan::default());
                if !has_gap(&machine, block) {
                    continue;
                }
                shown += 1;
                let changes = Changes::default();
                machine.device.borrow_mut().keep_changes(changes.clone());
                // A file that was removed may be there if the power went before that was synced.
                let gone = names(&machine).filter(|name| name.starts_with("gone")).count();
                assert!(gone <= 1, "{kind:?}, change {place}, seed {seed}: {gone} files are back");
                work(&machine, 25).unwrap();
                let first = changes.take().into_iter().find(|change| match change {
                    Change::Program { page, .. } => {
                        machine.device.geometry().block_of(*page) == block
                    }
                    Change::Erase(other) | Change::MarkBad(other) => *other == block,
                    Change::Write { .. } => false,
                });
                let is_program = matches!(first, Some(Change::Program { .. }));
                assert!(!is_program, "{kind:?}, change {place}, seed {seed}: {block}");
            }
        }
        assert!(shown > 5, "{kind:?}: {shown} blocks show it");
    }
}
