//! Writes a page of sections: one file that loads nothing from the network.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::escape::escape;

/// The first bytes of every page that this program writes.
const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                    <meta name=\"generator\" content=\"flysch\">\n";

/// Width of the page's content in pixels, and the gap between two panels.
const CONTENT: f64 = 1088.0;
const GAP: f64 = 16.0;
/// The greatest width of a panel, if it has a row to itself.
const PANEL_MAX: f64 = 720.0;
/// The most panels in a row.
const PANELS_MAX: usize = 2;

/// A part of the page with its own heading.
pub struct Section<'a> {
    /// The name of the section in links to it.
    pub id: &'a str,
    pub title: &'a str,
    /// A text on what the charts below show and how to read them.
    pub lead: &'a str,
    /// The content as HTML.
    pub html: String,
}

/// Write the whole page.
pub fn page(title: &str, subtitle: &str, sections: &[Section<'_>]) -> String {
    let (title, subtitle) = (escape(title), escape(subtitle));
    let (chart, style) = (super::svg::STYLE, include_str!("style.css"));
    let mut html = format!(
        "{HEAD}<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{chart}{style}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p class=\"subtitle\">{subtitle}</p>\n<nav aria-label=\"Sections\">"
    );
    for Section { id, title, .. } in sections {
        html.push_str(&format!("<a href=\"#{id}\">{title}</a> "));
    }
    html.push_str("</nav>\n</header>\n<main>\n");
    for Section { id, title, lead, html: content } in sections {
        html.push_str(&format!("<section id=\"{id}\">\n<h2>{title}</h2>\n"));
        if !lead.is_empty() {
            html.push_str(&format!("<p class=\"lead\">{lead}</p>\n"));
        }
        html.push_str(&format!("{content}</section>\n"));
    }
    let script = include_str!("page.js");
    html + &format!("</main>\n<script>\n{script}</script>\n</body>\n</html>\n")
}

/// A page with this section added at its end.
pub fn appended(page: &str, section: &Section<'_>) -> String {
    let Section { id, title, html, .. } = section;
    let link = format!("<a href=\"#{id}\">{title}</a> </nav>");
    let section = format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{html}</section>\n</main>");
    page.replacen("</nav>", &link, 1).replacen("</main>", &section, 1)
}

/// Whether a file is a page that this program wrote, so that it may be overwritten.
pub fn is_own(path: &Path) -> bool {
    let mut head = [0; HEAD.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *HEAD.as_bytes()
}

/// Width of a panel, if `count` panels are next to each other.
pub fn panel_width(count: usize) -> f64 {
    let columns = super::number::real_len(count.clamp(1, PANELS_MAX));
    (((CONTENT - GAP * (columns - 1.0)) / columns).floor()).min(PANEL_MAX)
}
