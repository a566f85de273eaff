//! `flysch extension`: writes the shim as an SQLite extension, which programs load by themselves.
//!
//! The path of this program is appended to the library, so that the library can start it.

use std::path::PathBuf;

use flysch_sqlite::remote::SHIM;

use crate::failure::Failure;
use crate::output;

/// The text before the path. `shim/extension.c` looks for it.
const MARK: &[u8] = b"\nflysch at ";

/// Arguments of `flysch extension`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  flysch extension
  sqlite3 :memory: '.load ./flysch' '.open file:app.db?vfs=flysch' 'CREATE TABLE t(x)'

The variable FLYSCH_OPTIONS has options of `flysch run` for the machine that the extension starts,
such as --on sqlite/ubifs. It ends with the last program that uses it, and reports on stderr.")]
pub(crate) struct Args {
    /// File for the library
    #[arg(value_name = "FILE", default_value = "flysch.so")]
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    output::check_writable(&args.file, args.force)?;
    let program = std::env::current_exe().map_err(|error| Failure::of(&error))?;
    let bytes = [SHIM, MARK, program.as_os_str().as_encoded_bytes()].concat();
    output::write_file(&args.file, &bytes, args.force)?;
    let said = format!("{}: load it, then open file:NAME?vfs=flysch\n", args.file.display());
    output::print(said.as_bytes())
}
