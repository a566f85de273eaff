//! Pages of the page cache, and the files that they belong to.

use std::cell::RefCell;

/// Bytes per page of the page cache (`PAGE_SIZE` of the kernels modelled).
pub const CACHE_PAGE_SIZE: usize = PAGE_SIZE as usize;
/// The same number, for 32-bit arithmetic.
pub(crate) const PAGE_SIZE: u32 = 4096;

/// What one page of the page cache holds.
pub type PageBytes = [u8; CACHE_PAGE_SIZE];

/// The most memory that waits for pages to come, pages.
const SPARE_MAX: usize = 4096;

thread_local! {
    /// The memory of pages that left a cache.
    static SPARE: RefCell<Vec<Box<PageBytes>>> = const { RefCell::new(Vec::new()) };
}

/// Memory for a page that is about to be read as a whole. What it holds until then is anything: to
/// clear it would take as long as to read it.
pub(crate) fn page_to_fill() -> Box<PageBytes> {
    let spare = SPARE.with_borrow_mut(Vec::pop);
    let mut page = spare.unwrap_or_else(|| Box::new([0; CACHE_PAGE_SIZE]));
    if cfg!(debug_assertions) {
        page.fill(0xA5);
    }
    page
}

/// The bytes of a page in the cache. When the page leaves, its memory waits for the next one.
#[derive(Debug)]
pub(super) struct Kept(Option<Box<PageBytes>>);

impl Kept {
    pub(super) const fn new(bytes: Box<PageBytes>) -> Self {
        Self(Some(bytes))
    }

    pub(super) fn bytes(&self) -> &PageBytes {
        self.0.as_ref().expect("it is taken when the page leaves")
    }

    pub(super) fn bytes_mut(&mut self) -> &mut PageBytes {
        self.0.as_mut().expect("it is taken when the page leaves")
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        let mut copy = page_to_fill();
        copy.copy_from_slice(self.bytes());
        Self::new(copy)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(bytes) = self.0.take() else { return };
        // At the end of a thread there may be no place for it any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.push(bytes);
            }
        });
    }
}

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
