//! Running guests: the arguments of QEMU, the wait, and the handling of guests that do not answer.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::thread::nanosleep;
use rustix::time::{ClockId, Timespec, clock_gettime};
use tempfile::TempDir;

use super::answer::Answer;
use super::error::VmError;
use super::guest::{Accelerator, Guest, STARTED, quoted};
use super::image;
use super::store::Store;
use crate::live::signals::Stop;

/// Guest memory in MiB: for the chip's pages, the trace buffer and the memory disk.
const MEMORY_MIB: u32 = 1536;
/// Time between two checks of a guest, nanoseconds.
const LOOK_NS: i64 = 50_000_000;
/// Seconds that a guest may take to start under KVM. If it takes longer, KVM is not usable here.
const PROBE_S: u32 = 15;
/// How many lines of the console are shown if a guest had to be ended.
const LAST_LINES: usize = 20;
/// The line that follows the results. It ends with the exit code of the job.
const TRAILER: &str = "flysch-guest-exit ";

/// The running guest and its files, which are removed with it.
struct Work {
    folder: TempDir,
    child: Option<Child>,
}

/// Run a command in a folder of a guest. Returns its output and the files that it wrote there.
/// `tell` gets each line that the guest prints in addition to that output, as soon as it is
/// printed.
///
/// # Errors
/// Fails if the guest cannot be made, hangs, panics or is interrupted, or if the command fails.
pub fn run(
    store: &Store,
    guest: &Guest,
    words: &[String],
    tell: &mut dyn FnMut(&str),
) -> Result<Answer, VmError> {
    watch(store, guest, words, &mut |_| ControlFlow::Continue(()), tell)
}

/// Run a command as [`run`] does. `results` gets all of its output whenever there is more of it,
/// and can end the guest.
///
/// # Errors
/// As [`run`]. The guest counts as interrupted if `results` ended it.
pub fn watch(
    store: &Store,
    guest: &Guest,
    words: &[String],
    results: &mut dyn FnMut(&str) -> ControlFlow<()>,
    tell: &mut dyn FnMut(&str),
) -> Result<Answer, VmError> {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let command = words.join(" ");
    let job = format!(
        "mkdir out\ncd out\n{command} >/dev/ttyS1 2>/dev/console\nstatus=$?\n\
         stty -F /dev/ttyS2 raw\nfind . | cpio -o -H newc >/dev/ttyS2 2>/dev/null\nsync\n\
         echo '{TRAILER}'$status >/dev/ttyS1"
    );
    run_job(store, guest, &job, results, tell)
}

/// Find out whether KVM can start a guest here. Otherwise QEMU must emulate it.
pub(super) fn probe(store: &Store, tell: &mut dyn FnMut(&str)) -> Result<Accelerator, VmError> {
    if fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(Accelerator::Tcg);
    }
    tell("trying KVM");
    let part = flysch_chip::Part::named("nandsim");
    let part =
        part.map_err(|error| VmError::Chip { name: "nandsim".to_owned(), why: error.to_string() })?;
    let guest = Guest {
        partition_blocks: part.geometry.block_count / 2,
        part: std::sync::Arc::new(part),
        delays: false,
        ecc: flysch_linux::mtd::EccMode::Software { step_size: 256 },
        pram_mib: 0,
        module: None,
        accelerator: Some(Accelerator::Kvm),
        limit_s: PROBE_S,
    };
    match run(store, &guest, &["true".to_owned()], &mut |_| ()) {
        Ok(_) => Ok(Accelerator::Kvm),
        Err(VmError::Interrupted) => Err(VmError::Interrupted),
        Err(_) => Ok(Accelerator::Tcg),
    }
}

/// Open a shell in a guest on this terminal.
///
/// # Errors
/// Fails if the guest cannot be made.
pub fn shell(store: &Store, guest: &Guest) -> Result<(), VmError> {
    let job = "setsid cttyhack sh";
    let work = Work::make(store, guest, job)?;
    let mut command = work.command(store, guest)?;
    command.args(["-serial", "stdio"]);
    let status = command.status().map_err(VmError::file("qemu-system-x86_64"))?;
    if status.success() { Ok(()) } else { Err(VmError::Silent(String::new())) }
}

fn run_job(
    store: &Store,
    guest: &Guest,
    job: &str,
    results: &mut dyn FnMut(&str) -> ControlFlow<()>,
    tell: &mut dyn FnMut(&str),
) -> Result<Answer, VmError> {
    let stop = Stop::on_signals().map_err(VmError::file("signals"))?;
    let mut work = Work::make(store, guest, job)?;
    let mut command = work.command(store, guest)?;
    for name in ["console", "results", "files"] {
        command.arg("-serial").arg(format!("file:{}", work.path(name)));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    work.child = Some(command.spawn().map_err(VmError::file("qemu-system-x86_64"))?);
    let limit_ns = now_ns() + i64::from(guest.limit_s) * 1_000_000_000;
    let (mut passed_on, mut seen) = (0, 0);
    loop {
        work.pass_on_new_lines(&mut passed_on, tell);
        if work.has_more_results(&mut seen) && results(&work.read("results")).is_break() {
            return Err(VmError::Interrupted);
        }
        if work.has_ended()? {
            work.pass_on_new_lines(&mut passed_on, tell);
            return work.outcome();
        }
        if stop.is_wanted() {
            return Err(VmError::Interrupted);
        }
        if now_ns() > limit_ns {
            return Err(VmError::Hung { seconds: guest.limit_s, console: work.last_words() });
        }
        // A signal shortens the wait, and the loop then notices it.
        let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: LOOK_NS });
    }
}

