//! `flysch model fit` and `flysch model predict`: fit cost models to measured runs, and predict
//! other runs.

use std::fs;
use std::path::PathBuf;

use flysch_models::fit::model::{Models, fit};
use flysch_models::fit::observation::read;
use serde::Serialize;

use crate::failure::Failure;
use crate::numbers::{Numbers, counts};
use crate::output::{self, Format};

/// The columns of the table and of CSV. JSON has all fields.
const COLUMNS: [&str; 8] =
    ["workload", "on", "platform", "cost", "runs", "form", "error_percent", "median_error_percent"];
/// The columns of a prediction.
const PREDICTED: [&str; 14] = [
    "workload",
    "on",
    "platform",
    "record_size",
    "requests",
    "time_ns",
    "page_reads",
    "page_programs",
    "block_erases",
    "time_error_percent",
    "reads_error_percent",
    "programs_error_percent",
    "erases_error_percent",
    "is_extrapolated",
];

/// Arguments of `flysch model fit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch bench insert,update --record-size 150,300,450,600 --requests 100..5000:700 --format csv --out runs.csv
  flysch model fit runs.csv --out costs.json
  flysch model predict costs.json --workload insert --on sqlite/jffs2 --requests 2000 --record-size 500")]
pub(crate) struct FitArgs {
    /// Runs: the CSV of flysch bench
    file: PathBuf,
    /// File for the models, which flysch model predict reads
    #[arg(long, value_name = "FILE", default_value = "model.json")]
    out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// How to print the errors of the models
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Arguments of `flysch model predict`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch model predict model.json --workload insert --on sqlite/jffs2 --requests 1000 --record-size 600
  flysch model predict model.json --workload update --on sqlite/ubifs --requests 100..5000:100 --record-size 150,600 --format csv")]
pub(crate) struct PredictArgs {
    /// Models: the file of flysch model fit
    file: PathBuf,
    /// Workload of the predicted runs
    #[arg(long, value_name = "WORKLOAD")]
    workload: String,
    /// Stack, from the engine down
    #[arg(long, value_name = "STACK")]
    on: String,
    /// Requests between BEGIN and END
    #[arg(long, value_name = "N")]
    requests: Numbers,
    /// Bytes of the random string in each record
    #[arg(long, value_name = "BYTES")]
    record_size: Numbers,
    /// How to print the predictions
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A fitted model with the names of its terms, for printing.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    model: &'a flysch_models::fit::model::Model,
    terms: &'static [&'static str],
}

/// Fit the models, save them, and print how large their errors are.
pub(super) fn run_fit(args: &FitArgs) -> Result<(), Failure> {
    let text = fs::read(&args.file).map_err(|error| Failure::of_file(&args.file, error))?;
    let observations = read(&text).map_err(|error| Failure::of_file(&args.file, error))?;
    output::check_writable(&args.out, args.force)?;
    let models = fit(&observations).map_err(|error| Failure::of_file(&args.file, error))?;
    output::write_file(&args.out, &output::json(&models), args.force)?;
    let listed = models.models.iter().map(|model| Listed { model, terms: model.form.names() });
    let listed: Vec<Listed<'_>> = listed.collect();
    output::print(&output::rows(&COLUMNS, &listed, args.format))
}

/// Predict each combination of requests and record size, and print the predictions.
pub(super) fn run_predict(args: &PredictArgs) -> Result<(), Failure> {
    let text = fs::read(&args.file).map_err(|error| Failure::of_file(&args.file, error))?;
    let models: Models = serde_json::from_slice(&text)
        .map_err(|error| Failure::of_file(&args.file, format_args!("no saved models: {error}")))?;
    let mut rows = Vec::new();
    for record_size in counts("record-size", &args.record_size)? {
        for &requests in &counts("requests", &args.requests)? {
            let predicted = models.predict(&args.workload, &args.on, requests, record_size);
            rows.extend(predicted.map_err(|error| Failure::of(&error))?);
        }
    }
    output::print(&output::rows(&PREDICTED, &rows, args.format))
}
