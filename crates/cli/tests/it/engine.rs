//! `flysch bench` and `flysch compare` with the engine beside SQLite.

use serde_json::Value;

use crate::command::{complaint_of, output_of};

fn runs(arguments: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = output_of(folder.path(), &format!("bench {arguments} --format json"));
    serde_json::from_str(&text).expect("a list of objects")
}

#[test]
fn a_log_is_swept_on_the_engine_and_on_sqlite() {
    let small = "logger --record-size 40 --fill 200 --requests 10 --queries 3";
    let on_both = runs(&format!("{small} --batch 1,8 --on flysch,sqlite/jffs2 --ram 9K,16K"));
    let shown: Vec<_> = on_both.iter().map(|run| (&run["on"], &run["parameters"]["ram"])).collect();
    let sizes = shown.iter().filter(|(on, _)| *on == "flysch").map(|(_, ram)| ram.as_u64());
    let sizes: Vec<_> = sizes.collect();
    let sweep = [9216, 16384, 9216, 16384].map(Some);
    assert_eq!(sizes, sweep);
    assert_eq!(shown.len(), 6, "RAM is nothing to SQLite: {shown:?}");
    for run in &on_both {
        for (kind, count) in [("insert", 10), ("by_time", 3), ("by_sensor", 3)] {
            assert_eq!(run["by_kind"][kind]["count"], count, "{kind} on {}", run["on"]);
        }
    }
}

#[test]
fn a_mount_is_measured_after_each_stop() {
    let both = runs("mount --record-size 40 --fill 100 --requests 5 --stop cut,clean --on flysch");
    assert_eq!(both.len(), 2);
    for (run, stop) in both.iter().zip(["cut", "clean"]) {
        assert_eq!(run["parameters"]["stop"], stop);
        assert!(run["by_kind"]["open"]["operations"]["page_reads"].as_u64() > Some(0), "{stop}");
    }
}

#[test]
fn tpcc_keeps_its_conditions_on_the_engine_and_programs_less_than_on_sqlite() {
    let stacks = "--on flysch,flysch+nvram,sqlite/yaffs2 --read-cache 0,256K";
    let runs =
        runs(&format!("tpcc --scale-divisor 100 --partition-blocks 96 --requests 92 {stacks}"));
    let count = |on: &str, cache: Option<u64>, name: &str| {
        let is_it =
            |run: &&Value| run["on"] == on && run["parameters"]["read-cache"].as_u64() == cache;
        runs.iter().find(is_it).and_then(|run| run[name].as_u64()).expect("a run of this stack")
    };
    let programs = count("flysch", Some(0), "page_programs");
    assert!(count("sqlite/yaffs2", None, "page_programs") > 8 * programs, "{programs}");
    assert!(count("flysch+nvram", Some(0), "page_programs") < programs, "{programs}");
    let reads = [0, 262_144].map(|cache| count("flysch", Some(cache), "page_reads"));
    assert!(reads[1] < reads[0] / 2, "{reads:?}");
}

#[test]
fn every_request_of_the_micro_benchmark_runs_on_the_engine() {
    let kinds = "insert select join update commit";
    let runs = runs(&format!("{kinds} --requests 50 --fill 60 --record-size 100 --on flysch"));
    let shown: Vec<_> = runs.iter().map(|run| (&run["workload"], &run["page_programs"])).collect();
    assert_eq!(shown.len(), 5);
    for (workload, programs) in shown {
        let is_reading = workload == "select" || workload == "join";
        assert_eq!(programs == 0, is_reading, "{workload} took {programs} programs");
    }
}

#[test]
fn what_the_engine_does_not_take_is_one_clear_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = [
        ("logger --on flysch+nvram --nvram-size 65K", "the memory is 1K to 64K, or bytes"),
        ("commit --on flysch --partition-blocks 23", "flysch takes 24 blocks at least"),
        ("commit --on flysch --aged-erases 1000000", "the blocks are worn out"),
        ("tpcc --on flysch --database-files 1,2", "--database-files 2: a database on flysch"),
        ("logger --on flysch+nvram --nvram-files journal", "--nvram-files: no stack or workload"),
        ("logger --on flysch --ram 2K", "'2K' for '--ram <SIZE>': RAM is 4K to 64K"),
        ("logger --on flysch --ram 16X", "'16X' for '--ram <SIZE>'"),
        ("logger --on flysch --ram 4K", "bytes of memory are needed; --ram gives"),
        ("overwrite --on flysch", "overwrite does not run on the engine yet"),
        ("tpcc --on flysch --read-cache 17M", "the cache is 0 to 16384K, or bytes"),
        ("logger --on flysch --aged-fill 20", "flysch has no files of others beside it"),
        ("logger --on flysch --record-size 19", "a reading has 20 bytes at least"),
        ("logger --batch 70000", "more than a transaction of 65536"),
        ("logger --stop cut", "--stop is for mount"),
        ("insert --queries 3", "--queries is for logger"),
        ("mount --stop of", "unknown stop 'of'"),
        ("mount --on sqlite/tmpfs", "RAM does not outlive the stop"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("bench {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
    }
}
