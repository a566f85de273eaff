//! Blocks that are packed because their pages are not full.
//!
//! A page is programmed with what its part of the tail has, so pages of a table that shares the
//! tail with a ring are filled half at least. Where space is short, a survey takes what such pages
//! lack for dead, and their rows are moved to pages that are full. Each session looks through the
//! blocks again, from any of them on, and finds what the sessions before had not come to.

use flysch::db::{Db, ram_needed};
use flysch_nand::Nand;

use super::rings::{ALL, EVENT, NOTE_LEAST, OPTIONS, SHAPES, fill, insert};
use super::world;

/// Sessions on a full device, in which only a ring goes on. The first one may pack all that is not,
/// for its transactions begin with space for a few rows. Later ones pack what it left. What is
/// packed is moved no more, however often the device is opened.
#[test]
fn a_full_device_that_is_opened_again_is_packed_once() {
    for (page_size, pages_per_block, block_count, more) in SHAPES {
        let mut chip = world::chip_of(page_size, pages_per_block, block_count);
        let mut ram = vec![0; ram_needed(&ALL, &chip.geometry(), &OPTIONS) + more];
        let notes = fill(&mut Db::create(&mut chip, &ALL, OPTIONS, &mut ram).unwrap());
        let pages = notes * NOTE_LEAST / i64::from(page_size);
        let (mut next, mut later) = (10_000_000, 0);
        for session in 0..6 {
            let mut db = Db::open(&mut chip, &ALL, OPTIONS, &mut ram).unwrap();
            for id in next..next + notes / 3 {
                insert(&mut db, EVENT, id).unwrap();
            }
            next += notes / 3;
            let moved = i64::from(db.moved_pages());
            assert!(moved <= pages, "{moved} of {pages} pages moved, {page_size} bytes");
            later += if session == 0 { 0 } else { moved };
        }
        assert!(later <= pages / 4, "{later} of {pages} pages moved later, {page_size} bytes");
    }
}
