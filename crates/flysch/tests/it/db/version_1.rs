//! The image of format version 1: what was released is read for ever.
//!
//! The file holds the data bytes of every page of 40 blocks of 8 pages of 512 bytes, up to the last
//! block that is not erased; what lies behind is erased. `FLYSCH_WRITE_IMAGE=1` writes it anew.

use std::path::Path;

use flysch::db::{Db, Direction, Durability};

use super::image::Image;
use super::world::{OPTIONS, SCHEMA, ask_indexes, expected, insert, rows};

const ROWS: i64 = 80;
const BLOCK: usize = 8 * 512;

fn numbers() -> Vec<i64> {
    (0..ROWS).collect()
}

fn make() -> Image {
    let mut image = Image::blank(512, 40);
    let mut ram = vec![0; 9_000];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    for numbers in numbers().chunks(6) {
        insert(&mut db, numbers, 700, Durability::Durable).unwrap();
    }
    db.close().unwrap();
    image
}

#[test]
fn the_image_of_version_1_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images/v1.bin");
    if std::env::var_os("FLYSCH_WRITE_IMAGE").is_some() {
        let image = make();
        let end = image.written().last().map_or(0, |page| page + 1).next_multiple_of(8);
        let bytes: Vec<u8> = (0..end).flat_map(|page| image.bytes(page)).collect();
        std::fs::write(&path, bytes).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() <= 1 << 17 && bytes.len().is_multiple_of(BLOCK), "the image is small");
    let mut image = Image::blank(512, 40);
    for (page, bytes) in bytes.chunks_exact(512).enumerate() {
        if bytes.iter().any(|byte| *byte != 0xFF) {
            image.set(page, bytes);
        }
    }
    let mut ram = vec![0; 9_000];
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    assert!(db.report().is_clean);
    let all = rows(&mut db, Direction::Forward).unwrap();
    assert_eq!(all, expected(&numbers(), 700));
    ask_indexes(&mut db, &all, "the image of version 1").unwrap();
    insert(&mut db, &[1000, 1001], 0, Durability::Durable).unwrap();
    assert_eq!(rows(&mut db, Direction::Forward).unwrap().len(), all.len() + 2);
}
