//! A connected process: its open files, and the execution of its requests.

use std::collections::BTreeMap;
use std::ffi::c_int;

use libsqlite3_sys as sqlite;
use rustix::time::{ClockId, clock_gettime};

use super::api_event::ApiEvent;
use super::channel::{Channel, LeaseWord};
use super::failures::Failures;
use super::folder::Folder;
use super::locking::{Leases, lock};
use super::message::{Kind, Request};
use super::regions::Regions;
use super::{Began, Ended, Machine, StatementId};
use crate::flags::{FileKind, OpenFlags, SyncFlags};
use crate::locks::{LEVELS, LockLevel, LockTable};
use crate::shared::result_code;
use crate::shm::{RegionAt, SlotLock};
use crate::vfs::File;

/// The largest answer to a read or a request for random bytes: SQLite's largest page.
const ANSWER_MAX: i64 = 1 << 16;
/// Free bytes that the medium must have, so that programs need not wait for the results of changes.
/// As much fits into the rings of eight processes.
const ROOM: u64 = 8 << 20;

/// The state that all connected processes share.
pub(super) struct SharedState<'a> {
    pub(super) machine: &'a dyn Machine,
    pub(super) folder: &'a Folder,
    pub(super) locks: LockTable,
    pub(super) leases: Leases,
    pub(super) regions: Regions,
    /// The number for the next open file, which identifies it in the lock tables.
    pub(super) holders: u64,
    /// The machine's clock includes the programs' own time up to this moment, nanoseconds of the
    /// monotonic clock.
    pub(super) passed_ns: u64,
    /// Number of processes that ended before they learned of a failure.
    pub(super) uninformed: u32,
}

impl SharedState<'_> {
    /// Let the time pass that a program computed before a request.
    fn pass(&mut self, request: &Request<'_>) {
        let since_ns = self.passed_ns.max(request.resumed_ns);
        if request.sent_ns > since_ns {
            self.machine.elapsed(request.sent_ns - since_ns);
        }
        self.passed_ns = self.passed_ns.max(request.sent_ns);
    }

    /// The time until now was spent by the machine, so it does not count as the programs' own.
    fn account(&mut self) {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let now_ns = seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0);
        self.passed_ns = self.passed_ns.max(now_ns);
    }
}

pub(super) struct Client {
    pub(super) id: u32,
    pub(super) channel: Channel,
    files: BTreeMap<u32, OpenFile>,
    /// Failures of changes whose results the program did not wait for.
    failures: Failures,
}

pub(super) struct OpenFile {
    pub(super) file: Box<dyn File>,
    /// Empty for a file without a name, which no other connection can lock.
    pub(super) name: String,
    pub(super) holder: u64,
    is_database: bool,
    pub(super) lease: LeaseWord,
}

/// The result code of a request, and the bytes that it returns.
pub(super) struct Answer {
    pub(super) code: c_int,
    pub(super) bytes: Vec<u8>,
}

impl From<c_int> for Answer {
    fn from(code: c_int) -> Self {
        Self { code, bytes: Vec::new() }
    }
}

impl Answer {
    #[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
    fn number(code: c_int, number: i32) -> Self {
        Self { code, bytes: number.to_ne_bytes().to_vec() }
    }
}

impl Client {
    pub(super) fn new(id: u32, channel: Channel) -> Self {
        Self { id, channel, files: BTreeMap::new(), failures: Failures::default() }
    }

    /// Execute requests that expect no answer, up to one that does. Returns whether there is such a
    /// one. Requests that arrive in the meantime are left for the next turn, so that other
    /// processes are served too.
    pub(super) fn serve_posts(&mut self, shared: &mut SharedState<'_>) -> bool {
        let end = self.channel.end();
        while !self.channel.has_taken(end) && self.channel.peek() {
            let Some(request) = self.channel.request() else { return true };
            if request.is_answered {
                return true;
            }
            shared.pass(&request);
            if matches!(request.kind, Kind::Began | Kind::Ended | Kind::Call | Kind::Pass) {
                report(self.id, shared, &request);
            } else if !can_fail(request.kind) || !self.failures.concerns(&request) {
                follow(&mut self.failures, &request);
                let answer = enact((self.id, &self.channel), &mut self.files, shared, &request);
                if can_fail(request.kind)
                    && let Some(code) = failure_of(request.kind, answer.code)
                {
                    self.failures.note(&request, code);
                }
            }
            self.tell_room(shared);
            self.channel.release();
        }
        false
    }

    /// Tell the program whether it need not wait for the results of changes. After a failure it
    /// must wait, until it has learned of the failure.
    fn tell_room(&mut self, shared: &SharedState<'_>) {
        self.channel.set_room(self.failures.is_empty() && shared.machine.has_room(ROOM));
    }

