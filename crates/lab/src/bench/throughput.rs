//! Throughput of plain reads and writes at three levels of the stack. The platforms' constants are
//! calibrated with it (Table I of Boukhobza et al., ERTS 2014).

use flysch_chip::{Clock, FaultInjector, Prng, Recorder, Shared, Tracer};
use flysch_linux::cpu::{Cpu, Unit};
use flysch_linux::filesystem::CACHE_PAGE_SIZE;
use flysch_linux::mtd::MtdError;
use serde::Serialize;

use super::error::RunError;
use crate::machine::Build;
use crate::machine::stack::Stack;

/// Bytes that are written and read at each level.
const MOVED: u32 = 2 << 20;

/// Throughput at one level, in units of 10^6 bytes a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// `driver` (MTD in the kernel), `user` (MTD device from a program), `file` (through JFFS2).
    pub level: &'static str,
    pub write_mb_s: f64,
    /// Throughput of reads with cold caches.
    pub read_mb_s: f64,
}

/// Measure all levels of a stack.
///
/// # Errors
/// Fails if the stack cannot be built or the file system fails.
pub fn levels(build: &Build) -> Result<[Throughput; 3], RunError> {
    let driver_ns = mtd(build, |_| {})?;
    let user_ns = mtd(build, |cpu| {
        cpu.charge(Unit::Syscall, 1);
        cpu.copy(build.part.geometry.page_size as usize);
    })?;
    let named = [("driver", driver_ns), ("user", user_ns), ("file", file(build)?)];
    Ok(named.map(|(level, (write_ns, read_ns))| Throughput {
        level,
        write_mb_s: mb_s(write_ns),
        read_mb_s: mb_s(read_ns),
    }))
}

/// Write pages to a blank partition and read them back. `call` charges the CPU time that each page
/// costs above MTD.
fn mtd(build: &Build, call: impl Fn(&Cpu)) -> Result<(u64, u64), RunError> {
    let clock = Clock::new();
    let recorder = Recorder::new(clock.clone(), "throughput");
    let _scope = recorder.scope("throughput");
    let injector = FaultInjector::new(build.new_chip(clock));
    let device = Shared::new(Tracer::new(injector, recorder.clone()));
    let cpu = build.cpu(&recorder);
    let partition = build.partition(&device, &cpu, &recorder)?;
    let mut page = random(page_len(build));
    let offsets = || (0..MOVED).step_by(page_len(build));
    let write_ns = timed(&recorder, || {
        offsets().try_for_each(|offset| {
            call(&cpu);
            partition.write(offset, &page).map_err(medium)
        })
    })?;
    let read_ns = timed(&recorder, || {
        offsets().try_for_each(|offset| {
            call(&cpu);
            partition.read(offset, &mut page).map(|_| ()).map_err(medium)
        })
    })?;
    Ok((write_ns, read_ns))
}

fn page_len(build: &Build) -> usize {
    build.part.geometry.page_size as usize
}

/// Write a file of random bytes and read it back with cold caches, one cache page at a time.
fn file(build: &Build) -> Result<(u64, u64), RunError> {
    let machine = build.format_and_mount(Stack::JFFS2)?;
    let mut linux = machine.linux.borrow_mut();
    let bytes = random(MOVED as usize);
    let fd = linux.open("file", true)?;
    let calls = || (0..).step_by(CACHE_PAGE_SIZE).zip(bytes.chunks(CACHE_PAGE_SIZE));
    let write_ns = timed(&machine.recorder, || {
        for (offset, part) in calls() {
            linux.write(fd, offset, part)?;
        }
        Ok(linux.fsync(fd)?)
    })?;
    linux.drop_caches()?;
    let mut read = vec![0; CACHE_PAGE_SIZE];
    let read_ns = timed(&machine.recorder, || {
        for (offset, _) in calls() {
            linux.read(fd, offset, &mut read)?;
        }
        Ok(())
    })?;
    Ok((write_ns, read_ns))
}

fn medium(error: MtdError) -> RunError {
    RunError::FileSystem(error.into())
}

fn timed(
    recorder: &Recorder,
    call: impl FnOnce() -> Result<(), RunError>,
) -> Result<u64, RunError> {
    let began_ns = recorder.clock().now_ns();
    call()?;
    Ok(recorder.clock().now_ns() - began_ns)
}

fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Prng::new(1).fill(&mut bytes);
    bytes
}

#[expect(clippy::cast_precision_loss, reason = "a few seconds in nanoseconds")]
fn mb_s(ns: u64) -> f64 {
    f64::from(MOVED) / 1e6 / (ns as f64 / 1e9)
}
