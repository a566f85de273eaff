//! The images of the versions of the format: what was released is read for ever.
//!
//! A file holds the data bytes of every page of blocks of 8 pages of 512 bytes, up to the last
//! block that is not erased; what lies behind is erased. `FLYSCH_WRITE_IMAGE=1` writes that of the
//! newest version anew.

use std::path::{Path, PathBuf};

use flysch::db::{Db, Direction, Durability};
use flysch::media::VERSION;
use flysch::row::Value;

use super::image::Image;
use super::world::{OPTIONS, Row, SCHEMA, ask_indexes, expected, insert, row, rows};

const ROWS: i64 = 80;
const BLOCK: usize = 8 * 512;
const RAM: usize = 9_000;
/// Blocks of the image of each version.
const BLOCKS: [u32; 6] = [40, 40, 64, 64, 64, 64];
/// Lives that end by a cut before the image is left: root blocks have moved then.
const LIVES: i64 = 75;

fn numbers() -> Vec<i64> {
    (0..ROWS).collect()
}

fn path(version: u8) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/images/v{version}.bin"))
}

fn write_newest() {
    let mut image = Image::blank(512, BLOCKS[usize::from(VERSION) - 1]);
    Db::create(&mut image, &SCHEMA, OPTIONS, &mut vec![0; RAM]).map(drop).unwrap();
    for number in 0..LIVES {
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        insert(&mut db, &[number], 700, Durability::Durable).unwrap();
    }
    for number in 0..LIVES {
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        write_again(&mut db, number);
    }
    let mut ram = vec![0; RAM];
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let rest: Vec<i64> = (LIVES..ROWS).collect();
    insert(&mut db, &rest, 700, Durability::Durable).unwrap();
    db.close().unwrap();
    let end = image.written().last().map_or(0, |page| page + 1).next_multiple_of(8);
    let bytes: Vec<u8> = (0..end).flat_map(|page| image.bytes(page)).collect();
    std::fs::write(path(VERSION), bytes).unwrap();
}

/// Replace a row by one that is alike, so that much of the device is dead.
fn write_again(db: &mut Db<'_, '_, &mut Image>, number: i64) {
    let row = row(number, 700);
    let table = u8::from(matches!(row, Row::Note(..)));
    let mut tx = db.begin().unwrap();
    assert!(tx.delete(table, &[Value::Integer(number)]).unwrap());
    row.insert(&mut tx).unwrap();
    tx.commit(Durability::Durable).unwrap();
}

#[test]
fn the_images_of_all_versions_are_read() {
    if std::env::var_os("FLYSCH_WRITE_IMAGE").is_some() {
        write_newest();
    }
    for (version, blocks) in (1..=VERSION).zip(BLOCKS) {
        let bytes = std::fs::read(path(version)).unwrap();
        assert!(bytes.len() <= 1 << 18 && bytes.len().is_multiple_of(BLOCK), "the image is small");
        let mut image = Image::blank(512, blocks);
        for (page, bytes) in bytes.chunks_exact(512).enumerate() {
            if bytes.iter().any(|byte| *byte != 0xFF) {
                image.set(page, bytes);
            }
        }
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        assert!(db.report().is_clean);
        let all = rows(&mut db, Direction::Forward).unwrap();
        assert_eq!(all, expected(&numbers(), 700));
        ask_indexes(&mut db, &all, &format!("the image of version {version}")).unwrap();
        insert(&mut db, &[1000, 1001], 0, Durability::Durable).unwrap();
        assert_eq!(rows(&mut db, Direction::Forward).unwrap().len(), all.len() + 2);
    }
}
