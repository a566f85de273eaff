//! What happens to a stack: the lives of a script, drawn from a seed, and their text.

use std::fmt;

use flysch_chip::{Ending, Prng};

use super::losses::loses;
use crate::machine::Kind;

/// How the cuts of a life end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Ends(Ending),
    /// The cut takes an earlier page along, as on a part with two bits in a cell.
    Paired,
    /// Reads cost the pages beside them bits, up to one in a sector.
    Disturbed,
    /// Some programs and erases fail, and some blocks have gone bad for good.
    Failing,
    /// Most programs and erases fail: the device comes to the end of its life.
    Worn,
}

pub(super) const MODES: [Mode; 13] = [
    Mode::Ends(Ending::KNOWN[0]),
    Mode::Ends(Ending::KNOWN[1]),
    Mode::Ends(Ending::KNOWN[2]),
    Mode::Ends(Ending::KNOWN[3]),
    Mode::Ends(Ending::KNOWN[4]),
    Mode::Ends(Ending::KNOWN[5]),
    Mode::Ends(Ending::KNOWN[6]),
    Mode::Ends(Ending::KNOWN[7]),
    Mode::Ends(Ending::KNOWN[8]),
    Mode::Paired,
    Mode::Disturbed,
    Mode::Failing,
    Mode::Worn,
];

/// A time between two mounts that succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    /// From this its calls and its cuts are drawn.
    pub(super) number: u64,
    /// Calls before the end, if no cut comes before.
    pub(super) calls: u32,
    /// Mounts after it that are cut, too.
    pub(super) nested: u32,
    /// How its cuts end, by the place in [`MODES`].
    pub(super) mode: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) kind: Kind,
    pub(super) seed: u64,
    /// Calls on the new file system before the first life.
    pub(super) age: u32,
    /// Share of the space that a file takes which is never changed, percent.
    pub(super) fill: u32,
    pub(super) lives: Vec<Life>,
}

impl Script {
    /// The script of a seed. Its modes are those that the stack survives, or `mode` alone.
    pub(super) fn draw(kind: Kind, seed: u64, mode: Option<Mode>) -> Self {
        let mut prng = Prng::new(seed);
        let survived = |place: &usize| match mode {
            Some(mode) => MODES[*place] == mode,
            None => loses(kind, MODES[*place]).is_none() && MODES[*place] != Mode::Worn,
        };
        let modes: Vec<usize> = (0..MODES.len()).filter(survived).collect();
        let mut below = |bound: u64| prng.below(bound);
        let age = u32::try_from(below(150)).unwrap();
        let fill = [0, 0, 40, 75, 92][usize::try_from(below(5)).unwrap()];
        let lives = (0..2 + below(4)).map(|number| Life {
            number,
            calls: u32::try_from(1 + below(24)).unwrap(),
            nested: u32::try_from(below(3)).unwrap(),
            mode: modes[usize::try_from(below(modes.len() as u64)).unwrap()],
        });
        let mut lives: Vec<Life> = lives.collect();
        // A device that is worn out ends the script.
        if mode.is_none()
            && prng.below(6) == 0
            && loses(kind, Mode::Worn).is_none()
            && let Some(last) = lives.last_mut()
        {
            last.mode = MODES.len() - 1;
        }
        Self { kind, seed, age, fill, lives }
    }

    /// Whether its lives are those of databases, and not of files.
    pub(super) const fn has_databases(&self) -> bool {
        self.seed % 3 == 2
    }

    pub(super) fn parse(kind: Kind, text: &str) -> Option<Self> {
        let (head, lives) = text.split_once('/')?;
        let mut head = head.split('+').map(|number| number.parse::<u64>().ok());
        let (seed, age) = (head.next()??, head.next()??);
        let fill = head.next().unwrap_or(Some(0))?;
        let life = |text: &str| {
            let mut numbers = text.split('.').map(|number| number.parse::<u32>().ok());
            let mut next = || numbers.next().flatten();
            let (number, calls, nested, mode) = (next()?, next()?, next()?, next()?);
            let mode = usize::try_from(mode).ok().filter(|&mode| mode < MODES.len())?;
            Some(Life { number: number.into(), calls, nested, mode })
        };
        let lives = lives.split(',').map(life).collect::<Option<_>>()?;
        let narrow = |number: u64| u32::try_from(number).ok();
        Some(Self { kind, seed, age: narrow(age)?, fill: narrow(fill)?, lives })
    }

    /// Scripts that do a little less, those that do the least first.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.fill > 0 {
            all.push(Self { fill: 0, ..self.clone() });
        }
        if self.age > 0 {
            all.push(Self { age: self.age / 2, ..self.clone() });
        }
        for at in 0..self.lives.len() {
            if self.lives.len() > 1 {
                let mut lives = self.lives.clone();
                lives.remove(at);
                all.push(Self { lives, ..self.clone() });
            }
            let life = self.lives[at];
            let fewer = [
                Life { nested: 0, ..life },
                Life { calls: life.calls / 2, ..life },
                Life { calls: life.calls.saturating_sub(1), ..life },
            ];
            for fewer in fewer.into_iter().filter(|&fewer| fewer != life) {
                let mut lives = self.lives.clone();
                lives[at] = fewer;
                all.push(Self { lives, ..self.clone() });
            }
        }
        all
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}/", self.seed, self.age, self.fill)?;
        for (place, Life { number, calls, nested, mode }) in self.lives.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{number}.{calls}.{nested}.{mode}")?;
        }
        Ok(())
    }
}

#[test]
fn a_script_is_read_back() {
    for seed in 0..50 {
        let script = Script::draw(Kind::Jffs2, seed, None);
        assert_eq!(Script::parse(Kind::Jffs2, &script.to_string()), Some(script));
    }
}
