//! The board of Boukhobza et al. (ERTS 2014): its Tables I to III beside platform `apf27-2.6.29`.
//!
//! Table III's peaks are compared with the measured request next to them that is as far from
//! the first large fetch: positions may lie one or two requests apart, the distance may not.

use super::Flysch;
use crate::{Outcome, shell};
use serde_json::Value;
use std::fmt::Write;
use std::fs;

const REFERENCE: &str = "docs/reference/erts2014-tables.csv";

const OPENING: &str = "\
Two constants of this platform are fitted: the time of copying a byte (to Table I, read at the
level of files) and SQLite's time per instruction (to the medians of Tables II and III). The levels
of the driver are the source's own figures put in. Everything else is a prediction.

Not reproduced: BEGIN and the first request. The study's 32 ms are no cost of the database: they are
the program itself, paged in from the flash after caches were dropped.
";

/// Renders the three tables.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let mut text = String::from(OPENING);
    text.push_str(&throughput(flysch)?);
    text.push_str(&responses(flysch)?);
    Ok(text)
}

fn throughput(flysch: &Flysch) -> Outcome<String> {
    let mut table = String::from(
        "\nTable I, throughput in MB/s:\n\n\
         | level | write, paper | flysch | error | read, paper | flysch | error |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
    );
    for level in flysch.runs(&words("platform apf27-2.6.29 --format json"))? {
        let name = level["level"].as_str().ok_or("a level has a name")?;
        let number = |field: &str| level[field].as_f64().ok_or(format!("{name} has no {field}"));
        let write = pair(number("source_write_mb_s")?, number("write_mb_s")?);
        let read = pair(number("source_read_mb_s")?, number("read_mb_s")?);
        writeln!(table, "| {name} | {write} | {read} |")?;
    }
    Ok(table)
}

fn responses(flysch: &Flysch) -> Outcome<String> {
    let inserts = flysch.responses(&words(
        "bench insert --platform apf27-2.6.29 --record-size 150,300,600 --requests 100",
    ))?;
    let selects = flysch.responses(&words(
        "bench select --platform apf27-2.6.29 --record-size 600 --requests 250",
    ))?;
    let mut table = String::from(
        "\nTables II and III, response times in ms:\n\n\
         | table | run | query | paper | flysch | error |\n|---|---|---|--:|--:|--:|\n",
    );
    for line in fs::read_to_string(shell::root().join(REFERENCE))?.lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        let &[number, item, query, paper] = row.as_slice() else {
            return Err(format!("{REFERENCE}: `{line}` has not four fields").into());
        };
        let size = item.trim_start_matches("select ").trim_end_matches(" B");
        let runs = if number == "II" { &inserts } else { &selects };
        let times = runs.iter().find(|run| run.record_size == size);
        let (query, ms) = times.ok_or("a run for each size")?.answer(query)?;
        writeln!(table, "| {number} | {item} | {query} | {} |", pair(paper.parse()?, ms))?;
    }
    Ok(table)
}

/// The response times of one run, BEGIN first and END last, in milliseconds.
pub(super) struct Responses {
    record_size: String,
    ms: Vec<f64>,
}

impl Flysch {
    /// Runs a bench and returns its response times, a list for each record size.
    fn responses(&self, arguments: &[String]) -> Outcome<Vec<Responses>> {
        let folder = std::env::temp_dir().join(format!("flysch-results-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let file = folder.join("latencies.csv");
        let mut all = arguments.to_vec();
        all.extend(words("--format json --force --latencies"));
        all.push(file.display().to_string());
        let runs: Vec<Value> = self.runs(&all)?;
        let text = fs::read_to_string(&file)?;
        fs::remove_dir_all(folder)?;
        let sizes = runs.iter().map(|run| run["record_size"].to_string());
        sizes.map(|size| Responses::of(&text, size)).collect()
    }
}

impl Responses {
    fn of(text: &str, record_size: String) -> Outcome<Self> {
        let mut ms = Vec::new();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            if fields.get(3) == Some(&record_size.as_str()) {
                let ns: f64 = fields.last().ok_or("a row has fields")?.parse()?;
                ms.push(ns / 1e6);
            }
        }
        Ok(Self { record_size, ms })
    }

    /// What was measured for a query of the paper, and where it was found.
    fn answer(&self, query: &str) -> Outcome<(String, f64)> {
        let last = self.ms.len() - 1;
        Ok(match query {
            "BEGIN" => (query.to_owned(), self.ms[0]),
            "END" => (query.to_owned(), self.ms[last]),
            _ => match query.strip_prefix("median of ").and_then(|it| it.split_once("..")) {
                Some((from, to)) => {
                    let mut ms = self.ms[from.parse()?..=to.parse::<usize>()?].to_vec();
                    ms.sort_by(f64::total_cmp);
                    (query.to_owned(), ms[ms.len() / 2])
                }
                None => self.near(query.parse()?),
            },
        })
    }

    /// The slowest request within two of `query`.
    fn near(&self, query: usize) -> (String, f64) {
        let around = (query.saturating_sub(2)..=query + 2).filter(|&at| at < self.ms.len());
        let slowest = around.max_by(|&a, &b| self.ms[a].total_cmp(&self.ms[b])).unwrap_or(query);
        (format!("{query} (found at {slowest})"), self.ms[slowest])
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn pair(paper: f64, flysch: f64) -> String {
    format!("{paper:.2} | {flysch:.2} | {:+.0} %", (flysch - paper) / paper * 100.0)
}

#[cfg(test)]
mod tests {
    use super::Responses;

    #[test]
    fn answers_are_found_where_the_paper_asks() {
        let text = "h\na,b,c,600,e,f,0,1000000\na,b,c,600,e,f,1,5000000\na,b,c,600,e,f,2,2000000\n";
        let run = Responses::of(text, "600".to_owned()).expect("well-formed");
        let answers = [
            ("BEGIN", "BEGIN 1.0"),
            ("END", "END 2.0"),
            ("2", "2 (found at 1) 5.0"),
            ("median of 0..2", "median of 0..2 2.0"),
        ];
        for (query, wanted) in answers {
            let (found, ms) = run.answer(query).expect("there");
            assert_eq!(format!("{found} {ms:.1}"), wanted);
        }
    }
}
