//! Traces as CSV and JSON.
//!
//! CSV has a line of column names, `time_ns,duration_ns,kind,addr,bytes,task,cause`, then one line
//! for each event. Names are quoted if necessary. It does not contain the geometry. JSON is
//! `{"geometry":{...},"events":[{...}]}` with the same names. It can be written but not read.

use flysch_chip::{Event, Trace};
use flysch_nand::Geometry;
use serde::Serialize;

use super::error::{Fault, Place, TraceError};
use super::intake::Intake;
use super::log::{Log, LogRow};

/// The names of the columns, in order.
pub(super) const COLUMNS: [&str; 7] =
    ["time_ns", "duration_ns", "kind", "addr", "bytes", "task", "cause"];

#[derive(Serialize)]
struct Document<'a> {
    geometry: Shape,
    #[serde(skip_serializing_if = "str::is_empty")]
    origin: &'a str,
    events: Vec<LogRow<'a>>,
}

#[derive(Serialize)]
struct Shape {
    page_size: u32,
    oob_size: u32,
    sectors_per_page: u32,
    partial_programs: u32,
    pages_per_block: u32,
    block_count: u32,
    in_order: bool,
}

/// Write a trace as CSV.
///
/// # Panics
/// Never: writing to memory does not fail.
pub fn write_csv(trace: &Trace) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.write_record(COLUMNS).expect("memory takes what is written");
    for row in Log::new(trace).rows() {
        writer.serialize(row).expect("a row is flat");
    }
    writer.into_inner().expect("memory takes what is written")
}

/// Write a trace as JSON.
///
/// # Panics
/// Never: writing to memory does not fail.
pub fn write_json(trace: &Trace) -> Vec<u8> {
    let shape = &trace.geometry;
    let geometry = Shape {
        page_size: shape.page_size,
        oob_size: shape.oob_size,
        sectors_per_page: shape.sectors_per_page,
        partial_programs: shape.partial_programs,
        pages_per_block: shape.pages_per_block,
        block_count: shape.block_count,
        in_order: shape.in_order,
    };
    let log = Log::new(trace);
    let document = Document { geometry, origin: &trace.origin, events: log.rows().collect() };
    let mut bytes = serde_json::to_vec(&document).expect("rows have JSON values");
    bytes.push(b'\n');
    bytes
}

/// Parse a CSV trace. `geometry` is that of the traced chip.
pub fn parse_csv(text: &str, geometry: Geometry) -> Result<Trace, TraceError> {
    let at_line = |line| move |fault| TraceError::at(Place::Line(line), fault);
    let mut intake = Intake::new(geometry).map_err(at_line(1))?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    for (number, record) in reader.records().enumerate() {
        let record = record.map_err(|error| csv_error(&error))?;
        let line = record.position().map_or(1, csv::Position::line);
        let fault_here = at_line(usize::try_from(line).unwrap_or(usize::MAX));
        if number == 0 {
            let named = record.iter().eq(COLUMNS);
            named.then_some(()).ok_or(Fault::Shape("of the columns")).map_err(fault_here)?;
        } else {
            let event = parse_row(&mut intake, &record).map_err(fault_here)?;
            intake.push(event).map_err(fault_here)?;
        }
    }
    Ok(intake.finish())
}

fn csv_error(error: &csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    let place = Place::Line(usize::try_from(line).unwrap_or(usize::MAX));
    TraceError::at(place, Fault::Shape("of seven columns"))
}

fn parse_row(intake: &mut Intake, record: &csv::StringRecord) -> Result<Event, Fault> {
    let number =
        |place: usize| record[place].parse::<u64>().map_err(|_| Fault::Column(COLUMNS[place]));
    let small =
        |place: usize| u32::try_from(number(place)?).map_err(|_| Fault::Column(COLUMNS[place]));
    Ok(Event {
        time_ns: number(0)?,
        duration_ns: small(1)?,
        kind: record[2].parse().map_err(|_| Fault::Column(COLUMNS[2]))?,
        addr: small(3)?,
        bytes: small(4)?,
        task: intake.task(&record[5])?,
        cause: intake.cause(&record[6])?,
    })
}
