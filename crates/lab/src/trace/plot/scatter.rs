//! Scatter plot of time and page: one dot for each event, coloured by kind.
//!
//! Events on the same pixel become one dot, so the size of a drawing is bounded. An erase is a bar
//! as high as its block. A mark is a line from top to bottom.

use std::collections::BTreeSet;
use std::fmt::Write;

use flysch_charts::scale::{Scale, time_unit};
use flysch_charts::svg::Svg;
use flysch_charts::{Anchor, GRID, INK};
use flysch_chip::{Event, EventKind, EventPlace, Trace};
use flysch_nand::BlockAddr;

const SIZE: (u32, u32) = (1000, 620);
/// The four edges of the plot area.
const LEFT: u32 = 96;
const TOP: u32 = 72;
const RIGHT: u32 = 976;
const BOTTOM: u32 = 560;
/// Side length of a dot, and width of a bar.
const DOT: u32 = 3;
const MARK_COLOUR: &str = "#a08030";

/// The kinds that are drawn as dots, from the back of the drawing to its front. Each colour has a
/// contrast of at least 3 to a light ground and to a dark one.
const DOTS: [(EventKind, &str); 6] = [
    (EventKind::Erase, "#d62728"),
    (EventKind::BufferHit, "#8a8a8a"),
    (EventKind::ReadOob, "#0e93a1"),
    (EventKind::Read, "#1f77b4"),
    (EventKind::ProgramOob, "#9467bd"),
    (EventKind::Program, "#d96400"),
];

/// Draw a trace: its whole time, and the blocks that it touches.
pub fn scatter(trace: &Trace, title: &str) -> String {
    let mut svg = Svg::painted(SIZE.0, SIZE.1, title);
    legend(&mut svg, trace);
    let times = trace.events.iter().map(|event| event.time_ns);
    let (begin, end) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
    let time = Scale::new(begin, end, RIGHT - LEFT - DOT);
    let pages = page_scale(trace);
    time_axis(&mut svg, &time);
    page_axis(&mut svg, &pages);
    marks(&mut svg, trace, &time);
    for (kind, colour) in DOTS {
        let data = dots(trace, kind, &time, &pages);
        if !data.is_empty() {
            svg.painted_path(&data, colour);
        }
    }
    svg.frame((LEFT, TOP), (RIGHT - LEFT, BOTTOM - TOP));
    svg.finish()
}

fn legend(svg: &mut Svg, trace: &Trace) {
    let mut x = 20;
    let entries = DOTS.iter().rev().copied().chain([(EventKind::Mark, MARK_COLOUR)]);
    for (kind, colour) in entries {
        let count = trace.count(kind);
        if count > 0 {
            let text = format!("{} ({count})", kind.name());
            svg.painted_rect((x, 46), (10, 10), colour);
            svg.label((x + 15, 56), Anchor::Start, &text);
            x += 38 + 6 * u32::try_from(text.len()).expect("a name is short");
        }
    }
}

/// The first and last page of an event. An erase has those of its block. None for marks and NVRAM.
fn pages_of(trace: &Trace, event: &Event) -> Option<(u32, u32)> {
    match event.kind.place() {
        EventPlace::Nowhere | EventPlace::Byte => None,
        EventPlace::Block => {
            let first = trace.geometry.first_page(BlockAddr(event.addr)).0;
            Some((first, first + trace.geometry.pages_per_block - 1))
        }
        EventPlace::Page => Some((event.addr, event.addr)),
    }
}

fn page_scale(trace: &Trace) -> Scale {
    let ranges = trace.events.iter().filter_map(|event| pages_of(trace, event));
    let (mut min, mut max) = (u32::MAX, 0);
    for (first, last) in ranges {
        (min, max) = (min.min(first), max.max(last));
    }
    Scale::new(min.min(max).into(), max.into(), BOTTOM - TOP - DOT)
}

fn time_axis(svg: &mut Svg, time: &Scale) {
    let step = time.step(8);
    let (unit, unit_ns) = time_unit(step);
    for tick in time.ticks(step) {
        let x = LEFT + time.place(tick);
        svg.painted_line((x, TOP), (x, BOTTOM), GRID);
        svg.painted_line((x, BOTTOM), (x, BOTTOM + 5), INK);
        svg.label((x, BOTTOM + 20), Anchor::Middle, &(tick / unit_ns).to_string());
    }
    svg.label((LEFT.midpoint(RIGHT), BOTTOM + 44), Anchor::Middle, &format!("time ({unit})"));
}

fn page_axis(svg: &mut Svg, pages: &Scale) {
    for tick in pages.ticks(pages.step(8)) {
        let y = BOTTOM - pages.place(tick);
        svg.painted_line((LEFT, y), (RIGHT, y), GRID);
        svg.painted_line((LEFT - 5, y), (LEFT, y), INK);
        svg.label((LEFT - 9, y + 4), Anchor::End, &tick.to_string());
    }
    svg.label_upward((22, TOP.midpoint(BOTTOM)), "address (page)");
}

fn marks(svg: &mut Svg, trace: &Trace, time: &Scale) {
    let events = trace.events.iter().filter(|event| event.kind == EventKind::Mark);
    let columns: BTreeSet<u32> = events.map(|event| time.place(event.time_ns)).collect();
    for column in columns {
        svg.painted_line((LEFT + column, TOP), (LEFT + column, BOTTOM), MARK_COLOUR);
    }
}

/// The dots of one kind as SVG path data. Each pixel is drawn once.
fn dots(trace: &Trace, kind: EventKind, time: &Scale, pages: &Scale) -> String {
    let mut places = BTreeSet::new();
    for event in trace.events.iter().filter(|event| event.kind == kind) {
        if let Some((first, last)) = pages_of(trace, event) {
            let bottom = BOTTOM - pages.place(first.into());
            let top = BOTTOM - DOT - pages.place(last.into());
            places.insert((LEFT + time.place(event.time_ns), top, bottom - top));
        }
    }
    let mut data = String::new();
    for (x, y, height) in places {
        write!(data, "M{x} {y}h{DOT}v{height}h-{DOT}z").expect("memory takes what is written");
    }
    data
}
