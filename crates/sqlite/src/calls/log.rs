//! The log of calls: it grows while programs make them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Bound, Bytes, Call, Changes, CompiledId, ConnectionId, Entry};
use crate::remote::{ApiEvent, ApiEventKind};

/// A process and a thread of it.
type Thread = (u32, u32);
/// A process, and the number that it uses for a connection or statement.
type Name = (u32, u64);

/// The SQLite library of the programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub version: String,
    pub source: String,
    pub compile_options: BTreeSet<String>,
    /// The values of PRAGMAs in a new database in memory.
    pub pragmas: BTreeMap<String, String>,
}

/// The calls of all programs in the order in which they were made.
#[derive(Debug, Default)]
pub struct CallLog {
    entries: Vec<Entry>,
    about: About,
    /// What a replay cannot repeat: the kind and the name of each.
    notes: BTreeSet<String>,
    processes: BTreeMap<u32, u32>,
    connections: BTreeMap<Name, ConnectionId>,
    statements: BTreeMap<Name, CompiledId>,
    opened: ConnectionId,
    compiled: CompiledId,
    /// The last call of each thread, until its result arrives.
    last: BTreeMap<Thread, usize>,
    pieces: BTreeMap<Thread, Vec<u8>>,
    strays: u64,
}

impl CallLog {
    /// Add a report of a program to the log. `idle_ns` is the time that the program computed before
    /// it. If the report is a new call, `changes` is called for the changes to files since the
    /// previous call.
    pub fn note(&mut self, event: &ApiEvent<'_>, idle_ns: u64, changes: impl FnOnce() -> Changes) {
        let thread = (event.client, event.thread);
        match event.kind {
            ApiEventKind::Piece => {
                self.pieces.entry(thread).or_default().extend_from_slice(event.bytes);
            }
            ApiEventKind::Result => self.result(thread, event),
            ApiEventKind::Note => _ = self.notes.insert(text(event.bytes)),
            ApiEventKind::Version => self.about.version = text(event.bytes),
            ApiEventKind::Source => self.about.source = text(event.bytes),
            ApiEventKind::Option => _ = self.about.compile_options.insert(text(event.bytes)),
            ApiEventKind::Pragma => {
                if let Some((name, value)) = text(event.bytes).split_once('=') {
                    self.about.pragmas.insert(name.to_owned(), value.to_owned());
                }
            }
            _ => {
                let mut bytes = self.pieces.remove(&thread).unwrap_or_default();
                bytes.extend_from_slice(event.bytes);
                match self.call(event, bytes) {
                    Some(call) => self.push(thread, call, idle_ns, changes),
                    None => self.strays += 1,
                }
            }
        }
    }

    /// Note that a process has ended.
    pub fn end(&mut self, client: u32, changes: impl FnOnce() -> Changes) {
        if self.processes.contains_key(&client) {
            self.push((client, 0), Call::End, 0, changes);
        }
    }

    /// Finish the log and return the calls. `changes` are the changes to files since the last call.
    pub fn finish(&mut self, changes: Changes) -> Vec<Entry> {
        if let Some(last) = self.entries.last_mut() {
            last.changes = changes;
        }
        std::mem::take(&mut self.entries)
    }

    pub const fn about(&self) -> &About {
        &self.about
    }

    /// What a replay cannot repeat: the kind and the name of each.
    pub const fn notes(&self) -> &BTreeSet<String> {
        &self.notes
    }

