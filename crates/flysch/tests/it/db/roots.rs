//! Roots that go bad by themselves, and databases that are made where another one was.

use std::collections::BTreeSet;

use flysch::db::{Db, DbError, Direction, Durability, MountError};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::forge::{Forge, kind, payload, set_payload, word};
use super::image::Image;
use super::world::{OPTIONS, SCHEMA, expected, insert, rows};

const RAM: usize = 9_000;

fn create(image: &mut Image) -> Result<(), DbError> {
    let mut ram = vec![0; RAM];
    Db::create(image, &SCHEMA, OPTIONS, &mut ram).map(drop)
}

/// Open the database, and count its rows, which are those of the first numbers.
fn try_open(image: &mut Image) -> Result<i64, DbError> {
    let mut ram = vec![0; RAM];
    let mut db = Db::open(image, &SCHEMA, OPTIONS, &mut ram)?;
    let found = rows(&mut db, Direction::Forward)?;
    let ids: Vec<i64> = (0..).take(found.len()).collect();
    assert!(found == expected(&ids, 0), "rows are those of the first numbers");
    Ok(i64::try_from(found.len()).unwrap())
}

/// Open, insert `count` transactions of one row, and leave without a close.
fn live(image: &mut Image, from: i64, count: i64) -> Result<(), DbError> {
    let mut ram = vec![0; RAM];
    let mut db = Db::open(image, &SCHEMA, OPTIONS, &mut ram)?;
    (from..from + count).try_for_each(|id| insert(&mut db, &[id], 0, Durability::Durable))
}

/// A page of the newest root that cannot be read for good made the mount believe an older root in
/// silence: rows were gone, and the next write made the loss final. Here each page of the newest
/// root is lost in turn, after lives of any length: the mount answers with every row, or says that
/// the log is not whole, at the latest when something is to be written.
#[test]
fn a_root_that_is_lost_is_not_passed_over() {
    for count in [1, 3, 6, 40, 150, 400] {
        let mut image = Image::blank(512, 96);
        create(&mut image).unwrap();
        for life in 0..3 {
            live(&mut image, life * count, count).unwrap();
        }
        let wanted = 3 * count;
        for page in Forge::newest(&image, kind::ROOT) {
            let mut copy = image.clone();
            copy.set(page, &[0x5A; 512]);
            let story = format!("page {page} is lost after lives of {count}");
            let answer = try_open(&mut copy);
            let written = live(&mut copy, 3 * count, 1);
            match (answer, written) {
                (Ok(found), Ok(())) => assert_eq!(found, wanted, "{story}"),
                (_, written) => {
                    assert_eq!(written, Err(DbError::Mount(MountError::Broken)), "{story}");
                }
            }
        }
    }
}

/// A database that is made where one with the same seed was: seals alone do not tell the pages of
/// the two apart. Here the new one is never shown a row of the old one, whenever it is left.
#[test]
fn a_new_database_shows_nothing_of_the_one_before() {
    for blocks in [96, 520] {
        let mut image = Image::blank(512, blocks);
        create(&mut image).unwrap();
        live(&mut image, 5000, 150).unwrap();
        live(&mut image, 6000, 150).unwrap();
        for count in [0, 1, 2, 5, 7, 8, 9, 20, 64, 100] {
            let mut copy = image.clone();
            create(&mut copy).unwrap();
            assert_eq!(try_open(&mut copy), Ok(0));
            for life in 0..2 {
                live(&mut copy, life * count, count).unwrap();
                let found = try_open(&mut copy);
                assert_eq!(found, Ok((life + 1) * count), "{blocks} blocks");
            }
        }
    }
}

/// The power goes at any operation while a database is made where another was. What is found is the
/// old one with all its rows, the new one with none, or an error; and a database can be made then.
#[test]
fn making_a_database_again_may_be_cut() {
    let mut image = Image::blank(512, 96);
    create(&mut image).unwrap();
    live(&mut image, 0, 60).unwrap();
    live(&mut image, 60, 60).unwrap();
    for cut in 0.. {
        let mut copy = image.clone();
        copy.cut_in = Some(cut);
        let made = create(&mut copy);
        copy.cut_in = None;
        if made.is_err() {
            let found = try_open(&mut copy);
            assert!(found.is_err() || found == Ok(0) || found == Ok(120), "{found:?}, cut {cut}");
            create(&mut copy).unwrap();
        }
        live(&mut copy, 0, 10).unwrap();
        assert_eq!(try_open(&mut copy), Ok(10), "cut {cut}");
        live(&mut copy, 10, 80).unwrap();
        assert_eq!(try_open(&mut copy), Ok(90), "cut {cut}");
        if made.is_ok() {
            break;
        }
    }
}

