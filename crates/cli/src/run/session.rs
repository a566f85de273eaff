//! Turns the kernel's requests on a mounted folder into calls on the machine.
//!
//! fuser receives the requests on a thread of its own. The machine lives on the command's thread.
//! Each request is sent there and waits for its answer.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, SystemTime};

use flysch_lab::program::{Answer, Attributes, Call};
use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, Session, SessionACL, TimeOrNow, WriteFlags,
};

/// How long the kernel may cache an answer. A file can only be changed through the kernel, so this
/// may be long.
const VALID: Duration = Duration::from_secs(3600);
const BLOCK_SIZE: u32 = 4096;
const NAME_MAX: u32 = 255;

type Reply = Result<Answer, rustix::io::Errno>;

/// A request of the kernel, with the channel for its answer.
pub(super) struct Asked {
    pub(super) call: Call,
    pub(super) answer: Sender<Reply>,
}

/// The mounted folder, whose requests fuser passes on.
struct Folder {
    requests: SyncSender<Asked>,
    since: SystemTime,
    owner: (u32, u32),
}

/// Mount a folder. The receiver gets the kernel's requests.
pub(super) fn mount(place: &Path) -> std::io::Result<(BackgroundSession, Receiver<Asked>)> {
    let (requests, asked) = sync_channel(0);
    let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("flysch".to_owned())];
    if owner.0 == 0 {
        config.acl = SessionACL::All;
    }
    let folder = Folder { requests, since: epoch(), owner };
    Ok((Session::new(folder, place, &config)?.spawn()?, asked))
}

#[expect(
    clippy::disallowed_methods,
    reason = "programs compare the times of files with the host's"
)]
fn epoch() -> SystemTime {
    SystemTime::now()
}

impl Folder {
    fn ask(&self, call: Call) -> Result<Answer, Errno> {
        let (answer, answered) = channel();
        let sent = self.requests.send(Asked { call, answer });
        sent.map_err(|_| Errno::EIO)?;
        let answer = answered.recv().map_err(|_| Errno::EIO)?;
        answer.map_err(|error| Errno::from_i32(error.raw_os_error()))
    }

    fn attributes(&self, of: &Attributes) -> FileAttr {
        let changed = self.since + Duration::from_millis(of.changed_ms);
        let (kind, nlink) =
            if of.is_folder { (FileType::Directory, 2) } else { (FileType::RegularFile, 1) };
        FileAttr {
            ino: INodeNo(of.node),
            size: of.size,
            blocks: of.size.div_ceil(512),
            atime: changed,
            mtime: changed,
            ctime: changed,
            crtime: self.since,
            kind,
            perm: of.mode,
            nlink,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: BLOCK_SIZE,
            flags: 0,
        }
    }

    fn entry(&self, asked: Result<Call, Errno>, reply: ReplyEntry) {
        match asked.and_then(|call| self.ask(call)) {
            Ok(Answer::Node(found)) => {
                reply.entry(&VALID, &self.attributes(&found), Generation(0));
            }
            Ok(_) => reply.error(Errno::EIO),
            Err(error) => reply.error(error),
        }
    }

