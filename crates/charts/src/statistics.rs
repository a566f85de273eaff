//! Statistics of short series of numbers.

use super::number::real_len;

/// The mean. It is not a number (NaN) if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / real_len(values.len())
}

/// The median. If the number of values is even, the upper of the two middle ones. NaN if there are
/// no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The fraction of `values` that meet `condition`.
pub fn share<T>(values: &[T], condition: impl Fn(&T) -> bool) -> f64 {
    real_len(values.iter().filter(|value| condition(value)).count()) / real_len(values.len())
}

/// The coefficient of variation: standard deviation divided by the mean.
pub fn variation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / real_len(values.len())).sqrt() / mean
}

/// Pearson's correlation coefficient. NaN if one of the coordinates does not vary.
pub fn correlation(points: &[(f64, f64)]) -> f64 {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x_mean, y_mean) = (mean(&xs), mean(&ys));
    let product: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let x_square: f64 = xs.iter().map(|x| (x - x_mean).powi(2)).sum();
    let y_square: f64 = ys.iter().map(|y| (y - y_mean).powi(2)).sum();
    product / (x_square * y_square).sqrt()
}

/// The mean deviation of values from the mean of their two neighbours, divided by the mean of the
/// series.
pub fn roughness(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values
        .windows(3)
        .map(|three| (three[1] - f64::midpoint(three[0], three[2])).abs())
        .collect();
    mean(&steps) / mean(values)
}

/// The mean of several measurements, with their standard deviation and confidence interval.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub mean: f64,
    /// Standard deviation of the sample.
    pub sd: f64,
    /// Half the width of the 95 % confidence interval of the mean.
    pub half: f64,
}

impl Spread {
    /// Summarise these numbers. A single number has a deviation and an interval of 0.
    pub fn of(numbers: &[f64]) -> Self {
        let count = real_len(numbers.len());
        let mean = mean(numbers);
        if numbers.len() < 2 {
            return Self { mean, sd: 0.0, half: 0.0 };
        }
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        let sd = (squares / (count - 1.0)).sqrt();
        Self { mean, sd, half: student(numbers.len() - 1) * sd / count.sqrt() }
    }

    /// The ends of the 95 % confidence interval of the mean, low and high.
    pub fn interval(&self) -> (f64, f64) {
        (self.mean - self.half, self.mean + self.half)
    }
}

/// The quantile of Student's t distribution for a two-sided interval of 95 %, by degrees of
/// freedom. Up to 30 it is from statistical tables; above, it is the usual approximation, which is
/// within 0.1 %.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    let of_table = freedom.checked_sub(1).and_then(|place| TABLE.get(place));
    of_table.copied().unwrap_or_else(|| 1.96 + 2.4 / real_len(freedom.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_series_are_summed_up() {
        let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(close(mean(&[1.0, 2.0, 6.0]), 3.0));
        assert!(close(median(&[6.0, 1.0, 2.0]), 2.0));
        assert!(mean(&[]).is_nan() && median(&[]).is_nan());
        assert!(close(share(&[1, 2, 3, 4], |value| *value > 1), 0.75));
        assert!(close(variation(&[5.0, 5.0]), 0.0) && close(variation(&[1.0, 3.0]), 0.5));
        assert!(close(correlation(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]), 1.0));
        assert!(correlation(&[(1.0, 2.0), (2.0, 2.0)]).is_nan());
        assert!(
            close(roughness(&[1.0, 2.0, 3.0]), 0.0)
                && close(roughness(&[2.0, 3.0, 2.0]), 3.0 / 7.0)
        );
    }

    /// A textbook example: five measurements with a mean of 12 and a deviation of 1.58.
    #[test]
    fn the_interval_is_that_of_the_textbook() {
        let Spread { mean, sd, half } = Spread::of(&[10.0, 11.0, 12.0, 13.0, 14.0]);
        assert!((mean - 12.0).abs() < 1e-12 && (sd - 2.5_f64.sqrt()).abs() < 1e-12);
        assert!((half - 2.776 * 2.5_f64.sqrt() / 5.0_f64.sqrt()).abs() < 1e-9, "{half}");
        assert!((student(40) - 2.021).abs() < 2e-3 && (student(120) - 1.980).abs() < 2e-3);
    }
}
