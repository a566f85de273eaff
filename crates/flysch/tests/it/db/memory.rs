//! The memory that the caller gives, by the formula of `docs/size.md`.

use flysch::db::{Db, DbError};

use super::image::Image;
use super::world::{OPTIONS, SCHEMA};

/// Windows of merges, and the least memory table.
const STORE: usize = 20 * 40 + 512;

#[test]
fn the_least_memory_is_what_the_document_says() {
    for (page_size, blocks, wanted) in [(2048, 128, 7_284), (2048, 1024, 9_972)] {
        let payload = page_size / 512 * 506 - 20;
        let needed = 3 * blocks + payload + page_size + 512 + 1024 + STORE;
        assert_eq!(needed, wanted, "{blocks} blocks");
        let mut image = Image::blank(page_size as u32, blocks as u32);
        let mut open = |size: usize| {
            let mut ram = vec![0; size];
            Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).map(drop)
        };
        assert_eq!(open(needed - 1), Err(DbError::RamTooSmall { needed }));
        assert_eq!(open(needed), Ok(()));
    }
}
