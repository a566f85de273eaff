//! Read a trace from a file of any known format. The first bytes decide which format it is.

use std::fs;
use std::path::Path;

use flysch_chip::Trace;
use flysch_nand::Geometry;

use super::error::TraceError;
use super::file::{self, MAGIC};
use super::flashmon;
use super::format::FileFormat;
use super::rows::{COLUMNS, parse_csv};
use super::tally::Tally;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Trace(Box<Trace>),
    /// Counters of each block, without events.
    Counters(Vec<Tally>),
}

impl FileFormat {
    /// Detect the format of a file by its first bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(MAGIC) {
            return Some(Self::Binary);
        }
        let first = bytes.split(|&byte| byte == b'\n').next()?;
        let line = str::from_utf8(first).ok()?.trim_end();
        if line.split(',').eq(COLUMNS) {
            Some(Self::Csv)
        } else if flashmon::is_log_line(line) {
            Some(Self::FlashmonLog)
        } else {
            flashmon::counter_line(line).map(|_| Self::FlashmonCounters)
        }
    }
}

/// Load a file of any format. `geometry` is for formats that need it and do not contain it, and is
/// refused for the others.
pub fn load_any(path: &Path, geometry: Option<Geometry>) -> Result<Input, TraceError> {
    parse_any(&fs::read(path)?, geometry)
}

/// Parse the bytes of a file of any format.
pub fn parse_any(bytes: &[u8], geometry: Option<Geometry>) -> Result<Input, TraceError> {
    let format = FileFormat::of(bytes).ok_or(TraceError::Unknown)?;
    let has_use = matches!(format, FileFormat::Csv | FileFormat::FlashmonLog);
    if geometry.is_some() && !has_use {
        return Err(TraceError::UnusedGeometry(format));
    }
    if format == FileFormat::Binary {
        return file::decode(bytes).map(|trace| Input::Trace(Box::new(trace)));
    }
    let text = str::from_utf8(bytes).map_err(|_| TraceError::Unknown)?;
    if format == FileFormat::FlashmonCounters {
        return flashmon::parse_counters(text).map(Input::Counters);
    }
    let geometry = geometry.ok_or(TraceError::NoGeometry(format))?;
    let parse = if format == FileFormat::Csv { parse_csv } else { flashmon::parse_log };
    parse(text, geometry).map(|trace| Input::Trace(Box::new(trace)))
}
