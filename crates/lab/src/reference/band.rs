//! Bands: how far from the kernel's count the simulation's may lie.

use serde::Serialize;

/// How far a count may lie from the kernel's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// A share of the kernel's count and a few more.
    Near {
        /// The share, per cent.
        percent: f64,
        /// The few more.
        slack: f64,
    },
    /// A share of the kernel's count or a few, whichever is more. The kernel's count may also lie
    /// between the least and the most of several runs.
    Among {
        /// The share, per cent.
        percent: f64,
        /// The few.
        few: f64,
    },
}

/// A count of the kernel beside those of the runs that answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The kernel's.
    pub kernel: f64,
    /// The mean of the runs.
    pub flysch: f64,
    /// The least of them.
    pub least: f64,
    /// The most of them.
    pub most: f64,
    /// Whether they lie within the band.
    pub within: bool,
}

impl Compared {
    /// Compare the counts of at least one run.
    pub(super) fn new(kernel: f64, counts: &[f64], band: Option<Band>) -> Self {
        let flysch = flysch_charts::statistics::mean(counts);
        let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
        let most = counts.iter().copied().fold(0.0, f64::max);
        let error = (flysch - kernel).abs();
        let within = band.is_none_or(|band| match band {
            Band::Near { percent, slack } => error <= kernel * percent / 100.0 + slack,
            Band::Among { percent, few } => {
                error <= f64::max(kernel * percent / 100.0, few) || (least..=most).contains(&kernel)
            }
        });
        Self { kernel, flysch, least, most, within }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lie_near_or_among() {
        let near = Band::Near { percent: 5.0, slack: 3.0 };
        let among = Band::Among { percent: 5.0, few: 2.0 };
        let cases: [(f64, &[f64], Option<Band>, bool); 10] = [
            (100.0, &[108.0], Some(near), true),
            (100.0, &[92.0], Some(near), true),
            (100.0, &[109.0], Some(near), false),
            (100.0, &[90.0, 130.0], Some(near), false),
            (100.0, &[105.0], Some(among), true),
            (100.0, &[106.0], Some(among), false),
            (100.0, &[99.0, 121.0], Some(among), true),
            (100.0, &[101.0, 121.0], Some(among), false),
            (10.0, &[12.0], Some(among), true),
            (10.0, &[1000.0], None, true),
        ];
        for (kernel, counts, band, within) in cases {
            let compared = Compared::new(kernel, counts, band);
            assert_eq!(compared.within, within, "{kernel} {counts:?} {band:?}");
        }
    }
}
