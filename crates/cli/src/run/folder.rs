//! `flysch run --fuse`: the machine's files as a folder in which the program runs.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use flysch_kernel::live::signals::Stop;
use flysch_lab::program::{Mounted, Simulation};
use flysch_sqlite::remote::{Machine, Waits};

use super::child::{Program, plain};
use super::obstacle;
use super::session::{Asked, mount};
use crate::failure::Failure;

/// The longest wait for a request. At the latest after it, a signal is noticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// The folder of the host that the machine's folder stands for: the current folder.
pub(super) fn root() -> Result<String, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::of(&error))?;
    let name = here.into_os_string().into_string();
    name.map_err(|name| Failure::Message(format!("{}: not a name in UTF-8", name.display())))
}

/// Mount the machine's folder, start the program in it, and serve it until it has ended.
pub(super) fn serve(
    command: &[OsString],
    simulation: &Simulation,
    partition_bytes: u64,
) -> Result<Option<ExitStatus>, Failure> {
    let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
    let place = tempfile::Builder::new().prefix("flysch-").tempdir();
    let place =
        place.map_err(|error| Failure::Message(format!("cannot make a folder: {error}")))?;
    let prepared = prepared(command, place.path())?;
    let (session, requests) = mount(place.path()).map_err(|error| unmountable(&error))?;
    let _guard = Guard::of(place.path());
    let (_bell, ringer) = UnixStream::pair().map_err(|error| Failure::of(&error))?;
    let mut program = Program::start(prepared, ringer);
    let mut mounted = Mounted::new(simulation, partition_bytes);
    answer(&requests, simulation, &mut mounted, &mut || program.waits(&stop));
    // Once the receiver is gone, further requests of the kernel fail at once and do not hang.
    drop(requests);
    session.umount_and_join().ok();
    program.ended()
}

/// A process that unmounts the folder if this one is killed, for example by a second Ctrl-C. It
/// waits until its input is closed.
struct Guard(Option<Child>);

const UNMOUNT: &str = "trap '' INT TERM HUP; read none; \
    umount -l \"$1\" || fusermount3 -uz \"$1\"; rmdir \"$1\"";

impl Guard {
    fn of(folder: &Path) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", UNMOUNT, "sh"]).arg(folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // If it cannot be started, the worst that can happen is a folder that is left behind.
        Self(command.spawn().ok())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.stdin.take());
            child.wait().ok();
        }
    }
}

/// Answer the kernel's requests until the program has ended and no file is open.
#[expect(clippy::disallowed_methods, reason = "the program's own time is the host's")]
fn answer(
    requests: &Receiver<Asked>,
    simulation: &Simulation,
    mounted: &mut Mounted<'_>,
    waits: &mut dyn FnMut() -> Waits,
) {
    let mut idle_since: Option<Instant> = None;
    loop {
        match requests.recv_timeout(PATIENCE) {
            Ok(Asked { call, answer }) => {
                if let Some(since) = idle_since {
                    let ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    simulation.elapsed(ns);
                }
                // If the program has ended, nobody waits for the answer.
                answer.send(mounted.carry_out(call)).ok();
                idle_since = Some(Instant::now());
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        match waits() {
            Waits::Program => {}
            Waits::Others if mounted.is_in_use() => {}
            Waits::Visitors | Waits::Others | Waits::Nothing => break,
        }
    }
}

/// The command to start in the mounted folder. Its program file is looked up from the current
/// folder before.
fn prepared(command: &[OsString], folder: &Path) -> Result<Command, Failure> {
    let mut words = command.to_vec();
    if let Some(name) = words.first_mut() {
        let found = obstacle::program_file(name).filter(|found| found.is_file());
        let found = found.ok_or_else(|| {
            Failure::Message(format!("{}: No such file or directory", name.display()))
        })?;
        *name = absolute(&found).unwrap_or(found).into_os_string();
    }
    let mut command = plain(&words)?;
    command.current_dir(folder).env("PWD", folder);
    if std::env::var_os("SQLITE_TMPDIR").is_none() {
        command.env("SQLITE_TMPDIR", folder);
    }
    Ok(command)
}

fn unmountable(error: &std::io::Error) -> Failure {
    let device = PathBuf::from("/dev/fuse");
    let why = match std::fs::File::options().read(true).write(true).open(&device) {
        Err(error) => format!("{}: {error}", device.display()),
        Ok(_) => error.to_string(),
    };
    Failure::Message(format!("--fuse: the folder cannot be mounted: {why}"))
}
