//! Operations on a file system. They are drawn at random and done both to a model and to the file
//! system.

use std::collections::BTreeSet;

use flysch_chip::Prng;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Fd, Vfs};

use super::state::State;

const FILES: [&str; 6] = ["a", "b", "c", "d/a", "d/b", "d/e/a"];
const DIRS: [&str; 3] = ["d", "d/e", "f"];

/// An operation. Files are opened for it and closed afterwards, except those that are held.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Create {
        name: String,
    },
    Write {
        name: String,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        name: String,
        size: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Unlink {
        name: String,
    },
    Mkdir {
        name: String,
    },
    Fsync {
        name: String,
    },
    SyncDirectory {
        name: String,
    },
    Sync,
    DropCaches,
    Sleep {
        ms: u64,
    },
    /// Keep a file open until `LetGo` closes all that are held.
    Hold {
        name: String,
    },
    WriteHeld {
        at: usize,
        bytes: Vec<u8>,
    },
    LetGo,
}

/// How long writes and files are, and whether there are sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub(crate) write_len_max: usize,
    pub(crate) file_len_max: usize,
    /// Whether sleeps are drawn that are long enough for the flush timer.
    pub(crate) sleeps: bool,
}

impl Mix {
    /// Files of a few pages, which a small device holds several of.
    pub(crate) const SHORT: Self = Self { write_len_max: 5000, file_len_max: 12_000, sleeps: true };
}

/// The bytes of a write. None is zero, so that a hole can be distinguished; they are random or
/// compressible.
fn bytes(prng: &mut Prng, len: usize) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(prng.below(255) + 1).unwrap(); len];
    if prng.below(3) > 0 {
        prng.fill(&mut bytes);
        for byte in &mut bytes {
            *byte = (*byte).max(1);
        }
    }
    bytes
}

/// A random number below `bound`.
pub(crate) fn below(prng: &mut Prng, bound: usize) -> usize {
    usize::try_from(prng.below(bound as u64)).unwrap()
}

fn pick<'a>(prng: &mut Prng, names: &[&'a str]) -> &'a str {
    names[below(prng, names.len())]
}

/// A random offset. Ends of pages are more frequent, because they matter most.
fn offset(prng: &mut Prng, bound: usize) -> usize {
    let at = below(prng, bound);
    match prng.below(4) {
        0 => at - at % 4096,
        1 => at - at % 1024,
        _ => at,
    }
}

fn may_hold(state: &State, name: &str) -> bool {
    let parent = name.rsplit_once('/').map(|(parent, _)| parent);
    parent.is_none_or(|parent| state.dirs.contains(parent))
}

fn is_empty_dir(state: &State, name: &str) -> bool {
    let inside = |other: &String| other.starts_with(&format!("{name}/"));
    state.dirs.contains(name) && !state.names.keys().any(inside) && !state.dirs.iter().any(inside)
}

impl Operation {
    pub(crate) fn draw(prng: &mut Prng, state: &State, mix: Mix) -> Self {
        loop {
            let drawn = match prng.below(24) {
                0 | 1 => Self::Create { name: pick(prng, &FILES).to_owned() },
                2 => Self::Mkdir { name: pick(prng, &DIRS).to_owned() },
                3 => Self::Unlink { name: pick(prng, &[&FILES[..], &DIRS].concat()).to_owned() },
                4 => Self::Truncate {
                    name: pick(prng, &FILES).to_owned(),
                    size: offset(prng, mix.file_len_max),
                },
                5 | 6 => Self::Rename {
                    from: pick(prng, &FILES).to_owned(),
                    to: pick(prng, &FILES).to_owned(),
                },
                7 => Self::Hold { name: pick(prng, &FILES).to_owned() },
                8 if prng.below(2) == 0 => Self::LetGo,
                8 | 9 => Self::WriteHeld {
                    at: offset(prng, mix.file_len_max),
                    bytes: Self::payload(prng, mix),
                },
                10..13 => Self::Fsync { name: pick(prng, &FILES).to_owned() },
                13 if prng.below(2) == 0 => Self::Sync,
                13 => Self::SyncDirectory { name: "d".to_owned() },
                14 if prng.below(2) == 0 => Self::DropCaches,
                14 if mix.sleeps => Self::Sleep { ms: [60, 200, 6000][below(prng, 3)] },
                _ => Self::Write {
                    name: pick(prng, &FILES).to_owned(),
                    at: offset(prng, mix.file_len_max),
                    bytes: Self::payload(prng, mix),
                },
            };
            if drawn.succeeds(state) {
                return drawn;
            }
        }
    }

    fn payload(prng: &mut Prng, mix: Mix) -> Vec<u8> {
        let len = [offset(prng, mix.write_len_max), 1024, 4096][below(prng, 3)];
        bytes(prng, len.clamp(1, mix.write_len_max))
    }

    fn succeeds(&self, state: &State) -> bool {
        match self {
            Self::Create { name } | Self::Mkdir { name } => {
                may_hold(state, name) && !state.has(name)
            }
            Self::Unlink { name } => state.names.contains_key(name) || is_empty_dir(state, name),
            Self::Rename { from, to } => {
                let file = state.names.get(from);
                file.is_some() && file != state.names.get(to) && may_hold(state, to)
            }
            Self::Write { name, .. }
            | Self::Truncate { name, .. }
            | Self::Fsync { name }
            | Self::Hold { name } => state.names.contains_key(name),
            Self::SyncDirectory { name } => state.dirs.contains(name),
            Self::Sync
            | Self::DropCaches
            | Self::Sleep { .. }
            | Self::WriteHeld { .. }
            | Self::LetGo => true,
        }
    }

