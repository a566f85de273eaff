//! `cargo xtask size`: code and RAM on a Cortex-M3, of the indexes and of the database engine.
//!
//! A firmware that calls every operation of an index over two registers (`firmware.txt`) is built
//! for thumbv7m as one optimised object, and the sizes of its sections are added up. Library
//! functions that a linker would add (memcpy, memcmp, 64-bit division) are not included.
//!
//! The target is installed by rustup if possible. Otherwise it comes from Debian's `rustc-web` and
//! `rust-web-src`, with core built from source.

mod database;
mod elf;
mod stack;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages::{self, Package};
use crate::{Outcome, shell};
use elf::Object;

const TARGET: &str = "thumbv7m-none-eabi";
const DOCUMENT: &str = "docs/size.md";
const MANIFEST: &str = "\
[package]
name = \"firmware\"
version = \"0.0.0\"
edition = \"2024\"

[workspace]

[lib]
crate-type = [\"staticlib\"]

[features]
runs = []
pbfilter = []
bitmap = []
zone = []
database = []
ground = []

[profile.release]
opt-level = \"OPTIMISED\"
lto = \"fat\"
codegen-units = 1
panic = \"abort\"

[dependencies]
";

/// What is measured: name, features, and the prefix of the symbols whose sizes are those of the
/// fields.
const BUILDS: [(&str, &str, &str); 6] = [
    ("blocks and pages alone (`flash`)", "", "FIELDS_flash"),
    ("with hash-ordered runs", "runs", "FIELDS_runs"),
    ("with PBFilter and its deletions", "pbfilter", "FIELDS_pbfilter"),
    ("with bitmap indexes", "bitmap", "FIELDS_bitmap"),
    ("with zone maps", "zone", "FIELDS_zone"),
    ("with all of them", "runs,pbfilter,bitmap,zone", "FIELDS_"),
];

/// Debian's compiler, and the source code of its core library.
const DEBIAN: [Package; 2] = [
    Package { name: "rustc-web", program: "rustc", without: "there is no compiler for thumbv7m" },
    Package { name: "rust-web-src", program: "rustc", without: "core cannot be built" },
];
const DEBIAN_COMPILER: &str = "/usr/bin/rustc";

/// How to compile for the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Toolchain {
    Rustup,
    Debian,
}

/// By how much the code may exceed the size in the document in continuous integration, percent.
const GROWTH_MAX: u32 = 3;

/// The stage of continuous integration: fails if the code of the database has grown too much. If
/// there is no compiler for the target, the stage is skipped with a message.
pub(crate) fn stage() -> Outcome {
    let toolchain = match toolchain() {
        Ok(toolchain) => toolchain,
        Err(reason) => {
            println!("size: skipped: {reason}");
            return Ok(());
        }
    };
    let document = fs::read_to_string(shell::root().join(DOCUMENT))?;
    let stated = document.split_once(database::CODE).map_or("", |(before, _)| before);
    let stated = stated.rsplit(char::is_whitespace).next().unwrap_or_default();
    let stated: u32 =
        stated.parse().map_err(|_| format!("{DOCUMENT} tells no size of the code"))?;
    let code = build(&prepare("z")?, toolchain, "database")?.code_size();
    println!("{code} bytes of code, {stated} in {DOCUMENT}");
    if code * 100 <= stated * (100 + GROWTH_MAX) {
        return Ok(());
    }
    Err(format!("the code has grown by more than {GROWTH_MAX} %: see `cargo xtask size`").into())
}

/// Measure, print the table and write the document.
pub(crate) fn run() -> Outcome {
    let toolchain = toolchain()?;
    let folder = prepare("s")?;
    let mut rows = Vec::new();
    for (name, features, symbol) in BUILDS {
        let object = build(&folder, toolchain, features)?;
        rows.push((name, object.code_size(), object.data_size()?, object.symbol_size(symbol)?));
    }
    let mut text = document(&rows, &compiler(toolchain)?);
    let folder = prepare("z")?;
    let ground = build(&folder, toolchain, "ground")?;
    let object = build(&folder, toolchain, "database")?;
    text.push_str(&database::section(&object, &ground)?);
    text.push_str(&stack::section(&object)?);
    print!("{text}");
    fs::write(shell::root().join(DOCUMENT), text)?;
    Ok(())
}

