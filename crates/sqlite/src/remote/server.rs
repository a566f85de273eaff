//! The server: it waits for programs and for their requests.

use std::hint::spin_loop;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::available_parallelism;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Machine;
use super::channel::{Channel, Terms};
use super::client::{Client, SharedState};
use super::folder::Folder;
use crate::locks::LockTable;

/// How often the server polls for requests before it sleeps: for about 100 microseconds.
const ROUNDS: u32 = 3000;
/// How often a program polls for its answer before it sleeps: for about 100 microseconds.
const ROUNDS_OF_PROGRAM: u32 = 3000;
/// After this many waits, the server tries the full number of polls again.
const WAITS_BETWEEN: u32 = 64;
/// After this many requests the server looks for new programs, even if others are busy.
const REQUESTS_BETWEEN: u32 = 256;
/// The longest sleep, milliseconds. At the latest after it, a signal is noticed.
const SLEEP_MS: i64 = 100;

/// For how long the server must continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Until the program ends.
    Program,
    /// Programs connect by themselves: until the last one has ended after the first one connected.
    Visitors,
    /// The program has ended: until the processes that it started and that are connected have
    /// ended.
    Others,
    /// Not at all: the server ends at once.
    Nothing,
}

/// A server of requests on one machine.
pub struct Server<'a> {
    shared: SharedState<'a>,
    listener: UnixListener,
    clients: Vec<Client>,
    terms: (u32, Terms),
    /// The most polls before sleeping.
    rounds: u32,
    /// The number of polls before sleeping now. It is reduced if polling was in vain, as on a busy
    /// machine.
    patience: u32,
    /// Number of waits so far.
    waits: u32,
    /// Whether a program wants to connect.
    knocks: bool,
    /// Number of processes that connected so far.
    came: u32,
}

impl<'a> Server<'a> {
    /// Wait for programs in `folder`, and serve them with these settings.
    ///
    /// # Errors
    /// Fails if the socket cannot be made.
    pub fn new(folder: &'a Folder, machine: &'a dyn Machine, terms: Terms) -> io::Result<Self> {
        let listener = UnixListener::bind(folder.socket())?;
        listener.set_nonblocking(true)?;
        // With a single processor, the polling side would keep the other one from running.
        let can_look = available_parallelism().is_ok_and(|count| count.get() > 1);
        let (rounds, of_program) = if can_look { (ROUNDS, ROUNDS_OF_PROGRAM) } else { (0, 0) };
        let (locks, regions) = (LockTable::default(), super::regions::Regions::default());
        let leases = super::locking::Leases::default();
        let shared = SharedState {
            machine,
            folder,
            locks,
            leases,
            regions,
            holders: 0,
            passed_ns: 0,
            uninformed: 0,
        };
        let clients = Vec::new();
        Ok(Self {
            shared,
            listener,
            clients,
            terms: (of_program, terms),
            rounds,
            patience: rounds,
            waits: 0,
            knocks: false,
            came: 0,
        })
    }

    /// Number of processes that connected so far.
    pub const fn client_count(&self) -> u32 {
        self.came
    }

    /// Number of processes that ended before they learned that a change failed.
    pub const fn uninformed_count(&self) -> u32 {
        self.shared.uninformed
    }

    /// Serve requests as long as `waits` says. A byte on `bell` makes the server call `waits` at
    /// once.
    ///
    /// # Errors
    /// Fails if the operating system fails.
    pub fn serve(&mut self, bell: &UnixStream, waits: &mut dyn FnMut() -> Waits) -> io::Result<()> {
        bell.set_nonblocking(true)?;
        loop {
            let is_idle = self.serve_many();
            if !is_idle || std::mem::take(&mut self.knocks) {
                self.accept()?;
            }
            match waits() {
                Waits::Program => {}
                Waits::Visitors if self.came == 0 || !self.clients.is_empty() => {}
                Waits::Others if !self.clients.is_empty() => {}
                Waits::Visitors | Waits::Others | Waits::Nothing => break,
            }
            if is_idle {
                self.sleep(bell)?;
            }
        }
        for mut client in std::mem::take(&mut self.clients) {
            client.serve_posts(&mut self.shared);
            client.close(&mut self.shared);
        }
        Ok(())
    }

