//! File systems under power cuts. Random calls are made, and power is cut at every operation of the
//! device, and again during recovery. Afterwards the names and sizes must be those of one state
//! since the last sync, and each byte must be one that its file had since then.

use std::collections::BTreeMap;

use flysch_chip::Prng;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;

/// Size of the largest file in a run, bytes.
const SIZE_MAX: u64 = 30_000;
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A device whose power can be cut, and the file system on it.
pub(crate) struct Rig {
    /// Mount the file system. `None` if power was lost during the mount.
    pub(crate) mount: Box<dyn Fn() -> Option<Vfs>>,
    /// Switch power on, and cut it at this operation of the device, if any.
    pub(crate) arm: Box<dyn Fn(Option<u64>)>,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Whether every call is durable when it returns.
    pub(crate) is_direct: bool,
    /// Number of calls between two mounts.
    pub(crate) calls: u32,
    pub(crate) seed: u64,
}

/// Files by name, each with the number of the file and its content.
type Files = BTreeMap<String, (u32, Vec<u8>)>;

/// The states in which the file system may be found.
struct Model {
    /// The states since the last sync, the newest last.
    states: Vec<Files>,
    /// Older states. Their names are settled, but files that were not synced may still have their
    /// bytes.
    older: Vec<Files>,
    next_file: u32,
}

impl Model {
    fn change(&mut self, change: impl FnOnce(&mut Files)) {
        let mut files = self.states.last().unwrap().clone();
        change(&mut files);
        self.states.push(files);
    }

    fn settle(&mut self) {
        self.states.drain(..self.states.len() - 1);
        self.older.clear();
    }

    /// Note that a file is durable, and with it all names and sizes.
    fn settle_file(&mut self, name: &str) {
        let file = self.states.last().unwrap()[name].0;
        self.older.extend(self.states.drain(..self.states.len() - 1));
        for state in &mut self.older {
            state.retain(|_, (known, _)| *known != file);
        }
    }

    /// Check that the files found are possible, and go on from them.
    fn compare(&mut self, found: &BTreeMap<String, Vec<u8>>) {
        let fits = |state: &&Files| {
            let sizes = state.iter().map(|(name, (_, bytes))| (name, bytes.len()));
            sizes.eq(found.iter().map(|(name, bytes)| (name, bytes.len())))
                && state.iter().all(|(name, (file, _))| self.has_bytes(*file, &found[name]))
        };
        let state = self.states.iter().rev().find(fits);
        let sizes = |files: &Files| -> Vec<_> {
            files.iter().map(|(name, (file, bytes))| (name.clone(), *file, bytes.len())).collect()
        };
        let known: Vec<_> = self.states.iter().map(sizes).collect();
        let there: Vec<_> = found.iter().map(|(name, bytes)| (name, bytes.len())).collect();
        let state = state.unwrap_or_else(|| panic!("{there:?} is none of {known:?}"));
        let adopted =
            state.iter().map(|(name, (file, _))| (name.clone(), (*file, found[name].clone())));
        self.states = vec![adopted.collect()];
        self.older.clear();
    }

    /// Whether each byte is one that the file had since the last sync. After a truncation, the rest
    /// of the page may be zeros before the file itself is shorter.
    fn has_bytes(&self, file: u32, bytes: &[u8]) -> bool {
        let versions = self.states.iter().chain(&self.older).flat_map(BTreeMap::values);
        let versions: Vec<&Vec<u8>> =
            versions.filter(|(known, _)| *known == file).map(|(_, bytes)| bytes).collect();
        let was_cut =
            |known: &[u8], at: usize| known.len() <= at && known.len() / 4096 == at / 4096;
        let had = |at: usize, byte: u8| {
            let had = |known: &&Vec<u8>| match known.get(at) {
                Some(&known) => known == byte,
                None => byte == 0 && was_cut(known, at),
            };
            versions.iter().any(had)
        };
        bytes.iter().enumerate().all(|(at, &byte)| had(at, byte))
    }
}

