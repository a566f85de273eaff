//! Whom the operations are for: sums, a planted index, and the tables of a trace.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Ran, folder, installed, output_of};
use crate::command;

const PLANTED: &str = "
import random, sqlite3, sys
random.seed(5)
c = sqlite3.connect('m.db', isolation_level=None)
c.execute('pragma journal_mode=' + sys.argv[2])
c.execute('create table m(id integer primary key, sensor int, tag text, value real)')
if sys.argv[1] == 'with': c.execute('create index m_tag on m(tag)')
rows = int(sys.argv[3])
for i in range(2000 // rows if rows > 1 else 300):
    c.execute('begin')
    for j in range(rows):
        row = (j, '%032x' % random.getrandbits(128), i * 1.5)
        c.execute('insert into m(sensor, tag, value) values(?, ?, ?)', row)
    c.execute('commit')
c.execute('create table log(x)')
for i in range(20): c.execute('insert into log values(%d)' % i)
";

/// The counts that every list must sum up to.
const COUNTS: [&str; 5] =
    ["page_reads", "page_programs", "block_erases", "oob_reads", "oob_programs"];

/// Assert that statements, tables and causes each sum up to the whole.
pub(super) fn check_sums(run: &Value, name: &str) {
    for count in COUNTS {
        let of = |list: &str, pointer: &str| -> u64 {
            let rows = run[list].as_array().unwrap_or_else(|| panic!("{name} has {list}"));
            rows.iter().map(|row| row.pointer(pointer).and_then(Value::as_u64).expect(count)).sum()
        };
        let causes = run["by_cause"].as_object().expect("causes");
        let by_cause: u64 = causes.values().map(|row| row[count].as_u64().expect(count)).sum();
        let plain = format!("/{count}");
        let whole = run[count].as_u64().expect(count);
        assert_eq!(of("by_table", &plain), whole, "{name}: {count} by table");
        assert_eq!(of("by_statement", &plain), whole, "{name}: {count} by statement");
        let with_commit = of("by_statement", &format!("/with_commit/{count}"));
        assert_eq!(with_commit, whole, "{name}: {count} with commit");
        assert_eq!(by_cause, whole, "{name}: {count} by cause");
    }
}

/// Run the planted program with transactions of so many rows.
fn planted(folder: &Path, stack: &str, with: [&str; 3]) -> Option<Ran> {
    let python = installed("python3")?;
    fs::write(folder.join("m.py"), PLANTED).expect("a script");
    let options = format!("--on {stack} --pace none --now 1 --trace m.trace");
    let [index, mode, rows] = with;
    Some(output_of(folder, &options, &[&python, "m.py", index, mode, rows]))
}

fn programs(run: &Value) -> i64 {
    run["page_programs"].as_i64().expect("a count")
}

/// The programs of which the sentence says that they may stay.
fn stays(sentence: &str) -> i64 {
    let parts = sentence.split("; without it").skip(1);
    let words = parts.flat_map(|part| part.split(' '));
    words.filter_map(|word| word.parse::<i64>().ok()).sum()
}

/// How much the sentence promises.
#[derive(Clone, Copy)]
enum Promise {
    /// What the index costs falls away, within 10 %.
    All,
    /// That, but about what the sentence says to stay.
    But,
    /// At least that, but what the sentence says to stay.
    AtLeast,
}

#[test]
fn an_index_too_many_is_named_and_its_cost_goes_with_it() {
    use Promise::{All, AtLeast, But};
    for (stack, mode, rows, promise) in [
        ("sqlite/jffs2", "delete", "10", All),
        ("sqlite/yaffs2", "delete", "10", All),
        ("sqlite/yaffs2", "wal", "10", All),
        ("sqlite/ubifs", "delete", "10", All),
        ("sqlite/ubifs", "wal", "10", All),
        ("sqlite/ftl", "delete", "10", All),
        ("sqlite/ftl", "wal", "10", AtLeast),
        ("sqlite/ubifs+pramfs", "delete", "10", All),
        ("sqlite/jffs2", "delete", "1", All),
        ("sqlite/ubifs", "delete", "1", But),
        ("sqlite/ubifs", "truncate", "1", But),
        ("sqlite/yaffs2", "delete", "1", AtLeast),
        ("sqlite/ftl", "delete", "1", AtLeast),
    ] {
        let (folder, name) = (folder(), format!("{stack} {mode} {rows}"));
        let with = |index| planted(folder.path(), stack, [index, mode, rows]);
        let Some(without) = with("without") else { return };
        let Some(with) = with("with") else { return };
        check_sums(&with.figures, &name);
        check_sums(&without.figures, &name);
        let first = with.stderr.lines().next().expect("a summary");
        assert!(first.starts_with("flysch: index m_tag of table m costs "), "{name}: {first}");
        let tables = with.figures["by_table"].as_array().expect("tables");
        let index = tables.iter().find(|row| row["name"] == "m_tag").expect("the index");
        let (said, all) = (programs(index), programs(&with.figures));
        let fell = all - programs(&without.figures);
        let (off, stays) = (said - fell, stays(first));
        let is_kept = match promise {
            All => off.abs() * 10 <= fell,
            But => stays > 0 && (off - stays).abs() * 10 <= fell,
            AtLeast => off.abs() <= stays,
        };
        assert!(is_kept, "{name}: {said} said, {fell} fell: {first}");
    }
}

#[test]
fn a_commit_is_for_the_statements_of_its_transaction() {
    let folder = folder();
    let Some(ran) = planted(folder.path(), "sqlite/ubifs", ["with", "delete", "10"]) else {
        return;
    };
    let rows = ran.figures["by_statement"].as_array().expect("statements");
    let row = |text: &str| rows.iter().find(|row| row["statement"] == text).expect(text);
    let commit = row("commit");
    assert_eq!(commit["executions"], 200);
    assert!(programs(commit) > 1000, "{commit}");
    assert_eq!(commit["with_commit"]["page_programs"], 0);
    let insert = row("insert into m (sensor, tag, value) values (?, ...)");
    assert_eq!(insert["executions"], 2000);
    let paid = insert["with_commit"]["page_programs"].as_i64().expect("a count");
    assert_eq!(paid, programs(insert) + programs(commit));
    let log = row("insert into log values (?)");
    assert_eq!(
        (&log["executions"], &log["with_commit"]["page_programs"]),
        (&20.into(), &log["page_programs"])
    );
}

#[test]
fn the_trace_of_a_run_tells_the_same() {
    let folder = folder();
    let Some(ran) = planted(folder.path(), "sqlite/jffs2", ["with", "delete", "10"]) else {
        return;
    };
    let json = |what: &str| -> Value {
        let text =
            command::output_of(folder.path(), &format!("trace m.trace {what} --format json"));
        serde_json::from_str(&text).expect("JSON")
    };
    assert_eq!(json("tables"), ran.figures["by_table"]);
    assert_eq!(json("statements"), ran.figures["by_statement"]);
    let stacks = command::output_of(folder.path(), "trace m.trace export --format folded");
    assert!(stacks.contains("commit;journal;"), "{stacks}");
    let of_line = |line: &str| line.rsplit_once(' ').and_then(|(_, ns)| ns.parse::<u64>().ok());
    let sum: Option<u64> = stacks.lines().map(of_line).sum();
    let busy = json("causes");
    assert_eq!(sum, busy.pointer("/all/time_ns").and_then(Value::as_u64));
    let chrome = command::output_of(folder.path(), "trace m.trace export --to chrome");
    let chrome: Value = serde_json::from_str(&chrome).expect("JSON");
    let events = chrome["traceEvents"].as_array().expect("events");
    let drawn = events.iter().filter(|event| event["name"] == "program").count();
    assert_eq!(Some(drawn as u64), ran.figures["page_programs"].as_u64());
    let erases = command::output_of(folder.path(), "trace m.trace --events erase tables");
    assert!(erases.contains("| m_tag"), "{erases}");
}

#[test]
fn the_workloads_of_bench_have_the_same_tables() {
    let folder = folder();
    let sqlite = "--on sqlite/jffs2,sqlite/ubifs,sqlite/ftl";
    for line in [
        "insert,select,join,update,commit --requests 60 --fill 100",
        "contacts --requests 60 --records 50",
        "tpcc --requests 40 --scale-divisor 100",
        "logger,mount --requests 30 --fill 100",
    ] {
        let line = format!("bench {line} {sqlite} --format json");
        let text = command::output_of(folder.path(), &line);
        let runs: Value = serde_json::from_str(&text).expect("JSON");
        for run in runs.as_array().expect("runs") {
            let name = format!("{} on {}", run["workload"], run["on"]);
            check_sums(run, &name);
            let rows = run["by_table"].as_array().expect("tables");
            let has_table = rows.iter().any(|row| row["kind"] == "table");
            assert!(has_table || run["page_programs"] == 0, "{run}");
            let rows = run["by_statement"].as_array().expect("statements");
            let executed = rows.iter().filter_map(|row| row["executions"].as_u64()).sum::<u64>();
            assert!(executed > 0, "{name}: {rows:?}");
        }
    }
}

/// The updates of a workload of bench, by a program.
const UPDATES: &str = "
import sqlite3
c = sqlite3.connect('u.db', isolation_level=None)
c.execute('create table t(id integer primary key, val text)')
c.execute('begin')
for n in range(1, 201): c.execute('insert into t values(?, ?)', (n, '%0300d' % n))
c.execute('commit')
c.execute('begin')
for n in range(1, 201): c.execute('update t set val = ? where id = ?', ('%0300d' % -n, n))
c.execute('end')
";

#[test]
fn bench_gives_a_commit_to_its_requests_as_a_run_does() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    fs::write(folder.path().join("u.py"), UPDATES).expect("a script");
    let ran = output_of(folder.path(), "--on sqlite/ubifs", &[&python, "u.py"]);
    let line = "bench update --on sqlite/ubifs --requests 200 --fill 200 --format json";
    let runs: Value = serde_json::from_str(&command::output_of(folder.path(), line)).expect("JSON");
    check_sums(&runs[0], "bench update");
    let of = |run: &Value, text: &str| -> (i64, i64) {
        let rows = run["by_statement"].as_array().expect("statements");
        let row = rows.iter().find(|row| row["statement"] == text).expect(text);
        (programs(row), row["with_commit"]["page_programs"].as_i64().expect("a count"))
    };
    for (run, update, end) in
        [(&ran.figures, "update t set val = ? where id = ?", "end"), (&runs[0], "update", "end")]
    {
        let ((own, with), (ended, left)) = (of(run, update), of(run, end));
        assert!(ended > 0, "{run}");
        assert_eq!((with, left), (own + ended, 0), "{update}");
    }
}
