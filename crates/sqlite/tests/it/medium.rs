//! A file system in memory. It logs its calls and fails on demand. After a power cut it keeps what
//! was synced and an arbitrary part of the rest.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use flysch_sqlite::{
    Characteristics, Database, Error, File, FileKind, Hint, OpenFlags, Settings, SyncFlags, Vfs,
    VfsError,
};

use crate::content::{Change, Content, next};

/// A fault at one call, or from one call on. Calls are counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Once(u64, VfsError),
    From(u64, VfsError),
    Panic(u64),
}

pub(crate) struct Medium {
    pub(crate) state: Rc<RefCell<State>>,
    shares_memory: bool,
    settings: Settings,
    random: Cell<u64>,
    pub(crate) now_ms: Cell<i64>,
}

#[derive(Default)]
pub(crate) struct State {
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    files: Vec<Content>,
    pub(crate) calls: Vec<String>,
    pub(crate) fault: Option<Fault>,
    /// Whether a power cut may undo a deletion, unless the directory was synced.
    pub(crate) forgets_deletions: bool,
}

impl Medium {
    pub(crate) fn new(settings: Settings, seed: u64) -> Self {
        Self {
            state: Rc::default(),
            shares_memory: true,
            settings,
            random: Cell::new(seed | 1),
            now_ms: Cell::new(1_300_000_000_000),
        }
    }

    pub(crate) fn without_shared_memory(settings: Settings) -> Self {
        Self { shares_memory: false, ..Self::new(settings, 1) }
    }

    pub(crate) fn open(self: &Rc<Self>) -> Result<Database, Error> {
        let database = Database::open(Rc::clone(self) as Rc<dyn Vfs>, "main.db")?;
        database.configure(&self.settings)?;
        Ok(database)
    }

    pub(crate) fn call_count(&self) -> u64 {
        self.state.borrow().calls.len() as u64
    }

    pub(crate) fn file(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state.borrow();
        state.names.get(name).map(|id| state.files[*id].bytes.clone())
    }

    /// Open a file that exists.
    pub(crate) fn handle(&self, name: &str) -> Box<dyn File> {
        let id = self.state.borrow().names[name];
        let (state, settings) = (Rc::clone(&self.state), self.settings);
        Box::new(Handle { state, id, name: Some(name.to_owned()), settings })
    }

    pub(crate) fn resize(&self, name: &str, size: usize) {
        let state = &mut *self.state.borrow_mut();
        state.files[state.names[name]].bytes.resize(size, 0);
    }

    /// The medium as it is when the power is back.
    pub(crate) fn after_power_cut(&self, seed: u64) -> Rc<Self> {
        let random = &mut (seed | 1);
        let old = self.state.borrow();
        let mut names = old.durable_names.clone();
        for (name, id) in &old.names {
            if next(random).is_multiple_of(2) {
                names.insert(name.clone(), *id);
            }
        }
        names.retain(|name, _| old.names.contains_key(name) || next(random).is_multiple_of(2));
        let survived = Self { shares_memory: self.shares_memory, ..Self::new(self.settings, seed) };
        for (name, id) in names {
            let content = &old.files[id];
            let mut bytes = content.durable.clone();
            for change in content.pending.iter().filter_map(|change| change.survivor(random)) {
                change.apply(&mut bytes);
            }
            survived.insert(&name, bytes);
        }
        Rc::new(survived)
    }

    pub(crate) fn insert(&self, name: &str, bytes: Vec<u8>) {
        let state = &mut *self.state.borrow_mut();
        for names in [&mut state.names, &mut state.durable_names] {
            names.insert(name.to_owned(), state.files.len());
        }
        state.files.push(Content { durable: bytes.clone(), bytes, pending: Vec::new() });
    }
}

impl State {
    fn call(&mut self, call: String) -> Result<(), VfsError> {
        self.calls.push(call);
        let count = self.calls.len() as u64;
        match self.fault {
            Some(Fault::Once(at, failure)) if at == count => Err(failure),
            Some(Fault::From(at, failure)) if at <= count => Err(failure),
            Some(Fault::Panic(at)) if at == count => panic!("the medium breaks at call {at}"),
            _ => Ok(()),
        }
    }

    fn create(&mut self, name: Option<&str>) -> usize {
        self.files.push(Content::default());
        let id = self.files.len() - 1;
        if let Some(name) = name {
            self.names.insert(name.to_owned(), id);
        }
        id
    }
}

