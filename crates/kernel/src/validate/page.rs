//! The page of a validation: the verdict, the distribution of the errors, and all cells.

use flysch_charts::page::{Section, page};
use flysch_charts::table::Table;

use super::cell::{Cell, FEW_PAGES};
use super::verdict::{Compared, Spread, Spreads, worst};

/// How many of the cells with the largest errors have a table of their own.
const WORST: usize = 10;

/// Write the page on all cells. `beyond` lists the bands that the errors exceed.
pub fn html(compared: &Compared, beyond: &[String], subtitle: &str) -> String {
    let verdict = if beyond.is_empty() {
        "<p>Every band is kept.</p>\n".to_owned()
    } else {
        let items: Vec<String> = beyond.iter().map(|line| format!("<li>{line}</li>\n")).collect();
        format!("<ul>\n{}</ul>\n", items.concat())
    };
    let lead = format!(
        "Errors are relative to the kernel's count; below {FEW_PAGES:.0} pages, to {FEW_PAGES:.0} pages."
    );
    let section = |id, title, cells: &[&Cell]| Section {
        id,
        title,
        lead: lead.as_str(),
        html: table(title, cells).html(),
    };
    let every = compared.cells();
    let mut sections = vec![
        Section { id: "verdict", title: "Verdict", lead: "", html: verdict + &spread(compared) },
        section("worst", "Worst cells", &worst(&every, WORST)),
    ];
    let ids = ["cells", "reads", "workloads"];
    let titles = ["Micro-benchmark", "Read-ahead grid", "Workloads"];
    for ((id, title), (_, cells)) in ids.into_iter().zip(titles).zip(compared.groups()) {
        if !cells.is_empty() {
            sections.push(section(id, title, &cells.iter().collect::<Vec<_>>()));
        }
    }
    page("The simulator beside the kernel", subtitle, &sections)
}

fn spread(compared: &Compared) -> String {
    let percent = |Spread { median, percentile_95, max }: Spread| {
        [median, percentile_95, max].map(|share| format!("{:.2} %", share * 100.0))
    };
    let row = |it: Spreads| {
        let Spreads { cells, number, programs, reads, erases, times, .. } = it;
        let shares = [programs, reads, erases, times].map(percent).concat();
        let bias = format!("{:+.2} %", it.time_bias * 100.0);
        [cells, number.to_string()].into_iter().chain(shares).chain([bias]).collect()
    };
    let head = [
        "cells",
        "number",
        "programs: median",
        "95th percentile",
        "worst",
        "reads: median",
        "95th percentile",
        "worst",
        "erases: median",
        "95th percentile",
        "worst",
        "times: median",
        "95th percentile",
        "worst",
        "mean with sign",
    ];
    Table {
        caption: "Errors without sign".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        names: 1,
        rows: compared.spreads().into_iter().map(row).collect(),
        is_sortable: false,
    }
    .html()
}

fn table(caption: &str, cells: &[&Cell]) -> Table {
    let head = [
        "file system",
        "workload",
        "pattern",
        "read-ahead",
        "record size",
        "requests",
        "options",
        "reads: kernel",
        "flysch",
        "error",
        "programs: kernel",
        "flysch",
        "error",
        "erases: kernel",
        "flysch",
    ];
    let row = |cell: &&Cell| {
        let Cell { key, kernel, flysch, read_error, program_error, .. } = cell;
        let count = |number: f64| format!("{number:.0}");
        let percent = |share: &f64| format!("{:+.1} %", share * 100.0);
        vec![
            key.fs.clone(),
            key.workload.clone(),
            key.pattern.clone(),
            key.read_ahead.clone(),
            key.record_size.to_string(),
            key.requests.to_string(),
            key.options.clone(),
            count(kernel.page_reads),
            count(flysch.page_reads),
            percent(read_error),
            count(kernel.page_programs),
            count(flysch.page_programs),
            percent(program_error),
            count(kernel.block_erases),
            count(flysch.block_erases),
        ]
    };
    Table {
        caption: caption.to_owned(),
        head: head.map(str::to_owned).to_vec(),
        names: 4,
        rows: cells.iter().map(row).collect(),
        is_sortable: true,
    }
}
