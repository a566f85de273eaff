//! `flysch crash`: faults that were planted are found, correct programs lose nothing, and a failure
//! is repeated by the command that is printed.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::command::{Finished, complaint_of, flysch};
use crate::run::{folder, installed, names};

/// A log is copied to the database often: each cut recovers a short one, and some hit a checkpoint.
const CORRECT: &str = "
import sqlite3, sys
c = sqlite3.connect('a.db', isolation_level=None)
c.execute('pragma journal_mode=' + sys.argv[1])
c.execute('pragma synchronous=' + sys.argv[2])
c.execute('pragma wal_autocheckpoint=10')
c.execute('create table t(id integer primary key, x text)')
c.execute('create index tx on t(x)')
for i in range(int(sys.argv[3])):
    c.execute('insert into t(x) values(?)', ('%07d' % (i * 7919 % 1000) * 9,))
    if i % 7 == 3: c.execute('update t set x = x || 1 where id % 5 = 2')
";

const TWO: &str = "
import sqlite3
a, b = [sqlite3.connect(n, isolation_level=None) for n in ('a.db', 'b.db')]
for c in (a, b): c.execute('create table t(x)')
for i in range(20):
    a.execute('insert into t values(?)', (i,))
    b.execute('insert into t values(?)', (i,))
";

const AGREE: &str = "
import os, sqlite3
def count(name):
    c = sqlite3.connect(name)
    there = os.path.getsize(name) and c.execute('select count(*) from sqlite_master').fetchone()[0]
    return c.execute('select count(*) from t').fetchone()[0] if there else 0
counts = [count(name) for name in ('a.db', 'b.db')]
assert counts[0] == counts[1], counts
";

fn scripts(folder: &Path) {
    for (name, text) in [("correct.py", CORRECT), ("two.py", TWO), ("agree.py", AGREE)] {
        fs::write(folder.join(name), text).expect("a script");
    }
}

fn findings(folder: &Path) -> Value {
    let text = fs::read(folder.join("findings.json")).expect("findings");
    serde_json::from_slice(&text).expect("JSON")
}

/// Run the command that a run prints for its first finding. It must end the same way.
fn repeat(folder: &Path, ran: &Finished) {
    let line = ran.stderr.lines().find_map(|line| line.strip_prefix("flysch: the first again: "));
    let line = line.unwrap_or_else(|| panic!("a command: {}", ran.stderr));
    let command = line.replacen("flysch", env!("CARGO_BIN_EXE_flysch"), 1);
    let again = Command::new("sh").current_dir(folder).args(["-c", &command]).output();
    let again = again.expect("a shell");
    let said = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(1), "{line}: {said}");
    let found = findings(folder);
    let what = found.pointer("/findings/0/what").and_then(Value::as_str).expect("a finding");
    assert!(said.contains(what), "{line}: {said}");
}

#[test]
fn planted_faults_are_found_and_repeated() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    scripts(folder.path());
    let options = "--partition-blocks 60 --findings=findings.json";
    for line in [
        format!("crash {options} -- {python} correct.py delete off 80"),
        format!(
            "crash {options} --force --on sqlite/ubifs --keep=kept -- {python} two.py --check {python} agree.py"
        ),
    ] {
        let ran = flysch(folder.path(), &line);
        assert_eq!(ran.code, Some(1), "{line}: {}", ran.stderr);
        assert!(ran.stderr.lines().last().is_some_and(|last| last.contains(" did harm")));
        let found = findings(folder.path());
        assert!(found["cuts"].as_u64().is_some_and(|cuts| cuts <= 200), "{found}");
        repeat(folder.path(), &ran);
    }
    let kept = fs::read_dir(folder.path().join("kept")).expect("what was left").next();
    let kept = kept.expect("a failure").expect("a folder").path();
    assert_eq!(names(&kept), ["a.db", "b.db"]);
}

/// A script of as many transactions, each of which changes a table and its index.
fn script(count: u32) -> String {
    let mut text =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);\nCREATE INDEX tx ON t(x);\n".to_owned();
    for number in 0..count {
        let value = number * 7919 % 1000;
        writeln!(text, "INSERT INTO t(x) VALUES('{value:0>60}');").expect("a string");
    }
    text
}

