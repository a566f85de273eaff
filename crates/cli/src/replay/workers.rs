//! Replays with an SQLite library of the host: one process for each process of the recording. They
//! use the machine through the shim, as the program did, so the same calls give the same events.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use flysch_kernel::live::signals::Stop;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::program::Simulation;
use flysch_lab::recording::{Recording, Replay};
use flysch_sqlite::calls::{Call, Entry};
use flysch_sqlite::remote::{Folder, Server, Terms, Waits};

use crate::failure::Failure;

/// Replay with a library. Returns the figures, the calls with their results, the source version of
/// the library, and the machine.
pub(super) fn run(
    replay: &Replay<'_>,
    scenario: &Scenario,
    library: &Path,
) -> Result<(Run, Vec<Entry>, String, Simulation), Failure> {
    let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
    let simulation = replay.simulation(scenario).map_err(|error| Failure::of(&error))?;
    let folder = Folder::create().map_err(|error| Failure::of(&error))?;
    let started_ms = replay.recording.origin.started_ms;
    let now_ms = Some(started_ms).filter(|ms| *ms > 0);
    let terms = Terms { is_seeded: true, is_recorded: true, now_ms };
    let server = Server::new(&folder, &simulation, terms);
    let mut server = server.map_err(|error| Failure::of(&error))?;
    let (bell, mut ringer) = UnixStream::pair().map_err(|error| Failure::of(&error))?;
    let source = thread::scope(|scope| {
        let feed = scope.spawn(|| {
            let mut workers = Workers { library, folder: &folder, running: Vec::new(), last: 0 };
            let outcome = workers.feed(replay);
            // If the server has stopped, nobody waits for this byte.
            ringer.write_all(&[0]).ok();
            outcome
        });
        let mut waits = || match (stop.is_wanted(), feed.is_finished()) {
            (true, _) => Waits::Nothing,
            (false, true) => Waits::Others,
            (false, false) => Waits::Program,
        };
        let outcome = server.serve(&bell, &mut waits);
        let source = feed.join().unwrap_or_else(|_| Err("the feeder failed".to_owned()));
        outcome.map_err(|error| Failure::of(&error))?;
        source.map_err(Failure::Message)
    })?;
    drop(server);
    let mut run = simulation.finish(scenario).map_err(|error| Failure::of(&error))?;
    run.inputs.workload.clone_from(&replay.recording.name);
    let recorded = Recording::of(&simulation, replay.recording.origin.clone());
    Ok((run, recorded.entries, source, simulation))
}

struct Workers<'a> {
    library: &'a Path,
    folder: &'a Folder,
    running: Vec<(u32, Worker)>,
    /// The process that the last call was sent to.
    last: u32,
}

struct Worker {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    source: String,
}

impl Workers<'_> {
    /// Send each call to its process. Returns the source version of the library.
    fn feed(&mut self, replay: &Replay<'_>) -> Result<String, String> {
        let (recording, mut source) = (replay.recording, String::new());
        for (place, entry) in recording.entries.iter().enumerate() {
            if self.last != entry.process {
                self.settle(recording, place)?;
                self.last = entry.process;
            }
            if matches!(entry.call, Call::End) {
                self.end(entry.process);
                continue;
            }
            for call in replay.calls(entry) {
                let worker = self.worker(&call)?;
                source.clone_from(&worker.source);
                let line = serde_json::to_string(&call).map_err(|error| error.to_string())?;
                writeln!(worker.input, "{line}").map_err(|error| error.to_string())?;
            }
            // A script ends at the first statement that fails, so each result is awaited.
            if recording.lines.is_some() {
                self.settle(recording, place)?;
            }
        }
        self.settle(recording, recording.entries.len())?;
        for (_, worker) in std::mem::take(&mut self.running) {
            worker.finish();
        }
        Ok(source)
    }

    /// Wait until the last process has made the calls that were sent to it.
    fn settle(&mut self, recording: &Recording, place: usize) -> Result<(), String> {
        let Some((_, worker)) = self.running.iter_mut().find(|(id, _)| *id == self.last) else {
            return Ok(());
        };
        let sent = worker.input.write_all(b"sync\n").and_then(|()| worker.input.flush());
        sent.map_err(|error| error.to_string())?;
        loop {
            let mut line = String::new();
            match worker.output.read_line(&mut line) {
                Ok(0) | Err(_) => return Err("a process of the replay has ended".to_owned()),
                Ok(_) if line.starts_with('.') => return Ok(()),
                Ok(_) if recording.lines.is_some() => {
                    let message = line.trim_start_matches("! ").trim_end();
                    return Err(format!("{}: {message}", recording.place(place)));
                }
                // The recording of this replay has the result too, and is compared afterwards.
                Ok(_) => {}
            }
        }
    }

    /// End the process that corresponds to this one of the recording.
    fn end(&mut self, process: u32) {
        if let Some(at) = self.running.iter().position(|(id, _)| *id == process) {
            self.running.remove(at).1.finish();
        }
    }

    fn worker(&mut self, entry: &Entry) -> Result<&mut Worker, String> {
        let known = self.running.iter().position(|(id, _)| *id == entry.process);
        let at = if let Some(at) = known {
            at
        } else {
            let folder = if let Call::Open { folder, .. } = &entry.call { folder } else { "/" };
            let worker = Worker::start(self.library, self.folder, folder)?;
            self.running.push((entry.process, worker));
            self.running.len() - 1
        };
        Ok(&mut self.running[at].1)
    }
}

impl Worker {
    fn start(library: &Path, machine: &Folder, folder: &str) -> Result<Self, String> {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("flysch"));
        let mut command = Command::new(program);
        command.arg("play").arg(library).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("LD_PRELOAD", machine.shim()).env("FLYSCH_RUN", machine.path());
        command.env("FLYSCH_REPLAY", folder).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a process of the replay has no input".to_owned());
        };
        let (input, mut output) = (BufWriter::new(input), BufReader::new(output));
        let mut source = String::new();
        output.read_line(&mut source).map_err(|error| error.to_string())?;
        if source.is_empty() {
            let ended = child.wait_with_output().map_err(|error| error.to_string())?;
            let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            return Err(said.trim_start_matches("flysch: ").to_owned());
        }
        Ok(Self { child, input, output, source: source.trim_end().to_owned() })
    }

    /// End the process by closing its input.
    fn finish(mut self) {
        self.input.flush().ok();
        drop(self.input);
        // The process wrote all its answers before.
        self.child.wait().ok();
    }
}
