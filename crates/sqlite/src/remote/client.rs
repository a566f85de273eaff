//! One process: its open files, and the answers to its requests.

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

/// The largest read or random answer: SQLite's largest page.
const ANSWER_MAX: i64 = 1 << 16;
/// The room that the medium has to have for changes that need no answers: what fits into the rings
/// of eight processes.
const ROOM: u64 = 8 << 20;

/// What all processes share.
pub(super) struct House<'a> {
    pub(super) machine: &'a dyn Machine,
    pub(super) folder: &'a Folder,
    pub(super) locks: LockTable,
    pub(super) leases: Leases,
    pub(super) regions: Regions,
    /// The number of the next open file, which identifies it in the tables of locks.
    pub(super) holders: u64,
    /// The time up to which programs' own time was told to the machine, nanoseconds of the
    /// monotonic clock.
    pub(super) told_ns: u64,
    /// Processes that ended before they were told of a failure.
    pub(super) untold: u32,
}

impl House<'_> {
    /// Let the time pass in which a program worked for itself before a request.
    fn pass(&mut self, request: &Request<'_>) {
        let since_ns = self.told_ns.max(request.resumed_ns);
        if request.sent_ns > since_ns {
            self.machine.elapsed(request.sent_ns - since_ns);
        }
        self.told_ns = self.told_ns.max(request.sent_ns);
    }

    /// The time until now was the machine's.
    fn account(&mut self) {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let now_ns = seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0);
        self.told_ns = self.told_ns.max(now_ns);
    }
}

pub(super) struct Client {
    pub(super) id: u32,
    pub(super) channel: Channel,
    files: BTreeMap<u32, OpenFile>,
    /// Changes that failed and had no answer.
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

/// The code of an answer, and its bytes.
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

    /// Carry out the requests that have no answer, up to one that has. Returns whether such a one
    /// waits. What is put into the ring from now on comes next time: others have their turn.
    pub(super) fn serve_posts(&mut self, house: &mut House<'_>) -> bool {
        let end = self.channel.end();
        while !self.channel.has_taken(end) && self.channel.peek() {
            let Some(request) = self.channel.request() else { return true };
            if request.is_answered {
                return true;
            }
            house.pass(&request);
            if matches!(request.kind, Kind::Began | Kind::Ended | Kind::Call | Kind::Pass) {
                report(self.id, house, &request);
            } else if !can_fail(request.kind) || !self.failures.concerns(&request) {
                follow(&mut self.failures, &request);
                let answer = enact((self.id, &self.channel), &mut self.files, house, &request);
                if can_fail(request.kind)
                    && let Some(code) = failure_of(request.kind, answer.code)
                {
                    self.failures.note(&request, code);
                }
            }
            self.tell_room(house);
            self.channel.release();
        }
        false
    }

    /// Say whether changes need no answers for now. After a failure they do, until it is told.
    fn tell_room(&mut self, house: &House<'_>) {
        self.channel.set_room(self.failures.is_empty() && house.machine.has_room(ROOM));
    }

    /// Answer the request that waits, which [`Self::serve_posts`] found.
    pub(super) fn serve_answered(&mut self, house: &mut House<'_>) {
        let Some(request) = self.channel.request() else {
            self.channel.release();
            return self.channel.answer(sqlite::SQLITE_IOERR, &[]);
        };
        house.pass(&request);
        let tells = !matches!(request.kind, Kind::Random | Kind::Sleep);
        let is_concerned = tells && !is_bystander(&self.files, house, &request);
        follow(&mut self.failures, &request);
        let failure = if is_concerned { self.failures.tell(&request) } else { None };
        let answer = match failure {
            Some(code) => code.into(),
            None => enact((self.id, &self.channel), &mut self.files, house, &request),
        };
        self.channel.release();
        self.tell_room(house);
        self.channel.answer(answer.code, &answer.bytes);
        house.account();
    }

    /// Close everything that the process had open.
    pub(super) fn close(self, house: &mut House<'_>) {
        house.untold += u32::from(!self.failures.is_empty());
        house.machine.enter(StatementId { client: self.id, number: 0 });
        for (_, file) in self.files {
            close(house, file);
        }
        house.machine.leave();
        house.machine.gone(self.id);
    }
}

