//! At which moments of a run the power is cut.
//!
//! A cut is written `120:torn`: the number of the change to a device during which the power is cut,
//! and the state in which that change ends. In `120:torn+3:complete`, the power is cut a second
//! time, during change 3 of the recovery.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use flysch_chip::{Ending, Prng};

/// A power cut, and perhaps a second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The number of the change during which the power is cut, counted from 0.
    pub at: usize,
    pub ending: Ending,
    /// The change of the recovery during which the power is cut a second time, and how that change
    /// ends.
    pub again: Option<(u64, Ending)>,
}

/// The text does not describe a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutError(String);

impl fmt::Display for CutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no cut; one is 120:torn or 120:torn+3:complete", self.0)?;
        f.write_str(" (before, torn, complete, marginal)")
    }
}

impl std::error::Error for CutError {}

/// The ways in which a change may end, by name.
const ENDINGS: [(Ending, &str); 4] = [
    (Ending::NotBegun, "before"),
    (Ending::Torn, "torn"),
    (Ending::Complete, "complete"),
    (Ending::Marginal, "marginal"),
];
/// One of this many cuts is followed by a second cut.
const AGAIN_EVERY: usize = 4;
/// The second cut comes at most this many changes into the recovery. A recovery with fewer changes
/// is cut at its last one.
const AGAIN_MAX: u64 = 24;

fn name(ending: Ending) -> &'static str {
    let found = ENDINGS.iter().find(|(known, _)| *known == ending);
    found.expect("only these ways are used").1
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.at, name(self.ending))?;
        self.again.map_or(Ok(()), |(at, ending)| write!(f, "+{at}:{}", name(ending)))
    }
}

impl FromStr for Cut {
    type Err = CutError;

    fn from_str(text: &str) -> Result<Self, CutError> {
        let error = || CutError(text.to_owned());
        let part = |part: &str| -> Option<(u64, Ending)> {
            let (at, how) = part.split_once(':')?;
            let (ending, _) = ENDINGS.iter().find(|(_, name)| *name == how)?;
            Some((at.parse().ok()?, *ending))
        };
        let (first, second) = text.split_once('+').map_or((text, None), |(a, b)| (a, Some(b)));
        let (at, ending) = part(first).ok_or_else(error)?;
        let again = match second {
            Some(second) => Some(part(second).ok_or_else(error)?),
            None => None,
        };
        Ok(Self { at: usize::try_from(at).map_err(|_| error())?, ending, again })
    }
}

/// Every cut of a run with this many changes, except during those in `spared`. A cut before a
/// change leaves the same state as a cut after the previous change, so it is left out unless the
/// previous change is spared. The last cut comes after all changes.
pub(super) fn every(changes: usize, spared: &[Range<usize>], seed: u64) -> Vec<Cut> {
    let is_spared = |at: usize| spared.iter().any(|range| range.contains(&at));
    let mut all = Vec::new();
    for at in (0..changes).filter(|at| !is_spared(*at)) {
        let is_first = at == 0 || is_spared(at - 1);
        let endings = if is_first { &ENDINGS[..] } else { &ENDINGS[1..] };
        all.extend(endings.iter().map(|(ending, _)| Cut { at, ending: *ending, again: None }));
    }
    if !all.is_empty() {
        all.push(Cut { at: changes, ending: Ending::NotBegun, again: None });
    }
    for (place, cut) in all.iter_mut().enumerate().filter(|(place, _)| place % AGAIN_EVERY == 0) {
        cut.again = Some(again(seed, place));
    }
    all
}

/// `count` of these cuts, drawn by the seed, in order of their changes.
pub(super) fn drawn(mut all: Vec<Cut>, count: usize, seed: u64) -> Vec<Cut> {
    let mut prng = Prng::new(seed);
    while all.len() > count {
        let place = prng.below(all.len() as u64);
        all.swap_remove(usize::try_from(place).unwrap_or(0));
    }
    all.sort_by_key(|cut| (cut.at, name(cut.ending)));
    all
}

/// The change of the recovery at which the power is cut again, and how it ends.
fn again(seed: u64, place: usize) -> (u64, Ending) {
    let mut prng = Prng::new(seed ^ (place as u64).rotate_left(32));
    let way = usize::try_from(prng.below(ENDINGS.len() as u64)).unwrap_or(0);
    (prng.below(AGAIN_MAX), ENDINGS[way].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_spelled_and_read() {
        for text in ["0:before", "120:torn", "7:marginal+3:complete"] {
            assert_eq!(text.parse::<Cut>().unwrap().to_string(), text);
        }
        for text in ["", "7", "7:ripped", "x:torn", "7:torn+", "-1:torn"] {
            assert!(text.parse::<Cut>().is_err(), "{text}");
        }
        assert_eq!(every(10, &[], 1).len(), 32);
        assert_eq!(every(10, &[0..4, 4..10], 1), []);
        let spared = every(10, &[0..3, 5..6], 1);
        assert_eq!(spared.len(), 6 * 3 + 2 + 1);
        assert!(spared.iter().all(|cut| cut.at > 2 && cut.at != 5));
        let draw = || drawn(every(1000, &[], 1), 200, 1);
        let some = draw();
        assert_eq!((some.len(), &some), (200, &draw()));
        assert!(some.windows(2).all(|pair| pair[0].at <= pair[1].at));
    }
}
