//! Array operations of a run, beside the kernel's.

use crate::Outcome;
use serde_json::Value;

/// Array operations of one run, or the mean of some.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub page_reads: f64,
    pub page_programs: f64,
    pub block_erases: f64,
}

impl Counts {
    /// The mean of some runs of `flysch bench`.
    pub(super) fn mean(runs: &[Value]) -> Outcome<Self> {
        let mean_of = |name| -> Outcome<f64> { Ok(mean(&figures(runs, name)?)) };
        Ok(Self {
            page_reads: mean_of("page_reads")?,
            page_programs: mean_of("page_programs")?,
            block_erases: mean_of("block_erases")?,
        })
    }

    /// The end of a table's row: the kernel's counts, ours, and whether they agree.
    fn beside(self, flysch: Self, is_within: bool) -> String {
        let pair = |kernel: f64, flysch: f64| {
            format!("| {kernel:.0} | {flysch:.0} | {} ", relative_error(kernel, flysch))
        };
        let reads = pair(self.page_reads, flysch.page_reads);
        let programs = pair(self.page_programs, flysch.page_programs);
        let verdict = if is_within { "yes" } else { "no" };
        let (kernel, flysch) = (self.block_erases, flysch.block_erases);
        format!("{reads}{programs}| {kernel:.0} | {flysch:.0} | {verdict} |\n")
    }
}

/// One figure of each run of `flysch bench`; there is at least one run.
pub(super) fn figures(runs: &[Value], name: &str) -> Outcome<Vec<f64>> {
    let figures: Option<Vec<f64>> = runs.iter().map(|run| run[name].as_f64()).collect();
    let figures = figures.filter(|figures| !figures.is_empty());
    Ok(figures.ok_or_else(|| format!("a run of bench lacks `{name}`"))?)
}

pub(super) fn mean(figures: &[f64]) -> f64 {
    let count = u32::try_from(figures.len()).expect("a few seeds");
    figures.iter().sum::<f64>() / f64::from(count)
}

fn relative_error(kernel: f64, flysch: f64) -> String {
    if kernel > 0.0 {
        format!("{:+.1} %", (flysch - kernel) * 100.0 / kernel)
    } else {
        String::from("–")
    }
}

/// A row of a reference.
pub(super) trait Reference {
    /// What the kernel did.
    fn kernel(&self) -> Counts;
    /// Whether these counts lie within the row's bands.
    fn accepts(&self, flysch: Counts) -> bool;
    /// The begin of the row in the table: what was run.
    fn name(&self) -> String;
}

/// Rows with the counts that answer to them, and how many of them agree.
pub(super) fn table<R: Reference>(
    rows: &[R],
    noun: &str,
    mut measure: impl FnMut(&R) -> Outcome<Counts>,
) -> Outcome<String> {
    let mut text = String::new();
    let mut within_count = 0;
    for row in rows {
        let counts = measure(row)?;
        let is_within = row.accepts(counts);
        within_count += u32::from(is_within);
        text += &row.name();
        text += &row.kernel().beside(counts, is_within);
    }
    let count = rows.len();
    Ok(format!("{text}\n{within_count} of {count} {noun} are within their band.\n"))
}

#[cfg(test)]
mod tests {
    use super::Counts;
    use serde_json::json;

    #[test]
    fn the_mean_of_no_counts_is_an_error() {
        let runs = [
            json!({"page_reads": 1, "page_programs": 4, "block_erases": 0}),
            json!({"page_reads": 2, "page_programs": 6, "block_erases": 1}),
        ];
        assert_eq!(
            Counts::mean(&runs).expect("both are whole"),
            Counts { page_reads: 1.5, page_programs: 5.0, block_erases: 0.5 }
        );
        assert!(Counts::mean(&[]).is_err());
        assert!(Counts::mean(&[json!({"page_reads": 1})]).is_err());
    }
}
