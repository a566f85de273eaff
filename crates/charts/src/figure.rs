//! Figures: series of numbers in panels, ours and the paper's.

use serde::Serialize;

/// A figure of a paper, drawn again.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The item it belongs to.
    pub item: &'static str,
    /// Name of its files, without ending: letters, digits and hyphens.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What a reader should know about it.
    pub caption: String,
    /// The charts, side by side.
    pub panels: Vec<Panel>,
}

/// One chart of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What stands above it.
    pub title: String,
    /// The axis rightwards; its name where the series are of names.
    pub x: Scale,
    /// The axis upwards, or the length of bars.
    pub y: Scale,
    /// What is drawn. Those of one name share a colour.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Name, with the unit.
    pub name: String,
    /// Whether it is logarithmic; values of zero or less are then left out.
    pub is_log: bool,
}

/// Where numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Measured here.
    Flysch,
    /// Stated by the paper.
    Paper,
}

/// Numbers under one name.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name.
    pub name: String,
    /// Where they come from.
    pub source: Source,
    /// The numbers.
    pub points: Points,
}

/// The numbers of a series.
#[derive(Clone, Debug)]
pub enum Points {
    /// A line through points, from left to right.
    Line(Vec<(f64, f64)>),
    /// Points by themselves.
    Dots(Vec<(f64, f64)>),
    /// A bar for each name.
    Bars(Vec<(String, f64)>),
}

/// One number of a figure, as its CSV and JSON have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Datum {
    /// Panel.
    pub panel: String,
    /// Series.
    pub series: String,
    /// Where it comes from.
    pub source: Source,
    /// Place along the axis rightwards: a number or a name.
    pub x: Place,
    /// The value.
    pub y: f64,
}

/// A place along an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
}

impl Scale {
    /// An even axis.
    pub fn linear(name: &str) -> Self {
        Self { name: name.to_owned(), is_log: false }
    }

    /// A logarithmic axis.
    pub fn log(name: &str) -> Self {
        Self { name: name.to_owned(), is_log: true }
    }
}

impl Series {
    /// A line that was measured.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), source: Source::Flysch, points: Points::Line(points) }
    }

    /// Points that were measured.
    pub fn dots(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), source: Source::Flysch, points: Points::Dots(points) }
    }

    /// Points that the paper states.
    pub fn stated(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), source: Source::Paper, points: Points::Dots(points) }
    }

    /// Bars, of ours or the paper's.
    pub fn bars(name: impl Into<String>, source: Source, bars: Vec<(String, f64)>) -> Self {
        Self { name: name.into(), source, points: Points::Bars(bars) }
    }
}

impl Figure {
    /// Every number of the figure, in order.
    pub fn data(&self) -> Vec<Datum> {
        let of_panel = |panel: &Panel| {
            let of_series = |series: &Series| -> Vec<Datum> {
                let datum = |(x, y): (Place, f64)| Datum {
                    panel: panel.title.clone(),
                    series: series.name.clone(),
                    source: series.source,
                    x,
                    y,
                };
                series.points.places().into_iter().map(datum).collect()
            };
            panel.series.iter().flat_map(of_series).collect::<Vec<_>>()
        };
        self.panels.iter().flat_map(of_panel).collect()
    }
}

impl Points {
    fn places(&self) -> Vec<(Place, f64)> {
        match self {
            Self::Line(points) | Self::Dots(points) => {
                points.iter().map(|&(x, y)| (Place::Number(x), y)).collect()
            }
            Self::Bars(bars) => {
                bars.iter().map(|(name, value)| (Place::Name(name.clone()), *value)).collect()
            }
        }
    }
}
