//! Finds the role of each page of a database: which b-tree it belongs to, or what else it is for.
//!
//! The role of a page follows from the page that refers to it. The pages that a transaction changed
//! are examined together. This is enough: a new reference to a page means that the referring page
//! was written too.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::{Origin, TableName};

use super::page::{Role, references, u16_at};
use super::schema::{Named, names};

const PAGE_SIZE_AT: usize = 16;
const RESERVED_AT: usize = 20;
/// The root page of the schema table (`sqlite_schema`).
const SCHEMA: u32 = 1;

/// What is known of a database from the pages that were written.
#[derive(Clone, Default)]
pub(super) struct Database {
    page_size: usize,
    reserved: usize,
    roles: BTreeMap<u32, Role>,
    named: BTreeMap<u32, Named>,
    /// The content of the pages of the schema table, by page number.
    schema: BTreeMap<u32, Vec<u8>>,
    /// Pages that were written since the roles were last determined.
    changed: BTreeMap<u32, Vec<u8>>,
    waiting: Vec<(u32, Origin, &'static str)>,
    /// The label of each role in each kind of file (database, journal, log). It is cleared when
    /// names in the schema change.
    labels: BTreeMap<(Option<Role>, &'static str), u32>,
}

impl Database {
    pub(super) const fn page_size(&self) -> usize {
        self.page_size
    }

    pub(super) const fn set_size(&mut self, size: usize) {
        self.page_size = size;
    }

    /// Take the page size from page 1, if this is the first page of an SQLite database.
    pub(super) fn note_size(&mut self, page: &[u8]) {
        let size = match u16_at(page, PAGE_SIZE_AT) {
            Some(1) => 1 << 16,
            Some(size) => usize::from(size),
            None => 0,
        };
        if size.is_power_of_two() && size >= 512 && page.starts_with(b"SQLite format 3\0") {
            self.page_size = size;
            self.reserved = page.get(RESERVED_AT).copied().map_or(0, usize::from);
        }
    }

    /// Note the new content of a page. If `of` is given, its origin waits for the page's label.
    pub(super) fn put(&mut self, number: u32, page: &[u8], of: Option<(Origin, &'static str)>) {
        if number == SCHEMA {
            self.note_size(page);
            self.roles.insert(SCHEMA, Role::Tree(SCHEMA));
        }
        self.changed.insert(number, page.to_vec());
        if let Some((origin, file)) = of {
            self.waiting.push((number, origin, file));
        }
    }

    /// Note that a part of a page was written. It changes no role; its origin waits for the page's
    /// label.
    pub(super) fn wait(&mut self, number: u32, origin: Origin, file: &'static str) {
        self.waiting.push((number, origin, file));
    }

    /// The label of a page in a kind of file. If it has none yet, `new` makes one from the page's
    /// name.
    pub(super) fn label(
        &mut self,
        number: u32,
        file: &'static str,
        new: impl FnOnce(TableName) -> u32,
    ) -> u32 {
        let key = (self.roles.get(&number).copied(), file);
        if let Some(label) = self.labels.get(&key) {
            return *label;
        }
        let label = new(self.name(number, file));
        self.labels.insert(key, label);
        label
    }

    /// Determine the role of each page that was written. Returns the waiting origins, each with its
    /// page and kind of file.
    pub(super) fn settle(&mut self) -> Vec<(u32, Origin, &'static str)> {
        let changed = std::mem::take(&mut self.changed);
        self.follow(&changed, changed.keys().copied().collect());
        if self.learn_names(&changed) {
            let roots: Vec<u32> = self.named.keys().copied().collect();
            let fresh = roots.into_iter().filter(|root| {
                let role = Role::Tree(*root);
                self.roles.insert(*root, role) != Some(role) && changed.contains_key(root)
            });
            let fresh = fresh.collect();
            self.follow(&changed, fresh);
        }
        std::mem::take(&mut self.waiting)
    }

    /// Determine the roles of the changed pages that can be reached from the pages in `queue`.
    fn follow(&mut self, changed: &BTreeMap<u32, Vec<u8>>, mut queue: BTreeSet<u32>) {
        // A page is examined again for each new role. References in damaged pages may form a cycle,
        // so the number of steps is limited.
        let mut patience = 8 * changed.len() + 64;
        while let Some(number) = queue.pop_first() {
            let (Some(page), Some(role)) = (changed.get(&number), self.roles.get(&number)) else {
                continue;
            };
            patience = patience.saturating_sub(1);
            if patience == 0 || page.len() <= self.reserved + 480 {
                break;
            }
            for (next, role) in references(number, page, page.len() - self.reserved, *role) {
                let is_new = next != SCHEMA && self.roles.insert(next, role) != Some(role);
                if is_new && changed.contains_key(&next) {
                    queue.insert(next);
                }
            }
        }
    }

    /// Read the names of b-trees again if a page of the schema changed. Returns whether it did.
    fn learn_names(&mut self, changed: &BTreeMap<u32, Vec<u8>>) -> bool {
        let roles = &self.roles;
        let is_schema = |number: &u32| roles.get(number) == Some(&Role::Tree(SCHEMA));
        let pages = changed.iter().filter(|(number, _)| is_schema(number));
        let mut is_new = false;
        for (number, page) in pages {
            is_new |= self.schema.insert(*number, page.clone()).as_ref() != Some(page);
        }
        if is_new {
            self.labels.clear();
            self.schema.retain(|number, _| is_schema(number));
            let leaves = self.schema.iter().flat_map(|(number, page)| names(*number, page));
            self.named = leaves.map(|named| (named.root, named)).collect();
        }
        is_new
    }

    /// The table or index that a page belongs to, or what else it is for.
    fn name(&self, number: u32, file: &str) -> TableName {
        let plain = |kind: &str| TableName {
            kind: kind.to_owned(),
            file: file.to_owned(),
            ..TableName::default()
        };
        match self.roles.get(&number) {
            Some(Role::Tree(SCHEMA) | Role::Overflow(SCHEMA)) => plain("schema"),
            Some(Role::FreeTrunk | Role::FreeLeaf) => plain("free list"),
            Some(Role::Tree(root) | Role::Overflow(root)) => {
                let Some(named) = self.named.get(root) else { return plain("dropped") };
                TableName {
                    kind: named.kind.clone(),
                    name: named.name.clone(),
                    table: named.table.clone(),
                    file: file.to_owned(),
                }
            }
            None => plain("unknown page"),
        }
    }
}
