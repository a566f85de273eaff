//! SQLite on JFFS2 and UBIFS: response times and operations of inserts, selects, joins, updates.

use super::band::{Band, Shape, Target};
use super::claim::Claim;
use super::paper::{Cause, Evidence, Experiment, Item, Paper, Trial};
use crate::grid::Grid;
use crate::platform::Platform;
use crate::stack::Stack;
use crate::throughput::levels;
use crate::workload::Micro;
use std::sync::Arc;

const PLATFORM: &str = "apf27-2.6.29";

/// The paper.
pub(super) const PAPER: Paper = Paper {
    number: "000",
    title: "Boukhobza, Olivier, Plassart, Ouarnoughi, Bellatreche: Embedded Databases on Flash \
            Memories: Performance and Lifetime Issues, the case of SQLite (ERTS 2014)",
    lead: "Inserts, selects, joins and updates in one transaction, 100 to 5000 of 150 to 600 \
           bytes, on JFFS2 and UBIFS: response times, throughput, operations of the flash.",
    platform: Some(PLATFORM),
    items: &[Item { name: "table-1", title: "Table I: throughput by level of the stack" }],
    experiments: &[Experiment { items: &["table-1"], steps: |_| 3, run: table_1 }],
};

fn table_1(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let platform = Arc::new(Platform::named(PLATFORM)?);
    let grid = Grid::new(Micro::Select, Stack::JFFS2, Arc::clone(&platform));
    let build = grid.scenarios().swap_remove(0).build;
    let mut claims = Vec::new();
    for level in levels(&build)? {
        let stated = platform.throughput.iter().find(|row| row.level == level.level);
        let stated = stated.ok_or("the platform has the paper's throughput")?;
        let pairs = [
            ("write", stated.write_mb_s, level.write_mb_s),
            ("read", stated.read_mb_s, level.read_mb_s),
        ];
        for (verb, paper, measured) in pairs {
            let text = format!("{} level, {verb}, MB/s", level.level);
            claims.push(Claim {
                shape: Shape::Factor(2.0),
                ..Claim::new("table-1", text, Target::Value(paper), measured, Band::TIME)
            });
        }
    }
    (trial.done)(3);
    Ok(Evidence { claims, ..Evidence::default() })
}