/// A root that could not be written leaves its epoch visible on a block that is marked bad. The
/// next root had that epoch too, and the mount passed over both: it said that the log is not whole.
#[test]
fn a_root_that_failed_takes_its_epoch_with_it() {
    for failing in 0..3 {
        let mut image = Image::blank(512, 96);
        create(&mut image).unwrap();
        for life in 0..3 {
            live(&mut image, life * 5, 5).unwrap();
        }
        // The program of a root fails, and the power goes before another one is written.
        let epochs = |image: &Image| {
            let pages = Forge::newest(image, kind::ROOT);
            pages.into_iter().map(|page| (word(&image.bytes(page), 14), page)).collect::<Vec<_>>()
        };
        let before = epochs(&image).into_iter().max().unwrap().0;
        let mut copy = image.clone();
        live(&mut copy, 15, 1).unwrap();
        let (epoch, page) = epochs(&copy).into_iter().max().unwrap();
        assert_eq!(epoch, before + 1);
        let block = page / 8;
        for page in block * 8..=block * 8 + failing {
            let bytes = copy.bytes(page);
            image.set(page, &bytes);
        }
        image.bad[block] = true;
        for life in 3..9 {
            let story = format!("{failing} pages of the root are there, life {life}");
            live(&mut image, life * 5, 5).unwrap_or_else(|error| panic!("{error:?}, {story}"));
            assert_eq!(try_open(&mut image), Ok(life * 5 + 5), "{story}");
        }
    }
}

/// The block of the newest root.
fn newest_root(image: &Image) -> usize {
    let roots = Forge::newest(image, kind::ROOT);
    roots.into_iter().max_by_key(|page| word(&image.bytes(*page), 14)).unwrap() / 8
}

/// The chip after one more life, and the block of the root that it wrote.
fn next_root(image: &Image, from: i64) -> (Image, usize) {
    let mut copy = image.clone();
    live(&mut copy, from, 1).unwrap();
    let newest = newest_root(&copy);
    (copy, newest)
}

