//! `flysch extension`: a program loads the shim by itself.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{folder, installed, names};
use crate::command;

/// Run a program without `flysch run`. The machine that it starts reports on the same stderr, so
/// its end is waited for.
fn with_extension(folder: &Path, options: &str, program: &[&str]) -> (String, String) {
    command::output_of(folder, "extension");
    let mut command = Command::new(program[0]);
    command.current_dir(folder).args(&program[1..]).env("FLYSCH_OPTIONS", options);
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert!(status.success(), "{stderr}");
    (stdout, stderr)
}

#[test]
fn the_shell_loads_it() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let rows = "CREATE TABLE t(x); INSERT INTO t VALUES(1), (2); SELECT count(*) FROM t";
    for load in [".load ./flysch", "SELECT load_extension('./flysch')"] {
        let program = [&shell, ":memory:", load, ".open file:a.db?vfs=flysch", rows];
        let (stdout, stderr) = with_extension(folder.path(), "--on sqlite/ubifs", &program);
        assert_eq!(stdout.trim_start(), "2\n", "{stderr}");
        assert!(stderr.contains("3 statements on sqlite/ubifs"), "{stderr}");
        assert!(stderr.contains("| CREATE TABLE t (x) "), "{stderr}");
        assert_eq!(names(folder.path()), ["flysch.so"], "the default file system is not used");
        std::fs::remove_file(folder.path().join("flysch.so")).expect("the library");
    }
}

#[test]
fn python_loads_it_and_other_databases_stay_on_the_host() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    let script = "
import os, sqlite3
first = sqlite3.connect(':memory:')
first.enable_load_extension(True)
first.execute('select load_extension(\"./flysch\")')
on_flash = sqlite3.connect('file:a.db?vfs=flysch', uri=True)
on_flash.execute('create table t(x)')
on_flash.executemany('insert into t values(?)', [(n,) for n in range(10)])
on_flash.commit()
other = sqlite3.connect('host.db')
other.execute('create table u(x)')
if os.fork() == 0:
    again = sqlite3.connect('file:a.db?vfs=flysch', uri=True)
    os._exit(again.execute('select count(*) from t').fetchone()[0])
print(os.waitstatus_to_exitcode(os.wait()[1]), on_flash.execute('select sum(x) from t').fetchone())
";
    let (stdout, stderr) = with_extension(folder.path(), "", &[&python, "-c", script]);
    assert_eq!(stdout, "10 (45,)\n", "{stderr}");
    assert!(stderr.contains("on sqlite/jffs2"), "{stderr}");
    assert_eq!(names(folder.path()), ["flysch.so", "host.db"]);
}

/// The machine that an extension starts, here for a program that is told of it.
#[test]
fn a_machine_serves_who_comes_and_reports_when_all_have_gone() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let mut machine = Command::new(env!("CARGO_BIN_EXE_flysch"));
    machine.args(["run", "--serve", "--on", "sqlite/ftl"]).stderr(Stdio::piped());
    let mut machine = machine.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let output = machine.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let place = Path::new(line.trim_end());
    let mut program = Command::new(shell);
    program.env("LD_PRELOAD", place.join("shim.so")).env("FLYSCH_RUN", place);
    program.current_dir(folder.path()).args(["a.db", "CREATE TABLE t(x); SELECT count(*) FROM t"]);
    let output = program.output().expect("the shell starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n");
    let mut report = String::new();
    machine.stderr.take().expect("its report").read_to_string(&mut report).expect("text");
    assert!(machine.wait().expect("it ends").success());
    assert!(report.contains("2 statements on sqlite/ftl"), "{report}");
    assert!(!place.exists(), "the folder is removed");
}