    /// Execute and answer the request that [`Self::serve_posts`] stopped at.
    pub(super) fn serve_answered(&mut self, shared: &mut SharedState<'_>) {
        let Some(request) = self.channel.request() else {
            self.channel.release();
            return self.channel.answer(sqlite::SQLITE_IOERR, &[]);
        };
        shared.pass(&request);
        let tells = !matches!(request.kind, Kind::Random | Kind::Sleep);
        let is_concerned = tells && !is_bystander(&self.files, shared, &request);
        follow(&mut self.failures, &request);
        let failure = if is_concerned { self.failures.tell(&request) } else { None };
        let answer = match failure {
            Some(code) => code.into(),
            None => enact((self.id, &self.channel), &mut self.files, shared, &request),
        };
        self.channel.release();
        self.tell_room(shared);
        self.channel.answer(answer.code, &answer.bytes);
        shared.account();
    }

    /// Close everything that the process has open.
    pub(super) fn close(self, shared: &mut SharedState<'_>) {
        shared.uninformed += u32::from(!self.failures.is_empty());
        shared.machine.enter(StatementId { client: self.id, number: 0 });
        for (_, file) in self.files {
            close(shared, file);
        }
        shared.machine.leave();
        shared.machine.gone(self.id);
    }
}

/// Note the file that a request opens or closes.
fn follow(failures: &mut Failures, request: &Request<'_>) {
    if request.kind == Kind::Open {
        failures.opens(request);
    } else if request.kind == Kind::Close {
        failures.closes(request.file);
    }
}

/// Whether the request comes from a connection that only reads while another one changes the
/// database. A failure then belongs to the other connection.
fn is_bystander(
    files: &BTreeMap<u32, OpenFile>,
    shared: &SharedState<'_>,
    request: &Request<'_>,
) -> bool {
    let named = matches!(request.kind, Kind::Open | Kind::Delete | Kind::Exists);
    files.get(&request.file).filter(|open| !named && open.is_database).is_some_and(|open| {
        let held = shared.locks.level(&open.name, open.holder);
        shared.locks.is_reserved(&open.name) && held <= LockLevel::Shared
    })
}

/// Whether the program must learn of a failure of this kind of request.
const fn can_fail(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Open
            | Kind::Read
            | Kind::Write
            | Kind::Truncate
            | Kind::Sync
            | Kind::Lock
            | Kind::Delete
    )
}

/// The failure of a request whose result the program did not wait for. It only reads without
/// waiting beyond the end of a file, so a successful read is a failure. A file that it deletes may
/// be missing.
const fn failure_of(kind: Kind, code: c_int) -> Option<c_int> {
    match (kind, code) {
        (Kind::Read, sqlite::SQLITE_OK) => Some(sqlite::SQLITE_IOERR_READ),
        (Kind::Read, sqlite::SQLITE_IOERR_SHORT_READ)
        | (Kind::Delete, sqlite::SQLITE_IOERR_DELETE_NOENT)
        | (_, sqlite::SQLITE_OK) => None,
        (_, code) => Some(code),
    }
}

/// Execute a request in the name of its statement.
fn enact(
    (client, channel): (u32, &Channel),
    files: &mut BTreeMap<u32, OpenFile>,
    shared: &mut SharedState<'_>,
    request: &Request<'_>,
) -> Answer {
    shared.machine.enter(StatementId { client, number: request.statement });
    let answer = carry_out(channel, files, shared, request);
    shared.machine.leave();
    answer
}

/// Pass a report of the program to the machine: a statement that began or ended, a call, or time
/// that passed.
fn report(client: u32, shared: &SharedState<'_>, request: &Request<'_>) {
    if request.kind == Kind::Pass {
        return shared.machine.pass(request.number.max(0).cast_unsigned());
    }
    if request.kind == Kind::Call {
        // An invalid call is ignored.
        return ApiEvent::parse(client, request)
            .iter()
            .for_each(|event| shared.machine.note_api_event(event));
    }
    let id = StatementId { client, number: request.number.cast_unsigned() };
    let in_transaction = request.flags == 0;
    if request.kind == Kind::Began {
        let connection = request.offset.cast_unsigned();
        shared.machine.began(&Began { id, connection, in_transaction, text: request.bytes });
    } else {
        let changes = request.offset.max(0).cast_unsigned();
        shared.machine.ended(&Ended { id, changes, in_transaction });
    }
}

