//! Results section: the papers' claims, as `flysch repro all --quick` judges them.
//!
//! 1. Every figure and every reason comes from the program. This module adds none.
//! 2. `docs/findings.md` explains each claim that is not reproduced. `docs/results.md` counts the
//!    verdicts and shows the tables of the study that the micro-benchmark comes from.

use super::Flysch;
use crate::Outcome;
use crate::scratch::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

const STUDY: &str = "\
Tables I to III of Boukhobza et al. (ERTS 2014) beside the platform `apf27-2.6.29`. Two constants of the
platform are fitted: the time to copy a byte, to the read at file level in Table I; and the time of an
instruction of SQLite, to the medians of Tables II and III. The times of the driver are the paper's own,
so its two rows say nothing. Everything else is a prediction.

| claim | paper | flysch | verdict |
|---|--:|--:|---|
";

const VERDICTS: [&str; 3] = ["reproduced", "shape", "not reproduced"];

/// A row of the summary of `flysch repro`.
struct Claim {
    paper: String,
    item: String,
    text: String,
    stated: String,
    measured: String,
    verdict: String,
    note: String,
}

/// All claims of all papers.
pub(super) struct Papers {
    claims: Vec<Claim>,
}

impl Papers {
    /// Run the experiments of all papers.
    pub(super) fn judge(flysch: &Flysch) -> Outcome<Self> {
        let place = Scratch::open()?;
        let out = place.path.join("papers").display().to_string();
        let words = ["repro", "all", "--quick", "--format", "json", "--out", out.as_str()];
        let rows = flysch.runs(&words.map(str::to_owned))?;
        let claims: Outcome<Vec<Claim>> = rows.iter().map(Claim::of).collect();
        Ok(Self { claims: claims? })
    }

    /// A table of the number of claims with each verdict, by paper.
    pub(super) fn tally(&self) -> String {
        let mut counts: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
        for claim in &self.claims {
            for name in [claim.paper.as_str(), "all"] {
                let verdicts = VERDICTS.iter().zip(counts.entry(name).or_default());
                for (_, count) in verdicts.filter(|(verdict, _)| **verdict == claim.verdict) {
                    *count += 1;
                }
            }
        }
        let mut text = String::from(
            "| paper | claims | reproduced | shape | not reproduced |\n|---|--:|--:|--:|--:|\n",
        );
        for (paper, [reproduced, shape, not]) in counts {
            let sum = reproduced + shape + not;
            writeln!(text, "| {paper} | {sum} | {reproduced} | {shape} | {not} |")
                .expect("a string takes all");
        }
        text + "\nBands, and what \"shape\" means: [findings.md](findings.md#how-a-claim-is-judged).\n"
    }

    /// The tables of the study of SQLite on JFFS2 and UBIFS.
    pub(super) fn study(&self) -> String {
        let of_tables = |claim: &&Claim| claim.paper == "000" && claim.item.starts_with("table-");
        self.claims.iter().filter(of_tables).fold(STUDY.to_owned(), |text, claim| {
            let Claim { text: said, stated, measured, verdict, .. } = claim;
            text + &format!("| {said} | {stated} | {measured} | {verdict} |\n")
        })
    }

    /// A table of the claims that do not hold, each with its reason. A claim without a reason is an
    /// error.
    pub(super) fn failures(&self) -> Outcome<String> {
        let mut text = String::from(
            "| paper | item | claim | paper's | measured | why |\n|---|---|---|--:|--:|---|\n",
        );
        let mut last = "";
        for claim in self.claims.iter().filter(|claim| claim.verdict == VERDICTS[2]) {
            let Claim { paper, item, text: said, stated, measured, note, .. } = claim;
            if note.is_empty() {
                return Err(format!(
                    "paper {paper}: `{said}` is not reproduced, and not explained"
                )
                .into());
            }
            let why = if note == last { "the same" } else { note };
            last = note;
            writeln!(text, "| {paper} | {item} | {said} | {stated} | {measured} | {why} |")?;
        }
        Ok(text)
    }
}

impl Claim {
    fn of(row: &Value) -> Outcome<Self> {
        let text = |field: &str| -> Outcome<String> {
            match &row[field] {
                Value::String(text) => Ok(text.clone()),
                Value::Number(number) => Ok(short(number.as_f64().unwrap_or(f64::NAN))),
                Value::Null => Ok("none".to_owned()),
                _ => Err(format!("a claim of `flysch repro` lacks `{field}`").into()),
            }
        };
        Ok(Self {
            paper: text("paper")?,
            item: text("item")?,
            text: text("claim")?,
            stated: text("paper_value")?,
            measured: text("measured")?,
            verdict: text("verdict")?,
            note: text("note")?,
        })
    }
}

/// A number with three significant digits.
fn short(number: f64) -> String {
    match number.abs() {
        at_least if at_least >= 100.0 || number.fract() == 0.0 => format!("{number:.0}"),
        at_least if at_least >= 10.0 => format!("{number:.1}"),
        at_least if at_least >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Claim, Papers};
    use serde_json::json;

    fn papers(note: &str) -> Papers {
        let row = |verdict: &str, measured: f64| {
            json!({
                "paper": "000", "item": "table-1", "claim": "time, ms", "paper_value": "at most 7",
                "measured": measured, "verdict": verdict, "note": note,
            })
        };
        let rows = [row("shape", 8.0), row("not reproduced", 123.4), row("not reproduced", 0.0123)];
        Papers { claims: rows.iter().map(|row| Claim::of(row).expect("whole")).collect() }
    }

    #[test]
    fn failures_are_explained_once() {
        let table = papers("It was cold.").failures().expect("it is explained");
        let rows: Vec<&str> = table.lines().skip(2).collect();
        let expected = [
            "| 000 | table-1 | time, ms | at most 7 | 123 | It was cold. |",
            "| 000 | table-1 | time, ms | at most 7 | 0.012 | the same |",
        ];
        assert_eq!(rows, expected);
        assert!(papers("").failures().is_err(), "a failure without a reason is refused");
    }

    #[test]
    fn verdicts_are_counted_by_paper() {
        let tally = papers("").tally();
        assert!(tally.contains("| 000 | 3 | 0 | 1 | 2 |\n| all | 3 | 0 | 1 | 2 |\n"), "{tally}");
    }

    #[test]
    fn a_summary_without_its_fields_is_refused() {
        assert!(Claim::of(&json!({"paper": ["000"]})).is_err());
    }
}
