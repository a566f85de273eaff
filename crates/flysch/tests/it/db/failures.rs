//! Programs, erases and reads that fail: what was committed is there, and blocks are marked.

use flysch::db::{Budget, Db, DbError, Direction, Durability};
use flysch::row::Value;

use super::forge::{Forge, kind};
use super::image::Image;
use super::rings;
use super::world::{OPTIONS, SCHEMA, ask_indexes, created, expected, insert, row, rows};

const RAM: usize = 9_000;

/// Every block of which a program or an erase failed bears a mark, and is used no more: the chip
/// refuses what is done to a block with a mark.
#[test]
fn blocks_that_failed_are_marked_and_left() {
    for every in [17, 19, 23, 29, 31, 37, 40, 43, 53, 67, 79, 101] {
        let mut image = created(200, RAM);
        image.fails_every = Some(every);
        let (mut kept, mut next) = (Vec::new(), 0);
        for life in 0..5 {
            let mut ram = vec![0; RAM];
            let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
            for _ in 0..60 {
                let numbers = [next, next + 1, next + 2];
                insert(&mut db, &numbers, 700, Durability::Durable).unwrap();
                kept.extend(numbers);
                next += 3;
            }
            let (chip, story) = (db.nand(), format!("one in {every} fails, life {life}"));
            // A root whose name page failed is still the one in force: its block goes on.
            let is_root = |block: &usize| chip.bytes(block * 8)[0] == kind::ROOT;
            let failed = chip.failed.iter().map(|block| block.0 as usize);
            let unmarked = failed.filter(|block| !chip.bad[*block] && !is_root(block)).count();
            assert_eq!(unmarked, 0, "of {} blocks, {story}", chip.failed.len());
            assert!(!chip.failed.is_empty(), "{story}");
        }
        image.fails_every = None;
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        // Rows of blocks that ended early are moved: they come last.
        let all = rows(&mut db, Direction::Forward).unwrap();
        let wanted = expected(&kept, 700);
        assert_eq!(all.len(), wanted.len(), "one in {every} fails");
        assert!(wanted.iter().all(|row| all.contains(row)), "one in {every} fails");
    }
}

/// What is looked at behind each commit of a session.
type Look = fn(&mut Db<'_, '_, &mut Image>);

