//! The verdicts on planted faults, which `docs/planted.csv` stores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::fault::Fault;
use crate::Outcome;
use crate::shell::root;

const DOCUMENT: &str = "docs/planted.csv";

/// The verdict on a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This test fails with the fault, as it should.
    Caught(String),
    /// Every test passes in spite of the fault.
    Escaped,
    /// No test can notice the fault, for this reason.
    Equivalent(String),
}

impl Verdict {
    const fn word(&self) -> &'static str {
        match self {
            Self::Caught(_) => "caught",
            Self::Escaped => "escaped",
            Self::Equivalent(_) => "equivalent",
        }
    }

    fn read(word: &str, reason: &str) -> Outcome<Self> {
        match word {
            "caught" => Ok(Self::Caught(reason.to_owned())),
            "escaped" => Ok(Self::Escaped),
            "equivalent" => Ok(Self::Equivalent(reason.to_owned())),
            _ => Err(format!("{DOCUMENT}: `{word}` is no verdict").into()),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(test) => write!(f, "caught by {test}"),
            Self::Escaped => f.write_str("ESCAPED"),
            Self::Equivalent(reason) => write!(f, "equivalent: {reason}"),
        }
    }
}

/// The verdicts, by the names of the faults.
pub(super) struct Verdicts(BTreeMap<String, (String, Verdict)>);

impl Verdicts {
    pub(super) fn read() -> Outcome<Self> {
        let mut verdicts = BTreeMap::new();
        let path = root().join(DOCUMENT);
        if path.is_file() {
            for record in csv::Reader::from_path(path)?.records() {
                let record = record?;
                let field = |at: usize| record.get(at).unwrap_or_default();
                let verdict = Verdict::read(field(2), field(3))?;
                verdicts.insert(field(1).to_owned(), (field(0).to_owned(), verdict));
            }
        }
        Ok(Self(verdicts))
    }

    /// Whether a fault was tested before.
    pub(super) fn has(&self, fault: &Fault) -> bool {
        self.0.contains_key(&fault.name)
    }

    /// Whether a fault escaped when it was last tested.
    pub(super) fn has_escaped(&self, fault: &Fault) -> bool {
        self.0.get(&fault.name).is_some_and(|(_, known)| *known == Verdict::Escaped)
    }

    /// The test that caught a fault when it was last tested. None if none did.
    pub(super) fn test_of(&self, fault: &Fault) -> Option<&str> {
        match self.0.get(&fault.name) {
            Some((_, Verdict::Caught(test))) => Some(test),
            _ => None,
        }
    }

    /// Whether a verdict contradicts the stored one. It does not matter which test caught the
    /// fault, and a fault that escaped may be caught now.
    pub(super) fn differs(&self, fault: &Fault, verdict: &Verdict) -> bool {
        let is_known = |known: &Verdict| known.word() == verdict.word();
        let is_better = matches!(verdict, Verdict::Caught(_));
        !is_better && self.0.get(&fault.name).is_none_or(|(_, known)| !is_known(known))
    }

    pub(super) fn set(&mut self, fault: &Fault, verdict: Verdict) {
        self.0.insert(fault.name.clone(), (fault.area(), verdict));
    }

    /// Remove the verdicts on faults that are not in the list any more.
    pub(super) fn keep(&mut self, faults: &[Fault]) {
        self.0.retain(|name, _| faults.iter().any(|fault| fault.name == *name));
    }

    pub(super) fn write(&self) -> Outcome {
        let mut writer = csv::Writer::from_path(root().join(DOCUMENT))?;
        writer.write_record(["area", "name", "verdict", "test or reason"])?;
        let mut rows: Vec<_> = self.0.iter().collect();
        rows.sort_by_key(|(name, (area, _))| (area.clone(), (*name).clone()));
        for (name, (area, verdict)) in rows {
            let reason = match verdict {
                Verdict::Caught(reason) | Verdict::Equivalent(reason) => reason,
                Verdict::Escaped => "",
            };
            writer.write_record([area, name, verdict.word(), reason])?;
        }
        Ok(writer.flush()?)
    }

    /// Print how many faults of the list are caught, for each area and in total.
    pub(super) fn print(&self, faults: &[Fault]) {
        let areas: BTreeSet<String> = faults.iter().map(Fault::area).collect();
        for area in areas.iter().map(String::as_str).chain([""]) {
            let is_here = |fault: &&Fault| area.is_empty() || fault.area() == area;
            let here = || faults.iter().filter(is_here);
            let known = || here().filter_map(|fault| self.0.get(&fault.name));
            let count = |word| known().filter(|(_, verdict)| verdict.word() == word).count();
            let [caught, escaped, equivalent] = ["caught", "escaped", "equivalent"].map(count);
            let (all, place) = (here().count(), if area.is_empty() { "all" } else { area });
            println!(
                "{place}: of {all} faults {caught} are caught, {escaped} escape, {equivalent} \
                 change nothing"
            );
        }
    }
}
