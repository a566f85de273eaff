//! Finds programs that cannot load the shim, and reasons why a program opened no database.
//!
//! Without the shim, a program would change the host's own files. So it is not started.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The bytes of an ELF header that hold class and byte order.
const CLASS_AT: std::ops::Range<usize> = 4..6;
const MACHINE_AT: std::ops::Range<usize> = 18..20;
/// How many bytes of a program file are read. They include its ELF headers.
const BEGINNING: u64 = 64 << 10;
/// The type of the ELF segment that names the dynamic loader (`PT_INTERP`).
const INTERPRETER: u32 = 3;
const WAY_OUT: &str =
    "its SQLite is no shared library; with --fuse it runs on a simulated stack too";

/// A line that says why a program cannot run with the shim. None if no reason is known.
pub(super) fn foreseen(command: &[OsString]) -> Option<String> {
    let name = command.first()?.display();
    let path = program_file(command.first()?)?;
    let is_privileged =
        fs::metadata(&path).is_ok_and(|found| found.permissions().mode() & 0o6000 != 0);
    if is_privileged {
        return Some(format!("{name} is set-user-ID: the loader gives it no shim; try --fuse"));
    }
    let bytes = program_bytes(&path)?;
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    let own = beginning(Path::new("/proc/self/exe"))?;
    let is_alike = |range: std::ops::Range<usize>| own.get(range.clone()) == bytes.get(range);
    if !is_alike(CLASS_AT) || !is_alike(MACHINE_AT) {
        return Some(format!("{name} is built for another architecture than the shim: try --fuse"));
    }
    match interpreter(&bytes) {
        None => Some(format!("{name} is linked statically: {WAY_OUT}")),
        Some(loader) if loader.windows(7).any(|part| part == b"ld-musl") => Some(format!(
            "{name} uses musl, and the shim is built for this system's C library: try --fuse"
        )),
        Some(_) => None,
    }
}

/// A line that says why no database was opened. `came` is whether the shim asked for any file.
pub(super) fn explain(command: &[OsString], came: bool) -> String {
    let name = command.first().map(|name| name.display().to_string()).unwrap_or_default();
    if came {
        return format!("{name} opened no database");
    }
    format!("{name} opened no database; if its SQLite is no shared library, try --fuse")
}

/// The first bytes of a file, which include the ELF headers.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The first bytes of a program. For a script, those of the interpreter in its first line.
fn program_bytes(path: &Path) -> Option<Vec<u8>> {
    let bytes = beginning(path)?;
    let Some(line) = bytes.strip_prefix(b"#!") else { return Some(bytes) };
    let line = line.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    beginning(Path::new(OsStr::from_bytes(words.next()?)))
}

/// The program file of a name, as a shell would find it.
pub(crate) fn program_file(name: &OsStr) -> Option<PathBuf> {
    which::which(name).ok()
}

/// The path of the dynamic loader in a program's ELF headers. None if it has no loader. The program
/// must be 64-bit and little-endian, like this one.
fn interpreter(bytes: &[u8]) -> Option<&[u8]> {
    let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let table = usize::try_from(long(32)?).ok()?;
    let (size, count) = (usize::from(short(54)?), usize::from(short(56)?));
    let mut entries = (0..count).map(|place| table.saturating_add(place * size));
    let at = entries.find(|&at| word(at) == Some(INTERPRETER))?;
    let offset = usize::try_from(long(at + 8)?).ok()?;
    let len = usize::try_from(long(at + 32)?).ok()?;
    bytes.get(offset..offset.checked_add(len)?)
}
