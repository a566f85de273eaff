//! Dual file systems: the files of one database lie on two file systems. Park et al. put the
//! rollback journal on PRAM, in addition to NAND, by a change of SQLite. Here the calls of an
//! unchanged SQLite are routed to the one or the other file system.
//!
//! Transactions are still atomic under power cuts. SQLite finds the journal by its name on either
//! file system, and both keep what was synced. A transaction commits when its journal is deleted,
//! which changes only the second file system.

use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use flysch_names::UnknownName;
use flysch_sqlite::{File, FileKind, OpenFlags, Vfs, VfsError};

/// The kinds of files that lie on the second file system. In the paper these are rollback journals;
/// the other kinds are its future work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route(u8);

impl Route {
    pub const JOURNAL: Self = Self(1);
    /// Super-journals (master journals), which tie transactions over several files together.
    pub const SUPER_JOURNAL: Self = Self(2);
    pub const STATEMENT_JOURNAL: Self = Self(4);
    /// Temporary databases with their journals, sorters, and the copy that VACUUM makes.
    pub const TEMPORARY: Self = Self(8);
    /// All of these kinds.
    pub const ALL: Self = Self(15);

    const NAMES: [(Self, &'static str); 4] = [
        (Self::JOURNAL, "journal"),
        (Self::SUPER_JOURNAL, "super-journal"),
        (Self::STATEMENT_JOURNAL, "statement-journal"),
        (Self::TEMPORARY, "temporary"),
    ];

    /// The kinds of files in `self` or in `others`.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    const fn has(self, kind: FileKind) -> bool {
        let which = match kind {
            FileKind::Database | FileKind::Wal => return false,
            FileKind::Journal => Self::JOURNAL,
            FileKind::SuperJournal => Self::SUPER_JOURNAL,
            FileKind::StatementJournal => Self::STATEMENT_JOURNAL,
            FileKind::TemporaryJournal
            | FileKind::TemporaryDatabase
            | FileKind::TransientDatabase => Self::TEMPORARY,
        };
        self.0 & which.0 != 0
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = Self::NAMES.iter().filter(|(one, _)| self.0 & one.0 != 0);
        let names: Vec<&str> = own.map(|(_, name)| *name).collect();
        f.write_str(&names.join("+"))
    }
}

impl FromStr for Route {
    type Err = UnknownName;

    /// Parse kinds of files joined by `+`, or `all`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::NAMES.map(|(_, name)| name);
        text.split('+').try_fold(Self(0), |route, given| {
            let found = Self::NAMES.iter().chain(&[(Self::ALL, "all")]);
            let found = found.clone().find(|(_, name)| *name == given);
            let (one, _) = found.ok_or_else(|| UnknownName::new("kind of file", given, known))?;
            Ok(route.and(*one))
        })
    }
}

/// Two file systems that SQLite sees as one.
pub struct Dual {
    main: Rc<dyn Vfs>,
    second: Rc<dyn Vfs>,
    route: Route,
}

impl Dual {
    /// Route the files of some kinds to `second`, and all others to `main`.
    pub fn new(main: Rc<dyn Vfs>, second: Rc<dyn Vfs>, route: Route) -> Self {
        Self { main, second, route }
    }

    fn of_kind(&self, kind: FileKind) -> &dyn Vfs {
        if self.route.has(kind) { &*self.second } else { &*self.main }
    }

    /// The file system that holds a file, by its name. SQLite's names of journals end in
    /// `-journal`, those of super-journals in `-mj` and nine digits.
    fn of_name(&self, name: &str) -> &dyn Vfs {
        let is_super = name.rsplit_once("-mj").is_some_and(|(_, digits)| digits.len() == 9);
        let kind = match name {
            _ if name.ends_with("-journal") => FileKind::Journal,
            _ if is_super => FileKind::SuperJournal,
            _ => FileKind::Database,
        };
        self.of_kind(kind)
    }
}

impl Vfs for Dual {
    fn open(&self, name: Option<&str>, flags: OpenFlags) -> Result<Box<dyn File>, VfsError> {
        // SQLite opens a journal that a super-journal refers to with the flags of a super-journal.
        // So the name decides, if there is one.
        let place = name.map_or_else(|| self.of_kind(flags.kind()), |name| self.of_name(name));
        place.open(name, flags)
    }

    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), VfsError> {
        self.of_name(name).delete(name, sync_directory)
    }

    fn exists(&self, name: &str) -> Result<bool, VfsError> {
        self.of_name(name).exists(name)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.main.fill_random(bytes);
    }

    fn sleep(&self, microseconds: u64) {
        self.main.sleep(microseconds);
    }

    fn now_ms(&self) -> i64 {
        self.main.now_ms()
    }

    fn supports_shared_memory(&self, name: &str) -> bool {
        self.main.supports_shared_memory(name)
    }

    fn note_lock_calls(&self, calls: u32) {
        self.main.note_lock_calls(calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_named_by_its_files() {
        for text in ["journal", "journal+super-journal", "statement-journal+temporary"] {
            assert_eq!(text.parse::<Route>().map(|route| route.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("all".parse(), Ok(Route::ALL));
        let error = "journal+jurnal".parse::<Route>().expect_err("a misspelling");
        assert!(error.to_string().contains("did you mean 'journal'?"), "{error}");
    }
}
