//! Databases on a stack: each commit is whole after a cut, and none that returned is lost.
//!
//! One keeps a rollback journal beside a file of pages, as SQLite does. The other appends to a log
//! and replaces a snapshot by a rename, as stores for settings do. Both hold the same pages, and
//! each page the number of the transaction that wrote it last.

use flysch_chip::Prng;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;

use super::life::{Tally, mounted, plan, recover, told};
use super::script::{MODES, Mode, Script};
use crate::jffs2::state::read_named;
use crate::machine::Machine;

const PAGE: usize = 1024;
const PAGES: usize = 12;
/// Bytes of a log at which the snapshot is made anew.
const LOG_MAX: u64 = 24 << 10;

/// The transaction that wrote each page last.
type Pages = [u32; PAGES];

/// How a database commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Rollback,
    Log,
}

impl Way {
    const ALL: [Self; 2] = [Self::Rollback, Self::Log];

    /// Make the pages durable that `new` has and `old` has not.
    fn commit(self, vfs: &mut Vfs, old: &Pages, new: &Pages) -> Result<(), FsError> {
        match self {
            Self::Rollback => {
                write_file(vfs, "journal", &image(old))?;
                vfs.sync_directory("")?;
                let fd = vfs.open("pages", true)?;
                for (place, number) in new.iter().enumerate() {
                    if *number != old[place] {
                        vfs.write(fd, (place * PAGE) as u64, &page(place, *number))?;
                    }
                }
                vfs.fsync(fd)?;
                vfs.close(fd)?;
                vfs.unlink("journal")?;
                vfs.sync_directory("")
            }
            Self::Log => {
                let record = image(new);
                let fd = vfs.open("log", true)?;
                let end = vfs.size(fd)?;
                vfs.write(fd, end, &record)?;
                vfs.fsync(fd)?;
                vfs.close(fd)?;
                if end < LOG_MAX {
                    return Ok(());
                }
                write_file(vfs, "snapshot.new", &record)?;
                vfs.rename("snapshot.new", "snapshot")?;
                vfs.sync_directory("")?;
                vfs.unlink("log")?;
                vfs.sync_directory("")
            }
        }
    }

    /// What the database holds after a cut. A transaction that was under way is rolled back.
    fn open(self, vfs: &mut Vfs) -> Result<Pages, String> {
        match self {
            Self::Rollback => {
                let journal = read(vfs, "journal")?;
                if let Some(old) = journal.as_deref().and_then(last_image) {
                    write_file(vfs, "pages", &image(&old)[..PAGES * PAGE]).map_err(told)?;
                }
                if journal.is_some() {
                    vfs.unlink("journal").and_then(|()| vfs.sync_directory("")).map_err(told)?;
                }
                let mut bytes = read(vfs, "pages")?.unwrap_or_default();
                bytes.resize(PAGES * PAGE, 0);
                pages(&bytes).ok_or_else(|| "pages are torn".to_owned())
            }
            Self::Log => {
                let snapshot = read(vfs, "snapshot")?.unwrap_or_default();
                let log = read(vfs, "log")?.unwrap_or_default();
                // A log that ends in half a record is cut, so that the next stands at its place.
                let whole = log.chunks(RECORD).take_while(|it| last_image(it).is_some()).count();
                if whole * RECORD < log.len() {
                    let fd = vfs.open("log", false).map_err(told)?;
                    vfs.truncate(fd, (whole * RECORD) as u64).map_err(told)?;
                    vfs.fsync(fd).and_then(|()| vfs.close(fd)).map_err(told)?;
                }
                let snapshot = last_image(&snapshot).unwrap_or_default();
                let logged = last_image(&log[..whole * RECORD]).unwrap_or_default();
                Ok(if number_of(&logged) > number_of(&snapshot) { logged } else { snapshot })
            }
        }
    }
}

/// Bytes of all pages with a checksum.
const RECORD: usize = PAGES * PAGE + 4;

fn number_of(pages: &Pages) -> u32 {
    pages.iter().copied().max().unwrap_or(0)
}

