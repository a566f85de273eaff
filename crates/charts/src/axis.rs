//! Axes: they map a number to a position, and have ticks at round numbers.

use super::number::fixed;

/// Approximate number of ticks on an axis.
const TICKS: f64 = 5.0;
const TICKS_MAX: usize = 7;

/// An axis that begins and ends at round numbers.
#[derive(Clone, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    ticks: Vec<Tick>,
}

/// A labelled position on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value at this tick.
    pub value: f64,
    pub label: String,
}

/// A round number: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy)]
struct Round {
    value: f64,
    decimals: usize,
    is_decade: bool,
}

impl Axis {
    /// A linear axis that contains both ends. It is widened to round numbers.
    ///
    /// # Panics
    /// If an end is not finite.
    pub fn linear(min: f64, max: f64) -> Self {
        let (min, max) = ordered(min, max);
        let span = if max > min { max - min } else { max.abs().max(1.0) };
        let max = min + span;
        let rounds = rounds();
        let step = rounds.iter().find(|round| round.value >= span / TICKS * 0.999);
        let step = *step.expect("a number that can be drawn");
        let first = (min / step.value).floor();
        let last = (max / step.value).ceil().max(first + 1.0);
        let mut ticks = Vec::new();
        let mut nth = first;
        while nth <= last {
            let value = nth * step.value;
            ticks.push(Tick { value, label: fixed(value, step.decimals) });
            nth += 1.0;
        }
        Self { low: first * step.value, high: last * step.value, is_log: false, ticks }
    }

    /// A logarithmic axis that contains both ends, which must be positive. It is widened to round
    /// numbers.
    ///
    /// # Panics
    /// If an end is not finite, or not greater than zero.
    pub fn log(min: f64, max: f64) -> Self {
        let (min, max) = ordered(min, max);
        assert!(min > 0.0, "zero has no logarithm");
        let rounds = rounds();
        let first = rounds.partition_point(|round| round.value <= min).saturating_sub(1);
        let last = rounds.partition_point(|round| round.value < max).min(rounds.len() - 1);
        let span = &rounds[first..=last.max(first + 1)];
        let mut marked: Vec<&Round> = span.iter().collect();
        if marked.len() > TICKS_MAX {
            marked.retain(|round| round.is_decade);
        }
        while marked.len() > TICKS_MAX {
            marked = marked.into_iter().step_by(2).collect();
        }
        let tick =
            |round: &Round| Tick { value: round.value, label: fixed(round.value, round.decimals) };
        Self {
            low: span[0].value,
            high: span[span.len() - 1].value,
            is_log: true,
            ticks: marked.into_iter().map(tick).collect(),
        }
    }

    /// The labelled positions in ascending order.
    pub fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    /// The position of a value along the axis: 0 at the low end, 1 at the high end. Values outside
    /// are clamped.
    pub fn share(&self, value: f64) -> f64 {
        let held = value.clamp(self.low, self.high);
        if self.is_log {
            (held / self.low).ln() / (self.high / self.low).ln()
        } else {
            (held - self.low) / (self.high - self.low)
        }
    }
}

fn ordered(one: f64, other: f64) -> (f64, f64) {
    assert!(one.is_finite() && other.is_finite(), "an axis has no end");
    (one.min(other), one.max(other))
}

/// All round numbers that an axis may need, in ascending order.
fn rounds() -> Vec<Round> {
    let mut rounds = Vec::new();
    for exponent in -12_i32..=19 {
        for digit in [1.0, 2.0, 5.0] {
            rounds.push(Round {
                value: digit * 10_f64.powi(exponent),
                decimals: usize::try_from(-exponent).unwrap_or(0),
                is_decade: digit < 2.0,
            });
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(axis: &Axis, labels: &[&str]) {
        let found: Vec<&str> = axis.ticks().iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(found, labels);
    }

    #[test]
    fn even_ticks_are_round() {
        check(
            &Axis::linear(0.0, 4990.0),
            &["0", "1\u{202f}000", "2\u{202f}000", "3\u{202f}000", "4\u{202f}000", "5\u{202f}000"],
        );
        check(&Axis::linear(0.0, 0.07), &["0.00", "0.02", "0.04", "0.06", "0.08"]);
        check(&Axis::linear(0.0, 0.0), &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn log_ticks_are_round() {
        check(&Axis::log(0.9, 42.0), &["0.5", "1", "2", "5", "10", "20", "50"]);
        check(&Axis::log(0.03, 4200.0), &["0.1", "1", "10", "100", "1\u{202f}000"]);
        check(&Axis::log(1.0, 1.0), &["1", "2"]);
    }

    #[test]
    fn every_value_has_a_place() {
        for axis in [Axis::linear(3.0, 3.0), Axis::linear(-5.0, 2.0), Axis::log(1e-3, 1e9)] {
            for value in [-1e9, 0.0, 1.0, 3.0, 1e12] {
                assert!((0.0..=1.0).contains(&axis.share(value)), "{axis:?} {value}");
            }
        }
    }
}
