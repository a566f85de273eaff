//! Playing a script: the chip, the lives, and what is checked after each of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, Ending, FaultInjector, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;
use flysch_nand::BlockAddr;

use super::database;
use super::promise::refuse;
use super::script::{Life, MODES, Mode, Script};
use crate::jffs2::admit::History;
use crate::jffs2::operation::{Mix, Operation, User};
use crate::jffs2::power_cut::adopt;
use crate::jffs2::state::{Names, State, difference, inodes, read_undamaged};
use crate::machine::{FASTMAP, Kind, Machine};

/// How long the background tasks get after a mount, nanoseconds.
const SETTLE_NS: u64 = 3_000_000_000;

/// Bytes that are written at once of a file that fills the device.
const PIECE: usize = 4 * 4096;

/// Blocks that YAFFS2 keeps empty for its collector (`n_reserved_blocks`).
const YAFFS2_RESERVE: usize = 5;
/// The translation layer keeps three blocks free, and stops where all of them fail.
const FTL_SPARES: usize = 2;

/// What the scripts did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) cuts: u64,
    pub(super) nested: u64,
    pub(super) calls: u64,
    pub(super) full: u64,
    pub(super) commits: u64,
    /// Devices that were used to the end of their lives.
    pub(super) worn: u64,
    /// Devices that lost data on a block which an erase had reached in part.
    pub(super) half_erased: u64,
    /// JFFS2 devices on which a name outlived its inode.
    pub(super) orphaned: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.cuts += other.cuts;
        self.nested += other.nested;
        self.calls += other.calls;
        self.full += other.full;
        self.commits += other.commits;
        self.worn += other.worn;
        self.half_erased += other.half_erased;
        self.orphaned += other.orphaned;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cuts, nested, calls, full, commits, worn, half_erased, orphaned } = self;
        write!(
            f,
            "{cuts} cuts, {nested} of them of mounts, {calls} calls, {full} on a full device, "
        )?;
        write!(
            f,
            "{commits} commits, {worn} devices worn out, {half_erased} on a block half erased, "
        )?;
        write!(f, "{orphaned} with a name without an inode")
    }
}

/// A new chip with two blocks that its maker has marked bad, and the file system on it.
pub(super) fn new_machine(script: &Script) -> Machine {
    let part = Arc::new(script.kind.part());
    let mut prng = Prng::new(script.seed ^ 0xBAD);
    let count = u64::from(part.geometry.block_count);
    let mut draw = || BlockAddr(u32::try_from(1 + prng.below(count - 1)).unwrap());
    let bad = [draw(), draw()];
    let chip = Chip::new(part, Clock::new(), script.seed);
    let marked = FaultInjector::with_factory_bad_blocks(chip, bad);
    let machine = Machine::new(script.kind, marked.chip());
    machine.format();
    machine
}

/// A call without the bytes that it writes.
fn short(operation: &Operation) -> String {
    let text = format!("{operation:?}");
    match operation {
        Operation::Write { bytes, .. } | Operation::WriteHeld { bytes, .. } => {
            let head = text.split(", bytes").next().unwrap_or_default();
            format!("{head}, {} bytes }}", bytes.len())
        }
        _ => text,
    }
}

/// Begins what a stack says that does not go on, as one may on a device that is worn out.
const STOPPED: &str = "stopped: ";

pub(super) fn told(error: FsError) -> String {
    match error {
        FsError::Io | FsError::NoSpace => format!("{STOPPED}{error}"),
        other => other.to_string(),
    }
}

/// Mount what is there. At the end of a device's life that may fail.
pub(super) fn mounted(machine: &Machine) -> Result<Vfs, String> {
    machine.mount().map_err(|error| format!("{STOPPED}mount: {error}"))
}

/// The names and contents that users wrote.
fn read_users(vfs: &mut Vfs) -> Result<Names, String> {
    let (found, damage) = read_what_can_be(vfs)?;
    damage.map_or(Ok(found), |damage| Err(told(damage)))
}

