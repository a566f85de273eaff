//! What the files of SQLite contain: which table or index each page belongs to.
//!
//! Pages are parsed when SQLite writes them, so no help from the program is needed and the parsing
//! costs nothing on the virtual clock. Each written page gets an [`Origin`]. The table that it
//! belongs to is determined at the end of its transaction, when the b-tree above it is known.
//!
//! ```text
//! page      a page of a database: what it refers to
//! schema    the names of the tables and indexes
//! database  the role of each page
//! journals  which pages lie where in a journal or a write-ahead log
//! asked     bytes written and syncs, by table
//! ```

mod asked;
mod database;
mod journals;
mod page;
mod schema;

use std::collections::BTreeMap;

use flysch_chip::{Blame, Cargo, Origin, TableName};
use flysch_sqlite::FileKind;

pub use asked::Writes;

use asked::Asked;
use database::Database;
use journals::{JournalPart, Journals, WalPart};

/// The contents of files, by file name. A label is the number of a table, an index or another kind
/// of content; labels are numbered in the order of their first use.
#[derive(Clone, Default)]
pub struct Contents {
    databases: BTreeMap<String, Database>,
    journals: BTreeMap<String, Journals>,
    labels: Labels,
    /// The label of each origin. None until the page's table is determined.
    origins: Vec<Option<u32>>,
    /// The origin that bytes with a known label share.
    settled: BTreeMap<u32, Origin>,
    /// The labels of the pages that were written to a rollback journal, in order.
    journaled: Vec<u32>,
    asked: Asked,
}

/// All labels with their names.
#[derive(Clone, Default)]
struct Labels {
    all: Vec<TableName>,
    known: BTreeMap<TableName, u32>,
    /// The labels of content that has a kind and a file, but no name of its own, such as journal
    /// headers.
    plain: Vec<(&'static str, &'static str, u32)>,
}

impl Labels {
    fn of(&mut self, name: TableName) -> u32 {
        let next = u32::try_from(self.all.len()).expect("a database has fewer tables");
        *self.known.entry(name.clone()).or_insert_with(|| {
            self.all.push(name);
            next
        })
    }

    fn plain(&mut self, kind: &'static str, file: &'static str) -> u32 {
        let known = self.plain.iter().find(|(known, of, _)| *known == kind && *of == file);
        if let Some((_, _, label)) = known {
            return *label;
        }
        let name =
            TableName { kind: kind.to_owned(), file: file.to_owned(), ..TableName::default() };
        let label = self.of(name);
        self.plain.push((kind, file, label));
        label
    }
}

/// Files other than SQLite's get labels of their own until there are this many labels.
const LABELS_MAX: usize = 500;

/// A part of a write: offset in the file, length, and origin.
pub type Part = (u64, u64, Origin);

impl Contents {
    /// Call this before a program writes a file. Returns the origins of the bytes.
    pub fn written(&mut self, name: &str, kind: FileKind, offset: u64, bytes: &[u8]) -> Vec<Part> {
        let parts = self.parts(name, kind, offset, bytes);
        self.asked.write(name, &parts);
        parts
    }

    /// The origins of bytes of a file. Call this for bytes that no program writes, such as imported
    /// files.
    pub fn parts(&mut self, name: &str, kind: FileKind, offset: u64, bytes: &[u8]) -> Vec<Part> {
        match kind {
            FileKind::Database => self.database_written(name, offset, bytes),
            FileKind::Journal => self.journal_written(name, offset, bytes),
            FileKind::Wal => self.wal_written(name, offset, bytes),
            FileKind::SuperJournal | FileKind::StatementJournal => {
                vec![(offset, bytes.len() as u64, self.plain("journal", "journal"))]
            }
            FileKind::TemporaryJournal
            | FileKind::TemporaryDatabase
            | FileKind::TransientDatabase => {
                vec![(offset, bytes.len() as u64, self.plain("temporary", "temporary"))]
            }
        }
    }

