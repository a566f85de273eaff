//! Statistics of short series, for judging claims and describing models.

use super::number::real_len;

/// The mean. It is not a number (NaN) if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / real_len(values.len())
}

/// The median; of an even number of values, the upper one. NaN if there are no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The share of `values` that meet `condition`.
pub fn share<T>(values: &[T], condition: impl Fn(&T) -> bool) -> f64 {
    real_len(values.iter().filter(|value| condition(value)).count()) / real_len(values.len())
}

/// The coefficient of variation: standard deviation divided by the mean.
pub fn variation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / real_len(values.len())).sqrt() / mean
}

/// Pearson's correlation. NaN if either side does not vary.
pub fn correlation(points: &[(f64, f64)]) -> f64 {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x_mean, y_mean) = (mean(&xs), mean(&ys));
    let product: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let x_square: f64 = xs.iter().map(|x| (x - x_mean).powi(2)).sum();
    let y_square: f64 = ys.iter().map(|y| (y - y_mean).powi(2)).sum();
    product / (x_square * y_square).sqrt()
}

/// How far a series scatters around the mean of its neighbours, divided by its mean.
pub fn roughness(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values
        .windows(3)
        .map(|three| (three[1] - f64::midpoint(three[0], three[2])).abs())
        .collect();
    mean(&steps) / mean(values)
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
}
