//! Hints: what lookups learnt of packed levels, so that the next ones near by read less.
//!
//! A packed level is searched by its fences. Where codes do not lie evenly, as those of keys of
//! several columns, the first guess of the fence is bad, and a lookup reads some four. But a
//! program asks for keys that lie near each other: the lines of one order, one after the other.
//!
//! ```text
//! group   the fence of this group tells the unit of codes between these two
//! unit    codes between these two begin in this unit: no fence is read
//! gap     no entry of the level has a code between these two: nothing is read
//! ```
//!
//! 1. A hint says where to read, or that nothing is there, and never what a row is.
//! 2. Levels change when a merge ends. All hints are forgotten then.
//! 3. Hints are in RAM alone, and noted by lookups, which borrow the store.

use core::cell::Cell;

use super::run::Run;

/// Number of hints of groups that are kept.
const GROUPS: usize = 8;
/// Number of hints of units, and of gaps: one for each of so many levels.
const LEVELS: usize = 3;

/// Something that is known of the codes between two others, in a level of an index.
#[derive(Clone, Copy, Debug)]
struct Hint {
    /// The group or the unit.
    at: u32,
    index: u8,
    level: u8,
    /// The codes lie between these two, which are not among them.
    between: (u64, u64),
}

impl Hint {
    /// A hint of no code.
    const NONE: Self = Self { at: 0, index: 0, level: 0, between: (0, 0) };

    const fn new(run: &Run, at: u32, between: (u64, u64)) -> Self {
        Self { at, index: run.head.indexes, level: run.head.level, between }
    }

    const fn is_of(&self, run: &Run) -> bool {
        self.index == run.head.indexes && self.level == run.head.level && self.between.1 > 0
    }
}

/// Hints of one kind, replaced in turn.
#[derive(Debug)]
struct Ring<const COUNT: usize> {
    hints: [Cell<Hint>; COUNT],
    next: Cell<usize>,
}

impl<const COUNT: usize> Ring<COUNT> {
    const fn new() -> Self {
        Self { hints: [const { Cell::new(Hint::NONE) }; COUNT], next: Cell::new(0) }
    }

    fn forget(&self) {
        self.hints.iter().for_each(|hint| hint.set(Hint::NONE));
    }

    /// What is known of a code in a level.
    fn find(&self, run: &Run, code: u64) -> Option<u32> {
        let holds = |hint: &Hint| hint.between.0 < code && code < hint.between.1;
        let mut hints = self.hints.iter().map(Cell::get);
        hints.find(|hint| hint.is_of(run) && holds(hint)).map(|hint| hint.at)
    }

    /// Keep a hint, in place of the one that is like it, or else of the oldest.
    fn note(&self, hint: Hint, is_alike: impl Fn(&Hint) -> bool) {
        let alike = self.hints.iter().position(|old| is_alike(&old.get()));
        let at = alike.unwrap_or_else(|| {
            self.next.set((self.next.get() + 1) % COUNT);
            self.next.get()
        });
        self.hints[at].set(hint);
    }
}

/// Where to look for a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guide {
    /// The fence of this group tells its unit.
    Group(u32),
    /// It begins in this unit of the run, if it is there.
    Unit(u32),
}

/// The hints of all indexes.
#[derive(Debug)]
pub(crate) struct Hints {
    groups: Ring<GROUPS>,
    units: Ring<LEVELS>,
    gaps: Ring<LEVELS>,
}

impl Hints {
    /// No hints.
    pub(crate) const fn new() -> Self {
        Self { groups: Ring::new(), units: Ring::new(), gaps: Ring::new() }
    }

    /// Forget everything, as a level changed.
    pub(crate) fn forget(&self) {
        self.groups.forget();
        self.units.forget();
        self.gaps.forget();
    }

    /// Where a level has a code, if it has it.
    pub(crate) fn find(&self, run: &Run, code: u64) -> Option<Guide> {
        let unit = self.units.find(run, code).map(Guide::Unit);
        unit.or_else(|| self.groups.find(run, code).map(Guide::Group))
    }

    /// Whether a level is known to have no entry of a code.
    pub(crate) fn deny(&self, run: &Run, code: u64) -> bool {
        self.gaps.find(run, code).is_some()
    }

    /// Note which group's fence tells the unit of codes between two others.
    pub(crate) fn note_group(&self, run: &Run, group: u32, between: (u64, u64)) {
        let is_alike = |old: &Hint| old.is_of(run) && old.at == group;
        self.groups.note(Hint::new(run, group, between), is_alike);
    }

    /// Note in which unit codes between two others begin.
    pub(crate) fn note_unit(&self, run: &Run, unit: u32, between: (u64, u64)) {
        self.units.note(Hint::new(run, unit, between), |old| old.is_of(run));
    }

    /// Note that a level has no code between two others.
    pub(crate) fn note_gap(&self, run: &Run, between: (u64, u64)) {
        self.gaps.note(Hint::new(run, 0, between), |old| old.is_of(run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_hold_between_their_codes_in_their_level() {
        let hints = Hints::new();
        let [run, other] = [1, 2].map(|level| Run::of_level(3, level, 0));
        let at = |code| hints.find(&run, code);
        assert_eq!(at(1), None, "nothing is known at first");
        hints.note_group(&run, 7, (10, 90));
        hints.note_unit(&run, 5, (20, 30));
        let (group, unit) = (Some(Guide::Group(7)), Some(Guide::Unit(5)));
        assert_eq!([10, 11, 20, 25, 89, 90].map(at), [None, group, group, unit, group, None]);
        assert_eq!((hints.find(&other, 25), hints.deny(&run, 25)), (None, false));
        hints.note_gap(&run, (22, 25));
        assert_eq!([22, 23, 24, 25].map(|code| hints.deny(&run, code)), [false, true, true, false]);
        hints.note_unit(&run, 6, (30, 40));
        assert_eq!([25, 35].map(at), [group, Some(Guide::Unit(6))], "a level has one unit");
        hints.forget();
        assert_eq!((at(11), hints.deny(&run, 23)), (None, false));
    }
}