fn carry_out(
    channel: &Channel,
    files: &mut BTreeMap<u32, OpenFile>,
    shared: &mut SharedState<'_>,
    request: &Request<'_>,
) -> Answer {
    match request.kind {
        Kind::Open => open(channel, files, shared, request),
        Kind::Delete | Kind::Exists => named(shared, request),
        Kind::Random => random(shared, request),
        Kind::Sleep => {
            shared.machine.vfs().sleep(request.number.max(0).cast_unsigned());
            sqlite::SQLITE_OK.into()
        }
        Kind::Close => {
            if let Some(file) = files.remove(&request.file) {
                close(shared, file);
            }
            sqlite::SQLITE_OK.into()
        }
        Kind::Began | Kind::Ended | Kind::Call | Kind::Pass => sqlite::SQLITE_OK.into(),
        Kind::Read | Kind::Write | Kind::Truncate | Kind::Sync | Kind::Size => {
            let open = files.get_mut(&request.file);
            open.map_or_else(|| sqlite::SQLITE_IOERR.into(), |open| on_file(open, request))
        }
        Kind::Lock => {
            let open = files.get_mut(&request.file);
            open.map_or_else(|| sqlite::SQLITE_IOERR.into(), |open| lock(open, shared, request))
        }
        Kind::Unlock | Kind::Reserved | Kind::ShmMap | Kind::ShmLock | Kind::ShmUnmap => {
            let open = files.get(&request.file);
            open.map_or_else(|| sqlite::SQLITE_IOERR.into(), |open| on_locks(shared, open, request))
        }
    }
}

fn open(
    channel: &Channel,
    files: &mut BTreeMap<u32, OpenFile>,
    shared: &mut SharedState<'_>,
    request: &Request<'_>,
) -> Answer {
    let Some(flags) = OpenFlags::parse(request.flags) else {
        return sqlite::SQLITE_CANTOPEN.into();
    };
    let Ok(name) = str::from_utf8(request.bytes) else { return sqlite::SQLITE_CANTOPEN.into() };
    let given = (request.number != 0).then_some(name);
    match shared.machine.vfs().open(given, flags) {
        Ok(file) => {
            shared.holders += 1;
            let is_database = flags.kind() == FileKind::Database;
            let (name, holder) = (name.to_owned(), shared.holders);
            let lease = channel.lease(request.file);
            let file = OpenFile { file, name, holder, is_database, lease };
            if file.is_shared() {
                shared.leases.came(&file.name, &mut shared.locks);
            }
            if let Some(before) = files.insert(request.file, file) {
                close(shared, before);
            }
            Answer::number(sqlite::SQLITE_OK, request.flags)
        }
        Err(failure) => result_code(failure, sqlite::SQLITE_CANTOPEN).into(),
    }
}

impl OpenFile {
    /// Whether other connections can open this file.
    const fn is_shared(&self) -> bool {
        self.is_database && !self.name.is_empty()
    }
}

fn close(shared: &mut SharedState<'_>, open: OpenFile) {
    if open.is_shared() {
        shared.leases.went(&open.name, open.holder);
    }
    shared.locks.release(&open.name, open.holder, LockLevel::None);
    shared.regions.unmap(&open.name, open.holder);
    drop(open.file);
}

/// Execute a request on a file that is given by its name.
fn named(shared: &SharedState<'_>, request: &Request<'_>) -> Answer {
    let vfs = shared.machine.vfs();
    let Ok(name) = str::from_utf8(request.bytes) else { return sqlite::SQLITE_IOERR.into() };
    if request.kind == Kind::Delete {
        let code = |failure| result_code(failure, sqlite::SQLITE_IOERR_DELETE);
        return vfs.delete(name, request.flags != 0).map_or_else(code, |()| 0).into();
    }
    match vfs.exists(name) {
        Ok(exists) => Answer::number(sqlite::SQLITE_OK, exists.into()),
        Err(failure) => result_code(failure, sqlite::SQLITE_IOERR_ACCESS).into(),
    }
}

fn random(shared: &SharedState<'_>, request: &Request<'_>) -> Answer {
    let Some(size) = answer_size(request) else { return sqlite::SQLITE_IOERR.into() };
    let mut bytes = vec![0; size];
    shared.machine.vfs().fill_random(&mut bytes);
    Answer { code: sqlite::SQLITE_OK, bytes }
}

/// The number of bytes that a request asks for. None if it is too large for an answer.
fn answer_size(request: &Request<'_>) -> Option<usize> {
    let size = (0..=ANSWER_MAX).contains(&request.number).then_some(request.number)?;
    usize::try_from(size).ok()
}

