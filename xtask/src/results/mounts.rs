//! Results section: the cost of starting each stack again after a stop.

use super::{Flysch, counts};
use crate::Outcome;

const OPENING: &str = "\
What a device needs from power-on to the end of its first transaction: `flysch bench mount`. Before
that it made some transactions of one row of 600 bytes each, and stopped. At a *cut* the power failed in
the middle of one more transaction. At a *clean* stop the database was closed and the file systems were
unmounted.
";

const HEADING: &str = "\
| stack | transactions | stop | reads | programs | erases | ms |
|---|--:|---|--:|--:|--:|--:|
";

const STACKS: &str =
    "flysch,flysch+nvram,sqlite/jffs2,sqlite/yaffs2,sqlite/ubifs,sqlite/ftl,sqlite/jffs2+pramfs";

/// Run the workload on every stack.
pub(super) fn render(flysch: &Flysch) -> Outcome<String> {
    let arguments = [
        "bench",
        "mount",
        "--on",
        STACKS,
        "--stop",
        "cut,clean",
        "--requests",
        "100,1000",
        "--platform",
        "nandsim-6.1",
        "--format",
        "json",
    ];
    let mut table = String::new();
    for run in flysch.runs(&arguments.map(str::to_owned))? {
        let stop = run["parameters"]["stop"].as_str().ok_or("a mount without its stop")?;
        let number = |name: &str| {
            run[name].as_u64().ok_or_else(|| format!("a mount without `{name}`: {run}"))
        };
        let counts = ["page_reads", "page_programs", "block_erases"].map(number);
        let [reads, programs, erases] = counts;
        let ms = number("time_ns")?.div_ceil(1_000_000);
        let (stack, requests) = (counts::label(&run, "on")?, number("requests")?);
        table += &row(stack, (requests, stop), [reads?, programs?, erases?, ms]);
    }
    Ok(format!("{OPENING}\n{HEADING}{table}"))
}

fn row(stack: &str, (requests, stop): (u64, &str), figures: [u64; 4]) -> String {
    let figures = figures.map(|figure| figure.to_string()).join(" | ");
    format!("| `{stack}` | {requests} | {stop} | {figures} |\n")
}

#[test]
fn a_mount_is_a_row() {
    let line = row("flysch", (100, "cut"), [75, 5, 2, 41]);
    assert_eq!(line, "| `flysch` | 100 | cut | 75 | 5 | 2 | 41 |\n");
}
