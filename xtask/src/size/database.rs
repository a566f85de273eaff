//! Section: the database on a microcontroller, with its code by module and the RAM of its fields.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::elf::Object;
use crate::Outcome;

/// Modules of the engine. Code that belongs to none of them is the firmware's own or the core
/// library's.
const MODULES: [&str; 7] = ["db", "log", "media", "record", "row", "store", "flash"];
const OTHERS: &str = "core library, and what was put into the firmware's own functions";

/// The text after the size of the code in the document.
pub(super) const CODE: &str = " bytes of code,";

/// What each firmware asks of the database.
const ALL: &str = "all: update, delete, scan and maintain as well";
const GROUND: &str = "the ground floor: format, session, insert, commit, get, find, range";

/// The section of the document.
pub(super) fn section(object: &Object, ground: &Object) -> Outcome<String> {
    let mut sizes: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, size) in object.symbols()? {
        let name = String::from_utf8_lossy(name);
        if !name.starts_with("FIELDS_") {
            *sizes.entry(module_of(&name)).or_default() += size;
        }
    }
    let mut text = format!(
        "\n## The database\n\n\
         The same compiler, opt-level \"z\", link-time optimisation, panic = abort, over two tables\n\
         with hash and ordered indexes. The whole takes {}{CODE}\nand its unwind tables {} more: \
         the linker scripts of firmware leave them out.\n\n\
         | what the firmware calls | code, bytes | constants, bytes | fields, bytes |\n\
         |---|--:|--:|--:|\n",
        object.code_size(),
        object.unwind_size(),
    );
    for (name, object) in [(ALL, object), (GROUND, ground)] {
        let (code, constants) = (object.code_size(), object.data_size()?);
        let fields = object.symbol_size("FIELDS_database")?;
        writeln!(text, "| {name} | {code} | {constants} | {fields} |")?;
    }
    text.push_str(LEFT_IN);
    text.push_str("| module | bytes |\n|---|--:|\n");
    let mut rows: Vec<(&str, u32)> = sizes.into_iter().filter(|(_, size)| *size > 0).collect();
    rows.sort_by_key(|(_, size)| core::cmp::Reverse(*size));
    for (module, size) in rows {
        writeln!(text, "| {module} | {size} |")?;
    }
    text.push_str(MEMORY);
    Ok(text)
}

/// Why the ground floor is not much smaller.
const LEFT_IN: &str = "
Linking leaves out what is never called, and little else. An insert has to merge indexes and, where
space is short, to move rows, whatever a firmware before it left on the chip. Rings and commits
beside the chip hang on what the caller says at run time. What obeys constraints comes with the call
that sets them, which neither firmware makes. The whole by module:

";

/// The text on the RAM of the database. The engine's test `memory` asserts these numbers.
const MEMORY: &str = "
A function that is used once is put into its caller, and counts there. The caller gives the memory,
at the least this many bytes:

| what | bytes | 128 blocks of 2 KB pages | 1,024 blocks |
|---|---|--:|--:|
| block table | 3 a block | 384 | 3,072 |
| tail | payload of a page | 2,004 | 2,004 |
| page, lent | a page | 2,048 | 2,048 |
| state of a record | two tables with three indexes | 1,146 | 1,146 |
| windows of merges | 600 | 600 | 600 |
| table of runs | two tables with three indexes | 963 | 963 |
| fence of a level | 258 | 258 | 258 |
| memory table | 512 | 512 | 512 |
| in all | | 7,915 | 10,603 |

More of it makes the memory table, the windows and the Bloom filters larger.
";

/// The module of the engine that a symbol belongs to: the first one in its mangled name.
fn module_of(name: &str) -> &'static str {
    let places = MODULES.iter().filter_map(|module| {
        let found = [format!("flysch{}{module}", module.len()), format!("flysch..{module}..")];
        let at = found.iter().filter_map(|pattern| name.find(pattern.as_str())).min()?;
        Some((at, *module))
    });
    places.min().map_or(OTHERS, |(_, module)| module)
}
