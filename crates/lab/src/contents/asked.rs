//! Counts for each table and index how many bytes programs wrote to files, and how many syncs
//! waited for them.
//!
//! A written page counts for one table, whether it lies in the database or in a journal. A sync
//! counts once for each table of which the file held bytes that were not yet synced. So one sync
//! may count for several tables.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::Origin;

use super::{Contents, Part};

/// Bytes that were written to files, and syncs of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    pub bytes: u64,
    pub syncs: u64,
}

/// All writes and syncs so far, by origin. Which table an origin belongs to is only known at the
/// end.
#[derive(Clone, Default)]
pub(super) struct Asked {
    bytes: Vec<(Origin, u64)>,
    /// The origins of bytes of each file that are not yet synced.
    unsynced: BTreeMap<String, Vec<Origin>>,
    /// For each sync, the origins of the bytes that it made durable.
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
    /// Note that a file was synced.
    pub fn synced(&mut self, name: &str) {
        let waited = self.asked.unsynced.remove(name);
        self.asked.synced.extend(waited);
    }

    /// Note that a file was deleted. Its bytes that were not synced are forgotten.
    pub fn deleted(&mut self, name: &str) {
        self.asked.unsynced.remove(name);
    }

    /// Bytes written and syncs of each table and index, by its name.
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
