//! Failures of changes that had no answer, and the requests that report them.
//!
//! A change has no answer only if the medium has room for it, so such a failure is rare.
//!
//! A process may have several connections in several threads. Each must learn of its own failures
//! and of no others, because it relies on the results when it commits. So a failure belongs to a
//! database. It is reported as the result of the next request on that database or its journal.
//! Until then, further changes of the database are not executed.
//!
//! A write-ahead log has a handle for each connection, so a failure there belongs to the handle.
//! The same holds for files without a name.

use std::collections::BTreeMap;
use std::ffi::c_int;

use super::message::{Kind, Request};

/// What a failure belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Database(String),
    Handle(u32),
}

#[derive(Default)]
pub(super) struct Failures {
    codes: BTreeMap<Subject, c_int>,
    /// What each open file belongs to, by its number.
    subjects: BTreeMap<u32, Subject>,
}

impl Failures {
    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Note that a process opens a file or tries to.
    pub(super) fn opens(&mut self, request: &Request<'_>) {
        self.subjects.insert(request.file, subject_of_name(request, request.number != 0));
    }

    /// Note that a process closes a file. Failures that belong to its handle are forgotten.
    pub(super) fn closes(&mut self, file: u32) {
        self.subjects.remove(&file);
        self.codes.remove(&Subject::Handle(file));
    }

    /// Note the failure of a request without an answer.
    pub(super) fn note(&mut self, request: &Request<'_>, code: c_int) {
        self.codes.entry(self.subject(request)).or_insert(code);
    }

    /// Whether a request belongs to a failure that was not yet reported.
    pub(super) fn concerns(&self, request: &Request<'_>) -> bool {
        !self.is_empty() && self.codes.contains_key(&self.subject(request))
    }

    /// Take the failure that a request has to report. None if there is none.
    pub(super) fn tell(&mut self, request: &Request<'_>) -> Option<c_int> {
        if self.is_empty() {
            return None;
        }
        self.codes.remove(&self.subject(request))
    }

    fn subject(&self, request: &Request<'_>) -> Subject {
        if matches!(request.kind, Kind::Open | Kind::Delete | Kind::Exists) {
            let is_named = request.kind != Kind::Open || request.number != 0;
            return subject_of_name(request, is_named);
        }
        self.subjects.get(&request.file).cloned().unwrap_or(Subject::Handle(request.file))
    }
}

fn subject_of_name(request: &Request<'_>, is_named: bool) -> Subject {
    let name = String::from_utf8_lossy(request.bytes);
    if !is_named || name.ends_with("-wal") {
        return Subject::Handle(request.file);
    }
    Subject::Database(name.strip_suffix("-journal").unwrap_or(&name).to_owned())
}
