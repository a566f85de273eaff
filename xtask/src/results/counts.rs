//! Rows of a reference: array operations of the simulator compared with those of the kernel.

use super::Flysch;
use crate::Outcome;
use serde_json::Value;
use std::fmt::Write;

/// The judgement of `flysch` on each row of a reference.
pub(super) fn judged(flysch: &Flysch, reference: &str) -> Outcome<Vec<Value>> {
    let words = ["vm", "validate", "--reference", reference, "--format", "json"];
    flysch.runs(&words.map(str::to_owned))
}

/// A text of the row that describes what was run.
pub(super) fn label<'a>(row: &'a Value, name: &str) -> Outcome<&'a str> {
    Ok(row[name].as_str().ok_or_else(|| format!("a row lacks `{name}`: {row}"))?)
}

/// A number of one of the row's counts: `of` is a field such as `kernel`, and `count` such as
/// `page_reads`.
pub(super) fn number(row: &Value, count: &str, of: &str) -> Outcome<f64> {
    let number = row[count][of].as_f64();
    Ok(number.ok_or_else(|| format!("a row lacks `{count}.{of}`: {row}"))?)
}

/// `yes` if the row is within its bands, otherwise `no`.
pub(super) fn verdict(row: &Value) -> &'static str {
    if is_within(row) { "yes" } else { "no" }
}

/// How many of the rows are within their bands.
pub(super) fn within_count(rows: &[Value]) -> usize {
    rows.iter().filter(|row| is_within(row)).count()
}

fn is_within(row: &Value) -> bool {
    row["within"] == true
}

/// Rows with both counts, each after its `labels`, and how many of them are within their bands.
pub(super) fn table(rows: &[Value], labels: &[&str], noun: &str) -> Outcome<String> {
    let mut text = String::new();
    for row in rows {
        for name in labels {
            write!(text, "| {} ", label(row, name)?)?;
        }
        for count in ["page_reads", "page_programs"] {
            let (kernel, flysch) = (number(row, count, "kernel")?, number(row, count, "flysch")?);
            let error = relative_error(kernel, flysch);
            write!(text, "| {kernel:.0} | {flysch:.0} | {error} ")?;
        }
        let erases = |of| number(row, "block_erases", of);
        let (kernel, flysch) = (erases("kernel")?, erases("flysch")?);
        writeln!(text, "| {kernel:.0} | {flysch:.0} | {} |", verdict(row))?;
    }
    let (within, count) = (within_count(rows), rows.len());
    Ok(format!("{text}\n{within} of {count} {noun} are within their band.\n"))
}

fn relative_error(kernel: f64, flysch: f64) -> String {
    if kernel > 0.0 {
        format!("{:+.1} %", (flysch - kernel) * 100.0 / kernel)
    } else {
        String::from("–")
    }
}

#[cfg(test)]
mod tests {
    use super::table;
    use serde_json::json;

    #[test]
    fn a_line_shows_the_errors() {
        let count = |kernel: f64, flysch: f64| json!({"kernel": kernel, "flysch": flysch});
        let row = json!({
            "fs": "jffs2", "operation": "insert", "within": true,
            "page_reads": count(0.0, 2.0), "page_programs": count(1000.0, 985.0),
            "block_erases": count(0.0, 0.0)
        });
        let expected = "| jffs2 | insert | 0 | 2 | – | 1000 | 985 | -1.5 % | 0 | 0 | yes |\n\
                        \n1 of 1 rows are within their band.\n";
        let labels = ["fs", "operation"];
        assert_eq!(
            table(std::slice::from_ref(&row), &labels, "rows").expect("it is whole"),
            expected
        );
        assert!(table(&[row], &["stack"], "rows").is_err());
    }
}
