//! Hints: what lookups learnt of packed runs, so that the next ones near by read less.
//!
//! A packed level is searched by its fences, and a packed section of a recent run by its units.
//! Where codes do not lie evenly, as those of keys of several columns, the first guess is bad, and
//! a lookup reads some four cells. But a program asks for keys that lie near each other: the lines
//! of one order, one after the other.
//!
//! ```text
//! group   the fence of this group tells the unit of codes between these two
//! unit    codes between these two begin in this unit: it is the first to be read
//! gap     no entry of the level has a code between these two: nothing is read
//! ```
//!
//! 1. A hint says where to read, or that nothing is there, and never what a row is.
//! 2. The first page of a run tells it from others. When runs go, so do their hints.
//! 3. Hints are in RAM alone, and noted by lookups, which borrow the store.

use super::ring::{Item, Ring};
use super::run::Run;
use super::table::Runs;

/// Number of hints of groups that are kept.
const GROUPS: usize = 8;
/// Number of hints of units that are kept.
const UNITS: usize = 12;
/// Number of hints of gaps that are kept.
const GAPS: usize = 8;

/// Something that is known of the codes between two others, in a run.
#[derive(Clone, Copy, Debug)]
struct Hint {
    /// The group or the unit.
    at: u32,
    /// The first page of the run.
    run: u32,
    /// The codes lie between these two, which are not among them.
    between: (u64, u64),
}

impl Item for Hint {
    /// A hint of no code.
    const NONE: Self = Self { at: 0, run: 0, between: (0, 0) };

    fn is_like(&self, newer: &Self) -> bool {
        self.is_of(newer.run) && self.at == newer.at
    }
}

impl Hint {
    /// Whether it is of a run that begins on this page.
    const fn is_of(&self, run: u32) -> bool {
        self.run == run && self.between.1 > 0
    }
}

/// Hints of one kind.
type Hinted<const COUNT: usize> = Ring<Hint, COUNT>;

impl<const COUNT: usize> Hinted<COUNT> {
    /// Forget the hints of a run, or those of all runs.
    fn forget_run(&self, run: Option<u32>) {
        self.forget(|hint| run.is_none_or(|run| hint.is_of(run)));
    }

    fn are_of(&self, is_there: impl Fn(u32) -> bool) -> bool {
        self.iter().filter(|hint| hint.between.1 > 0).all(|hint| is_there(hint.run))
    }

    /// What is known of a code in a run, among what is about the right part of it.
    fn find(&self, run: u32, code: u64, is_right: impl Fn(u32) -> bool) -> Option<u32> {
        let holds = |hint: &Hint| hint.between.0 < code && code < hint.between.1;
        let found = self.iter().find(|hint| hint.is_of(run) && holds(hint) && is_right(hint.at));
        found.map(|hint| hint.at)
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
    groups: Hinted<GROUPS>,
    units: Hinted<UNITS>,
    gaps: Hinted<GAPS>,
}

impl Hints {
    /// No hints.
    pub(crate) const fn new() -> Self {
        Self { groups: Ring::new(), units: Ring::new(), gaps: Ring::new() }
    }

    /// Forget what is known of a run that goes, or of all runs.
    pub(crate) fn forget(&self, run: Option<&Run>) {
        let run = run.map(Run::name);
        self.groups.forget_run(run);
        self.units.forget_run(run);
        self.gaps.forget_run(run);
    }

    /// Whether all hints are of runs in the table.
    pub(crate) fn are_of(&self, runs: &Runs<'_>) -> bool {
        let is_there = |hinted| runs.iter().any(|run| run.name() == hinted);
        self.groups.are_of(is_there) && self.units.are_of(is_there) && self.gaps.are_of(is_there)
    }

    /// Where the section of an index has a code, if it has it.
    pub(crate) fn find(&self, run: &Run, index: u8, code: u64) -> Option<Guide> {
        let (section, run) = (run.section(index), run.name());
        let units = section.start..section.start + section.units;
        let unit = self.units.find(run, code, |unit| units.contains(&unit)).map(Guide::Unit);
        unit.or_else(|| self.groups.find(run, code, |_| true).map(Guide::Group))
    }

    /// Whether a level is known to have no entry of a code.
    pub(crate) fn deny(&self, run: &Run, code: u64) -> bool {
        self.gaps.find(run.name(), code, |_| true).is_some()
    }

    /// Note which group's fence tells the unit of codes between two others.
    pub(crate) fn note_group(&self, run: &Run, group: u32, between: (u64, u64)) {
        debug_assert!(!run.head.is_recent(), "levels have fences");
        self.groups.keep(Hint { at: group, run: run.name(), between });
    }

    /// Note in which unit codes between two others begin.
    pub(crate) fn note_unit(&self, run: &Run, unit: u32, between: (u64, u64)) {
        self.units.keep(Hint { at: unit, run: run.name(), between });
    }

    /// Note that a level has no code between two others, which are in this unit.
    pub(crate) fn note_gap(&self, run: &Run, unit: u32, between: (u64, u64)) {
        debug_assert!(!run.head.is_recent(), "a gap is one of an index");
        self.gaps.keep(Hint { at: unit, run: run.name(), between });
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::{Extent, Section};
    use super::*;

    fn run_at(first: u32) -> Run {
        let mut run = Run::of_level(3, 1, 0);
        assert!(run.add_extent(Extent { first, count: 4 }));
        run.units = 16;
        run
    }

    #[test]
    fn hints_hold_between_their_codes_in_their_run() {
        let hints = Hints::new();
        let [run, other] = [40, 44].map(run_at);
        let at = |code| hints.find(&run, 3, code);
        assert_eq!(at(1), None, "nothing is known at first");
        hints.note_group(&run, 7, (10, 90));
        hints.note_unit(&run, 5, (20, 30));
        let (group, unit) = (Some(Guide::Group(7)), Some(Guide::Unit(5)));
        assert_eq!([10, 11, 20, 25, 89, 90].map(at), [None, group, group, unit, group, None]);
        assert_eq!((hints.find(&other, 3, 25), hints.deny(&run, 25)), (None, false));
        hints.note_gap(&run, 5, (22, 25));
        assert_eq!([22, 23, 24, 25].map(|code| hints.deny(&run, code)), [false, true, true, false]);
        assert!(!hints.deny(&other, 23));
        hints.note_unit(&run, 5, (20, 26));
        hints.note_unit(&run, 6, (30, 40));
        assert_eq!([25, 27, 35].map(at), [unit, group, Some(Guide::Unit(6))]);
        hints.note_unit(&other, 5, (20, 30));
        assert_eq!((at(25), hints.find(&other, 3, 25)), (unit, unit), "each run has its own");
        hints.forget(Some(&run));
        assert_eq!((at(11), at(25), hints.deny(&run, 23)), (None, None, false));
        assert_eq!(hints.find(&other, 3, 25), unit, "a run that stays keeps its hints");
        hints.forget(None);
        assert_eq!(hints.find(&other, 3, 25), None);
    }

    #[test]
    fn a_unit_is_one_of_its_index() {
        let hints = Hints::new();
        let mut run = Run::recent(0);
        assert!(run.add_extent(Extent { first: 8, count: 1 }));
        for (index, units) in [(1, 2), (4, 1)] {
            let section = Section { entries: 9, units, greatest: 90, ..Section::default() };
            assert!(run.set_section(index, &section));
        }
        hints.note_unit(&run, 2, (10, 20));
        let found = [1, 4].map(|index| hints.find(&run, index, 15));
        assert_eq!(found, [None, Some(Guide::Unit(2))]);
    }
}
