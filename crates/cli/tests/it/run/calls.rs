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

#[test]
fn files_are_written_truncated_and_synced_as_natively() {
    let (Some(python), Some(strace)) = (installed("python3"), installed("strace")) else { return };
    for (mode, synchronous) in [
        ("delete", "full"),
        ("truncate", "full"),
        ("persist", "extra"),
        ("wal", "full"),
        ("wal", "normal"),
        ("memory", "off"),
    ] {
        let folder = folder();
        fs::write(folder.path().join("p.py"), PROGRAM).expect("a script");
        let program = [python.as_str(), "p.py", mode, synchronous];
        let options = "--on sqlite/ubifs --calls calls";
        let ran = output_of(folder.path(), options, &program);
        let simulated = simulated(&fs::read_to_string(folder.path().join("calls")).expect("calls"));
        let (output, real) = native(folder.path(), &strace, &program);
        assert_eq!(ran.stdout, output, "{mode}");
        for (file, calls) in &real {
            let others = simulated.get(file).map_or(&[][..], Vec::as_slice);
            let differs = calls.iter().zip(others).position(|(one, other)| one != other);
            assert_eq!(calls, others, "{mode} {synchronous}: {file}, at {differs:?}");
        }
        assert!(real.values().map(Vec::len).sum::<usize>() > 100, "{mode}: too few calls");
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
    if !["p.db", "p.db-journal", "p.db-wal"].contains(&file.as_str()) {
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
