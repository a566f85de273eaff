//! Results section: transactions of one row each, with journals in several places, against Linux
//! 6.1.

use super::{Flysch, counts};
use crate::Outcome;
use serde_json::{Value, json};

const REFERENCE: &str = "docs/reference/kernel-6.1-hybrid.csv";

const OPENING: &str = "\
Each of 1000 transactions updates one random row. The reference does not tell its table; 1000 rows of
100 bytes are taken from it: the cold reads of UBIFS and YAFFS2 without a journal fix the rows, the
programs the bytes. `pmem` is ext4 mapped from persistent memory there and PRAMFS here, `12M` a
partition of 96 blocks. Within 15 %, erases within 15 % and 3.
";

const HEADING: &str = "\
| run | stack | journal | reads kernel | flysch | error | programs kernel | flysch | error \
| erases kernel | flysch | within |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
";

/// The columns that say what was run.
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
