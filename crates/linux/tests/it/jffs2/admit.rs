//! Which states a file system may be found in after a power cut.
//!
//! Each call becomes nodes in order, and pages reach the flash in order. The cut therefore leaves
//! the state after the first so many nodes. At least the nodes of the last fsync that concerns them
//! must be there. One write becomes several nodes, so any byte of it may be old or new.
//!
//! If the page under way was torn or left between two states, it may have lost some nodes and kept
//! later ones. Then the rule holds for each file and name separately: a byte must be one that the
//! file had, or was about to get, since the last fsync.

use std::collections::BTreeSet;
use std::fmt;

use flysch_chip::Prng;

use super::operation::{Mix, Operation, Touched, User};
use super::state::{Content, Names, State, difference};

/// What was written longer ago than this is on flash, milliseconds: JFFS2 flushes its buffer at the
/// latest 5.38 s after a node came into it.
const FLUSH_DELAY_MS: u64 = 5_400;

/// The states that a run went through, and which of them a cut may lead back to.
pub(crate) struct History {
    /// The state before each operation, and the state after the last.
    pub(crate) states: Vec<State>,
    /// The files held open in each state.
    held: Vec<Vec<u32>>,
    pub(crate) operations: Vec<Operation>,
    /// For each state, the index of the oldest state that a cut may lead back to.
    durable: Vec<usize>,
}

impl History {
    pub(crate) fn new(first: State) -> Self {
        Self {
            states: vec![first],
            held: vec![Vec::new()],
            operations: Vec::new(),
            durable: vec![0],
        }
    }

    /// Perform `count` operations on an empty file system, drawn by `seed` from [`Mix::SHORT`].
    /// Each must succeed. The history begins at the state after them.
    pub(crate) fn after(user: &mut User, what: &str, seed: u64, count: u32) -> Self {
        let mut prng = Prng::new(seed);
        (0..count).fold(Self::new(State::default()), |history, place| {
            let story = format_args!("{what}, seed {seed}, {place}");
            history.step(user, &mut prng, Mix::SHORT, story)
        })
    }

    pub(crate) fn last(&self) -> &State {
        self.states.last().unwrap()
    }

    /// Add an operation that will be done next.
    pub(crate) fn push(&mut self, operation: Operation) {
        let (mut state, mut held) = (self.last().clone(), self.held.last().unwrap().clone());
        operation.change(&mut state, &mut held);
        let durable = self.durable_after(&operation).max(*self.durable.last().unwrap());
        self.states.push(state);
        self.held.push(held);
        self.operations.push(operation);
        self.durable.push(durable);
    }

    pub(crate) fn extend(&mut self, operations: impl IntoIterator<Item = Operation>) {
        for operation in operations {
            self.push(operation);
        }
    }

    /// Draw an operation and perform it, which must succeed. The history then begins at the state
    /// after it.
    pub(crate) fn step(
        mut self,
        user: &mut User,
        prng: &mut Prng,
        mix: Mix,
        story: fmt::Arguments<'_>,
    ) -> Self {
        let operation = Operation::draw(prng, self.last(), mix);
        assert_eq!(user.perform(&operation), Ok(()), "{story}: {operation:?}");
        self.push(operation);
        self.into_last()
    }

    /// Begin a new history at the last state.
    pub(crate) fn into_last(mut self) -> Self {
        let held = self.held.split_off(self.held.len() - 1);
        let states = self.states.split_off(self.states.len() - 1);
        Self { states, held, operations: Vec::new(), durable: vec![0] }
    }

    /// The oldest state to which a cut during operation `under_way` may lead back.
    pub(crate) fn durable(&self, under_way: usize) -> usize {
        self.durable[under_way]
    }

    /// What an operation writes nodes for.
    pub(crate) fn touched(&self, place: usize) -> BTreeSet<Touched> {
        self.operations[place].touches(&self.states[place], &self.held[place])
    }

    /// For a file system that makes a file durable when it is closed: the oldest state whose
    /// content a cut may lead back to.
    pub(crate) fn first_unsynced(&self, under_way: usize) -> usize {
        let mut first = None;
        for (place, operation) in self.operations[..=under_way].iter().enumerate() {
            if matches!(operation, Operation::WriteHeld { .. }) {
                first.get_or_insert(place);
            } else if matches!(operation, Operation::LetGo | Operation::Sync) && place < under_way {
                first = None;
            }
        }
        first.unwrap_or(under_way)
    }

    /// The oldest state that a cut may lead back to, once `operation` is done.
    fn durable_after(&self, operation: &Operation) -> usize {
        let synced = match operation {
            Operation::Sync => return self.operations.len(),
            // The timer of the write buffer has fired meanwhile.
            Operation::Sleep { ms } if *ms >= FLUSH_DELAY_MS => return self.operations.len(),
            Operation::Fsync { name } => Touched::File(self.last().names[name]),
            Operation::SyncDirectory { name } => Touched::Dir(name.clone()),
            _ => return 0,
        };
        let touching = self.operations.iter().enumerate().rev().find(|(place, operation)| {
            operation.touches(&self.states[*place], &self.held[*place]).contains(&synced)
        });
        // The last node of a new file is its name's, which belongs to the directory: a sync of the
        // file need not bring it (`jffs2_write_dirent` gives the parent's number).
        let is_name_last = |place: usize| {
            matches!(synced, Touched::File(_))
                && matches!(self.operations[place], Operation::Create { .. })
        };
        touching.map_or(0, |(place, _)| place + usize::from(!is_name_last(place)))
    }