fn content(vfs: &mut Vfs) -> Result<BTreeMap<String, Vec<u8>>, FsError> {
    let mut found = BTreeMap::new();
    for entry in vfs.list("/")? {
        let name = String::from_utf8(entry.name).unwrap();
        let fd = vfs.open(&name, false)?;
        let mut bytes = vec![0; usize::try_from(vfs.size(fd)?).unwrap()];
        let len = vfs.read(fd, 0, &mut bytes)?;
        assert_eq!(len, bytes.len(), "{name} is short");
        vfs.close(fd)?;
        found.insert(name, bytes);
    }
    Ok(found)
}

/// Make one random call on the model, then on the file system.
fn step(vfs: &mut Vfs, model: &mut Model, prng: &mut Prng) -> Result<(), FsError> {
    let name = NAMES[usize::try_from(prng.below(4)).unwrap()];
    let known = model.states.last().unwrap().contains_key(name);
    match prng.below(12) {
        0 if known => {
            model.change(|files| drop(files.remove(name)));
            vfs.unlink(name)
        }
        1 if known => {
            let to = NAMES[usize::try_from(prng.below(4)).unwrap()];
            model.change(|files| {
                let file = files.remove(name).unwrap();
                files.insert(to.to_owned(), file);
            });
            vfs.rename(name, to)
        }
        2 if known => {
            let size = prng.below(SIZE_MAX);
            let len = usize::try_from(size).unwrap();
            model.change(|files| files.get_mut(name).unwrap().1.resize(len, 0));
            let fd = vfs.open(name, false)?;
            vfs.truncate(fd, size)?;
            vfs.close(fd)
        }
        3 => vfs.drop_caches(),
        4 => {
            vfs.sync()?;
            model.settle();
            Ok(())
        }
        5 => {
            vfs.sleep(2_000_000_000);
            Ok(())
        }
        _other => write(vfs, model, prng, name),
    }
}

fn write(vfs: &mut Vfs, model: &mut Model, prng: &mut Prng, name: &str) -> Result<(), FsError> {
    let offset = prng.below(SIZE_MAX / 2);
    let mut bytes = vec![0; usize::try_from(1 + prng.below(9000)).unwrap()];
    bytes.fill(u8::try_from(1 + prng.below(255)).unwrap());
    let file = model.next_file;
    model.next_file += 1;
    model.change(|files| {
        files.entry(name.to_owned()).or_insert((file, Vec::new()));
    });
    let fd = vfs.open(name, true)?;
    let mut at = usize::try_from(offset).unwrap();
    let end = at + bytes.len();
    while at < end {
        let next = end.min((at + 1).next_multiple_of(4096));
        model.change(|files| {
            let content = &mut files.get_mut(name).unwrap().1;
            content.resize(content.len().max(next), 0);
            content[at..next].fill(bytes[0]);
        });
        at = next;
    }
    vfs.write(fd, offset, &bytes)?;
    if prng.below(3) == 0 {
        vfs.fsync(fd)?;
        model.settle_file(name);
    }
    vfs.close(fd)
}

/// Mount, compare, and make random calls. Returns whether power was lost.
fn session(rig: &Rig, plan: Plan, model: &mut Model, prng: &mut Prng) -> bool {
    let Some(mut vfs) = (rig.mount)() else { return true };
    let outcome = content(&mut vfs).and_then(|found| {
        model.compare(&found);
        for _ in 0..plan.calls {
            step(&mut vfs, model, prng)?;
            if plan.is_direct {
                model.settle();
            }
        }
        Ok(())
    });
    match outcome {
        Ok(()) => false,
        Err(FsError::PowerLost) => true,
        Err(error) => panic!("{error}"),
    }
}

