//! The output of all commands: the same rows as a table, CSV or JSON, and files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table, presets};
use flysch_charts::page::is_own;
use flysch_lab::trace::{check_place, write_atomic};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, cause};
use crate::provenance::Provenance;

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    #[default]
    Table,
    /// For spreadsheets; plain numbers under the names of fields.
    Csv,
    /// For programs; a list of objects with all fields.
    Json,
}

/// Where output is written.
#[derive(Clone, Debug, Args)]
pub(crate) struct Destination {
    /// Output file [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

impl Destination {
    /// Check that the output can be written. A command calls this before it starts long work.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.out.iter().try_for_each(|path| check_writable(path, self.force))
    }

    /// Write the output to the file or to stdout.
    pub(crate) fn deliver(&self, bytes: &[u8]) -> Result<(), Failure> {
        match &self.out {
            Some(path) => write_file(path, bytes, self.force),
            None => print(bytes),
        }
    }
}

/// How figures are printed, where they are written, and the page that shows them.
#[derive(Debug, Args)]
pub(crate) struct Figures {
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// File for the figures [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Also write a report page
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

impl Figures {
    /// Check that all files can be written, and that no two of them are one. `others` are those
    /// that the command writes in addition. A command calls this before it starts long work.
    pub(crate) fn check<'a>(
        &self,
        others: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Failure> {
        let (sidecar, others) = (self.sidecar(), Vec::from_iter(others));
        let own = self.out.iter().chain(&self.report).chain(&sidecar);
        check_distinct(own.chain(others))?;
        self.destination().check()?;
        sidecar.iter().try_for_each(|path| check_writable(path, self.force))?;
        self.report.iter().try_for_each(|path| check_report(path, self.force))
    }

    /// Write the page, if the user asked for one, and print the figures.
    pub(crate) fn deliver(
        &self,
        figures: &[u8],
        page: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let provenance = Provenance::of_this_command();
        if let Some(path) = &self.report {
            write_report(path, &provenance.sign(&page()), self.force)?;
        }
        if let Some(path) = self.sidecar() {
            write_file(&path, &json(&provenance), self.force)?;
        }
        self.destination().deliver(figures)
    }

    /// The file next to a CSV that names the origin of its figures. None for other formats and for
    /// stdout.
    fn sidecar(&self) -> Option<PathBuf> {
        let path = self.out.as_ref().filter(|_| self.format == Format::Csv)?;
        let mut name = path.as_os_str().to_owned();
        name.push(".provenance.json");
        Some(name.into())
    }

    fn destination(&self) -> Destination {
        Destination { out: self.out.clone(), force: self.force }
    }
}

/// Write to stdout and flush it, so that an error is noticed.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    Ok(stdout.flush()?)
}

/// Write a file completely or not at all. An existing file is only replaced if `force` is set.
pub(crate) fn write_file(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    write_atomic(path, bytes, force).map_err(|error| Failure::of_writing(path, &error, force))
}

/// Check that a file can be written. A command calls this before it starts long work.
pub(crate) fn check_writable(path: &Path, force: bool) -> Result<(), Failure> {
    if path.exists() && !path.is_file() {
        return Err(Failure::of_file(path, "is not a regular file"));
    }
    if path.exists() && !force {
        return Err(Failure::of_file(path, "exists; --force replaces it"));
    }
    check_placed(path, path, "written")
}

/// Check that a folder is new and can be made, with the folders above it. `why` says why it must be
/// new.
pub(crate) fn check_new_folder(folder: &Path, why: &str) -> Result<(), Failure> {
    if folder.exists() {
        return Err(Failure::of_file(folder, format_args!("exists; {why}")));
    }
    let above = folder.ancestors().find(|it| it.exists()).unwrap_or(Path::new(""));
    check_placed(folder, &above.join("new"), "made")
}

/// Check that a file can be made `at` a place, for something at `path` to be `done`.
fn check_placed(path: &Path, at: &Path, done: &str) -> Result<(), Failure> {
    check_place(at).map_err(|error| {
        Failure::of_file(path, format_args!("cannot be {done}: {}", cause(&error)))
    })
}

/// Check that no two outputs have the same file.
pub(crate) fn check_distinct<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Failure> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths {
        // If its folder does not exist, the path is refused later, with the reason.
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let whole = whole.canonicalize().unwrap_or_else(|_| in_its_folder(&whole));
        if seen.contains(&whole) {
            return Err(Failure::of_file(path, "two outputs cannot go to one file"));
        }
        seen.push(whole);
    }
    Ok(())
}

