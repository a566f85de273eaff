//! What SQLite asks of the file system on a machine, beside what it asks of the real kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{folder, installed, output_of};

/// A program that commits in several ways, whose files have the same content each time.
const PROGRAM: &str = "
import sqlite3, sys
c = sqlite3.connect('p.db', isolation_level=None)
print(c.execute('pragma journal_mode=' + sys.argv[1]).fetchone())
c.execute('pragma synchronous=' + sys.argv[2])
c.execute('create table t(id integer primary key, x text)')
c.execute('create index tx on t(x)')
for i in range(60):
    c.execute('insert into t(x) values(?)', ('%07d' % (i * 7919 % 1000) * 30,))
c.execute('begin')
c.execute('update t set x = x || x where id % 3 = 0')
c.execute('delete from t where id % 5 = 0')
c.execute('commit')
c.execute('begin')
c.execute('delete from t')
c.execute('rollback')
c.execute('pragma cache_size=5')
c.execute('insert into t(x) select x || id from t')
c.execute('drop index tx')
c.execute('vacuum')
print(c.execute('select count(*), sum(length(x)) from t').fetchone())
";

/// Calls of each file in order: `write OFFSET LENGTH`, `truncate SIZE`, `sync`.
type Calls = BTreeMap<String, Vec<String>>;

/// Run a program on a machine and natively, and compare the calls.
pub(super) fn compare(folder: &Path, options: &str, program: &[&str]) {
    let Some(strace) = installed("strace") else { return };
    let options = format!("{options} --calls calls");
    let ran = output_of(folder, &options, program);
    let simulated = simulated(&fs::read_to_string(folder.join("calls")).expect("calls"));
    let (output, real) = native(folder, &strace, program);
    assert_eq!(ran.stdout, output, "{options} {program:?}");
    for (file, calls) in &real {
        let others = simulated.get(file).map_or(&[][..], Vec::as_slice);
        let differs = calls.iter().zip(others).position(|(one, other)| one != other);
        assert_eq!(calls, others, "{options} {program:?}: {file}, at {differs:?}");
    }
    let count = real.values().map(Vec::len).sum::<usize>();
    assert!(count > 60, "{program:?}: too few calls");
}

#[test]
fn files_are_written_truncated_and_synced_as_natively() {
    let Some(python) = installed("python3") else { return };
    for (stack, mode, synchronous) in [
        ("ubifs", "delete", "full"),
        ("yaffs2", "delete", "normal"),
        ("ftl", "truncate", "extra"),
        ("yaffs2", "truncate", "full"),
        ("jffs2", "persist", "extra"),
        ("ubifs", "wal", "full"),
        ("yaffs2", "wal", "full"),
        ("ftl", "wal", "normal"),
        ("tmpfs", "memory", "off"),
    ] {
        let folder = folder();
        fs::write(folder.path().join("p.py"), PROGRAM).expect("a script");
        let program = [python.as_str(), "p.py", mode, synchronous];
        compare(folder.path(), &format!("--on sqlite/{stack}"), &program);
    }
}

const SCRIPT: &str = "PRAGMA journal_mode=PERSIST; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); \
    CREATE INDEX tb ON t(b); INSERT INTO t(b) SELECT hex(value) FROM generate_series(1, 3000); \
    BEGIN; UPDATE t SET b = b || 'x' WHERE a % 7 = 0; SAVEPOINT s; DELETE FROM t WHERE a % 3 = 0; \
    ROLLBACK TO s; COMMIT; DELETE FROM t WHERE a > 100; VACUUM; SELECT count(*), max(b) FROM t";

#[test]
fn the_shell_writes_as_natively_on_every_stack() {
    let Some(shell) = installed("sqlite3") else { return };
    for stack in ["sqlite/jffs2", "sqlite/yaffs2", "sqlite/ubifs", "sqlite/ftl", "sqlite/tmpfs"] {
        let folder = folder();
        compare(folder.path(), &format!("--on {stack}"), &[&shell, "p.db", SCRIPT]);
    }
}

fn simulated(text: &str) -> Calls {
    let mut calls = Calls::new();
    for line in text.lines() {
        let (what, rest) = line.split_once(' ').expect("a call and its file");
        let (file, numbers) = rest.split_once(' ').unwrap_or((rest, ""));
        let call = format!("{what} {numbers}").trim_end().to_owned();
        calls.entry(file.to_owned()).or_default().push(call);
    }
    calls
}

/// Run a program natively under strace.
fn native(folder: &Path, strace: &str, program: &[&str]) -> (String, Calls) {
    let mut command = Command::new(strace);
    command.current_dir(folder).args(["-f", "-y", "-o", "native"]);
    command.args(["-e", "trace=pwrite64,write,ftruncate,fsync,fdatasync", "--"]).args(program);
    let output = command.output().expect("strace starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(folder.join("native")).expect("what strace saw");
    let mut calls = Calls::new();
    for line in text.lines() {
        let Some((file, call)) = call_of(line) else { continue };
        calls.entry(file).or_default().push(call);
    }
    (String::from_utf8(output.stdout).expect("text"), calls)
}

/// A call of a file of the database in a line of strace:
/// `1234 pwrite64(3</tmp/p.db>, "..."..., 4096, 8192) = 4096`.
fn call_of(line: &str) -> Option<(String, String)> {
    let line = line.split_once(' ')?.1.trim_start();
    let (name, rest) = line.split_once('(')?;
    let (path, rest) = rest.split_once('<')?.1.split_once('>')?;
    let file = Path::new(path).file_name()?.to_str()?.to_owned();
    if ![".db", ".db-journal", ".db-wal"].iter().any(|end| file.ends_with(end)) {
        return None;
    }
    let arguments = rest.rsplit_once(')')?.0;
    let mut last = arguments.rsplit(", ");
    let call = match name {
        "pwrite64" => {
            let (offset, len) = (last.next()?, last.next()?);
            format!("write {offset} {len}")
        }
        "ftruncate" => format!("truncate {}", last.next()?),
        "fsync" | "fdatasync" => "sync".to_owned(),
        other => panic!("{other} on {path}"),
    };
    Some((file, call))
}
