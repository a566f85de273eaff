//! The list of calls while programs make them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Bound, Bytes, Call, Changes, CompiledId, ConnectionId, Entry};
use crate::remote::{Told, What};

/// A thread of a process.
type Thread = (u32, u32);
/// What a process calls something, by the process.
type Name = (u32, u64);

/// The SQLite of the programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub version: String,
    pub source: String,
    pub compile_options: BTreeSet<String>,
    /// What PRAGMAs answer in a new database in memory.
    pub pragmas: BTreeMap<String, String>,
}

/// Calls in the order in which they were made.
#[derive(Debug, Default)]
pub struct CallLog {
    entries: Vec<Entry>,
    about: About,
    /// What cannot be made again, each with its kind before its name.
    notes: BTreeSet<String>,
    processes: BTreeMap<u32, u32>,
    connections: BTreeMap<Name, ConnectionId>,
    statements: BTreeMap<Name, CompiledId>,
    opened: ConnectionId,
    compiled: CompiledId,
    /// The last call of a thread, whose result may come.
    last: BTreeMap<Thread, usize>,
    pieces: BTreeMap<Thread, Vec<u8>>,
    strays: u64,
}

impl CallLog {
    /// Note what a program tells. `idle_ns` is its own time before, and `changes` tells what was
    /// changed since the last new call. It is asked if this is another new call.
    pub fn note(&mut self, told: &Told<'_>, idle_ns: u64, changes: impl FnOnce() -> Changes) {
        let thread = (told.client, told.thread);
        match told.what {
            What::Piece => self.pieces.entry(thread).or_default().extend_from_slice(told.bytes),
            What::Result => self.result(thread, told),
            What::Note => _ = self.notes.insert(text(told.bytes)),
            What::Version => self.about.version = text(told.bytes),
            What::Source => self.about.source = text(told.bytes),
            What::Option => _ = self.about.compile_options.insert(text(told.bytes)),
            What::Pragma => {
                if let Some((name, value)) = text(told.bytes).split_once('=') {
                    self.about.pragmas.insert(name.to_owned(), value.to_owned());
                }
            }
            _ => {
                let mut bytes = self.pieces.remove(&thread).unwrap_or_default();
                bytes.extend_from_slice(told.bytes);
                match self.call(told, bytes) {
                    Some(call) => self.push(thread, call, idle_ns, changes),
                    None => self.strays += 1,
                }
            }
        }
    }

    /// A process has ended.
    pub fn end(&mut self, client: u32, changes: impl FnOnce() -> Changes) {
        if self.processes.contains_key(&client) {
            self.push((client, 0), Call::End, 0, changes);
        }
    }

    /// The calls. `changes` is what was changed since the last new one.
    pub fn finish(&mut self, changes: Changes) -> Vec<Entry> {
        if let Some(last) = self.entries.last_mut() {
            last.changes = changes;
        }
        std::mem::take(&mut self.entries)
    }

    pub const fn about(&self) -> &About {
        &self.about
    }

    /// What cannot be made again: a kind and a name each.
    pub const fn notes(&self) -> &BTreeSet<String> {
        &self.notes
    }

    /// Number of calls on connections that were opened past the recorder.
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

    fn call(&mut self, told: &Told<'_>, bytes: Vec<u8>) -> Option<Call> {
        let name = (told.client, told.subject);
        let connection = || self.connections.get(&name).copied();
        let compiled = || match told.subject {
            0 => Some(0),
            _ => self.statements.get(&name).copied(),
        };
        let bind = |value: Bound| {
            Some(Call::Bind { statement: compiled()?, parameter: told.flags, value })
        };
        match told.what {
            What::Open => self.open(told, &text(&bytes)),
            What::Close if told.subject == 0 => Some(Call::Close { connection: 0, version: 1 }),
            What::Close => {
                let call = Call::Close { connection: connection()?, version: told.flags };
                Some(call)
            }
            What::Prepare => Some(prepare(connection()?, told, bytes)),
            What::Prepare16 => Some(prepare(connection()?, told, utf8(&bytes))),
            What::Step => Some(Call::Step { statement: compiled()? }),
            What::Reset => Some(Call::Reset { statement: compiled()? }),
            What::Finalize => Some(Call::Finalize { statement: compiled()? }),
            What::Clear => Some(Call::Clear { statement: compiled()? }),
            What::Execute => Some(Call::Execute { connection: connection()?, sql: Bytes(bytes) }),
            What::BusyTimeout => {
                Some(Call::BusyTimeout { connection: connection()?, ms: told.number })
            }
            What::Checkpoint => {
                let (schema, mode) = (text(&bytes), told.flags);
                Some(Call::Checkpoint { connection: connection()?, schema, mode })
            }
            What::AutoCheckpoint => {
                Some(Call::AutoCheckpoint { connection: connection()?, pages: told.number })
            }
            What::BindNull => bind(Bound::Null),
            What::BindInteger => bind(Bound::Integer(told.number)),
            What::BindReal => bind(Bound::RealBits(told.number.cast_unsigned())),
            What::BindText => bind(Bound::Text(Bytes(bytes))),
            What::BindText16 => bind(Bound::Text16(Bytes(bytes))),
            What::BindBlob => bind(Bound::Blob(Bytes(bytes))),
            What::BindZeros => bind(Bound::Zeros(told.number.cast_unsigned())),
            What::Piece
            | What::Result
            | What::Note
            | What::Version
            | What::Source
            | What::Option
            | What::Pragma => None,
        }
    }

    fn open(&mut self, told: &Told<'_>, text: &str) -> Option<Call> {
        let mut parts = text.splitn(3, '\n');
        let (folder, vfs) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let name = parts.next()?.to_owned();
        self.opened += 1;
        Some(Call::Open { connection: self.opened, folder, name, flags: told.flags, vfs })
    }

    /// The last call of a thread has ended.
    fn result(&mut self, thread: Thread, told: &Told<'_>) {
        let Some(entry) = self.last.get(&thread).and_then(|at| self.entries.get_mut(*at)) else {
            return;
        };
        entry.code = told.flags;
        let name = (told.client, told.subject);
        match &mut entry.call {
            Call::Open { connection, .. } => _ = self.connections.insert(name, *connection),
            Call::Prepare { statement, sql, .. } => {
                if let Ok(used) = usize::try_from(told.number) {
                    sql.0.truncate(used);
                }
                if told.subject != 0 {
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

/// A statement that is being compiled. Its number is known when that has ended.
const fn prepare(connection: ConnectionId, told: &Told<'_>, sql: Vec<u8>) -> Call {
    Call::Prepare { connection, statement: 0, flags: told.flags, sql: Bytes(sql) }
}

/// A text in UTF-16, as UTF-8.
#[expect(clippy::host_endian_bytes, reason = "SQLite's UTF-16 is the machine's")]
fn utf8(text: &[u8]) -> Vec<u8> {
    let pairs = text.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
    String::from_utf16_lossy(&pairs.collect::<Vec<_>>()).into_bytes()
}
