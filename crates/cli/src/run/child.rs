//! The program while it runs.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flysch_kernel::live::signals::Stop;
use flysch_sqlite::remote::{Folder, Waits};
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;

/// How long a program may take to end after Ctrl-C, which the terminal sends to it as well, before
/// it is told again.
const PATIENCE: Duration = Duration::from_millis(500);

/// A program that was started.
pub(super) struct Program {
    pid: Option<Pid>,
    status: Arc<Mutex<Option<ExitStatus>>>,
    /// When it was asked to end.
    asked: Option<Instant>,
    was_told: bool,
}

impl Program {
    /// Start the program with the shim of `folder`. A byte comes through `ringer` when it has
    /// ended.
    pub(super) fn start(
        command: &[OsString],
        folder: &Folder,
        mut ringer: UnixStream,
    ) -> Result<Self, Failure> {
        let (name, arguments) =
            command.split_first().ok_or_else(|| Failure::Message("no command".to_owned()))?;
        let mut preload = folder.shim().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let mut command = Command::new(name);
        command.args(arguments).env("LD_PRELOAD", preload).env("FLYSCH_RUN", folder.path());
        let child = command.spawn();
        let mut child =
            child.map_err(|error| Failure::Message(format!("{}: {error}", name.display())))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let status = Arc::new(Mutex::new(None));
        let place = Arc::clone(&status);
        thread::spawn(move || {
            let ended = child.wait().ok();
            *place.lock().unwrap_or_else(PoisonError::into_inner) = ended;
            // If nobody listens any more, nobody waits.
            ringer.write_all(&[0]).ok();
        });
        Ok(Self { pid, status, asked: None, was_told: false })
    }

    /// How it ended, if it has.
    pub(super) fn status(&self) -> Option<ExitStatus> {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server has to wait for. A program that is to stop, and does not by itself, is told.
    #[expect(clippy::disallowed_methods, reason = "it waits for a process of the host")]
    pub(super) fn waits(&mut self, stop: &Stop) -> Waits {
        let has_ended = self.status().is_some();
        if !stop.is_wanted() {
            return if has_ended { Waits::Others } else { Waits::Program };
        }
        if has_ended {
            return Waits::Nothing;
        }
        let asked = *self.asked.get_or_insert_with(Instant::now);
        if !self.was_told && asked.elapsed() > PATIENCE {
            self.was_told = true;
            if let Some(pid) = self.pid {
                // A program that ends just now cannot be told.
                kill_process(pid, Signal::INT).ok();
            }
        }
        Waits::Program
    }
}
