//! `flysch part`: lists the built-in chips, shows their files, and makes a template for a new one.

use clap::Subcommand;
use flysch_chip::Part;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{self, Destination, Format};

/// Arguments of `flysch part`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch part list
  flysch part show w25n01gv
  flysch part new mychip --like w25n01gv --out mychip.toml
  flysch bench insert --part mychip.toml")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in parts
    List {
        /// How to print the rows
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show the file of a part, with the source of each figure
    Show {
        /// Name of the part
        name: String,
    },
    /// Make a part file of your own to edit: a copy of another part's
    New(New),
}

#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// Name of the new description
    pub(crate) name: String,
    /// Name of the description to copy
    #[arg(long, value_name = "NAME")]
    pub(crate) like: Option<String>,
    #[command(flatten)]
    pub(crate) destination: Destination,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    mib: u64,
    page_size: u32,
    pages_per_block: u32,
    endurance: u32,
    description: String,
}

/// The comment above a template.
const UNITS: &str = "\
# A part of your own: replace each figure by that of its data sheet, and name the source beside it.
# Names end in their unit: ns are nanoseconds (at most a second), ps are picoseconds (a byte at most
# 10 us). Sizes are bytes. `flysch bench insert --part FILE` uses the file.
";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.action {
        Action::List { format } => list(*format),
        Action::Show { name } => output::print(text(name)?.as_bytes()),
        Action::New(new) => {
            let like = new.like.as_deref().unwrap_or("w25n01gv");
            new.write(UNITS, text(like)?)
        }
    }
}

fn list(format: Format) -> Result<(), Failure> {
    let listed = |name| {
        let part = Part::named(name).map_err(|error| Failure::of(&error))?;
        let geometry = part.geometry;
        let bytes = u64::from(geometry.block_size()) * u64::from(geometry.block_count);
        Ok(Listed {
            name: part.name,
            mib: bytes >> 20,
            page_size: geometry.page_size,
            pages_per_block: geometry.pages_per_block,
            endurance: part.endurance,
            description: part.description,
        })
    };
    let rows: Vec<Listed> = Part::names().map(listed).collect::<Result<_, Failure>>()?;
    let columns = ["name", "mib", "page_size", "pages_per_block", "endurance", "description"];
    output::print(&output::rows(&columns, &rows, format))
}

fn text(name: &str) -> Result<&'static str, Failure> {
    Part::text(name).map_err(|error| Failure::of(&error))
}

impl New {
    /// Write a copy of another description under the new name, below the comment `head`.
    pub(crate) fn write(&self, head: &str, text: &str) -> Result<(), Failure> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if self.name.is_empty() || !self.name.chars().all(is_plain) {
            return Err(Failure::Message(format!(
                "'{}' is no name: letters, digits, '-', '_' and '.' are possible",
                self.name
            )));
        }
        self.destination.check()?;
        let renamed = |line: &str| match line.strip_prefix("name = ") {
            Some(_) => format!("name = \"{}\"\n", self.name),
            None => format!("{line}\n"),
        };
        let body: String =
            text.lines().skip_while(|line| line.starts_with('#')).map(renamed).collect();
        self.destination.deliver(format!("{head}{body}").as_bytes())
    }
}
