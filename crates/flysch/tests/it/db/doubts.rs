//! What a cut left reads in one life and does not in another, and the lives are short.
//!
//! A page whose program was cut, or failed, and every page of a block whose erase was cut, show one
//! of two contents, which is drawn for each life or for each read. Most lives end while the mount
//! makes certain what it found, or soon after, so that several attempts lie beside each other.

use flysch::db::{Db, DbError, Direction, Durability, MountError};
use flysch::media::MediaError;
use flysch_chip::Prng;

use super::image::{Doubt, Image};
use super::world::{OPTIONS, SCHEMA, created, expected, insert, rows};
use crate::told;

const RAM: usize = 9_000;

/// How many rows there may be: those that were acknowledged, and one more.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: i64,
    most: i64,
}

/// Why a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Left,
    Cut,
    /// No root block is left, or no space.
    Full,
}

fn end_of(error: DbError) -> Result<End, DbError> {
    match error {
        DbError::Media(MediaError::PowerLost)
        | DbError::Mount(MountError::Media(MediaError::PowerLost)) => Ok(End::Cut),
        DbError::Full => Ok(End::Full),
        error => Err(error),
    }
}

/// Open, look at what is there, and insert a few rows.
fn live(
    image: &mut Image,
    bounds: &mut Bounds,
    prng: &mut Prng,
    story: &str,
) -> Result<(), DbError> {
    let mut ram = vec![0; RAM];
    let mut db = Db::open(image, &SCHEMA, OPTIONS, &mut ram)?;
    let found = rows(&mut db, Direction::Forward)?;
    let count = i64::try_from(found.len()).unwrap();
    assert!((bounds.least..=bounds.most).contains(&count), "{count} rows, of {bounds:?}: {story}");
    assert!(found == expected(&(0..count).collect::<Vec<_>>(), 0), "rows are the first ones");
    if prng.below(6) == 0 {
        return Ok(());
    }
    db.begin().map(drop)?;
    *bounds = Bounds { least: count, most: count };
    for _ in 0..[0, 1, 1, 2, 3, 8, 40][prng.below(7) as usize] {
        bounds.most = bounds.least + 1;
        insert(&mut db, &[bounds.least], 0, Durability::Durable)?;
        bounds.least += 1;
    }
    bounds.most = bounds.least;
    if prng.below(2) == 0 {
        db.close().map(drop)?;
    }
    Ok(())
}

/// Lives on a device of so many blocks, of which one operation in `fails_every` fails.
fn history(seed: u64, blocks: u32, fails_every: Option<u64>) -> [u64; 3] {
    let mut prng = Prng::new(seed);
    let mut image = created(blocks, RAM);
    let (mut bounds, mut ends) = (Bounds { least: 0, most: 0 }, [0; 3]);
    image.fails_every = fails_every;
    for life in 0..10 {
        let reach = [3, 6, 6, 12, 30, 90][prng.below(6) as usize];
        let is_cut = life > 0 && prng.below(5) > 0;
        let cut_in = is_cut.then(|| prng.below(reach));
        image.power_up(cut_in, Doubt { seed: prng.next(), is_fickle: prng.below(4) == 0 });
        let story = format!("seed {seed}, life {life}, {fails_every:?}");
        let end = match live(&mut image, &mut bounds, &mut prng, &story) {
            Ok(()) => End::Left,
            Err(error) => end_of(error).unwrap_or_else(|error| panic!("{error:?}: {story}")),
        };
        ends[end as usize] += 1;
    }
    ends
}

fn histories(count: u64, blocks: u32, fails_every: Option<u64>) {
    let seeds = told("FLYSCH_SEEDS");
    let mut ends = [0; 3];
    for seed in 0..seeds.unwrap_or(1) * count {
        let some = history(seed, blocks, fails_every);
        ends.iter_mut().zip(some).for_each(|(all, some)| *all += some);
    }
    assert!(ends[End::Cut as usize] > count, "lives are cut: {ends:?}");
}

#[test]
fn what_was_acknowledged_outlives_doubtful_pages() {
    histories(1500, 40, None);
}

/// The block table of a large device fills several pages, which are programmed at several commits.
/// What changes between the first and the last of them is in the checkpoint behind them.
#[test]
fn changes_between_the_pages_of_a_table_are_kept() {
    let (mut image, mut ram) = (created(330, RAM), vec![0; RAM]);
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    for count in 1..=900 {
        insert(&mut db, &[count - 1], 700, Durability::Durable).unwrap();
        if count % 3 == 0 {
            let (mut copy, mut ram) = ((*db.nand()).clone(), vec![0; RAM]);
            let mut db = Db::open(&mut copy, &SCHEMA, OPTIONS, &mut ram).unwrap();
            let numbers: Vec<i64> = (0..count).collect();
            assert!(rows(&mut db, Direction::Forward) == Ok(expected(&numbers, 700)), "{count}");
        }
    }
}

/// A program or an erase that fails leaves a doubtful page on a block that is marked.
///
/// The name page of a list failed, the database was closed, and the next session went on in that
/// list, for it saw the page. When it did not, the rows of that session were gone. Where a root had
/// to take the state, the record behind it rested on one that was not in its block.
#[test]
fn failures_leave_doubtful_pages_behind() {
    for every in [11, 37] {
        histories(700, 96, Some(every));
    }
}

/// Lists of several log blocks, and eight root blocks.
#[test]
fn large_devices_outlive_doubtful_pages() {
    histories(150, 520, None);
}