/// What users wrote, as far as it can be read, and the last damage that was met.
fn read_what_can_be(vfs: &mut Vfs) -> Result<(Names, Option<FsError>), String> {
    let (mut found, damage) = read_undamaged(vfs).map_err(told)?;
    found.retain(|name, _| !name.starts_with("lost+found"));
    Ok((found, damage))
}

/// The plan of a life, or of a mount after it.
pub(super) fn plan(life: Life, prng: &mut Prng, reach: u64) -> FaultPlan {
    let cut = FaultPlan {
        seed: prng.next(),
        cut_at_change: Some(prng.below(reach)),
        ..FaultPlan::default()
    };
    match MODES[life.mode] {
        Mode::Ends(ending) => FaultPlan { ending: Some(ending), ..cut },
        Mode::Paired => FaultPlan { paired_distance: Some(2), ..cut },
        Mode::Disturbed => FaultPlan { read_disturb: Some(20), ..cut },
        Mode::Failing => FaultPlan {
            program_failures_ppm: 4000,
            erase_failures_ppm: 2000,
            ending: Some(Ending::Torn),
            ..cut
        },
        Mode::Worn => FaultPlan {
            program_failures_ppm: 150_000,
            erase_failures_ppm: 300_000,
            ending: Some(Ending::Torn),
            cut_at_change: Some(prng.below(20 * reach)),
            ..cut
        },
    }
}

/// Play a script: the lives of files or of databases. The end of a device's life ends it.
pub(super) fn play(script: &Script, tally: &mut Tally) -> Result<(), String> {
    let machine = new_machine(script);
    let outcome = if script.has_databases() {
        database::play(script, &machine, tally)
    } else {
        play_files(script, &machine, tally)
    };
    let has = |mode: Mode| script.lives.iter().any(|life| MODES[life.mode] == mode);
    let is_over = |why: &str| {
        let lacks_spares = has(Mode::Failing) && why.ends_with("are needed");
        lacks_spares || has(Mode::Worn) && is_worn_out(&machine, why)
    };
    match outcome {
        Err(why) if is_over(&why) => {
            tally.worn += 1;
            Ok(())
        }
        Err(_) if believes_half_erased(&machine) => {
            tally.half_erased += 1;
            Ok(())
        }
        other => other,
    }
}

/// Whether a device may say that it does not go on, because it has come to the end of its life:
/// more of its blocks have failed than the stack keeps in reserve. YAFFS2 and JFFS2 say then that
/// there is no space. UBI and a card have as many LEBs or sectors as before, and never do.
fn is_worn_out(machine: &Machine, why: &str) -> bool {
    let spares = match machine.kind {
        Kind::Yaffs2 => YAFFS2_RESERVE,
        Kind::Ftl(_) => FTL_SPARES,
        // JFFS2 has no reserve. That of UBI, 2 % of the chip, are the blocks that its maker marked.
        Kind::Jffs2 | Kind::Ubifs { .. } => 0,
    };
    let is_full = why.ends_with(&FsError::NoSpace.to_string());
    let says = if is_full {
        matches!(machine.kind, Kind::Yaffs2 | Kind::Jffs2)
    } else {
        why.contains(STOPPED)
    };
    says && machine.device.borrow().failures().len() > spares
}

/// Whether UBI with fastmaps has used a block that was erased in part, as in Linux.
///
/// An attach by a fastmap erases what it lists as waiting, even where that has been erased since.
/// If such an erase is cut before it reaches the first page, the EC header is there and the VID
/// header is blank: `scan_peb` in `drivers/mtd/ubi/attach.c` takes the block to be free.
fn believes_half_erased(machine: &Machine) -> bool {
    machine.kind == FASTMAP && machine.device.borrow().half_erased_programs() > 0
}