impl Work {
    /// Write the memory disk.
    fn make(store: &Store, guest: &Guest, job: &str) -> Result<Self, VmError> {
        store.version()?;
        let folder =
            TempDir::with_prefix("flysch-vm-").map_err(VmError::file("temporary files"))?;
        let work = Self { folder, child: None };
        let disk = image::make(store, guest, &guest.script(job)?)?;
        fs::write(work.path("disk"), disk).map_err(VmError::file(work.path("disk")))?;
        Ok(work)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    fn command(&self, store: &Store, guest: &Guest) -> Result<Command, VmError> {
        const PROGRAM: &str = "qemu-system-x86_64";
        let found = super::process::find(PROGRAM);
        let absent = VmError::NoProgram { program: PROGRAM, package: "qemu-system-x86" };
        let mut command = Command::new(found.ok_or(absent)?);
        match guest.accelerator.unwrap_or_else(|| store.accelerator()) {
            Accelerator::Kvm => command.args(["-accel", "kvm", "-cpu", "host"]),
            // String instructions of recent processors are disabled: each would copy many bytes in
            // the time of one instruction.
            Accelerator::Tcg => command.args(["-accel", "tcg", "-cpu", "max,-erms,-fsrm"]).args([
                "-icount",
                "shift=5,sleep=off",
                "-rtc",
                "base=2020-01-01,clock=vm",
            ]),
        };
        let arguments = "-smp 1 -display none -monitor none -nic none -no-reboot -seed 1";
        let memory = (MEMORY_MIB + guest.pram_mib).to_string();
        command.args(arguments.split(' ')).args(["-m", &memory]);
        command.arg("-kernel").arg(store.path("vmlinuz")).arg("-initrd").arg(self.path("disk"));
        let kernel_line = format!(
            "console=ttyS0 quiet panic=-1 nokaslr norandmaps tsc=reliable clocksource=tsc{}",
            guest.kernel_arguments()
        );
        command.args(["-append", &kernel_line]);
        Ok(command)
    }

    fn has_ended(&mut self) -> Result<bool, VmError> {
        let child = self.child.as_mut().expect("the guest runs");
        Ok(child.try_wait().map_err(VmError::file("qemu-system-x86_64"))?.is_some())
    }

    /// The answer of the job, or why there is none.
    fn outcome(&mut self) -> Result<Answer, VmError> {
        let results = self.read("results");
        let Some((text, code)) = results.rsplit_once(TRAILER) else {
            return Err(self.silence());
        };
        let archive = fs::read(self.path("files")).map_err(VmError::file("files"))?;
        let answer = Answer::new(text.to_owned(), &archive);
        if code.trim() == "0" {
            return answer;
        }
        let nothing = || Answer { text: text.to_owned(), files: Vec::new() };
        let kept = Box::new(answer.unwrap_or_else(|_| nothing()));
        let console = self.read("console");
        // Lines that begin with a bracket are the kernel's. They follow the last lines of the
        // command.
        let mut lines = console.lines().rev().filter(|line| !line.starts_with('['));
        let own = lines.clone().find_map(|line| line.strip_prefix("flysch: "));
        let said = own.or_else(|| lines.next());
        let message = said.unwrap_or("it failed and said nothing").trim().to_owned();
        Err(VmError::Guest { message, kept })
    }

    /// Why a guest ended without an answer of its job.
    fn silence(&mut self) -> VmError {
        let console = self.read("console");
        if let Some((_, why)) = console.split_once("Kernel panic - not syncing: ") {
            return VmError::Panic(why.lines().next().unwrap_or_default().trim().to_owned());
        }
        let stderr = self.child.as_mut().and_then(|child| child.stderr.take());
        let said = stderr.and_then(|stream| std::io::read_to_string(stream).ok());
        if let Some(line) = said.as_deref().and_then(|text| text.lines().last())
            && console.is_empty()
        {
            let message = line.trim().to_owned();
            return VmError::Failed { program: "qemu-system-x86_64".to_owned(), message };
        }
        VmError::Silent(self.last_words())
    }

    /// Pass the new lines of the console to `tell`.
    fn pass_on_new_lines(&self, passed_on: &mut usize, tell: &mut dyn FnMut(&str)) {
        let console = self.read("console");
        let Some((_, said)) = console.split_once(STARTED) else { return };
        let whole = said.rfind('\n').map_or("", |end| &said[..end]);
        let new: Vec<&str> = whole.lines().skip((*passed_on).max(1)).collect();
        for line in new.iter().filter_map(|line| line.strip_prefix("flysch: ")) {
            tell(line);
        }
        *passed_on = whole.lines().count();
    }

    /// Whether there are more results than the bytes that were `seen` before.
    fn has_more_results(&self, seen: &mut u64) -> bool {
        let there = fs::metadata(self.path("results")).map_or(0, |file| file.len());
        std::mem::replace(seen, there) < there
    }

    fn last_words(&self) -> String {
        let console = self.read("console");
        let lines: Vec<&str> = console.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(Path::new(&self.path(name))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\r', "")
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // If the guest has already ended, killing it fails, which does not matter.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