    fn done(&self, asked: Result<Call, Errno>, reply: ReplyEmpty) {
        match asked.and_then(|call| self.ask(call)) {
            Ok(_) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn set_attributes(&self, calls: &[Call], node: u64, reply: ReplyAttr) {
        let mut found = Ok(Answer::Done);
        for call in calls {
            found = found.and_then(|_| self.ask(call.clone()));
        }
        if calls.is_empty() {
            found = self.ask(Call::Attributes { node });
        }
        match found {
            Ok(Answer::Node(found)) => reply.attr(&VALID, &self.attributes(&found)),
            Ok(_) => reply.error(Errno::EIO),
            Err(error) => reply.error(error),
        }
    }
}

fn text(name: &OsStr) -> Result<String, Errno> {
    name.to_str().map(str::to_owned).ok_or(Errno::EILSEQ)
}

/// Reads and writes bypass the page cache and reach the machine. Only files in memory may be
/// cached, because the kernel maps them.
const fn flags(is_memory: bool) -> FopenFlags {
    if is_memory { FopenFlags::FOPEN_KEEP_CACHE } else { FopenFlags::FOPEN_DIRECT_IO }
}

const fn permissions(mode: u32, umask: u32) -> u16 {
    (mode & !umask & 0o7777) as u16
}

impl Filesystem for Folder {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let call = text(name).map(|name| Call::Lookup { parent: parent.0, name });
        self.entry(call, reply);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.set_attributes(&[], node.0, reply);
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let node = node.0;
        let mode = mode.map(|mode| Call::SetMode { node, mode: permissions(mode, 0) });
        let owner = uid.or(gid).map(|_| Call::SetOwner { node });
        let size = size.map(|size| Call::Resize { node, size });
        let calls: Vec<Call> = [mode, owner, size].into_iter().flatten().collect();
        self.set_attributes(&calls, node, reply);
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let call = text(name).map(|name| Call::MakeFolder { parent: parent.0, name });
        self.entry(call, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.done(text(name).map(|name| Call::Remove { parent: parent.0, name }), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.done(text(name).map(|name| Call::Remove { parent: parent.0, name }), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let replaces = !flags.contains(RenameFlags::RENAME_NOREPLACE);
        if flags.contains(RenameFlags::RENAME_EXCHANGE) {
            return reply.error(Errno::EINVAL);
        }
        let call = text(name).and_then(|name| {
            let (from, to) = ((parent.0, name), (new_parent.0, text(new_name)?));
            Ok(Call::Rename { from, to, replaces })
        });
        self.done(call, reply);
    }

    fn open(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.ask(Call::Open { node: node.0 }) {
            Ok(Answer::Opened { handle, is_memory, .. }) => {
                reply.opened(FileHandle(handle), flags(is_memory));
            }
            Ok(_) => reply.error(Errno::EIO),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let mode = permissions(mode, umask);
        let call = text(name).map(|name| Call::Create { parent: parent.0, name, mode });
        match call.and_then(|call| self.ask(call)) {
            Ok(Answer::Opened { handle, file, is_memory }) => {
                let (file, handle) = (self.attributes(&file), FileHandle(handle));
                reply.created(&VALID, &file, Generation(0), handle, flags(is_memory));
            }
            Ok(_) => reply.error(Errno::EIO),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.ask(Call::Read { handle: handle.0, offset, size }) {
            Ok(Answer::Bytes(bytes)) => reply.data(&bytes),
            Ok(_) => reply.error(Errno::EIO),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let size = u32::try_from(bytes.len()).unwrap_or(0);
        match self.ask(Call::Write { handle: handle.0, offset, bytes: bytes.to_vec() }) {
            Ok(_) => reply.written(size),
            Err(error) => reply.error(error),
        }
    }

    /// Called for each descriptor that is closed. There is nothing to do.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.done(Ok(Call::Release { handle: handle.0 }), reply);
    }

    fn fsync(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.done(Ok(Call::Sync { handle: handle.0, data_only }), reply);
    }

    fn readdir(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let names = match self.ask(Call::List { node: node.0 }) {
            Ok(Answer::Names(names)) => names,
            Ok(_) => return reply.error(Errno::EIO),
            Err(error) => return reply.error(error),
        };
        let own = [(".".to_owned(), node.0, true), ("..".to_owned(), node.0, true)];
        let all = own.into_iter().chain(names).zip(1..);
        for ((name, node, is_folder), next) in all.skip(usize::try_from(offset).unwrap_or(0)) {
            let kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
            // A name that was not looked up yet has no node number. The kernel does not use this
            // one.
            if reply.add(INodeNo(if node == 0 { u64::MAX } else { node }), next, kind, &name) {
                break;
            }
        }
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.done(Ok(Call::SyncFolder { node: node.0 }), reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.ask(Call::Space) {
            Ok(Answer::Space(bytes)) => {
                let blocks = bytes / u64::from(BLOCK_SIZE);
                reply.statfs(blocks, blocks, blocks, 0, 0, BLOCK_SIZE, NAME_MAX, BLOCK_SIZE);
            }
            Ok(_) => reply.error(Errno::EIO),
            Err(error) => reply.error(error),
        }
    }
}
