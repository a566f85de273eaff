//! The tree-based methods in closed form: the B+tree on an FTL, and BFTL without and with
//! compaction of its node translation lists.

use serde::Serialize;

use super::Costs;
use super::setting::Setting;
use super::yao::yao;

/// fb: mean fill of the nodes of a B+tree (Table 3).
const FILL: f64 = 0.69;
/// Beta: the factor by which BFTL's buffering increases what is written (Table 3).
const EXPANSION: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The B+tree on an FTL: `BTree` in the paper.
    BTree,
    /// `BFTL1` in the paper: node translation lists of any length.
    Unbounded,
    /// `BFTL2` in the paper: lists that are compacted if they are longer than this (C).
    Compacted(u32),
}

/// How the nodes of the tree are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCount {
    /// A node has one more child than keys, as in the printed height and IR: the sum of ceil(N / (F
    /// (F + 1)^(i - 1))). Only this gives the RAM of 2728 KB that the text states.
    ChildPerGap,
    /// As printed: the sum of ceil(N / F^i).
    Printed,
}

/// The variables of Table 4 for a tree-based method.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tree {
    /// M: index units in a page.
    #[serde(rename = "M")]
    pub units_per_page: f64,
    /// fb * M: units of an average node.
    #[serde(rename = "F")]
    pub node_units: f64,
    /// ht: height of the tree.
    #[serde(rename = "ht")]
    pub height: i32,
    /// Nn: nodes after all insertions.
    #[serde(rename = "Nn")]
    pub nodes: f64,
    /// Ns: number of splits.
    #[serde(rename = "Ns")]
    pub splits: f64,
    /// L: buffer chunks over which the units of one node are spread.
    #[serde(rename = "L")]
    pub list_len: f64,
    /// Alpha: units of one node in one physical page.
    #[serde(rename = "alpha")]
    pub units_together: f64,
    /// Nc: compactions of each node's list, for BFTL2 only.
    #[serde(rename = "Nc", skip_serializing_if = "Option::is_none")]
    pub compactions: Option<f64>,
    #[serde(skip)]
    setting: Setting,
    #[serde(skip)]
    method: Method,
    #[serde(skip)]
    buffers: u32,
}

impl Tree {
    /// The tree after all insertions, with this many buffer pages in RAM.
    pub fn new(setting: Setting, method: Method, buffers: u32) -> Self {
        let units = match method {
            Method::BTree => setting.entries_per_page(),
            Method::Unbounded | Method::Compacted(_) => setting.units_per_page(),
        };
        Self::with(setting, method, buffers, (units, NodeCount::ChildPerGap))
    }

    /// The same tree, with another interpretation of M or of Nn.
    pub fn with(
        setting: Setting,
        method: Method,
        buffers: u32,
        (units, count): (u32, NodeCount),
    ) -> Self {
        let keys = f64::from(setting.keys);
        let (m, b) = (f64::from(units), f64::from(buffers));
        let node = FILL * m;
        let height = height(keys, node + 1.0);
        let on_level = |level: i32| match count {
            NodeCount::ChildPerGap => keys / (node * (node + 1.0).powi(level - 1)),
            NodeCount::Printed => keys / node.powi(level),
        };
        let nodes: f64 = (1..=height).map(|level| on_level(level).ceil()).sum();
        let chunks = match method {
            Method::BTree => keys / (node * b),
            Method::Unbounded | Method::Compacted(_) => EXPANSION * keys / (m * b),
        };
        let list_len = yao(keys, chunks, node);
        let compactions = match method {
            Method::Compacted(most) => Some(((list_len - 1.0) / (f64::from(most) - 1.0)).floor()),
            Method::BTree | Method::Unbounded => None,
        };
        Self {
            units_per_page: m,
            node_units: node,
            height,
            nodes,
            splits: nodes - f64::from(height),
            list_len,
            units_together: node / list_len,
            compactions,
            setting,
            method,
            buffers,
        }
    }

    /// The costs of Table 5.
    pub fn costs(&self) -> Costs {
        let keys = f64::from(self.setting.keys);
        let inner = f64::from(self.height - 1);
        let w_pages = match self.method {
            Method::BTree => keys / self.units_together + 2.0 * self.splits,
            Method::Unbounded => self.logged(),
            Method::Compacted(most) => self.logged() + self.compacted(f64::from(most)),
        };
        let (vp_pages, op_pages) = match self.method {
            Method::BTree => (self.nodes, w_pages - self.nodes),
            Method::Unbounded | Method::Compacted(_) => (w_pages, 0.0),
        };
        let lists = match self.method {
            Method::BTree => 0.0,
            Method::Unbounded | Method::Compacted(_) => {
                self.nodes * self.node_reads() * f64::from(self.setting.pointer_size) / 1024.0
            }
        };
        Costs {
            r_pages: match self.method {
                Method::BTree => f64::from(self.height),
                Method::Unbounded | Method::Compacted(_) => {
                    inner * self.node_reads() + self.node_reads() / 2.0
                }
            },
            ir_pages: self.descents() + self.splits * self.node_units / 2.0,
            w_pages,
            ram_kb: lists + self.setting.buffers_kb(self.buffers),
            vp_pages,
            op_pages,
        }
    }

    /// IR of the B+tree, if a node that splits is read by a single page read. This would be
    /// plausible, but for each of the three methods the paper prints half a node's units.
    pub fn insertion_reads_with_whole_nodes(&self) -> f64 {
        self.descents() + self.splits
    }

    /// Pages read to load a node: L, or C if lists are compacted.
    fn node_reads(&self) -> f64 {
        match self.method {
            Method::BTree => 1.0,
            Method::Unbounded => self.list_len,
            Method::Compacted(most) => f64::from(most),
        }
    }

    /// IR1, IR2 and IR3 of Table 5 without the reads of splits. The printed "+ 1" is kept.
    fn descents(&self) -> f64 {
        let (node, reads) = (self.node_units, self.node_reads());
        let below = |level: i32| (node + 1.0).powi(level);
        let while_lower =
            |level: i32| f64::from(level) * reads * node * (below(level) - below(level - 1));
        let growing: f64 = (1..=self.height - 2).map(while_lower).sum();
        let rest = f64::from(self.setting.keys) - node * below(self.height - 2);
        growing + 1.0 + f64::from(self.height - 1) * reads * rest
    }

    /// W of BFTL1: the units that insertions write, and those of nodes that split.
    fn logged(&self) -> f64 {
        EXPANSION * f64::from(self.setting.keys) / self.units_per_page
            + EXPANSION * self.splits / 2.0
    }

    /// The pages that W1 adds for BFTL2. The i-th compaction of a node writes its units again, and
    /// each earlier compaction added `alpha (C - 1)` of them. The paper prints "alpha C - 1", which
    /// differs by less than 0.1 %.
    fn compacted(&self, most: f64) -> f64 {
        let together = self.units_together;
        let mut units = 0.0;
        let mut nth = 0.0;
        while nth < self.compactions.expect("this method compacts") {
            units += together * most + nth * together * (most - 1.0);
            nth += 1.0;
        }
        EXPANSION * self.nodes * units / self.units_per_page
    }
}

/// Number of levels of a tree with this many keys, if each node has `children` children.
fn height(keys: f64, children: f64) -> i32 {
    let mut height = 1;
    while children.powi(height) < keys {
        height += 1;
    }
    height
}
