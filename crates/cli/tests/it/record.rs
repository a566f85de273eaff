//! `flysch record` and `flysch replay`, with programs that nobody here wrote.

use std::fs;
use std::path::Path;
use std::process::Command;

use flysch_chip::Trace;
use flysch_lab::trace::load;
use serde_json::Value;

use crate::command::{complaint_of, flysch, output_of};
use crate::run::programs::{APPLICATION, IN_C, has_module};
use crate::run::{folder, installed, names, native};

/// The library that Debian's programs use.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";

/// Values that a text would round, in a program that is one of two.
const PYTHON: &str = "
import sqlite3
c = sqlite3.connect('p.db')
c.execute('create table t(id integer primary key, at text default (datetime()), x, y)')
for n in range(200):
    value = [n / 7, 'caf\\u00e9' * n, bytes([n % 256, 0, 255]), None, 2 ** 62 + n][n % 5]
    c.execute('insert into t(x, y) values(?, randomblob(20))', (value,))
    if n % 10 == 0: c.commit()
rows = c.execute('select x from t')
rows.fetchone()
c.execute('update t set x = 0 where id = 7')
c.commit()
c.executescript('create index tx on t(x); delete from t where id > 150;')
print(c.execute('select count(*) from t').fetchone())
";

/// Record a program, replay it with the host's library, and compare the events.
fn check(folder: &Path, options: &str, program: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flysch"));
    let options = format!("{options} --pace none --now 1700000000 --trace run.trace");
    command.current_dir(folder).args(["record", "--to", "run.rec"]);
    command.args(options.split_whitespace()).arg("--").args(program);
    let recorded = command.output().expect("the command starts");
    let said = String::from_utf8_lossy(&recorded.stderr);
    assert!(recorded.status.success(), "{program:?}: {said}");
    assert!(said.contains(" calls of SQLite 3.") && !said.contains("cannot repeat"), "{said}");
    let line = format!("replay run.rec --sqlite {LIBRARY} --pace none --trace again.trace");
    let replayed = flysch(folder, &line);
    assert_eq!(replayed.code, Some(0), "{program:?}: {}", replayed.stderr);
    assert!(replayed.stderr.starts_with("flysch: 0 of "), "{program:?}: {}", replayed.stderr);
    assert!(replayed.stderr.contains("made by the same SQLite"), "{}", replayed.stderr);
    let of =
        |name: &str| Trace { origin: String::new(), ..load(&folder.join(name)).expect("a trace") };
    assert!(of("run.trace") == of("again.trace"), "{program:?}: the same events");
    let bundled = flysch(folder, "replay run.rec --differences differences.csv");
    assert_eq!(bundled.code, Some(0), "{program:?}: {}", bundled.stderr);
    assert!(bundled.stderr.contains("made by flysch's own SQLite"), "{}", bundled.stderr);
    let listed = fs::read_to_string(folder.join("differences.csv")).expect("differences");
    assert!(listed.starts_with("call,what,recorded_code,code,"), "{listed}");
    let count: usize = bundled.stderr["flysch: ".len()..]
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .expect("a count");
    assert_eq!(csv_rows(&listed), count, "each difference is listed: {listed}");
}

fn csv_rows(text: &str) -> usize {
    text.lines().skip(1).filter(|line| line.split(',').count() >= 6).count()
}

#[test]
fn programs_of_others_are_replayed_event_by_event() {
    if !Path::new(LIBRARY).is_file() {
        return;
    }
    if let Some(shell) = installed("sqlite3") {
        let folder = folder();
        let script = "CREATE TABLE t(a, b); CREATE INDEX ta ON t(a); INSERT INTO t \
            VALUES(random(), datetime()), (7, 'it''s'); BEGIN; UPDATE t SET b = randomblob(900); \
            ROLLBACK; VACUUM; SELECT count(*) FROM t; SELECT nonsense";
        check(
            folder.path(),
            "--on sqlite/jffs2",
            &["sh", "-c", &format!("{shell} a.db \"{script}\" || true")],
        );
        let twice = format!(
            "{shell} w.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(7)' && \
             {shell} w.db 'INSERT INTO t VALUES(randomblob(100)); SELECT * FROM t'"
        );
        check(self::folder().path(), "--on sqlite/ubifs", &["sh", "-c", &twice]);
    }
    if let Some(python) = installed("python3") {
        let folder = folder();
        fs::write(folder.path().join("p.py"), PYTHON).expect("a script");
        check(folder.path(), "--on sqlite/yaffs2", &[&python, "p.py"]);
        if has_module("sqlalchemy") && has_module("alembic") {
            fs::remove_file(folder.path().join("run.rec")).expect("a recording");
            let folder = self::folder();
            fs::write(folder.path().join("app.py"), APPLICATION).expect("a script");
            check(folder.path(), "--on sqlite/ubifs", &[&python, "app.py"]);
        }
    }
    if let Some(php) = installed("php") {
        let script = "$d = new PDO('sqlite:a.db'); $d->exec('create table t(x)'); \
            $s = $d->prepare('insert into t values(?)'); \
            for ($i = 0; $i < 30; $i++) $s->execute([$i * 1.1]);";
        check(folder().path(), "--on sqlite/ftl", &[&php, "-r", script]);
    }
    if Path::new("/usr/include/sqlite3.h").is_file() {
        let folder = folder();
        fs::write(folder.path().join("p.c"), IN_C).expect("a source");
        let mut compiler = Command::new("cc");
        let compiler = compiler.current_dir(folder.path()).args(["p.c", "-o", "p", "-lsqlite3"]);
        assert!(compiler.status().expect("a C compiler").success());
        check(folder.path(), "--on sqlite/jffs2", &["./p", "b.db"]);
    }
}

