//! Bands: how far a measurement may be from a paper's value, for each kind of quantity. Outside of
//! its band, a measurement may still keep the *shape* of what the paper says.
//!
//! The rule is the same for all claims of a kind. Times and counts keep the shape if they are
//! within a factor of two. Ratios keep it if they are on the same side of one. A saving is one
//! minus a ratio, so it keeps the shape if its sign is right. If a paper calls two things alike,
//! their ratio must be within a factor of two. A statement holds or does not hold.
//!
//! Words of a paper are translated to numbers: "more" or "faster" is a ratio greater than one;
//! "far", "much" or "large" is a ratio greater than two; "slightly" is a ratio of up to 1.15, which
//! is the band of ratios.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a paper states about a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    Value(f64),
    /// A number within this range.
    Between(f64, f64),
    /// At least this number.
    AtLeast(f64),
    /// At most this number.
    AtMost(f64),
}

/// How far a measurement may be from the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The kind of quantity it is for.
    pub kind: &'static str,
    /// The allowed distance as a share of the target's value.
    pub relative: f64,
    /// A further allowed distance, in the unit of the quantity.
    pub absolute: f64,
    /// The condition for keeping the shape.
    shape: Shape,
}

/// The condition under which a measurement outside of the band keeps the paper's shape.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// It never keeps the shape.
    None,
    /// It is within a factor of two of the target.
    Magnitude,
    /// It is on the same side of this value as the target. If the target equals this value, the
    /// rule of `Magnitude` applies.
    SideOf(f64),
}

/// The factor of [`Shape::Magnitude`].
const FACTOR: f64 = 2.0;

impl Band {
    /// The position of an event in a series of requests.
    pub const POSITION: Self = Self { absolute: 1.0, ..Self::within("position", 0.0, Shape::None) };
    /// A count of operations or of requests.
    pub const COUNT: Self = Self::within("count", 0.10, Shape::Magnitude);
    /// A ratio between two configurations.
    pub const RATIO: Self = Self::within("ratio", 0.15, Shape::SideOf(1.0));
    /// How much less one configuration takes than another, in percent.
    pub const SAVING: Self = Self::within("ratio, saved", 0.15, Shape::SideOf(0.0));
    /// A share of one quantity in another, or a value of a closed form.
    pub const SHARE: Self = Self::within("share", 0.15, Shape::Magnitude);
    /// An absolute time, a throughput or an energy.
    pub const TIME: Self = Self::within("time", 0.25, Shape::Magnitude);
    /// A count of the real kernel, from the reference runs.
    pub const KERNEL: Self = Self::within("kernel's count", 0.05, Shape::None);
    /// A statement that holds or does not hold.
    pub const STATEMENT: Self = Self::within("statement", 0.0, Shape::None);

    const fn within(kind: &'static str, relative: f64, shape: Shape) -> Self {
        Self { kind, relative, absolute: 0.0, shape }
    }

    /// Whether a measurement keeps the paper's shape.
    pub fn keeps_shape(self, target: Target, measured: f64) -> bool {
        measured.is_finite() && self.shape.holds(target, measured)
    }

    /// Whether a measurement lies in the band around the target.
    pub fn holds(self, target: Target, measured: f64) -> bool {
        // The tiny additional fraction allows for rounding of quotients.
        let reach = |edge: f64| edge.abs() * (self.relative + 1e-12) + self.absolute;
        let (low, high) = target.ends();
        measured.is_finite()
            && low.is_none_or(|low| measured >= low - reach(low))
            && high.is_none_or(|high| measured <= high + reach(high))
    }
}

impl Target {
    /// The target in words. `number` formats its numbers.
    pub fn in_words(self, number: fn(f64) -> String) -> String {
        match self {
            Self::Value(value) => number(value),
            Self::Between(low, high) => format!("{} to {}", number(low), number(high)),
            Self::AtLeast(low) => format!("at least {}", number(low)),
            Self::AtMost(high) => format!("at most {}", number(high)),
        }
    }

    /// The least and the greatest value that meet the target. None where there is no limit.
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
    fn holds(self, target: Target, measured: f64) -> bool {
        let (low, high) = target.ends();
        let is_near = low.is_none_or(|low| measured * FACTOR >= low)
            && high.is_none_or(|high| measured <= high * FACTOR);
        match self {
            Self::None => false,
            Self::SideOf(neutral) if low.is_some_and(|low| low > neutral) => measured > neutral,
            Self::SideOf(neutral) if high.is_some_and(|high| high < neutral) => measured < neutral,
            Self::Magnitude | Self::SideOf(_) => is_near,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(|number| number.to_string()))
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
    /// Serialise one number as a number, and anything else as text.
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
            (Band::STATEMENT, Target::AtLeast(1.0), f64::INFINITY, false),
        ];
        for (band, target, measured, wanted) in cases {
            assert_eq!(band.holds(target, measured), wanted, "{band}: {target}, {measured}");
        }
    }

    #[test]
    fn a_shape_is_looser_than_a_band() {
        let cases = [
            (Band::TIME, Target::Value(40.0), 21.0, true),
            (Band::COUNT, Target::Value(40.0), 19.0, false),
            (Band::SHARE, Target::Value(0.9), 0.4, false),
            (Band::RATIO, Target::Value(1.0), 0.6, true),
            (Band::RATIO, Target::Value(1.3), 0.9, false),
            (Band::RATIO, Target::Value(2.0), 1.01, true),
            (Band::RATIO, Target::Value(2.0), 0.99, false),
            (Band::RATIO, Target::AtLeast(2.0), 1.01, true),
            (Band::RATIO, Target::AtLeast(2.0), 1.0, false),
            (Band::RATIO, Target::Value(0.4), 0.9, true),
            (Band::RATIO, Target::Value(0.4), 1.1, false),
            (Band::SAVING, Target::Value(50.0), 1.0, true),
            (Band::SAVING, Target::Value(50.0), 0.0, false),
            (Band::STATEMENT, Target::Value(2.0), 1.9, false),
            (Band::POSITION, Target::Value(46.0), 48.0, false),
            (Band::TIME, Target::Value(1.0), f64::NAN, false),
        ];
        for (band, target, measured, wanted) in cases {
            assert_eq!(band.keeps_shape(target, measured), wanted, "{band}: {target}, {measured}");
        }
    }
}
