//! What was asked of files for each table and index: bytes written, and syncs that waited for them.
//!
//! A write of a page is for one table, in whatever file it lies. A sync is for each table of which
//! its file held bytes that were not synced: one sync may count for several.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::Origin;

use super::{Contents, Part};

/// What was asked of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    pub bytes: u64,
    pub syncs: u64,
}

/// Writes and syncs in order. Which table a page belongs to is known in the end.
#[derive(Default)]
pub(super) struct Asked {
    bytes: Vec<(Origin, u64)>,
    /// What each file holds that is not synced.
    unsynced: BTreeMap<String, Vec<Origin>>,
    /// The origins that each sync waited for.
    synced: Vec<Vec<Origin>>,
}

impl Asked {
    pub(super) fn write(&mut self, name: &str, parts: &[Part]) {
        if parts.is_empty() {
            return;
        }
        self.bytes.extend(parts.iter().map(|(_, len, origin)| (*origin, *len)));
        let origins = parts.iter().map(|(_, _, origin)| *origin);
        self.unsynced.entry(name.to_owned()).or_default().extend(origins);
    }
}

impl Contents {
    /// A file is durable now.
    pub fn synced(&mut self, name: &str) {
        let waited = self.asked.unsynced.remove(name);
        self.asked.synced.extend(waited);
    }

    /// A file is gone, with what was not synced of it.
    pub fn deleted(&mut self, name: &str) {
        self.asked.unsynced.remove(name);
    }

    /// What was asked for each table and index, by name.
    pub fn writes(&mut self) -> BTreeMap<String, Writes> {
        self.settle_all();
        let mut all: BTreeMap<String, Writes> = BTreeMap::new();
        for (origin, len) in &self.asked.bytes {
            if let Some(name) = self.name_of(*origin) {
                all.entry(name.to_owned()).or_default().bytes += len;
            }
        }
        for origins in &self.asked.synced {
            let names: BTreeSet<&str> = origins.iter().filter_map(|it| self.name_of(*it)).collect();
            for name in names {
                all.entry(name.to_owned()).or_default().syncs += 1;
            }
        }
        all
    }

    fn name_of(&self, origin: Origin) -> Option<&str> {
        let label = self.label_of(origin)?;
        self.labels.all.get(label as usize).map(|name| name.name.as_str())
    }
}