/// Note which file a request opens or closes.
fn follow(failures: &mut Failures, request: &Request<'_>) {
    if request.kind == Kind::Open {
        failures.opens(request);
    } else if request.kind == Kind::Close {
        failures.closes(request.file);
    }
}

/// Whether a request is of a connection that reads while another one changes the database. The
/// failure is the other's.
fn is_bystander(files: &BTreeMap<u32, OpenFile>, house: &House<'_>, request: &Request<'_>) -> bool {
    let named = matches!(request.kind, Kind::Open | Kind::Delete | Kind::Exists);
    files.get(&request.file).filter(|open| !named && open.is_database).is_some_and(|open| {
        let held = house.locks.level(&open.name, open.holder);
        house.locks.is_reserved(&open.name) && held <= LockLevel::Shared
    })
}

/// Whether a request may fail in a way that the program has to know.
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

/// The failure of a request whose process did not wait for the code. What it reads without waiting
/// lies behind the end of the file. What it deletes may be gone.
const fn failure_of(kind: Kind, code: c_int) -> Option<c_int> {
    match (kind, code) {
        (Kind::Read, sqlite::SQLITE_OK) => Some(sqlite::SQLITE_IOERR_READ),
        (Kind::Read, sqlite::SQLITE_IOERR_SHORT_READ)
        | (Kind::Delete, sqlite::SQLITE_IOERR_DELETE_NOENT)
        | (_, sqlite::SQLITE_OK) => None,
        (_, code) => Some(code),
    }
}

/// Carry a request out in the name of its statement.
fn enact(
    (client, channel): (u32, &Channel),
    files: &mut BTreeMap<u32, OpenFile>,
    house: &mut House<'_>,
    request: &Request<'_>,
) -> Answer {
    house.machine.enter(StatementId { client, number: request.statement });
    let answer = carry_out(channel, files, house, request);
    house.machine.leave();
    answer
}

/// Tell the machine about a statement or a call, or about time.
fn report(client: u32, house: &House<'_>, request: &Request<'_>) {
    if request.kind == Kind::Pass {
        return house.machine.pass(request.number.max(0).cast_unsigned());
    }
    if request.kind == Kind::Call {
        // A call that makes no sense is none.
        return ApiEvent::parse(client, request)
            .iter()
            .for_each(|event| house.machine.note_api_event(event));
    }
    let id = StatementId { client, number: request.number.cast_unsigned() };
    let in_transaction = request.flags == 0;
    if request.kind == Kind::Began {
        let connection = request.offset.cast_unsigned();
        house.machine.began(&Began { id, connection, in_transaction, text: request.bytes });
    } else {
        let changes = request.offset.max(0).cast_unsigned();
        house.machine.ended(&Ended { id, changes, in_transaction });
    }
}

