//! Drawings: self-contained SVG, in whole pixels, the same bytes for the same trace.

mod heat;
mod scatter;

pub use heat::blocks;
pub use scatter::scatter;
