//! Merges that a power cut interrupted. A mount does not use the copies that they made.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{Found, Scan};

/// Drop the copies of merges that were not completed. The pages they were copied from are still
/// there, because they are not erased before a merge is complete.
pub(super) fn drop_incomplete(scan: &mut Scan, pages_per_block: u32) {
    let incomplete = incomplete(&scan.pages, pages_per_block);
    scan.pages.retain(|found| !incomplete.contains(&found.place.block));
}

/// The blocks of interrupted merges. Such a block lacks a page that its logical block had when the
/// merge began.
fn incomplete(pages: &[Found], pages_per_block: u32) -> BTreeSet<u32> {
    let mut blocks: BTreeMap<u32, Vec<&Found>> = BTreeMap::new();
    let mut logical_blocks: BTreeMap<u32, Vec<&Found>> = BTreeMap::new();
    for found in pages {
        let logical_block = found.tag.logical / pages_per_block;
        logical_blocks.entry(logical_block).or_default().push(found);
        if found.tag.is_merged {
            blocks.entry(found.place.block).or_default().push(found);
        }
    }
    let is_incomplete = |copies: &[&Found]| {
        let first = copies[0];
        let held: BTreeSet<u32> = copies.iter().map(|copy| copy.tag.logical).collect();
        let all = &logical_blocks[&(first.tag.logical / pages_per_block)];
        let mut before = all.iter().filter(|found| found.tag.sequence < first.tag.sequence);
        before.any(|found| !held.contains(&found.tag.logical))
    };
    let merged = blocks.iter().filter(|(_, copies)| is_incomplete(copies));
    merged.map(|(&block, _)| block).collect()
}