#[expect(clippy::print_stdout, reason = "a history that is gone through again is told")]
fn play_files(script: &Script, machine: &Machine, tally: &mut Tally) -> Result<(), String> {
    let new = empty_space(machine)?;
    let mut state = age(machine, script)?;
    for &life in &script.lives {
        let mut prng = Prng::new(script.seed.wrapping_mul(1000) + life.number);
        machine.device.borrow_mut().arm(plan(life, &mut prng, 40));
        let (history, under_way) = live(machine, life, state, &mut prng, tally)?;
        if std::env::var("FLYSCH_REPLAY").is_ok() {
            let calls: Vec<String> = history.operations.iter().map(short).collect();
            println!("life {}, cut in call {under_way}:\n  {}", life.number, calls.join("\n  "));
        }
        let (found, damage) = recover(machine, life, &mut prng, tally, &mut read_what_can_be)?;
        if let Some(why) = refuse(script.kind, &history, &found, under_way) {
            return Err(format!("life {}, call {under_way}: {why}", life.number));
        }
        if let Some(damage) = damage {
            return lose_name(script.kind, damage, tally);
        }
        // Where pages read otherwise each time, no two mounts need count the same.
        let fickle = [Mode::Ends(Ending::Unsteady), Mode::Ends(Ending::Fading)];
        if !fickle.contains(&MODES[life.mode]) {
            check_space(machine).map_err(|why| format!("life {}: {why}", life.number))?;
        }
        compare_emptied(machine, new).map_err(|why| format!("life {}: {why}", life.number))?;
        state = go_on(machine, &found).map_err(|why| format!("life {}: {why}", life.number))?;
    }
    Ok(())
}

/// A cut may take the inode of a name that was not synced, and leave the name. Reading it is an
/// error then, for JFFS2 as for Linux: `jffs2_do_read_inode_internal` in `readinode.c` finds
/// no node. The name cannot be used again, which ends the script.
fn lose_name(kind: Kind, damage: FsError, tally: &mut Tally) -> Result<(), String> {
    if kind != Kind::Jffs2 {
        return Err(told(damage));
    }
    tally.orphaned += 1;
    Ok(())
}

/// Once all names are gone, a file system that had such a life is as empty as a new one: nothing
/// that a cut left takes space for ever.
fn compare_emptied(machine: &Machine, new: (u64, u64)) -> Result<(), String> {
    let (free, bad_size) = empty_space(machine)?;
    let lost = new.0.saturating_sub(free);
    if lost > machine.kind.slack() + bad_size - new.1 {
        return Err(format!("{lost} bytes are not free although no file is left"));
    }
    if free > new.0 { Err(format!("{free} bytes are free, of {}", new.0)) } else { Ok(()) }
}

/// Free space once all names are gone, and the bytes of bad blocks.
fn empty_space(machine: &Machine) -> Result<(u64, u64), String> {
    let machine = machine.fork();
    let free = machine.free_once_empty()?;
    let device = machine.device.borrow();
    let bad = u64::from(device.chip().wear().bad_block_count);
    let block_size = u64::from(device.chip().part().geometry.block_size());
    Ok((free, bad * block_size))
}

/// Use the new file system for some time.
fn age(machine: &Machine, script: &Script) -> Result<State, String> {
    let mut user = User::new(mounted(machine)?);
    let mut history = History::new(State::default());
    let mut prng = Prng::new(script.seed);
    if script.fill > 0 {
        fill(&mut user, &mut history, script, &mut prng)?;
    }
    let mut is_full = false;
    for _ in 0..script.age {
        let operation = Operation::draw(&mut prng, history.last(), Mix::SHORT);
        match user.perform(&operation) {
            Err(FsError::NoSpace) => {
                is_full = true;
                break;
            }
            other => other.map_err(told)?,
        }
        history.push(operation);
        history = history.into_last();
    }
    user.perform(&Operation::LetGo).map_err(told)?;
    history.push(Operation::LetGo);
    if !matches!(script.kind, Kind::Ubifs { .. }) {
        compare_space(machine, &mut user.vfs)?;
    }
    user.vfs.unmount().map_err(told)?;
    if is_full {
        // How much of the last call was done is not known.
        let mut vfs = mounted(machine)?;
        let found = read_users(&mut vfs)?;
        return Ok(adopt(&found, &inodes(&mut vfs).map_err(told)?));
    }
    Ok(history.last().clone())
}

