//! Models: for each subject and cost, the form with the smallest error in cross-validation.

use std::collections::BTreeMap;
use std::fmt;

use flysch_charts::number::real_len;
use flysch_names::UnknownName;
use serde::{Deserialize, Serialize};

use super::form::Form;
use super::least_squares::solve;
use super::observation::{COSTS, Observation, Subject};

/// Number of parts that the observations are split into. Each part is predicted from the others.
const FOLDS: usize = 10;
/// The fewest observations of a subject.
const ROWS_MIN: usize = 6;
/// Costs below this fraction of a subject's mean are weighted as if they were this large. Otherwise
/// a run with almost no erases would have to be predicted to a fraction of a block.
const WEIGHT_FLOOR: f64 = 0.05;

/// The cost models of all subjects in a CSV file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Models {
    /// The program that wrote the file.
    pub generator: String,
    /// One model for each subject and cost.
    pub models: Vec<Model>,
}

/// The model of one cost of a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The subject of the model.
    #[serde(flatten)]
    pub of: Subject,
    /// Name of the modelled cost.
    pub cost: String,
    /// Number of observations it was fitted to.
    pub runs: usize,
    /// The form that was chosen.
    pub form: Form,
    /// The coefficients in the order of the form's terms.
    pub coefficients: Vec<f64>,
    /// Mean error in cross-validation, in percent of the mean cost.
    pub error_percent: f64,
    /// Median error in cross-validation, in percent of the cost itself.
    pub median_error_percent: f64,
    /// Least and greatest number of requests among the observations.
    pub requests: [f64; 2],
    /// Least and greatest record size among the observations.
    pub record_sizes: [f64; 2],
}

/// The predicted costs of a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    pub workload: String,
    pub on: String,
    pub platform: String,
    /// Size of a record in bytes.
    pub record_size: u32,
    pub requests: u32,
    /// Virtual time of the run, nanoseconds.
    pub time_ns: f64,
    /// Page reads of the array.
    pub page_reads: f64,
    /// Page programs of the array.
    pub page_programs: f64,
    pub block_erases: f64,
    /// Mean errors of the four models in cross-validation, in percent of the mean cost.
    pub time_error_percent: f64,
    pub reads_error_percent: f64,
    pub programs_error_percent: f64,
    pub erases_error_percent: f64,
    /// Whether the prediction lies beyond the observed requests or record sizes.
    pub is_extrapolated: bool,
}

/// Why no model could be fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FitError {
    /// A subject has too few observations.
    Few {
        /// The subject with too few observations.
        of: Subject,
        /// Number of observations that it has.
        runs: usize,
    },
    /// All observations of a subject have the same number of requests.
    Alike {
        /// The subject of these observations.
        of: Subject,
    },
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Few { of, runs } => write!(
                f,
                "{} on {}: a model takes {ROWS_MIN} runs or more, and these are {runs}",
                of.workload, of.on
            ),
            Self::Alike { of } => {
                write!(f, "{} on {}: all runs have as many requests", of.workload, of.on)
            }
        }
    }
}

impl std::error::Error for FitError {}

/// Fit models to observations.
///
/// # Errors
/// Returns the first subject whose observations are not enough.
pub fn fit(observations: &[Observation]) -> Result<Models, FitError> {
    let mut subjects: BTreeMap<&Subject, Vec<&Observation>> = BTreeMap::new();
    for one in observations {
        subjects.entry(&one.of).or_default().push(one);
    }
    let mut models = Vec::new();
    for (of, rows) in subjects {
        if rows.len() < ROWS_MIN {
            return Err(FitError::Few { of: of.clone(), runs: rows.len() });
        }
        for cost in 0..COSTS.len() {
            let model = Model::fit(of, &rows, cost);
            models.push(model.ok_or_else(|| FitError::Alike { of: of.clone() })?);
        }
    }
    Ok(Models { generator: "flysch model fit".to_owned(), models })
}

