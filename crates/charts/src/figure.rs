//! Figures: panels with series of numbers, both measured ones and those that the paper states.

use serde::Serialize;

use super::statistics::Spread;

/// A figure of a paper, drawn with measured or computed numbers.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The item of the paper that it belongs to.
    pub item: &'static str,
    /// Name of its files without extension: letters, digits and hyphens.
    pub name: String,
    /// The title above the figure.
    pub title: String,
    /// An explanation for the reader, below the figure.
    pub caption: String,
    /// The charts, next to each other.
    pub panels: Vec<Panel>,
}

/// One chart of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title above the chart.
    pub title: String,
    /// The horizontal axis. For bars, only its name is used.
    pub x: Scale,
    /// The vertical axis, or the length of bars.
    pub y: Scale,
    /// The series to draw. Series with the same name have the same colour.
    pub series: Vec<Series>,
}

/// An axis and its scale.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Name with the unit.
    pub name: String,
    /// Whether it is logarithmic. Values of zero or less are then left out.
    pub is_log: bool,
}

/// Whether a series was measured here or is quoted from a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Measured or computed by this program.
    Flysch,
    /// Stated by the paper.
    Paper,
}

/// A series of numbers with a name.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub source: Source,
    pub points: Points,
    /// The spread of each number over several seeds, in the order of the points. Empty if there is
    /// one seed.
    pub spread: Vec<Spread>,
}

/// The numbers of a series.
#[derive(Clone, Debug)]
pub enum Points {
    /// A line through points from left to right.
    Line(Vec<(f64, f64)>),
    /// Points without a line.
    Dots(Vec<(f64, f64)>),
    /// A bar for each name.
    Bars(Vec<(String, f64)>),
}

/// One number of a figure, in the form in which CSV and JSON files contain it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Datum {
    /// Title of the panel.
    pub panel: String,
    /// Name of the series.
    pub series: String,
    pub source: Source,
    /// Position on the horizontal axis: a number, or the name of a bar.
    pub x: Place,
    /// The number, or its mean over several seeds.
    pub y: f64,
    #[serde(flatten)]
    pub interval: Option<Interval>,
}

/// The spread of a number over several seeds, in the form in which files contain it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Standard deviation.
    pub sd: f64,
    /// The ends of the 95 % confidence interval of the mean.
    pub ci95_low: f64,
    pub ci95_high: f64,
}

impl From<Spread> for Interval {
    fn from(spread: Spread) -> Self {
        let (ci95_low, ci95_high) = spread.interval();
        Self { sd: spread.sd, ci95_low, ci95_high }
    }
}

/// A position on the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Place {
    Number(f64),
    Name(String),
}

impl Scale {
    pub fn linear(name: &str) -> Self {
        Self { name: name.to_owned(), is_log: false }
    }

    pub fn log(name: &str) -> Self {
        Self { name: name.to_owned(), is_log: true }
    }
}

impl Series {
    /// A line through measured points.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::of(name, Source::Flysch, Points::Line(points))
    }

    /// Measured points without a line.
    pub fn dots(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::of(name, Source::Flysch, Points::Dots(points))
    }

    /// Points that the paper states.
    pub fn stated(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::of(name, Source::Paper, Points::Dots(points))
    }

    /// Bars of values from this source.
    pub fn bars(name: impl Into<String>, source: Source, bars: Vec<(String, f64)>) -> Self {
        Self::of(name, source, Points::Bars(bars))
    }

    fn of(name: impl Into<String>, source: Source, points: Points) -> Self {
        Self { name: name.into(), source, points, spread: Vec::new() }
    }
}

impl Figure {
    /// All numbers of the figure, in the order of panels and series.
    pub fn data(&self) -> Vec<Datum> {
        let of_panel = |panel: &Panel| {
            let of_series = |series: &Series| -> Vec<Datum> {
                let datum = |(nth, (x, y)): (usize, (Place, f64))| Datum {
                    panel: panel.title.clone(),
                    series: series.name.clone(),
                    source: series.source,
                    x,
                    y,
                    interval: series.spread.get(nth).copied().map(Interval::from),
                };
                series.points.places().into_iter().enumerate().map(datum).collect()
            };
            panel.series.iter().flat_map(of_series).collect::<Vec<_>>()
        };
        self.panels.iter().flat_map(of_panel).collect()
    }
}

impl Points {
    /// The numbers in order.
    pub fn numbers(&self) -> Vec<f64> {
        self.places().into_iter().map(|(_, number)| number).collect()
    }

    /// Replace the numbers, in order.
    pub fn set_numbers(&mut self, numbers: impl IntoIterator<Item = f64>) {
        let places: Vec<&mut f64> = match self {
            Self::Line(points) | Self::Dots(points) => {
                points.iter_mut().map(|(_, number)| number).collect()
            }
            Self::Bars(bars) => bars.iter_mut().map(|(_, number)| number).collect(),
        };
        for (place, number) in places.into_iter().zip(numbers) {
            *place = number;
        }
    }

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
