//! Results section: the simulator against Linux 6.1 with nandsim, cell by cell.

use super::{Flysch, counts};
use crate::Outcome;

const REFERENCE: &str = "docs/reference/kernel-6.1-bench.csv";

const BANDS: &str = "\
JFFS2: page programs 3 % for insert, 10 % for update, none at all for select and join; page reads
5 % and 3 pages for select and join, 15 % for update; 10 % for reads and programs of a variant. The
reads of an insert are few and have no band. Update is the mean of seeds 1, 2 and 3, as the kernel
itself varies there. UBIFS: programs 3 % for insert, 5 % for update, reads 5 % and 5 pages. YAFFS2:
programs 10 %, reads 5 % and 8 pages. Block erases: 3 or 30 %, whichever is more.
";

const HEADING: &str = "\
| fs | operation | record size | requests | variant \
| reads kernel | flysch | error | programs kernel | flysch | error \
| erases kernel | flysch | within |
|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
";

/// The columns that say what was run.
const LABELS: [&str; 5] = ["fs", "operation", "record_size", "requests", "variant"];

/// Run every row of the reference and show both counts.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let table = counts::table(&counts::judged(flysch, REFERENCE)?, &LABELS, "rows")?;
    Ok(format!("{BANDS}\n{HEADING}{table}"))
}
