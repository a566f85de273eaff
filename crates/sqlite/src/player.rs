//! Repeats the calls of a recording.
//!
//! With the bundled SQLite, the calls work on a machine of this process, which is told the
//! statements that run. With an SQLite library of the host, they use the file system of that
//! library. If the shim is preloaded, that is the machine of another process.

use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::path::Path;

use libsqlite3_sys as sqlite;

use crate::calls::{Bound, Call, CompiledId, ConnectionId, Entry};
use crate::error::Error;
use crate::ffi::handles::{Encoding, Handles, is_complete as complete};
use crate::remote::{Began, Ended, Machine, StatementId};
use crate::vfs::Vfs;

/// The id of a statement that is compiled only for one query. No recording uses this id.
const PASSING: CompiledId = u32::MAX;

/// Whether a text ends with a complete statement, by the rules of SQLite's shell.
pub fn is_complete(sql: &str) -> bool {
    complete(sql)
}

/// The SQLite library that makes the calls.
pub struct Library(Handles);

impl Library {
    /// The bundled library, on a file system of this process.
    ///
    /// # Errors
    /// SQLite cannot be configured.
    pub fn bundled(vfs: std::rc::Rc<dyn Vfs>) -> Result<Self, Error> {
        Handles::bundled(vfs).map(Self)
    }

    /// A library of the host.
    ///
    /// # Errors
    /// Returns the message of the loader.
    pub fn load(path: &Path) -> Result<Self, String> {
        Handles::load(path).map(Self)
    }

    /// The version of the source that the library was built from.
    pub fn source(&self) -> String {
        self.0.source()
    }
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// SQLite's primary result code. 0 also if the call returned a row or the end of the rows.
    pub code: i32,
    /// SQLite's message if the call failed, otherwise empty.
    pub message: String,
}

/// A statement that is running.
#[derive(Clone, Copy, Debug)]
struct Running {
    number: u64,
    changes: u64,
}

#[derive(Clone, Debug)]
struct Compiled {
    connection: ConnectionId,
    sql: Vec<u8>,
    running: Option<Running>,
}

/// The connections and statements of a recording while its calls are made.
pub struct Player<'m> {
    handles: Handles,
    /// The machine that the calls work on, if it is in this process.
    machine: Option<&'m dyn Machine>,
    compiled: BTreeMap<CompiledId, Compiled>,
    /// The process that opened each connection.
    processes: BTreeMap<ConnectionId, u32>,
    numbers: u64,
}

impl<'m> Player<'m> {
    pub fn new(library: Library, machine: Option<&'m dyn Machine>) -> Self {
        let (compiled, processes) = (BTreeMap::new(), BTreeMap::new());
        Self { handles: library.0, machine, compiled, processes, numbers: 0 }
    }

    /// Make a call as many times as it was recorded in a row.
    pub fn play(&mut self, entry: &Entry) -> Played {
        let mut code = sqlite::SQLITE_OK;
        for _ in 0..entry.times {
            code = self.call(entry.process, &entry.call);
        }
        let is_content = matches!(code, sqlite::SQLITE_ROW | sqlite::SQLITE_DONE);
        let code = if is_content { 0 } else { code & 0xFF };
        let message = match self.connection_of(&entry.call) {
            Some(connection) if code != 0 => self.handles.message(connection),
            _ => String::new(),
        };
        Played { code, message }
    }

    /// Let the time pass that the recorded program computed before a call.
    pub fn pass(&self, ns: u64) {
        match self.machine {
            Some(machine) => machine.pass(ns),
            None => self.handles.pass(ns),
        }
    }

    /// Whether no transaction is open on a connection.
    pub fn is_idle(&self, connection: ConnectionId) -> bool {
        self.handles.autocommit(connection)
    }

    /// Run a query that does not belong to the recording, and return the first column of its rows.
    /// The machine is not told of it.
    pub fn ask(&mut self, connection: ConnectionId, sql: &str) -> Vec<String> {
        let mut rows = Vec::new();
        let (code, _) = self.handles.prepare(connection, PASSING, sql.as_bytes(), 0);
        while code == sqlite::SQLITE_OK && self.handles.step(PASSING) == sqlite::SQLITE_ROW {
            rows.push(self.handles.first_column(PASSING));
        }
        self.handles.finalize(PASSING);
        rows
    }

