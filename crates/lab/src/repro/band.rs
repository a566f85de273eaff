//! Bands: how far from a paper's value a measurement may lie, by the kind of quantity.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a paper states of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// A number.
    Value(f64),
    /// A number between two.
    Between(f64, f64),
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
}

/// How far a measurement may lie from the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// What kind of quantity it is for.
    pub kind: &'static str,
    /// Share of the target's value.
    pub relative: f64,
    /// On top of that, in the quantity's unit.
    pub absolute: f64,
}

/// What keeps the paper's shape though it lies outside the band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Nothing does.
    None,
    /// A measurement within this factor of the target.
    Factor(f64),
    /// A measurement on the target's side of this value: 1 for ratios, 0 for differences.
    SideOf(f64),
    /// A property of the measured series, computed where the series is.
    Seen(bool),
}

impl Band {
    /// The place of an event in a series of requests.
    pub const POSITION: Self = Self::absolute("position", 1.0);
    /// A count of operations.
    pub const COUNT: Self = Self::relative("count", 0.10);
    /// A ratio between two configurations, or a share of one in the other.
    pub const RATIO: Self = Self::relative("ratio", 0.15);
    /// An absolute time, a throughput or an energy.
    pub const TIME: Self = Self::relative("time", 0.25);
    /// A count that the real kernel gave, of the reference runs.
    pub const KERNEL: Self = Self::relative("kernel's count", 0.05);
    /// A statement, met or not.
    pub const STATEMENT: Self = Self::relative("statement", 0.0);

    const fn relative(kind: &'static str, relative: f64) -> Self {
        Self { kind, relative, absolute: 0.0 }
    }

    const fn absolute(kind: &'static str, absolute: f64) -> Self {
        Self { kind, relative: 0.0, absolute }
    }

    /// Whether a measurement lies in the band around the target.
    pub fn holds(self, target: Target, measured: f64) -> bool {
        // What the last bits of a quotient lose is not the paper's matter.
        let reach = |edge: f64| edge.abs() * (self.relative + 1e-12) + self.absolute;
        let (low, high) = target.ends();
        low.is_none_or(|low| measured >= low - reach(low))
            && high.is_none_or(|high| measured <= high + reach(high))
    }
}

impl Target {
    /// The least and the greatest value that meet the target.
    pub const fn ends(self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Value(value) => (Some(value), Some(value)),
            Self::Between(low, high) => (Some(low), Some(high)),
            Self::AtLeast(low) => (Some(low), None),
            Self::AtMost(high) => (None, Some(high)),
        }
    }
}

impl Shape {
    /// Whether a measurement keeps the shape.
    pub fn holds(self, target: Target, measured: f64) -> bool {
        let (low, high) = target.ends();
        match self {
            Self::None => false,
            Self::Factor(factor) => {
                low.is_none_or(|low| measured * factor >= low)
                    && high.is_none_or(|high| measured <= high * factor)
            }
            Self::SideOf(neutral) => {
                let above = low.is_some_and(|low| low > neutral) && measured > neutral;
                above || (high.is_some_and(|high| high < neutral) && measured < neutral)
            }
            Self::Seen(seen) => seen,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Between(low, high) => write!(f, "{low} to {high}"),
            Self::AtLeast(low) => write!(f, "at least {low}"),
            Self::AtMost(high) => write!(f, "at most {high}"),
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        if self.relative > 0.0 {
            write!(f, " \u{b1}{} %", self.relative * 100.0)?;
        }
        if self.absolute > 0.0 {
            write!(f, " \u{b1}{}", self.absolute)?;
        }
        Ok(())
    }
}

impl Serialize for Target {
    /// A number where the paper states one, else text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => serializer.serialize_f64(*value),
            other => serializer.collect_str(other),
        }
    }
}

impl Serialize for Band {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_reaches_as_far_as_its_kind_allows() {
        let cases = [
            (Band::POSITION, Target::Value(46.0), 47.0, true),
            (Band::POSITION, Target::Value(46.0), 48.0, false),
            (Band::COUNT, Target::Value(100.0), 110.0, true),
            (Band::COUNT, Target::Value(100.0), 89.9, false),
            (Band::RATIO, Target::Value(2.0), 2.3, true),
            (Band::RATIO, Target::Value(2.0), 1.69, false),
            (Band::TIME, Target::Between(20.0, 40.0), 15.0, true),
            (Band::TIME, Target::Between(20.0, 40.0), 50.1, false),
            (Band::STATEMENT, Target::AtLeast(2.0), 2.0, true),
            (Band::STATEMENT, Target::AtLeast(2.0), 1.99, false),
            (Band::STATEMENT, Target::AtMost(0.0), 0.0, true),
            (Band::TIME, Target::Value(1.0), f64::NAN, false),
        ];
        for (band, target, measured, wanted) in cases {
            assert_eq!(band.holds(target, measured), wanted, "{band}: {target}, {measured}");
        }
    }

    #[test]
    fn a_shape_is_looser_than_a_band() {
        let cases = [
            (Shape::Factor(2.0), Target::Value(40.0), 21.0, true),
            (Shape::Factor(2.0), Target::Value(40.0), 19.0, false),
            (Shape::SideOf(1.0), Target::Value(2.0), 1.01, true),
            (Shape::SideOf(1.0), Target::Value(2.0), 0.99, false),
            (Shape::SideOf(1.0), Target::Value(0.5), 0.9, true),
            (Shape::SideOf(1.0), Target::Value(0.5), 1.1, false),
            (Shape::Seen(true), Target::Value(2.0), 0.0, true),
            (Shape::None, Target::Value(2.0), 2.0, false),
        ];
        for (shape, target, measured, wanted) in cases {
            assert_eq!(shape.holds(target, measured), wanted, "{shape:?}: {target}, {measured}");
        }
    }
}
