//! Drawings of traces: self-contained SVG with coordinates in whole pixels. The same trace gives
//! the same bytes.

mod heat;
mod scatter;

pub use heat::blocks;
pub use scatter::scatter;
