//! `flysch vm`: runs the real kernel in a virtual machine.

mod reference;
mod validate;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use flysch_kernel::validate::plan::PLATFORM;
use flysch_kernel::vm::answer::Answer;
use flysch_kernel::vm::guest::{Accelerator, Guest};
use flysch_kernel::vm::store::Store;
use flysch_kernel::vm::{VmError, qemu};
use flysch_lab::EccMode;

use crate::calibrate::CalibrateOutput;
use crate::failure::Failure;
use crate::output;
use crate::parameters::{ecc, part};
use crate::progress::tell;

const MIB: u64 = 1 << 20;

/// Arguments of `flysch vm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch vm setup
  flysch vm bench insert,update --on kernel:jffs2,kernel:ubifs --requests 1000
  flysch vm validate --quick")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Fetch a kernel and tools with the system's package manager, and build a guest from them
    #[command(after_help = "Example:\n  flysch vm setup")]
    Setup(Setup),
    /// Run `flysch bench` in a guest; its output and the files that it writes are copied back
    #[command(
        after_help = "Example:\n  flysch vm bench --no-delays update --on kernel:ubifs --record-size 150,600"
    )]
    Bench(Inside),
    /// Run `flysch repro` in a guest; its output and the files that it writes are copied back
    #[command(after_help = "Example:\n  flysch vm repro --help")]
    Repro(Inside),
    /// Run a command line in a guest, such as `flysch trace live`; its output and the files that it
    /// writes are copied back
    #[command(
        after_help = "Example:\n  flysch vm run flysch trace live -- flash_erase /dev/mtd0 0 8"
    )]
    Run(Inside),
    /// Measure what the work of the guest's kernel and of SQLite takes, as a table of prices
    #[command(after_help = "Example:\n  flysch vm calibrate --out prices.toml --rows rows.csv")]
    Calibrate(VmCalibrate),
    /// Start a shell in a guest; `poweroff -f` ends it
    #[command(after_help = "Example:\n  flysch vm shell --ecc soft")]
    Shell(GuestOptions),
    /// Compare the counts of the simulator and the kernel cell by cell; exit code 1 if one is out
    /// of band
    #[command(
        after_help = "Examples:\n  flysch vm validate --quick --csv cells.csv --page cells.html\n  \
                      flysch vm validate --kernel-counts cells.csv --against again.csv --show summary"
    )]
    Validate(validate::Validate),
}

#[derive(Debug, clap::Args)]
struct VmCalibrate {
    #[command(flatten)]
    guest: GuestOptions,
    #[command(flatten)]
    output: CalibrateOutput,
}

#[derive(Debug, clap::Args)]
struct Setup {
    /// Version of the kernel, such as 6.1.0-56 [default: the newest of the series]
    #[arg(long, value_name = "VERSION")]
    kernel: Option<String>,
    /// Also build UBI with fastmap from the kernel's source, as Debian's is without it (140 MB
    /// more)
    #[arg(long)]
    with_fastmap: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct Place {
    /// Folder for the files that guests are built from [default: in the user's cache]
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
}

/// The options of a guest.
#[derive(Debug, clap::Args)]
struct GuestOptions {
    #[command(flatten)]
    place: Place,
    /// Chip that nandsim simulates: a part's name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "nandsim")]
    chip: String,
    /// Blocks of the test partition mtd0
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    blocks: u32,
    /// Simulate the chip without delays: its operations take no time
    #[arg(long)]
    no_delays: bool,
    /// Where errors are corrected: hardware, or soft (sub-page reads)
    #[arg(long, value_name = "WHERE", value_parser = ecc, default_value = "hardware")]
    ecc: EccMode,
    /// Size of a PRAM in addition to the NAND, mounted at /pram, MiB; 0 for none
    #[arg(long, value_name = "MIB", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=256))]
    pram: u32,
    /// YAFFS2's module, built for the guest's kernel
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// Virtualisation of the guest: kvm, or tcg (one instruction every 32 ns) [default: the one
    /// that setup found to work]
    #[arg(long, value_name = "NAME")]
    accelerator: Option<Accelerator>,
    /// Time limit for the guest, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

#[derive(Debug, clap::Args)]
struct Inside {
    #[command(flatten)]
    guest: GuestOptions,
    /// Arguments of the command in the guest
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.action {
        Action::Setup(setup) => setup.run(),
        Action::Bench(inside) => inside.run(&["flysch", "bench"]),
        Action::Repro(inside) => inside.run(&["flysch", "repro"]),
        Action::Run(inside) => inside.run(&[]),
        Action::Calibrate(calibrate) => calibrate.run(),
        Action::Shell(options) => qemu::shell(&options.store(), &options.guest()?).map_err(failure),
        Action::Validate(validate) => validate.run(),
    }
}

impl VmCalibrate {
    fn run(&self) -> Result<(), Failure> {
        let words = "flysch platform calibrate --on kernel:jffs2,kernel:ubifs --mtd mtd0 --times";
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        words.extend(["--platform", PLATFORM].map(str::to_owned));
        let store = self.guest.store();
        let answer = qemu::run(&store, &self.guest.guest()?, &words, &mut tell);
        self.output.write(&answer.map_err(failure)?.text, PLATFORM)
    }
}

impl Setup {
    fn run(&self) -> Result<(), Failure> {
        let store = Store::at(self.place.store.clone());
        let done =
            store.set_up(self.kernel.as_deref(), self.with_fastmap, tell).map_err(failure)?;
        let text = format!(
            "Linux {} by {}: {} MiB fetched, {} MiB kept in {}\n",
            done.version,
            done.accelerator.name(),
            done.fetched / MIB,
            done.kept / MIB,
            store.folder().display()
        );
        output::print(text.as_bytes())
    }
}

impl GuestOptions {
    fn store(&self) -> Store {
        Store::at(self.place.store.clone())
    }