#[test]
fn what_a_replay_cannot_repeat_is_named() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    let script = "
import sqlite3
c = sqlite3.connect('a.db')
c.create_function('twice', 1, lambda x: x * 2)
c.create_function('unused', 1, lambda x: x)
c.execute('create table t(x)')
c.execute('insert into t values(twice(7))')
c.commit()
c.backup(sqlite3.connect('b.db'))
";
    fs::write(folder.path().join("a.py"), script).expect("a script");
    let recorded = flysch(folder.path(), &format!("record --to a.rec -- {python} a.py"));
    let wanted = "flysch: a replay cannot repeat: backup main, function twice\n";
    assert!(recorded.stderr.contains(wanted), "{}", recorded.stderr);
    let replayed = flysch(folder.path(), "replay a.rec");
    let wanted = "insert into t values(twice(7)): it ended with 1, and with 0 when recorded";
    assert!(replayed.stderr.contains(wanted), "{}", replayed.stderr);
}

#[test]
fn a_script_runs_on_many_stacks_and_settings() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    native(folder.path(), &[&shell, "my.db", "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2)"]);
    let before = fs::read(folder.path().join("my.db")).expect("a database");
    let script = "-- more; of it\nINSERT INTO t SELECT a + 1, 'x;' FROM t;\nPRAGMA synchronous=OFF;\n\
        CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET b = 0; END;\nINSERT INTO t VALUES(9, 9)";
    fs::write(folder.path().join("s.sql"), script).expect("a script");
    let line = "replay s.sql --database my.db --on sqlite/jffs2,sqlite/ubifs \
        --journal-mode delete,truncate --synchronous full,off --page-size 4096 --cache-size 100 \
        --format json";
    let runs: Value = serde_json::from_str(&output_of(folder.path(), line)).expect("JSON");
    let runs = runs.as_array().expect("runs");
    assert_eq!(runs.len(), 8);
    for pair in runs.chunks(2) {
        assert_eq!(pair[0]["parameters"]["synchronous"], "full");
        let of = |run: &Value| run["page_programs"].as_u64().expect("a count");
        assert!(of(&pair[0]) > of(&pair[1]), "a PRAGMA of the script does not undo the setting");
    }
    assert_eq!(fs::read(folder.path().join("my.db")).expect("a database"), before);
    assert_eq!(names(folder.path()), ["my.db", "s.sql"]);
    let csv = output_of(
        folder.path(),
        "replay s.sql --database my.db --journal-mode wal --on sqlite/ubifs --format csv",
    );
    assert!(csv.starts_with("workload,on,") && csv.contains("s.sql,sqlite/ubifs,"), "{csv}");
    for by in ["", "--sqlite /usr/lib/x86_64-linux-gnu/libsqlite3.so.0"] {
        let kept = format!("kept{}", by.len());
        let line = format!("replay s.sql --database my.db --keep {kept} {by}");
        let ran = flysch(folder.path(), &line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        let rows =
            native(folder.path(), &[&shell, &format!("{kept}/script.db"), "SELECT a, b FROM t"]);
        assert_eq!(rows, "1|0\n2|0\n9|0\n", "{line}");
    }
    let line = "replay s.sql --database my.db --journal-mode wal --on sqlite/jffs2,sqlite/ubifs";
    let ran = flysch(folder.path(), line);
    let refused = "the journal mode wal is refused: the file system maps no file shared";
    assert!(ran.code == Some(0) && ran.stderr.contains(refused), "{}", ran.stderr);
    assert!(ran.stdout.contains("ubifs") && !ran.stdout.contains("jffs2"), "{}", ran.stdout);
    let line = complaint_of(folder.path(), "crash s.sql --database my.db --journal-mode wal");
    assert!(line.contains(refused), "{line}");
    let line = complaint_of(folder.path(), "replay s.sql --keep kept0");
    assert!(line.contains("kept0: exists; databases are kept in a new folder"), "{line}");
    let line = complaint_of(folder.path(), "replay s.sql --keep new --seed 1,2");
    assert!(line.contains("are for one run, and these are 2"), "{line}");
}