/// In a session that does not end, 250 commits for each of the root blocks that fail, one after the
/// other. What is on flash is opened behind each of them. Returns how many commits were done
/// before one was refused, if one was.
fn wear_root_blocks_out(image: &mut Image, is_erase: bool, count: usize, look: Look) -> usize {
    let (mut ram, mut other_ram) = (vec![0; RAM], vec![0; RAM]);
    let mut db = Db::open(image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut all = rows(&mut db, Direction::Forward).unwrap();
    let first = all.len();
    for failed in 0..count {
        let chip = db.nand_mut();
        let mut roots = Forge::newest(chip, kind::ROOT);
        roots.retain(|page| page % 8 == 0 && !chip.bad[page / 8]);
        // The root in force, and the one that is to give way next.
        let root = roots[(failed % 2 * 3).min(roots.len() - 1)];
        chip.worn_out[usize::from(is_erase)].insert((root / 8) as u32);
        for _ in 0..250 {
            let id = i64::try_from(all.len()).unwrap();
            match insert(&mut db, &[id], 0, Durability::Durable) {
                Ok(()) => all.extend(expected(&[id], 0)),
                refused => {
                    assert_eq!(refused, Err(DbError::Full), "{failed} failed");
                    return all.len() - first;
                }
            }
            look(&mut db);
        }
        let mut copy = Image::clone(db.nand());
        let mut other = Db::open(&mut copy, &SCHEMA, OPTIONS, &mut other_ram).unwrap();
        let found = rows(&mut other, Direction::Forward).unwrap();
        assert_eq!(found.len(), all.len(), "{failed} failed");
        // Rows that compaction moves come last.
        assert!(all.iter().rev().take(500).all(|row| found.contains(row)), "{failed} failed");
    }
    all.len() - first
}

/// The anchor that does not name the root blocks in use: the next move erases it.
fn next_anchor(image: &Image) -> u32 {
    u32::from(Forge::newest(image, kind::ANCHOR)[0] < 8)
}

/// Neither does another block hold roots than the four, nor is another kept for them.
fn has_four_root_blocks(db: &mut Db<'_, '_, &mut Image>) {
    let (anchors, lists) = (2, 2);
    let kept = db.stats().log_blocks;
    assert!(kept <= 4 + anchors + lists, "{kept} blocks are kept for the log");
}

/// More root blocks fail in one session than there are: others are named in their place before the
/// next one fails.
#[test]
fn a_session_replaces_root_blocks_that_fail() {
    for is_erase in [false, true] {
        let mut image = created(200, RAM);
        let done = wear_root_blocks_out(&mut image, is_erase, 8, |_| {});
        assert_eq!(done, 8 * 250, "erases: {is_erase}");
        let marked = image.bad.iter().filter(|is_bad| **is_bad).count();
        assert!(marked > 4, "{marked} blocks are marked, erases: {is_erase}");
    }
}

/// Where the block of an anchor fails, root blocks stay: as long as some are left the session goes
/// on, and what it did is there in the end.
#[test]
fn root_blocks_stay_where_an_anchor_fails() {
    for is_erase in [false, true] {
        let mut image = created(200, RAM);
        let anchor = next_anchor(&image);
        image.worn_out[usize::from(is_erase)].insert(anchor);
        let done = wear_root_blocks_out(&mut image, is_erase, 8, |db| {
            let is_marked = (0..2).any(|anchor| db.nand().bad[anchor]);
            if is_marked {
                has_four_root_blocks(db);
            }
        });
        assert!((500..2000).contains(&done), "{done} commits, erases: {is_erase}");
        assert!(image.bad[anchor as usize], "the anchor is marked, erases: {is_erase}");
    }
}

/// Where space is short, a session takes no blocks for roots amid a call.
#[test]
fn root_blocks_stay_where_space_is_short() {
    let mut image = created(200, RAM);
    let mut ram = vec![0; RAM];
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut id = 0;
    while db.stats().free_blocks > 15 {
        insert(&mut db, &[id], 700, Durability::Durable).unwrap();
        id += 1;
    }
    db.close().unwrap();
    wear_root_blocks_out(&mut image, true, 2, has_four_root_blocks);
    assert!(image.bad.contains(&true), "a root block failed");
}

/// A read that fails once fails a call, and nothing else: a merge that it stopped goes on where it
/// was, and every row is in its indexes.
#[test]
fn a_read_that_fails_once_does_no_lasting_harm() {
    let mut image = created(160, RAM);
    let (mut kept, mut failed) = (Vec::new(), 0);
    let mut ram = vec![0; RAM];
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    for id in 0..1500_i64 {
        // Reads that merges make come by themselves sooner or later.
        let reads = db.nand().reads;
        db.nand_mut().noise_at = Some(reads + 1 + id.unsigned_abs() % 7);
        match insert(&mut db, &[id], 0, Durability::Durable) {
            Ok(()) => kept.push(id),
            Err(DbError::Media(_) | DbError::Store(_)) => failed += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    db.nand_mut().noise_at = None;
    assert!(failed > 50, "{failed} calls met the failure");
    let found = rows(&mut db, Direction::Forward).unwrap();
    // A call that failed behind its commit has committed.
    assert!(found.len() >= kept.len());
    let has = |id: &i64| expected(&[*id], 0).iter().all(|row| found.contains(row));
    assert!(kept.iter().all(has), "what was acknowledged is there");
    ask_indexes(&mut db, &found, "reads failed").unwrap();
}

/// The power goes after any operation of a session in which programs and erases fail, also between
/// the mark of a block and the record that tells of it. The session behind the cut uses no block
/// with a mark: the chip would refuse it.
#[test]
fn a_cut_behind_a_failure_leaves_the_block_that_failed() {
    let mut marked = 0;
    for every in [13, 17, 19, 23] {
        let mut image = created(60, RAM);
        image.fails_every = Some(every);
        image.moments = Some(Vec::new());
        let (mut ram, mut acknowledged) = (vec![0; RAM], Vec::new());
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for id in 0..60 {
            insert(&mut db, &[id], 700, Durability::Durable).unwrap();
            acknowledged.push(db.nand().moments.as_ref().map_or(0, Vec::len));
        }
        for (number, mut chip) in image.moments.take().unwrap_or_default().into_iter().enumerate() {
            chip.fails_every = Some(u64::MAX);
            marked += u32::from(chip.bad.contains(&true));
            let mut db = Db::open(&mut chip, &SCHEMA, OPTIONS, &mut ram).unwrap();
            for id in 1000..1012 {
                insert(&mut db, &[id], 700, Durability::Durable).unwrap();
            }
            let all = rows(&mut db, Direction::Forward).unwrap();
            let kept = (0..60).zip(&acknowledged).filter(|(_, behind)| **behind <= number);
            let ids: Vec<i64> = kept.map(|(id, _)| id).chain(1000..1012).collect();
            let wanted = expected(&ids, 700);
            let story = format!("one in {every} fails, a cut behind {number}");
            assert!(wanted.iter().all(|row| all.contains(row)), "{story}");
        }
    }
    assert!(marked > 100, "{marked} copies have a block with a mark");
}

/// A transaction on a new device, of which a part is taken back. A read fails at `noise_at`. The
/// outcomes of that and of the commit are returned; without `noise_at` the reads before both.
fn take_back(noise_at: Option<u64>) -> Result<[Result<(), DbError>; 2], u64> {
    let (mut image, mut ram) = (created(160, RAM), vec![0; RAM]);
    image.noise_at = noise_at;
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    insert(&mut db, &[1, 2, 3], 0, Durability::Durable).unwrap();
    let mut tx = db.begin().unwrap();
    (10..20).for_each(|id| row(id, 0).insert(&mut tx).unwrap());
    let savepoint = tx.savepoint().unwrap();
    (20..60).for_each(|id| row(id, 0).insert(&mut tx).unwrap());
    if noise_at.is_none() {
        return Err(db.nand().reads);
    }
    let taken_back = tx.roll_back_to(savepoint);
    let committed = tx.commit(Durability::Durable);
    let rest = if committed.is_ok() { 10..20 } else { 10..10 };
    let wanted: Vec<i64> = (1..4).chain(rest).collect();
    assert_eq!(rows(&mut db, Direction::Forward), Ok(expected(&wanted, 0)), "{noise_at:?}");
    Ok([taken_back, committed])
}

/// Where a read fails while a transaction is taken back to a savepoint, it is neither here nor
/// there: it is not committed.
#[test]
fn what_was_taken_back_by_half_is_not_committed() {
    let before = take_back(None).unwrap_err();
    let mut failed = 0;
    while let Ok([Err(error), committed]) = take_back(Some(before + 1 + failed)) {
        assert_eq!(committed, Err(DbError::Savepoint), "behind {failed} reads: {error:?}");
        failed += 1;
    }
    assert!(failed > 0, "no read failed");
    assert_eq!(take_back(Some(u64::MAX)), Ok([Ok(()); 2]));
}

/// A transaction that outgrows the RAM finds its own rows before those that it replaced, though
/// their entries are in RAM and its own are not. One that has too many is refused by name.
#[test]
fn a_transaction_finds_what_it_wrote_in_runs() {
    let mut image = created(160, RAM);
    let mut ram = vec![0; RAM];
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    insert(&mut db, &[1, 2, 3], 0, Durability::Durable).unwrap();
    let mut tx = db.begin().unwrap();
    let values =
        |id, label| [Value::Integer(id), Value::Integer(id % 10), Value::Null, Value::Text(label)];
    for id in 1..4 {
        assert_eq!(tx.update(0, &values(id, "new")), Ok(true));
    }
    let mut out = [0; 256];
    for id in 10..5000 {
        tx.insert(0, &values(id, "more")).unwrap();
        let row = tx.get(0, 0, &[Value::Integer(1 + id % 3)], &mut out).unwrap();
        let label = row.map(|row| row.column(3) == Ok(Value::Text("new")));
        assert_eq!(label, Some(true), "behind {id} rows");
    }
    tx.roll_back().unwrap();
    let row = db.get(0, 0, &[Value::Integer(2)], &mut out).unwrap();
    assert!(row.is_some_and(|row| row.column(3) != Ok(Value::Text("new"))));
}

/// Where all programs and erases fail, no block is left for the log. The commit that was refused,
/// and those that follow, do not go to a block that was marked.
#[test]
fn a_log_that_found_no_block_does_not_go_on_in_one_that_failed() {
    let mut refused = 0;
    for spared in 0..40 {
        let mut image = created(24, RAM);
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let mut kept: Vec<i64> = (0..30 + spared).collect();
        for id in &kept {
            insert(&mut db, &[*id], 40, Durability::Durable).unwrap();
        }
        let before = refused;
        db.nand_mut().fails_every = Some(1);
        let mut tx = db.begin().unwrap();
        if row(500, 40).insert(&mut tx).is_ok() {
            assert_eq!(tx.commit(Durability::Durable), Err(DbError::Full), "{spared}");
            refused += 1;
        }
        // From here on the chip works, and refuses what is done to a block with a mark.
        db.nand_mut().fails_every = Some(u64::MAX);
        let is_kept = (0..3).any(|_| {
            let outcome = db.sync();
            assert!(matches!(outcome, Ok(()) | Err(DbError::Full)), "{spared}: {outcome:?}");
            outcome == Ok(())
        });
        kept.extend((is_kept && refused > before).then_some(500));
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let all = rows(&mut db, Direction::Forward).unwrap();
        assert_eq!(all, expected(&kept, 40), "{spared}");
    }
    assert!(refused > 30, "{refused} commits were refused");
}

/// A device that is worn out finds no block for its log. Maintenance has nothing left to do then,
/// though a block of a ring is to go with the next record. It went on for ever.
#[test]
fn maintenance_of_a_worn_out_device_ends() {
    let mut stuck = 0;
    for spared in 0..60 {
        let mut image = Image::blank(512, 30);
        let mut ram = vec![0; RAM];
        let mut db = Db::create(&mut image, &rings::LEAST, rings::OPTIONS, &mut ram).unwrap();
        (0..60 + spared).for_each(|id| rings::insert(&mut db, rings::EVENT, id).unwrap());
        db.nand_mut().fails_every = Some(1);
        let refused = (0..60).filter(|id| rings::insert(&mut db, rings::EVENT, 1000 + id).is_err());
        assert!(refused.count() > 30, "{spared}");
        db.nand_mut().fails_every = None;
        let is_left = (0..100).all(|_| db.maintain(Budget { operations: 500 }).unwrap());
        assert!(!is_left, "{spared}: {:?}", db.stats());
        stuck += u32::from(db.sync() == Err(DbError::Full));
    }
    assert!(stuck > 10, "{stuck} devices were worn out");
}
