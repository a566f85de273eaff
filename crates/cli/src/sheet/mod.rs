//! A sheet: parameters and figures of runs, one row for each, as a table, CSV or JSON.
//!
//! 1. Rows can be told apart: every parameter that varies is a column, in each format.
//!
//! 2. A table fits the width. Parameters that all rows share are listed once above it, and figures
//!    that do not fit are named below it.
//!
//! 3. A row without a result says why.

mod blank;
mod cells;
mod draw;
mod latencies;
mod unit;
mod view;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use cells::{SPREAD, by_cell, share};
use draw::{Row, draw, line_width, widths};
use flysch_names::UnknownName;
use serde::Serialize;
use serde_json::Value;
use unit::{heading, human};
use view::Per;

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::provenance::Provenance;

pub(crate) use blank::blanks;
pub(crate) use view::View;

/// The name that stands for every figure in `--columns`.
const ALL: &str = "all";

/// Which fields of a row are columns. `a.b` is the field `b` of the field `a`.
pub(crate) struct Layout {
    /// The main parameters. They are columns of every table.
    pub(crate) subject: &'static [&'static str],
    /// Parameters that are fields of their own: columns of CSV, and of a table if they vary.
    pub(crate) asked: &'static [&'static str],
    /// The figures in CSV.
    pub(crate) figures: &'static [&'static str],
    /// The figures in a table, the most important first. Those that do not fit are left out.
    pub(crate) shown: &'static [&'static str],
}

/// Rows with their layout.
#[derive(Clone)]
pub(crate) struct Sheet {
    layout: &'static Layout,
    pub(crate) rows: Vec<Value>,
    /// Whether a table is preceded by the parameters that its rows share.
    is_headed: bool,
    /// Sentences to print below a table.
    pub(crate) remarks: Vec<String>,
}

impl Sheet {
    /// A sheet of these rows.
    pub(crate) fn of<R: Serialize>(layout: &'static Layout, rows: &[R]) -> Self {
        let value = |row| serde_json::to_value(row).expect("what is printed has JSON values");
        Self {
            layout,
            rows: rows.iter().map(value).collect(),
            is_headed: true,
            remarks: Vec::new(),
        }
    }

    /// The view with the names of figures as rows have them. A name that no row of this sheet has
    /// is refused.
    pub(crate) fn named(&self, format: Format, view: &View) -> Result<View, Failure> {
        let mut view = view.clone();
        if let Some(sort) = &mut view.sort {
            let name = sort.strip_prefix('-');
            let field = self.field(name.unwrap_or(sort), "sort")?;
            *sort = if name.is_some() { format!("-{field}") } else { field };
        }
        let shown = self.as_shown(format, &view);
        if view.columns != [ALL] {
            let names = view.columns.iter().map(|name| shown.field(name, "columns"));
            view.columns = names.collect::<Result<_, _>>()?;
        }
        Ok(view)
    }

    /// The sheet as bytes. The names in `view` are those of fields, as [`Sheet::named`] gives them.
    pub(crate) fn render(&self, format: Format, view: &View) -> Vec<u8> {
        let shown = self.as_shown(format, view);
        match format {
            Format::Json => shown.json(),
            Format::Csv => shown.csv(view),
            Format::Table => shown.table(view).into_bytes(),
        }
    }

