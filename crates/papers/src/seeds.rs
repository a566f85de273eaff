//! Joins the findings of several seeds: each number becomes the mean, with its 95 % confidence
//! interval.
//!
//! Tables keep the numbers of the first seed.

use flysch_charts::figure::{Interval, Series, Source};
use flysch_charts::statistics::Spread;

use super::paper::Findings;

/// Join the findings of all seeds. None if there are none.
pub fn merged(all: Vec<Findings>) -> Option<Findings> {
    let mut all = all.into_iter();
    let mut first = all.next()?;
    let others: Vec<Findings> = all.collect();
    if others.is_empty() {
        return Some(first);
    }
    for (place, claim) in first.evidence.claims.iter_mut().enumerate() {
        let of_others = others.iter().filter_map(|it| it.evidence.claims.get(place));
        let known = of_others.filter(|it| it.text == claim.text).map(|it| it.measured);
        let values: Vec<f64> = [claim.measured].into_iter().chain(known).collect();
        let spread = Spread::of(&values);
        claim.measured = spread.mean;
        claim.interval = Some(Interval::from(spread)).filter(|_| spread.mean.is_finite());
    }
    for (place, figure) in first.evidence.figures.iter_mut().enumerate() {
        for (panel_place, panel) in figure.panels.iter_mut().enumerate() {
            for (series_place, series) in panel.series.iter_mut().enumerate() {
                let same = |it: &'_ Findings| -> Option<Vec<f64>> {
                    let panel = it.evidence.figures.get(place)?.panels.get(panel_place)?;
                    Some(panel.series.get(series_place)?.points.numbers())
                };
                merge(series, others.iter().filter_map(same));
            }
        }
    }
    Some(first)
}

/// Replace the numbers of a series by their means. A series that the paper states is not changed.
/// Neither is one whose points differ between seeds.
fn merge(series: &mut Series, others: impl Iterator<Item = Vec<f64>>) {
    let own = series.points.numbers();
    let of_seeds: Vec<Vec<f64>> =
        std::iter::once(own.clone()).chain(others.filter(|it| it.len() == own.len())).collect();
    if series.source == Source::Paper || of_seeds.len() < 2 {
        return;
    }
    let of_point = |place: usize| -> Spread {
        let values: Vec<f64> = of_seeds.iter().map(|numbers| numbers[place]).collect();
        Spread::of(&values)
    };
    series.spread = (0..own.len()).map(of_point).collect();
    series.points.set_numbers(series.spread.iter().map(|spread| spread.mean));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_becomes_the_mean_of_its_seeds() {
        let mut series = Series::line("a", vec![(1.0, 2.0), (2.0, 5.0)]);
        merge(&mut series, [vec![4.0, 5.0], vec![9.0]].into_iter());
        assert_eq!(series.points.numbers(), [3.0, 5.0]);
        let (low, high) = series.spread[0].interval();
        assert!(low < 2.0 && high > 4.0 && series.spread[1].sd.abs() < 1e-12);
        let mut stated = Series::stated("a", vec![(1.0, 2.0)]);
        merge(&mut stated, [vec![4.0]].into_iter());
        assert_eq!((stated.points.numbers(), stated.spread.len()), (vec![2.0], 0));
    }
}
