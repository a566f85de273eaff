//! The channel to one process: a file with a ring of requests and an answer, and a socket to wait
//! on.
//!
//! ```text
//! 0       words of 4 bytes: bytes put into the ring so far, bytes taken out, answers so far, a
//!         word on which the program sleeps, what it waits for if it sleeps, whether the server
//!         sleeps, polls before sleeping, whether the machine supplies random numbers; at 32, the
//!         constant time that programs are given, milliseconds since 1970 (8 bytes), or -1; at 40,
//!         whether calls are recorded; at 44, whether the medium has room
//! 1024    the leases, 256 words: see `locking`
//! 4096    an answer: its code (4 bytes), its size (4 bytes), its bytes
//! 98304   the ring
//! ```
//!
//! A request is stored in the ring in one piece, and begins at a multiple of 8 bytes. A header of
//! kind 0 fills what is left at the end of the ring. Each side polls the words for a while before
//! it sleeps, because waking a process takes longer than most requests.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use super::folder::Folder;
use super::message::{HEAD_SIZE, Request, body_size};
use crate::ffi::SharedMemory;

const PUT_AT: usize = 0;
const TAKEN_AT: usize = 4;
const ANSWERS_AT: usize = 8;
const BEAT_AT: usize = 12;
const PROGRAM_SLEEPS_AT: usize = 16;
const SERVER_SLEEPS_AT: usize = 20;
const ROUNDS_AT: usize = 24;
const SEEDED_AT: usize = 28;
const NOW_AT: usize = 32;
const RECORDED_AT: usize = 40;
const ROOM_AT: usize = 44;
const LEASES_AT: usize = 1024;
const LEASE_COUNT: u32 = 256;
const ANSWER_AT: usize = 4096;
const ANSWER_ROOM: usize = 80 << 10;
const RING_AT: usize = 96 << 10;
const RING_SIZE: u32 = 1024 << 10;
/// What a sleeping program waits for.
const FOR_ANSWER: u32 = 1;
const FOR_ROOM: u32 = 2;
const CHANNEL_SIZE: usize = RING_AT + RING_SIZE as usize;

/// The settings that a program gets at the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Whether the program gets random numbers from the machine.
    pub is_seeded: bool,
    /// Whether the program reports its calls of SQLite.
    pub is_recorded: bool,
    /// The constant time that the program is given, milliseconds since 1970. None: the host's time.
    pub now_ms: Option<i64>,
}

pub(super) struct Channel {
    memory: Rc<SharedMemory>,
    socket: UnixStream,
    /// Number of bytes that were taken out of the ring so far.
    taken: u32,
    answers: u32,
    head: [u8; HEAD_SIZE],
    body: Vec<u8>,
    /// The last value that [`Self::set_room`] set.
    has_room: bool,
}

/// The word of a lease. It is 0 while no file has it. Otherwise the lowest 3 bits are one more than
/// the index of the lock level, and the others are the number of the file. Several files may share
/// a word.
#[derive(Clone)]
pub(super) struct LeaseWord {
    memory: Rc<SharedMemory>,
    at: usize,
    file: u32,
}

impl LeaseWord {
    /// Whether no file has the word.
    pub(super) fn is_free(&self) -> bool {
        self.memory.load(self.at) == 0
    }

    /// Give the word to the file. `level` is the index of its lock level.
    pub(super) fn give(&self, level: usize) {
        let level = u32::try_from(level + 1).expect("there are five levels");
        self.memory.store(self.at, self.file << 3 | level);
    }

    /// Take the word from the file. Returns the index of the lock level. None if the program wrote
    /// something invalid.
    pub(super) fn take(&self) -> Option<usize> {
        let word = self.memory.swap(self.at, 0);
        let is_own = word >> 3 == self.file << 3 >> 3;
        let level = usize::try_from(word & 7).ok()?.checked_sub(1)?;
        is_own.then_some(level)
    }
}

