//! Python's `sqlite3` module, which loads SQLite for itself alone.

use std::fs;

use super::{folder, installed, output_of};

const TWO_WRITERS: &str = "
import multiprocessing, sqlite3, sys
def work(who):
    c = sqlite3.connect('p.db', timeout=60, isolation_level=None)
    c.execute('create table if not exists t(id integer primary key, who int, x text)')
    for i in range(50):
        c.execute('insert into t(who, x) values(?, ?)', (who, 'row %d' % i))
    c.close()
first = sqlite3.connect('p.db')
print(first.execute('pragma journal_mode=' + sys.argv[1]).fetchone())
work(0)
both = [multiprocessing.Process(target=work, args=(who,)) for who in (1, 2)]
[one.start() for one in both]
[one.join() for one in both]
print(first.execute('select who, count(*) from t group by who').fetchall())
named = sqlite3.connect('file:p.db?vfs=unix-excl', uri=True)
print(named.execute('pragma integrity_check').fetchall(), named.execute('select count(*) from t').fetchall())
";

#[test]
fn two_processes_write_at_once() {
    let Some(python) = installed("python3") else { return };
    for mode in ["delete", "wal"] {
        let folder = folder();
        fs::write(folder.path().join("two.py"), TWO_WRITERS).expect("a script");
        let ran = output_of(folder.path(), "--on sqlite/ubifs", &[&python, "two.py", mode]);
        let wanted = format!("('{mode}',)\n[(0, 50), (1, 50), (2, 50)]\n[('ok',)] [(150,)]\n");
        assert_eq!(ran.stdout, wanted, "{}", ran.stderr);
    }
}

const PROGRAM: &str = "
import sqlite3
seen = []
c = sqlite3.connect('p.db')
c.set_trace_callback(seen.append)
c.execute('create table t(id integer primary key, at text default (datetime()), x blob)')
c.execute('create index tx on t(x)')
for i in range(300):
    c.execute('insert into t(x) values(randomblob(20))')
    if i % 10 == 0: c.commit()
c.commit()
print(c.execute('select count(*), max(at) from t').fetchone(), len(seen), seen[2])
";

#[test]
fn a_program_with_a_trace_of_its_own_runs_the_same_way_twice() {
    let Some(python) = installed("python3") else { return };
    let traces = ["one.csv", "two.csv"].map(|name| {
        let folder = folder();
        fs::write(folder.path().join("p.py"), PROGRAM).expect("a script");
        let options = "--pace none --now 1700000000 --on sqlite/jffs2 --trace p.trace";
        let ran = output_of(folder.path(), options, &[&python, "p.py"]);
        let wanted = "(300, '2023-11-14 22:13:20') 365 BEGIN \n";
        assert_eq!(ran.stdout, wanted, "{name}");
        fs::read(folder.path().join("p.trace")).expect("a trace")
    });
    assert!(traces[0] == traces[1], "the same events");
}

#[test]
fn the_program_s_own_time_passes_unless_it_is_not_to() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    let script = "
import sqlite3
c = sqlite3.connect('p.db', isolation_level=None)
c.execute('create table t(x)')
sum(range(5000000))
c.execute('insert into t values(1)')
";
    let time = |options: &str| -> u64 {
        let ran = output_of(folder.path(), options, &[&python, "-c", script]);
        let settings = ran.figures["parameters"].as_object().expect("parameters");
        assert!(!settings.contains_key("journal-mode"), "the program has its own: {settings:?}");
        ran.figures["time_ns"].as_u64().expect("a time")
    };
    let (measured, quiet) = (time(""), time("--pace none"));
    assert!(measured > quiet + 10_000_000, "{measured} and {quiet}");
}

const TAKING_TURNS: &str = "
import sqlite3
first = sqlite3.connect('p.db', isolation_level=None)
first.execute('create table t(id integer primary key, x text)')
done, locked = 0, 0
for turn in range(20):
    for i in range(4):
        first.execute('insert into t(x) values(?)', ('first %d' % turn,))
    first.execute('begin ' + ('immediate', 'exclusive')[turn % 2])
    second = sqlite3.connect('p.db', isolation_level=None, timeout=0)
    try:
        second.execute('begin immediate')
    except sqlite3.OperationalError as error:
        locked += str(error) == 'database is locked'
    first.execute('insert into t(x) values(?)', ('held %d' % turn,))
    first.execute('rollback' if turn % 3 == 0 else 'commit')
    second.execute('insert into t(x) select x from t where id = 1')
    done += 5 + (turn % 3 != 0)
    assert second.execute('select count(*) from t').fetchone() == (done,), turn
    second.close()
    assert first.execute('select count(*) from t').fetchone() == (done,), turn
print(done, locked, first.execute('pragma integrity_check').fetchone())
";

#[test]
fn a_connection_that_was_alone_shares_its_database() {
    let Some(python) = installed("python3") else { return };
    for stack in ["sqlite/jffs2", "sqlite/tmpfs"] {
        let folder = folder();
        fs::write(folder.path().join("turns.py"), TAKING_TURNS).expect("a script");
        let options = format!("--on {stack}");
        let ran = output_of(folder.path(), &options, &[&python, "turns.py"]);
        assert_eq!(ran.stdout, "113 20 ('ok',)\n", "{}", ran.stderr);
    }
}

/// Each commit is one more row. What was acknowledged is there, and no more.
const UNTIL_FULL: &str = "
import sqlite3, sys
c = sqlite3.connect('p.db', isolation_level=None)
c.execute('pragma journal_mode=' + sys.argv[1])
c.execute('create table t(id integer primary key, x blob)')
done = 0
try:
    while done < 4000:
        c.execute('insert into t(x) values(randomblob(12000))')
        done += 1
except sqlite3.OperationalError as error:
    print(error)
c.close()
c = sqlite3.connect('p.db')
print(done > 100, c.execute('select count(*) from t').fetchone()[0] - done)
";

#[test]
fn a_commit_on_a_device_that_gets_full_is_acknowledged_if_it_was_made() {
    let Some(python) = installed("python3") else { return };
    for (stack, mode) in [
        ("sqlite/jffs2", "delete"),
        ("sqlite/yaffs2", "truncate"),
        ("sqlite/ubifs", "wal"),
        ("sqlite/ftl", "delete"),
    ] {
        let folder = folder();
        fs::write(folder.path().join("full.py"), UNTIL_FULL).expect("a script");
        // A full JFFS2 may refuse the rollback, too: it does on 160 and on 170 blocks. With the
        // program's own time left out the run is always the same one.
        let options = format!("--on {stack} --partition-blocks 164 --pace none --now 1700000000");
        let ran = output_of(folder.path(), &options, &[&python, "full.py", mode]);
        let wanted = "database or disk is full\nTrue 0\n";
        assert_eq!(ran.stdout, wanted, "{stack} {mode}: {}", ran.stderr);
    }
}
