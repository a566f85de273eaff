//! The fit: prices with which the counted work takes the measured times.
//!
//! The unknown prices are not negative. They minimise the sum of the squares of the relative errors
//! of all times. A price that the measurements hardly determine stays near the guessed one, by a
//! small penalty for moving away from it.
//!
//! Background work, such as an erase, falls into one measurement on the kernel and into another on
//! the simulator. So an error beyond [`BOUND`] counts by its size and not by its square, as Huber
//! proposed (1964). The fit is repeated with the weights that follow from the one before.

use std::collections::BTreeMap;

use flysch_linux::cpu::Unit;
use serde::Serialize;
use strum::VariantArray;

use super::{Counted, Time};
use crate::machine::platform::Platform;
use crate::machine::prices;

/// Weight of the penalty for moving a price from the guess, beside the errors that moving it makes.
const PENALTY: f64 = 1e-3;
/// Relative error up to which a measurement has its full weight.
const BOUND: f64 = 0.1;
/// How often the weights are found anew.
const REPEATS: u32 = 20;
/// Rounds over all prices. They end earlier if nothing moves any more.
const ROUNDS: u32 = 200_000;
/// How many measurements are named as the source of a price.
const SOURCES: usize = 3;
/// Share of a measurement's time from which on it is a source.
const SHARE_MIN: f64 = 0.02;

/// What is priced beside the units of work: a byte copied.
const OTHERS: [&str; 1] = ["copy"];

/// A price that was fitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Price {
    pub unit: &'static str,
    /// Time of one, nanoseconds.
    pub ns: f64,
    /// The same in instructions of the platform.
    pub instructions: f64,
    /// The measurements that it takes the largest shares of. Empty if none has any of it.
    pub sources: Vec<String>,
}

/// A measurement beside its prediction by the fitted prices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub case: String,
    pub measurement: String,
    /// Time of a call on the kernel, microseconds.
    pub kernel_us: f64,
    /// Time of a call by the prices, microseconds.
    pub fitted_us: f64,
    /// Error of the prediction, relative to the kernel's time.
    pub error: f64,
    /// How often each unit of work was done in all calls.
    pub counts: BTreeMap<&'static str, f64>,
    /// Time that the CPU waited for the chip in all calls, nanoseconds.
    pub waited_ns: f64,
}

/// The outcome of a fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    pub prices: Vec<Price>,
    pub rows: Vec<Row>,
}

/// One equation: the counts of all unknowns, and the time that they add up to.
struct Equation<'a> {
    time: &'a Time,
    counts: Vec<f64>,
    waited_ns: f64,
}

impl Equation<'_> {
    /// Time by these prices, nanoseconds.
    fn fitted_ns(&self, prices: &[f64]) -> f64 {
        let work: f64 = self.counts.iter().zip(prices).map(|(count, price)| count * price).sum();
        work + self.waited_ns
    }

    /// Error of that time, relative to the measured one.
    #[expect(clippy::cast_precision_loss, reason = "times far below 2^52")]
    fn error(&self, prices: &[f64]) -> f64 {
        self.fitted_ns(prices) / self.time.ns as f64 - 1.0
    }
}

/// Fit all prices to measured times. `counted` has the same measurements on the simulator.
#[expect(clippy::cast_precision_loss, reason = "counts and times far below 2^52")]
pub fn fit(times: &[Time], counted: &[Counted], platform: &Platform) -> Fit {
    let counted: BTreeMap<(&str, &str), &Counted> =
        counted.iter().map(|it| ((it.case, it.measurement.as_str()), it)).collect();
    let equations: Vec<Equation<'_>> = times
        .iter()
        .filter_map(|time| {
            let it = counted.get(&(time.case.as_str(), time.measurement.as_str()))?;
            let counts =
                it.counts.iter().chain([&it.bytes_copied]).map(|&count| count as f64).collect();
            Some(Equation { time, counts, waited_ns: it.waited_ns as f64 })
        })
        .collect();
    let solved = solve(&equations, &guesses(platform));
    let prices = names().enumerate().map(|(at, unit)| Price {
        unit,
        ns: solved[at],
        instructions: solved[at] * 1000.0 / ps_per_instruction(platform, at) as f64,
        sources: sources(&equations, &solved, at),
    });
    Fit { prices: prices.collect(), rows: equations.iter().map(|it| row(it, &solved)).collect() }
}

/// The names of all unknowns.
fn names() -> impl Iterator<Item = &'static str> {
    Unit::VARIANTS.iter().map(|unit| unit.name()).chain(OTHERS)
}

fn ps_per_instruction(platform: &Platform, at: usize) -> u64 {
    let is_of_program = Unit::VARIANTS.get(at).is_some_and(|unit| unit.is_of_program());
    let cpu = &platform.cpu;
    if is_of_program { cpu.sqlite_ps_per_instruction } else { cpu.kernel_ps_per_instruction }
}

/// The guessed prices in nanoseconds. A copied byte has a guess, too: half an instruction.
#[expect(clippy::cast_precision_loss, reason = "prices far below 2^52")]
fn guesses(platform: &Platform) -> Vec<f64> {
    let guessed = prices::guessed();
    let of_unit = |(at, unit): (usize, &Unit)| {
        guessed.of(*unit) as f64 * ps_per_instruction(platform, at) as f64 / 1e6
    };
    let copy = platform.cpu.kernel_ps_per_instruction as f64 / 2000.0;
    Unit::VARIANTS.iter().enumerate().map(of_unit).chain([copy]).collect()
}

