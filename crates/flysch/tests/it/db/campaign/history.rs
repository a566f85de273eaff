//! Histories: lives of steps, each drawn from a number of its own, so that any of them can be left
//! out and the others stay as they were.

use std::fmt;

use flysch_chip::Prng;

use super::world::has_large;

/// What is done in a life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) number: u64,
    pub(super) steps: Vec<u64>,
    /// Whether the power goes in it.
    pub(super) is_cut: bool,
}

/// The lives of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History {
    pub(super) seed: u64,
    pub(super) lives: Vec<Life>,
    /// Whether pages of indexes rot away, and are repaired.
    pub(super) rots: bool,
}

impl Life {
    fn draw(seed: u64, number: u64) -> Self {
        let mut prng = Prng::new(seed.wrapping_mul(0x9E37_79B9) ^ number);
        // Now and then a device is written to until it has been full for long.
        let is_long = number == 0 && seed.is_multiple_of(5);
        let most = match number {
            // A snapshot passes over each newer version of a key, for each older one. With many
            // changes in a step that takes minutes.
            _ if is_long && has_large(seed) => 200,
            _ if is_long => 2000,
            0 => 120,
            _ if prng.below(6) == 0 => 150,
            _ => 12,
        };
        let steps = (0..=prng.below(most)).collect();
        Self { number, steps, is_cut: !is_long && prng.below(12) > 0 }
    }

    /// The generator of a step; of the life itself where there is none.
    pub(super) const fn prng(&self, seed: u64, step: Option<u64>) -> Prng {
        let step = match step {
            Some(step) => step + 1,
            None => 0,
        };
        let mixed = seed.wrapping_mul(1_000_003) ^ self.number << 32 ^ step;
        Prng::new(mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

impl History {
    pub(super) fn draw(seed: u64) -> Self {
        let count = 6 + Prng::new(seed).below(26);
        let lives = (0..count).map(|number| Life::draw(seed, number)).collect();
        Self { seed, lives, rots: false }
    }

    /// Read what [`fmt::Display`] wrote: `seed/life:step-step,step!/life:…`; `!` is a cut. `rot `
    /// stands before it where pages rot away.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (rots, text) = text.strip_prefix("rot ").map_or((false, text), |text| (true, text));
        let mut parts = text.split('/');
        let seed = parts.next()?.parse().ok()?;
        let lives: Option<Vec<Life>> = parts.map(parse_life).collect();
        let lives = lives?;
        let lives = if lives.is_empty() { Self::draw(seed).lives } else { lives };
        Some(Self { seed, lives, rots })
    }

    /// Leave out what is not needed for `fails` to say so, with at most `tries` questions: lives,
    /// then steps of each.
    pub(super) fn shrink(self, mut tries: u32, fails: impl Fn(&Self) -> bool) -> Self {
        let mut least = self;
        let lives = least.lives.clone();
        least.lives =
            thin(lives, &mut tries, |lives| fails(&Self { lives: lives.to_vec(), ..least }));
        for at in (0..least.lives.len()).rev() {
            let steps = least.lives[at].steps.clone();
            least.lives[at].steps = thin(steps, &mut tries, |steps| {
                let mut less = least.clone();
                less.lives[at].steps = steps.to_vec();
                fails(&less)
            });
        }
        least
    }
}

/// Leave out things, more at a time at first, as long as `fails` says that the rest fails.
fn thin<T: Clone>(mut things: Vec<T>, tries: &mut u32, fails: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut size = things.len().div_ceil(2);
    while size > 0 {
        let mut end = things.len();
        while end > 0 && *tries > 0 {
            let mut less = things.clone();
            let from = end.saturating_sub(size);
            drop(less.drain(from..end));
            (end, *tries) = (from, *tries - 1);
            if fails(&less) {
                things = less;
            }
        }
        size /= 2;
    }
    things
}

fn parse_life(text: &str) -> Option<Life> {
    let (number, rest) = text.split_once(':')?;
    let is_cut = rest.ends_with('!');
    let mut steps = Vec::new();
    for range in rest.trim_end_matches('!').split(',').filter(|range| !range.is_empty()) {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        steps.extend(from.parse::<u64>().ok()?..=to.parse().ok()?);
    }
    Some(Life { number: number.parse().ok()?, steps, is_cut })
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.rots { "rot " } else { "" }, self.seed)?;
        for life in &self.lives {
            write!(f, "/{}:", life.number)?;
            let mut at = 0;
            while at < life.steps.len() {
                let from = life.steps[at];
                let run = (from..).zip(&life.steps[at..]).take_while(|(a, b)| a == *b).count();
                let comma = if at == 0 { "" } else { "," };
                match run {
                    1 => write!(f, "{comma}{from}")?,
                    _ => write!(f, "{comma}{from}-{}", from + run as u64 - 1)?,
                }
                at += run;
            }
            write!(f, "{}", if life.is_cut { "!" } else { "" })?;
        }
        Ok(())
    }
}

#[test]
fn a_history_is_read_as_it_was_written_and_shrinks_to_what_fails() {
    for seed in 0..50 {
        let history = History::draw(seed);
        assert_eq!(History::parse(&history.to_string()), Some(history.clone()));
        let fails = |history: &History| {
            let has = |life: u64, step: u64| {
                history.lives.iter().any(|l| l.number == life && l.steps.contains(&step))
            };
            has(0, 0) && has(3, 0)
        };
        let least = history.shrink(1000, fails);
        let sizes: Vec<usize> = least.lives.iter().map(|life| life.steps.len()).collect();
        assert_eq!(sizes, [1, 1], "{least}");
    }
    assert_eq!(History::parse("7"), Some(History::draw(7)));
    assert_eq!(History::parse("seven"), None);
}
