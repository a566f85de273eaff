//! Changes that failed and had no answer: who is to know of them.
//!
//! Only changes for which there was room have no answer, so that a failure here is a rare one.
//!
//! A process has several connections, in several threads. Each has to learn of its own failures
//! alone, because it relies on them when it commits. So a failure belongs to a database, and is
//! told with the next answer about that database, its journal included. Until then no change of it
//! is made.
//!
//! A write-ahead log has a handle for each connection. So a failure there belongs to the handle.
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
    /// What open files belong to, by their number.
    subjects: BTreeMap<u32, Subject>,
}

impl Failures {
    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// A process opens a file, or tries to.
    pub(super) fn opens(&mut self, request: &Request<'_>) {
        self.subjects.insert(request.file, subject_of_name(request, request.number != 0));
    }

    /// A process closes a file. If nobody else can know it, nobody needs to know of its failures.
    pub(super) fn closes(&mut self, file: u32) {
        self.subjects.remove(&file);
        self.codes.remove(&Subject::Handle(file));
    }

    /// Note the failure of a request that has no answer.
    pub(super) fn note(&mut self, request: &Request<'_>, code: c_int) {
        self.codes.entry(self.subject(request)).or_insert(code);
    }

    /// Whether a failure concerns a request.
    pub(super) fn concerns(&self, request: &Request<'_>) -> bool {
        !self.is_empty() && self.codes.contains_key(&self.subject(request))
    }

    /// Tell the failure that concerns a request.
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
