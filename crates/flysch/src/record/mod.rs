//! Rows on flash: the tail, the pages that it becomes, and how they are read again.

mod moved;
mod page;
mod position;
mod records;
mod tail;

pub(crate) use moved::Source;
pub(crate) use page::{Cells, Stretch, read_page};
pub use position::Position;
pub(crate) use position::page_part;
pub(crate) use records::{
    AppendError, BlockSummary, Move, NewRow, ROW_SPACES, Records, STATE_SIZE, is_void, tail_page,
};
pub(crate) use tail::Rows;
