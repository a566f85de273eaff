//! Drawings: self-contained SVG, in whole pixels, the same bytes for the same trace.

mod axis;
mod heat;
mod scatter;
mod svg;

pub use heat::blocks;
pub use scatter::scatter;
