//! The format of a recording: lines of JSON. `docs/recording.md` describes it.
//!
//! The first line says what was recorded. Each further line is a call. The last line has the number
//! of calls and a checksum of all bytes before it, so a truncated file is detected.

use std::path::{Component, Path};

use flysch_sqlite::calls::{About, Entry};
use serde::{Deserialize, Serialize};

use super::{Origin, Recording};
use crate::program::Start;

/// The version of the format that is written and read.
pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Head {
    flysch_recording: u32,
    #[serde(flatten)]
    origin: Origin,
    sqlite: About,
    databases: Vec<Start>,
    cannot_repeat: Vec<String>,
}

/// The fields of the first line that every version has.
#[derive(Deserialize)]
struct Beginning {
    flysch_recording: u32,
}

#[derive(Serialize, Deserialize)]
struct Tail {
    calls: usize,
    crc32: u32,
}

pub(super) fn bytes(recording: &Recording) -> Vec<u8> {
    let head = Head {
        flysch_recording: VERSION,
        origin: recording.origin.clone(),
        sqlite: recording.about.clone(),
        databases: recording.databases.clone(),
        cannot_repeat: recording.cannot.clone(),
    };
    let mut bytes = line(&head);
    for entry in &recording.entries {
        bytes.extend(line(entry));
    }
    let tail = Tail { calls: recording.entries.len(), crc32: crc32fast::hash(&bytes) };
    bytes.extend(line(&tail));
    bytes
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).expect("a recording has JSON values");
    bytes.push(b'\n');
    bytes
}

pub(super) fn parse(name: String, bytes: &[u8]) -> Result<Recording, String> {
    let no_recording = "it is no recording of flysch";
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().ok_or(no_recording)?;
    let beginning: Beginning = serde_json::from_slice(first).map_err(|error| {
        if error.is_eof() { cut_short("in line 1") } else { no_recording.to_owned() }
    })?;
    let version = beginning.flysch_recording;
    if version != VERSION {
        return Err(format!(
            "a recording of version {version}; this program reads version {VERSION}"
        ));
    }
    let head: Head = serde_json::from_slice(first).map_err(|error| damaged(1, &error))?;
    if let Some(start) = head.databases.iter().find(|start| !is_plain(&start.name)) {
        return Err(format!("it is damaged: '{}' is no name of a file", start.name));
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut at = first.len();
    for (number, text) in (2..).zip(lines) {
        if text.starts_with(b"{\"calls\":") {
            let tail: Tail =
                serde_json::from_slice(text).map_err(|error| damaged(number, &error))?;
            if tail.calls != entries.len() || tail.crc32 != crc32fast::hash(&bytes[..at]) {
                return Err("it is damaged: its checksum is that of other calls".to_owned());
            }
            let Head { origin, sqlite: about, databases, cannot_repeat: cannot, .. } = head;
            return Ok(Recording { name, origin, about, databases, cannot, entries, lines: None });
        }
        entries.push(serde_json::from_slice(text).map_err(|error| damaged(number, &error))?);
        at += text.len();
    }
    Err(cut_short(&format!("after {} calls", entries.len())))
}

/// Whether a name on the machine is a plain file name, without a path. Files are copied to folders
/// of the host under these names, so they must not lead elsewhere.
fn is_plain(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let is_normal = matches!(components.next(), Some(Component::Normal(first)) if first == name);
    is_normal && components.next().is_none()
}

fn cut_short(place: &str) -> String {
    format!("the recording is cut short {place}")
}

fn damaged(number: usize, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return cut_short(&format!("in line {number}"));
    }
    format!("it is damaged in line {number}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_no_other_folder() {
        for name in ["", ".", "..", "/etc/passwd", "a/b", "a/", "./a", "../a"] {
            assert!(!is_plain(name), "{name}");
        }
        assert!(is_plain("app.db") && is_plain("2.b.db") && is_plain("a b"));
    }
}