    fn connection_of(&self, call: &Call) -> Option<ConnectionId> {
        match call {
            Call::Open { connection, .. }
            | Call::Close { connection, .. }
            | Call::Prepare { connection, .. }
            | Call::Execute { connection, .. }
            | Call::BusyTimeout { connection, .. }
            | Call::Checkpoint { connection, .. }
            | Call::AutoCheckpoint { connection, .. } => Some(*connection),
            Call::Bind { statement, .. }
            | Call::Clear { statement }
            | Call::Step { statement }
            | Call::Reset { statement }
            | Call::Finalize { statement } => {
                self.compiled.get(statement).map(|compiled| compiled.connection)
            }
            Call::End => None,
        }
    }

    fn call(&mut self, process: u32, call: &Call) -> c_int {
        let connection = self.connection_of(call).unwrap_or(0);
        match call {
            Call::Open { name, flags, vfs, .. } => {
                self.open(process, connection, (name, vfs), *flags)
            }
            Call::Close { version, .. } => {
                self.outside(process, |handles| handles.close(connection, *version == 2))
            }
            Call::Prepare { statement, flags, sql, .. } => {
                let (statement, flags) = (*statement, *flags);
                self.prepare(connection, statement, &sql.0, flags).0
            }
            Call::Bind { statement, parameter, value } => self.bind(*statement, *parameter, value),
            Call::Clear { statement } => self.handles.clear(*statement),
            Call::Step { statement } => self.step(*statement),
            Call::Reset { statement } => self.rest(*statement, Handles::reset),
            Call::Finalize { statement } => {
                let code = self.rest(*statement, Handles::finalize);
                self.compiled.remove(statement);
                code
            }
            Call::Execute { sql, .. } => self.execute(connection, &sql.0),
            Call::BusyTimeout { ms, .. } => {
                self.handles.busy_timeout(connection, c_int::try_from(*ms).unwrap_or(c_int::MAX))
            }
            Call::Checkpoint { schema, mode, .. } => {
                let Ok(schema) = CString::new(schema.as_str()) else {
                    return sqlite::SQLITE_MISUSE;
                };
                self.outside(process, |handles| handles.checkpoint(connection, &schema, *mode))
            }
            Call::AutoCheckpoint { pages, .. } => {
                let pages = c_int::try_from(*pages).unwrap_or(0);
                self.handles.auto_checkpoint(connection, pages)
            }
            Call::End => self.end(process),
        }
    }

    fn open(
        &mut self,
        process: u32,
        connection: ConnectionId,
        (name, vfs): (&str, &str),
        flags: c_int,
    ) -> c_int {
        let is_bundled = self.handles.is_bundled();
        let name = if is_bundled { without_vfs(name) } else { name.to_owned() };
        let (Ok(name), Ok(vfs)) = (CString::new(name), CString::new(vfs)) else {
            return sqlite::SQLITE_MISUSE;
        };
        self.processes.insert(connection, process);
        self.outside(process, |handles| handles.open(connection, &name, flags, &vfs))
    }

    /// Do work that belongs to no statement.
    fn outside<T>(&mut self, process: u32, work: impl FnOnce(&mut Handles) -> T) -> T {
        self.within(StatementId { client: process, number: 0 }, work)
    }

    fn within<T>(&mut self, id: StatementId, work: impl FnOnce(&mut Handles) -> T) -> T {
        let Some(machine) = self.machine else { return work(&mut self.handles) };
        machine.enter(id);
        let done = work(&mut self.handles);
        machine.leave();
        done
    }

    fn process(&self, connection: ConnectionId) -> u32 {
        self.processes.get(&connection).copied().unwrap_or(1)
    }

    fn prepare(
        &mut self,
        connection: ConnectionId,
        statement: CompiledId,
        sql: &[u8],
        flags: c_int,
    ) -> (c_int, usize) {
        let process = self.process(connection);
        let (code, used) =
            self.outside(process, |handles| handles.prepare(connection, statement, sql, flags));
        if self.handles.has_statement(statement) {
            let sql = sql[..used.min(sql.len())].to_vec();
            self.compiled.insert(statement, Compiled { connection, sql, running: None });
        }
        (code, used)
    }

    fn bind(&self, statement: CompiledId, parameter: c_int, value: &Bound) -> c_int {
        let handles = &self.handles;
        match value {
            Bound::Null => handles.bind_null(statement, parameter),
            Bound::Integer(value) => handles.bind_integer(statement, parameter, *value),
            Bound::RealBits(bits) => handles.bind_real(statement, parameter, f64::from_bits(*bits)),
            Bound::Text(text) => handles.bind_text(statement, parameter, &text.0, Encoding::Utf8),
            Bound::Text16(text) => {
                handles.bind_text(statement, parameter, &text.0, Encoding::Utf16)
            }
            Bound::Blob(blob) => handles.bind_blob(statement, parameter, &blob.0),
            Bound::Zeros(size) => handles.bind_zeros(statement, parameter, *size),
        }
    }

