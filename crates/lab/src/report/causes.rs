//! Report section: which layer asked for the chip's operations.

use flysch_charts::escape::escape;
use flysch_charts::number::duration;
use flysch_charts::table::scroll;

use super::cases::Cases;
use super::tree::{Node, head};
use crate::bench::run::Run;

/// How many trees are open when the page is loaded.
const OPEN: usize = 2;

/// The trees of causes of the runs that are shown one by one.
pub(super) fn causes(cases: &Cases<'_>) -> String {
    let mut html = cases.shown_note();
    for (place, case) in cases.shown().into_iter().enumerate() {
        let tree = Node::of(&case.run.by_cause);
        let title = format!("{} on {}", case.run.inputs.workload, cases.full_name(case));
        let open = if place < OPEN { " open" } else { "" };
        html.push_str(&format!(
            "<details{open}><summary><b>{}</b>: flash busy for {}</summary>\n",
            escape(&title),
            duration(tree.total.flash_ns)
        ));
        if case.run.by_cause.is_empty() {
            html.push_str("<p class=\"note\">No operation reached the flash.</p>\n");
        } else {
            html.push_str(&format!("{}<div class=\"tree\">{}", scroll(&title), head()));
            html.push_str(&tree.html());
            html.push_str("</div></div>\n");
        }
        html.push_str("</details>\n");
    }
    html
}

/// Time that the chip was busy during a run, nanoseconds.
pub(super) fn flash_ns(run: &Run) -> u64 {
    run.by_cause.values().map(|spent| spent.flash_ns).sum()
}
