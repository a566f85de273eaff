//! Dual file systems: the files of one database on two, as Park et al. put the rollback journal
//! on PRAM beside NAND. They changed SQLite; here its calls are routed, and SQLite knows nothing.
//!
//! Atomic under power cuts: the journal is found under its name, wherever it lies, and both file
//! systems keep what was synced. Its deletion commits, on the second file system alone.

use std::rc::Rc;

use flysch_sqlite::{File, FileKind, OpenFlags, Vfs, VfsError};

/// Which files lie on the second file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Rollback journals.
    Journals,
    /// Rollback, super and statement journals, and temporary files: the paper's future work.
    Temporary,
}

/// Two file systems as one.
pub struct Dual {
    main: Rc<dyn Vfs>,
    second: Rc<dyn Vfs>,
    route: Route,
}

impl Dual {
    /// Route some files to `second`, all others to `main`.
    pub fn new(main: Rc<dyn Vfs>, second: Rc<dyn Vfs>, route: Route) -> Self {
        Self { main, second, route }
    }

    fn of_kind(&self, kind: FileKind) -> &dyn Vfs {
        let moves = match kind {
            FileKind::Database | FileKind::Wal => false,
            FileKind::Journal => true,
            FileKind::SuperJournal
            | FileKind::StatementJournal
            | FileKind::TemporaryJournal
            | FileKind::TemporaryDatabase
            | FileKind::TransientDatabase => self.route == Route::Temporary,
        };
        if moves { &*self.second } else { &*self.main }
    }

    /// The file system of a name, by SQLite's naming: `-journal`, and `-mj` with nine digits.
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
        self.of_kind(flags.kind()).open(name, flags)
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
}
