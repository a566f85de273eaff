//! What read-ahead reads: the simulator against Linux 6.1 with nandsim.
//!
//! Two references: reads of a file of 5 MiB (`docs/reference/kernel-6.1-readahead.csv`), and selects
//! on a database of contacts (`docs/reference/kernel-6.1-contacts.csv`).

use super::Flysch;
use super::counts::{figures, mean};
use crate::{Outcome, shell};
use std::fmt::Write;
use std::fs;

const READS: &str = "docs/reference/kernel-6.1-readahead.csv";
const CONTACTS: &str = "docs/reference/kernel-6.1-contacts.csv";

const BANDS: &str = "\
A row holds if the pages read lie within 5 % of the kernel's, or two pages apart. The kernel's random
requests are one draw, which is not known; such a row is answered by 32 seeds, and holds if the kernel's
count lies within 5 % of their mean or between their least and their most. One more draw would fall
outside n others with a probability of 2 / (n + 1): 6 % of rows by chance, where 8 seeds made it 22 %.
Two rows of reads that are not aligned were taken on another machine and are left out.
";

const HEADING: &str = "\
| stack | order | read-ahead | requests | bytes | kernel | flysch | least..most | error | within |
|---|---|---|--:|--:|--:|--:|--:|--:|---|
";

/// One row of either reference, with the run of `flysch bench` that answers to it.
#[derive(Debug, PartialEq)]
struct Row {
    on: String,
    pattern: String,
    read_ahead: &'static str,
    requests: u32,
    size: u32,
    kernel: u32,
    workload: &'static str,
}

/// Renders both references.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let mut text = String::from(BANDS);
    let text_of = |path| fs::read_to_string(shell::root().join(path));
    let of_files = ("\nReads of a file of 5 MiB:\n\n", reads(&text_of(READS)?)?);
    let of_contacts =
        ("\nSelects on contacts, by bytes of each text:\n\n", contacts(&text_of(CONTACTS)?)?);
    for (title, rows) in [of_files, of_contacts] {
        text.push_str(title);
        text.push_str(HEADING);
        let mut within_count = 0;
        for row in &rows {
            let counts = row.counts(flysch)?;
            within_count += u32::from(row.holds(&counts));
            text.push_str(&row.line(&counts));
        }
        writeln!(text, "\n{within_count} of {} rows are within.", rows.len())?;
    }
    Ok(text)
}

impl Row {
    fn arguments(&self) -> Vec<String> {
        let size = if self.workload == "read" { "request-size" } else { "text-size" };
        let seeds = if self.pattern == "random" { "1..32" } else { "1" };
        let line = format!(
            "bench {} --on {} --platform nandsim-6.1 --pattern {} --requests {} --{size} {} \
             --read-ahead {} --seed {seeds} --format json",
            self.workload, self.on, self.pattern, self.requests, self.size, self.read_ahead
        );
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn counts(&self, flysch: &Flysch) -> Outcome<Vec<f64>> {
        figures(&flysch.runs(&self.arguments())?, "page_reads")
    }

    fn holds(&self, counts: &[f64]) -> bool {
        let kernel = f64::from(self.kernel);
        let (least, most) = ends(counts);
        (mean(counts) - kernel).abs() <= f64::max(kernel * 0.05, 2.0)
            || (least..=most).contains(&kernel)
    }

    fn line(&self, counts: &[f64]) -> String {
        let (least, most) = ends(counts);
        let mean = mean(counts);
        let kernel = f64::from(self.kernel);
        let error = (mean - kernel) * 100.0 / kernel;
        let verdict = if self.holds(counts) { "yes" } else { "no" };
        let Self { on, pattern, read_ahead, requests, size, .. } = self;
        format!(
            "| {on} | {pattern} | {read_ahead} | {requests} | {size} | {kernel:.0} | {mean:.0} \
             | {least:.0}..{most:.0} | {error:+.1} % | {verdict} |\n"
        )
    }
}

fn ends(counts: &[f64]) -> (f64, f64) {
    let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
    (least, counts.iter().copied().fold(0.0, f64::max))
}

/// The rows of the first reference: `fs_variant,pattern,readahead,requests,request_bytes,pages_read`.
fn reads(text: &str) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    for fields in lines(text) {
        let &[variant, pattern, set, requests, size, kernel, ..] = fields.as_slice() else {
            return Err(format!("{READS}: {fields:?} has too few fields").into());
        };
        let Some(pattern) = order(pattern) else { continue };
        let fs = ["jffs2", "yaffs2", "ubifs"].into_iter().find(|fs| variant.starts_with(fs));
        let fs = fs.ok_or_else(|| format!("{READS}: unknown file system `{variant}`"))?;
        let read_ahead = match (&variant[fs.len()..], set) {
            ("fadv", _) => "fadvise",
            ("bdi0", _) | (_, "off") => "off",
            _ => "on",
        };
        rows.push(Row {
            on: format!("file/{fs}"),
            pattern,
            read_ahead,
            requests: requests.parse()?,
            size: size.parse()?,
            kernel: kernel.parse()?,
            workload: "read",
        });
    }
    Ok(rows)
}

/// The rows of the second: `fs_textlen,pattern,readahead,selects,pages_read`.
fn contacts(text: &str) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    for fields in lines(text) {
        let &[fs_textlen, pattern, set, requests, kernel, ..] = fields.as_slice() else {
            return Err(format!("{CONTACTS}: {fields:?} has too few fields").into());
        };
        let (fs, size) = fs_textlen.split_once('-').ok_or("a file system and a size")?;
        rows.push(Row {
            on: format!("sqlite/{fs}"),
            pattern: order(pattern).ok_or_else(|| format!("unknown order `{pattern}`"))?,
            read_ahead: if set == "off" { "off" } else { "on" },
            requests: requests.parse()?,
            size: size.parse()?,
            kernel: kernel.parse()?,
            workload: "contacts",
        });
    }
    Ok(rows)
}

fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

/// The order of requests as `flysch` names it; none for requests that are not aligned.
fn order(name: &str) -> Option<String> {
    let name = match name {
        "seq" => "sequential",
        "rand" => "random",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{CONTACTS, READS, Row, contacts, reads};
    use crate::shell;
    use std::fs;

    #[test]
    fn every_row_of_the_references_is_understood() {
        let text = |path| fs::read_to_string(shell::root().join(path)).expect("it is committed");
        let rows = reads(&text(READS)).expect("it is whole");
        assert_eq!(rows.len(), text(READS).lines().count() - 3, "all but a head and two rows");
        assert!(rows.iter().any(|row| row.read_ahead == "fadvise"));
        let rows = contacts(&text(CONTACTS)).expect("it is whole");
        assert_eq!(rows.len(), text(CONTACTS).lines().count() - 1);
        let expected = "bench contacts --on sqlite/jffs2 --platform nandsim-6.1 --pattern sequential \
                        --requests 1 --text-size 64 --read-ahead on --seed 1 --format json";
        assert_eq!(rows[0].arguments().join(" "), expected);
    }

    #[test]
    fn a_row_holds_near_the_mean_or_between_the_ends() {
        let row = Row {
            on: "file/jffs2".to_owned(),
            pattern: "random".to_owned(),
            read_ahead: "on",
            requests: 64,
            size: 4096,
            kernel: 100,
            workload: "read",
        };
        assert!(row.holds(&[105.0]) && !row.holds(&[106.0]));
        assert!(row.holds(&[99.0, 121.0]) && !row.holds(&[101.0, 121.0]));
    }
}