    /// The sheet with a row for each run or for each cell, as the user wants it.
    fn as_shown(&self, format: Format, view: &View) -> Cow<'_, Self> {
        let is_table = format == Format::Table;
        let is_in_cells = view.per.map_or(is_table, |per| per == Per::Cell);
        if is_in_cells && self.differs("seed", &[]) {
            return Cow::Owned(self.in_cells());
        }
        Cow::Borrowed(self)
    }

    /// The sheet with runs that differ only in their seed joined into one row.
    fn in_cells(&self) -> Self {
        let Layout { subject, asked, .. } = self.layout;
        let mut names: Vec<String> =
            subject.iter().chain(*asked).map(|&it| it.to_owned()).collect();
        names.retain(|name| name != "seed");
        names.extend(self.parameters());
        let asked = |row: &Value| names.iter().map(|name| text(row, name)).collect();
        let rows = by_cell(&self.rows, asked);
        Self { layout: self.layout, rows, is_headed: self.is_headed, remarks: self.remarks.clone() }
    }

    /// The rows with all their fields, each with its origin.
    fn json(&self) -> Vec<u8> {
        let provenance = serde_json::to_value(Provenance::of_this_command());
        let provenance = provenance.expect("what is printed has JSON values");
        let mut rows = self.rows.clone();
        for fields in rows.iter_mut().filter_map(Value::as_object_mut) {
            fields.insert("provenance".to_owned(), provenance.clone());
        }
        output::json(&rows)
    }

    /// Sort the rows as `--sort` says. Those without a value are last in either order.
    pub(crate) fn sort(&mut self, view: &View) {
        let Some(asked) = &view.sort else { return };
        let name = asked.strip_prefix('-');
        let by = name.unwrap_or(asked);
        let key = |row: &Value| Key::of(at(row, by));
        self.rows.sort_by(|one, other| key(one).cmp(&key(other)));
        if name.is_some() {
            let known = self.rows.partition_point(|row| key(row) != Key::Nothing);
            self.rows[..known].reverse();
        }
    }

    /// The parameters that become columns because they vary.
    fn varying(&self) -> Vec<String> {
        let Layout { subject, asked, .. } = self.layout;
        let mut names: Vec<String> = asked.iter().map(|&name| name.to_owned()).collect();
        names.retain(|name| self.differs(name, &[]));
        let mut within: Vec<&str> = subject.to_vec();
        within.extend(["platform", "part"]);
        let parameters = self.parameters();
        names.extend(parameters.into_iter().filter(|name| self.differs(name, &within)));
        names
    }

    /// The names of those that vary of the parameters that are no fields of their own.
    fn varying_parameters(&self) -> impl Iterator<Item = String> {
        self.varying().into_iter().filter(|name| name.starts_with("parameters."))
    }

    /// The names of the parameters that any row has.
    fn parameters(&self) -> Vec<String> {
        let of_row = |row: &Value| row["parameters"].as_object().cloned().unwrap_or_default();
        let names: BTreeSet<String> =
            self.rows.iter().flat_map(of_row).map(|(name, _)| name).collect();
        names.into_iter().map(|name| format!("parameters.{name}")).collect()
    }

    /// Whether a field varies among rows that agree in the fields `within`.
    fn differs(&self, name: &str, within: &[&str]) -> bool {
        let mut first: BTreeMap<String, Option<&Value>> = BTreeMap::new();
        self.rows.iter().any(|row| {
            let group: Vec<String> = within.iter().map(|name| text(row, name)).collect();
            let value = at(row, name);
            *first.entry(group.join("\n")).or_insert(value) != value
        })
    }

    /// Add the figures that `--columns` names to the columns, each once. By default `plain`.
    fn add_figures(&self, columns: &mut Vec<String>, view: &View, plain: &[&str]) {
        let figures = match view.columns.as_slice() {
            [] => self.plain_figures(plain),
            [all] if all == ALL => self.every_figure(),
            names => names.to_vec(),
        };
        for name in figures {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
    }

    /// The figures `plain`, with figures that only some workloads have after the first.
    fn plain_figures(&self, plain: &[&str]) -> Vec<String> {
        let own = self.fields().into_iter().filter(|name| name.starts_with("figures."));
        let mut names: Vec<String> = plain.iter().map(|&name| name.to_owned()).collect();
        names.splice(1..1, own);
        names
    }

    /// Whether any row has a value for a field.
    fn is_known(&self, name: &str) -> bool {
        self.rows.iter().any(|row| !human(name, at(row, name)).is_empty())
    }

    /// Every field with a single number or word, except parameters.
    fn every_figure(&self) -> Vec<String> {
        let Layout { subject, asked, .. } = self.layout;
        let is_figure = |name: &String| {
            let name = name.as_str();
            !subject.contains(&name) && !asked.contains(&name) && !name.starts_with("parameters.")
        };
        self.fields().into_iter().filter(is_figure).collect()
    }

    /// The names of all fields that hold a single number or word.
    fn fields(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, value) in self.rows.iter().filter_map(Value::as_object).flatten() {
            let new: Vec<String> =
                leaves(name, value).into_iter().filter(|name| !names.contains(name)).collect();
            names.extend(new);
        }
        names
    }

    /// The field with this name. A parameter may be named without its prefix `parameters.`.
    fn field(&self, name: &str, option: &str) -> Result<String, Failure> {
        let known = self.fields();
        let as_parameter = format!("parameters.{}", name.replace('_', "-"));
        for wanted in [name, &as_parameter] {
            if known.iter().any(|it| it == wanted) {
                return Ok(wanted.to_owned());
            }
        }
        let unknown = UnknownName::new("figure", name, known);
        Err(Failure::Message(format!("--{option}: {unknown}")))
    }

    fn csv(&self, view: &View) -> Vec<u8> {
        let Layout { subject, asked, figures, .. } = self.layout;
        let named = subject.iter().chain(*asked).map(|&name| name.to_owned());
        let mut columns: Vec<String> = named.chain(self.varying_parameters()).collect();
        let fixed = columns.len();
        self.add_figures(&mut columns, view, figures);
        for name in columns.split_off(fixed) {
            let has_spread = self.rows.iter().any(|row| row[SPREAD].get(&name).is_some());
            columns.push(name.clone());
            let spread = ["sd", "ci95_low", "ci95_high"].map(|of| format!("{name}.{of}"));
            columns.extend(spread.into_iter().filter(|_| has_spread));
        }
        if self.rows.iter().any(|row| row.get("error").is_some()) {
            columns.push("error".to_owned());
        }
        let row = |row: &Value| columns.iter().map(|name| text(row, name)).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(row).collect();
        output::csv(&columns, &rows)
    }

    /// The table without the parameters that its rows share, to be printed below another table.
    pub(crate) fn below(mut self, view: &View) -> Vec<u8> {
        self.is_headed = false;
        self.render(Format::Table, view)
    }

    /// The table, with shared parameters above it and notes below it.
    fn table(&self, view: &View) -> String {
        let mut names: Vec<String> =
            self.layout.subject.iter().map(|&name| name.to_owned()).collect();
        names.extend(self.varying());
        let fixed = names.len();
        let is_chosen = !view.columns.is_empty();
        self.add_figures(&mut names, view, self.layout.shown);
        let figures = names.split_off(fixed);
        names.extend(figures.into_iter().filter(|name| is_chosen || self.is_known(name)));
        let mut left_out = Vec::new();
        let drawn = loop {
            let headings: Vec<String> = names.iter().map(|name| heading(name)).collect();
            let rows = self.drawn(&names);
            let is_wide = line_width(&widths(&headings, &rows)) > View::width();
            if !is_wide || is_chosen || names.len() <= fixed + 1 {
                break draw(&headings, &rows, view.has_colour());
            }
            left_out.extend(names.pop());
        };
        if view.quiet {
            return drawn;
        }
        self.in_common() + &drawn + &self.notes(&left_out)
    }

    fn drawn(&self, names: &[String]) -> Vec<Row> {
        let of_row = |row: &Value| Row {
            cells: names.iter().map(|name| shown(row, name)).collect(),
            is_best: row.get("times_best").and_then(Value::as_f64) == Some(1.0),
        };
        self.rows.iter().map(of_row).collect()
    }

    /// A line with the parameters that all rows share.
    fn in_common(&self) -> String {
        let is_common =
            |name: &&&str| !self.differs(name, &[]) && !text_of_first(self, name).is_empty();
        let one = |name: &&str| format!("{} {}", heading(name), text_of_first(self, name));
        let mut all: Vec<String> = self.layout.asked.iter().filter(is_common).map(one).collect();
        if let Some(seeds) = self.rows.iter().find_map(|row| row.get("seeds")) {
            all.push(format!("{seeds} seeds (\u{b1}: 95 % interval of the mean)"));
        }
        if all.is_empty() || !self.is_headed {
            return String::new();
        }
        wrapped(&all.join(", ")) + "\n"
    }

    /// Notes on rows without a result, and on figures that are not shown.
    fn notes(&self, left_out: &[String]) -> String {
        let mut notes = String::new();
        let failed = self.rows.iter().filter(|row| row.get("error").is_some());
        for row in failed {
            let names = self.layout.subject.iter().map(|&name| name.to_owned());
            let values: Vec<String> =
                names.chain(self.varying()).map(|name| human(&name, at(row, &name))).collect();
            let values: Vec<&str> =
                values.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
            let why = text(row, "error");
            notes.push_str(&wrapped(&format!("no result: {}: {why}", values.join(", "))));
        }
        self.remarks.iter().for_each(|remark| notes.push_str(&wrapped(remark)));
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.iter().rev().map(String::as_str).collect();
            notes.push_str(&wrapped(&format!("--columns shows more: {}, all", names.join(", "))));
        }
        if notes.is_empty() { notes } else { format!("\n{notes}") }
    }
}