/// A recording and a script are cut without their program, on any stack and in any mode.
#[test]
fn a_recording_and_a_script_are_cut() {
    let folder = folder();
    fs::write(folder.path().join("s.sql"), script(150)).expect("a script");
    let options = "--partition-blocks 60 --findings findings.json --force";
    let off = format!("crash s.sql {options} --synchronous off");
    let harmed = flysch(folder.path(), &off);
    assert_eq!(harmed.code, Some(1), "{}", harmed.stderr);
    repeat(folder.path(), &harmed);
    for (stack, mode) in [("jffs2", "truncate"), ("ubifs", "wal"), ("yaffs2", "persist")] {
        let line = format!(
            "crash s.sql {options} --on sqlite/{stack} --journal-mode {mode} --synchronous full"
        );
        let ran = flysch(folder.path(), &line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        assert!(ran.stderr.ends_with(&format!("on sqlite/{stack}: nothing was lost\n")));
    }
    let Some(python) = installed("python3") else { return };
    scripts(folder.path());
    let record =
        format!("record --on sqlite/ubifs --pace none -- {python} correct.py delete extra 20");
    assert_eq!(flysch(folder.path(), &record).code, Some(0));
    let ran = flysch(folder.path(), &format!("crash flysch.rec {options}"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("on sqlite/ubifs: nothing was lost\n"), "{}", ran.stderr);
    let fails = format!("crash flysch.rec {options} --cuts 5 -- --check /bin/false");
    let ran = flysch(folder.path(), &fails);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("exit status: 1: \n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("it fails where no power was cut"), "{}", ran.stderr);
}

/// A check of an own folder is found from the scratch folder, and so are files that it is given.
/// The name of a database stands for what the cut left, although the program's folder has one too.
#[test]
fn the_words_of_a_check_are_found_from_its_folder() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    fs::write(folder.path().join("s.sql"), script(5)).expect("a script");
    for name in ["wanted.txt", "script.db"] {
        fs::write(folder.path().join(name), "t").expect("a file");
    }
    let check = "import os, sys; wanted = open(sys.argv[1]).read(); assert wanted == 't'; \
                 there = open(sys.argv[2], 'rb').read(16) if os.path.exists(sys.argv[2]) else b''; \
                 assert there in (b'', b'SQLite format 3\\0'), there; assert sys.argv[3] == '.'";
    fs::write(folder.path().join("check.py"), check).expect("a script");
    let line = format!("crash s.sql --cuts 20 -- --check {python} check.py wanted.txt script.db .");
    let ran = flysch(folder.path(), &line);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// A script that asks for a log on JFFS2 is judged by the journal that SQLite kept: with
/// `synchronous` normal, a cut may take more of a log than of a journal.
#[test]
fn a_log_that_was_not_to_be_had_is_told() {
    let folder = folder();
    let text = format!("PRAGMA journal_mode=wal;\n{}", script(3));
    fs::write(folder.path().join("w.sql"), text).expect("a script");
    for command in ["replay", "crash --cuts all --partition-blocks 60"] {
        for (stack, is_told) in [("jffs2", true), ("ubifs", false)] {
            let ran = flysch(folder.path(), &format!("{command} w.sql --on sqlite/{stack}"));
            assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
            let told = ran.stderr.contains("/jffs2 maps no file shared, so that SQLite refused");
            assert_eq!(told, is_told, "{command}: {}", ran.stderr);
        }
    }
}

/// A database of the host is copied in before it is used. No cut goes through that, and what it
/// held has to be there after each.
#[test]
fn a_database_that_was_there_is_not_cut_while_it_is_copied() {
    let folder = folder();
    fs::write(folder.path().join("fill.sql"), script(100)).expect("a script");
    let filled = flysch(folder.path(), "replay fill.sql --keep filled");
    assert_eq!(filled.code, Some(0), "{}", filled.stderr);
    let changes = "UPDATE t SET x = x || 'a' WHERE id % 9 = 1;\nDELETE FROM t WHERE id < 50;\n";
    fs::write(folder.path().join("s.sql"), changes).expect("a script");
    for stack in ["jffs2", "yaffs2", "ubifs", "ftl"] {
        let line = format!(
            "crash s.sql --database filled/script.db --on sqlite/{stack} --partition-blocks 60 \
             --cuts all --findings findings.json --force"
        );
        let ran = flysch(folder.path(), &line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        let found = findings(folder.path());
        let (cuts, changes) = (found["cuts"].as_u64(), found["changes"].as_u64());
        assert!(
            cuts.zip(changes).is_some_and(|(cuts, all)| cuts > 20 && cuts < 3 * all),
            "{found}"
        );
    }
    fs::write(folder.path().join("read.sql"), "SELECT count(*) FROM t;\n").expect("a script");
    let ran = flysch(folder.path(), "crash read.sql --database filled/script.db");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("so no cut was tried"), "{}", ran.stderr);
    let line = "crash s.sql --database filled/script.db --on sqlite/jffs2 --cut 0:torn";
    let line = complaint_of(folder.path(), line);
    assert!(line.contains("change 0 copies a database in"), "{line}");
}

/// A new database in one folder, and then one of another folder that was there.
const FOLDERS: &str = "
import sqlite3
a, b = [sqlite3.connect(n, isolation_level=None) for n in ('new/a.db', 'old/b.db')]
for c in (a, b): c.execute('pragma synchronous=extra')
a.execute('create table t(x)')
for i in range(5):
    for c in (a, b): c.execute('insert into t values(?)', (i,))
";

#[test]
fn databases_of_several_folders_are_told_apart() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    for name in ["new", "old"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    fs::write(folder.path().join("folders.py"), FOLDERS).expect("a script");
    let old = "import sqlite3; c = sqlite3.connect('old/b.db'); c.execute('create table t(x)'); \
               c.execute('insert into t values(77)'); c.commit()";
    let made = Command::new(&python).args(["-c", old]).current_dir(folder.path()).status();
    assert!(made.expect("python starts").success());
    let line = format!(
        "crash --on sqlite/jffs2 --platform nandsim-6.1 --partition-blocks 60 --cuts all -- \
         {python} folders.py"
    );
    let ran = flysch(folder.path(), &line);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

/// Every stack that outlives a power cut, with a mode each.
#[test]
fn correct_programs_lose_nothing_at_any_cut() {
    let Some(python) = installed("python3") else { return };
    for (stack, mode, synchronous, count) in [
        ("jffs2", "delete", "extra", 200),
        ("jffs2+pramfs", "delete", "full", 26),
        ("yaffs2", "truncate", "full", 60),
        ("yaffs2+pramfs", "persist", "full", 30),
        ("ubifs", "wal", "full", 325),
        ("ubifs+pramfs", "delete", "full", 26),
        ("ftl", "wal", "normal", 105),
        ("ftl+pramfs", "truncate", "normal", 26),
    ] {
        let folder = folder();
        scripts(folder.path());
        let program = format!("{python} correct.py {mode} {synchronous} {count}");
        let memory = if stack.contains('+') { "--pram-size 256" } else { "" };
        let options = "--platform nandsim-6.1 --partition-blocks 60 --cuts all";
        let line = format!(
            "crash --on sqlite/{stack} {options} {memory} --findings findings.json -- {program}"
        );
        let ran = flysch(folder.path(), &line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        let found = findings(folder.path());
        assert!(found["changes"].as_u64().is_some_and(|count| count >= 1000), "{line}: {found}");
        assert!(ran.stderr.ends_with("nothing was lost\n"), "{}", ran.stderr);
    }
}

#[test]
fn what_cannot_be_cut_is_said_in_a_line() {
    let folder = folder();
    fs::write(folder.path().join("s.sql"), "CREATE TABLE t(x);\nSELCT 1;\n").expect("a script");
    for (arguments, wanted) in [
        ("crash --on sqlite/tmpfs -- true", "RAM does not outlive a power cut"),
        ("crash --fuse -- true", "--fuse: only what a program asks of SQLite can be cut"),
        (
            "crash -- true --check ./no-such-check",
            "--check ./no-such-check: there is no such program",
        ),
        ("crash -- true --check", "--check: a command is missing"),
        ("crash", "a program is missing"),
        ("crash none.sql", "none.sql: No such file"),
        ("crash s.sql -- true", "s.sql or a program behind --: one of them is cut"),
        ("crash s.sql --on flysch", "what is cut is SQLite"),
        ("crash s.sql --journal-mode wal,delete", "one run is cut, and these options are for 2"),
        ("crash s.sql", "s.sql:2: near \"SELCT\": syntax error"),
        ("crash --journal-mode wal -- true", "--journal-mode is for a recording"),
        ("crash --trace a.trace -- true", "--trace: a run that is cut has no such outcome"),
        ("crash --pace measured -- true", "--pace measured: in a run that is cut, the program's"),
        ("crash --cuts none -- true", "cuts are all, or a number"),
        ("crash --cut 7:ripped -- true", "'7:ripped' is no cut"),
        ("crash --keep . -- true", "findings are kept in a new folder"),
        ("crash --keep /proc/no/such -- true", "/proc/no/such: cannot be made"),
    ] {
        let line = complaint_of(folder.path(), arguments);
        assert!(line.contains(wanted), "{arguments}: {line}");
    }
    let ran = flysch(folder.path(), "crash -- true");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("nothing was changed on the flash, so no cut was tried"),
        "{}",
        ran.stderr
    );
    assert_eq!(names(folder.path()), ["s.sql"]);
}