/// Write a file that never changes, piece by piece, until it has its share of the space or there is
/// no more.
fn fill(
    user: &mut User,
    history: &mut History,
    script: &Script,
    prng: &mut Prng,
) -> Result<(), String> {
    let free = user.vfs.filesystem().free_bytes().expect("it is counted");
    // YAFFS2 keeps blocks for itself that are free all the same.
    let share = if script.kind == Kind::Yaffs2 { script.fill / 2 } else { script.fill };
    let len = usize::try_from(free * u64::from(share) / 100).expect("a small chip");
    let name = || "cold".to_owned();
    let mut done = vec![Operation::Create { name: name() }];
    for at in (0..len).step_by(PIECE) {
        let mut bytes = vec![0; PIECE];
        prng.fill(&mut bytes);
        done.push(Operation::Write { name: name(), at, bytes });
    }
    done.push(Operation::Sync);
    for operation in done {
        match (user.perform(&operation), &operation) {
            (Err(FsError::NoSpace), &Operation::Write { at, .. }) => {
                let back = Operation::Truncate { name: name(), size: at };
                user.perform(&back).map_err(told)?;
                history.push(back);
                break;
            }
            (outcome, _) => outcome.map_err(told)?,
        }
        history.push(operation);
    }
    user.perform(&Operation::Sync).map_err(told)?;
    history.push(Operation::Sync);
    Ok(())
}

/// Make calls until they are done or the power goes. Returns what was to be, and the number of the
/// operation under way.
fn live(
    machine: &Machine,
    life: Life,
    state: State,
    prng: &mut Prng,
    tally: &mut Tally,
) -> Result<(History, usize), String> {
    let mut history = History::new(state);
    let is_on = || machine.device.borrow().is_on();
    tally.cuts += 1;
    let mut user = match mounted(machine) {
        Ok(vfs) => User::new(vfs),
        Err(_) if !is_on() => return Ok((history, 0)),
        Err(error) => return Err(error),
    };
    for place in 0..life.calls as usize {
        let operation = Operation::draw(prng, history.last(), Mix::SHORT);
        let before = history.last().clone();
        history.push(operation);
        let outcome = user.perform(&history.operations[place]);
        tally.calls += 1;
        match outcome {
            Ok(()) if is_on() => {}
            _ if !is_on() => return Ok((history, place)),
            Err(FsError::NoSpace) => {
                // A part of the operation may have been done.
                tally.full += 1;
                let _ = before;
                return Ok((history, place));
            }
            // At the end of a device's life a call fails, and the file system may be read on.
            Err(FsError::Io) if MODES[life.mode] == Mode::Worn => return Ok((history, place)),
            other => return Err(format!("{:?}: {other:?}", history.operations[place])),
        }
    }
    let done = history.operations.len();
    Ok((history, done))
}

/// Mount, and cut that some times; then mount for good. `read` reads what is there, as a program
/// does after a cut.
pub(super) fn recover<T>(
    machine: &Machine,
    life: Life,
    prng: &mut Prng,
    tally: &mut Tally,
    read: &mut dyn FnMut(&mut Vfs) -> Result<T, String>,
) -> Result<T, String> {
    let mut reach = 30;
    let mut settle = |vfs: &mut Vfs| {
        let found = read(vfs)?;
        vfs.sleep(SETTLE_NS);
        vfs.sync().map_err(told)?;
        Ok(found)
    };
    for _ in 0..life.nested {
        machine.device.borrow_mut().power_up();
        machine.device.borrow_mut().arm(plan(life, prng, reach));
        let settled = mounted(machine).and_then(|mut vfs| settle(&mut vfs));
        let is_on = machine.device.borrow().is_on();
        if let (Err(error), true) = (&settled, is_on) {
            return Err(format!("a mount after life {}: {error}", life.number));
        }
        tally.nested += u64::from(!is_on);
        tally.cuts += u64::from(!is_on);
        reach *= 2;
    }
    machine.device.borrow_mut().power_up();
    machine.device.borrow_mut().arm(FaultPlan::default());
    settle(&mut mounted(machine)?)
}