impl Model {
    /// Choose the form with the smallest error and fit it to all rows.
    fn fit(of: &Subject, rows: &[&Observation], cost: usize) -> Option<Self> {
        let tried =
            Form::ALL.into_iter().filter_map(|form| Some((form, validate(form, rows, cost)?)));
        let (form, errors) = tried.min_by(|(_, one), (_, other)| one[0].total_cmp(&other[0]))?;
        let range = |number: fn(&Observation) -> f64| {
            let all = || rows.iter().map(|row| number(row));
            [all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max)]
        };
        Some(Self {
            of: of.clone(),
            cost: COSTS[cost].to_owned(),
            runs: rows.len(),
            form,
            coefficients: coefficients(form, rows, cost)?,
            error_percent: errors[0],
            median_error_percent: errors[1],
            requests: range(|row| row.requests),
            record_sizes: range(|row| row.record_size),
        })
    }

    /// The predicted cost, which is never negative.
    fn predict(&self, requests: f64, record_size: f64) -> f64 {
        value(self.form, &self.coefficients, requests, record_size)
    }

    fn has_seen(&self, requests: f64, record_size: f64) -> bool {
        let within = |[least, most]: [f64; 2], value: f64| (least..=most).contains(&value);
        within(self.requests, requests) && within(self.record_sizes, record_size)
    }
}

fn value(form: Form, coefficients: &[f64], requests: f64, record_size: f64) -> f64 {
    let terms = form.terms(requests, record_size);
    terms.iter().zip(coefficients).map(|(term, factor)| term * factor).sum::<f64>().max(0.0)
}

fn coefficients(form: Form, rows: &[&Observation], cost: usize) -> Option<Vec<f64>> {
    let values: Vec<f64> = rows.iter().map(|row| row.costs[cost]).collect();
    let floor = values.iter().sum::<f64>() / real_len(values.len()) * WEIGHT_FLOOR;
    let terms: Vec<Vec<f64>> =
        rows.iter().map(|row| form.terms(row.requests, row.record_size)).collect();
    let weight = |value: &f64| if floor > 0.0 { 1.0 / value.max(floor) } else { 1.0 };
    let weights: Vec<f64> = values.iter().map(weight).collect();
    solve(&terms, &values, &weights)
}

/// The errors of predicting rows that were left out of the fit, in percent: the mean error over the
/// mean cost, and the median of each error over its own cost. None if the form cannot be fitted.
fn validate(form: Form, rows: &[&Observation], cost: usize) -> Option<[f64; 2]> {
    let (mut error_sum, mut cost_sum) = (0.0, 0.0);
    let mut shares = Vec::new();
    for fold in 0..FOLDS.min(rows.len()) {
        let is_left_out = |place: usize| place % FOLDS == fold;
        let numbered = || rows.iter().enumerate();
        let kept: Vec<&Observation> =
            numbered().filter(|(place, _)| !is_left_out(*place)).map(|(_, row)| *row).collect();
        let fitted = coefficients(form, &kept, cost)?;
        for (_, row) in numbered().filter(|(place, _)| is_left_out(*place)) {
            let error =
                (value(form, &fitted, row.requests, row.record_size) - row.costs[cost]).abs();
            error_sum += error;
            cost_sum += row.costs[cost];
            if row.costs[cost] > 0.0 {
                shares.push(error * 100.0 / row.costs[cost]);
            }
        }
    }
    let error = if cost_sum > 0.0 { error_sum * 100.0 / cost_sum } else { error_sum };
    let median = if shares.is_empty() { 0.0 } else { flysch_charts::statistics::median(&shares) };
    Some([error, median])
}