impl Channel {
    /// Create the channel's file and send its name to the process. `rounds` is how often the
    /// process polls before it sleeps.
    #[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
    pub(super) fn new(
        folder: &Folder,
        client: u32,
        mut socket: UnixStream,
        (rounds, terms): (u32, Terms),
    ) -> io::Result<Self> {
        let name = format!("channel-{client}");
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(folder.file(&name))?;
        file.set_len(CHANNEL_SIZE as u64)?;
        let memory = Rc::new(SharedMemory::map(&file, CHANNEL_SIZE)?);
        memory.store(ROUNDS_AT, rounds);
        memory.store(RECORDED_AT, terms.is_recorded.into());
        memory.store(SEEDED_AT, terms.is_seeded.into());
        memory.write(NOW_AT, &terms.now_ms.unwrap_or(-1).to_ne_bytes());
        socket.set_nonblocking(true)?;
        socket.write_all(format!("{name}\n").as_bytes())?;
        let (head, body) = ([0; HEAD_SIZE], Vec::new());
        Ok(Self { memory, socket, taken: 0, answers: 0, head, body, has_room: false })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Tell the program whether the medium has room for many rings full of changes.
    pub(super) fn set_room(&mut self, has_room: bool) {
        if self.has_room != has_room {
            self.has_room = has_room;
            self.memory.store(ROOM_AT, has_room.into());
        }
    }

    /// The word of a file's lease. Other files may share it.
    pub(super) fn lease(&self, file: u32) -> LeaseWord {
        let at = LEASES_AT + 4 * (file % LEASE_COUNT) as usize;
        LeaseWord { memory: Rc::clone(&self.memory), at, file }
    }

    /// Number of bytes that were put into the ring so far.
    pub(super) fn end(&self) -> u32 {
        self.memory.load(PUT_AT)
    }

    /// Whether everything that was put into the ring before `end` was taken out.
    pub(super) const fn has_taken(&self, end: u32) -> bool {
        end.wrapping_sub(self.taken).cast_signed() <= 0
    }

    /// Whether the ring contains a request.
    pub(super) fn is_due(&self) -> bool {
        self.memory.load(PUT_AT) != self.taken
    }

    /// Copy the next request out of the ring. Returns false if there is none. It stays in the ring
    /// until [`Self::release`].
    pub(super) fn peek(&mut self) -> bool {
        while self.is_due() {
            let used = self.memory.load(PUT_AT).wrapping_sub(self.taken);
            let at = self.taken % RING_SIZE;
            let left = RING_SIZE - at;
            let place = RING_AT + at as usize;
            let len = HEAD_SIZE.min(left as usize);
            self.head = [0; HEAD_SIZE];
            self.memory.read(place, &mut self.head[..len]);
            let Some(size) = body_size(self.head) else {
                self.advance(left.min(used));
                continue;
            };
            let whole =
                size.checked_add(HEAD_SIZE).filter(|whole| *whole <= left.min(used) as usize);
            let Some(whole) = whole else {
                // The request is invalid, and so is all that follows it. It is answered with an
                // error.
                self.head = [u8::MAX; HEAD_SIZE];
                self.body = vec![0; used as usize - HEAD_SIZE.min(used as usize)];
                return true;
            };
            self.body.resize(whole - HEAD_SIZE, 0);
            self.memory.read(place + HEAD_SIZE, &mut self.body);
            return true;
        }
        false
    }

    /// The request that was copied. None if its bytes are invalid.
    pub(super) fn request(&self) -> Option<Request<'_>> {
        Request::parse(self.head, &self.body)
    }

    /// Remove the copied request from the ring.
    pub(super) fn release(&mut self) {
        let size = (HEAD_SIZE + self.body.len()).next_multiple_of(8);
        let used = self.memory.load(PUT_AT).wrapping_sub(self.taken);
        self.advance(u32::try_from(size).unwrap_or(used).min(used));
        // A program that waits for room is only woken once half of the ring is free.
        if used <= RING_SIZE / 2 {
            self.wake(FOR_ROOM);
        }
    }

    fn advance(&mut self, bytes: u32) {
        self.taken = self.taken.wrapping_add(bytes);
        self.memory.store(TAKEN_AT, self.taken);
    }

