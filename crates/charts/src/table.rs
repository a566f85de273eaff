//! Tables in HTML, which the reader may sort or fold.

use super::escape::escape;

/// A table. Its first columns name the row, the others hold numbers.
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// How many columns name the row.
    pub names: usize,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Whether a click on the head of a column sorts by it.
    pub is_sortable: bool,
}

/// The opening tag of a box that scrolls if the page is too narrow for its content. It can be
/// reached by keyboard; screen readers read `name`.
pub fn scroll(name: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">", escape(name))
}

impl Table {
    /// The table as HTML, in a box that scrolls if the page is too narrow for it.
    pub fn html(&self) -> String {
        let class = if self.is_sortable { " class=\"sortable\"" } else { "" };
        let (opening, caption) = (scroll(&self.caption), escape(&self.caption));
        let mut html = format!("{opening}<table{class}><caption>{caption}</caption>\n<thead><tr>");
        for (column, name) in self.head.iter().enumerate() {
            let side = if column < self.names { " class=\"name\"" } else { "" };
            let name = escape(name);
            if self.is_sortable {
                html.push_str(&format!(
                    "<th scope=\"col\"{side}><button type=\"button\">{name}</button></th>"
                ));
            } else {
                html.push_str(&format!("<th scope=\"col\"{side}>{name}</th>"));
            }
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str(&self.row(row));
        }
        html + "</tbody></table></div>\n"
    }

    /// The table as HTML, hidden until the reader opens its caption.
    pub fn folded(&self) -> String {
        let caption = escape(&self.caption);
        format!("<details><summary>{caption}: the numbers</summary>\n{}</details>\n", self.html())
    }

    fn row(&self, cells: &[String]) -> String {
        let mut html = "<tr>".to_owned();
        for (column, cell) in cells.iter().enumerate() {
            let cell = escape(cell);
            if column < self.names {
                html.push_str(&format!("<th scope=\"row\">{cell}</th>"));
            } else {
                html.push_str(&format!("<td>{cell}</td>"));
            }
        }
        html + "</tr>\n"
    }
}
