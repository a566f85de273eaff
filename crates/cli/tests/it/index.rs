//! `flysch index` with the arguments of a user.

use std::fs;

use serde_json::Value;

use crate::command::{complaint_of, output_of};

const PART: &str = include_str!("../../../../parts/gemalto-vfl.toml");

/// The fields of a run in JSON that other programs rely on.
const FIELDS: [&str; 15] = [
    "method",
    "n",
    "key_size",
    "ram_bytes",
    "w_pages",
    "w_bytes_per_key",
    "ir_pages",
    "vp_pages",
    "op_pages",
    "block_erases",
    "r_present",
    "r_absent",
    "worst_insert_ns",
    "out_of_order_programs",
    "gc_copies",
];

#[test]
fn json_has_what_others_rely_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = output_of(
        folder.path(),
        "index bench pbfilter runs --n 5000 --key-size 12 --lookup-count 200 --format json",
    );
    let runs: Vec<Value> = serde_json::from_str(&text).expect("a list of objects");
    let methods: Vec<&Value> = runs.iter().map(|run| &run["method"]).collect();
    assert_eq!(methods, ["pbfilter", "runs"]);
    for field in FIELDS {
        assert!(runs.iter().all(|run| run.get(field).is_some_and(|it| !it.is_null())), "{field}");
    }
}

#[test]
fn every_combination_is_a_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let csv = output_of(
        folder.path(),
        "index bench pbfilter,runs --n 2000..4000:1000 --key-size 8,12 --key-distribution \
         random,ascending,normal,bursty --lookups present --lookup-count 50 --states 2 --seed 1 \
         --ram 20480 --bits-per-key 16 --hash-count 7 --flush page --pace synchronous --format csv",
    );
    assert_eq!(csv.lines().count(), 1 + 2 * 3 * 2 * 4, "{csv}");
    assert!(csv.starts_with("method,n,key_size,key_distribution,rows_per_key,"), "{csv}");
}

#[test]
fn the_baselines_have_their_own_parameters() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = output_of(
        folder.path(),
        "index bench btree bftl1 bftl2 skimpystash --n 3000 --lookup-count 100 --format json \
         --spare-percent 50 --list-max 3 --chain-len 4",
    );
    let runs: Vec<Value> = serde_json::from_str(&text).expect("a list of objects");
    let shown: Vec<String> = runs.iter().map(|run| run["parameters"].to_string()).collect();
    let wanted = [r#"{"spare-percent":50}"#, "{}", r#"{"list-max":3}"#, r#"{"chain-len":4}"#];
    assert_eq!(shown, wanted);
}

/// Tails, rows of a key and bytes of an update are in every kind of output.
#[test]
fn tails_and_rows_per_key_are_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let command = |rest: &str| {
        let shown = "index bench pbfilter runs store --n 3000 --lookup-count 100 ";
        output_of(folder.path(), &format!("{shown}{rest}"))
    };
    let rows = "--rows-per-key 1,20 --key-distribution zipf --lookup-distribution newest,oldest \
                --lookups present,absent,all";
    let csv = command(&format!("{rows} --format csv"));
    assert_eq!(csv.lines().count(), 1 + 3 * 2 * 2, "{csv}");
    let table = command(rows);
    assert!(table.contains("--columns shows more: "), "{table}");
    let runs: Vec<Value> =
        serde_json::from_str(&command("--updates 10 --format json")).expect("a list of objects");
    for name in ["p99_present", "p999_present", "p99_absent", "p999_absent", "w_bytes_per_update"] {
        let head = |text: &str| text.lines().next().is_some_and(|line| line.contains(name));
        assert!(head(&csv), "{name}");
        assert!(runs.iter().all(|run| run[name].is_number()), "{name}");
    }
}

#[test]
fn updates_are_counted_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let command = "index bench pbfilter runs --n 4000 --updates 0,50 --lookup-count 100 \
                   --platform nandsim-6.1 --format json --out runs.json --report runs.html";
    assert_eq!(output_of(folder.path(), command), "");
    let text = fs::read_to_string(folder.path().join("runs.json")).expect("it was written");
    let runs: Vec<Value> = serde_json::from_str(&text).expect("a list of objects");
    assert_eq!(runs.len(), 4);
    for run in runs {
        assert_eq!(run["update"].is_null(), run["updates"] == 0, "{run}");
    }
    let page = fs::read_to_string(folder.path().join("runs.html")).expect("it was written");
    assert!(page.contains("pbfilter") && !page.contains("src="), "{page}");
    let line = complaint_of(folder.path(), command);
    assert!(line.contains("runs.json: exists; --force replaces it"), "{line}");
    output_of(folder.path(), &format!("{command} --force"));
}

