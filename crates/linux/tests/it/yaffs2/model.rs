//! Random operations compared with a model in memory, on chips so small that garbage is collected
//! all the time; and full devices.

use std::sync::Arc;

use flysch_chip::{Part, Prng};
use flysch_linux::filesystem::FsError;

use super::{ALL_OPTIONS, Bench, read_users};
use crate::jffs2::admit::History;
use crate::jffs2::operation::{Mix, Operation, User};
use crate::jffs2::state::{State, difference};
use crate::jffs2::{patience, small_part};

fn check(bench: &Bench, mix: Mix, operations: u32, seed: u64) {
    bench.format().unwrap();
    let mut prng = Prng::new(seed);
    let mut user = User::new(bench.mount().unwrap());
    let mut history = History::new(State::default());
    for place in 0..operations {
        let story = format_args!("seed {seed}, operation {place}");
        history = history.step(&mut user, &mut prng, mix, story);
        let remount = place % 97 == 96;
        if remount {
            user.perform(&Operation::LetGo).unwrap();
            history.push(Operation::LetGo);
            if place % 2 == 0 {
                user.vfs.unmount().unwrap();
            }
            user = User::new(bench.mount().unwrap());
        }
        if remount || place % 7 == 0 {
            let found = read_users(&mut user.vfs).unwrap();
            let why = difference(&found, &history.last().visible());
            assert_eq!(why, None, "seed {seed}, after operation {place}");
        }
    }
}

#[test]
fn a_small_chip_agrees_with_the_model() {
    let mix = Mix { write_len_max: 9000, file_len_max: 20_000, sleeps: true };
    for seed in 0..2 * patience() {
        for options in ALL_OPTIONS {
            for part in [small_part(8, 40), small_part(16, 32)] {
                let bench = Bench::new(part, options);
                check(&bench, mix, 1500, seed);
                let erases = bench.device.borrow().chip().erase_counts().iter().sum::<u32>();
                assert!(erases > 100, "garbage is collected");
            }
        }
    }
}

#[test]
fn a_large_chip_agrees_with_the_model() {
    let mix = Mix { write_len_max: 100_000, file_len_max: 2_000_000, sleeps: true };
    let part = Arc::new(Part::builtin("nandsim").unwrap());
    check(&Bench::new(part, ALL_OPTIONS[0]), mix, 300, 7);
}

#[test]
fn a_full_device_says_so_and_stays_readable() {
    for options in ALL_OPTIONS {
        let bench = Bench::new(small_part(8, 40), options);
        bench.format().unwrap();
        let mut vfs = bench.mount().unwrap();
        let mut sizes = Vec::new();
        for round in 0..4_u8 {
            let mut number = 0;
            loop {
                let name = format!("file{number}");
                let written = vfs.open(&name, true).and_then(|fd| {
                    let outcome = vfs.write(fd, 0, &[round + number + 1; 9000]);
                    vfs.close(fd).and(outcome)
                });
                match written {
                    Ok(()) => number += 1,
                    Err(FsError::NoSpace) => break,
                    Err(error) => panic!("{options:?}: {error}"),
                }
            }
            assert!(number >= 10, "{options:?}: {number} files fit in round {round}");
            sizes.push(number);
            vfs.drop_caches().unwrap();
            for place in 0..number {
                let fd = vfs.open(&format!("file{place}"), false).unwrap();
                let mut bytes = vec![0; 9000];
                assert_eq!(vfs.read(fd, 0, &mut bytes), Ok(9000), "{options:?}");
                assert!(bytes.iter().all(|&byte| byte == round + place + 1), "{options:?}");
                vfs.close(fd).unwrap();
            }
            vfs.unmount().unwrap();
            vfs = bench.mount().unwrap();
            for place in 0..=number {
                let unlinked = vfs.unlink(&format!("file{place}"));
                assert!(matches!(unlinked, Ok(()) | Err(FsError::NotFound)), "{unlinked:?}");
            }
        }
        let (most, least) = (sizes.iter().max().unwrap(), sizes.iter().min().unwrap());
        assert!(most - least <= 2, "space comes back: {sizes:?}");
    }
}
