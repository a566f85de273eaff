//! `flysch repro`: repeats the experiments of the papers, and judges each of their claims.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use flysch_lab::trace::check_place;
use flysch_papers::PAPERS;
use flysch_papers::claim::{Row, tally};
use flysch_papers::files::{columns, files, is_own};
use flysch_papers::paper::{Effort, Findings, Trial};
use flysch_papers::seeds::merged;
use flysch_papers::selection::{Selection, choose};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress;
use crate::provenance::Provenance;

/// The columns of the table. CSV and JSON have the note as well.
const SHOWN: [&str; 6] = ["paper", "item", "claim", "paper_value", "measured", "verdict"];

/// Arguments of `flysch repro`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch repro
  flysch repro all
  flysch repro 000 --item table-2,figure-4 --quick --out tables
  flysch repro 000 --item figure-8 --seeds 20 --out figure-8")]
pub(crate) struct Args {
    /// Number of a paper, or all; without it, the papers and their items are listed
    paper: Option<String>,
    /// Items of the paper, such as table-2 [default: all]
    #[arg(long, value_name = "ITEM", value_delimiter = ',', requires = "paper")]
    item: Vec<String>,
    /// Folder for pages, series and summary
    #[arg(long, value_name = "DIR", default_value = "repro")]
    out: PathBuf,
    /// Measure fewer points; all claims are still judged
    #[arg(long)]
    quick: bool,
    /// Number of seeds to measure with; figures are means, with 95 % intervals in files and charts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Write into an existing folder even if flysch did not make it
    #[arg(long)]
    force: bool,
    /// How to print the claims
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A row of the list of papers.
#[derive(Serialize)]
struct Listed {
    paper: &'static str,
    item: &'static str,
    title: &'static str,
}

/// Measure and judge the claims, write the pages and print the claims.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Some(paper) = &args.paper else { return list(args.format) };
    let selected = choose(paper, &args.item).map_err(|error| Failure::of(&error))?;
    check_folder(&args.out, args.force)?;
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    let findings = measure(&selected, effort, args.seeds)?;
    let provenance = Provenance::of_this_command();
    for (place, bytes) in files(&findings) {
        let is_page = place.extension().is_some_and(|extension| extension == "html");
        let bytes = match String::from_utf8(bytes) {
            Ok(page) if is_page => provenance.sign(&page).into_bytes(),
            Ok(text) => text.into_bytes(),
            Err(error) => error.into_bytes(),
        };
        let path = args.out.join(place);
        let folder = path.parent().unwrap_or(&args.out);
        fs::create_dir_all(folder).map_err(|error| Failure::of_file(folder, error))?;
        output::write_file(&path, &bytes, true)?;
    }
    let rows: Vec<Row> = findings.iter().flat_map(Findings::rows).collect();
    match args.format {
        Format::Table => {
            output::print(&output::rows(&SHOWN, &rows, args.format))?;
            output::print(closing(&findings, &args.out).as_bytes())
        }
        Format::Csv | Format::Json => {
            output::print(&output::rows(&columns(&rows), &rows, args.format))
        }
    }
}

fn list(format: Format) -> Result<(), Failure> {
    let listed = PAPERS.iter().flat_map(|paper| {
        let of_item = |item: &'static flysch_papers::paper::Item| Listed {
            paper: paper.number,
            item: item.name,
            title: item.title,
        };
        paper.items.iter().map(of_item)
    });
    let listed: Vec<Listed> = listed.collect();
    output::print(&output::rows(&["paper", "item", "title"], &listed, format))
}

/// Check before long work that the folder can be written. A folder that exists must be one that
/// flysch wrote, unless `force` is set.
fn check_folder(folder: &Path, force: bool) -> Result<(), Failure> {
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::of_file(folder, "is not a folder"));
    }
    if folder.exists() && !force && !is_own(folder) {
        return Err(Failure::of_file(folder, "exists; --force writes into it"));
    }
    let place = if folder.exists() { folder.join("index.html") } else { folder.to_owned() };
    check_place(&place).map_err(|error| {
        let cause = error.kind();
        Failure::of_file(folder, format_args!("cannot be written: {cause}"))
    })
}

fn measure(selected: &[Selection], effort: Effort, seeds: u64) -> Result<Vec<Findings>, Failure> {
    let steps: u64 = selected.iter().map(|(paper, items)| paper.steps(items, effort)).sum();
    let bar = progress::bar(steps * seeds, "{bar:40} {percent} % of {msg}, {eta} left");
    let done = |steps| bar.inc(steps);
    let one = |(paper, items): &Selection| {
        bar.set_message(format!("paper {}", paper.number));
        let of_seed = |seed| paper.measure(items, &Trial::new(effort, seed, &done));
        let all = (1..=seeds).map(of_seed).collect::<Result<Vec<_>, _>>();
        let all = all.map_err(|error| Failure::of(&error))?;
        Ok(merged(all).expect("there is a first seed"))
    };
    let findings = selected.iter().map(one).collect();
    bar.finish_and_clear();
    findings
}

/// The summary below the table: the number of reproduced claims, and where the report is.
fn closing(all: &[Findings], folder: &Path) -> String {
    let mut text = "\n".to_owned();
    for findings in all {
        let rows = findings.rows();
        let [reproduced, shape, not] = tally(&rows);
        let (number, count) = (findings.paper.number, rows.len());
        writeln!(
            text,
            "{number}: {reproduced} of {count} claims reproduced, {shape} in shape, {not} not"
        )
        .expect("a string takes what is written");
    }
    text + "report: " + &folder.join("index.html").display().to_string() + "\n"
}