    /// Call this before a file that is not SQLite's is written.
    pub fn other_written(&mut self, name: &str, offset: u64, len: u64) -> Vec<Part> {
        let of = |name: &str| TableName {
            kind: "file".to_owned(),
            name: name.to_owned(),
            table: name.to_owned(),
            file: "file".to_owned(),
        };
        let Labels { known, .. } = &self.labels;
        let is_named = known.contains_key(&of(name)) || known.len() < LABELS_MAX;
        let label = self.labels.of(of(if is_named { name } else { "" }));
        vec![(offset, len, self.shared(label))]
    }

    /// A file was synced, emptied, deleted or closed: determine the tables of the pages that were
    /// written to its database.
    pub fn settle(&mut self, name: &str) {
        let database = database_of(name);
        let Self { databases, labels, origins, .. } = self;
        if let Some(known) = databases.get_mut(database) {
            for (page, origin, file) in known.settle() {
                let label = known.label(page, file, |name| labels.of(name));
                origins[origin.0 as usize] = Some(label);
            }
        }
    }

    /// Read a database that exists before the run. Returns the origins of its pages.
    pub fn load(&mut self, name: &str, bytes: &[u8]) -> Vec<Part> {
        let database = self.databases.entry(name.to_owned()).or_default();
        database.note_size(bytes);
        let size = database.page_size().max(512);
        for (number, page) in (1..).zip(bytes.chunks(size)) {
            database.put(number, page, None);
        }
        self.settle(name);
        let mut parts = Vec::new();
        for (number, page) in (1..).zip(bytes.chunks(size)) {
            let label = self.label_of_page(name, number, "database").unwrap_or_default();
            let offset = u64::from(number - 1) * size as u64;
            parts.push((offset, page.len() as u64, self.shared(label)));
        }
        parts
    }

    /// The tables that the events of a trace are for. `cargo` holds the origins of each event's
    /// bytes.
    pub fn blame(&mut self, cargo: &Cargo, events: usize) -> Blame {
        self.settle_all();
        self.blame_so_far(cargo, events)
    }

    /// The same, while pages may wait for the end of their transaction. Such pages count for no
    /// table.
    pub fn blame_so_far(&self, cargo: &Cargo, events: usize) -> Blame {
        let mut of_tables = Cargo::default();
        for place in 0..events {
            let shares = cargo.of(place);
            if let [(origin, bytes)] = shares {
                of_tables.push(self.label_of(*origin).map(|label| (Origin(label), *bytes)));
                continue;
            }
            let mut sums: BTreeMap<u32, u32> = BTreeMap::new();
            for (origin, bytes) in shares {
                if let Some(label) = self.label_of(*origin) {
                    *sums.entry(label).or_default() += bytes;
                }
            }
            of_tables.push(sums.into_iter().map(|(label, bytes)| (Origin(label), bytes)));
        }
        Blame { tables: self.labels.all.clone(), of_tables, ..Blame::default() }
    }

    fn settle_all(&mut self) {
        let names: Vec<String> = self.databases.keys().cloned().collect();
        for name in &names {
            self.settle(name);
        }
    }

    /// The names of all labels, by number.
    pub fn labels(&self) -> &[TableName] {
        &self.labels.all
    }

    /// The label of an origin. None if it is not known yet.
    pub fn label_of(&self, origin: Origin) -> Option<u32> {
        self.origins.get(origin.0 as usize).copied().flatten()
    }

