//! `flysch model figure`: the charts of Fig. 12 of the `PBFilter` paper, as numbers or as a page.

use std::path::PathBuf;

use flysch_charts::figure::{Datum, Figure};
use flysch_models::figure::{CHARTS, Chart};
use flysch_papers::figures_page;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{self, Format};

/// Arguments of `flysch model figure`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch model figure g,h --format csv
  flysch model figure --report figure-12.html")]
pub(crate) struct Args {
    /// Letters of the charts [default: all]
    #[arg(value_name = "LETTER", value_delimiter = ',')]
    letters: Vec<char>,
    /// How to print the numbers
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also write the charts as a page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace the page even if flysch did not write it
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Row {
    chart: String,
    #[serde(flatten)]
    datum: Datum,
}

/// Print the numbers, and write the page.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.report.iter().try_for_each(|path| output::check_report(path, args.force))?;
    if let Some(unknown) = args.letters.iter().find(|letter| chart(**letter).is_none()) {
        return Err(Failure::Message(format!("Fig. 12 has no chart '{unknown}'; it has a to n")));
    }
    let asked = |chart: &&Chart| args.letters.is_empty() || args.letters.contains(&chart.letter);
    let figures: Result<Vec<Figure>, _> = CHARTS.iter().filter(asked).map(Chart::figure).collect();
    let figures = figures.map_err(|error| Failure::of(&error))?;
    if let Some(path) = &args.report {
        let page = figures_page("Fig. 12 of the PBFilter paper", "From the closed forms", &figures);
        output::write_report(path, &page, args.force)?;
    }
    let of_figure = |figure: &Figure| {
        let row = |datum| Row { chart: figure.name.clone(), datum };
        figure.data().into_iter().map(row).collect::<Vec<Row>>()
    };
    let rows: Vec<Row> = figures.iter().flat_map(of_figure).collect();
    output::print(&output::rows(&["chart", "panel", "series", "x", "y"], &rows, args.format))
}

fn chart(letter: char) -> Option<&'static Chart> {
    CHARTS.iter().find(|chart| chart.letter == letter)
}
