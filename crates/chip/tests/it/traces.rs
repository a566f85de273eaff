//! Traces: one event for each operation, with its cause and its task, and no event without power.

use flysch_chip::{
    CauseId, Clock, Ending, EventKind, FaultInjector, FaultPlan, Nor, NorFigures, Origin, Pram,
    PramFigures, Recorder, TaskId, Trace, Tracer, Traffic,
};
use flysch_nand::{BlockAddr, Nand, NvRam, PageAddr};

use crate::{PAGE_SIZE, pattern, small_chip};

fn traced() -> (Recorder, Tracer<FaultInjector>) {
    let clock = Clock::new();
    let recorder = Recorder::new(clock.clone(), "workload");
    let device = FaultInjector::new(small_chip(&clock));
    (recorder.clone(), Tracer::new(device, recorder))
}

#[test]
fn each_operation_is_an_event_with_its_cause() {
    let (recorder, mut device) = traced();
    let page = PageAddr(9);
    {
        let _statement = recorder.scope("insert");
        let _write = recorder.scope("write");
        device.program(page, 0, &pattern(page, PAGE_SIZE), &[0xFF, 1]).unwrap();
        {
            let _flusher = recorder.task("flusher");
            let _pass = recorder.scope("collect");
            device.erase(BlockAddr(2)).unwrap();
        }
        device.program(page, 0, &[], &[0xFF, 0]).unwrap();
    }
    device.read(page, 0, &mut [0; 512]).unwrap();
    device.read(page, 2048, &mut [0; 8]).unwrap();
    device.is_bad(BlockAddr(1)).unwrap();
    device.mark_bad(BlockAddr(3)).unwrap();
    recorder.mark(77);

    let trace = recorder.take(device.geometry());
    let seen: Vec<_> = trace
        .events
        .iter()
        .map(|event| {
            let task = trace.tasks[usize::from(event.task.0)].as_str();
            (event.kind, event.addr, event.bytes, trace.causes.path(event.cause), task)
        })
        .collect();
    let rows = [
        (EventKind::Program, 9, 2050, "insert > write", "workload"),
        (EventKind::Erase, 2, 0, "collect", "flusher"),
        (EventKind::ProgramOob, 9, 2, "insert > write", "workload"),
        (EventKind::Read, 9, 512, "other", "workload"),
        (EventKind::ReadOob, 9, 8, "other", "workload"),
        (EventKind::ReadOob, 8, 1, "other", "workload"),
        (EventKind::ProgramOob, 24, 1, "other", "workload"),
        (EventKind::Mark, 77, 0, "other", "workload"),
    ];
    let wanted =
        rows.map(|(kind, addr, bytes, path, task)| (kind, addr, bytes, path.to_owned(), task));
    assert_eq!(seen, wanted);
}

#[test]
fn events_follow_one_another_without_a_gap() {
    let (recorder, mut device) = traced();
    for page in (8..16).map(PageAddr) {
        device.program(page, 0, &pattern(page, PAGE_SIZE), &[]).unwrap();
        device.read(page, 0, &mut [0; 100]).unwrap();
    }
    let trace = recorder.take(device.geometry());
    let mut now_ns = 0;
    for event in &trace.events {
        assert_eq!(event.time_ns, now_ns);
        now_ns += u64::from(event.duration_ns);
    }
    assert_eq!(now_ns, recorder.clock().now_ns());
    assert_eq!(recorder.count(EventKind::Program), 0, "taken");
}

#[test]
fn a_trace_is_taken_in_parts_and_pauses() {
    let (recorder, mut device) = traced();
    recorder.follow_bytes(device.geometry());
    let (whole, size) = ((0, 2048), 2048);
    recorder.pause(true);
    device.erase(BlockAddr(0)).unwrap();
    recorder.pause(false);
    for (page, origin) in [(8, 1), (9, 2), (10, 1)] {
        recorder.own("fs", 7, whole, Origin(origin));
        recorder.store("fs", 7, whole, whole);
        let _shipment = recorder.ship(0);
        device.program(PageAddr(page), 0, &pattern(PageAddr(page), PAGE_SIZE), &[]).unwrap();
    }
    let is_first = |shares: &[(Origin, u32)]| shares.iter().all(|(origin, _)| *origin == Origin(1));
    let (part, cargo) = recorder.take_part(device.geometry(), is_first);
    let pages = |trace: &Trace| trace.events.iter().map(|event| event.addr).collect::<Vec<_>>();
    assert_eq!(pages(&part), [8, 10]);
    assert_eq!(cargo.of(1), [(Origin(1), size)]);
    assert_eq!((recorder.len(), recorder.count(EventKind::Program)), (1, 3));
    assert_eq!(recorder.take_cargo().of(0), [(Origin(2), size)]);
    assert_eq!(pages(&recorder.take(device.geometry())), [9]);
    recorder.reset();
    assert_eq!(recorder.count(EventKind::Program), 0);
}

#[test]
fn without_power_there_are_no_events() {
    for (ending, events) in [(Ending::NotBegun, 0), (Ending::Torn, 1), (Ending::Complete, 1)] {
        let (recorder, mut device) = traced();
        let plan = FaultPlan { cut_at: Some(0), ending: Some(ending), ..FaultPlan::default() };
        device.device_mut().arm(plan);
        device.program(PageAddr(8), 0, &[0; PAGE_SIZE], &[]).unwrap_err();
        let now_ns = recorder.clock().now_ns();
        device.read(PageAddr(8), 0, &mut [0]).unwrap_err();
        device.erase(BlockAddr(1)).unwrap_err();
        assert_eq!(recorder.clock().now_ns(), now_ns);
        let trace = recorder.take(device.geometry());
        assert_eq!(trace.events.len(), events, "{ending:?}");
        assert!(
            trace
                .events
                .iter()
                .all(|event| (event.cause, event.task) == (CauseId::ROOT, TaskId(0)))
        );
    }
}

#[test]
fn memory_beside_the_nand_is_traced_too() {
    let clock = Clock::new();
    let recorder = Recorder::new(clock.clone(), "workload");
    let figures = PramFigures { size: 256, ..PramFigures::HYBRID_SQLITE };
    let mut pram = Tracer::new(Pram::new(figures, clock.clone(), 1), recorder.clone());
    let figures = NorFigures { size: 256, erase_size: 64, ..NorFigures::AM29LV008B };
    let mut nor = Tracer::new(Nor::new(figures, clock, 1), recorder.clone());
    pram.write(3, &[1, 2, 3]).unwrap();
    pram.read(0, &mut [0; 8]).unwrap();
    nor.erase(64).unwrap();
    nor.write(70, &[0]).unwrap();
    pram.device().supply().power_off();
    pram.write(0, &[9]).unwrap_err();

    let (_, device) = traced();
    let trace = recorder.take(device.geometry());
    let seen: Vec<_> = trace
        .events
        .iter()
        .map(|event| (event.kind, event.addr, event.bytes, event.duration_ns))
        .collect();
    // Words have 2 bytes, so that bytes 3 to 5 are in two of them.
    let wanted = [
        (EventKind::NvWrite, 3, 3, 2_000),
        (EventKind::NvRead, 0, 8, 4 * 80),
        (EventKind::NvErase, 64, 64, 700_000_000),
        (EventKind::NvWrite, 70, 1, 9_000),
    ];
    assert_eq!(seen, wanted);
    let traffic = Traffic { reads: 1, read_bytes: 8, writes: 1, written_bytes: 3 };
    assert_eq!(pram.device().traffic(), traffic);
}
