//! The LEB properties tree (LPT): how many bytes of each main LEB are free, and how many are dirty.
//!
//! Each node of the tree has 4 children, and its fields are packed into bits. A pnode is a leaf and
//! holds the properties of 4 LEBs. An nnode holds the places of 4 nodes below it. A table, `ltab`,
//! holds the same properties for the LEBs of the tree itself. The large form of the tree also has
//! `lsave`, a list of LEBs worth looking at first; the model writes it but does not use it.
//!
//! Invariants:
//! 1. A node is read when it is first needed, and stays in memory.
//! 2. The parent of a dirty node is dirty.

mod bits;
mod commit;
mod node;
mod shape;
mod tree;

pub(super) use node::Lprops;
pub(super) use shape::LptShape;
pub(super) use tree::Lpt;
