//! Commits in byte-addressable memory beside the chip: nothing acknowledged is lost, wherever the
//! power goes, and most commits program nothing.

use flysch::db::{Db, DbError, Direction, Durability, MountError};
use flysch::media::{Cause, MediaError};
use flysch::row::Value;
use flysch_chip::Prng;
use flysch_nand::{NvRam, NvRamError, WriteRule};

use super::image::Image;
use super::world::{OPTIONS, Row, SCHEMA, ask_indexes, expected, insert, row, rows};
use crate::told;

const RAM: usize = 9_000;
const LOST: DbError = DbError::Media(MediaError::PowerLost);

/// Memory beside the chip, whose writes may be cut at any byte.
#[derive(Clone)]
pub(super) struct Memory {
    bytes: Vec<u8>,
    rule: WriteRule,
    /// Bytes that are written until the power goes.
    pub(super) cut_in: Option<usize>,
    /// The address of a byte that is worn out.
    worn: Option<u32>,
}

impl Memory {
    /// FRAM, which holds whatever it held; or NOR flash, erased by sectors of a kilobyte.
    pub(super) fn new(size: usize, rule: WriteRule) -> Self {
        let bytes = (0..size).map(|at| (at * at + 7 * at) as u8).collect();
        Self { bytes, rule, cut_in: None, worn: None }
    }

    /// Take `len` bytes of what is left until the cut; fewer where the power goes.
    fn reach(&mut self, len: usize) -> usize {
        let Some(left) = &mut self.cut_in else { return len };
        let reached = len.min(*left);
        *left -= reached;
        reached
    }
}