/// Prices with which large errors weigh little.
fn solve(equations: &[Equation<'_>], before: &[f64]) -> Vec<f64> {
    let mut prices = before.to_vec();
    let mut weights = vec![1.0; equations.len()];
    for _ in 0..REPEATS {
        let normal = Normal::of(equations, &weights, before.len());
        prices = least_squares(&normal, before, prices);
        for (weight, equation) in weights.iter_mut().zip(equations) {
            *weight = (BOUND / equation.error(&prices).abs()).min(1.0);
        }
    }
    prices
}

/// Least squares by coordinate descent from `prices` on: each price in turn is set to its best
/// value.
fn least_squares(normal: &Normal, before: &[f64], mut prices: Vec<f64>) -> Vec<f64> {
    for _ in 0..ROUNDS {
        let mut moved: f64 = 0.0;
        for at in 0..prices.len() {
            let row = &normal.products[at];
            let square = row[at];
            if square == 0.0 {
                continue;
            }
            let others: f64 = row.iter().zip(&prices).map(|(product, price)| product * price).sum();
            let weight = PENALTY * square;
            let slope = normal.goals[at] - others + weight * (before[at] - prices[at]);
            let new = (prices[at] + slope / (square + weight)).max(0.0);
            moved = moved.max((new - prices[at]).abs() / new.max(1.0));
            prices[at] = new;
        }
        if moved < 1e-9 {
            break;
        }
    }
    prices
}

/// The normal equations: products of the unknowns' counts with each other and with the times. Each
/// equation is divided by its time, so that errors are relative, and has a weight.
struct Normal {
    products: Vec<Vec<f64>>,
    goals: Vec<f64>,
}

impl Normal {
    #[expect(clippy::cast_precision_loss, reason = "times far below 2^52")]
    fn of(equations: &[Equation<'_>], weights: &[f64], unknowns: usize) -> Self {
        let mut products = vec![vec![0.0; unknowns]; unknowns];
        let mut goals = vec![0.0; unknowns];
        for (it, weight) in equations.iter().zip(weights) {
            let ns = it.time.ns as f64;
            let shares: Vec<f64> = it.counts.iter().map(|count| count / ns).collect();
            let goal = 1.0 - it.waited_ns / ns;
            for (at, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                goals[at] += weight * share * goal;
                for (product, other) in products[at].iter_mut().zip(&shares) {
                    *product += weight * share * other;
                }
            }
        }
        Self { products, goals }
    }
}

/// The measurements of whose time a price takes the largest shares.
#[expect(clippy::cast_precision_loss, reason = "times far below 2^52")]
fn sources(equations: &[Equation<'_>], prices: &[f64], at: usize) -> Vec<String> {
    let share = |it: &Equation<'_>| it.counts[at] * prices[at] / it.time.ns as f64;
    let mut shares: Vec<(f64, String)> = equations
        .iter()
        .map(|it| (share(it), format!("{}: {}", it.time.case, it.time.measurement)))
        .filter(|(share, _)| *share >= SHARE_MIN)
        .collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named = |(share, name): &(f64, String)| format!("{name} ({:.0} %)", share * 100.0);
    shares.iter().take(SOURCES).map(named).collect()
}

#[expect(clippy::cast_precision_loss, reason = "times far below 2^52")]
fn row(equation: &Equation<'_>, prices: &[f64]) -> Row {
    let Equation { time, counts, waited_ns } = equation;
    let (kernel_ns, calls) = (time.ns as f64, f64::from(time.calls.max(1)));
    Row {
        case: time.case.clone(),
        measurement: time.measurement.clone(),
        kernel_us: kernel_ns / calls / 1000.0,
        fitted_us: equation.fitted_ns(prices) / calls / 1000.0,
        error: equation.error(prices),
        counts: names().zip(counts.iter().copied()).filter(|(_, count)| *count > 0.0).collect(),
        waited_ns: *waited_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made small")]
    fn prices_are_found_again_from_times_that_they_make() {
        let platform = Platform::named("nandsim-6.1").unwrap();
        let mut truth = guesses(&platform);
        for (price, factor) in truth.iter_mut().zip([1.0, 2.0, 3.0].into_iter().cycle()) {
            *price = price.max(100.0) * factor;
        }
        let of = |at: usize| truth[at];
        let case = "jffs2";
        let (mut times, mut counted) = (Vec::new(), Vec::new());
        for at in 0..Unit::COUNT {
            let mut counts = [0; Unit::COUNT];
            counts[at] = 1000;
            counts[(at + 1) % Unit::COUNT] += 100;
            let work = of(at) * 1000.0 + of((at + 1) % Unit::COUNT) * 100.0;
            let measurement = at.to_string();
            counted.push(Counted {
                case,
                measurement: measurement.clone(),
                counts,
                bytes_copied: 0,
                waited_ns: 5000,
            });
            let ns = work as u64 + 5000;
            times.push(Time { case: case.to_owned(), measurement, calls: 1, ns });
        }
        let fit = fit(&times, &counted, &platform);
        let worst = fit.rows.iter().map(|row| row.error.abs()).fold(0.0, f64::max);
        assert!(worst < 0.01, "{worst}: {:?}", fit.rows);
        let lock = fit.prices.iter().find(|it| it.unit == "lock").unwrap();
        assert!(lock.sources[0].starts_with("jffs2: "), "{:?}", lock.sources);
    }
}