    /// The reason why `found` is impossible after a cut during operation `under_way`, if it is.
    pub(crate) fn refuse(&self, found: &Names, under_way: usize, is_clean: bool) -> Option<String> {
        let durable = self.durable[under_way];
        let end = (under_way + 1).min(self.operations.len());
        if is_clean {
            let fits = (durable..end).any(|place| self.is_between(found, place));
            let last = self.states[end].visible();
            return (!fits).then(|| {
                let why = difference(found, &last).unwrap_or_default();
                format!("no prefix of operations {durable}..={under_way} leads here; at last {why}")
            });
        }
        refuse_loosely(found, &self.states[durable..=end])
    }

    /// Whether `found` is the state before or after operation `place`, or one between.
    fn is_between(&self, found: &Names, place: usize) -> bool {
        let (before, after) = (&self.states[place], &self.states[place + 1]);
        if difference(found, &before.visible()).is_none()
            || difference(found, &after.visible()).is_none()
        {
            return true;
        }
        let mut mixed = before.visible();
        match &self.operations[place] {
            Operation::Rename { from, to } => {
                mixed.insert(to.clone(), mixed[from].clone());
                difference(found, &mixed).is_none()
            }
            Operation::Write { name, at, .. } => {
                let Some(Some(content)) = found.get(name) else { return false };
                let contents = [before.content(name).unwrap(), after.content(name).unwrap()];
                let mixed_in = is_mixed(content, contents, *at);
                mixed.insert(name.clone(), Some(content.clone()));
                mixed_in && difference(found, &mixed).is_none()
            }
            Operation::WriteHeld { at, .. } => {
                let file = self.held[place].last();
                let name = before.names.iter().find(|(_, named)| Some(*named) == file);
                let Some((name, _)) = name else { return false };
                let Some(Some(content)) = found.get(name) else { return false };
                let contents = [before.content(name).unwrap(), after.content(name).unwrap()];
                let mixed_in = is_mixed(content, contents, *at);
                mixed.insert(name.clone(), Some(content.clone()));
                mixed_in && difference(found, &mixed).is_none()
            }
            _ => false,
        }
    }
}

/// Apply the rule for each file and name separately.
pub(crate) fn refuse_loosely(found: &Names, window: &[State]) -> Option<String> {
    for (name, content) in found {
        let admitted = match content {
            None => window.iter().any(|state| state.dirs.contains(name)),
            Some(content) => {
                let files: BTreeSet<u32> =
                    window.iter().filter_map(|state| state.names.get(name).copied()).collect();
                files.iter().any(|&file| could_be(content, file, window))
            }
        };
        if !admitted {
            return Some(format!("{name} is neither what it was nor what it became"));
        }
    }
    let names = window[0].visible();
    let lost = names
        .keys()
        .find(|name| !found.contains_key(*name) && window.iter().all(|state| state.has(name)));
    if let Some(name) = lost {
        return Some(format!("{name} is lost"));
    }
    let lost = window[0].files.keys().find(|file| is_lost(**file, found, window));
    lost.map(|file| format!("file {file}, {:?}, is lost", name_of(*file, &window[0])))
}

fn name_of(file: u32, state: &State) -> Option<&String> {
    state.names.iter().find(|(_, named)| **named == file).map(|(name, _)| name)
}

/// Whether a file is missing that had a name in all states. If one of its names was given to
/// another file meanwhile, this may be the only trace of the change, and nothing can be said.
fn is_lost(file: u32, found: &Names, window: &[State]) -> bool {
    let mut names = BTreeSet::new();
    for state in window {
        match name_of(file, state) {
            Some(name) => names.insert(name),
            None => return false,
        };
    }
    let is_shared = |name: &&String| {
        window.iter().any(|state| state.names.get(*name).is_some_and(|other| *other != file))
    };
    if names.iter().any(is_shared) {
        return false;
    }
    let could_be_it = |name: &&String| matches!(found.get(*name), Some(Some(content)) if could_be(content, file, window));
    !names.iter().any(could_be_it)
}

/// Whether each byte is one that the file had in some state, or a hole.
pub(crate) fn could_be(content: &Content, file: u32, window: &[State]) -> bool {
    let contents: Vec<&Content> =
        window.iter().filter_map(|state| state.files.get(&file)).collect();
    let lens = contents.iter().map(|content| content.len());
    let (Some(len_min), Some(len_max)) = (lens.clone().min(), lens.max()) else { return false };
    let newborn = !window[0].files.contains_key(&file);
    if content.len() > len_max || (content.len() < len_min && !newborn) {
        return false;
    }
    content.iter().enumerate().all(|(at, byte)| {
        let hole = *byte == 0 && (newborn || contents.iter().any(|content| content.len() <= at));
        hole || contents.iter().any(|content| content.get(at) == Some(byte))
    })
}

/// Whether `found` can arise while a write at `at` turns one content into the other.
fn is_mixed(found: &Content, [before, after]: [&Content; 2], at: usize) -> bool {
    let grown = found.len() >= before.len() && found.len() <= after.len();
    grown
        && found.iter().enumerate().all(|(place, byte)| {
            let old = before.get(place) == Some(byte);
            let new = after.get(place) == Some(byte);
            let hole = place >= before.len() && *byte == 0;
            if place < at { old || (new && place >= before.len()) } else { old || new || hole }
        })
}
