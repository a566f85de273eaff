//! The databases that the whole run left, without a power cut.

use std::path::Path;

use flysch_sqlite::Database;

use super::Files;
use crate::bench::RunError;
use crate::program::Simulation;

/// The databases of a machine on which nothing runs any more, as SQLite recovers them: a program
/// that did not close one left its log or journal.
pub(super) fn recovered(simulation: &Simulation) -> Result<Files, RunError> {
    let broken = |error: std::io::Error| RunError::Broken(error.to_string());
    let folder = tempfile::tempdir().map_err(broken)?;
    let place = |name: &str| folder.path().join(name);
    for (name, bytes) in simulation.databases()? {
        std::fs::write(place(&name), bytes).map_err(broken)?;
    }
    let names = simulation.starts().into_iter().map(|start| start.name);
    let names = names.filter(|name| place(name).exists());
    let read = |name: String| {
        settle(&place(&name));
        std::fs::read(place(&name)).map(|bytes| (name, bytes)).map_err(broken)
    };
    names.map(read).collect()
}

/// Let SQLite bring a log or a journal into a database. One that it cannot read stays as it is.
fn settle(path: &Path) {
    let Ok(database) = Database::open_file(path) else { return };
    if database.query("SELECT count(*) FROM sqlite_master").is_ok() {
        database.close().ok();
    }
}