    /// Do the operation to the model. `held` are the files that are kept open.
    pub(crate) fn change(&self, state: &mut State, held: &mut Vec<u32>) {
        match self {
            Self::Create { name } => {
                let file = state.next_file;
                state.next_file += 1;
                state.names.insert(name.clone(), file);
                state.files.insert(file, std::rc::Rc::default());
            }
            Self::Mkdir { name } => {
                state.dirs.insert(name.clone());
            }
            Self::Write { name, at, bytes } => {
                let file = state.names[name];
                state.change(file, |content| lay(content, *at, bytes));
            }
            Self::WriteHeld { at, bytes } => {
                if let Some(&file) = held.last() {
                    state.change(file, |content| lay(content, *at, bytes));
                }
            }
            Self::Truncate { name, size } => {
                let file = state.names[name];
                state.change(file, |content| content.resize(*size, 0));
            }
            Self::Rename { from, to } => {
                let file = state.names.remove(from).unwrap();
                state.names.insert(to.clone(), file);
            }
            Self::Unlink { name } => {
                state.names.remove(name);
                state.dirs.remove(name);
            }
            Self::Hold { name } => held.push(state.names[name]),
            Self::LetGo => held.clear(),
            Self::Fsync { .. }
            | Self::SyncDirectory { .. }
            | Self::Sync
            | Self::DropCaches
            | Self::Sleep { .. } => {}
        }
        let State { names, files, .. } = state;
        files.retain(|file, _| held.contains(file) || names.values().any(|named| named == file));
    }

    /// The files and directories for which the operation writes nodes.
    pub(crate) fn touches(&self, state: &State, held: &[u32]) -> BTreeSet<Touched> {
        let dir = |name: &str| {
            Touched::Dir(name.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned())
        };
        match self {
            Self::Create { name } => BTreeSet::from([Touched::File(state.next_file), dir(name)]),
            Self::Mkdir { name } | Self::Unlink { name } => BTreeSet::from([dir(name)]),
            Self::Rename { from, to } => BTreeSet::from([dir(from), dir(to)]),
            Self::Write { name, .. } | Self::Truncate { name, .. } => {
                BTreeSet::from([Touched::File(state.names[name])])
            }
            Self::WriteHeld { .. } => {
                held.last().map(|&file| Touched::File(file)).into_iter().collect()
            }
            Self::Fsync { .. }
            | Self::SyncDirectory { .. }
            | Self::Sync
            | Self::DropCaches
            | Self::Sleep { .. }
            | Self::Hold { .. }
            | Self::LetGo => BTreeSet::new(),
        }
    }
}

/// A file or directory for which an operation writes nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touched {
    File(u32),
    Dir(String),
}

fn lay(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    content.resize(content.len().max(at + bytes.len()), 0);
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A mounted file system, with the files that are kept open.
pub(crate) struct User {
    pub(crate) vfs: Vfs,
    held: Vec<Fd>,
}

impl User {
    pub(crate) fn new(vfs: Vfs) -> Self {
        Self { vfs, held: Vec::new() }
    }

    fn with_file(
        &mut self,
        name: &str,
        create: bool,
        call: impl FnOnce(&mut Vfs, Fd) -> Result<(), FsError>,
    ) -> Result<(), FsError> {
        let fd = self.vfs.open(name, create)?;
        let outcome = call(&mut self.vfs, fd);
        outcome.and(self.vfs.close(fd))
    }

    pub(crate) fn perform(&mut self, operation: &Operation) -> Result<(), FsError> {
        match operation {
            Operation::Create { name } => self.with_file(name, true, |_, _| Ok(())),
            Operation::Write { name, at, bytes } => {
                self.with_file(name, false, |vfs, fd| vfs.write(fd, *at as u64, bytes))
            }
            Operation::Truncate { name, size } => {
                self.with_file(name, false, |vfs, fd| vfs.truncate(fd, *size as u64))
            }
            Operation::Fsync { name } => self.with_file(name, false, Vfs::fsync),
            Operation::Rename { from, to } => self.vfs.rename(from, to),
            Operation::Unlink { name } => self.vfs.unlink(name),
            Operation::Mkdir { name } => self.vfs.mkdir(name),
            Operation::SyncDirectory { name } => self.vfs.sync_directory(name),
            Operation::Sync => self.vfs.sync(),
            Operation::DropCaches => self.vfs.drop_caches(),
            Operation::Sleep { ms } => {
                self.vfs.sleep(ms * 1_000_000);
                Ok(())
            }
            Operation::Hold { name } => {
                let fd = self.vfs.open(name, false)?;
                self.held.push(fd);
                Ok(())
            }
            Operation::WriteHeld { at, bytes } => match self.held.last() {
                Some(&fd) => self.vfs.write(fd, *at as u64, bytes),
                None => Ok(()),
            },
            Operation::LetGo => self.held.drain(..).try_for_each(|fd| self.vfs.close(fd)),
        }
    }
}