/// Of four roots in a row that one session writes, none is on the block of another, so that root
/// blocks wear alike.
#[test]
fn roots_are_written_in_turn() {
    let (mut image, mut ram) = (Image::blank(512, 96), vec![0; RAM]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut blocks = Vec::new();
    for id in 0..1500 {
        insert(&mut db, &[id], 0, Durability::Durable).unwrap();
        let block = newest_root(db.nand());
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
    }
    assert!(blocks.len() > 8, "roots are on {blocks:?} alone");
    for four in blocks.windows(4) {
        assert_eq!(BTreeSet::from_iter(four).len(), 4, "roots are on {blocks:?}");
    }
}

/// A root block went bad by itself, and on another one nothing is seen of a root that was begun.
/// The mount writes to one of the two. What the other one shows later hides no row.
#[test]
fn of_two_blocks_without_a_root_none_hides_anything() {
    for (lives, count) in [12, 18, 25].into_iter().flat_map(|count| (1..6).map(move |l| (l, count)))
    {
        let mut image = Image::blank(512, 96);
        create(&mut image).unwrap();
        for life in 0..lives {
            live(&mut image, life * 5, 5).unwrap();
        }
        let (copy, begun) = next_root(&image, lives * 5);
        let mut roots = Forge::newest(&image, kind::ROOT);
        roots.retain(|page| page % 8 == 0 && page / 8 != begun);
        roots.sort_by_key(|page| word(&image.bytes(*page), 14));
        let pages = begun * 8..begun * 8 + 8;
        for lost in &roots[..roots.len() - 1] {
            let mut image = image.clone();
            image.set(*lost, &[0x5A; 512]);
            pages.clone().for_each(|page| image.pages[page] = None);
            // Something else that was left there: it tells whether the block is erased.
            image.set(begun * 8 + 7, &[0x5A; 512]);
            live(&mut image, lives * 5, count).unwrap();
            let of_root = |page: &usize| copy.bytes(*page)[0] == kind::ROOT;
            if image.bytes(begun * 8 + 7) == [0x5A; 512] {
                for page in pages.clone().filter(of_root) {
                    image.set(page, &copy.bytes(page));
                }
            }
            let found = try_open(&mut image);
            assert_eq!(found, Ok(lives * 5 + count), "{lives} lives, {lost} is lost");
        }
    }
}

/// A root whose block was marked bad is not seen at one mount, and is at the next: it has the epoch
/// of the root that was written meanwhile. The rows of that session are there, whether it went on
/// in the list that both roots name or in others.
#[test]
fn a_root_on_a_marked_block_that_comes_to_light_hides_nothing() {
    for (lives, count) in
        [5, 12, 18, 25].into_iter().flat_map(|count| (1..6).map(move |lives| (lives, count)))
    {
        let mut image = Image::blank(512, 96);
        create(&mut image).unwrap();
        for life in 0..lives {
            live(&mut image, life * 5, 5).unwrap();
        }
        let (copy, block) = next_root(&image, lives * 5);
        // Its erase had gone well, and nothing of it can be seen.
        (block * 8..block * 8 + 8).for_each(|page| image.pages[page] = None);
        image.bad[block] = true;
        live(&mut image, lives * 5, count).unwrap();
        for page in (block * 8..block * 8 + 8).filter(|page| copy.pages[*page].is_some()) {
            let bytes = copy.bytes(page);
            image.set(page, &bytes);
        }
        assert_eq!(try_open(&mut image), Ok(lives * 5 + count), "{count} rows after {lives} lives");
    }
}

/// Root blocks go bad until one is left. Nothing is written any more, and that one is not erased:
/// wherever the power goes, all rows are there.
#[test]
fn the_last_root_block_is_kept() {
    for count in [5, 60, 300] {
        let mut image = Image::blank(512, 96);
        create(&mut image).unwrap();
        live(&mut image, 0, count).unwrap();
        let last = newest_root(&image);
        for page in Forge::newest(&image, kind::ROOT) {
            image.bad[page / 8] = page / 8 != last;
        }
        for cut in 0..6 {
            let mut copy = image.clone();
            copy.cut_in = Some(cut);
            let written = live(&mut copy, count, 1);
            assert!(written.is_err(), "no root can be written");
            copy.cut_in = None;
            assert_eq!(try_open(&mut copy), Ok(count), "cut {cut} of a life after {count} rows");
        }
    }
}

/// A close is cut in its last program. The next mount does not see that page, begins a root, and
/// is cut too; the one after it sees the page and not the root. Whatever is written then is there
/// when the root comes to light.
#[test]
fn a_root_that_was_begun_before_a_close_came_to_light_hides_nothing() {
    for lives in 1..9 {
        let mut image = Image::blank(512, 96);
        create(&mut image).unwrap();
        for life in 0..lives {
            live(&mut image, life * 5, 5).unwrap();
        }
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        insert(&mut db, &[lives * 5], 0, Durability::Durable).unwrap();
        let unclosed = Image::clone(db.nand());
        db.close().map(drop).unwrap();
        let count = lives * 5 + 1;
        // The mount that does not see the stop: its root, without the page that confirms it.
        let (other, block) = next_root(&unclosed, count);
        let pages = block * 8..block * 8 + 8;
        pages.clone().for_each(|page| image.pages[page] = None);
        live(&mut image, count, 5).unwrap();
        if pages.clone().all(|page| image.pages[page].is_none()) {
            let is_root = |page: &usize| other.bytes(*page)[0] == kind::ROOT;
            for page in pages.filter(is_root) {
                let bytes = other.bytes(page);
                image.set(page, &bytes);
            }
        }
        assert_eq!(try_open(&mut image), Ok(count + 5), "after {lives} lives");
    }
}

/// A close is cut in any of its programs. The next life sees the page that was cut, and writes
/// rows. After that nobody sees the page again. All rows are there.
#[test]
fn a_page_of_a_close_may_be_seen_once() {
    let mut gone = 0;
    for count in 1..60 {
        let mut image = Image::blank(512, 96);
        create(&mut image).unwrap();
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        (0..count).for_each(|id| insert(&mut db, &[id], 0, Durability::Durable).unwrap());
        let mut last = Image::clone(db.nand());
        db.nand_mut().moments = Some(Vec::new());
        db.close().map(drop).unwrap();
        for moment in image.moments.take().unwrap() {
            let is_new =
                |page: &usize| last.pages[*page].is_none() && moment.pages[*page].is_some();
            let page = (0..moment.pages.len()).find(is_new);
            last = moment;
            let Some(page) = page else { continue };
            for len in [1, 2, 20] {
                let mut copy = last.clone();
                live(&mut copy, count, len).unwrap();
                if copy.pages[page] == last.pages[page] {
                    copy.pages[page] = None;
                    gone += 1;
                    let story = format!("page {page} after {count} rows and {len} more");
                    assert_eq!(try_open(&mut copy), Ok(count + len), "{story}");
                }
            }
        }
    }
    assert!(gone > 0, "no page was seen once");
}

/// Eight root blocks are those of an older version, and do not move: an anchor has no room for so
/// many. A front that tells of eight blocks that move was taken for one of the engine's.
#[test]
fn more_root_blocks_than_can_move_are_refused() {
    let mut image = Image::blank(512, 96);
    create(&mut image).unwrap();
    live(&mut image, 0, 5).unwrap();
    let forge = Forge::of(&image);
    for (count, is_taken) in [(4, true), (5, false), (8, false)] {
        let mut copy = image.clone();
        for page in Forge::newest(&image, kind::ROOT) {
            let mut bytes = copy.bytes(page);
            let mut front = payload(&bytes);
            if front[..6] != *b"flysch" {
                continue;
            }
            assert_eq!(front[22], 0x84, "four root blocks, and anchors");
            front[22] = 0x80 | count;
            for block in 4..usize::from(count) {
                front[23 + 2 * block..25 + 2 * block].copy_from_slice(&[20 + block as u8, 0]);
            }
            set_payload(&mut bytes, &front);
            forge.put(&mut copy, page, &mut bytes);
        }
        let found = try_open(&mut copy);
        if is_taken {
            assert_eq!(found, Ok(5));
        } else {
            assert!(matches!(found, Err(DbError::Mount(_))), "{count} root blocks: {found:?}");
        }
    }
}

/// A state of many runs takes a root of many pages. Where its name pages lay further behind than a
/// mount sought them, a root that was lost could be passed over.
#[test]
fn the_longest_root_has_its_names_where_a_mount_seeks_them() {
    const COLUMNS: [Column<'static>; 8] = {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let mut columns = [Column::required("", ColumnType::Integer); 8];
        let mut at = 0;
        while at < 8 {
            columns[at] = Column::required(names[at], ColumnType::Integer);
            at += 1;
        }
        columns
    };
    const fn ordered(column: &'static [u8], is_unique: bool) -> Index<'static> {
        Index { columns: column, kind: IndexKind::Ordered, is_unique }
    }
    const INDEXES: &[Index<'static>] = &[
        ordered(&[0], true),
        ordered(&[1], false),
        ordered(&[2], false),
        ordered(&[3], false),
        ordered(&[4], false),
        ordered(&[5], false),
        ordered(&[6], false),
        ordered(&[7], false),
    ];
    const WIDE: Schema<'static> = Schema {
        tables: &[Table {
            name: "wide",
            columns: &COLUMNS,
            indexes: INDEXES,
            zone: None,
            keep: None,
        }],
    };
    let (mut image, mut ram) = (Image::of(512, 32, 256), vec![0; 60_000]);
    let mut prng = Prng::new(1);
    Db::create(&mut image, &WIDE, OPTIONS, &mut ram).map(drop).unwrap();
    let mut longest = 0;
    for _ in 0..40 {
        let mut db = Db::open(&mut image, &WIDE, OPTIONS, &mut ram).unwrap();
        let before = db.stats().programs;
        db.begin().map(drop).unwrap();
        longest = longest.max(db.stats().programs - before);
        for _ in 0..100 {
            let values =
                core::array::from_fn::<_, 8, _>(|_| Value::Integer(prng.next().cast_signed()));
            let mut tx = db.begin().unwrap();
            tx.insert(0, &values).unwrap();
            tx.commit(Durability::Durable).unwrap();
        }
    }
    assert!(longest > 8, "a root takes {longest} pages, its confirm page among them");
}
