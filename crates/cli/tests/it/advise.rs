//! `flysch advise`: few runs find what an exhaustive sweep finds.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::command::{complaint_of, flysch, output_of};
use crate::run::{folder, installed, names};

const OPTIONS: &str = "--per-day 50000 --partition-blocks 200";

fn scripts() -> [(&'static str, String); 3] {
    let mut single = "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);\n".to_owned();
    let mut batches =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); CREATE INDEX tx ON t(x);\n".to_owned();
    let mut updates = single.clone();
    for n in 0..45_u32 {
        let text = (n * 7919 % 1000).to_string().repeat(20);
        writeln!(single, "INSERT INTO t(x) VALUES('{text}');").expect("a string");
        let insert = format!("INSERT INTO t(x) VALUES('{text}'); ").repeat(4);
        writeln!(batches, "BEGIN; {insert}COMMIT;").expect("a string");
        let value = format!("INSERT OR REPLACE INTO t VALUES({}, '{text}');", n % 7);
        writeln!(updates, "{value}").expect("a string");
    }
    [("single.sql", single), ("batches.sql", batches), ("updates.sql", updates)]
}

#[test]
fn few_runs_agree_with_an_exhaustive_sweep() {
    let folder = folder();
    let mut subjects = vec!["commit --requests 45".to_owned()];
    for (name, text) in scripts() {
        fs::write(folder.path().join(name), text).expect("a script");
        subjects.push(name.to_owned());
    }
    for subject in subjects {
        let line = format!("advise {subject} {OPTIONS} --today sqlite/jffs2 --format json");
        let advice: Value = serde_json::from_str(&output_of(folder.path(), &line)).expect("JSON");
        let line = format!("advise {subject} {OPTIONS} --exhaustive --format json");
        let all: Value = serde_json::from_str(&output_of(folder.path(), &line)).expect("JSON");
        let all = all.as_array().expect("configurations");
        assert!(all.len() > 200 && all.len() <= 300, "{subject}: {}", all.len());
        assert!(all.iter().all(|one| one["survives"] == "loses_nothing"), "{subject}");
        let runs = advice["runs"].as_u64().expect("a count");
        assert!(runs * 10 <= 288, "{subject}: {runs} runs");
        let years = |one: &Value| one["years"].as_f64().expect("years");
        let (found, best) = (years(&advice["best"]), years(&all[0]));
        assert!(found >= best * 0.98 && found <= best * 1.02, "{subject}: {found} and {best}");
        assert_eq!(advice["best"]["survives"], "loses_nothing", "{subject}");
        check_together(&advice);
    }
}

