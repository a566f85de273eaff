//! A page that cannot be read at one mount, and can be at the next.

use flysch_chip::{FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;
use flysch_nand::{Nand, PageAddr};

use super::{machine, write};
use crate::jffs2::state::read_named;
use crate::machine::{Kind, Machine};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Prng::new(seed).fill(&mut bytes);
    bytes
}

/// Files that were replaced, removed, cut, and extended by holes.
fn prepare(vfs: &mut Vfs, rounds: u64) -> Result<(), FsError> {
    write(vfs, "kept", 3000, 100)?;
    for round in 0..rounds {
        for (seed, name) in (round..).zip(NAMES) {
            write(vfs, name, 5000, seed)?;
        }
        // The entries that follow are not in the first sector of their page.
        let lead = vfs.open("lead", true)?;
        vfs.write(lead, 0, &random(600, round))?;
        vfs.close(lead)?;
        vfs.rename("a", "b")?;
        vfs.unlink("c")?;
        vfs.sync()?;
        let fd = vfs.open("d", false)?;
        vfs.truncate(fd, 1000)?;
        vfs.truncate(fd, 4500)?;
        vfs.write(fd, 4500, &[1; 100])?;
        vfs.fsync(fd)?;
        vfs.close(fd)?;
    }
    Ok(())
}

fn used_pages(machine: &Machine) -> Vec<PageAddr> {
    let mut chip = machine.device.borrow().chip().fork(flysch_chip::Clock::new());
    let geometry = chip.geometry();
    let mut bytes = vec![0; geometry.page_size as usize];
    let mut is_used = |page: &PageAddr| {
        let _quality = chip.read(*page, 0, &mut bytes);
        bytes.iter().any(|&byte| byte != 0xFF)
    };
    (0..geometry.page_count()).map(PageAddr).filter(&mut is_used).collect()
}

/// What was written while the page could not be read counts when it can be again. JFFS2 gives each
/// node a version for that. The page may hold the newest node of a directory, such as a copy that
/// the collector made, and the mount cannot know its version.
#[test]
fn what_was_synced_beside_a_bad_page_outlives_it() {
    // The entries come to lie at the begin of a block, and at its end.
    for rounds in 3..7 {
        let origin = machine(Kind::Jffs2);
        let mut vfs = origin.mount().unwrap();
        prepare(&mut vfs, rounds).unwrap();
        drop(vfs);
        let mut renewed = 0;
        let pages = used_pages(&origin).into_iter();
        for (page, name) in pages.flat_map(|page| NAMES.map(|name| (page, name))) {
            renewed += u32::from(is_renewed(&origin, page, name));
        }
        assert!(renewed > 20, "{renewed} files");
    }
}

/// Replace a file by another one while a page cannot be read, and see that it stays replaced when
/// the page can be read again. False where that cannot be done.
fn is_renewed(origin: &Machine, page: PageAddr, name: &str) -> bool {
    let machine = origin.fork();
    let flawed_pages = [(page, 200)].into();
    machine.device.borrow_mut().arm(FaultPlan { flawed_pages, ..FaultPlan::default() });
    let Ok(mut vfs) = machine.mount() else { return false };
    if vfs.rename("kept", name).and_then(|()| vfs.sync()).is_err() {
        return false;
    }
    drop(vfs);
    machine.device.borrow_mut().arm(FaultPlan::default());
    let mut vfs = machine.mount().unwrap();
    let found = read_named(&mut vfs, name);
    assert!(found == Ok(random(3000, 100)), "{page}, {name}");
    assert_eq!(vfs.exists("kept"), Ok(false), "{page}, {name}");
    true
}
