//! Finds the pages that a page of an SQLite database refers to. The layout is that of SQLite's file
//! format. Numbers are big-endian.
//!
//! ```text
//! b-tree page  1 byte type: 2 interior index, 5 interior table, 10 leaf index, 13 leaf table
//!              at 3 count of cells (2), at 8 right-most child (4, interior only),
//!              then offsets of the cells (2 each); page 1 begins 100 bytes later
//! cell         child (4, interior), payload size (varint, not in interior tables),
//!              row number (varint, tables), payload, first overflow page (4) where it is longer
//! overflow     next page (4), content
//! free trunk   next trunk (4), count (4), free pages (4 each)
//! ```

/// What a page is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// A node of the b-tree with this root.
    Tree(u32),
    /// The overflow of a long cell of the b-tree with this root.
    Overflow(u32),
    FreeTrunk,
    FreeLeaf,
}

const HEADER_SIZE: usize = 100;
const FREE_TRUNK_AT: usize = 32;

/// The pages that a page refers to, with their roles. `usable` is the page size without the bytes
/// reserved at its end.
pub(super) fn references(number: u32, page: &[u8], usable: usize, role: Role) -> Vec<(u32, Role)> {
    let mut found = Vec::new();
    if number == 1 {
        found.extend(u32_at(page, FREE_TRUNK_AT).map(|trunk| (trunk, Role::FreeTrunk)));
    }
    match role {
        Role::Tree(root) => tree(number, page, usable, root, &mut found),
        Role::Overflow(root) => {
            found.extend(u32_at(page, 0).map(|next| (next, Role::Overflow(root))));
        }
        Role::FreeTrunk => {
            found.extend(u32_at(page, 0).map(|next| (next, Role::FreeTrunk)));
            let count = u32_at(page, 4).unwrap_or(0).min(1 << 14);
            let leaves = (0..count as usize).filter_map(|place| u32_at(page, 8 + 4 * place));
            found.extend(leaves.map(|leaf| (leaf, Role::FreeLeaf)));
        }
        Role::FreeLeaf => {}
    }
    found.retain(|(number, _)| *number > 0);
    found
}

fn tree(number: u32, page: &[u8], usable: usize, root: u32, found: &mut Vec<(u32, Role)>) {
    let start = if number == 1 { HEADER_SIZE } else { 0 };
    let kind = page.get(start).copied().unwrap_or(0);
    let is_interior = matches!(kind, 2 | 5);
    if !matches!(kind, 2 | 5 | 10 | 13) {
        return;
    }
    let cells = if is_interior { start + 12 } else { start + 8 };
    if is_interior {
        found.extend(u32_at(page, start + 8).map(|child| (child, Role::Tree(root))));
    }
    let count = u16_at(page, start + 3).unwrap_or(0);
    for place in 0..usize::from(count) {
        let Some(at) = u16_at(page, cells + 2 * place) else { return };
        let mut at = usize::from(at);
        if is_interior {
            found.extend(u32_at(page, at).map(|child| (child, Role::Tree(root))));
            at += 4;
        }
        if kind != 5 {
            let overflow = overflow(page, at, usable, kind == 13);
            found.extend(overflow.map(|next| (next, Role::Overflow(root))));
        }
    }
}

/// The first overflow page of a cell. None if the payload fits into the cell. `at` is the offset of
/// its payload size.
fn overflow(page: &[u8], at: usize, usable: usize, is_table: bool) -> Option<u32> {
    let (size, after) = varint(page, at)?;
    let start = if is_table { varint(page, after)?.1 } else { after };
    let size = usize::try_from(size).ok()?;
    let most = if is_table { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
    if size <= most {
        return None;
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let kept = least + (size - least) % (usable - 4);
    let local = if kept <= most { kept } else { least };
    u32_at(page, start + local)
}

/// The payloads of the cells of a table's leaf, without their overflow.
pub(super) fn rows(number: u32, page: &[u8]) -> Vec<&[u8]> {
    let start = if number == 1 { HEADER_SIZE } else { 0 };
    if page.get(start) != Some(&13) {
        return Vec::new();
    }
    let count = u16_at(page, start + 3).unwrap_or(0);
    let cell = |place: usize| {
        let at = usize::from(u16_at(page, start + 8 + 2 * place)?);
        let (size, after) = varint(page, at)?;
        let (_, begin) = varint(page, after)?;
        let end = begin.saturating_add(usize::try_from(size).ok()?).min(page.len());
        page.get(begin..end)
    };
    (0..usize::from(count)).filter_map(cell).collect()
}

/// A varint of SQLite, at most 9 bytes of 7 bits each, and the offset behind it.
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for place in 0..9 {
        let byte = *bytes.get(at + place)?;
        if place == 8 {
            return Some((value << 8 | u64::from(byte), at + 9));
        }
        value = value << 7 | u64::from(byte & 0x7F);
        if byte < 0x80 {
            return Some((value, at + place + 1));
        }
    }
    None
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}
