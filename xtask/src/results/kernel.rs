//! Results section: the simulator against Linux 6.1 with nandsim, cell by cell.

use super::{Flysch, counts};
use crate::Outcome;

const REFERENCE: &str = "docs/reference/kernel-6.1-bench.csv";

const BANDS: &str = "\
Each row is a run of the micro-benchmark, and holds the kernel's counts beside those of the lab. A
*variant* differs from the main runs in one setting. A row is within its band if all its counts lie as
near to the kernel's as this:

| file system | operation | page programs | page reads |
|---|---|---|---|
| JFFS2 | insert | 3 % | any: they are few and vary by chance |
| JFFS2 | select, join | none at all | 5 % and 3 pages |
| JFFS2 | update, the mean of seeds 1, 2 and 3, as the kernel itself varies | 10 % | 15 % |
| JFFS2, a variant | insert; select, join; update | 10 % | any; 10 % and 3 pages; 10 % |
| UBIFS | insert, select, join | 3 % | 5 % and 5 pages |
| UBIFS | update | 5 % | 5 % and 5 pages |
| YAFFS2 | all | 10 % | 5 % and 8 pages |

Block erases may differ by 3 or by 30 %, whichever is more.
";

const HEADING: &str = "\
| fs | operation | record size | requests | variant \
| reads kernel | flysch | error | programs kernel | flysch | error \
| erases kernel | flysch | within |
|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
";

/// The columns that describe what was run.
const LABELS: [&str; 5] = ["fs", "operation", "record_size", "requests", "variant"];

/// Run every row of the reference and show both counts.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let table = counts::table(&counts::judged(flysch, REFERENCE)?, &LABELS, "rows")?;
    Ok(format!("{BANDS}\n{HEADING}{table}"))
}
