//! Wear: the erase counters, and which PEBs are free, in use, protected or to be scrubbed.

use std::collections::{BTreeSet, VecDeque};

/// A PEB just taken is not moved for this many erases, because its data may be short-lived.
const PROTECTION_LEN: usize = 10;

/// What a PEB is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Used,
    Protected,
    Scrub,
    /// Waiting to be erased, being copied, or in a pool or the fastmap.
    Away,
    /// Bad, or kept because its data is damaged.
    Out,
}

/// All PEBs by state. Free ones and those in use are ordered by erase count.
#[derive(Clone, Debug)]
pub(super) struct Wear {
    counts: Vec<u64>,
    states: Vec<State>,
    free: BTreeSet<(u64, u32)>,
    used: BTreeSet<(u64, u32)>,
    scrub: BTreeSet<(u64, u32)>,
    protected: VecDeque<Vec<u32>>,
}

impl Wear {
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

    pub(super) fn pebs_in(&self, state: State) -> impl Iterator<Item = u32> {
        let of_state = (0..).zip(&self.states).filter(move |&(_, &other)| other == state);
        of_state.map(|(peb, _)| peb)
    }

    /// The least worn of the free PEBs below `end`.
    pub(super) fn free_below(&self, end: u32) -> Option<u32> {
        self.free.iter().map(|&(_, peb)| peb).find(|&peb| peb < end)
    }

    /// The least worn of the PEBs below `end` that are in use.
    pub(super) fn used_below(&self, end: u32) -> Option<u32> {
        self.used.iter().map(|&(_, peb)| peb).find(|&peb| peb < end)
    }

    /// Choose a free PEB for new data: one of medium wear. If the wear of the free PEBs differs by
    /// twice the threshold or more, it is the most worn one within the threshold of the least worn.
    pub(super) fn choose(&self, threshold: u64) -> Option<u32> {
        let (first, _) = self.free.first()?;
        let (last, _) = self.free.last()?;
        if last - first < 2 * threshold {
            return self.free.iter().nth(self.free.len() / 2).map(|&(_, peb)| peb);
        }
        let limit = (first.saturating_add(threshold), 0);
        self.free.range(..limit).next_back().map(|&(_, peb)| peb)
    }

    /// Choose a free PEB for data that rarely changes: the most worn one within twice the threshold
    /// of the least worn.
    pub(super) fn choose_worn(&self, threshold: u64) -> Option<u32> {
        let (first, _) = self.free.first()?;
        let limit = (first.saturating_add(2 * threshold), 0);
        self.free.range(..limit).next_back().map(|&(_, peb)| peb)
    }

    /// The PEB whose data should be moved: the least worn one to be scrubbed, or else the least
    /// worn one in use if `worn` has at least `threshold` more erases.
    pub(super) fn movable(&self, worn: Option<u32>, threshold: u64) -> Option<u32> {
        if let Some(&(_, peb)) = self.scrub.first() {
            return Some(peb);
        }
        let worn = worn?;
        let &(count, peb) = self.used.first()?;
        (self.count(worn) >= count.saturating_add(threshold)).then_some(peb)
    }

    /// Count one erase. The PEBs that have been protected longest become ordinary ones.
    pub(super) fn age(&mut self) {
        let released = self.protected.pop_front().expect("the queue has a length");
        self.protected.push_back(Vec::new());
        for peb in released {
            self.used.insert((self.count(peb), peb));
            self.states[peb as usize] = State::Used;
        }
    }

    /// Lowest and highest erase count of the PEBs that are not out of use.
    pub(super) fn spread(&self) -> (u64, u64) {
        let counts = self.counts.iter().zip(&self.states);
        let counts = counts.filter(|(_, state)| **state != State::Out).map(|(count, _)| *count);
        counts.fold((u64::MAX, 0), |(low, high), count| (low.min(count), high.max(count)))
    }
}
