//! Tables of prices: how many instructions the counted work takes, and where each figure is from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use flysch_chip::fields::told;
use flysch_linux::cpu::Prices;
use serde::Deserialize;

/// The tables that the program contains, by name.
const BUILTIN: [(&str, &str); 2] = [
    ("linux-6.1", include_str!("../../../../platforms/prices/linux-6.1.toml")),
    ("guessed", include_str!("../../../../platforms/prices/guessed.toml")),
];

/// A table: the versions that were measured, and the instructions of each unit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kernel: String,
    sqlite: String,
    instructions: BTreeMap<String, f64>,
}

/// The built-in table of this name, or that of a TOML file whose path is relative to `folder`.
pub(super) fn of(name: &str, folder: &Path) -> Result<Prices, String> {
    let of_table = |error: &dyn std::fmt::Display| format!("prices {name}: {error}");
    if let Some((_, text)) = BUILTIN.iter().find(|(known, _)| *known == name) {
        return parse(text).map_err(|error| of_table(&error));
    }
    if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
        let known: Vec<&str> = BUILTIN.iter().map(|(known, _)| *known).collect();
        return Err(format!("prices {name}: no such table (known: {})", known.join(", ")));
    }
    let text = fs::read_to_string(folder.join(name)).map_err(|error| of_table(&error))?;
    parse(&text).map_err(|error| of_table(&error))
}

/// The table of guessed prices.
///
/// # Panics
/// Never: the table is built in, and a test reads it.
pub(crate) fn guessed() -> Prices {
    of("guessed", Path::new("")).expect("a sound table")
}

fn parse(text: &str) -> Result<Prices, String> {
    let file: File = toml::from_str(text).map_err(|error| told(text, &error))?;
    if file.kernel.is_empty() || file.sqlite.is_empty() {
        return Err("kernel and sqlite name the versions that were measured".to_owned());
    }
    Prices::new(&file.instructions)
}
