//! Claims: what a paper says, what was measured, and whether they agree.

use std::fmt;

use flysch_charts::figure::Interval;
use serde::Serialize;

use super::band::{Band, Target};

/// A statement of a paper, and the measurement of an experiment for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The item of the paper that says it.
    pub item: &'static str,
    /// What the paper says, with the unit.
    pub text: String,
    /// The value that the paper states.
    pub target: Target,
    /// The measured value. It is not finite if it could not be measured.
    pub measured: f64,
    /// The spread of the measured value over several seeds. The value is then their mean.
    pub interval: Option<Interval>,
    /// How far the measurement may be from the paper's value.
    pub band: Band,
    /// A note for the reader. It is shown with every verdict.
    pub note: String,
    /// Why the claim does not hold. It is only shown if it does not.
    pub reason: &'static str,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The measurement is in the band.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The measurement is outside of the band, but it has the direction, order or magnitude that
    /// the paper states.
    #[serde(rename = "shape")]
    Shape,
    /// The claim does not hold.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

/// One row of `summary.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Number of the paper.
    pub paper: &'static str,
    /// Item of the paper.
    pub item: &'static str,
    /// What the paper says.
    pub claim: String,
    /// The value that the paper states: a number, or a range in words.
    pub paper_value: Target,
    /// The measured value, or null if there is none.
    pub measured: f64,
    /// How far the measurement may be from the paper's value.
    pub band: Band,
    pub verdict: Verdict,
    /// The note for the reader, and the reason if the claim does not hold.
    pub note: String,
    #[serde(flatten)]
    pub interval: Option<Interval>,
}

impl Claim {
    /// A claim without note or reason.
    pub fn new(
        item: &'static str,
        text: impl Into<String>,
        target: Target,
        measured: f64,
        band: Band,
    ) -> Self {
        let text = text.into();
        Self { item, text, target, measured, interval: None, band, note: String::new(), reason: "" }
    }

    /// The verdict, which is computed from the numbers alone.
    pub fn verdict(&self) -> Verdict {
        if self.band.holds(self.target, self.measured) {
            Verdict::Reproduced
        } else if self.band.keeps_shape(self.target, self.measured) {
            Verdict::Shape
        } else {
            Verdict::NotReproduced
        }
    }

    /// The row of the claim in the summary.
    pub fn row(&self, paper: &'static str) -> Row {
        let verdict = self.verdict();
        let reason = if verdict == Verdict::Reproduced { "" } else { self.reason };
        let shown: Vec<&str> =
            [self.note.as_str(), reason].into_iter().filter(|text| !text.is_empty()).collect();
        Row {
            paper,
            item: self.item,
            claim: self.text.clone(),
            paper_value: self.target,
            measured: self.measured,
            band: self.band,
            verdict,
            note: shown.join(" "),
            interval: self.interval,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Shape => "shape",
            Self::NotReproduced => "not reproduced",
        })
    }
}

/// How many rows have each verdict: reproduced, shape, not reproduced.
pub fn tally(rows: &[Row]) -> [usize; 3] {
    [Verdict::Reproduced, Verdict::Shape, Verdict::NotReproduced]
        .map(|verdict| rows.iter().filter(|row| row.verdict == verdict).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_only_where_a_claim_does_not_hold() {
        let check = |measured: f64, verdict: Verdict, note: &str| {
            let claim = Claim {
                note: "Of one run.".to_owned(),
                reason: "It was cold.",
                ..Claim::new("table-1", "time, ms", Target::Value(10.0), measured, Band::TIME)
            };
            let row = claim.row("000");
            assert_eq!((row.verdict, row.note.as_str()), (verdict, note), "{measured}");
        };
        check(12.5, Verdict::Reproduced, "Of one run.");
        check(19.0, Verdict::Shape, "Of one run. It was cold.");
        check(21.0, Verdict::NotReproduced, "Of one run. It was cold.");
        check(f64::NAN, Verdict::NotReproduced, "Of one run. It was cold.");
    }
}
