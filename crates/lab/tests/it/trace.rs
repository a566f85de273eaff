//! Tests of traces: saved traces load again, damaged ones are refused, and totals agree.

use std::ops::RangeInclusive;

use flysch_chip::{Blame, CauseId, CauseTree, Event, EventKind, EventPlace, Prng, TaskId, Trace};
use flysch_lab::trace::{
    Blindness, Filter, Input, Module, Tally, TraceError, block_rows, by_block, causes, file,
    flashmon, load, missed, other_events, parse_any, parse_csv, parse_shape, plot, save, summary,
    write_csv, write_json,
};

const SHAPE: &str = "512+16x32x40";

fn below(prng: &mut Prng, bound: u64) -> u32 {
    u32::try_from(prng.below(bound)).expect("bounds are 32-bit")
}

/// A valid trace that contains all kinds of events.
fn random_trace(seed: u64, event_count: usize) -> Trace {
    let mut prng = Prng::new(seed);
    let geometry = parse_shape(SHAPE).expect("a sound geometry");
    let mut causes = CauseTree::default();
    for label in ["insert", "commit, \"quoted\"", "fsync", "gc"] {
        let parent = CauseId(below(&mut prng, causes.len() as u64));
        let child = causes.child(parent, label);
        causes.child(child, "write");
    }
    let tasks = vec!["sqlite3".to_owned(), "gc; thread".to_owned(), String::new()];
    let mut time_ns = prng.below(1 << 40);
    let mut events = Vec::new();
    for _ in 0..event_count {
        time_ns += prng.below(1 << 20);
        let kind = EventKind::ALL[below(&mut prng, EventKind::ALL.len() as u64) as usize];
        let bound = if kind == EventKind::Erase { 40 } else { 32 * 40 };
        events.push(Event {
            time_ns,
            duration_ns: if prng.below(2) == 0 { 200_000 } else { below(&mut prng, 1 << 32) },
            addr: below(&mut prng, bound),
            bytes: if prng.below(2) == 0 { 512 } else { below(&mut prng, 528) },
            cause: CauseId(below(&mut prng, causes.len() as u64)),
            kind,
            task: [TaskId(0), TaskId(1), TaskId(2)][below(&mut prng, 3) as usize],
        });
    }
    let origin = ["", "{\"flysch\":\"0.1.0\"}"][usize::from(seed.is_multiple_of(3))].to_owned();
    Trace { geometry, causes, tasks, events, blame: Blame::default(), origin }
}

fn decode_resealed(body: &[u8]) -> Result<Trace, TraceError> {
    let mut bytes = body.to_vec();
    bytes.extend(crc32fast::hash(body).to_le_bytes());
    file::decode(&bytes)
}

#[test]
fn saved_traces_come_back() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..50 {
        let trace = random_trace(seed, usize::try_from(seed * 7).unwrap());
        let path = folder.path().join(format!("{seed}.trace"));
        save(&trace, &path, false).unwrap();
        assert_eq!(load(&path).unwrap(), trace, "seed {seed}");
        assert!(matches!(save(&trace, &path, false), Err(TraceError::Io(_))), "seed {seed}");
        save(&trace, &path, true).unwrap();
    }
}

/// The first seven kinds have the same encoding in both versions.
#[test]
fn files_of_version_1_are_read() {
    let mut trace = random_trace(13, 200);
    let with_version_1 = |trace: &Trace| {
        let bytes = file::encode(trace).unwrap();
        let mut body = bytes[..bytes.len() - 4].to_vec();
        body[8] = 1;
        decode_resealed(&body)
    };
    let error = with_version_1(&trace).unwrap_err().to_string();
    assert!(error.contains("kind"), "{error}");
    trace.events.retain(|event| event.kind.place() != EventPlace::Byte);
    assert_eq!(with_version_1(&trace).unwrap(), trace);
}

#[test]
fn regular_events_take_few_bytes() {
    let mut trace = random_trace(1, 0);
    let event = |number: u32| Event {
        time_ns: u64::from(number) * 250_000,
        duration_ns: 220_000,
        addr: number,
        bytes: 512,
        cause: CauseId(1),
        kind: EventKind::Program,
        task: TaskId(0),
    };
    let head_size = file::encode(&trace).unwrap().len();
    trace.events = (0..1_000).map(event).collect();
    let size = file::encode(&trace).unwrap().len() - head_size;
    assert!(size < 5_100, "{size} bytes for 1000 events");
}

#[test]
fn every_prefix_and_every_flipped_byte_is_refused() {
    let bytes = file::encode(&random_trace(3, 60)).unwrap();
    for end in 0..bytes.len() {
        file::decode(&bytes[..end]).unwrap_err();
        parse_any(&bytes[..end], None).unwrap_err();
    }
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            file::decode(&damaged).unwrap_err();
        }
    }
}

