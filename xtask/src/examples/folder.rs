//! The files that examples name.

use crate::{Outcome, shell};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// The longest time of one line, seconds.
const LIMIT_S: &str = "600";

/// Files that are text.
const TEXTS: [(&str, &str); 7] = [
    ("app.py", include_str!("files/app.py")),
    ("check.py", include_str!("files/check.py")),
    ("schema.sql", include_str!("files/schema.sql")),
    ("app", include_str!("files/app.sh")),
    ("server", include_str!("files/app.sh")),
    ("tests", include_str!("files/app.sh")),
    ("files/program.rs", include_str!("folder.rs")),
];
/// Programs among them.
const PROGRAMS: [&str; 3] = ["app", "server", "tests"];
/// Lines for the shell that make the other files.
const LINES: [&str; 10] = [
    "head -c 3000000 /dev/urandom > files/random",
    "flysch bench update --requests 60 --fill 100 --trace run.trace",
    "flysch trace run.trace export --to flashmon-log --out flashmon_log",
    "flysch record --to app.rec -- python3 app.py",
    "flysch image make files flash.nand --on file/ubifs --partition-blocks 96",
    "if type mkfs.jffs2; then mkfs.jffs2 -r files -o files.jffs2 -e 128 -l -n; fi",
    "sqlite3 my.db 'CREATE TABLE old(a)'",
    "flysch budget app.toml --update -- python3 app.py",
    "flysch bench insert,update --on sqlite/jffs2,sqlite/ubifs --record-size 150,600 \
     --requests 100,200,300 --format csv --out runs.csv",
    "flysch model fit runs.csv --out model.json",
];
/// Options whose value is a file or folder that a command makes.
const OUTPUTS: [&str; 6] = ["--out", "--trace", "--to", "--report", "--keep", "--calls"];

/// Make the folder with which each session begins.
pub(super) fn make(flysch: &Path, scratch: &Path) -> Outcome<PathBuf> {
    let folder = scratch.join("begin");
    fs::create_dir_all(folder.join("files"))?;
    for (name, text) in TEXTS {
        fs::write(folder.join(name), text)?;
    }
    for name in PROGRAMS {
        shell::run(Command::new("chmod").arg("+x").arg(folder.join(name)))?;
    }
    for line in LINES {
        let output = in_shell(line, flysch, &folder)?.output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{line}` failed: {said}").into());
        }
    }
    Ok(folder)
}

/// A line for the shell in a folder, where `flysch` is this binary.
pub(super) fn in_shell(line: &str, flysch: &Path, folder: &Path) -> Outcome<Command> {
    let own = flysch.parent().into_iter().map(PathBuf::from);
    let others = env::var_os("PATH").unwrap_or_default();
    let administration = PathBuf::from("/usr/sbin");
    let path = own.chain(env::split_paths(&others)).chain([administration]);
    let mut command = Command::new("timeout");
    command.args([LIMIT_S, "sh", "-c", line]).current_dir(folder).stdin(Stdio::null());
    command.env("PATH", env::join_paths(path)?).env("COLUMNS", "100");
    Ok(command)
}

/// Copy the folder with which a session begins.
pub(super) fn copy(begin: &Path, folder: &Path, program: Option<&str>) -> Outcome {
    shell::run(Command::new("cp").arg("-r").arg("--sparse=always").args([begin, folder]))?;
    if let Some(program) = program {
        fs::write(folder.join("app.py"), program)?;
    }
    Ok(())
}

/// Remove the files that an example makes: without `--force`, no command replaces a file.
pub(super) fn remove_outputs(line: &str, folder: &Path) -> Outcome {
    let words: Vec<&str> = line.split_whitespace().collect();
    let names = words.windows(2).filter(|pair| OUTPUTS.contains(&pair[0])).map(|pair| pair[1]);
    let image = words.windows(4).find(|four| four[..2] == ["image", "make"]).map(|four| four[3]);
    for name in names.chain(image) {
        for path in [folder.join(name), folder.join(format!("{name}.provenance.json"))] {
            if path.is_file() {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}
