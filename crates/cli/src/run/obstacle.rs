//! Why a program opened no database on the machine.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::program_file;

/// Bytes of a program file that are examined. Its headers lie in front.
const HEAD: usize = 4096;
/// ELF: the machines that programs are built for, and the one of this program.
const MACHINE_AT: usize = 18;
const INTERPRETER: u32 = 3;
const WAY_OUT: &str = "only an SQLite that is a shared library can be run on a simulated stack";

/// Say in a line why the machine was not used. `came` tells whether the shim was there.
pub(super) fn explain(command: &[OsString], came: bool) -> String {
    let name = command.first().map(|name| name.display().to_string()).unwrap_or_default();
    if came {
        return format!("{name} opened no database");
    }
    let Some(path) = program_file(command) else {
        return format!("{name} opened no database; {WAY_OUT}");
    };
    let is_privileged =
        fs::metadata(&path).is_ok_and(|found| found.permissions().mode() & 0o6000 != 0);
    let bytes = fs::read(&path).unwrap_or_default();
    match Elf::of(&bytes) {
        _ if is_privileged => {
            format!("{name} is set-user-ID, so the shim is not loaded into it")
        }
        Some(Elf::Foreign) => {
            format!("{name} is built for another architecture, so the shim cannot be loaded")
        }
        Some(Elf::Static) => format!("{name} is linked statically; {WAY_OUT}"),
        Some(Elf::Musl) => {
            format!("{name} uses musl, and the shim is built for this system's C library")
        }
        Some(Elf::Dynamic) | None => format!("{name} opened no database; {WAY_OUT}"),
    }
}

/// What a program file is.
enum Elf {
    Foreign,
    Static,
    Musl,
    Dynamic,
}

impl Elf {
    fn of(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..HEAD.min(bytes.len()))?;
        if !head.starts_with(b"\x7fELF") {
            return None;
        }
        let own = fs::read("/proc/self/exe").ok()?;
        let is_alike = own.get(4..6)? == head.get(4..6)?
            && own.get(MACHINE_AT..MACHINE_AT + 2)? == head.get(MACHINE_AT..MACHINE_AT + 2)?;
        if !is_alike {
            return Some(Self::Foreign);
        }
        let Some(interpreter) = interpreter(bytes) else { return Some(Self::Static) };
        let is_musl = interpreter.windows(7).any(|part| part == b"ld-musl");
        Some(if is_musl { Self::Musl } else { Self::Dynamic })
    }
}

/// The loader that a 64-bit program names, if it names one.
fn interpreter(bytes: &[u8]) -> Option<&[u8]> {
    let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let table = usize::try_from(long(32)?).ok()?;
    let (size, count) = (usize::from(short(54)?), usize::from(short(56)?));
    let entry = (0..count).map(|place| table + place * size);
    let at = entry.into_iter().find(|&at| word(at) == Some(INTERPRETER))?;
    let offset = usize::try_from(long(at + 8)?).ok()?;
    let len = usize::try_from(long(at + 32)?).ok()?;
    bytes.get(offset..offset.checked_add(len)?)
}
