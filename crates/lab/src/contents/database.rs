//! The role of each page of a database.
//!
//! A page gets its role from the page that leads to it. All pages that a transaction changed are
//! looked at together: a page that leads to another by something new was itself written.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::{Origin, TableName};

use super::page::{Role, references, u16_at};
use super::schema::{Named, names};

const PAGE_SIZE_AT: usize = 16;
const RESERVED_AT: usize = 20;
/// Page 1 is the root of the schema's table.
const SCHEMA: u32 = 1;

/// A database that is being written.
#[derive(Default)]
pub(super) struct Database {
    page_size: usize,
    reserved: usize,
    roles: BTreeMap<u32, Role>,
    named: BTreeMap<u32, Named>,
    /// The pages of the schema's table.
    schema: BTreeMap<u32, Vec<u8>>,
    /// Pages that were written and are not settled.
    changed: BTreeMap<u32, Vec<u8>>,
    waiting: Vec<(u32, Origin, &'static str)>,
    /// The label of each role in a kind of file, as long as names stay what they are.
    labels: BTreeMap<(Option<Role>, &'static str), u32>,
}

impl Database {
    pub(super) const fn page_size(&self) -> usize {
        self.page_size
    }

    pub(super) const fn set_size(&mut self, size: usize) {
        self.page_size = size;
    }

    /// Learn the size of pages from page 1.
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

    /// A page has a new content, which is one origin's.
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

    /// A part of a page was written, which tells nothing new about it.
    pub(super) fn wait(&mut self, number: u32, origin: Origin, file: &'static str) {
        self.waiting.push((number, origin, file));
    }

    /// The label of a page in a kind of file. A new one is asked for by the page's name.
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

    /// Find the role of each page that was written. Returns the pages that origins stand for, and
    /// the kind of file that they lie in.
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

    /// Give roles to the pages that `queue` leads to, as far as they were changed.
    fn follow(&mut self, changed: &BTreeMap<u32, Vec<u8>>, mut queue: BTreeSet<u32>) {
        // A page is looked at again for each new role. Damaged pages could lead round in a circle.
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

    /// Read the schema again if a page of it changed.
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

    /// What a page belongs to, in a kind of file.
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