#[test]
fn a_database_that_has_changed_since_is_not_taken() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    native(folder.path(), &[&shell, "a.db", "CREATE TABLE t(x)"]);
    fs::copy(folder.path().join("a.db"), folder.path().join("old.db")).expect("a copy");
    fs::write(folder.path().join("add"), "INSERT INTO t VALUES(7);").expect("a script");
    let recorded = flysch(folder.path(), &format!("record -- {shell} -init add a.db .quit"));
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    assert!(flysch(folder.path(), "replay flysch.rec --pace none").stderr.contains("calls differ"));
    native(folder.path(), &[&shell, "a.db", "INSERT INTO t VALUES(8)"]);
    let line = complaint_of(folder.path(), "replay flysch.rec");
    assert!(line.contains("a.db: it has changed since; --database gives the file"), "{line}");
    assert_eq!(flysch(folder.path(), "replay flysch.rec --database old.db").code, Some(0));
    let again = complaint_of(folder.path(), &format!("record -- {shell} a.db .quit"));
    assert_eq!(again, "flysch: flysch.rec: exists; --force replaces it");
}

#[test]
fn what_is_no_recording_is_refused_in_a_line() {
    let folder = folder();
    let Some(shell) = installed("sqlite3") else { return };
    fs::write(folder.path().join("s"), "CREATE TABLE t(x); INSERT INTO t VALUES(1);").expect("SQL");
    let recorded =
        flysch(folder.path(), &format!("record --to a.rec -- {shell} -init s a.db .quit"));
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let whole = fs::read_to_string(folder.path().join("a.rec")).expect("a recording");
    let lines = |count: usize| whole.split_inclusive('\n').take(count).collect::<String>();
    let mut script = "SELECT 1;\n".repeat(899);
    script.push_str("SELCT 2;\n");
    for (name, content, wanted) in [
        ("a.rec", lines(3), "the recording is cut short after 2 calls"),
        ("a.rec", whole[..whole.len() - 60].to_owned(), "the recording is cut short in line"),
        ("a.rec", whole[..40].to_owned(), "the recording is cut short in line 1"),
        (
            "a.rec",
            whole.replacen("\"flysch_recording\":1", "\"flysch_recording\":2", 1),
            "a recording of version 2; this program reads version 1",
        ),
        (
            "a.rec",
            whole.replacen("VALUES(1)", "VALUES(2)", 1),
            "its checksum is that of other calls",
        ),
        ("a.rec", "nonsense".to_owned(), "it is no recording of flysch"),
        ("e.sql", script, "e.sql:900: near \"SELCT\": syntax error"),
        (
            "e.sql",
            "SELECT 1;\n.mode csv\n".to_owned(),
            "line 2: .mode is a command of the shell, no SQL",
        ),
        ("e.sql", "\0".to_owned(), "it is neither a recording nor SQL"),
    ] {
        fs::write(folder.path().join(name), content).expect("a file");
        let line = complaint_of(folder.path(), &format!("replay {name} --out figures.csv"));
        assert!(line.contains(wanted) && line.contains(name), "{wanted}: {line}");
    }
    for (options, wanted) in [
        ("replay none.rec", "none.rec: No such file"),
        ("replay e.sql --on file/jffs2", "a recording is of SQLite"),
        ("replay e.sql --force --trace a --out a", "two outputs cannot go to one file"),
        ("replay e.sql --budget a --update --out a", "two outputs cannot go to one file"),
        ("replay e.sql --keep /proc/no/such", "/proc/no/such: cannot be made"),
        ("replay e.sql --differences d.csv", "--differences is for recordings"),
        ("replay e.sql --sort nothing --format json", "unknown figure 'nothing'"),
        ("replay e.sql --keep a --out ./a", "two outputs cannot go to one file"),
        ("record --fuse -- true", "cannot be recorded"),
        ("play no-such-library", "no-such-library"),
    ] {
        fs::write(folder.path().join("e.sql"), "SELECT 1").expect("a file");
        let line = complaint_of(folder.path(), options);
        assert!(line.contains(wanted), "{options}: {line}");
    }
    let line = complaint_of(folder.path(), "replay e.sql --sqlite ./no-such-library.so");
    assert!(line.contains("no-such-library.so"), "{line}");
    assert_eq!(names(folder.path()), ["a.rec", "e.sql", "s"]);
}