    /// Serve requests until none comes during a number of polls, or until it is time to look for
    /// new programs. Returns whether none came.
    fn serve_many(&mut self) -> bool {
        self.waits = self.waits.wrapping_add(1);
        if self.waits.is_multiple_of(WAITS_BETWEEN) {
            self.patience = self.rounds;
        }
        let (mut round, mut served) = (0, 0);
        while round <= self.patience && served < REQUESTS_BETWEEN {
            if self.serve_due() {
                if round > 0 {
                    self.patience = self.rounds;
                }
                (round, served) = (0, served + 1);
            } else {
                round += 1;
                spin_loop();
            }
        }
        let is_idle = served < REQUESTS_BETWEEN;
        if is_idle {
            self.patience /= 4;
        }
        is_idle
    }

    /// Serve every request that waits. Returns whether there was one. Requests without an answer
    /// come first, because they may release locks of other processes.
    fn serve_due(&mut self) -> bool {
        let mut was_due = false;
        let Self { clients, shared, .. } = self;
        for place in 0..clients.len() {
            if !clients[place].channel.is_due() {
                continue;
            }
            was_due = true;
            if !clients[place].serve_posts(shared) {
                continue;
            }
            for other in (0..clients.len()).filter(|other| *other != place) {
                clients[other].serve_posts(shared);
            }
            clients[place].serve_answered(shared);
        }
        was_due
    }

    /// Accept the programs that want to connect.
    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => {
                    self.came += 1;
                    let channel = Channel::new(self.shared.folder, self.came, socket, self.terms);
                    // A program that has ended in the meantime needs no channel.
                    if let Ok(channel) = channel {
                        self.clients.push(Client::new(self.came, channel));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sleep until something happens. Processes that have ended are removed.
    fn sleep(&mut self, bell: &UnixStream) -> io::Result<()> {
        for client in &self.clients {
            client.channel.set_sleeping(true);
        }
        let woken = if self.clients.iter().any(|client| client.channel.is_due()) {
            Vec::new()
        } else {
            self.wait(bell)?
        };
        for client in &self.clients {
            client.channel.set_sleeping(false);
        }
        for place in woken.into_iter().rev() {
            let client = &mut self.clients[place];
            if !client.channel.drain() {
                // The requests that it sent before it ended are executed.
                while client.serve_posts(&mut self.shared) {
                    client.serve_answered(&mut self.shared);
                }
                self.clients.remove(place).close(&mut self.shared);
            }
        }
        Ok(())
    }

    /// Wait for a byte. Returns the indexes of the processes that sent one or have ended.
    fn wait(&mut self, bell: &UnixStream) -> io::Result<Vec<usize>> {
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(self.clients.len() + 2);
        let sockets = self.clients.iter().map(|client| client.channel.socket());
        fds.extend(sockets.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)));
        fds.push(PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN));
        fds.push(PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN));
        let timeout = Timespec { tv_sec: 0, tv_nsec: SLEEP_MS * 1_000_000 };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds.last().is_some_and(|fd| !fd.revents().is_empty()) {
            // The bell only needs to wake the server; its bytes mean nothing.
            let _unseen = (&*bell).read(&mut [0; 16]);
        }
        let count = self.clients.len();
        let woken = fds[..count].iter().enumerate();
        let woken = woken.filter(|(_, fd)| !fd.revents().is_empty()).map(|(place, _)| place);
        let (woken, knocks) = (woken.collect(), !fds[count].revents().is_empty());
        drop(fds);
        self.knocks = knocks;
        Ok(woken)
    }
}
