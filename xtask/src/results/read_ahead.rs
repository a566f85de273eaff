//! Results section: the pages that read-ahead reads, the simulator against Linux 6.1 with nandsim.
//!
//! There are two references: reads of a file of 5 MiB, and selects on a database of contacts.

use super::Flysch;
use super::counts::{judged, label, number, verdict, within_count};
use crate::Outcome;
use serde_json::Value;
use std::fmt::Write;

const READS: &str = "docs/reference/kernel-6.1-readahead.csv";
const CONTACTS: &str = "docs/reference/kernel-6.1-contacts.csv";

const BANDS: &str = "\
A row holds if the pages read lie within 5 % of the kernel's, or are at most two pages apart. Rows of random
requests need more: the kernel's requests are one draw, and nobody knows which. The lab runs 32 seeds for
such a row. The row holds if the kernel's count lies within 5 % of their mean, or between the least and the
most of them. One more draw falls outside of n others with a probability of 2 / (n + 1). So 6 % of the rows
would fail by chance; with 8 seeds it would be 22 %. Two rows of reads that are not aligned were taken on
another machine and are left out.
";

const HEADING: &str = "\
| stack | order | read-ahead | requests | bytes | kernel | flysch | least..most | error | within |
|---|---|---|--:|--:|--:|--:|--:|--:|---|
";

/// The columns that describe what was run.
const LABELS: [&str; 5] = ["on", "pattern", "read_ahead", "requests", "size"];

/// Write the tables of both references.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let mut text = String::from(BANDS);
    let references = [
        ("Reads of a file of 5 MiB", READS),
        ("Selects on contacts, by bytes of each text", CONTACTS),
    ];
    for (title, reference) in references {
        let rows = judged(flysch, reference)?;
        write!(text, "\n{title}:\n\n{HEADING}")?;
        for row in &rows {
            text.push_str(&line(row)?);
        }
        writeln!(text, "\n{} of {} rows are within.", within_count(&rows), rows.len())?;
    }
    Ok(text)
}

fn line(row: &Value) -> Outcome<String> {
    let mut text = String::new();
    for name in LABELS {
        write!(text, "| {} ", label(row, name)?)?;
    }
    let reads = |of| number(row, "page_reads", of);
    let (kernel, flysch) = (reads("kernel")?, reads("flysch")?);
    let (least, most) = (reads("least")?, reads("most")?);
    let error = (flysch - kernel) * 100.0 / kernel;
    let verdict = verdict(row);
    writeln!(
        text,
        "| {kernel:.0} | {flysch:.0} | {least:.0}..{most:.0} | {error:+.1} % | {verdict} |"
    )?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::line;
    use serde_json::json;

    #[test]
    fn a_line_shows_the_draws() {
        let reads = json!({"kernel": 66, "flysch": 64.4, "least": 64, "most": 65, "within": true});
        let row = json!({
            "on": "sqlite/jffs2", "pattern": "random", "read_ahead": "on", "requests": "50",
            "size": "64", "page_reads": reads, "within": true
        });
        let expected =
            "| sqlite/jffs2 | random | on | 50 | 64 | 66 | 64 | 64..65 | -2.4 % | yes |\n";
        assert_eq!(line(&row).expect("it is whole"), expected);
    }
}