/// The three changes together are a run of their own: with what each of them changes, and all else
/// as today.
fn check_together(advice: &Value) {
    let parts = |it: &Value| -> Vec<String> {
        let name = it["configuration"].as_str().expect("a name");
        name.split(", ").map(str::to_owned).collect()
    };
    let today = parts(&advice["today"]);
    let changes = advice["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 3, "{changes:?}");
    let new = changes.iter().flat_map(|change| parts(&change["result"]));
    let new: Vec<String> = new.filter(|part| !today.contains(part)).collect();
    let together = parts(&advice["together"]);
    assert!(new.iter().all(|part| together.contains(part)), "{new:?}: {together:?}");
    let known = |part: &String| new.contains(part) || today.contains(part);
    assert!(together.iter().all(known), "{together:?}: {new:?} and {today:?}");
    let ranking = advice["ranking"].as_array().expect("a ranking");
    assert!(ranking.contains(&advice["together"]), "it was measured");
}

#[test]
fn a_recording_is_advised_on_in_sentences() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let [(_, single), ..] = scripts();
    fs::write(folder.path().join("s"), single).expect("a script");
    let line = format!("record --to a.rec --on sqlite/jffs2 -- {shell} -init s a.db .quit");
    assert_eq!(flysch(folder.path(), &line).code, Some(0));
    let line = "advise a.rec --part w25n01gv --per-day 100000 --time-limit 600";
    let text = output_of(folder.path(), line);
    let first = text.lines().next().expect("a sentence");
    assert!(first.contains(" years at your rate, ") && first.contains("x today's "), "{first}");
    for wanted in [
        "A power cut leaves all that was acknowledged.",
        "Today, sqlite/jffs2, its own journal: ",
        "What matters most, each alone:",
        "- together: ",
        "Not modelled: ",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(!text.contains("pramfs") && !text.contains("tmpfs"), "{text}");
    let with_pram = "advise a.rec --per-day 100 --on sqlite/ubifs,sqlite/ubifs+pramfs --format csv";
    assert!(output_of(folder.path(), with_pram).contains("sqlite/ubifs+pramfs"), "{text}");
    let none = output_of(folder.path(), "advise a.rec --per-day 100 --p99 0.001");
    assert!(
        none.starts_with("Nothing that was tried keeps what was acknowledged within"),
        "{none}"
    );
}

/// A workload costs what `flysch bench` says that it costs: queries after the transactions are
/// none, a mount is one, and each row that is updated is there.
#[test]
fn a_workload_has_as_many_transactions_as_in_bench() {
    let folder = folder();
    let options = "--on sqlite/ubifs --partition-blocks 256";
    for (workload, bench) in [
        ("logger --requests 40", "logger --requests 40 --fill 1000 --record-size 200"),
        ("mount --requests 40", "mount --requests 40 --fill 1000 --record-size 200"),
        ("update --requests 1500", "update --requests 1500 --fill 1500 --record-size 200"),
    ] {
        let line = format!("advise {workload} --per-day 86400 {options} --format json");
        let advice: Value = serde_json::from_str(&output_of(folder.path(), &line)).expect("JSON");
        let line = format!("bench {bench} {options} --format json");
        let runs: Value = serde_json::from_str(&output_of(folder.path(), &line)).expect("JSON");
        let years = runs[0]["life"]["years_by_programs"].as_f64().expect("years");
        let today = advice["today"]["years"].as_f64().expect("years");
        assert!((today / years - 1.0).abs() < 0.001, "{workload}: {today} and {years}");
    }
}

/// What survives depends on the journal, and not on how many transactions there are.
#[test]
fn few_transactions_are_as_safe_as_many() {
    let folder = folder();
    let [(_, single), ..] = scripts();
    let two = single.lines().take(2).collect::<Vec<_>>().join("\n");
    for (name, text) in [("two.sql", two.as_str()), ("none.sql", "SELECT 1;")] {
        fs::write(folder.path().join(name), text).expect("a script");
        let line = format!("advise {name} {OPTIONS} --format json");
        let advice: Value = serde_json::from_str(&output_of(folder.path(), &line)).expect("JSON");
        let ranking = advice["ranking"].as_array().expect("a ranking");
        assert!(ranking.iter().all(|it| it["survives"] != "loses_the_database"), "{ranking:?}");
        assert_eq!(advice["today"]["survives"], "loses_the_last", "{name}");
    }
}

#[test]
fn what_cannot_be_advised_on_is_said_in_a_line() {
    let folder = folder();
    fs::write(folder.path().join("e.sql"), "SELCT 1;").expect("a script");
    for (arguments, wanted) in [
        ("advise none.rec --per-day 1", "none.rec: no such file, and unknown workload"),
        ("advise e.sql --per-day 1", "e.sql:1: near \"SELCT\": syntax error"),
        ("advise postmark --per-day 1", "postmark: it has no SQLite"),
        ("advise commit --per-day 0", "a number of transactions a day"),
        ("advise commit --per-day 1 --p99 soon", "a time in milliseconds"),
        ("advise commit --per-day 1 --on sqlite/tmpfs", "no stack that SQLite can rely on"),
        ("advise commit --per-day 1 --today sqlite/tmpfs", "--today sqlite/tmpfs: it is no stack"),
        ("advise commit --per-day 1 --today flysch", "--today flysch: it is no stack"),
        ("advise commit --per-day 1 --on sqlite/ftl,sqlite/ftl", "--on: a value is given twice"),
        ("advise commit --per-day 1 --seed 1,2", "advice is for one machine"),
        ("advise commit --per-day 1 --exhaustive --time-limit 1", "--time-limit"),
        ("advise commit --per-day 1 --exhaustive --p99 1", "--p99"),
        ("advise commit --per-day 1 --exhaustive --today sqlite/ftl", "--today"),
        ("advise commit --per-day 1 --database e.sql", "--database is for recordings"),
        ("advise e.sql --per-day 1 --requests 5", "--requests is for workloads"),
        ("advise e.sql --per-day 1 --database none.db", "none.db: there is no such file"),
    ] {
        let line = complaint_of(folder.path(), arguments);
        assert!(line.contains(wanted), "{arguments}: {line}");
    }
    assert_eq!(names(folder.path()), ["e.sql"]);
}
