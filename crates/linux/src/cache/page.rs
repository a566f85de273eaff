//! Pages of the page cache, and the files that they belong to.

/// Bytes per page of the page cache (`PAGE_SIZE` of the kernels modelled).
pub const CACHE_PAGE_SIZE: usize = PAGE_SIZE as usize;
/// The same number, for 32-bit arithmetic.
pub(crate) const PAGE_SIZE: u32 = 4096;

/// What one page of the page cache holds.
pub type PageBytes = [u8; CACHE_PAGE_SIZE];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u32);

/// Where byte `offset` of a file is in its page.
pub(crate) fn byte_in_page(offset: u64) -> usize {
    usize::try_from(offset % CACHE_PAGE_SIZE as u64).expect("below the page size")
}

/// Cut what is written at `offset` into parts that each lie in one page. Each part comes with its
/// own offset.
pub(crate) fn page_parts(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let (mut at, mut rest) = (offset, bytes);
    std::iter::from_fn(move || {
        let len = rest.len().min(CACHE_PAGE_SIZE - byte_in_page(at));
        let part = rest.split_off(..len).filter(|part| !part.is_empty())?;
        let place = at;
        at += part.len() as u64;
        Some((place, part))
    })
}