/// Run with a cut at operation `cut_at`, and then with further cuts at random. Returns whether the
/// run came as far as the first cut.
pub(crate) fn check_cut(rig: &Rig, plan: Plan, cut_at: u64) -> bool {
    let mut model = Model { states: vec![Files::new()], older: Vec::new(), next_file: 0 };
    let mut prng = Prng::new(plan.seed);
    let mut chance = Prng::new(cut_at);
    let new = new_space(rig);
    (rig.arm)(Some(cut_at));
    let is_cut = session(rig, plan, &mut model, &mut prng);
    for bound in [20, 200, 2000] {
        (rig.arm)(Some(chance.below(bound)));
        session(rig, plan, &mut model, &mut prng);
    }
    (rig.arm)(None);
    assert!(!session(rig, plan, &mut model, &mut prng), "no cut is planned");
    assert!(!session(rig, plan, &mut model, &mut prng), "no cut is planned");
    check_space(rig, new);
    is_cut
}

/// Run once for each operation, with a cut at it. Returns the number of operations.
pub(crate) fn check(make: impl Fn() -> Rig, plan: Plan) -> u64 {
    let mut cut_at = 0;
    while check_cut(&make(), plan, cut_at) {
        cut_at += 1;
    }
    cut_at
}

/// A file that is renamed over another one, with a cut at each operation: the other one is there,
/// with both names, or the file is, with one.
pub(crate) fn check_rename(make: impl Fn() -> Rig) {
    for cut_at in 0.. {
        let rig = make();
        (rig.arm)(None);
        let mut vfs = (rig.mount)().expect("no cut is planned");
        let files = [("new", vec![2; 5000]), ("old", vec![1; 3000])];
        for (name, bytes) in &files {
            let fd = vfs.open(name, true).unwrap();
            vfs.write(fd, 0, bytes).unwrap();
            vfs.close(fd).unwrap();
        }
        vfs.sync().unwrap();
        drop(vfs);
        (rig.arm)(Some(cut_at));
        let renamed = (rig.mount)().ok_or(FsError::PowerLost).and_then(|mut vfs| {
            vfs.rename("new", "old")?;
            vfs.sync()
        });
        (rig.arm)(None);
        let found = content(&mut (rig.mount)().expect("no cut is planned")).unwrap();
        let files = files.map(|(name, bytes)| (name.to_owned(), bytes));
        let before = BTreeMap::from(files.clone());
        let after = BTreeMap::from([("old".to_owned(), files[0].1.clone())]);
        let names: Vec<_> = found.keys().collect();
        assert!(found == before || found == after, "cut at {cut_at}: {names:?}");
        if renamed.is_ok() {
            assert!(found == after, "it is done");
            break;
        }
    }
}

fn free(vfs: &Vfs) -> u64 {
    vfs.filesystem().free_bytes().expect("it is counted")
}

/// Free space of a new file system.
fn new_space(rig: &Rig) -> u64 {
    (rig.arm)(None);
    free(&(rig.mount)().expect("no cut is planned"))
}

/// What a session counts as free is what a mount counts. Once all names are gone, as much is free
/// as when the file system was new; a directory may keep a block.
fn check_space(rig: &Rig, new: u64) {
    (rig.arm)(None);
    let mut vfs = (rig.mount)().expect("no cut is planned");
    for round in 0..3 {
        // Files that are so long have blocks of pointers.
        let fd = vfs.open("long", true).unwrap();
        vfs.write(fd, 0, &vec![round; 60_000]).unwrap();
        vfs.close(fd).unwrap();
        vfs.sync().unwrap();
        vfs.unlink("long").unwrap();
        vfs.sync().unwrap();
    }
    let counted = free(&vfs);
    drop(vfs);
    let mut vfs = (rig.mount)().expect("no cut is planned");
    assert_eq!(counted, free(&vfs), "free bytes of a session, and of the mount behind it");
    for entry in vfs.list("/").unwrap() {
        vfs.unlink(&String::from_utf8(entry.name).unwrap()).unwrap();
    }
    vfs.sync().unwrap();
    let emptied = free(&vfs);
    assert!(emptied <= new && emptied + 4096 >= new, "{emptied} bytes are free, of {new}");
}
