//! Some hundred wrong inputs: each gets one line and exit code 2, and changes no file.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::command::complaint_of;

const PART: &str = include_str!("../../../../parts/nandsim.toml");
const PLATFORM: &str = include_str!("../../../../platforms/am62-6.12.toml");

/// Options of `bench` that take numbers, each with a workload and a stack that it is for.
const NUMBERS: [&str; 24] = [
    "insert --requests",
    "insert --record-size",
    "insert --fill",
    "insert --page-size",
    "insert --partition-blocks",
    "insert --seed",
    "insert --aged-fill",
    "insert --aged-invalid",
    "insert --aged-erases",
    "insert --on sqlite/ftl --ftl-spare",
    "insert --on sqlite/ubifs --ubi-wear-threshold",
    "insert --on sqlite/jffs2+pramfs --pram-size",
    "read --request-size",
    "read --file-size",
    "read --inter-arrival",
    "contacts --text-size",
    "contacts --records",
    "postmark --percent",
    "postmark --files",
    "postmark --size-min",
    "postmark --size-max",
    "logger --batch",
    "logger --queries",
    "logger --keep",
];

/// What is no list of numbers, or none that fits anything.
const NO_NUMBERS: [&str; 8] =
    ["ten", "1,", "-3", "1.5", "5..1", "1..9:0", "99999999999999999999", "0..9999999999"];

/// Options of `bench` that take words.
const WORDS: [&str; 14] = [
    "insert --on",
    "insert --platform",
    "insert --part",
    "insert --alphabet",
    "insert --journal-mode",
    "insert --synchronous",
    "insert --read-ahead",
    "insert --compression",
    "insert --ecc",
    "insert --format",
    "insert --color",
    "insert --on sqlite/ubifs --ubi-fastmap",
    "insert --on sqlite/yaffs2 --yaffs2-profile",
    "read --pattern",
];

/// Single mistakes, each with a part of what is said about it.
const SINGLE: [(&str, &str); 54] = [
    ("bench tpcc --warehouses 1000 --transactions 1", "tpcc needs "),
    ("bench insert --out a --report a", "one file"),
    ("bench insert --out a --trace a", "one file"),
    ("bench insert --out a --latencies ./a", "one file"),
    ("bench insert --format csv --out a --report a.provenance.json", "one file"),
    ("run --out a --trace ./a -- true", "one file"),
    ("run --budget b --update --force --out b -- true", "one file"),
    ("budget b --update --force --trace b -- true", "one file"),
    ("record --to a --out a -- true", "one file"),
    ("run --fuse --budget b --update -- true", "--compression none makes runs repeatable"),
    ("budget b --fuse --update --on sqlite/ubifs -- true", "--compression none makes runs"),
    ("record --calls a --to a --force -- true", "one file"),
    ("crash --keep a --findings a -- true", "one file"),
    ("bench insert --out taken", "exists"),
    ("bench insert --report taken", "exists"),
    ("compare --report taken", "exists"),
    ("bench insert --out nowhere/a", "cannot be written"),
    ("bench insert --per-day 0", "a rate is"),
    ("bench insert --per-day 10TB", "a rate is"),
    ("bench insert --jobs 0", "--jobs"),
    ("bench insert --jobs 99999", "--jobs"),
    ("bench insert --per seed", "--per"),
    ("bench insert --columns nothing --requests 10000000", "unknown figure 'nothing'"),
    ("bench insert --sort nothing --requests 10000000", "unknown figure 'nothing'"),
    ("compare --columns nothing --format json", "unknown figure 'nothing'"),
    ("index bench runs --columns nothing --format json", "unknown figure 'nothing'"),
    ("trace taken", "taken"),
    ("trace missing summary", "missing"),
    ("bench logger --queries 4294967295", "--queries 4294967295: 1000000 are the most"),
    ("bench insert --mtd mtd0", "--mtd is for kernel: targets"),
    ("bench insert --hook mtd", "--hook is for kernel: targets"),
    ("bench insert --buffer 1024", "--buffer is for kernel: targets"),
    ("bench insert --untraced", "--untraced is for kernel: targets"),
    ("bench mount --on kernel:/tmp", "--on kernel:/tmp: mount stops the machine"),
    ("bench mount --on kernel:jffs2", "--on kernel:jffs2: mount stops the machine"),
    ("bench insert --compression zstd", "sqlite/jffs2 has no such compressor"),
    ("bench insert --on sqlite/ubifs --compression rtime", "sqlite/ubifs has no such compressor"),
    ("bench insert --on sqlite/yaffs2,sqlite/ftl --compression zlib", "--compression: no stack"),
    ("trace taken --from 20s --until 10s", "--from is after --until"),
    ("image extract missing out --on file/jffs2", "missing"),
    ("part show nandsimm", "did you mean 'nandsim'?"),
    ("part new mine --out taken", "exists"),
    ("part new a/b", "is no name"),
    ("platform show am62", "unknown platform"),
    ("platform new mine --like nowhere", "unknown platform"),
    ("bench insert --keep 5", "--keep is for logger"),
    ("bench tpcc --on redb/ubifs", "tpcc does not run on the engine yet"),
    ("bench insert --on redb/ubifs --journal-mode wal", "journal-mode"),
    ("crash --on redb/ubifs", "redb/ubifs"),
    ("bench logger --on flysch --keep 1000000000", "no space for so many readings"),
    ("bench logger --on flysch --keep 9000 --partition-blocks 24 --record-size 40", "--keep 9000"),
    ("model size --keep-days 0", "--keep-days"),
    ("model size --keep 0", "--keep"),
    ("model size --n 0", "--n"),
];