fn carry_out(
    channel: &Channel,
    files: &mut BTreeMap<u32, OpenFile>,
    house: &mut House<'_>,
    request: &Request<'_>,
) -> Answer {
    match request.kind {
        Kind::Open => open(channel, files, house, request),
        Kind::Delete | Kind::Exists => named(house, request),
        Kind::Random => random(house, request),
        Kind::Sleep => {
            house.machine.vfs().sleep(request.number.max(0).cast_unsigned());
            sqlite::SQLITE_OK.into()
        }
        Kind::Close => {
            if let Some(file) = files.remove(&request.file) {
                close(house, file);
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
            open.map_or_else(|| sqlite::SQLITE_IOERR.into(), |open| lock(open, house, request))
        }
        Kind::Unlock | Kind::Reserved | Kind::ShmMap | Kind::ShmLock | Kind::ShmUnmap => {
            let open = files.get(&request.file);
            open.map_or_else(|| sqlite::SQLITE_IOERR.into(), |open| on_locks(house, open, request))
        }
    }
}

fn open(
    channel: &Channel,
    files: &mut BTreeMap<u32, OpenFile>,
    house: &mut House<'_>,
    request: &Request<'_>,
) -> Answer {
    let Some(flags) = OpenFlags::parse(request.flags) else {
        return sqlite::SQLITE_CANTOPEN.into();
    };
    let Ok(name) = str::from_utf8(request.bytes) else { return sqlite::SQLITE_CANTOPEN.into() };
    let given = (request.number != 0).then_some(name);
    match house.machine.vfs().open(given, flags) {
        Ok(file) => {
            house.holders += 1;
            let is_database = flags.kind() == FileKind::Database;
            let (name, holder) = (name.to_owned(), house.holders);
            let lease = channel.lease(request.file);
            let file = OpenFile { file, name, holder, is_database, lease };
            if file.is_shared() {
                house.leases.came(&file.name, &mut house.locks);
            }
            if let Some(before) = files.insert(request.file, file) {
                close(house, before);
            }
            Answer::number(sqlite::SQLITE_OK, request.flags)
        }
        Err(failure) => result_code(failure, sqlite::SQLITE_CANTOPEN).into(),
    }
}

impl OpenFile {
    /// Whether other connections can open it.
    const fn is_shared(&self) -> bool {
        self.is_database && !self.name.is_empty()
    }
}

fn close(house: &mut House<'_>, open: OpenFile) {
    if open.is_shared() {
        house.leases.went(&open.name, open.holder);
    }
    house.locks.release(&open.name, open.holder, LockLevel::None);
    house.regions.unmap(&open.name, open.holder);
    drop(open.file);
}

/// Requests about a file by its name.
fn named(house: &House<'_>, request: &Request<'_>) -> Answer {
    let vfs = house.machine.vfs();
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

fn random(house: &House<'_>, request: &Request<'_>) -> Answer {
    let Some(size) = answer_size(request) else { return sqlite::SQLITE_IOERR.into() };
    let mut bytes = vec![0; size];
    house.machine.vfs().fill_random(&mut bytes);
    Answer { code: sqlite::SQLITE_OK, bytes }
}

/// The size that the process asks for, if there is room for it.
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

/// The code for a failure of the medium.
const fn io_code(kind: Kind) -> c_int {
    match kind {
        Kind::Write => sqlite::SQLITE_IOERR_WRITE,
        Kind::Truncate => sqlite::SQLITE_IOERR_TRUNCATE,
        Kind::Sync => sqlite::SQLITE_IOERR_FSYNC,
        _ => sqlite::SQLITE_IOERR_FSTAT,
    }
}

fn on_locks(house: &mut House<'_>, open: &OpenFile, request: &Request<'_>) -> Answer {
    let (name, holder) = (open.name.as_str(), open.holder);
    let level = usize::try_from(request.flags).ok().and_then(|at| LEVELS.get(at).copied());
    match request.kind {
        Kind::Unlock => {
            // If the lease was taken back in the meantime, its word told this already.
            let is_late = request.number != 0 && !house.leases.has(open);
            if let Some(level) = level.filter(|level| *level <= LockLevel::Shared && !is_late) {
                house.locks.release(name, holder, level);
            }
            sqlite::SQLITE_OK.into()
        }
        Kind::Reserved => Answer::number(sqlite::SQLITE_OK, house.locks.is_reserved(name).into()),
        Kind::ShmMap => map(house, open, request),
        Kind::ShmLock => lock_slots(house, open, request),
        _ => {
            house.regions.unmap(name, holder);
            sqlite::SQLITE_OK.into()
        }
    }
}

/// Map a region of shared memory. A file system without shared mappings answers as `mmap` does
/// there: SQLite's own file system makes an error of that.
fn map(house: &mut House<'_>, open: &OpenFile, request: &Request<'_>) -> Answer {
    let shares = open.is_database && house.machine.vfs().supports_shared_memory(&open.name);
    let (index, size) = (usize::try_from(request.offset), usize::try_from(request.number));
    let (Ok(index @ 0..=4096), Ok(size @ 1..=65_536), true) = (index, size, shares) else {
        return sqlite::SQLITE_IOERR_SHMMAP.into();
    };
    let at = RegionAt { index, size, extend: request.flags != 0 };
    let file = house.regions.map(house.folder, &open.name, open.holder, at);
    file.map_or_else(
        |_| sqlite::SQLITE_IOERR_SHMSIZE.into(),
        |file| Answer::number(sqlite::SQLITE_OK, file.cast_signed()),
    )
}

fn lock_slots(house: &mut House<'_>, open: &OpenFile, request: &Request<'_>) -> Answer {
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
    let granted = house.regions.lock(&open.name, open.holder, first..first + count, how);
    if granted { sqlite::SQLITE_OK.into() } else { sqlite::SQLITE_BUSY.into() }
}