/// Use the file system that was found, and find all of it again.
fn go_on(machine: &Machine, found: &Names) -> Result<State, String> {
    let mut vfs = mounted(machine)?;
    if let Kind::Ubifs { .. } = machine.kind {
        shorten_last_blocks(&mut vfs, found)?;
    }
    let written = vfs.open("later", true).and_then(|fd| {
        let written = vfs.write(fd, 0, &[5; 6000]);
        vfs.close(fd).and(written)
    });
    vfs.sleep(SETTLE_NS);
    let removed = if vfs.exists("later").map_err(told)? { vfs.unlink("later") } else { Ok(()) };
    for outcome in [written, removed] {
        if !matches!(outcome, Ok(()) | Err(FsError::NoSpace)) {
            return Err(outcome.map_err(told).expect_err("it failed"));
        }
    }
    vfs.unmount().map_err(told)?;
    let mut vfs = mounted(machine)?;
    let mut after = read_users(&mut vfs)?;
    if removed == Err(FsError::NoSpace) {
        after.remove("later");
    }
    if let Some(why) = difference(&after, found) {
        return Err(format!("changed by itself: {why}"));
    }
    let inodes: BTreeMap<_, _> = inodes(&mut vfs).map_err(told)?;
    vfs.unmount().map_err(told)?;
    Ok(adopt(found, &inodes))
}

/// Write the last byte of each file again, so that its last block holds nothing behind the end.
///
/// UBIFS writes a truncation as an inode, the truncation and the block's rest, without a group that
/// holds them together (`ubifs_jnl_truncate`). A cut may lose the rest alone. Then the block still
/// holds what was cut off, and that comes back when the file grows.
fn shorten_last_blocks(vfs: &mut Vfs, found: &Names) -> Result<(), String> {
    for (name, content) in found {
        let Some(last) = content.as_ref().and_then(|it| it.last().copied()) else { continue };
        let outcome = vfs.open(name, false).and_then(|fd| {
            let end = vfs.size(fd)? - 1;
            let written = vfs.write(fd, end, &[last]);
            vfs.close(fd).and(written)
        });
        if !matches!(outcome, Ok(()) | Err(FsError::NoSpace)) {
            return outcome.map_err(told);
        }
    }
    Ok(())
}

/// The free space of the file system, as it counts it after a mount, is that of another mount.
fn check_space(machine: &Machine) -> Result<(), String> {
    if let Kind::Ubifs { .. } = machine.kind {
        let mut fs = machine.fork().mount_ubifs().map_err(|error| format!("{STOPPED}{error}"))?;
        let wrong = fs.find_wrong_leb().map_err(told)?;
        return wrong.map_or(Ok(()), |lnum| Err(format!("the space of LEB {lnum} is wrong")));
    }
    let mut vfs = mounted(machine)?;
    vfs.sleep(SETTLE_NS);
    compare_space(machine, &mut vfs)
}

/// What a running file system says of its free space is what a fresh mount finds: one that scans,
/// and one by what a sync leaves.
fn compare_space(machine: &Machine, vfs: &mut Vfs) -> Result<(), String> {
    if machine.kind == Kind::Yaffs2 {
        equal_space(machine, vfs)?;
    }
    vfs.sync().map_err(told)?;
    equal_space(machine, vfs)
}

fn equal_space(machine: &Machine, vfs: &Vfs) -> Result<(), String> {
    let known = vfs.filesystem().free_bytes().expect("it is counted");
    let mut fresh = mounted(&machine.fork())?;
    if machine.kind == Kind::Jffs2 {
        // Data is checked after the mount. What was replaced in part is free only then, and the
        // collector may drop more.
        fresh.sleep(SETTLE_NS);
    }
    let counted = fresh.filesystem().free_bytes().expect("it is counted");
    if machine.kind.is_same_space(known, counted) {
        return Ok(());
    }
    Err(format!("{known} bytes are free, a fresh mount says {counted}"))
}