/// The path of a file that does not exist, with its folder as the file system names it.
fn in_its_folder(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
}

/// Check that a report can be written. An existing file is only replaced if flysch made it or
/// `force` is set.
pub(crate) fn check_report(path: &Path, force: bool) -> Result<(), Failure> {
    check_writable(path, force || is_own(path))
}

/// Write a report page. An existing file is only replaced if flysch made it or `force` is set.
pub(crate) fn write_report(path: &Path, page: &str, force: bool) -> Result<(), Failure> {
    write_file(path, page.as_bytes(), force || is_own(path))
}

/// Render rows in a format. A table and CSV show the `columns`, where `a.b` is the field `b` of the
/// field `a`. JSON shows all fields.
pub(crate) fn rows<R: Serialize>(
    columns: &[impl AsRef<str>],
    rows: &[R],
    format: Format,
) -> Vec<u8> {
    match format {
        Format::Json => json(&rows),
        Format::Csv => csv(columns, &cells(columns, rows, cell)),
        Format::Table => table(columns, &cells(columns, rows, short_cell)),
    }
}

pub(crate) fn json<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("what is printed has JSON values");
    bytes.push(b'\n');
    bytes
}

/// Render cells as a table. A column is right-aligned if all its cells begin with a digit, such as
/// numbers and percentages.
pub(crate) fn table(columns: &[impl AsRef<str>], rows: &[Vec<String>]) -> Vec<u8> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(names(columns));
    for row in rows {
        table.add_row(row);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        let mut cells = rows.iter().map(|row| row[place].as_str());
        if cells.all(|cell| cell.starts_with(|letter: char| letter.is_ascii_digit())) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n").into_bytes()
}

fn names(columns: &[impl AsRef<str>]) -> impl Iterator<Item = &str> {
    columns.iter().map(AsRef::as_ref)
}

pub(crate) fn csv(columns: &[impl AsRef<str>], rows: &[Vec<String>]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(names(columns)).expect("memory takes what is written");
    for row in rows {
        writer.write_record(row).expect("memory takes what is written");
    }
    writer.into_inner().expect("memory takes what is written")
}

fn cells<R: Serialize>(
    columns: &[impl AsRef<str>],
    rows: &[R],
    cell: impl Fn(&Value, &str) -> String,
) -> Vec<Vec<String>> {
    let pointers: Vec<String> =
        names(columns).map(|column| format!("/{}", column.replace('.', "/"))).collect();
    let row = |row| {
        let value = serde_json::to_value(row).expect("what is printed has JSON values");
        pointers.iter().map(|pointer| cell(&value, pointer)).collect()
    };
    rows.iter().map(row).collect()
}

/// The text of a cell in a table: a number has three decimals, and an unknown value is blank.
fn short_cell(row: &Value, pointer: &str) -> String {
    match row.pointer(pointer) {
        Some(Value::Number(number)) if number.is_f64() => {
            number.as_f64().map(|value| format!("{value:.3}")).unwrap_or_default()
        }
        Some(Value::Null) => String::new(),
        _ => cell(row, pointer),
    }
}

fn cell(row: &Value, pointer: &str) -> String {
    match row.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => unreachable!("rows have no field {pointer}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        cost: Cost,
    }

    #[derive(Serialize)]
    struct Cost {
        reads: u32,
    }

    #[test]
    fn rows_have_the_same_names_in_every_format() {
        let two = [
            Row { name: "a,b", cost: Cost { reads: 7 } },
            Row { name: "c", cost: Cost { reads: 10 } },
        ];
        let columns = ["name", "cost.reads"];
        let text = |format| String::from_utf8(rows(&columns, &two, format)).unwrap();
        assert_eq!(text(Format::Csv), "name,cost.reads\n\"a,b\",7\nc,10\n");
        let table = "| name | cost.reads |\n|------|------------|\n\
            | a,b  |          7 |\n| c    |         10 |\n";
        assert_eq!(text(Format::Table), table);
        let json: Value = serde_json::from_str(&text(Format::Json)).unwrap();
        assert_eq!(json[1]["cost"]["reads"], 10);
        let none: [Row; 0] = [];
        assert_eq!(rows(&columns, &none, Format::Csv), b"name,cost.reads\n");
    }
}