#[test]
fn damage_below_a_right_checksum_gives_a_sound_trace_or_an_error() {
    let bytes = file::encode(&random_trace(4, 60)).unwrap();
    let body = &bytes[..bytes.len() - 4];
    let mut prng = Prng::new(4);
    for end in 10..body.len() {
        let error = decode_resealed(&body[..end]).unwrap_err();
        assert!(matches!(error, TraceError::At { .. }), "{error}");
    }
    for at in 10..body.len() {
        for _ in 0..16 {
            let mut damaged = body.to_vec();
            damaged[at] = prng.next().to_le_bytes()[0];
            if let Ok(trace) = decode_resealed(&damaged) {
                summary(&trace);
                file::encode(&trace).expect("what was let in is sound");
            }
        }
    }
    decode_resealed(&[body, &[0]].concat()).unwrap_err();
}

#[test]
fn hostile_counts_allocate_nothing() {
    let geometry = [0x80, 0x04, 16, 1, 1, 32, 40, 0];
    let huge: &[u8] = &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    let cases: [(&[&[u8]], &str); 4] = [
        (&[huge], "byte 18: number of causes"),
        (&[&[0], huge], "byte 19: number of tasks"),
        (&[&[0, 0], huge], "byte 20: number of events"),
        (&[&[0, 1], huge], "byte 20: length of a name"),
    ];
    for (parts, wanted) in cases {
        let body = [&b"FLYSCHTR\x01\0"[..], &geometry, &parts.concat()].concat();
        let error = decode_resealed(&body).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn csv_comes_back() {
    for seed in 0..20 {
        let trace = random_trace(seed, 100);
        let text = String::from_utf8(write_csv(&trace)).unwrap();
        let back = parse_csv(&text, trace.geometry).unwrap();
        assert_eq!(write_csv(&back), text.as_bytes(), "seed {seed}");
        assert_eq!(Tally::of(&back.events), Tally::of(&trace.events), "seed {seed}");
        let detected = parse_any(text.as_bytes(), Some(trace.geometry)).unwrap();
        assert_eq!(detected, Input::Trace(Box::new(back)), "seed {seed}");
    }
}

#[test]
fn bad_csv_is_refused_with_its_line() {
    let head = "time_ns,duration_ns,kind,addr,bytes,task,cause\n";
    let cases = [
        ("", "neither a flysch trace"),
        ("time,kind\n", "neither a flysch trace"),
        ("@1,2,read,3,4,t\n", "line 2: the line is not of the form"),
        ("@1,2,read,3,4,t,c\n-1,2,read,3,4,t,c\n", "line 3: no such value for time_ns"),
        ("@1,4294967296,read,3,4,t,c\n", "line 2: no such value for duration_ns"),
        ("@1,2,look,3,4,t,c\n", "line 2: no such value for kind"),
        ("@1,2,read,1280,4,t,c\n", "line 2: page 1280 is beyond 1279"),
        ("@5,2,read,3,4,t,c\n4,2,read,3,4,t,c\n", "line 3: the event is earlier"),
        ("@1,2,read,3,4,\"a\nb\",c\n", "line 2: a name is"),
    ];
    for (text, wanted) in cases {
        let text = text.replace('@', head);
        let error = parse_any(text.as_bytes(), Some(parse_shape(SHAPE).unwrap())).unwrap_err();
        assert!(error.to_string().starts_with(wanted), "{text}: {error}");
    }
    let error = parse_any(head.as_bytes(), None).unwrap_err().to_string();
    assert!(error.starts_with("a CSV trace does not tell the chip's geometry"), "{error}");
}

#[test]
fn any_text_is_read_without_a_panic() {
    let geometry = Some(parse_shape(SHAPE).unwrap());
    let trace = random_trace(5, 40);
    let texts = [
        write_csv(&trace),
        flashmon::write_log(&trace).into_bytes(),
        flashmon::write_counters(&trace).into_bytes(),
    ];
    let mut prng = Prng::new(5);
    for text in texts {
        // Counters have a geometry of their own, and are refused another.
        let geometry = geometry.filter(|_| parse_any(&text, geometry).is_ok());
        parse_any(&text, geometry).unwrap();
        for at in 0..text.len() {
            let _prefix_may_be_whole = parse_any(&text[..at], geometry);
            let mut damaged = text.clone();
            damaged[at] = prng.next().to_le_bytes()[0];
            let _damage_may_be_sound = parse_any(&damaged, geometry);
        }
    }
}

#[test]
fn flashmon_shows_what_it_sees() {
    for seed in 0..20 {
        let trace = random_trace(seed, 200);
        let log = flashmon::write_log(&trace);
        let Input::Trace(back) = parse_any(log.as_bytes(), Some(trace.geometry)).unwrap() else {
            panic!("seed {seed}: a log is no counter file");
        };
        let seen = |tally: Tally| {
            let operations = tally.operations;
            let array = [operations.page_reads, operations.page_programs, operations.block_erases];
            (array, tally.buffer_hits, tally.marks)
        };
        let (kept, whole) = (Tally::of(&back.events), Tally::of(&trace.events));
        assert_eq!(seen(kept), seen(whole), "seed {seed}");
        assert_eq!(flashmon::write_log(&back), log, "seed {seed}");
        assert_eq!(other_events(&back), 0, "seed {seed}");

        let counters = flashmon::write_counters(&trace);
        assert_eq!(flashmon::write_counters(&back), counters, "seed {seed}");
        let Input::Counters(blocks) = parse_any(counters.as_bytes(), None).unwrap() else {
            panic!("seed {seed}: counters are no trace");
        };
        assert_eq!(flashmon::counters_text(&blocks), counters, "seed {seed}");
    }
}

#[test]
fn task_names_are_cut_as_the_kernel_cuts_them() {
    let mut trace = random_trace(6, 1);
    trace.events[0].kind = EventKind::Read;
    trace.tasks = vec!["fourteen-bytes\u{e9}, more".to_owned(); 3];
    assert!(flashmon::write_log(&trace).ends_with(";fourteen-bytes\n"));
}

#[test]
fn blind_spots_are_counted() {
    let trace = random_trace(7, 3_000);
    let whole = Tally::of(&trace.events);
    let short = |event: &&Event| event.kind == EventKind::Read && event.bytes < 512;
    let short_reads = trace.events.iter().filter(short).count() as u64;
    for (log_entries, subpage_reads) in [(1024, false), (1024, true), (0, true), (1 << 20, true)] {
        let rows = missed(&trace, &Module { log_entries, subpage_reads });
        let sum = |why: Blindness| -> u64 {
            rows.iter().filter(|row| row.why == why).map(|row| row.events).sum()
        };
        let oob = whole.operations.oob_reads + whole.operations.oob_programs;
        assert_eq!(sum(Blindness::OobOnly), oob);
        let subpage = if subpage_reads { short_reads } else { 0 };
        assert_eq!(sum(Blindness::SubpageRead), subpage);
        let nvram = whole.operations.nvram_reads + whole.operations.nvram_writes;
        let nvram = nvram + whole.operations.nvram_erases;
        assert_eq!(sum(Blindness::OtherMemory), nvram);
        let seen = whole.event_count() - oob - subpage - nvram;
        assert_eq!(sum(Blindness::Overwritten), seen.saturating_sub(log_entries as u64));
    }
}

#[test]
fn totals_agree() {
    for seed in 0..20 {
        let trace = random_trace(seed, 300);
        let whole = Tally::of(&trace.events);
        let counted = causes(&trace);
        assert_eq!(counted.all, whole, "seed {seed}");
        let (mut own, mut outermost) = (Tally::default(), Tally::default());
        for node in &counted.nodes {
            own += node.own;
            if node.depth == 0 {
                outermost += node.total;
            }
        }
        assert_eq!((own, outermost), (whole, whole), "seed {seed}");
        let other = counted.nodes.iter().find(|node| node.cause == "other");
        let other_count = other.map_or(0, |node| node.own.event_count());
        assert_eq!(other_count, other_events(&trace), "seed {seed}");

        let off_block =
            |event: &&Event| matches!(event.kind.place(), EventPlace::Byte | EventPlace::Nowhere);
        let off_block: Vec<Event> = trace.events.iter().filter(off_block).copied().collect();
        let mut blocks = Tally::of(&off_block);
        for row in block_rows(&by_block(&trace)) {
            blocks += row.tally;
        }
        assert_eq!(blocks, whole, "seed {seed}");

        let summary = summary(&trace);
        assert_eq!(summary.kinds.iter().map(|row| row.events).sum::<u64>(), summary.events);
        let mut tasks = Tally::default();
        for row in &summary.tasks {
            tasks += row.tally;
        }
        assert_eq!((tasks, summary.geometry.as_str()), (whole, SHAPE), "seed {seed}");
    }
}

#[test]
fn the_tree_is_drawn_depth_first_and_busiest_first() {
    let mut trace = random_trace(8, 0);
    let mut causes_of_trace = CauseTree::default();
    let insert = causes_of_trace.child(CauseId::ROOT, "insert");
    let select = causes_of_trace.child(CauseId::ROOT, "select");
    let write = causes_of_trace.child(insert, "write");
    causes_of_trace.child(insert, "idle");
    trace.causes = causes_of_trace;
    let event = |cause, duration_ns| {
        let (kind, task) = (EventKind::Read, TaskId(0));
        Event { time_ns: 0, duration_ns, addr: 0, bytes: 1, cause, kind, task }
    };
    trace.events = vec![event(insert, 1), event(select, 30), event(write, 9)];
    let counted = causes(&trace);
    let shown: Vec<(&str, u64, u64)> = counted
        .nodes
        .iter()
        .map(|node| {
            let time = |tally: Tally| tally.operations.flash_ns;
            (node.cause.as_str(), time(node.own), time(node.total))
        })
        .collect();
    assert_eq!(shown, [("select", 30, 30), ("insert", 1, 10), ("insert > write", 9, 9)]);
}

type Keeps<'a> = Box<dyn Fn(&Event) -> bool + 'a>;

#[test]
fn filters_keep_what_they_say() {
    let trace = random_trace(9, 400);
    let all = Filter::default();
    let time = trace.events[200].time_ns;
    let block = |event: &Event| match event.kind.place() {
        EventPlace::Nowhere | EventPlace::Byte => None,
        EventPlace::Block => Some(event.addr),
        EventPlace::Page => Some(event.addr / 32),
    };
    let blocks: RangeInclusive<u32> = 3..=9;
    let kinds = vec![EventKind::Read, EventKind::Erase];
    let cases: [(Filter, Keeps<'_>); 6] = [
        (all.clone(), Box::new(|_| true)),
        (Filter { from_ns: Some(time), ..all.clone() }, Box::new(|event| event.time_ns >= time)),
        (Filter { until_ns: Some(time), ..all.clone() }, Box::new(|event| event.time_ns <= time)),
        (
            Filter { kinds: kinds.clone(), ..all.clone() },
            Box::new(|event| kinds.contains(&event.kind)),
        ),
        (
            Filter { task: Some("sqlite3".to_owned()), ..all.clone() },
            Box::new(|event| event.task == TaskId(0)),
        ),
        (
            Filter { blocks: Some(blocks.clone()), ..all.clone() },
            Box::new(|event| block(event).is_none_or(|block| blocks.contains(&block))),
        ),
    ];
    for (filter, keeps) in cases {
        let wanted: Vec<Event> =
            trace.events.iter().filter(|event| keeps(event)).copied().collect();
        assert!(!wanted.is_empty(), "{filter:?}");
        assert_eq!(filter.apply(&trace).events, wanted, "{filter:?}");
        let limited = Filter { limit: Some(5), ..filter }.apply(&trace);
        assert_eq!(limited.events, wanted[..5]);
    }
    let gc = Filter { cause: Some("gc".to_owned()), ..all }.apply(&trace);
    assert!(!gc.events.is_empty());
    assert!(gc.events.iter().all(|event| trace.causes.path(event.cause).contains("gc")));
}

#[test]
fn json_has_the_names_of_the_columns() {
    let trace = random_trace(10, 3);
    let json: serde_json::Value = serde_json::from_slice(&write_json(&trace)).unwrap();
    assert_eq!(json["geometry"]["pages_per_block"], 32);
    let event = json["events"][2].as_object().unwrap();
    let names: Vec<&String> = event.keys().collect();
    assert_eq!(names, ["time_ns", "duration_ns", "kind", "addr", "bytes", "task", "cause"]);
    assert_eq!(event["time_ns"], trace.events[2].time_ns);
}

#[test]
fn drawings_are_whole_and_repeatable() {
    let empty = random_trace(11, 0);
    let full = random_trace(11, 500);
    for trace in [&empty, &full] {
        let blocks = by_block(trace);
        let scatter = plot::scatter(trace, "a < b & c");
        let heat = plot::blocks(&blocks, "a < b & c");
        assert_eq!(plot::scatter(trace, "a < b & c"), scatter);
        assert_eq!(plot::blocks(&blocks, "a < b & c"), heat);
        for drawing in [scatter, heat] {
            assert!(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n"));
            assert!(drawing.contains(">a &lt; b &amp; c</text>"));
        }
    }
    let drawing = plot::scatter(&full, "");
    for text in ["address (page)", "time (ms)", "buffer_hit (", "program_oob (", "mark ("] {
        assert!(drawing.contains(text), "{text}");
    }
    assert!(plot::blocks(&[], "no block").contains("block erases"));
}

#[test]
fn what_cannot_be_loaded_is_not_saved() {
    let sound = random_trace(12, 2);
    let late = Event { time_ns: u64::MAX, ..sound.events[1] };
    let unsound = [
        (Trace { events: vec![late], ..sound.clone() }, "event 0: time"),
        (Trace { events: vec![sound.events[1], sound.events[0]], ..sound.clone() }, "event 1: the"),
        (Trace { tasks: vec!["a\tb".to_owned()], ..sound.clone() }, "head of the trace: a name"),
        (Trace { tasks: Vec::new(), ..sound }, "event 0: no such value for task"),
    ];
    for (trace, wanted) in unsound {
        let error = file::encode(&trace).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}