    fn step(&mut self, statement: CompiledId) -> c_int {
        let (Some(machine), Some(compiled)) = (self.machine, self.compiled.get(&statement)) else {
            return self.handles.step(statement);
        };
        let (connection, client) = (compiled.connection, self.process(compiled.connection));
        let running = compiled.running.unwrap_or_else(|| {
            self.numbers += 1;
            let (id, in_transaction) = (
                StatementId { client, number: self.numbers },
                !self.handles.autocommit(connection),
            );
            let text = compiled.sql.as_slice();
            let connection_number = u64::from(connection);
            machine.began(&Began { id, connection: connection_number, in_transaction, text });
            Running { number: self.numbers, changes: self.handles.total_changes(connection) }
        });
        let id = StatementId { client, number: running.number };
        let code = self.within(id, |handles| handles.step(statement));
        let goes_on = code == sqlite::SQLITE_ROW;
        if let Some(compiled) = self.compiled.get_mut(&statement) {
            compiled.running = goes_on.then_some(running);
        }
        if !goes_on {
            self.ended(connection, running);
        }
        code
    }

    /// Tell the machine that a statement has ended.
    fn ended(&self, connection: ConnectionId, running: Running) {
        let Some(machine) = self.machine else { return };
        let id = StatementId { client: self.process(connection), number: running.number };
        let changes = self.handles.total_changes(connection).saturating_sub(running.changes);
        let in_transaction = !self.handles.autocommit(connection);
        machine.ended(&Ended { id, changes, in_transaction });
    }

    /// Reset or finalise a statement. If it is still running, it ends.
    fn rest(
        &mut self,
        statement: CompiledId,
        work: impl FnOnce(&mut Handles, CompiledId) -> c_int,
    ) -> c_int {
        let Some(compiled) = self.compiled.get_mut(&statement) else {
            return work(&mut self.handles, statement);
        };
        let (connection, running) = (compiled.connection, compiled.running.take());
        let id = StatementId {
            client: self.process(connection),
            number: running.map_or(0, |running| running.number),
        };
        let code = self.within(id, |handles| work(handles, statement));
        if let Some(running) = running {
            self.ended(connection, running);
        }
        code
    }

    /// Run all statements of a text, as `sqlite3_exec` does.
    fn execute(&mut self, connection: ConnectionId, sql: &[u8]) -> c_int {
        if self.machine.is_none() {
            return self.handles.exec(connection, sql);
        }
        let mut rest = sql;
        while !rest.is_empty() {
            let (code, used) = self.prepare(connection, PASSING, rest, 0);
            if code != sqlite::SQLITE_OK {
                return code;
            }
            rest = if used == 0 { &[] } else { &rest[used.min(rest.len())..] };
            if !self.handles.has_statement(PASSING) {
                continue;
            }
            let mut code = sqlite::SQLITE_ROW;
            while code == sqlite::SQLITE_ROW {
                code = self.step(PASSING);
            }
            let ended = self.rest(PASSING, Handles::finalize);
            self.compiled.remove(&PASSING);
            if code != sqlite::SQLITE_DONE {
                return if ended == sqlite::SQLITE_OK { code } else { ended };
            }
        }
        sqlite::SQLITE_OK
    }

    /// End a process of the recording with all that it has open. The bundled library runs in this
    /// process, so its connections can only be closed.
    fn end(&mut self, process: u32) -> c_int {
        let own = |(id, owner): (&u32, &u32)| (*owner == process).then_some(*id);
        let connections: Vec<ConnectionId> = self.processes.iter().filter_map(own).collect();
        for connection in connections {
            self.processes.remove(&connection);
            let of = |(id, it): (&u32, &Compiled)| (it.connection == connection).then_some(*id);
            let statements: Vec<CompiledId> = self.compiled.iter().filter_map(of).collect();
            for statement in statements {
                self.rest(statement, Handles::finalize);
                self.compiled.remove(&statement);
            }
            self.outside(process, |handles| handles.close(connection, true));
        }
        sqlite::SQLITE_OK
    }
}

/// The name of a database without the parameter `vfs`, as only the program's own library has that
/// file system.
fn without_vfs(name: &str) -> String {
    let Some((path, parameters)) = name.split_once('?').filter(|_| name.starts_with("file:"))
    else {
        return name.to_owned();
    };
    let kept = parameters.split('&').filter(|parameter| !parameter.starts_with("vfs="));
    format!("{path}?{}", kept.collect::<Vec<_>>().join("&"))
}