impl NvRam for Memory {
    fn size(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn write_rule(&self) -> WriteRule {
        self.rule
    }

    fn erase_size(&self) -> u32 {
        if self.rule == WriteRule::Overwrite { 0 } else { 1024 }
    }

    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError> {
        bytes.copy_from_slice(&self.bytes[addr as usize..][..bytes.len()]);
        Ok(())
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError> {
        if let Some(worn) =
            self.worn.filter(|worn| (addr..addr + bytes.len() as u32).contains(worn))
        {
            return Err(NvRamError::WornOut(worn));
        }
        let reached = self.reach(bytes.len());
        let cells = &mut self.bytes[addr as usize..][..reached];
        for (cell, byte) in cells.iter_mut().zip(bytes) {
            let clears = *cell & byte == *byte;
            assert!(self.rule == WriteRule::Overwrite || clears, "a bit is never set by a write");
            *cell = *byte;
        }
        if reached < bytes.len() { Err(NvRamError::PowerLost) } else { Ok(()) }
    }

    fn erase(&mut self, addr: u32) -> Result<(), NvRamError> {
        assert_eq!(self.rule, WriteRule::ClearBits, "nothing else needs an erase");
        if self.reach(1) == 0 {
            return Err(NvRamError::PowerLost);
        }
        self.bytes[addr as usize..][..1024].fill(0xFF);
        Ok(())
    }
}

/// The memory beside the chip, as a create or an open takes it.
pub(super) fn lent(memory: &mut Option<Memory>) -> Option<&mut dyn NvRam> {
    memory.as_mut().map(|memory| memory as &mut dyn NvRam)
}

const RULES: [WriteRule; 2] = [WriteRule::Overwrite, WriteRule::ClearBits];

fn create(image: &mut Image, memory: &mut Memory) {
    let mut ram = vec![0; RAM];
    let made = Db::create_with_nvram(image, Some(memory), &SCHEMA, OPTIONS, &mut ram);
    made.map(drop).unwrap();
}

/// One life: transactions until the power goes or the caller has enough. The numbers of the rows
/// that are kept, and of those of the commit that was cut.
fn live(
    image: &mut Image,
    memory: &mut Memory,
    prng: &mut Prng,
    (kept, doubtful, next): (&mut Vec<i64>, &mut Vec<i64>, &mut i64),
) -> Result<(), DbError> {
    let mut ram = vec![0; RAM];
    let mut db = Db::open_with_nvram(image, Some(memory), &SCHEMA, OPTIONS, &mut ram)?;
    loop {
        let whim = prng.below(40);
        if whim == 0 {
            return Ok(());
        }
        if whim == 1 {
            return db.close().map(drop);
        }
        let count = 1 + i64::try_from(prng.below(4)).unwrap();
        let numbers: Vec<i64> = (*next..*next + count).collect();
        *next += count;
        if prng.below(6) == 0 {
            let mut tx = db.begin()?;
            numbers.iter().try_for_each(|&number| row(number, 60).insert(&mut tx))?;
            tx.roll_back()?;
            continue;
        }
        doubtful.clone_from(&numbers);
        let durability = if prng.below(5) == 0 { Durability::Lazy } else { Durability::Durable };
        insert(&mut db, &numbers, 60, durability)?;
        if durability == Durability::Lazy {
            db.sync()?;
        }
        kept.append(doubtful);
    }
}

/// The rows of numbers. In a scan those that compaction moved come last.
fn sorted(numbers: &[i64]) -> Vec<Row> {
    let mut all = expected(numbers, 60);
    all.sort_unstable();
    all
}

fn history(rule: WriteRule, size: usize, seed: u64) {
    let mut prng = Prng::new(seed);
    let (mut image, mut memory) = (Image::blank(512, 300), Memory::new(size, rule));
    create(&mut image, &mut memory);
    let (mut kept, mut doubtful, mut next) = (Vec::new(), Vec::new(), 0);
    for life in 0..16 {
        let story = format!("{rule:?}, {size} bytes, seed {seed}, life {life}");
        if prng.below(3) == 0 {
            memory.cut_in = Some(prng.below(4_000) as usize);
        } else {
            image.cut_in = Some(prng.below(if life % 3 == 0 { 8 } else { 60 }));
        }
        let numbers = (&mut kept, &mut doubtful, &mut next);
        let lived = live(&mut image, &mut memory, &mut prng, numbers);
        (image.cut_in, memory.cut_in) = (None, None);
        assert!(lived == Ok(()) || lived == Err(LOST), "{lived:?}: {story}");
        let mut ram = vec![0; RAM];
        let opened = Db::open_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
        let mut db = opened.unwrap_or_else(|error| panic!("{error:?}: {story}"));
        let mut found = rows(&mut db, Direction::Forward).unwrap();
        found.sort_unstable();
        let with: Vec<i64> = kept.iter().chain(&doubtful).copied().collect();
        if found == sorted(&with) {
            kept = with;
        }
        assert!(found == sorted(&kept), "{} rows: {story}", found.len());
        doubtful.clear();
        if life % 4 == 3 {
            ask_indexes(&mut db, &found, &story).unwrap();
        }
    }
}

/// `FLYSCH_SEEDS` histories of each memory; 40 where it does not say.
#[test]
fn commits_beside_the_chip_survive_cuts() {
    let seeds = told("FLYSCH_SEEDS");
    for rule in RULES {
        for size in [2048, 8192] {
            (0..seeds.unwrap_or(40)).for_each(|seed| history(rule, size, seed));
        }
    }
}

/// A commit of a row programs a log page only where the memory is full.
#[test]
fn most_commits_program_nothing() {
    for rule in RULES {
        let (mut image, mut memory) = (Image::blank(2048, 128), Memory::new(8192, rule));
        create(&mut image, &mut memory);
        let mut ram = vec![0; 16_384];
        let memory: &mut dyn NvRam = &mut memory;
        let opened = Db::open_with_nvram(&mut image, Some(memory), &SCHEMA, OPTIONS, &mut ram);
        let mut db = opened.unwrap();
        for id in 0..1000 {
            insert(&mut db, &[id], 0, Durability::Durable).unwrap();
        }
        let log = db.stats().counts.programs_for(Cause::Log);
        assert!((4..=60).contains(&log), "{log} pages of the log for 1,000 commits, {rule:?}");
    }
}

/// Few rows come and go for ever on a small chip. Commits that only the memory has hold no block
/// back: nothing is refused.
#[test]
fn rows_that_come_and_go_are_never_refused() {
    // The memory of 256 KiB is never full.
    for (rule, size) in RULES.into_iter().flat_map(|rule| [(rule, 8192), (rule, 1 << 18)]) {
        let (mut image, mut memory) = (Image::blank(512, 40), Memory::new(size, rule));
        create(&mut image, &mut memory);
        let mut ram = vec![0; RAM];
        let opened = Db::open_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
        let mut db = opened.unwrap();
        for id in 0..2500 {
            let inserted = insert(&mut db, &[id], 300, Durability::Durable);
            assert_eq!(inserted, Ok(()), "{id} {:?}", db.stats());
            let table = u8::from(matches!(row(id, 300), Row::Note(..)));
            let mut tx = db.begin().unwrap();
            assert_eq!(tx.delete(table, &[Value::Integer(id)]), Ok(true), "{id}");
            tx.commit(Durability::Durable).unwrap();
        }
    }
}

/// Commits may be in the memory alone, so that the database is not opened without it; with an empty
/// one it is, and has what the log has.
#[test]
fn a_database_is_not_opened_without_its_memory() {
    let (mut image, mut memory) = (Image::blank(512, 128), Memory::new(4096, RULES[0]));
    create(&mut image, &mut memory);
    for id in 0..40 {
        let mut ram = vec![0; RAM];
        let opened = Db::open_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
        insert(&mut opened.unwrap(), &[2 * id, 2 * id + 1], 0, Durability::Durable).unwrap();
        let mut ram = vec![0; RAM];
        let refused = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).map(drop);
        assert_eq!(refused, Err(DbError::Mount(MountError::NoNvRam)));
    }
    let mut empty = Memory::new(4096, RULES[0]);
    let mut ram = vec![0; RAM];
    let opened = Db::open_with_nvram(&mut image, Some(&mut empty), &SCHEMA, OPTIONS, &mut ram);
    let found = rows(&mut opened.unwrap(), Direction::Forward).unwrap();
    assert!(found == expected(&(0..78).collect::<Vec<_>>(), 0), "{} rows", found.len());
}

/// A memory that is worn out takes no more commits: they go to the log.
#[test]
fn a_memory_that_is_worn_out_gives_way_to_the_log() {
    let (mut image, mut memory) = (Image::blank(512, 128), Memory::new(4096, RULES[0]));
    create(&mut image, &mut memory);
    for life in 0..3 {
        memory.worn = Some(700);
        let mut ram = vec![0; RAM];
        let opened = Db::open_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
        let mut db = opened.unwrap();
        for id in life * 50..life * 50 + 50 {
            insert(&mut db, &[id], 0, Durability::Durable).unwrap();
        }
    }
    let mut ram = vec![0; RAM];
    let opened = Db::open_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
    let found = rows(&mut opened.unwrap(), Direction::Forward).unwrap();
    assert!(found == expected(&(0..150).collect::<Vec<_>>(), 0), "{} rows", found.len());
}

/// Whatever the memory holds, an open answers or refuses; a database without rows in it is itself.
#[test]
fn a_memory_that_lies_is_passed_over_or_refused() {
    let (mut image, mut memory) = (Image::blank(512, 128), Memory::new(4096, RULES[0]));
    create(&mut image, &mut memory);
    let (mut kept, mut doubtful, mut next) = (Vec::new(), Vec::new(), 0);
    let numbers = (&mut kept, &mut doubtful, &mut next);
    live(&mut image, &mut memory, &mut Prng::new(5), numbers).unwrap();
    for at in 0..memory.bytes.len() {
        let (mut image, mut memory) = (image.clone(), memory.clone());
        memory.bytes[at] ^= 0x20;
        let mut ram = vec![0; RAM];
        match Db::open_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram) {
            Ok(mut db) => {
                let found = rows(&mut db, Direction::Forward).unwrap();
                let is_prefix = expected(&kept, 60).len() >= found.len();
                assert!(is_prefix, "byte {at} adds no row");
            }
            Err(error) => assert_eq!(error, DbError::Mount(MountError::Broken), "byte {at}"),
        }
    }
}

