//! Locks on databases, what is told with them, and leases.
//!
//! Most databases are open once. Each lock that their connection wants is granted, and waiting for
//! the answer is most of its cost. So the connection gets a lease: a word in memory that both map,
//! in which it raises and lowers its lock itself. `shim/lease.c` is the other side.
//!
//! Invariants:
//! 1. A database has a lease only while one connection has it open.
//! 2. A lease that is taken back leaves the lock that the word told in the table of locks.
//! 3. The requests of a connection with a lease come all the same, and they do the same.
//! 4. Requests for a lock that a lease granted and that come when it was taken back do nothing:
//!    the word told what they ask for.

use std::collections::BTreeMap;

use libsqlite3_sys as sqlite;

use super::channel::LeaseWord;
use super::client::{Answer, House, OpenFile};
use super::message::Request;
use crate::locks::{LEVELS, LockLevel, LockTable};

struct Lease {
    holder: u64,
    word: LeaseWord,
}

/// The leases of all databases, and how many connections have each open, by its name.
#[derive(Default)]
pub(super) struct Leases {
    given: BTreeMap<String, Lease>,
    open: BTreeMap<String, u32>,
}

impl Leases {
    /// A connection opens a database. Another one with a lease has to ask from now on.
    pub(super) fn came(&mut self, name: &str, locks: &mut LockTable) {
        *self.open.entry(name.to_owned()).or_default() += 1;
        let Some(lease) = self.given.remove(name) else { return };
        let held = lease.word.take().and_then(|place| LEVELS.get(place).copied());
        let Some(held) = held else { return };
        // It was alone. What it has in the table is what it has, or had a moment ago.
        locks.release(name, lease.holder, held.min(LockLevel::Shared));
        let _granted = locks.acquire(name, lease.holder, held);
    }

    /// A connection closes a database.
    pub(super) fn went(&mut self, name: &str, holder: u64) {
        if let Some(lease) = self.given.get(name).filter(|lease| lease.holder == holder) {
            lease.word.take();
            self.given.remove(name);
        }
        let count = self.open.get(name).map_or(0, |count| count.saturating_sub(1));
        match count {
            0 => drop(self.open.remove(name)),
            more => drop(self.open.insert(name.to_owned(), more)),
        }
    }

    /// Whether a connection has a lease.
    pub(super) fn has(&self, open: &OpenFile) -> bool {
        self.given.get(&open.name).is_some_and(|lease| lease.holder == open.holder)
    }

    /// A connection asked for a lock, and holds `level` now. Returns whether it need not ask next
    /// time. It gets a lease with the lock that begins a transaction.
    fn note(&mut self, open: &OpenFile, level: LockLevel) -> bool {
        let is_alone = self.open.get(&open.name) == Some(&1);
        let is_own = self.has(open);
        let is_free = level == LockLevel::Shared && open.lease.is_free();
        let is_leased = is_alone && (is_own || is_free);
        if is_leased {
            let place = LEVELS.iter().position(|known| *known == level).unwrap_or(0);
            open.lease.give(place);
            let lease = Lease { holder: open.holder, word: open.lease.clone() };
            self.given.insert(open.name.clone(), lease);
        }
        is_leased
    }
}

/// Grant a lock. With it goes what SQLite is going to ask for, as the process expects it: whether
/// there is a journal and a log, the change counter, and the size. It is asked for in this order,
/// and as if the process did so.
pub(super) fn lock(open: &mut OpenFile, house: &mut House<'_>, request: &Request<'_>) -> Answer {
    let level = usize::try_from(request.flags).ok().and_then(|at| LEVELS.get(at).copied());
    let Some(level) = level else { return sqlite::SQLITE_IOERR_LOCK.into() };
    if !request.is_answered && !house.leases.has(open) {
        // The lease was taken back in the meantime, and its word told this lock already.
        return sqlite::SQLITE_OK.into();
    }
    let granted = house.locks.acquire(&open.name, open.holder, level);
    let held = house.locks.level(&open.name, open.holder);
    let facts = if granted { facts_for(open, house, request.number) } else { Facts::default() };
    if !request.is_answered {
        // It was granted by the lease, and the process went on with what it believes to be there.
        let code = if granted { sqlite::SQLITE_OK } else { sqlite::SQLITE_IOERR_LOCK };
        let is_so = request.bytes.is_empty() || facts.are_in(request.bytes);
        return if is_so { code } else { sqlite::SQLITE_IOERR_READ }.into();
    }
    let code = if granted { sqlite::SQLITE_OK } else { sqlite::SQLITE_BUSY };
    let is_leased = granted && house.leases.note(open, held);
    Answer { code, bytes: facts.bytes(held, is_leased) }
}

/// What is told with a lock. `known` has a bit for each, which `shim/shim.h` lists.
#[derive(Default)]
struct Facts {
    known: u32,
    has_journal: bool,
    has_log: bool,
    size: u64,
    counter: [u8; 16],
}

const KNOWN_JOURNAL: u32 = 1;
const KNOWN_COUNTER: u32 = 2;
const KNOWN_LOG: u32 = 4;
const KNOWN_SIZE: u32 = 8;
/// Where the change counter lies in a database.
const COUNTER_AT: u64 = 24;

impl Facts {
    #[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
    fn bytes(&self, held: LockLevel, is_leased: bool) -> Vec<u8> {
        let held = LEVELS.iter().position(|known| *known == held).unwrap_or(0);
        let mut bytes = i32::try_from(held).unwrap_or(0).to_ne_bytes().to_vec();
        bytes.extend(self.known.to_ne_bytes());
        bytes.extend(i32::from(self.has_journal).to_ne_bytes());
        bytes.extend(i32::from(self.has_log).to_ne_bytes());
        bytes.extend(self.size.to_ne_bytes());
        bytes.extend(self.counter);
        bytes.extend([u32::from(is_leased), 0].map(u32::to_ne_bytes).concat());
        bytes
    }

    /// Whether a process that said these bytes believes the same.
    fn are_in(&self, said: &[u8]) -> bool {
        let own = self.bytes(LockLevel::None, false);
        let same = |part: std::ops::Range<usize>| said.get(part.clone()) == own.get(part);
        let has = |what| self.known & what != 0;
        same(4..16) && (!has(KNOWN_SIZE) || same(16..24)) && (!has(KNOWN_COUNTER) || same(24..40))
    }
}

fn facts_for(open: &mut OpenFile, house: &House<'_>, wanted: i64) -> Facts {
    let wanted = u32::try_from(wanted).unwrap_or(0);
    let (mut facts, vfs) = (Facts::default(), house.machine.vfs());
    if wanted & KNOWN_JOURNAL != 0 {
        let Ok(exists) = vfs.exists(&format!("{}-journal", open.name)) else { return facts };
        (facts.has_journal, facts.known) = (exists, facts.known | KNOWN_JOURNAL);
        if exists {
            return facts;
        }
    }
    if wanted & KNOWN_COUNTER != 0 {
        if !open.file.read(COUNTER_AT, &mut facts.counter).is_ok_and(|len| len == 16) {
            return facts;
        }
        facts.known |= KNOWN_COUNTER;
    }
    if wanted & KNOWN_LOG != 0 {
        let Ok(exists) = vfs.exists(&format!("{}-wal", open.name)) else { return facts };
        (facts.has_log, facts.known) = (exists, facts.known | KNOWN_LOG);
        if exists {
            return facts;
        }
    }
    if wanted & KNOWN_SIZE != 0
        && let Ok(size) = open.file.size()
    {
        (facts.size, facts.known) = (size, facts.known | KNOWN_SIZE);
    }
    facts
}
