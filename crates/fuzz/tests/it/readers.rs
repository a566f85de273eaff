//! Readers of texts and files: a good one is edited, and what was read of it is used.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use flysch_chip::{Part, Trace};
use flysch_fuzz::seen;
use flysch_fuzz::stack::{Kind, PageSize};
use flysch_fuzz::text::edited;
use flysch_kernel::validate::recorded;
use flysch_kernel::vm::answer::Answer;
use flysch_lab::budget::Budget;
use flysch_lab::machine::Build;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::recording::Recording;
use flysch_lab::reference;
use flysch_lab::trace;
use flysch_models::fit::model::{Models, fit};
use flysch_models::fit::observation;

use crate::seeds::target;

/// Inputs of each target in a run of the tests.
const INPUTS: u64 = 300;

const BUDGET: &str = "[all]\nprograms = 500\ntime_ms = 5000.5\n\n[[statement]]\nmatches = \"INSERT \
    INTO t*\"\nerases = 3\nper_execution = { programs = 2.5 }\n\n[[table]]\nname = \"t\"\n\
    bytes_written = 250000\n";
const SCRIPT: &str = "-- a script\nCREATE TABLE t(a, b);\nBEGIN; INSERT INTO t VALUES('x;y', 2);\n\
    COMMIT;\nCREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END;\nSELECT 1\n";
const RECORDING: &str = include_str!("seeds/calls.rec");
const CELLS: &str = "fs,workload,record_size,requests,pattern,read_ahead,kernel.page_reads,\
    kernel.page_programs,kernel.block_erases\njffs2,insert,150,100,,,0,17,0\n\
    jffs2,read,4096,8,seq,32,60,0,0\n";
const REFERENCES: [&str; 2] = [
    "fs,op,record_size,requests,page_reads,page_programs,block_erases,\
     erases_within_1500ms_after,page_reads_at_open,time_ms,begin_ms,median_request_ms,\
     max_request_ms,end_ms,variant\njffs2,insert,150,100,0,17,0,0,1,81.2967,0.0815,0.3982,3.0637,\
     36.6779,main\n",
    "fs_variant,pattern,readahead,requests,request_bytes,pages_read,guest_ms,max_ms,first_ms,\
     open_pages\njffs2,seq,on,8,4096,60,19.5392,10.6577,3.3899,1342\n",
];

target!(traces, INPUTS, trace_is_read);
target!(parts, INPUTS, part_is_read);
target!(platforms, INPUTS, platform_is_read);
target!(budgets, INPUTS, budget_is_read);
target!(recordings, INPUTS, recording_is_read);
target!(runs, INPUTS, runs_are_fitted);
target!(models, INPUTS, models_predict);
target!(cells, INPUTS, cells_are_read);
target!(references, INPUTS, reference_is_read);
target!(answers, INPUTS, answer_is_read);

/// A trace in each of the formats that are read.
fn trace_files() -> Vec<Vec<u8>> {
    let build = Kind::Jffs2.build(PageSize::Usual);
    let machine = build.format_and_mount(Stack::file(Main::Jffs2)).unwrap();
    let linux = &mut machine.linux.borrow_mut();
    let fd = linux.open("file", true).unwrap();
    linux.write(fd, 0, &[1; 9000]).unwrap();
    linux.sync().unwrap();
    let all = machine.recorder.take(build.part.geometry);
    let first = all.events.len().saturating_sub(40);
    let trace = Trace { events: all.events[first..].to_vec(), ..all };
    vec![
        trace::file::encode(&trace).unwrap(),
        trace::write_csv(&trace),
        trace::flashmon::write_log(&trace).into_bytes(),
        trace::flashmon::write_counters(&trace).into_bytes(),
    ]
}

thread_local! {
    static TRACES: OnceCell<Vec<Vec<u8>>> = const { OnceCell::new() };
}

/// A trace of any format, and all that is made of one.
fn trace_is_read(input: &[u8]) {
    let file = TRACES.with(|all| {
        let files: Vec<&[u8]> = all.get_or_init(trace_files).iter().map(Vec::as_slice).collect();
        edited(&files, input)
    });
    let geometry = Kind::Jffs2.build(PageSize::Usual).part.geometry;
    // Some formats have a geometry of their own, and are refused another.
    let read = trace::parse_any(&file, Some(geometry)).or_else(|_| trace::parse_any(&file, None));
    seen::outcome("trace", &read);
    match read {
        Ok(trace::Input::Trace(trace)) => {
            seen::operations(&trace);
            let causes = trace::causes(&trace);
            let _explained = trace::explanations_of(&causes);
            let tables = trace::by_table(&trace);
            let _summary = (trace::summary(&trace), trace::by_statement(&trace));
            let _headline = trace::headline(&trace, &tables);
            let _rows = trace::block_rows(&trace::by_block(&trace));
            let _files = (trace::write_csv(&trace), trace::write_json(&trace));
            let _pictures = (trace::folded(&trace), trace::chrome(&trace));
            let again = trace::file::decode(&trace::file::encode(&trace).unwrap());
            assert_eq!(again.unwrap(), *trace);
        }
        Ok(trace::Input::Counters(blocks)) => drop(trace::block_rows(&blocks)),
        Err(_) => {}
    }
}

fn text_of(files: &[&str], input: &[u8]) -> String {
    let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
    String::from_utf8_lossy(&edited(&files, input)).into_owned()
}

