//! Rows on flash: the tail, the pages that it becomes, and reading them back.

mod mark;
mod moved;
mod page;
mod position;
mod records;
mod summary;
mod tail;

pub(crate) use mark::{MARKS_MAX, Mark};
pub(crate) use moved::Source;
pub(crate) use page::{Cells, Stretch, read_page};
pub use position::Position;
pub(crate) use position::page_part;
pub(crate) use records::{
    AppendError, Appended, Move, NewRow, ROW_SPACES, Records, has_spans_to_tell, state_size,
    tail_page,
};
pub(crate) use summary::{BlockEnd, BlockSummary, is_void};
pub(crate) use tail::{MOMENT_SIZE, Moment, PART_SPACES, PARTS, Rows, moment_place, part_of};
