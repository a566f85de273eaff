//! Programs whose connections are alone on a database, so that they need not ask, until somebody
//! else comes or something fails.

use super::{folder, installed, names, run};

/// Run a Python script, and expect success and this output.
fn prints(options: &str, script: &str, wanted: &str) {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    let ran = run(folder.path(), options, &[&python, "-c", script]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), wanted), "{}", ran.stderr);
}

/// More files than there are words for leases: another file has the word in which the first kept
/// its lock when another process changed that file.
#[test]
fn a_word_that_another_file_has() {
    let script = "
import sqlite3, subprocess, sys, threading
def within(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
def use(name):
    c = sqlite3.connect(name, check_same_thread=False)
    c.execute('select count(*) from sqlite_master').fetchone()
    return c
x = sqlite3.connect('x.db')
x.execute('create table t(a)')
x.commit()
for n in range(3):
    x.execute('select * from t').fetchall()
other = \"import sqlite3; c = sqlite3.connect('x.db'); c.execute('insert into t values (1)'); c.commit()\"
subprocess.run([sys.executable, '-c', other], check=True)
kept = []
within(lambda: kept.extend(use('%d.db' % n) for n in range(300)))
print(x.execute('select * from t').fetchall())
";
    prints("", script, "[(1,)]\n");
}

/// A program that writes all the time without waiting does not keep others out.
#[test]
fn an_endless_writer_and_another_process() {
    let script = "
import os, sqlite3, subprocess, sys, threading
other = \"import sqlite3; c = sqlite3.connect('b.db'); c.execute('create table t(a)'); print('in', flush=True)\"
ends = threading.Event()
def write():
    c = sqlite3.connect('a.db', isolation_level=None)
    c.execute('create table t(a)')
    while not ends.is_set():
        c.execute('begin')
        c.executemany('insert into t values(zeroblob(?))', [(900,)] * 200)
        c.execute('commit')
        c.execute('delete from t')
writer = threading.Thread(target=write)
writer.start()
try:
    subprocess.run([sys.executable, '-c', other], check=True, timeout=30)
finally:
    ends.set()
    writer.join()
";
    prints("--on sqlite/tmpfs", script, "in\n");
}

/// Two threads write to two databases until the device is full. What a commit said to be there is
/// there. It takes room to undo the last transactions (docs/stacks.md). A third one makes some, as
/// its journal is deleted.
#[test]
fn two_databases_on_a_device_that_gets_full() {
    let script = "
import sqlite3, threading
kept = sqlite3.connect('kept.db', isolation_level=None)
kept.executescript('pragma journal_mode = persist; create table t(a)')
kept.execute('insert into t values (zeroblob(900000))')
kept.execute('update t set a = randomblob(900000)')
sums, failures = {}, []
def work(name):
    c = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
    c.execute('pragma cache_size = 5')
    n = 0
    while len(failures) < 20:
        try:
            c.execute('begin immediate')
            if n == 0:
                c.execute('create table t(a integer primary key, b)')
            c.executemany('insert into t values(?, randomblob(3000))', [(n + i,) for i in range(5)])
            c.execute('insert into t select a + 5, b from t where a >= ?', (n,))
            c.execute('commit')
            n += 10
        except sqlite3.OperationalError as error:
            failures.append(str(error))
            if c.in_transaction:
                try:
                    c.execute('commit')
                    n = c.execute('select count(*) from t').fetchone()[0]
                except sqlite3.OperationalError:
                    if c.in_transaction:
                        c.execute('rollback')
    sums[name] = n, c
all = [threading.Thread(target=work, args=(name,)) for name in ('a.db', 'b.db')]
[one.start() for one in all]
[one.join() for one in all]
kept.execute('pragma journal_mode = delete')
for name, (n, c) in sorted(sums.items()):
    found = c.execute('select count(*) from t').fetchone()[0]
    print(name, found == n, c.execute('pragma integrity_check').fetchone()[0])
";
    for options in
        ["--on sqlite/ubifs --partition-blocks 80", "--on sqlite/yaffs2 --partition-blocks 60"]
    {
        prints(options, script, "a.db True ok\nb.db True ok\n");
    }
}

/// A failure that the program does not come to know makes the run fail, and nothing is written
/// back. The journal's name is too long for the file system. The machine comes to that journal only
/// after it has written the large row of another database. By then the program has left.
#[test]
fn a_failure_that_nobody_came_to_know() {
    let Some(python) = installed("python3") else { return };
    let script = "
import os, sqlite3, sys
large = sqlite3.connect('large', isolation_level=None)
large.executescript('pragma journal_mode = off; pragma synchronous = off; create table t(a)')
c = sqlite3.connect('a' * 250, isolation_level=None)
c.execute('pragma journal_mode = off')
c.execute('create table t(a)')
c.execute('pragma journal_mode = delete')
def occupy():
    large.execute('insert into t values (zeroblob(900000))')
c.create_function('occupy', 0, occupy)
c.create_function('leave', 0, lambda: os._exit(int(sys.argv[1])))
c.execute('insert into t values (occupy()), (leave())')
";
    for (own, wanted) in [("0", 2), ("7", 7)] {
        let folder = folder();
        let options = "--on sqlite/yaffs2 --write-back";
        // A machine that is quick tells the program before it leaves. Then it is tried again.
        let mut tries = (0..20).map(|_| run(folder.path(), options, &[&python, "-c", script, own]));
        let ran = tries.find(|ran| !ran.stderr.contains("unable to open")).expect("one of 20");
        assert_eq!(ran.code, Some(wanted), "{}", ran.stderr);
        assert!(ran.stderr.contains("ended before it was told"), "{}", ran.stderr);
        assert_eq!(names(folder.path()), [""; 0]);
    }
}
