//! Report section: which blocks of the partition were programmed and erased.

use flysch_charts::escape::escape;
use flysch_charts::heat::heat;
use flysch_charts::number::{fixed, thousands};
use flysch_charts::page::panel_width;
use flysch_charts::table::Table;

use super::cases::{Case, Cases};
use crate::bench::run::Run;

/// Maps of the runs that are shown one by one, and a table of their numbers.
pub(super) fn wear(cases: &Cases<'_>) -> String {
    let shown = cases.shown();
    let mut html = cases.shown_note();
    for workload in &cases.workloads {
        html.push_str(&format!("<h3>{}</h3>\n<div class=\"panels\">", escape(workload)));
        let mut even = String::new();
        for case in shown.iter().filter(|case| case.run.inputs.workload == *workload) {
            html.push_str(&maps(cases, case));
            even.push_str(&evenly(cases, case));
        }
        html.push_str(&format!("</div>\n{even}"));
    }
    html + &table(cases, &shown).html()
}

/// The numbers to draw as maps: a name, and a number for each block of the partition.
fn mapped(run: &Run) -> [(&'static str, Vec<u64>); 3] {
    [
        ("page programs", run.by_block.iter().map(|block| block.page_programs).collect()),
        ("block erases", run.by_block.iter().map(|block| block.block_erases).collect()),
        ("erase count at the end", run.erase_counts.iter().map(|&count| count.into()).collect()),
    ]
}

fn is_even(values: &[u64]) -> bool {
    values.iter().all(|value| *value == values[0])
}

fn maps(cases: &Cases<'_>, case: &Case<'_>) -> String {
    let uneven = mapped(case.run).into_iter().filter(|(_, values)| !is_even(values));
    let map = |(name, values): (&str, Vec<u64>)| {
        heat(panel_width(3), &cases.full_name(case), name, &values)
    };
    uneven.map(map).collect()
}

/// A sentence about the numbers that are the same on all blocks, for which no map is drawn.
fn evenly(cases: &Cases<'_>, case: &Case<'_>) -> String {
    let even = mapped(case.run).into_iter().filter(|(_, values)| is_even(values));
    let said: Vec<String> = even
        .filter_map(|(name, values)| Some(format!("{name} {}", thousands(*values.first()?))))
        .collect();
    if said.is_empty() {
        return String::new();
    }
    let name = escape(&cases.full_name(case));
    format!("<p class=\"note\">{name}, on every block: {}.</p>\n", said.join(", "))
}

fn table(cases: &Cases<'_>, shown: &[&Case<'_>]) -> Table {
    let head = [
        "Workload",
        "Stack",
        "Blocks",
        "Programmed",
        "Erased",
        "Most erased",
        "Erase count, least",
        "mean",
        "most",
        "Bad blocks",
    ];
    let row = |case: &&Case<'_>| {
        let (run, wear) = (case.run, case.run.wear);
        let count = |len: usize| thousands(len as u64);
        let worst = (0..run.by_block.len())
            .rev()
            .max_by_key(|&block| run.by_block[block].block_erases)
            .filter(|&block| run.by_block[block].block_erases > 0);
        let worst = worst.map_or("none".to_owned(), |block| {
            format!("block {}: {}", count(block), thousands(run.by_block[block].block_erases))
        });
        vec![
            run.inputs.workload.clone(),
            cases.full_name(case),
            count(run.by_block.len()),
            count(run.by_block.iter().filter(|block| block.page_programs > 0).count()),
            count(run.by_block.iter().filter(|block| block.block_erases > 0).count()),
            worst,
            thousands(wear.min_erase_count.into()),
            fixed(wear.mean_erase_count, 2),
            thousands(wear.max_erase_count.into()),
            thousands(wear.bad_blocks.into()),
        ]
    };
    Table {
        caption: "Wear: blocks touched in the interval, erase counts at the end of the run"
            .to_owned(),
        head: head.map(str::to_owned).to_vec(),
        names: 2,
        rows: shown.iter().map(row).collect(),
        is_sortable: false,
    }
}
