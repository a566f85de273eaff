//! The names of the b-trees, from the rows of the table `sqlite_schema`.
//!
//! A row is a record: the size of its header and the types of its columns as varints, then the
//! columns: `type`, `name`, `tbl_name`, `rootpage`, `sql`.

use super::page::{rows, varint};

/// The longest name in bytes. Each trace contains the names.
const NAME_MAX: usize = 60;

/// A b-tree with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) root: u32,
    /// `table` or `index`.
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) table: String,
}

/// The b-trees that are named in a leaf page of the schema table.
pub(super) fn names(number: u32, page: &[u8]) -> Vec<Named> {
    rows(number, page).into_iter().filter_map(named).collect()
}

fn named(row: &[u8]) -> Option<Named> {
    let (header_size, mut at) = varint(row, 0)?;
    let mut body = usize::try_from(header_size).ok()?;
    let mut columns: Vec<&[u8]> = Vec::with_capacity(4);
    while columns.len() < 4 {
        let (kind, next) = varint(row, at)?;
        at = next;
        let size = size_of(kind)?;
        columns.push(row.get(body..body.checked_add(size)?)?);
        body += size;
    }
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let visible = |letter: char| if letter.is_control() { ' ' } else { letter };
        text.chars().take(NAME_MAX).map(visible).collect()
    };
    let root = columns[3]
        .iter()
        .try_fold(0_u32, |sum, byte| sum.checked_mul(256)?.checked_add(u32::from(*byte)))?;
    let kind: String = text(columns[0]);
    let is_tree = root > 0 && (kind == "table" || kind == "index");
    is_tree.then(|| Named { root, kind, name: text(columns[1]), table: text(columns[2]) })
}

/// The size in bytes of a column with this serial type.
fn size_of(kind: u64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(kind).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        10 | 11 => None,
        _ => usize::try_from((kind - 12) / 2).ok(),
    }
}