    /// Take the labels of the pages that were written to journals since the last call.
    pub fn take_journaled(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.journaled)
    }

    fn database_written(&mut self, name: &str, offset: u64, bytes: &[u8]) -> Vec<Part> {
        let database = self.databases.entry(name.to_owned()).or_default();
        if offset == 0 {
            database.note_size(bytes);
        }
        let size = database.page_size();
        let is_page = size > 0 && offset.is_multiple_of(size as u64) && bytes.len() == size;
        let Ok(number) = u32::try_from(offset / size.max(1) as u64 + 1) else { return Vec::new() };
        if !is_page {
            return Vec::new();
        }
        if number == 1 {
            // SQLite writes changed pages in ascending order, so page 1 begins a new transaction.
            self.settle(name);
        }
        let origin = self.pending(name, number, Some(bytes), "database");
        vec![(offset, bytes.len() as u64, origin)]
    }

    fn journal_written(&mut self, name: &str, offset: u64, bytes: &[u8]) -> Vec<Part> {
        let database = database_of(name).to_owned();
        let size = self.databases.get(&database).map_or(0, Database::page_size);
        let journals = self.journals.entry(name.to_owned()).or_default();
        let origin = match journals.journal_part(offset, bytes, size) {
            JournalPart::Page(number) => {
                let label = self.label_of_page(&database, number, "journal");
                self.journaled.extend(label);
                match label {
                    Some(label) => self.shared(label),
                    None => self.plain("journal", "journal"),
                }
            }
            JournalPart::Own => self.plain("journal", "journal"),
        };
        vec![(offset, bytes.len() as u64, origin)]
    }

    fn wal_written(&mut self, name: &str, offset: u64, bytes: &[u8]) -> Vec<Part> {
        let database = database_of(name).to_owned();
        let journals = self.journals.entry(name.to_owned()).or_default();
        let parts = journals.wal_parts(offset, bytes);
        let mut found = Vec::with_capacity(parts.len());
        for (at, len, part) in parts {
            let origin = match part {
                WalPart::Own => self.plain("wal", "wal"),
                WalPart::Page { number, is_whole, .. } => {
                    let begin = usize::try_from(at - offset).expect("within the write");
                    let content = &bytes[begin..begin + usize::try_from(len).expect("a page")];
                    if self.databases.entry(database.clone()).or_default().page_size() == 0 {
                        self.databases.entry(database.clone()).or_default().set_size(content.len());
                    }
                    self.pending(&database, number, is_whole.then_some(content), "wal")
                }
            };
            found.push((at, len, origin));
            if matches!(part, WalPart::Page { is_last: true, .. }) {
                self.settle(&database);
            }
        }
        found
    }

    /// A new origin for a page whose table is determined at the end of the transaction.
    fn pending(
        &mut self,
        name: &str,
        number: u32,
        content: Option<&[u8]>,
        file: &'static str,
    ) -> Origin {
        let origin = self.new_origin(None);
        let database = self.databases.entry(name.to_owned()).or_default();
        match content {
            Some(bytes) => database.put(number, bytes, Some((origin, file))),
            None => database.wait(number, origin, file),
        }
        origin
    }

    /// The label of a page of a database, in a kind of file. None if the database was never
    /// written.
    fn label_of_page(&mut self, name: &str, number: u32, file: &'static str) -> Option<u32> {
        let Self { databases, labels, .. } = self;
        let database = databases.get_mut(name)?;
        Some(database.label(number, file, |name| labels.of(name)))
    }

    /// The origin of bytes that are not a page of a database.
    fn plain(&mut self, kind: &'static str, file: &'static str) -> Origin {
        let label = self.labels.plain(kind, file);
        self.shared(label)
    }

    fn shared(&mut self, label: u32) -> Origin {
        if let Some(origin) = self.settled.get(&label) {
            return *origin;
        }
        let origin = self.new_origin(Some(label));
        self.settled.insert(label, origin);
        origin
    }

    fn new_origin(&mut self, label: Option<u32>) -> Origin {
        let number = u32::try_from(self.origins.len()).expect("fewer than 2^32 pages are written");
        self.origins.push(label);
        Origin(number)
    }
}

/// The database that a journal or log belongs to, by SQLite's naming.
fn database_of(name: &str) -> &str {
    name.strip_suffix("-journal").or_else(|| name.strip_suffix("-wal")).unwrap_or(name)
}
