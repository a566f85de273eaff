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
        ran.figures["time_ns"].as_u64().expect("a time")
    };
    let (measured, quiet) = (time(""), time("--pace none"));
    assert!(measured > quiet + 10_000_000, "{measured} and {quiet}");
}