/// The places of the lines that give a field of their own a value.
fn fields(text: &str) -> Vec<usize> {
    let is_field =
        |line: &&str| !line.starts_with(['#', '[', ' ', ']']) && line.split_once(" = ").is_some();
    let plain = text.split("[[power.draw]]").next().unwrap_or(text);
    let lines = plain.lines().enumerate();
    lines.filter(|(_, line)| is_field(line)).map(|(place, _)| place).collect()
}

/// The text with one line changed, or without it.
fn changed(text: &str, place: usize, with: Option<&str>) -> String {
    let line = |(nth, line): (usize, &str)| match (nth == place, with) {
        (true, Some(with)) => format!("{} = {with}\n", line.split(" = ").next().unwrap_or("")),
        (true, None) => String::new(),
        (false, _) => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

/// Write the descriptions that are wrong, and give their commands.
fn descriptions(folder: &Path, option: &str, text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for place in fields(text) {
        let line = text.lines().nth(place).expect("a line");
        let optional = ["shares_dirty_limit", "trusts_data", "has_nvram"];
        let is_optional = optional.iter().any(|field| line.starts_with(field));
        let is_text = line.contains("= \"") || line.contains("= [");
        let values: &[Option<&str>] = match (is_optional, is_text) {
            (true, _) => &[Some("7")],
            (false, true) => &[None, Some("7")],
            (false, false) => &[None, Some("\"many\""), Some("9223372036854775807"), Some("-1")],
        };
        for (nth, value) in values.iter().enumerate() {
            let name = format!("{option}-{place}-{nth}.toml");
            fs::write(folder.join(&name), changed(text, place, *value)).expect("a writable folder");
            commands.push(format!("bench insert --{option} {name} --requests 1 --fill 1"));
        }
    }
    commands
}

#[test]
fn three_hundred_wrong_inputs_are_a_line_each() {
    let folder = TempDir::new().expect("a temporary folder");
    fs::write(folder.path().join("taken"), "mine").expect("a writable folder");
    let mut cases: Vec<(String, &str)> = Vec::new();
    for option in NUMBERS {
        cases.extend(NO_NUMBERS.iter().map(|bad| (format!("bench {option} {bad}"), "")));
    }
    for option in WORDS {
        cases.extend(["nonsense", "9,9"].map(|bad| (format!("bench {option} {bad}"), "")));
    }
    cases.extend(SINGLE.map(|(command, said)| (command.to_owned(), said)));
    for (option, text) in [("part", PART), ("platform", PLATFORM)] {
        let commands = descriptions(folder.path(), option, text);
        cases.extend(commands.into_iter().map(|command| (command, "")));
    }
    let before = fs::read_dir(folder.path()).expect("it is there").count();
    for (command, said) in &cases {
        let line = complaint_of(folder.path(), command);
        assert!(line.contains(said), "{command}: {line}");
        assert!(!line.contains("panicked"), "{command}: {line}");
    }
    assert!(cases.len() >= 300, "{} wrong inputs", cases.len());
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), before);
    assert_eq!(fs::read(folder.path().join("taken")).expect("it stays"), b"mine");
}

/// The line and the field of a wrong figure are told.
#[test]
fn a_wrong_figure_is_told_with_its_place() {
    let folder = TempDir::new().expect("a temporary folder");
    let cases = [
        (
            "part",
            PART,
            "endurance = ",
            "endurance = -1",
            ": endurance: invalid value: integer `-1`",
        ),
        (
            "platform",
            PLATFORM,
            "copy_ps_",
            "copy_ps_per_byte = 'x'",
            ": copy_ps_per_byte: invalid type",
        ),
        ("platform", PLATFORM, "mw = ", "mw = nan", "power.draw 1: mw is NaN, and it is a number"),
        (
            "platform",
            PLATFORM,
            "mw = ",
            "mw = 0",
            "power.draw 1: mw is 0, and it is a number above 0",
        ),
        ("platform", PLATFORM, "mw = ", "mw = -10", "power.draw 1: mw is -10"),
    ];
    for (option, text, old, new, said) in cases {
        let replaced = |line| if str::starts_with(line, old) { new } else { line };
        let text = text.lines().map(replaced).collect::<Vec<_>>().join("\n");
        fs::write(folder.path().join("own.toml"), text).expect("a writable folder");
        let line = complaint_of(folder.path(), &format!("bench insert --{option} own.toml"));
        assert!(line.starts_with("flysch: own.toml: ") && line.contains(said), "{line}");
    }
}

/// Someone who leaves several fields out learns of all of them at once.
#[test]
fn all_missing_fields_are_told_at_once() {
    let folder = TempDir::new().expect("a temporary folder");
    let without = |text: &str, names: [&str; 2]| -> String {
        let is_kept = |line: &&str| !names.iter().any(|name| line.starts_with(name));
        text.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
    };
    let cases = [
        ("part", PART, ["endurance", "erase_ns"], "missing: endurance, timing.erase_ns"),
        (
            "platform",
            PLATFORM,
            ["read_overhead_ns", "copy_ps"],
            "missing: cpu.copy_ps_per_byte, mtd.read_overhead_ns",
        ),
    ];
    for (option, text, names, said) in cases {
        fs::write(folder.path().join("own.toml"), without(text, names)).expect("a writable folder");
        let line = complaint_of(folder.path(), &format!("bench insert --{option} own.toml"));
        assert!(line.contains(said), "{line}");
    }
}