/// Records that follow a commit which the log lacks are passed over: between them and the log there
/// is a gap, and their rows would be put behind the wrong ones.
#[test]
fn records_that_do_not_follow_the_log_are_passed_over() {
    for rule in RULES {
        let (mut image, mut memory) = (Image::blank(512, 128), Memory::new(4096, rule));
        create(&mut image, &mut memory);
        let mut copies = Vec::new();
        let mut ram = vec![0; RAM];
        let opened = Db::open_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
        let mut db = opened.unwrap();
        for id in 0..130 {
            insert(&mut db, &[id], 0, Durability::Durable).unwrap();
            copies.push(Image::clone(db.nand()));
        }
        for (at, mut copy) in copies.into_iter().enumerate() {
            let mut ram = vec![0; RAM];
            let opened =
                Db::open_with_nvram(&mut copy, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
            // Where records do follow, they may name pages that this chip never had.
            if let Err(DbError::Media(_)) = opened {
                continue;
            }
            let mut db = opened.unwrap_or_else(|error| panic!("{error:?} after commit {at}"));
            let Ok(found) = rows(&mut db, Direction::Forward) else { continue };
            let ids: Vec<i64> = (0..).take(found.len()).collect();
            assert!(found == expected(&ids, 0), "a chip as it was after commit {at}, {rule:?}");
        }
    }
}

/// However large the memory is, records of the log are written in time. So no call writes all that
/// was put off: beside the row's page it programs what a commit to the log does.
#[test]
fn a_large_memory_makes_no_long_calls() {
    for (size, note_max) in [(8_000, 0), (60_000, 0), (1_000_000, 0), (1_000_000, 60)] {
        let (mut image, mut ram) = (Image::blank(512, 256), vec![0; RAM]);
        let mut memory = Memory::new(size, WriteRule::Overwrite);
        let made = Db::create_with_nvram(&mut image, Some(&mut memory), &SCHEMA, OPTIONS, &mut ram);
        let (mut db, mut most) = (made.unwrap(), 0);
        for id in 0..3000 {
            let before = db.stats().counts.programs_in_all();
            insert(&mut db, &[id], note_max, Durability::Durable).unwrap();
            most = most.max(db.stats().counts.programs_in_all() - before);
        }
        assert!(most <= 4, "a call programs {most} pages, with a memory of {size} bytes");
    }
}
