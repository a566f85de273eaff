//! What goes wrong: one clear line each, and nothing of the user's is changed.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{folder, installed, names, run};
use crate::command::flysch;

#[test]
fn a_program_that_does_not_exist() {
    let folder = folder();
    let ran = run(folder.path(), "", &["no-such-program"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "flysch: no-such-program: No such file or directory (os error 2)\n");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn the_exit_code_is_the_program_s() {
    let folder = folder();
    let ran = run(folder.path(), "", &["sh", "-c", "exit 7"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    let ran = run(folder.path(), "", &["sh", "-c", "kill -9 $$"]);
    assert_eq!(ran.code, Some(128 + 9));
    assert_eq!(ran.stderr, "flysch: sh was ended by signal 9\n");
}

#[test]
fn a_program_without_a_shared_sqlite() {
    let folder = folder();
    let ran = run(folder.path(), "", &["true"]);
    assert_eq!(ran.code, Some(0));
    let line = "flysch: true opened no database; if its SQLite is no shared library, try --fuse\n";
    assert_eq!(ran.stderr, line);
}

#[test]
fn a_device_that_is_full() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let script = "CREATE TABLE t(x); INSERT INTO t SELECT randomblob(9000) FROM \
        generate_series(1, 2000); SELECT count(*) FROM t";
    let options = "--partition-blocks 40";
    let ran = run(folder.path(), options, &[&shell, "a.db", script]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("database or disk is full"), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_no_database() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    fs::write(folder.path().join("a.db"), "this is no database, and long enough to be looked at")
        .expect("a file");
    let ran = run(folder.path(), "", &[&shell, "a.db", "SELECT * FROM t"]);
    assert_ne!(ran.code, Some(0));
    let notice = "a.db is encrypted, or no SQLite database\n";
    assert!(ran.stderr.contains(notice), "{}", ran.stderr);
}

#[test]
fn options_that_make_no_sense() {
    let folder = folder();
    for (options, wanted) in [
        ("--on file/jffs2", "a program brings SQLite"),
        ("--seed 1,2", "a program runs on one machine"),
        ("--partition-blocks 999999", "does not fit on part"),
    ] {
        let ran = run(folder.path(), options, &["true"]);
        assert_eq!(ran.code, Some(2), "{options}");
        assert!(ran.stderr.contains(wanted) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    }
    let complaint = crate::command::complaint_of(folder.path(), "run --format json -- true");
    assert!(complaint.contains("--format json needs --out"), "{complaint}");
}

/// Make a copy of a program with some of its bytes replaced.
fn copied(folder: &Path, from: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(from).expect("a program");
    change(&mut bytes);
    let path = folder.join("program");
    fs::write(&path, bytes).expect("a copy");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
fn a_program_that_the_shim_cannot_be_loaded_into_is_not_started() {
    let folder = folder();
    let refused = |wanted: &str| {
        let ran = run(folder.path(), "", &["./program"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert_eq!(ran.stderr, format!("flysch: ./program {wanted}\n"));
    };
    copied(folder.path(), "/bin/true", |bytes| bytes[18] ^= 0x7F);
    refused("is built for another architecture than the shim: try --fuse");
    copied(folder.path(), "/bin/true", |bytes| {
        let (old, new) = (b"/lib64/ld-linux", b"/lib64/ld-musl-");
        let at = bytes.windows(old.len()).position(|part| part == old).expect("a loader");
        bytes[at..at + new.len()].copy_from_slice(new);
    });
    refused("uses musl, and the shim is built for this system's C library: try --fuse");
    copied(folder.path(), "/bin/true", |_| {});
    let path = folder.path().join("program");
    fs::set_permissions(&path, Permissions::from_mode(0o4755)).expect("a mode");
    refused("is set-user-ID: the loader gives it no shim; try --fuse");
    fs::write(folder.path().join("p.c"), "int main(void) { return 0; }").expect("a source");
    let mut compiler = Command::new("cc");
    let compiler = compiler.current_dir(folder.path()).args(["-static", "p.c", "-o", "program"]);
    if compiler.status().is_ok_and(|status| status.success()) {
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
        let way = "its SQLite is no shared library; with --fuse it runs on a simulated stack too";
        refused(&format!("is linked statically: {way}"));
    }
}

#[test]
fn a_database_that_another_program_writes_to() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    let hold = "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\n\
        c.execute('create table t(x)')\nc.execute('begin exclusive')\nprint('held', flush=True)\n\
        input()";
    let mut holder = Command::new(&python);
    holder.args(["-c", hold]).current_dir(folder.path());
    let mut holder =
        holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python starts");
    let mut line = String::new();
    let output = holder.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let script = "import sqlite3; sqlite3.connect('a.db').execute('select * from t')";
    let ran = run(folder.path(), "", &[&python, "-c", script]);
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    assert_ne!(ran.code, Some(0));
    let notice = "a.db is locked by another program, so it could not be copied\n";
    assert!(ran.stderr.contains(notice), "{}", ran.stderr);
}

/// A program may make a file that flysch is to write. The other files are written all the same.
#[test]
fn a_file_that_the_program_made_is_kept() {
    let folder = folder();
    fs::write(folder.path().join("make"), "echo mine > b").expect("a script");
    let ran = flysch(folder.path(), "run --calls a --trace b --out c -- /bin/sh make");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("flysch: b: exists; --force replaces it\n"), "{}", ran.stderr);
    assert_eq!(names(folder.path()), ["a", "b", "c", "make"]);
    assert_eq!(fs::read(folder.path().join("b")).expect("it stays"), b"mine\n");
}

#[test]
fn two_hundred_databases() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    let script = "
import sqlite3
all = [sqlite3.connect('%d.db' % n) for n in range(200)]
for n, c in enumerate(all):
    c.execute('create table t(x)')
    c.execute('insert into t values(?)', (n,))
    c.commit()
print(sum(c.execute('select x from t').fetchone()[0] for c in all))
";
    let ran = run(folder.path(), "--on sqlite/ubifs", &[&python, "-c", script]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "19900\n"), "{}", ran.stderr);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn ctrl_c_ends_the_program_and_the_report_follows() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    let script = "
import os, signal, sqlite3, time
c = sqlite3.connect('a.db')
c.execute('create table t(x)')
os.kill(os.getppid(), signal.SIGINT)
time.sleep(60)
";
    let ran = run(folder.path(), "", &[&python, "-c", script]);
    assert!(ran.stderr.contains("KeyboardInterrupt"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(128 + 2), "{}", ran.stderr);
    assert_eq!(ran.figures["requests"], 1, "{}", ran.stderr);
}

/// The shim cannot lie on a file system that is mounted noexec. Mounts are made in a namespace of
/// their own, which not every machine allows.
#[test]
fn memory_that_runs_no_code() {
    let Some(shell) = installed("sqlite3") else { return };
    let (folder, flysch) = (folder(), env!("CARGO_BIN_EXE_flysch"));
    let within = |places: &[&str]| {
        let mounts: Vec<String> = places
            .iter()
            .map(|place| format!("mount -t tmpfs -o noexec none {place} && "))
            .collect();
        let line = format!("{}{flysch} run -- {shell} a.db 'CREATE TABLE t(x)'", mounts.concat());
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &line]);
        command.current_dir(folder.path()).env_remove("XDG_RUNTIME_DIR").env_remove("TMPDIR");
        let output = command.output().ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_allowed = !said.contains("unshare: ") && !said.contains("mount: ");
        is_allowed.then_some((output.status.code(), said))
    };
    let Some((code, said)) = within(&["/dev/shm"]) else {
        eprintln!("skipped: mounts are not allowed here");
        return;
    };
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("page programs") && !said.contains("ld.so"), "{said}");
    let Some((code, said)) = within(&["/dev/shm", "/tmp"]) else { return };
    assert_eq!(code, Some(2), "{said}");
    let line = "flysch: cannot serve the program: there is no folder for its library (/dev/shm: it \
        is mounted noexec; /tmp: it is mounted noexec)\n";
    assert_eq!(said, line);
    assert_eq!(names(folder.path()), [""; 0]);
}
