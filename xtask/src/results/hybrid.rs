//! Results section: transactions of one row each, with journals in several places, against Linux
//! 6.1.

use super::{Flysch, counts};
use crate::Outcome;
use serde_json::{Value, json};

const REFERENCE: &str = "docs/reference/kernel-6.1-hybrid.csv";

const OPENING: &str = "\
Each of 1000 transactions updates one random row. The journal lies on the flash, on a PRAM beside it, in
RAM, or nowhere. The reference does not state its table. It has 1000 rows of 100 bytes here: the number of
rows follows from the cold reads of UBIFS and YAFFS2 without a journal, and the size from the programs.
`pmem` is a PRAM: the reference has ext4 mapped from persistent memory, and the lab has PRAMFS. `12M` is a
partition of 96 blocks. A run is within its band if reads and programs lie within 15 % of the kernel's,
and erases within 15 % and 3.
";

const HEADING: &str = "\
| run | stack | journal | reads kernel | flysch | error | programs kernel | flysch | error \
| erases kernel | flysch | within |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
";

/// The columns that describe what was run.
const LABELS: [&str; 3] = ["run", "stack", "journal"];

/// Run every row of the reference in which the kernel programmed pages.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let mut rows = counts::judged(flysch, REFERENCE)?;
    rows.iter_mut().try_for_each(as_code)?;
    let table = counts::table(&rows, &LABELS, "runs")?;
    Ok(format!("{OPENING}\n{HEADING}{table}"))
}

/// Format the name of the stack as code.
fn as_code(row: &mut Value) -> Outcome {
    row["stack"] = json!(format!("`{}`", counts::label(row, "stack")?));
    Ok(())
}