#[test]
fn bad_input_gets_one_line_that_says_what_would_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let small = PART.replace("page_size = 2048", "page_size = 256");
    assert_ne!(small, PART);
    fs::write(folder.path().join("small.toml"), small).expect("a writable folder");
    let cases = [
        ("runz", "did you mean 'runs'?"),
        ("runs --n 0", "--n 0: must be from 1"),
        ("runs --ram 2000", "2000 bytes of RAM are too few: "),
        ("pbfilter --ram 4096", "4096 bytes of RAM are too few: 14336 would be enough"),
        ("pbfilter --key-size 300", "key_size is 300: it can be at most 255"),
        ("pbfilter --bits-per-key 2", "bits_per_key is 2: it must be at least 4"),
        ("pbfilter --part w25n01gv", "flush whole pages instead"),
        ("runs --key-size 1 --n 1000", "2 would be enough"),
        ("runs --key-distribution normale", "did you mean 'normal'?"),
        ("runs --part nosuch", "unknown part 'nosuch'"),
        ("runs --platform nosuch", "nosuch"),
        ("runs --updates 2000", "must be from 0 to 1000 per cent"),
        ("btree --ram 4096", "6144 would be enough"),
        ("bftl2 --key-size 1000", "key_size is 1000: it can be at most 492"),
        ("skimpystash --n 100000 --ram 14336", "154096 would be enough"),
        ("runs --key-size 5000", "4096 bytes are the most"),
        ("btree --bits-per-key 8,16", "--bits-per-key is for pbfilter and pbfilter2"),
        ("runs --hash-count 3", "--hash-count is for pbfilter and pbfilter2"),
        ("store --flush page", "--flush is for pbfilter and pbfilter2"),
        ("pbfilter --pace synchronous", "--pace is for runs and runs+filter"),
        ("runs --spare-percent 20", "--spare-percent is for btree"),
        ("bftl1 --list-max 2", "--list-max is for bftl2"),
        ("runs,btree --chain-len 2", "--chain-len is for skimpystash"),
        ("btree --rows-per-key 5", "btree does not take --rows-per-key"),
        ("bftl1 --rows-per-key 5", "bftl1 does not take --rows-per-key"),
        ("bftl2 --rows-per-key 5", "bftl2 does not take --rows-per-key"),
        ("skimpystash --rows-per-key 5", "skimpystash does not take --rows-per-key"),
        ("store --rows-per-key 5 --updates 10", "--updates with --rows-per-key"),
        ("runs --rows-per-key 0", "--rows-per-key 0: must be from 1"),
        ("runs --lookup-distribution zip", "did you mean 'zipf'?"),
        ("store --key-distribution colliding --key-size 8", "have 12 bytes, not 8"),
        ("runs runs", "METHOD: a value is given twice"),
        ("runs --n 100,100", "--n: a value is given twice"),
        ("runs --seed 1,1", "--seed: a value is given twice"),
        ("runs --updates 5,5", "--updates: a value is given twice"),
        ("runs --lookups absent,absent", "--lookups: a value is given twice"),
        ("runs --part k9f2g08u0a,k9f2g08u0a", "--part: a value is given twice"),
        ("store --part small.toml", "page_size is 256: it must be at least 512"),
        ("btree --part small.toml", "page_size is 256: it must be at least 512"),
        ("store --n 30000000 --updates 1000", "blocks are needed, and no chip of this part is so"),
        ("bftl1 --n 600000000 --part small.toml", "try a smaller --n"),
        ("btree --n 4294967295", "try a smaller --n"),
        ("skimpystash --n 4294967295 --key-size 100 --updates 1000", "try a smaller --n"),
        ("runs --n 4294967295 --updates 1000", "bytes of RAM are too few"),
        ("store+order --key-size 12", "key_size is 12: it can be at most 8"),
        ("", "METHOD"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("index bench {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
    }
}

/// Lookups in between are as many as were asked for, however many points of the load there are. A
/// method that does not have a parameter has one run for all of its values.
#[test]
fn a_sweep_makes_no_more_than_was_asked_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = |arguments: &str| -> Vec<Value> {
        let text = output_of(folder.path(), &format!("index bench {arguments} --format json"));
        serde_json::from_str(&text).expect("a list of objects")
    };
    for count in [1, 39, 300] {
        let runs = runs(&format!("runs --n 1000 --lookups present --lookup-count {count}"));
        assert_eq!(runs[0]["lookups"][0]["count"], count, "{}", runs[0]);
    }
    let sizes: Vec<Value> = runs("store store+order --n 1000 --lookup-count 10")
        .iter()
        .map(|run| run["key_size"].clone())
        .collect();
    assert_eq!(sizes, [12, 8]);
    let runs = runs("pbfilter btree --n 1000 --lookup-count 10 --bits-per-key 8,16");
    let methods: Vec<&Value> = runs.iter().map(|run| &run["method"]).collect();
    assert_eq!(methods, ["pbfilter", "btree", "pbfilter"]);
}

/// A page that was programmed in part counts whole among those that are needed.
#[test]
fn no_count_is_below_zero() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let command = "index bench pbfilter runs --n 20,100,1000 --lookup-count 10 --format json";
    let runs: Vec<Value> =
        serde_json::from_str(&output_of(folder.path(), command)).expect("a list of objects");
    assert!(runs.iter().all(|run| run["op_pages"].as_f64() >= Some(0.0)), "{runs:?}");
}
