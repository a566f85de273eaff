//! Scales and their ticks, for values that are whole numbers.

/// Maps values to pixels.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Value at the start.
    pub min: u64,
    /// Value at the end, which is greater than `min`.
    pub max: u64,
    /// Pixels between start and end.
    pub length: u32,
}

impl Scale {
    /// A scale for the values from `min` to `max`. If they are equal, it has one unit.
    pub fn new(min: u64, max: u64, length: u32) -> Self {
        Self { min, max: max.max(min + 1), length }
    }

    /// Pixels from the start to `value`, which must be on the scale.
    ///
    /// # Panics
    /// If the value is outside of the scale.
    pub fn place(&self, value: u64) -> u32 {
        assert!((self.min..=self.max).contains(&value), "{value} is off the scale");
        let product = u128::from(value - self.min) * u128::from(self.length);
        let pixels = product / u128::from(self.max - self.min);
        u32::try_from(pixels).expect("no more than the length")
    }

    /// Distance between ticks: the least number of the form 1, 2 or 5 times a power of ten with at
    /// most `count` ticks.
    ///
    /// # Panics
    /// Never: one of the steps is as large as any number.
    pub fn step(&self, count: u64) -> u64 {
        let wanted = (self.max - self.min).div_ceil(count);
        let powers = (0..20).map(|power| 10_u64.pow(power));
        let steps = powers.flat_map(|power| [1, 2, 5].map(|digit| power.saturating_mul(digit)));
        steps.into_iter().find(|&step| step >= wanted).expect("one is as large as any number")
    }

    /// The multiples of `step` on the scale.
    pub fn ticks(&self, step: u64) -> Vec<u64> {
        let first = self.min.div_ceil(step);
        (first..=self.max / step).map(|number| number * step).collect()
    }
}

/// The name of the largest unit of time that is not greater than a step, and its nanoseconds.
pub fn time_unit(step_ns: u64) -> (&'static str, u64) {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    units.into_iter().find(|(_, ns)| step_ns >= *ns).unwrap_or(("ns", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let cases: [(u64, u64, u64, &[u64]); 4] = [
            (0, 100, 20, &[0, 20, 40, 60, 80, 100]),
            (0, 1, 1, &[0, 1]),
            (128, 191, 20, &[140, 160, 180]),
            (999, 3_001, 500, &[1_000, 1_500, 2_000, 2_500, 3_000]),
        ];
        for (min, max, step, ticks) in cases {
            let scale = Scale::new(min, max, 800);
            assert_eq!(scale.step(5), step);
            assert_eq!(scale.ticks(step), ticks);
        }
        assert_eq!(Scale::new(0, u64::MAX, 800).step(8), 5_000_000_000_000_000_000);
        assert_eq!(time_unit(50_000_000), ("ms", 1_000_000));
        assert_eq!(time_unit(50), ("ns", 1));
    }

    #[test]
    fn the_ends_are_at_the_ends() {
        let scale = Scale::new(10, i64::MAX.unsigned_abs(), 800);
        assert_eq!((scale.place(10), scale.place(scale.max)), (0, 800));
        assert_eq!(Scale::new(7, 7, 800).place(7), 0);
    }
}
