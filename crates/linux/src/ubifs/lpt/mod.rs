//! The LEB properties tree: how much of each main LEB is free and how much dirty.
//!
//! A tree of fanout 4 in bit-packed nodes: pnodes with the properties of 4 LEBs, above them nnodes
//! with the places of 4 children. Beside it `ltab`, the same properties of the tree's own LEBs,
//! and in the large model `lsave`, LEBs worth looking at first, which is kept and not used.
//!
//! Invariants:
//! 1. A node is read when it is first needed and stays.
//! 2. A dirty node's parent is dirty.

mod bits;
mod commit;
mod node;
mod shape;
mod tree;

pub(super) use node::Lprops;
pub(super) use shape::LptShape;
pub(super) use tree::Lpt;
