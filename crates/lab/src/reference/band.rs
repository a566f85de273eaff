//! Bands: how far a simulated count may be from the count of the real kernel.

use serde::Serialize;

/// How far the mean of the simulated counts may be from the kernel's count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// The difference is at most a percentage of the kernel's count plus a constant.
    Near {
        /// The percentage of the kernel's count.
        percent: f64,
        /// The constant, in operations of the chip.
        slack: f64,
    },
    /// The difference is at most a percentage of the kernel's count or a constant, whichever is
    /// more. Also within the band: the kernel's count lies between the least and the greatest
    /// simulated count.
    Among {
        /// The percentage of the kernel's count.
        percent: f64,
        /// The constant, in operations of the chip.
        few: f64,
    },
}

/// A count of the kernel and the counts of the simulated runs that are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The count of the kernel.
    pub kernel: f64,
    /// The mean of the runs' counts.
    pub flysch: f64,
    /// The least of the runs' counts.
    pub least: f64,
    /// The greatest of the runs' counts.
    pub most: f64,
    /// Whether the runs are within the band.
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