impl Vfs for Medium {
    fn open(&self, name: Option<&str>, flags: OpenFlags) -> Result<Box<dyn File>, VfsError> {
        let state = &mut *self.state.borrow_mut();
        state.call(format!("open {name:?} {:?}", flags.kind()))?;
        assert_eq!(flags.kind() == FileKind::Wal, name.is_some_and(|name| name.ends_with("-wal")));
        let found = name.and_then(|name| state.names.get(name).copied());
        let id = match found {
            Some(id) => id,
            None if flags.may_create() => state.create(name),
            None => return Err(VfsError::CannotOpen),
        };
        let name = name.map(str::to_owned);
        let (state, settings) = (Rc::clone(&self.state), self.settings);
        Ok(Box::new(Handle { state, id, name, settings }))
    }

    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), VfsError> {
        let state = &mut *self.state.borrow_mut();
        state.call(format!("delete {name} {sync_directory}"))?;
        state.names.remove(name).ok_or(VfsError::NotFound)?;
        if sync_directory || !state.forgets_deletions {
            state.durable_names.remove(name);
        }
        Ok(())
    }

    fn exists(&self, name: &str) -> Result<bool, VfsError> {
        let state = &mut *self.state.borrow_mut();
        state.call(format!("exists {name}"))?;
        Ok(state.names.contains_key(name))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        let mut random = self.random.get();
        bytes.fill_with(|| next(&mut random).to_le_bytes()[7]);
        self.random.set(random);
        self.state.borrow_mut().calls.push(format!("random {}", bytes.len()));
    }

    fn sleep(&self, microseconds: u64) {
        self.now_ms.set(self.now_ms.get() + i64::try_from(microseconds / 1000).unwrap());
    }

    fn now_ms(&self) -> i64 {
        self.now_ms.get()
    }

    fn supports_shared_memory(&self, name: &str) -> bool {
        assert_eq!(name, "main.db");
        self.shares_memory
    }
}

struct Handle {
    state: Rc<RefCell<State>>,
    id: usize,
    name: Option<String>,
    settings: Settings,
}

impl Handle {
    fn call(&self, call: &str) -> Result<(), VfsError> {
        let name = self.name.as_deref().unwrap_or("nameless");
        self.state.borrow_mut().call(format!("{name} {call}"))
    }

    fn change(&self, change: Change) {
        let content = &mut self.state.borrow_mut().files[self.id];
        change.apply(&mut content.bytes);
        content.pending.push(change);
    }
}

impl File for Handle {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, VfsError> {
        self.call(&format!("read {offset} {}", bytes.len()))?;
        let content = &self.state.borrow().files[self.id].bytes;
        let start = content.len().min(usize::try_from(offset).unwrap());
        let size = bytes.len().min(content.len() - start);
        bytes[..size].copy_from_slice(&content[start..start + size]);
        Ok(size)
    }

    /// A write that fails may have changed some bytes, so a power cut may leave a part of it.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), VfsError> {
        let change = Change::Write(usize::try_from(offset).unwrap(), bytes.to_vec());
        let outcome = self.call(&format!("write {offset} {bytes:?}"));
        if outcome.is_err() {
            let content = &mut self.state.borrow_mut().files[self.id];
            content.pending.push(change);
        } else {
            self.change(change);
        }
        outcome
    }

    fn truncate(&mut self, size: u64) -> Result<(), VfsError> {
        self.call(&format!("truncate {size}"))?;
        self.change(Change::Resize(usize::try_from(size).unwrap()));
        Ok(())
    }

    fn sync(&mut self, flags: SyncFlags) -> Result<(), VfsError> {
        self.call(&format!("{flags:?}"))?;
        let state = &mut *self.state.borrow_mut();
        let content = &mut state.files[self.id];
        content.durable.clone_from(&content.bytes);
        content.pending.clear();
        if let Some(name) = &self.name
            && state.names.get(name) == Some(&self.id)
        {
            state.durable_names.insert(name.clone(), self.id);
        }
        Ok(())
    }

    fn size(&mut self) -> Result<u64, VfsError> {
        self.call("size")?;
        Ok(self.state.borrow().files[self.id].bytes.len() as u64)
    }

    fn sector_size(&self) -> u32 {
        self.settings.sector_size
    }

    fn characteristics(&self) -> Characteristics {
        if self.settings.powersafe_overwrite {
            Characteristics::POWERSAFE_OVERWRITE
        } else {
            Characteristics::NONE
        }
    }

    fn hint(&mut self, hint: Hint) {
        let name = self.name.as_deref().unwrap_or("nameless");
        self.state.borrow_mut().calls.push(format!("{name} {hint:?}"));
    }
}