impl Models {
    /// Predict the costs of a workload on a stack, for each platform that has a model.
    ///
    /// # Errors
    /// Fails if there is no model of it. The error suggests the nearest name.
    pub fn predict(
        &self,
        workload: &str,
        on: &str,
        requests: u32,
        record_size: u32,
    ) -> Result<Vec<Prediction>, UnknownName> {
        let known = |of: fn(&Subject) -> &str| -> Vec<&str> {
            let mut known: Vec<&str> = self.models.iter().map(|model| of(&model.of)).collect();
            known.sort_unstable();
            known.dedup();
            known
        };
        let workloads = known(|of| &of.workload);
        if !workloads.contains(&workload) {
            return Err(UnknownName::new("workload", workload, workloads));
        }
        let is_asked = |model: &&Model| model.of.workload == workload && model.of.on == on;
        let asked: Vec<&Model> = self.models.iter().filter(is_asked).collect();
        if asked.is_empty() {
            return Err(UnknownName::new("stack", on, known(|of| &of.on)));
        }
        let (n, size) = (f64::from(requests), f64::from(record_size));
        let one = |models: &[&Model]| {
            let of = |cost: &str| {
                models
                    .iter()
                    .find(|model| model.cost == cost)
                    .map_or(f64::NAN, |it| it.predict(n, size))
            };
            let [time_ns, page_reads, page_programs, block_erases] = COSTS.map(of);
            let error = |cost: &str| {
                let model = models.iter().find(|model| model.cost == cost);
                model.map_or(f64::NAN, |model| model.error_percent)
            };
            let errors = COSTS.map(error);
            let Subject { workload, on, platform } = models[0].of.clone();
            let is_extrapolated = models.iter().any(|model| !model.has_seen(n, size));
            Prediction {
                workload,
                on,
                platform,
                record_size,
                requests,
                time_ns,
                page_reads,
                page_programs,
                block_erases,
                time_error_percent: errors[0],
                reads_error_percent: errors[1],
                programs_error_percent: errors[2],
                erases_error_percent: errors[3],
                is_extrapolated,
            }
        };
        Ok(asked.chunk_by(|one, other| one.of == other.of).map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(cost: impl Fn(f64, f64) -> f64) -> Vec<Observation> {
        let of = Subject { workload: "insert".into(), on: "a".into(), platform: "p".into() };
        let mut rows = Vec::new();
        for record_size in [150.0, 300.0, 450.0, 600.0] {
            for hundreds in 1..=20 {
                let requests = f64::from(hundreds) * 100.0;
                let costs = [cost(requests, record_size), 0.0, requests, 0.0];
                rows.push(Observation { of: of.clone(), record_size, requests, costs });
            }
        }
        rows
    }

    #[test]
    fn a_cost_is_predicted_where_it_was_not_observed() {
        let rows = observations(|requests, size| 5.0 + requests * (2.0 + size * 0.01));
        let models = fit(&rows).expect("there are enough");
        let time = &models.models[0];
        assert!(time.error_percent < 1e-6, "{time:?}");
        let found = models.predict("insert", "a", 4000, 500).expect("there is a model");
        assert!((found[0].time_ns - 28_005.0).abs() < 0.01 && found[0].is_extrapolated);
        assert!(found[0].page_reads.abs() < 1e-9 && found[0].block_erases.abs() < 1e-9);
        let error = models.predict("inser", "a", 1, 1).expect_err("there is none").to_string();
        assert!(error.contains("did you mean 'insert'?"), "{error}");
    }

    #[test]
    fn what_no_form_meets_has_an_error() {
        let rows = observations(|requests, _| if requests > 1000.0 { 1e6 } else { 1.0 });
        assert!(fit(&rows).expect("there are enough").models[0].error_percent > 10.0);
        assert!(matches!(fit(&rows[..3]), Err(FitError::Few { runs: 3, .. })));
        let alike: Vec<Observation> =
            rows.iter().filter(|row| row.requests < 101.0).cloned().collect();
        assert!(matches!(fit(&[alike.clone(), alike].concat()), Err(FitError::Alike { .. })));
    }
}
