//! Wear: the erase counters, and which blocks are free, in use, protected or to be scrubbed.

use std::collections::{BTreeSet, VecDeque};

/// Erases for which a block just taken is not moved: its data may be short-lived.
const PROTECTION_LEN: usize = 10;

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Used,
    Protected,
    Scrub,
    /// Waiting to be erased, being worked on, or in the hands of the fastmap.
    Away,
    /// Bad, or kept as it is.
    Out,
}

/// The blocks by state, those that wait ordered by erase count.
#[derive(Debug)]
pub(super) struct Wear {
    counts: Vec<u64>,
    states: Vec<State>,
    free: BTreeSet<(u64, u32)>,
    used: BTreeSet<(u64, u32)>,
    scrub: BTreeSet<(u64, u32)>,
    protected: VecDeque<Vec<u32>>,
}

impl Wear {
    /// All blocks out of use.
    pub(super) fn new(block_count: u32) -> Self {
        Self {
            counts: vec![0; block_count as usize],
            states: vec![State::Out; block_count as usize],
            free: BTreeSet::new(),
            used: BTreeSet::new(),
            scrub: BTreeSet::new(),
            protected: vec![Vec::new(); PROTECTION_LEN].into(),
        }
    }

    pub(super) fn count(&self, peb: u32) -> u64 {
        self.counts[peb as usize]
    }

    pub(super) fn set_count(&mut self, peb: u32, count: u64) {
        assert!(
            matches!(self.state(peb), State::Away | State::Out),
            "an ordered block keeps its count"
        );
        self.counts[peb as usize] = count;
    }

    pub(super) fn state(&self, peb: u32) -> State {
        self.states[peb as usize]
    }

    /// Move a block to another state.
    pub(super) fn set_state(&mut self, peb: u32, state: State) {
        let key = (self.count(peb), peb);
        match self.state(peb) {
            State::Free => drop(self.free.remove(&key)),
            State::Used => drop(self.used.remove(&key)),
            State::Scrub => drop(self.scrub.remove(&key)),
            State::Protected => {
                self.protected.iter_mut().for_each(|slot| slot.retain(|&other| other != peb));
            }
            State::Away | State::Out => {}
        }
        match state {
            State::Free => drop(self.free.insert(key)),
            State::Used => drop(self.used.insert(key)),
            State::Scrub => drop(self.scrub.insert(key)),
            State::Protected => {
                self.protected.back_mut().expect("the queue has a length").push(peb);
            }
            State::Away | State::Out => {}
        }
        self.states[peb as usize] = state;
    }

    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// The blocks in a state.
    pub(super) fn pebs_in(&self, state: State) -> impl Iterator<Item = u32> {
        let of_state = (0..).zip(&self.states).filter(move |&(_, &other)| other == state);
        of_state.map(|(peb, _)| peb)
    }

    /// The free block with the least wear of those below `end`.
    pub(super) fn free_below(&self, end: u32) -> Option<u32> {
        self.free.iter().map(|&(_, peb)| peb).find(|&peb| peb < end)
    }

    /// The block in use with the least wear of those below `end`.
    pub(super) fn used_below(&self, end: u32) -> Option<u32> {
        self.used.iter().map(|&(_, peb)| peb).find(|&peb| peb < end)
    }

    /// Choose a free block for new data: one of medium wear, or, where wear differs much, the
    /// most worn within twice the threshold of the least.
    pub(super) fn choose(&self, threshold: u64) -> Option<u32> {
        let (first, _) = self.free.first()?;
        let (last, _) = self.free.last()?;
        if last - first < 2 * threshold {
            return self.free.iter().nth(self.free.len() / 2).map(|&(_, peb)| peb);
        }
        let limit = (first + threshold, 0);
        self.free.range(..limit).next_back().map(|&(_, peb)| peb)
    }

    /// Choose a free block for data that is to stay: the most worn within twice the threshold.
    pub(super) fn choose_worn(&self, threshold: u64) -> Option<u32> {
        let (first, _) = self.free.first()?;
        let limit = (first + 2 * threshold, 0);
        self.free.range(..limit).next_back().map(|&(_, peb)| peb)
    }

    /// The block that needs scrubbing most, else the one in use with the least wear, if moving it
    /// is worth while to move it to `worn`.
    pub(super) fn movable(&self, worn: Option<u32>, threshold: u64) -> Option<u32> {
        if let Some(&(_, peb)) = self.scrub.first() {
            return Some(peb);
        }
        let worn = worn?;
        let &(count, peb) = self.used.first()?;
        (self.count(worn) >= count + threshold).then_some(peb)
    }

    /// One erase has happened: the blocks protected longest are ordinary ones from now on.
    pub(super) fn age(&mut self) {
        let released = self.protected.pop_front().expect("the queue has a length");
        self.protected.push_back(Vec::new());
        for peb in released {
            self.used.insert((self.count(peb), peb));
            self.states[peb as usize] = State::Used;
        }
    }

    /// Lowest and highest erase count of the blocks that take part.
    pub(super) fn spread(&self) -> (u64, u64) {
        let counts = self.counts.iter().zip(&self.states);
        let counts = counts.filter(|(_, state)| **state != State::Out).map(|(count, _)| *count);
        counts.fold((u64::MAX, 0), |(low, high), count| (low.min(count), high.max(count)))
    }
}