    /// Answer the copied request.
    #[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
    pub(super) fn answer(&mut self, code: i32, bytes: &[u8]) {
        assert!(bytes.len() + 8 <= ANSWER_ROOM, "an answer is at most a page");
        let size = u32::try_from(bytes.len()).expect("an answer is at most a page");
        self.memory.write(ANSWER_AT, &code.to_ne_bytes());
        self.memory.write(ANSWER_AT + 4, &size.to_ne_bytes());
        self.memory.write(ANSWER_AT + 8, bytes);
        self.answers = self.answers.wrapping_add(1);
        self.memory.store(ANSWERS_AT, self.answers);
        self.wake(FOR_ANSWER);
    }

    /// Wake the program if it sleeps and waits for this.
    fn wake(&self, waits: u32) {
        if self.memory.load(PROGRAM_SLEEPS_AT) == waits {
            // The program is woken once. It sets the word again if it goes on sleeping.
            self.memory.store(PROGRAM_SLEEPS_AT, 0);
            self.memory.bump(BEAT_AT);
        }
    }

    /// Tell the program whether this side sleeps, so that it must send a byte.
    pub(super) fn set_sleeping(&self, sleeps: bool) {
        self.memory.store(SERVER_SLEEPS_AT, sleeps.into());
    }

    /// Read the bytes that woke this side. Returns false if the process has ended.
    pub(super) fn drain(&mut self) -> bool {
        let mut bytes = [0; 64];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => return false,
                Ok(found) if found < bytes.len() => return true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(folder: &Folder) -> Channel {
        let (socket, _other) = UnixStream::pair().expect("sockets");
        Channel::new(folder, 1, socket, (0, Terms::default())).expect("a channel")
    }

    /// Put a request without a body into the ring, as a program does.
    #[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
    fn put(channel: &Channel) {
        let end = channel.end();
        let place = RING_AT + (end % RING_SIZE) as usize;
        channel.memory.write(place, &[0; HEAD_SIZE]);
        channel.memory.write(place, &1_u32.to_ne_bytes());
        channel.memory.store(PUT_AT, end + u32::try_from(HEAD_SIZE).expect("a head is small"));
    }

    #[test]
    fn what_is_put_into_the_ring_meanwhile_lies_behind_its_end() {
        let folder = Folder::create().expect("a folder");
        let mut channel = channel(&folder);
        put(&channel);
        put(&channel);
        let (end, mut count) = (channel.end(), 0);
        while !channel.has_taken(end) && channel.peek() {
            put(&channel);
            channel.release();
            count += 1;
        }
        assert_eq!(count, 2);
        assert!(channel.is_due(), "the rest is still there");
    }

    #[test]
    fn a_word_of_another_file_is_not_taken() {
        let folder = Folder::create().expect("a folder");
        let channel = channel(&folder);
        let [one, same] = [1, 1 + LEASE_COUNT].map(|file| channel.lease(file));
        one.give(2);
        assert!(!same.is_free(), "both files have one word");
        assert_eq!(one.take(), Some(2));
        one.give(2);
        assert_eq!(same.take(), None);
    }

    /// The shim's header defines the same words at the same offsets.
    #[test]
    fn both_sides_agree_on_the_words() {
        let shim = include_str!("../../shim/channel.c");
        let words = shim.split("enum word {").nth(1).and_then(|rest| rest.split('}').next());
        let (mut next, mut found) = (0, Vec::new());
        for word in words.expect("a list").split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let (name, number) = word.split_once(" = ").unwrap_or((word, ""));
            let number = number.parse().unwrap_or(next);
            found.push((name, 4 * number));
            next = number + 1;
        }
        let own = [
            ("PUT", PUT_AT),
            ("TAKEN", TAKEN_AT),
            ("ANSWERS", ANSWERS_AT),
            ("BEAT", BEAT_AT),
            ("PROGRAM_SLEEPS", PROGRAM_SLEEPS_AT),
            ("SERVER_SLEEPS", SERVER_SLEEPS_AT),
            ("ROUNDS", ROUNDS_AT),
            ("SEEDED", SEEDED_AT),
            ("NOW", NOW_AT),
            ("RECORDED", RECORDED_AT),
            ("ROOM", ROOM_AT),
        ];
        assert_eq!(found, own);
        assert!(shim.contains(&format!("#define LEASES_AT {}\n", LEASES_AT / 4)));
        assert!(shim.contains(&format!("#define LEASE_COUNT {LEASE_COUNT}\n")));
    }
}