fn page(place: usize, number: u32) -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    if number > 0 {
        Prng::new(u64::from(number) << 8 | place as u64).fill(&mut bytes);
        bytes[..4].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn image(pages: &Pages) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        pages.iter().enumerate().flat_map(|(place, &number)| page(place, number)).collect();
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// The transactions of all pages. `None` if one of them is torn.
fn pages(bytes: &[u8]) -> Option<Pages> {
    let mut numbers = [0; PAGES];
    for (place, (found, number)) in bytes.chunks(PAGE).zip(&mut numbers).enumerate() {
        *number = u32::from_le_bytes(*found.first_chunk()?);
        if page(place, *number) != found {
            return None;
        }
    }
    Some(numbers)
}

/// The last of some records, if it is whole.
fn last_image(bytes: &[u8]) -> Option<Pages> {
    let last = bytes.chunks(RECORD).next_back()?;
    let (content, crc) = last.split_last_chunk::<4>()?;
    let is_whole = last.len() == RECORD && crc32fast::hash(content) == u32::from_le_bytes(*crc);
    if is_whole { pages(content) } else { None }
}

fn write_file(vfs: &mut Vfs, name: &str, bytes: &[u8]) -> Result<(), FsError> {
    let fd = vfs.open(name, true)?;
    vfs.truncate(fd, 0)?;
    vfs.write(fd, 0, bytes)?;
    vfs.fsync(fd)?;
    vfs.close(fd)
}

fn read(vfs: &mut Vfs, name: &str) -> Result<Option<Vec<u8>>, String> {
    if !vfs.exists(name).map_err(told)? {
        return Ok(None);
    }
    read_named(vfs, name).map(Some).map_err(told)
}

/// What a database may hold: what was committed, and what was being committed.
struct Store {
    way: Way,
    committed: Pages,
    under_way: Pages,
}

impl Store {
    /// One transaction, of some pages.
    fn transact(&mut self, vfs: &mut Vfs, prng: &mut Prng) -> Result<(), FsError> {
        self.under_way = self.committed;
        let number = number_of(&self.committed) + 1;
        for _ in 0..=prng.below(4) {
            self.under_way[usize::try_from(prng.below(PAGES as u64)).unwrap()] = number;
        }
        self.way.commit(vfs, &self.committed, &self.under_way)?;
        self.committed = self.under_way;
        Ok(())
    }
}

pub(super) fn play(script: &Script, machine: &Machine, tally: &mut Tally) -> Result<(), String> {
    let way = Way::ALL[usize::try_from(script.seed / 3 % 2).unwrap()];
    let mut store = Store { way, committed: [0; PAGES], under_way: [0; PAGES] };
    for &life in &script.lives {
        let mut prng = Prng::new(script.seed.wrapping_mul(1000) + life.number);
        let reach = if life.number == 0 { 400 } else { 150 };
        machine.device.borrow_mut().arm(plan(life, &mut prng, reach));
        tally.cuts += 1;
        if let Ok(mut vfs) = mounted(machine) {
            for _ in 0..life.calls {
                let outcome = store.transact(&mut vfs, &mut prng);
                let is_on = machine.device.borrow().is_on();
                match outcome {
                    Ok(()) => tally.commits += 1,
                    // At the end of its life the device may fail, and then be read on.
                    Err(error) if is_on && MODES[life.mode] != Mode::Worn => {
                        return Err(told(error));
                    }
                    Err(_) => break,
                }
            }
        }
        let mut open = |vfs: &mut Vfs| way.open(vfs);
        let found = recover(machine, life, &mut prng, tally, &mut open)
            .map_err(|why| format!("life {}: {why}", life.number))?;
        if ![store.committed, store.under_way].contains(&found) {
            let Store { committed, under_way, .. } = store;
            return Err(format!(
                "life {}, {way:?}: holds {found:?}, was {committed:?}, and was to be {under_way:?}",
                life.number
            ));
        }
        store.committed = found;
    }
    Ok(())
}
