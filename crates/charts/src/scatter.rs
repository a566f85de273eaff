//! Scatter charts of many points. The greatest points have labels.

use std::cmp::Reverse;

use super::number::{duration, real, real_len, thousands};
use super::sheet::Sheet;
use super::svg::{Point, series_class, step, text_width};

/// Approximate number of points that a chart shows.
const POINTS: usize = 900;
/// If there are more peaks than this, they get no marks.
const MARKS_MAX: usize = 24;
/// Height of a label with its margins.
const LABEL_HEIGHT: f64 = 12.0;

/// Response times of a run, with the requests that are peaks.
pub struct Scatter<'a> {
    /// Response times in nanoseconds, in the order of the requests.
    pub request_ns: &'a [u64],
    /// Indexes of the peaks in `request_ns`, ascending.
    pub peaks: &'a [usize],
    /// The number of the style, which decides the colour.
    pub style: usize,
}

/// Draw response times in milliseconds by the number of the request, counted from 1.
pub fn scatter(sheet: &Sheet<'_>, scatter: &Scatter<'_>) -> String {
    let mut svg = sheet.open();
    let mut dots = String::new();
    for index in thin(scatter.request_ns) {
        dots.push_str(&step('M', place(sheet, scatter, index)));
        dots.push_str("h0");
    }
    svg.path(&format!("dots {}", series_class(scatter.style)), &dots);
    for index in marked(scatter) {
        let time = duration(scatter.request_ns[index]);
        let tip = format!("request {}: {time}", thousands(index as u64 + 1));
        svg.mark(scatter.style, place(sheet, scatter, index), &tip);
    }
    for (index, label) in labels(sheet, scatter) {
        let at = place(sheet, scatter, index);
        svg.text("ink middle", (at.0, at.1 - 7.0), &label);
    }
    svg.finish()
}

/// Choose the points to draw. If there are too many, neighbours are grouped, and of each group the
/// first, the least and the greatest are kept. So no peak is lost.
fn thin(values: &[u64]) -> Vec<usize> {
    if values.len() <= POINTS {
        return (0..values.len()).collect();
    }
    let bucket_len = values.len().div_ceil(POINTS / 3);
    let mut kept = Vec::with_capacity(POINTS);
    for start in (0..values.len()).step_by(bucket_len) {
        let bucket = start..values.len().min(start + bucket_len);
        let least = bucket.clone().min_by_key(|&index| values[index]);
        let greatest = bucket.max_by_key(|&index| (values[index], Reverse(index)));
        kept.push(start);
        kept.extend(least.into_iter().chain(greatest));
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// Labels of the peaks that have room for one. Higher peaks come first, then earlier ones.
fn labels(sheet: &Sheet<'_>, scatter: &Scatter<'_>) -> Vec<(usize, String)> {
    let mut ranked = scatter.peaks.to_vec();
    let height = |index: &usize| rank(sheet, scatter, *index);
    ranked.sort_by(|one, other| height(other).total_cmp(&height(one)).then(one.cmp(other)));
    // The marks and labels that are drawn, each with its centre and half of its width.
    let mut taken: Vec<(Point, f64)> =
        marked(scatter).map(|index| (place(sheet, scatter, index), 0.0)).collect();
    let mut labels = Vec::new();
    for index in ranked {
        let label = thousands(index as u64 + 1);
        let (at, half) = (place(sheet, scatter, index), text_width(&label) / 2.0 + 4.0);
        let middle = (at.0, at.1 - 11.0);
        let is_within = |(other, of_other): &(Point, f64)| {
            (middle.0 - other.0).abs() < half + of_other
                && (middle.1 - other.1).abs() < LABEL_HEIGHT + 2.0
        };
        if !taken.iter().any(is_within) && at.0 + half < sheet.size.0 {
            taken.push((middle, half));
            labels.push((index, label));
        }
    }
    labels.sort_unstable();
    labels
}

/// The peaks to mark. None if there are too many.
fn marked(scatter: &Scatter<'_>) -> impl Iterator<Item = usize> {
    scatter.peaks.iter().copied().filter(|_| scatter.peaks.len() <= MARKS_MAX)
}

/// Height on the drawing in whole labels, so that peaks that look equally high rank equally.
fn rank(sheet: &Sheet<'_>, scatter: &Scatter<'_>, index: usize) -> f64 {
    ((sheet.size.1 - place(sheet, scatter, index).1) / LABEL_HEIGHT).floor()
}

fn place(sheet: &Sheet<'_>, scatter: &Scatter<'_>, index: usize) -> Point {
    let time_ms = real(scatter.request_ns[index]) / 1e6;
    sheet.place(real_len(index + 1), time_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_every_peak() {
        let mut values: Vec<u64> = vec![10; 100_000];
        let peaks = [0, 46, 110, 77_777, 99_999];
        for peak in peaks {
            values[peak] = 42_000;
        }
        let kept = thin(&values);
        assert!(kept.len() <= POINTS, "{}", kept.len());
        assert!(kept.is_sorted());
        let near = |peak: usize| {
            kept.iter().any(|&index| values[index] > 10 && index.abs_diff(peak) < 300)
        };
        assert!(peaks.into_iter().all(near));
    }

    #[test]
    fn few_points_are_all_kept() {
        assert_eq!(thin(&[5, 5, 5]), [0, 1, 2]);
        assert_eq!(thin(&[]), [0_usize; 0]);
    }
}
