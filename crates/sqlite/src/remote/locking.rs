//! Locks on databases, the facts that are sent with them, and leases.
//!
//! Most databases are open only once. Then each lock that the connection wants is granted, and
//! waiting for the answer is most of its cost. So the connection gets a lease: a word in shared
//! memory in which it raises and lowers its lock by itself. `shim/lease.c` is the other side.
//!
//! Invariants:
//! 1. A database has a lease only while one connection has it open.
//! 2. When a lease is revoked, the lock in its word is entered into the lock table.
//! 3. A connection with a lease still sends its lock requests, and they have the same effect.
//! 4. A lock that was granted by a lease may be requested after the lease was revoked. Such a
//!    request does nothing, because the word contained that lock.

use std::collections::BTreeMap;

use libsqlite3_sys as sqlite;

use super::channel::LeaseWord;
use super::client::{Answer, OpenFile, SharedState};
use super::message::Request;
use crate::locks::{LEVELS, LockLevel, LockTable};

struct Lease {
    holder: u64,
    word: LeaseWord,
}

/// The leases of all databases by name, and how many connections have each database open.
#[derive(Default)]
pub(super) struct Leases {
    given: BTreeMap<String, Lease>,
    open: BTreeMap<String, u32>,
}

impl Leases {
    /// Note that a connection opens a database. If another connection has a lease on it, the lease
    /// is revoked.
    pub(super) fn came(&mut self, name: &str, locks: &mut LockTable) {
        *self.open.entry(name.to_owned()).or_default() += 1;
        let Some(lease) = self.given.remove(name) else { return };
        let held = lease.word.take().and_then(|place| LEVELS.get(place).copied());
        let Some(held) = held else { return };
        // The other connection was alone, so its lock can be entered into the table without a
        // conflict.
        locks.release(name, lease.holder, held.min(LockLevel::Shared));
        let _granted = locks.acquire(name, lease.holder, held);
    }

    /// Note that a connection closes a database.
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

    /// Note that a connection was granted a lock and now holds `level`. Returns whether it has a
    /// lease. It gets one with the shared lock that begins a transaction, if no other connection
    /// has the database open.
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

/// Grant a lock. The answer includes the facts that SQLite will ask for next: whether there is a
/// journal and a log, the change counter, and the size. They are read in this order, as if the
/// process had asked for them.
pub(super) fn lock(
    open: &mut OpenFile,
    shared: &mut SharedState<'_>,
    request: &Request<'_>,
) -> Answer {
    let level = usize::try_from(request.flags).ok().and_then(|at| LEVELS.get(at).copied());
    let Some(level) = level else { return sqlite::SQLITE_IOERR_LOCK.into() };
    if !request.is_answered && !shared.leases.has(open) {
        // The lease was revoked in the meantime, and its word contained this lock already.
        return sqlite::SQLITE_OK.into();
    }
    let granted = shared.locks.acquire(&open.name, open.holder, level);
    let held = shared.locks.level(&open.name, open.holder);
    let facts = if granted { facts_for(open, shared, request.number) } else { Facts::default() };
    if !request.is_answered {
        // The lease granted the lock, and the process went on with the facts as it expected them.
        let code = if granted { sqlite::SQLITE_OK } else { sqlite::SQLITE_IOERR_LOCK };
        let is_so = request.bytes.is_empty() || facts.are_in(request.bytes);
        return if is_so { code } else { sqlite::SQLITE_IOERR_READ }.into();
    }
    let code = if granted { sqlite::SQLITE_OK } else { sqlite::SQLITE_BUSY };
    let is_leased = granted && shared.leases.note(open, held);
    Answer { code, bytes: facts.bytes(held, is_leased) }
}

/// The facts that are sent with a lock. `known` has a bit for each, listed in `shim/shim.h`.
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
/// The offset of the change counter in a database.
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

    /// Whether the facts that a process assumed, as bytes, are these.
    fn are_in(&self, said: &[u8]) -> bool {
        let own = self.bytes(LockLevel::None, false);
        let same = |part: std::ops::Range<usize>| said.get(part.clone()) == own.get(part);
        let has = |what| self.known & what != 0;
        same(4..16) && (!has(KNOWN_SIZE) || same(16..24)) && (!has(KNOWN_COUNTER) || same(24..40))
    }
}

fn facts_for(open: &mut OpenFile, shared: &SharedState<'_>, wanted: i64) -> Facts {
    let wanted = u32::try_from(wanted).unwrap_or(0);
    let (mut facts, vfs) = (Facts::default(), shared.machine.vfs());
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
