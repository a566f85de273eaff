//! Operations by cause, as a tree in HTML. Each branch shows the sum of the branches below it.

use std::collections::BTreeMap;

use flysch_charts::escape::escape;
use flysch_charts::number::{percent, real, thousands};

use crate::trace::Operations;

/// Depth of the branches that are open when the page is loaded.
const OPEN_DEPTH: usize = 3;

/// A scope, with all operations inside it.
#[derive(Default)]
pub(super) struct Node {
    /// Operations in this scope and in the scopes inside it.
    pub(super) total: Operations,
    /// Operations in this scope that are not in a scope inside it.
    own: Operations,
    branches: BTreeMap<String, Node>,
}

impl Node {
    /// Build the tree from paths of scopes, which are separated by " > ".
    pub(super) fn of(by_cause: &BTreeMap<String, Operations>) -> Self {
        let mut root = Self::default();
        for (path, spent) in by_cause {
            let mut node = &mut root;
            node.total += *spent;
            for label in path.split(" > ") {
                node = node.branches.entry(label.to_owned()).or_default();
                node.total += *spent;
            }
            node.own += *spent;
        }
        root
    }

    /// The tree as nested rows that can be folded. Shares are relative to the root.
    pub(super) fn html(&self) -> String {
        self.rows(&self.total, 0)
    }

    /// The branches of this node as HTML rows, the most expensive first.
    fn rows(&self, whole: &Operations, depth: usize) -> String {
        let mut html = String::new();
        let mut ranked: Vec<(&String, &Self)> = self.branches.iter().collect();
        ranked.sort_by_key(|(label, node)| (std::cmp::Reverse(weight(&node.total)), *label));
        for (label, node) in ranked {
            html.push_str(&node.branch(label, whole, depth));
        }
        if !self.branches.is_empty() && self.own != Operations::default() {
            html.push_str(&format!(
                "<div class=\"row\">{}</div>\n",
                cells("itself", &self.own, whole, depth)
            ));
        }
        html
    }

    fn branch(&self, label: &str, whole: &Operations, depth: usize) -> String {
        let cells = cells(label, &self.total, whole, depth);
        if self.branches.is_empty() {
            return format!("<div class=\"row\">{cells}</div>\n");
        }
        let open = if depth < OPEN_DEPTH { " open" } else { "" };
        let inner = self.rows(whole, depth + 1);
        format!("<details{open}><summary class=\"row\">{cells}</summary>\n{inner}</details>\n")
    }
}

/// The names of the columns.
pub(super) fn head() -> String {
    let names = ["Time, ms", "Page reads", "Programs", "Erases", "OOB alone", "PRAM"];
    let columns = names.map(|name| format!("<span>{name}</span>")).concat();
    format!(
        "<div class=\"row head\"><span>Cause</span><span>Share of device time</span>{columns}</div>\n"
    )
}

/// One row: label, bar, and numbers with their shares.
fn cells(label: &str, spent: &Operations, whole: &Operations, depth: usize) -> String {
    let share = if whole.flash_ns == 0 { 0.0 } else { real(spent.flash_ns) / real(whole.flash_ns) };
    let numbers: String = [
        (
            flysch_charts::number::fixed(real(spent.flash_ns) / 1e6, 2),
            spent.flash_ns,
            whole.flash_ns,
        ),
        (thousands(spent.page_reads), spent.page_reads, whole.page_reads),
        (thousands(spent.page_programs), spent.page_programs, whole.page_programs),
        (thousands(spent.block_erases), spent.block_erases, whole.block_erases),
        (thousands(oob(spent)), oob(spent), oob(whole)),
        (thousands(nvram(spent)), nvram(spent), nvram(whole)),
    ]
    .into_iter()
    .map(|(text, part, whole)| number(&text, part, whole))
    .collect();
    format!(
        "<span class=\"label\" style=\"--depth:{depth}\">{}</span>\
         <span class=\"share\"><i style=\"width:{:.1}%\"></i></span>{numbers}",
        escape(label),
        share * 100.0
    )
}

fn number(text: &str, part: u64, whole: u64) -> String {
    if part == 0 {
        return "<span class=\"none\">0</span>".to_owned();
    }
    format!("<span>{text} <small>{}</small></span>", escape(&percent(part, whole)))
}

fn oob(spent: &Operations) -> u64 {
    spent.oob_reads + spent.oob_programs
}

fn nvram(spent: &Operations) -> u64 {
    spent.nvram_reads + spent.nvram_writes + spent.nvram_erases
}

/// The sort key of branches: their time, or their operations where no operation takes time.
fn weight(spent: &Operations) -> (u64, u64) {
    (spent.flash_ns, spent.page_reads + spent.page_programs + spent.block_erases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_the_sum_of_what_it_holds() {
        let spent = |flash_ns| Operations { flash_ns, page_reads: 1, ..Operations::default() };
        let paths =
            [("a", spent(1)), ("a > b", spent(2)), ("a > b > c", spent(4)), ("d", spent(8))];
        let by_cause = paths.map(|(path, spent)| (path.to_owned(), spent)).into();
        let root = Node::of(&by_cause);
        assert_eq!(root.total.flash_ns, 15);
        assert_eq!(root.branches["a"].total.flash_ns, 7);
        assert_eq!(root.branches["a"].branches["b"].total.page_reads, 2);
        assert_eq!(root.branches["a"].branches["b"].own.flash_ns, 2);
        assert_eq!(Node::of(&BTreeMap::new()).html(), "");
    }
}
