//! The pages: one for each paper, and one with links to all of them.

use flysch_charts::escape::escape;
use flysch_charts::figure::Figure;
use flysch_charts::figure_html;
use flysch_charts::number::{significant, thousands};
use flysch_charts::page::{Section, page};
use flysch_charts::table::{Table, scroll};
use flysch_lab::machine::platform::Platform;
use serde_json::Value;

use super::claim::{Row, Verdict, tally};
use super::listing::Listing;
use super::paper::{Findings, Item};

/// The page of one paper.
pub(super) fn paper_page(findings: &Findings) -> String {
    let paper = findings.paper;
    let rows = findings.rows();
    let items: Vec<&Item> =
        paper.items.iter().filter(|item| findings.items.contains(&item.name)).collect();
    let mut sections = vec![Section {
        id: "summary",
        title: "Summary",
        lead: paper.lead,
        html: summary(&rows) + &constants(findings),
    }];
    for item in items {
        sections.push(Section {
            id: item.name,
            title: item.title,
            lead: "",
            html: item_html(findings, item, &rows),
        });
    }
    sections.push(Section {
        id: "method",
        title: "How it was judged",
        lead: "",
        html: include_str!("method.html").to_owned(),
    });
    page(&format!("Paper {}, reproduced", paper.number), paper.title, &sections)
}

/// A page with figures that belong to no paper.
pub fn figures_page(title: &str, subtitle: &str, figures: &[Figure]) -> String {
    let html = figures.iter().map(figure_html).collect();
    page(title, subtitle, &[Section { id: "figures", title: "Figures", lead: "", html }])
}

/// The page with links to the others.
pub(super) fn index_page(all: &[Findings]) -> String {
    let html = String::from(
        "<table class=\"claims\"><thead><tr><th class=\"name\">Paper</th>\
         <th class=\"name\">Title</th><th>Reproduced</th><th>Shape</th><th>Not reproduced</th></tr>\
         </thead>\n<tbody>\n",
    );
    let mut html = scroll("The papers") + &html;
    for findings in all {
        let [reproduced, shape, not] = tally(&findings.rows());
        let (number, title) = (findings.paper.number, escape(findings.paper.title));
        html.push_str(&format!(
            "<tr><th scope=\"row\"><a href=\"{number}.html\">{number}</a></th>\
             <td class=\"text\">{title}</td><td data-name=\"reproduced\">{reproduced}</td>\
             <td data-name=\"shape\">{shape}</td><td data-name=\"not reproduced\">{not}</td></tr>\n"
        ));
    }
    html.push_str("</tbody></table></div>\n");
    let rows: Vec<Row> = all.iter().flat_map(Findings::rows).collect();
    let not: Vec<&Row> = rows.iter().filter(|row| row.verdict == Verdict::NotReproduced).collect();
    let sections = [
        Section { id: "papers", title: "Papers", lead: "", html: verdict_counts(&rows) + &html },
        Section {
            id: "not-reproduced",
            title: "Not reproduced",
            lead: "Every claim that does not hold, with the reason as far as it is known.",
            html: claims(not.into_iter()),
        },
    ];
    page("The papers, reproduced", "Claims, measurements and verdicts", &sections)
}

fn summary(rows: &[Row]) -> String {
    let not: Vec<&Row> = rows.iter().filter(|row| row.verdict == Verdict::NotReproduced).collect();
    let mut html = verdict_counts(rows);
    if !not.is_empty() {
        html.push_str("<h3>Not reproduced</h3>\n");
        html.push_str(&claims(not.into_iter()));
    }
    html
}

fn verdict_counts(rows: &[Row]) -> String {
    let [reproduced, shape, not] = tally(rows).map(|count| thousands(count as u64));
    format!(
        "<dl class=\"facts\"><div><dt>claims</dt><dd>{}</dd></div>\
         <div><dt>reproduced</dt><dd>{reproduced}</dd></div><div><dt>shape</dt><dd>{shape}</dd></div>\
         <div><dt>not reproduced</dt><dd>{not}</dd></div></dl>\n",
        thousands(rows.len() as u64)
    )
}

/// A section on the platform's fitted constants. All other times are predictions.
fn constants(findings: &Findings) -> String {
    let Some(name) = findings.paper.platform else { return String::new() };
    let platform = Platform::named(name).expect("a paper names a built-in platform");
    let mut html = format!(
        "<h3>Platform {}</h3>\n<p class=\"note\">{}. Source: {}.</p>\n",
        escape(name),
        escape(&platform.description),
        escape(&platform.source)
    );
    if platform.cpu.fitted.is_empty() {
        return html + "<p class=\"note\">None of its constants was fitted.</p>\n";
    }
    html.push_str("<p class=\"note\">Fitted constants, which are no predictions:</p>\n<ul>\n");
    for fitted in &platform.cpu.fitted {
        html.push_str(&format!("<li>{}</li>\n", escape(fitted)));
    }
    html + "</ul>\n"
}

fn item_html(findings: &Findings, item: &Item, rows: &[Row]) -> String {
    let evidence = &findings.evidence;
    let own: Vec<&Row> = rows.iter().filter(|row| row.item == item.name).collect();
    let mut html = if own.is_empty() { String::new() } else { claims(own.into_iter()) };
    for figure in evidence.figures.iter().filter(|figure| figure.item == item.name) {
        html.push_str(&figure_html(figure));
    }
    for listing in evidence.listings.iter().filter(|listing| listing.item == item.name) {
        html.push_str(&table(listing));
    }
    html
}

fn claims<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut html = scroll("Claims")
        + &String::from(
            "<table class=\"claims\"><thead><tr><th class=\"name\">Claim</th>\
         <th>Paper</th><th>Measured</th><th class=\"name\">Band</th><th class=\"name\">Verdict</th>\
         <th class=\"name\">Note</th></tr></thead>\n<tbody>\n",
        );
    for row in rows {
        let verdict = row.verdict.to_string();
        html.push_str(&format!(
            "<tr><td class=\"text\">{}</td><td data-name=\"paper\">{}</td>\
             <td data-name=\"measured\">{}</td><td data-name=\"band\" class=\"text band\">{}</td>\
             <td class=\"text verdict {}\">{verdict}</td><td class=\"text note\">{}</td></tr>\n",
            escape(&row.claim),
            escape(&row.paper_value.in_words(significant)),
            escape(&measured(row)),
            escape(&row.band.to_string()),
            verdict.replace(' ', "-"),
            escape(&row.note),
        ));
    }
    html + "</tbody></table></div>\n"
}

/// The measured value, with its interval if there are several seeds.
fn measured(row: &Row) -> String {
    let mean = significant(row.measured);
    match row.interval {
        Some(interval) if interval.ci95_high > interval.ci95_low => {
            let [low, high] = [interval.ci95_low, interval.ci95_high].map(significant);
            format!("{mean} ({low} to {high})")
        }
        _ => mean,
    }
}

fn table(listing: &Listing) -> String {
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(count), _) => thousands(count),
            (None, Some(value)) => significant(value),
            (None, None) => number.to_string(),
        },
        other => other.to_string(),
    };
    let is_name = |column: usize| listing.rows.iter().all(|row| row[column].is_string());
    let table = Table {
        caption: listing.title.clone(),
        head: listing.head.iter().map(|&name| name.to_owned()).collect(),
        names: (0..listing.head.len()).take_while(|&column| is_name(column)).count(),
        rows: listing.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
        is_sortable: false,
    };
    table.html()
}
