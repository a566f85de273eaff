//! The paper's pairs of charts: one for each file system, with a line for each record size.

use flysch_charts::figure::{Figure, Panel, Scale, Series};
use flysch_lab::report::metrics::Metric;

use super::sweep::{SIZES, STACKS, Sweep};

/// Draw one metric of all runs against the number of requests.
pub(super) fn chart(
    sweep: &Sweep,
    item: &'static str,
    name: &str,
    title: &str,
    metric: &Metric,
) -> Figure {
    let panel = |stack| {
        let line = |size: u32| {
            let points = sweep.of(stack, size).iter();
            let points = points.map(|run| (f64::from(run.inputs.requests), (metric.of)(run)));
            Series::line(format!("{size} B"), points.collect())
        };
        Panel {
            title: stack_name(stack),
            x: Scale::linear("requests"),
            y: Scale::linear(metric.name),
            series: SIZES.map(line).to_vec(),
        }
    };
    Figure {
        item,
        name: name.to_owned(),
        title: title.to_owned(),
        caption: "A line for each record size.".to_owned(),
        panels: STACKS.map(panel).to_vec(),
    }
}

/// The name of a file system in the paper's spelling.
pub(super) fn stack_name(stack: flysch_lab::machine::stack::Stack) -> String {
    stack.main.name().to_uppercase()
}
