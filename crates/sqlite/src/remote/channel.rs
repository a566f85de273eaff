//! The channel to one process: a file that holds a request and an answer, and a socket to sleep in.
//!
//! ```text
//! 0       words of 4 bytes: whose turn it is (1: ours), the program sleeps, we sleep,
//!         rounds to look before sleeping, whether random numbers are ours; at 24, the time to
//!         tell in milliseconds since 1970 (8 bytes), or -1
//! 4096    a request
//! 167936  an answer: its code (4 bytes), its size (4 bytes), its bytes
//! ```
//!
//! Both sides map the file. Who waits looks at the turn for a while before it sleeps, because
//! waking a process takes longer than most requests.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::folder::Folder;
use super::message::{HEAD_SIZE, body_size};
use crate::ffi::SharedMemory;

const TURN_AT: usize = 0;
const PROGRAM_SLEEPS_AT: usize = 4;
const SERVER_SLEEPS_AT: usize = 8;
const ROUNDS_AT: usize = 12;
const SEEDED_AT: usize = 16;
const NOW_AT: usize = 24;
const REQUEST_AT: usize = 4096;
const REQUEST_ROOM: usize = 160 << 10;
const ANSWER_AT: usize = REQUEST_AT + REQUEST_ROOM;
const ANSWER_ROOM: usize = 80 << 10;
const OURS: u32 = 1;
const THEIRS: u32 = 0;

/// What a program is told at the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Rounds in which it looks at the turn before it sleeps.
    pub(super) rounds: u32,
    /// Whether it gets its random numbers from the machine.
    pub(super) is_seeded: bool,
    /// The time to tell, milliseconds since 1970, if not the host's.
    pub(super) now_ms: Option<i64>,
}

pub(super) struct Channel {
    memory: SharedMemory,
    socket: UnixStream,
    /// The last request, head and all.
    request: Vec<u8>,
}

impl Channel {
    /// Make the channel's file and tell the process its name.
    #[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
    pub(super) fn new(
        folder: &Folder,
        client: u32,
        mut socket: UnixStream,
        terms: Terms,
    ) -> io::Result<Self> {
        let name = format!("channel-{client}");
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(folder.file(&name))?;
        file.set_len((ANSWER_AT + ANSWER_ROOM) as u64)?;
        let memory = SharedMemory::map(&file, ANSWER_AT + ANSWER_ROOM)?;
        memory.store(ROUNDS_AT, terms.rounds);
        memory.store(SEEDED_AT, terms.is_seeded.into());
        memory.write(NOW_AT, &terms.now_ms.unwrap_or(-1).to_ne_bytes());
        socket.set_nonblocking(true)?;
        socket.write_all(format!("{name}\n").as_bytes())?;
        Ok(Self { memory, socket, request: Vec::new() })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether a request waits.
    pub(super) fn is_due(&self) -> bool {
        self.memory.load(TURN_AT) == OURS
    }

    /// Read the request that waits: its head and the bytes behind it. A head that is larger than
    /// the room has no bytes.
    pub(super) fn take(&mut self) -> ([u8; HEAD_SIZE], &[u8]) {
        let mut head = [0; HEAD_SIZE];
        self.memory.read(REQUEST_AT, &mut head);
        let size = body_size(head);
        let size = if size <= REQUEST_ROOM - HEAD_SIZE { size } else { 0 };
        self.request.resize(size, 0);
        self.memory.read(REQUEST_AT + HEAD_SIZE, &mut self.request);
        (head, &self.request)
    }

    /// Put an answer down and give the turn back.
    #[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
    pub(super) fn answer(&self, code: i32, bytes: &[u8]) {
        assert!(bytes.len() + 8 <= ANSWER_ROOM, "an answer is at most a page");
        let size = u32::try_from(bytes.len()).expect("an answer is at most a page");
        self.memory.write(ANSWER_AT, &code.to_ne_bytes());
        self.memory.write(ANSWER_AT + 4, &size.to_ne_bytes());
        self.memory.write(ANSWER_AT + 8, bytes);
        self.give_turn();
    }

    /// Give the turn back. A program that sleeps is woken.
    pub(super) fn give_turn(&self) {
        self.memory.store(TURN_AT, THEIRS);
        if self.memory.load(PROGRAM_SLEEPS_AT) != 0 {
            // A full socket wakes the program as well, and one that is gone needs no waking.
            let _unseen = (&self.socket).write(&[0]);
        }
    }

    /// Say whether this side sleeps until a byte comes.
    pub(super) fn set_sleeping(&self, sleeps: bool) {
        self.memory.store(SERVER_SLEEPS_AT, sleeps.into());
    }

    /// Take the bytes that woke this side. Returns whether the process is still there.
    pub(super) fn drain(&mut self) -> bool {
        let mut bytes = [0; 64];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}