#[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
fn on_file(open: &mut OpenFile, request: &Request<'_>) -> Answer {
    let (offset, io_code) = (request.offset.max(0).cast_unsigned(), io_code(request.kind));
    let done = match request.kind {
        Kind::Read => return read(open, offset, request),
        Kind::Write => open.file.write(offset, request.bytes).map(|()| Vec::new()),
        Kind::Truncate => {
            open.file.truncate(request.number.max(0).cast_unsigned()).map(|()| Vec::new())
        }
        Kind::Sync => {
            let full = request.flags & 0x0f == sqlite::SQLITE_SYNC_FULL;
            let data_only = request.flags & sqlite::SQLITE_SYNC_DATAONLY != 0;
            open.file.sync(SyncFlags { full, data_only }).map(|()| Vec::new())
        }
        _ => open.file.size().map(|size| size.to_ne_bytes().to_vec()),
    };
    match done {
        Ok(bytes) => Answer { code: sqlite::SQLITE_OK, bytes },
        Err(failure) => result_code(failure, io_code).into(),
    }
}

fn read(open: &mut OpenFile, offset: u64, request: &Request<'_>) -> Answer {
    let Some(size) = answer_size(request) else { return sqlite::SQLITE_IOERR_READ.into() };
    let mut bytes = vec![0; size];
    match open.file.read(offset, &mut bytes) {
        Ok(found) => {
            bytes[found..].fill(0);
            let is_whole = found == size;
            let code = if is_whole { sqlite::SQLITE_OK } else { sqlite::SQLITE_IOERR_SHORT_READ };
            Answer { code, bytes }
        }
        Err(failure) => result_code(failure, sqlite::SQLITE_IOERR_READ).into(),
    }
}

/// The result code for a failure of the medium.
const fn io_code(kind: Kind) -> c_int {
    match kind {
        Kind::Write => sqlite::SQLITE_IOERR_WRITE,
        Kind::Truncate => sqlite::SQLITE_IOERR_TRUNCATE,
        Kind::Sync => sqlite::SQLITE_IOERR_FSYNC,
        _ => sqlite::SQLITE_IOERR_FSTAT,
    }
}

fn on_locks(shared: &mut SharedState<'_>, open: &OpenFile, request: &Request<'_>) -> Answer {
    let (name, holder) = (open.name.as_str(), open.holder);
    let level = usize::try_from(request.flags).ok().and_then(|at| LEVELS.get(at).copied());
    match request.kind {
        Kind::Unlock => {
            // If the lease was revoked in the meantime, its word contained this unlock already.
            let is_late = request.number != 0 && !shared.leases.has(open);
            if let Some(level) = level.filter(|level| *level <= LockLevel::Shared && !is_late) {
                shared.locks.release(name, holder, level);
            }
            sqlite::SQLITE_OK.into()
        }
        Kind::Reserved => Answer::number(sqlite::SQLITE_OK, shared.locks.is_reserved(name).into()),
        Kind::ShmMap => map(shared, open, request),
        Kind::ShmLock => lock_slots(shared, open, request),
        _ => {
            shared.regions.unmap(name, holder);
            sqlite::SQLITE_OK.into()
        }
    }
}

/// Map a region of shared memory. If the file system does not support shared mappings, the result
/// is the error that SQLite's own VFS makes of a failing `mmap`.
fn map(shared: &mut SharedState<'_>, open: &OpenFile, request: &Request<'_>) -> Answer {
    let has_regions = open.is_database && shared.machine.vfs().supports_shared_memory(&open.name);
    let (index, size) = (usize::try_from(request.offset), usize::try_from(request.number));
    let (Ok(index @ 0..=4096), Ok(size @ 1..=65_536), true) = (index, size, has_regions) else {
        return sqlite::SQLITE_IOERR_SHMMAP.into();
    };
    let at = RegionAt { index, size, extend: request.flags != 0 };
    let file = shared.regions.map(shared.folder, &open.name, open.holder, at);
    file.map_or_else(
        |_| sqlite::SQLITE_IOERR_SHMSIZE.into(),
        |file| Answer::number(sqlite::SQLITE_OK, file.cast_signed()),
    )
}

fn lock_slots(shared: &mut SharedState<'_>, open: &OpenFile, request: &Request<'_>) -> Answer {
    let (first, count) = (usize::try_from(request.offset), usize::try_from(request.number));
    let (Ok(first @ 0..=8), Ok(count @ 0..=8)) = (first, count) else {
        return sqlite::SQLITE_IOERR_SHMLOCK.into();
    };
    let how = if request.flags & sqlite::SQLITE_SHM_UNLOCK != 0 {
        SlotLock::Release
    } else if request.flags & sqlite::SQLITE_SHM_EXCLUSIVE != 0 {
        SlotLock::Exclusive
    } else {
        SlotLock::Shared
    };
    let granted = shared.regions.lock(&open.name, open.holder, first..first + count, how);
    if granted { sqlite::SQLITE_OK.into() } else { sqlite::SQLITE_BUSY.into() }
}