fn toolchain() -> Outcome<Toolchain> {
    if shell::is_installed("rustup") {
        let add = shell::run(Command::new("rustup").args(["target", "add", TARGET]));
        if add.is_ok() {
            return Ok(Toolchain::Rustup);
        }
        println!("rustup has no {TARGET} here; trying Debian's compiler");
    }
    if !Path::new(DEBIAN_COMPILER).exists() {
        packages::provide(&DEBIAN);
    }
    if Path::new(DEBIAN_COMPILER).exists() {
        return Ok(Toolchain::Debian);
    }
    Err(format!(
        "no compiler for {TARGET}: rustup cannot add the target, and Debian's rustc-web and \
         rust-web-src are not installed"
    )
    .into())
}

/// Write the firmware as a package of its own, in the build folder of this program.
fn prepare(level: &str) -> Outcome<PathBuf> {
    let folder = std::env::current_exe()?.with_file_name("firmware");
    fs::create_dir_all(folder.join("src"))?;
    let crates = shell::root().join("crates");
    let path = |name: &str| crates.join(name).display().to_string();
    let dependencies = format!(
        "flysch = {{ path = {:?} }}\nflysch-indexes = {{ path = {:?} }}\nflysch-nand = {{ path = {:?} }}\n",
        path("flysch"),
        path("indexes"),
        path("nand")
    );
    let manifest = MANIFEST.replace("OPTIMISED", level);
    fs::write(folder.join("Cargo.toml"), format!("{manifest}{dependencies}"))?;
    fs::write(folder.join("src/lib.rs"), include_str!("firmware.txt"))?;
    Ok(folder)
}

fn build(folder: &Path, toolchain: Toolchain, features: &str) -> Outcome<Object> {
    let object = folder.join("firmware.o");
    let emit = format!("--emit=obj={}", object.display());
    let mut command = shell::cargo(&["rustc", "--release", "--quiet", "--target", TARGET]);
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    if toolchain == Toolchain::Debian {
        command.env("RUSTC", DEBIAN_COMPILER).arg("-Zbuild-std=core");
    }
    // Noting the stack frames needs an unstable flag. It does not change the code.
    command.env("RUSTC_BOOTSTRAP", "1").args(["--features", features, "--", &emit, "-Awarnings"]);
    shell::run(command.arg("-Zemit-stack-sizes"))?;
    Object::parse(fs::read(&object)?)
}

fn compiler(toolchain: Toolchain) -> Outcome<String> {
    let program = match toolchain {
        Toolchain::Rustup => "rustc",
        Toolchain::Debian => DEBIAN_COMPILER,
    };
    let version = shell::output(Command::new(program).arg("--version"))?;
    Ok(version.split('(').next().unwrap_or(&version).trim().to_owned())
}

fn document(rows: &[(&str, u32, u32, u32)], compiler: &str) -> String {
    let base = rows.first().map_or(0, |row| row.1);
    let mut text = format!(
        "# Size of the index layer\n\n\
         Code for {TARGET} (Cortex-M3), {compiler}, opt-level \"s\", one object.\n\
         `cargo xtask size` measures it anew.\n\nThe caller provides the buffers of an index. Their size is `ram_size` of \
         its parameters;\nits fields come in addition.\n\n\
         | firmware | code, bytes | more than `flash` alone | constants, bytes | fields in RAM, bytes |\n\
         |---|--:|--:|--:|--:|\n"
    );
    for (name, code, data, fields) in rows {
        let more = code - base.min(*code);
        writeln!(text, "| {name} | {code} | {more} | {data} | {fields} |")
            .expect("a string takes what is written");
    }
    text
}
