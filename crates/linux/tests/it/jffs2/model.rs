//! Random operations compared with a model in memory. The chips are so small that garbage is
//! collected all the time.

use std::sync::Arc;

use flysch_chip::{Part, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::jffs2::{Compressor, Options};
use flysch_linux::mtd::EccMode;

use super::admit::History;
use super::operation::{Mix, Operation, User};
use super::state::{State, difference, read_all, read_named};
use super::{Bench, patience, small_part};

/// A run of random operations. From time to time it is compared with the model and remounted.
struct Run {
    part: Arc<Part>,
    operations: u32,
    mix: Mix,
    options: fn(Options) -> Options,
    ecc: EccMode,
}

const MIX: Mix = Mix { write_len_max: 9000, file_len_max: 20_000, sleeps: true };

fn check(run: &Run, seed: u64) {
    let mut bench = Bench::new(Arc::clone(&run.part));
    bench.options = (run.options)(Options { seed, ..bench.options });
    bench.ecc = run.ecc;
    bench.format().unwrap();
    let mut prng = Prng::new(seed);
    let mut user = User::new(bench.mount().unwrap());
    let mut history = History::new(State::default());
    for place in 0..run.operations {
        let story = format_args!("seed {seed}, operation {place}");
        history = history.step(&mut user, &mut prng, run.mix, story);
        let remount = place % 97 == 96;
        if remount {
            user.perform(&Operation::LetGo).unwrap();
            history.push(Operation::LetGo);
            user.vfs.unmount().unwrap();
            user = User::new(bench.mount().unwrap());
        }
        if remount || place % 7 == 0 {
            let found = read_all(&mut user.vfs).unwrap();
            let why = difference(&found, &history.last().visible());
            assert_eq!(why, None, "seed {seed}, after operation {place}");
        }
    }
    let erases = bench.device.borrow().chip().erase_counts().iter().sum::<u32>();
    let formatted = run.part.geometry.block_count;
    assert!(run.part.geometry.block_count > 100 || erases > 2 * formatted, "garbage is collected");
}

#[test]
fn a_small_chip_agrees_with_the_model() {
    let runs = [
        Run {
            part: small_part(8, 32),
            operations: 1500,
            mix: MIX,
            options: |options| options,
            ecc: EccMode::Hardware,
        },
        Run {
            part: small_part(16, 24),
            operations: 1500,
            mix: MIX,
            options: |options| Options { compressors: Vec::new(), ra_pages: 32, ..options },
            ecc: EccMode::Software { step_size: 256 },
        },
        Run {
            part: small_part(8, 48),
            operations: 1500,
            mix: MIX,
            options: |options| Options {
                compressors: vec![Compressor::Lzo, Compressor::Zlib],
                summaries: true,
                ..options
            },
            ecc: EccMode::Hardware,
        },
    ];
    for seed in 0..2 * patience() {
        for run in &runs {
            check(run, seed);
        }
    }
}

#[test]
fn a_large_chip_agrees_with_the_model() {
    let run = Run {
        part: Arc::new(Part::builtin("nandsim").unwrap()),
        operations: 500,
        mix: Mix { write_len_max: 100_000, file_len_max: 2_000_000, sleeps: true },
        options: |options| Options { ra_pages: 32, ..options },
        ecc: EccMode::Hardware,
    };
    check(&run, 7);
}

/// Fill a device again and again, and delete some files whenever it is full.
fn check_full(seed: u64) {
    let compressors = if seed.is_multiple_of(3) { vec![Compressor::Zlib] } else { Vec::new() };
    let mut bench = Bench::new(small_part(8, 32));
    bench.options = Options { compressors, seed, ..bench.options };
    bench.format().unwrap();
    let mut user = User::new(bench.mount().unwrap());
    let mut prng = Prng::new(seed);
    let mut history = History::new(State::default());
    let mut refusals = 0;
    for place in 0..600_u32 {
        // Each file is written as a whole, so that it is either as before or as it should be.
        let name = format!("file{}", prng.below(24));
        let mut bytes = vec![1; usize::try_from(prng.below(40_000)).unwrap()];
        prng.fill(&mut bytes);
        let create = Operation::Create { name: "new".to_owned() };
        let write = Operation::Write { name: "new".to_owned(), at: 0, bytes };
        let rename = Operation::Rename { from: "new".to_owned(), to: name.clone() };
        let outcome = [&create, &write, &rename].iter().try_for_each(|op| user.perform(op));
        match outcome {
            Ok(()) => history.extend([create, write, rename]),
            Err(FsError::NoSpace) => {
                refusals += 1;
                let unlinked = user.vfs.unlink("new");
                assert!(matches!(unlinked, Ok(()) | Err(FsError::NotFound)), "{unlinked:?}");
                if reads_as(&mut user, &name, &write) {
                    // The dirent of the new name was written, and then there was no space to delete
                    // the old one.
                    history.extend([create, write, rename]);
                }
                if history.last().names.contains_key(&name) {
                    let unlink = Operation::Unlink { name };
                    assert_eq!(user.perform(&unlink), Ok(()), "seed {seed}, {place}");
                    history.push(unlink);
                }
            }
            Err(error) => panic!("seed {seed}, {place}: {error}"),
        }
        user.vfs.sleep(prng.below(2) * 300_000_000);
        history = history.into_last();
        if place % 10 == 0 {
            user.vfs.drop_caches().unwrap();
            let found = read_all(&mut user.vfs).unwrap();
            assert_eq!(difference(&found, &history.last().visible()), None, "seed {seed}");
        }
    }
    assert!(refusals > 10, "{refusals} refusals");
    user.vfs.unmount().unwrap();
    let found = read_all(&mut bench.mount().unwrap()).unwrap();
    assert_eq!(difference(&found, &history.last().visible()), None, "seed {seed}");
}

fn reads_as(user: &mut User, name: &str, write: &Operation) -> bool {
    let Operation::Write { bytes, .. } = write else { return false };
    read_named(&mut user.vfs, name).is_ok_and(|found| found == *bytes)
}

#[test]
fn a_full_device_says_so_and_stays_readable() {
    (0..3 * patience()).for_each(check_full);
}

/// A regression. A rename took the version of its new dirent before it made room for it. To make
/// room, the collector moved the older dirent of the same name and gave it a higher version. After
/// the next mount the name stood for the old file again.
#[test]
fn a_rename_is_newer_than_what_was_collected_for_it() {
    check_full(10);
}