/// A part of a chip that is small enough for memory is put to use.
fn part_is_read(input: &[u8]) {
    let files: Vec<&str> = Part::names().map(|name| Part::text(name).unwrap()).collect();
    let read = Part::parse(&text_of(&files, input));
    seen::outcome("part", &read);
    let Ok(part) = read else { return };
    let geometry = part.geometry;
    let oob = u64::from(geometry.oob_size) * u64::from(geometry.page_count());
    let bytes = u64::from(geometry.block_size()) * u64::from(geometry.block_count) + oob;
    if bytes <= 1 << 24 && geometry.block_count <= 1 << 12 {
        let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
        let partition_blocks = geometry.block_count;
        let build = Build { part: Arc::new(part), partition_blocks, ..Build::of(&platform) };
        for main in [Main::Jffs2, Main::Yaffs2, Main::Ubifs, Main::Ftl] {
            seen::outcome("format", &build.format_and_mount(Stack::file(main)));
        }
    }
}

fn platform_is_read(input: &[u8]) {
    let names = Platform::names();
    let files: Vec<&str> = names.iter().map(|name| Platform::text(name).unwrap()).collect();
    let read = Platform::parse(&text_of(&files, input), Path::new("nowhere"));
    seen::outcome("platform", &read);
    if let Ok(platform) = read {
        drop(Build::of(&Arc::new(platform)));
    }
}

fn budget_is_read(input: &[u8]) {
    seen::outcome("budget", &Budget::parse(&text_of(&[BUDGET], input)));
}

/// What reads a file by its path reads this one.
fn with_file<T>(name: &str, bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read(&path)
}

/// A recording or a script. The checksum of a recording is right again after the edits.
fn recording_is_read(input: &[u8]) {
    let mut file = edited(&[RECORDING.as_bytes(), SCRIPT.as_bytes()], input);
    if let Some(tail) = file.windows(9).rposition(|it| it == b"{\"calls\":") {
        let calls = file[..tail].split(|byte| *byte == b'\n').count().saturating_sub(2);
        let crc = crc32fast::hash(&file[..tail]);
        file.truncate(tail);
        file.extend(format!("{{\"calls\":{calls},\"crc32\":{crc}}}\n").bytes());
    }
    let read = with_file("a.rec", &file, Recording::read);
    seen::outcome("recording", &read);
    if let Ok(recording) = read {
        let _again = recording.bytes();
    }
}

/// Runs of `flysch bench`, enough of them for a fit.
fn runs_file() -> String {
    let head = "workload,on,platform,record_size,requests,time_ns,page_reads,page_programs,\
        block_erases\n";
    let sizes = [(100, 10), (100, 40), (200, 10), (200, 80), (300, 20), (300, 60), (400, 100)];
    let line = |(size, requests): (u32, u32)| {
        let pages = size * requests / 500;
        let time_ns = 5000 + size * requests;
        format!("insert,sqlite/jffs2,p,{size},{requests},{time_ns},{requests},{pages},1\n")
    };
    sizes.map(line).into_iter().fold(head.to_owned(), |file, line| file + &line)
}

fn runs_are_fitted(input: &[u8]) {
    let file = edited(&[runs_file().as_bytes()], input);
    let read = observation::read(&file);
    seen::outcome("runs", &read);
    let Ok(observations) = read else { return };
    let fitted = fit(&observations);
    seen::outcome("fit", &fitted);
    if let Ok(models) = fitted {
        let _any = models.predict("insert", "sqlite/jffs2", 30, 150);
    }
}

/// Saved models, and what they predict.
fn models_predict(input: &[u8]) {
    let saved = observation::read(runs_file().as_bytes()).ok().and_then(|runs| fit(&runs).ok());
    let saved = serde_json::to_vec(&saved.expect("these runs are fitted")).unwrap();
    let read = serde_json::from_slice::<Models>(&edited(&[&saved], input));
    seen::outcome("models", &read);
    let Ok(models) = read else { return };
    let _any = models.predict("insert", "sqlite/jffs2", u32::MAX, 1);
}

fn cells_are_read(input: &[u8]) {
    let file = edited(&[CELLS.as_bytes()], input);
    let read = with_file("cells.csv", &file, |path| recorded::read(path).map(|rows| rows.len()));
    seen::outcome("cells", &read);
}

fn reference_is_read(input: &[u8]) {
    seen::outcome("reference", &reference::parse(&text_of(&REFERENCES, input)));
}

/// What a guest returns: an archive of its folder, and its runs as JSON.
fn answer_is_read(input: &[u8]) {
    let mut archive = Vec::new();
    for (name, content) in [("./a.csv", "1,2\n"), ("out/page.html", "<p>")] {
        let size = u32::try_from(content.len()).unwrap();
        let mut writer = cpio::newc::Builder::new(name).mode(0o100_644).write(&mut archive, size);
        std::io::Write::write_all(&mut writer, content.as_bytes()).unwrap();
        writer.finish().unwrap();
    }
    let archive = cpio::newc::trailer(archive).unwrap();
    seen::outcome("answer", &Answer::new("[]".to_owned(), &edited(&[&archive], input)));
    let run = r#"[{"on":"kernel:jffs2","workload":"insert","record_size":600,"requests":100,
        "parameters":{"read-ahead":"32"},"page_reads":2,"page_programs":200,"block_erases":0}]"#;
    let runs = serde_json::from_slice::<Vec<serde_json::Value>>(&edited(&[run.as_bytes()], input));
    seen::outcome("runs", &runs);
    for run in runs.unwrap_or_default() {
        let cell = flysch_kernel::validate::cell::of_json(&run);
        seen::note(if cell.is_some() { "cell" } else { "no cell" });
    }
}