/// A value to sort rows by: numbers come before words, and missing values last.
#[derive(PartialEq, PartialOrd)]
enum Key {
    Number(f64),
    Word(String),
    Nothing,
}

impl Key {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Number(number)) => Self::Number(number.as_f64().unwrap_or(f64::INFINITY)),
            None | Some(Value::Null) => Self::Nothing,
            Some(other) => Self::Word(other.to_string()),
        }
    }

    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal)
    }
}

/// The names of the parts of a field that hold a single number or word; the field itself if it is
/// one.
fn leaves(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) if !name.starts_with("by_") && name != SPREAD => {
            fields.keys().map(|field| format!("{name}.{field}")).collect()
        }
        Value::Object(_) | Value::Array(_) => Vec::new(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            vec![name.to_owned()]
        }
    }
}

/// A value for display. If it is a mean, half the width of its interval is added.
fn shown(row: &Value, name: &str) -> String {
    let value = human(name, at(row, name));
    match share(row, name).filter(|_| !value.is_empty() && !value.starts_with('>')) {
        Some(share) if share < 0.0995 => format!("{value} \u{b1}{:.1}%", share * 100.0),
        Some(share) => format!("{value} \u{b1}{:.0}%", share * 100.0),
        None => value,
    }
}

/// A sentence, broken into lines that fit the width.
fn wrapped(sentence: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= View::width() => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("  {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

fn text_of_first(sheet: &Sheet, name: &str) -> String {
    sheet.rows.first().map_or(String::new(), |row| human(name, at(row, name)))
}

/// The value of a field. `a.b` is the field `b` of the field `a`.
fn at<'a>(row: &'a Value, name: &str) -> Option<&'a Value> {
    match name.split_once('.') {
        Some((outer, inner)) => row.get(outer)?.get(inner),
        None => row.get(name),
    }
}

/// The value of a field in CSV. Empty if the row does not have it.
fn text(row: &Value, name: &str) -> String {
    let of_spread = || {
        let (figure, of) = name.rsplit_once('.')?;
        row.get(SPREAD)?.get(figure)?.get(of)
    };
    match at(row, name).or_else(of_spread) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}
