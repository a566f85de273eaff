//! The user's program while it runs.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flysch_kernel::live::signals::Stop;
use flysch_sqlite::remote::{Folder, Waits};
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;

/// How long a program may take to end after Ctrl-C before it is interrupted again. The terminal
/// sends the first interrupt to it as well.
const PATIENCE: Duration = Duration::from_millis(500);

/// The state of a program. It is started on a thread of its own, because the kernel may look up its
/// folder at the start, and this thread must then answer.
#[derive(Debug, Default)]
enum State {
    #[default]
    Starting,
    Runs(Pid),
    Ended(io::Result<ExitStatus>),
}

/// A program that was started.
pub(super) struct Program {
    state: Arc<Mutex<State>>,
    name: String,
    /// When the user first asked to stop.
    asked: Option<Instant>,
    was_told: bool,
}

impl Program {
    /// Start a program. When it has ended, a byte is written to `ringer`.
    pub(super) fn start(mut command: Command, mut ringer: UnixStream) -> Self {
        let state = Arc::new(Mutex::new(State::Starting));
        let (place, name) = (Arc::clone(&state), command.get_program().display().to_string());
        thread::spawn(move || {
            let set = |state| *place.lock().unwrap_or_else(PoisonError::into_inner) = state;
            let ended = command.spawn().and_then(|mut child| {
                let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                set(pid.map_or(State::Starting, State::Runs));
                child.wait()
            });
            set(State::Ended(ended));
            // If the server has stopped, nobody waits for this byte.
            ringer.write_all(&[0]).ok();
        });
        Self { state, name, asked: None, was_told: false }
    }

    /// How the program ended. None while it runs.
    pub(super) fn ended(&self) -> Result<Option<ExitStatus>, Failure> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Starting | State::Runs(_) => Ok(None),
            State::Ended(Ok(status)) => Ok(Some(*status)),
            State::Ended(Err(error)) => Err(Failure::Message(format!("{}: {error}", self.name))),
        }
    }

    fn pid(&self) -> Option<Pid> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Runs(pid) => Some(*pid),
            State::Starting | State::Ended(_) => None,
        }
    }

    fn has_ended(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(&*state, State::Ended(_))
    }

    /// What the server has to wait for. After Ctrl-C, a program that does not end by itself gets a
    /// signal.
    #[expect(clippy::disallowed_methods, reason = "it waits for a process of the host")]
    pub(super) fn waits(&mut self, stop: &Stop) -> Waits {
        let has_ended = self.has_ended();
        if !stop.is_wanted() {
            return if has_ended { Waits::Others } else { Waits::Program };
        }
        if has_ended {
            return Waits::Nothing;
        }
        let asked = *self.asked.get_or_insert_with(Instant::now);
        if !self.was_told && asked.elapsed() > PATIENCE {
            self.was_told = true;
            if let Some(pid) = self.pid() {
                // The program may have ended just now, so an error does not matter.
                kill_process(pid, Signal::INT).ok();
            }
        }
        Waits::Program
    }
}

/// The command that starts a program with the shim of `folder`.
pub(super) fn with_shim(command: &[OsString], folder: &Folder) -> Result<Command, Failure> {
    let mut preload = folder.shim().into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut command = plain(command)?;
    command.env("LD_PRELOAD", preload).env("FLYSCH_RUN", folder.path());
    Ok(command)
}

/// The command that starts a program.
pub(super) fn plain(command: &[OsString]) -> Result<Command, Failure> {
    let (name, arguments) =
        command.split_first().ok_or_else(|| Failure::Message("no command".to_owned()))?;
    let mut command = Command::new(name);
    command.args(arguments);
    Ok(command)
}