    /// Number of calls on connections whose open the recorder did not see.
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// Number of calls so far.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no call yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn push(
        &mut self,
        thread: Thread,
        call: Call,
        idle_ns: u64,
        changes: impl FnOnce() -> Changes,
    ) {
        let next = u32::try_from(self.processes.len() + 1).expect("few processes");
        let process = *self.processes.entry(thread.0).or_insert(next);
        if let (Call::Step { .. }, Some(last)) = (&call, self.entries.last_mut())
            && last.call == call
            && last.process == process
            && last.code == 0
        {
            last.times += 1;
            last.idle_ns += idle_ns;
            return;
        }
        if let Some(last) = self.entries.last_mut() {
            last.changes = changes();
        }
        self.last.insert(thread, self.entries.len());
        self.entries.push(Entry { idle_ns, ..Entry::new(process, call) });
    }

    fn call(&mut self, event: &ApiEvent<'_>, bytes: Vec<u8>) -> Option<Call> {
        let name = (event.client, event.subject);
        let connection = || self.connections.get(&name).copied();
        let compiled = || match event.subject {
            0 => Some(0),
            _ => self.statements.get(&name).copied(),
        };
        let bind = |value: Bound| {
            Some(Call::Bind { statement: compiled()?, parameter: event.flags, value })
        };
        match event.kind {
            ApiEventKind::Open => self.open(event, &text(&bytes)),
            ApiEventKind::Close if event.subject == 0 => {
                Some(Call::Close { connection: 0, version: 1 })
            }
            ApiEventKind::Close => {
                let call = Call::Close { connection: connection()?, version: event.flags };
                Some(call)
            }
            ApiEventKind::Prepare => Some(prepare(connection()?, event, bytes)),
            ApiEventKind::Prepare16 => Some(prepare(connection()?, event, utf8(&bytes))),
            ApiEventKind::Step => Some(Call::Step { statement: compiled()? }),
            ApiEventKind::Reset => Some(Call::Reset { statement: compiled()? }),
            ApiEventKind::Finalize => Some(Call::Finalize { statement: compiled()? }),
            ApiEventKind::Clear => Some(Call::Clear { statement: compiled()? }),
            ApiEventKind::Execute => {
                Some(Call::Execute { connection: connection()?, sql: Bytes(bytes) })
            }
            ApiEventKind::BusyTimeout => {
                Some(Call::BusyTimeout { connection: connection()?, ms: event.number })
            }
            ApiEventKind::Checkpoint => {
                let (schema, mode) = (text(&bytes), event.flags);
                Some(Call::Checkpoint { connection: connection()?, schema, mode })
            }
            ApiEventKind::AutoCheckpoint => {
                Some(Call::AutoCheckpoint { connection: connection()?, pages: event.number })
            }
            ApiEventKind::BindNull => bind(Bound::Null),
            ApiEventKind::BindInteger => bind(Bound::Integer(event.number)),
            ApiEventKind::BindReal => bind(Bound::RealBits(event.number.cast_unsigned())),
            ApiEventKind::BindText => bind(Bound::Text(Bytes(bytes))),
            ApiEventKind::BindText16 => bind(Bound::Text16(Bytes(bytes))),
            ApiEventKind::BindBlob => bind(Bound::Blob(Bytes(bytes))),
            ApiEventKind::BindZeros => bind(Bound::Zeros(event.number.cast_unsigned())),
            ApiEventKind::Piece
            | ApiEventKind::Result
            | ApiEventKind::Note
            | ApiEventKind::Version
            | ApiEventKind::Source
            | ApiEventKind::Option
            | ApiEventKind::Pragma => None,
        }
    }

    fn open(&mut self, event: &ApiEvent<'_>, text: &str) -> Option<Call> {
        let mut parts = text.splitn(3, '\n');
        let (folder, vfs) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let name = parts.next()?.to_owned();
        self.opened += 1;
        Some(Call::Open { connection: self.opened, folder, name, flags: event.flags, vfs })
    }

    /// Store the result of a thread's last call.
    fn result(&mut self, thread: Thread, event: &ApiEvent<'_>) {
        let Some(entry) = self.last.get(&thread).and_then(|at| self.entries.get_mut(*at)) else {
            return;
        };
        entry.code = event.flags;
        let name = (event.client, event.subject);
        match &mut entry.call {
            Call::Open { connection, .. } => _ = self.connections.insert(name, *connection),
            Call::Prepare { statement, sql, .. } => {
                if let Ok(used) = usize::try_from(event.number) {
                    sql.0.truncate(used);
                }
                if event.subject != 0 {
                    self.compiled += 1;
                    *statement = self.compiled;
                    self.statements.insert(name, self.compiled);
                }
            }
            Call::Close { .. }
            | Call::Bind { .. }
            | Call::Clear { .. }
            | Call::Step { .. }
            | Call::Reset { .. }
            | Call::Finalize { .. }
            | Call::Execute { .. }
            | Call::BusyTimeout { .. }
            | Call::Checkpoint { .. }
            | Call::AutoCheckpoint { .. }
            | Call::End => {}
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A call that compiles a statement. The number of the statement is filled in when the result is
/// known.
const fn prepare(connection: ConnectionId, event: &ApiEvent<'_>, sql: Vec<u8>) -> Call {
    Call::Prepare { connection, statement: 0, flags: event.flags, sql: Bytes(sql) }
}

/// The UTF-8 of a text in UTF-16.
#[expect(clippy::host_endian_bytes, reason = "SQLite's UTF-16 is the machine's")]
fn utf8(text: &[u8]) -> Vec<u8> {
    let pairs = text.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
    String::from_utf16_lossy(&pairs.collect::<Vec<_>>()).into_bytes()
}