    fn guest(&self) -> Result<Guest, Failure> {
        checked(self.described()?, "--blocks")
    }

    fn described(&self) -> Result<Guest, Failure> {
        Ok(Guest {
            part: part(&self.chip)?,
            partition_blocks: self.blocks,
            delays: !self.no_delays,
            ecc: self.ecc,
            pram_mib: self.pram,
            module: self.module.clone(),
            accelerator: self.accelerator,
            limit_s: self.limit,
        })
    }

    /// The guest for a run of `flysch bench`, with the flash that the options of that command ask
    /// for. The option for error correction is then removed from the command, as the guest already
    /// has it.
    fn as_asked(&self, words: &mut Vec<String>) -> Result<Guest, Failure> {
        let mut guest = self.described()?;
        if let Some((_, name)) = asked_for(words, "--part")? {
            guest.part = part(&name)?;
        }
        let mut option = "--blocks";
        if let Some((_, blocks)) = asked_for(words, "--partition-blocks")? {
            let wrong = |_| Failure::Message(format!("--partition-blocks {blocks}: one number"));
            guest.partition_blocks = blocks.parse().map_err(wrong)?;
            option = "--partition-blocks";
        }
        if let Some((places, place)) = asked_for(words, "--ecc")? {
            guest.ecc = ecc(&place).map_err(Failure::Message)?;
            words.drain(places);
        }
        checked(guest, option)
    }
}

/// Refuse a guest whose partition is larger than its chip. `option` set the size of the partition.
fn checked(guest: Guest, option: &str) -> Result<Guest, Failure> {
    let (asked, there) = (guest.partition_blocks, guest.part.geometry.block_count);
    if asked <= there {
        return Ok(guest);
    }
    Err(Failure::Message(format!("{option} {asked}: the chip has {there}")))
}

/// The position of an option among the words, and its value. It must be a single value, because a
/// guest has one chip.
fn asked_for(words: &[String], option: &str) -> Result<Option<(Range<usize>, String)>, Failure> {
    let found =
        words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
            "" => Some((at..at + 2, words.get(at + 1)?.as_str())),
            rest => Some((at..at + 1, rest.strip_prefix('=')?)),
        });
    match found {
        Some((_, list)) if list.contains([',', '.', ':']) => Err(Failure::Message(format!(
            "{option} {list}: a guest takes one, by its name; `flysch vm bench --chip` takes a file"
        ))),
        found => Ok(found.map(|(places, value)| (places, value.to_owned()))),
    }
}

impl Inside {
    fn run(&self, command: &[&str]) -> Result<(), Failure> {
        let mut words: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        words.extend(self.arguments.iter().cloned());
        let says = |name: &str| self.arguments.iter().any(|word| word.starts_with(name));
        // The guest's flash contains no data of the user, so it may be erased.
        let is_bench = command.last() == Some(&"bench");
        let has_target = self.arguments.iter().any(|word| word.contains("kernel:"));
        if is_bench && has_target && !says("--mtd") {
            words.extend(["--mtd", "mtd0"].map(str::to_owned));
        }
        if is_bench && !says("--platform") {
            words.extend(["--platform", PLATFORM].map(str::to_owned));
        }
        if is_bench && !says("--format") {
            words.extend(["--format", "json"].map(str::to_owned));
        }
        let force = says("--force");
        if !command.is_empty() {
            // The command may name files that exist here. A file with the same name that the guest
            // sends back would replace it.
            let mut here = self.arguments.iter().map(Path::new).filter(|path| path.is_file());
            here.try_for_each(|path| output::check_writable(path, force))?;
        }
        let guest = if is_bench { self.guest.as_asked(&mut words)? } else { self.guest.guest()? };
        let answer = qemu::run(&self.guest.store(), &guest, &words, &mut tell);
        if let Err(VmError::Guest { kept, .. }) = &answer {
            deliver(kept, force)?;
        }
        deliver(&answer.map_err(failure)?, force)
    }
}

/// Print the guest's output, and write the files that it sent back.
fn deliver(answer: &Answer, force: bool) -> Result<(), Failure> {
    output::print(answer.text.as_bytes())?;
    answer.files.iter().try_for_each(|(path, bytes)| keep(path, bytes, force))
}

/// Write a file that a guest sent back, and create the folders of its path.
fn keep(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::of_file(folder, error))?;
    }
    output::write_file(path, bytes, force)
}

/// Turn an error of a guest into one line. If the guest was ended by force, its console is printed
/// before it.
#[expect(clippy::needless_pass_by_value, reason = "maps an error")]
fn failure(error: VmError) -> Failure {
    if let Some(console) = error.console() {
        for line in console.lines() {
            tell(&format!("guest: {line}"));
        }
    }
    Failure::of(&error)
}
