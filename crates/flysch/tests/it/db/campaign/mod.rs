//! The campaign: random histories on random devices, cut in every way that flash can be cut.
//!
//! A history follows from its seed: schema, keys, memory, geometry, bad blocks, failures, and the
//! lives of the device, most of which end by a cut. What was acknowledged is there after each,
//! whole transactions only, in every index; every mount succeeds. A failure is shrunk, and printed
//! as a line by which `cargo xtask campaign --replay` shows it again.

mod ask;
mod change;
mod constraints;
mod device;
mod few;
mod found;
mod history;
mod joins;
mod keys;
mod queries;
mod rot;
mod rows;
mod walks;
mod world;

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::told;
use device::{Tally, live_through};
use history::History;

/// Histories of a run that says nothing else.
const HISTORIES: u64 = 72;
const WITH_CONSTRAINTS: u64 = 20;
const WITH_QUERIES: u64 = 20;
const WITH_WALKS: u64 = 16;
const WITH_WRONG_BITS: u64 = 8;
/// Histories that are tried to make a failure smaller.
const TRIES: u64 = 600;

thread_local! {
    /// The last panic of a thread whose panics are caught.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
    static IS_CATCHING: RefCell<bool> = const { RefCell::new(false) };
}

/// Live through a history; why it failed.
fn try_history(history: &History) -> Result<Tally, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let former = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IS_CATCHING.with_borrow(|is| *is) {
                CAUGHT.set(Some(info.to_string()));
            } else {
                former(info);
            }
        }));
    });
    IS_CATCHING.set(true);
    let lived = panic::catch_unwind(AssertUnwindSafe(|| live_through(history)));
    IS_CATCHING.set(false);
    lived.map_err(|_| CAUGHT.take().unwrap_or_default())
}

/// Make a failure small, and say how it is seen again.
fn report(history: History, why: &str) -> String {
    let tries = told("FLYSCH_TRIES").unwrap_or(TRIES) as u32;
    let least = history.shrink(tries, |less| try_history(less).is_err());
    let why = try_history(&least).err().unwrap_or_else(|| why.to_owned());
    let world = world::World::draw(least.seed);
    format!("{why}\n{world:?}\nreplay: {least}")
}

/// `FLYSCH_HISTORIES` histories from seed `FLYSCH_SEED` on, on all processors; or the history
/// `FLYSCH_REPLAY`.
#[test]
fn random_histories_are_survived() {
    if let Ok(text) = std::env::var("FLYSCH_REPLAY") {
        let history = History::parse(&text).expect("a history as it was printed");
        let tally = try_history(&history).unwrap_or_else(|why| panic!("{}", report(history, &why)));
        println!("{tally:?}");
        return;
    }
    let first = told("FLYSCH_SEED").unwrap_or(1);
    survive(first, told("FLYSCH_HISTORIES").unwrap_or(HISTORIES));
}

#[test]
fn histories_with_constraints_are_survived() {
    let tally = survive(constraints::FROM, WITH_CONSTRAINTS);
    assert!(tally.forbidden > 0, "constraints forbid something: {tally:?}");
}

#[test]
fn histories_with_queries_are_survived() {
    survive(queries::FROM, WITH_QUERIES);
}

#[test]
fn histories_with_cursors_among_changes_are_survived() {
    let tally = survive(keys::FROM, WITH_WALKS);
    assert!(tally.walked > 0, "cursors come to their ends: {tally:?}");
}

#[test]
fn histories_with_wrong_bits_are_survived() {
    survive(world::WRONG_FROM, WITH_WRONG_BITS);
}

/// Live through so many histories from a seed on.
#[expect(clippy::print_stdout, reason = "the campaign reads what was done")]
fn survive(first: u64, count: u64) -> Tally {
    let end = first + count;
    let next = AtomicU64::new(first);
    let work = || {
        let (mut tally, mut failures) = (Tally::default(), Vec::new());
        let mut seeds = core::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        while let Some(seed) = seeds.next().filter(|seed| *seed < end && failures.len() < 3) {
            let history = History { rots: seed.is_multiple_of(3), ..History::draw(seed) };
            match try_history(&history) {
                Ok(lived) => tally.add(&lived),
                Err(why) => failures.push(report(history, &why)),
            }
        }
        (tally, failures)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (part, failed) = worker.join().unwrap();
            tally.add(&part);
            failures.extend(failed);
        }
    });
    println!("seeds from {first}: {tally:?}");
    assert!(failures.is_empty(), "{} histories failed:\n{}", failures.len(), failures.join("\n\n"));
    tally
}

/// Histories that were not survived once: a tombstone moved over a key that had come again; a name
/// page of a close that was cut, programmed a second time; a state that was longer than its buffer;
/// a range that went backwards over what a snapshot keeps; a tail whose rows have more entries than
/// those of the table that a transaction begins with; a lazy commit that put rows into a ring as
/// they were there already, and was lost; a scan of a ring at a snapshot, whose tail came to
/// another page; a range that went backwards and ended before the least code; a stale entry that
/// hid the rest of its page; a record without a commit, which the `NvRam` passed over; a Bloom
/// filter that was filled from where that of a run was left which is gone; a tail whose entries
/// fill the memory, and come to it in another order at a mount; a moved tombstone that has a unique
/// key of a newer row; rows that refer to each other in a circle, of which one copied what another
/// had changed, while its own children had still to follow; a record that found no place on a full
/// device, and counted as the one with the whole tail, so that a mount met a longer chain of parts
/// than it reads; a copy from a parent that was made too long to copy from; rows that were moved
/// in a transaction which had nothing but savepoints; a delete that sets null in a row whose values
/// others, too long for that, have to copy; a row that was never committed, on a void page that old
/// entries of its key and of a second index both name; pages that rotted in the copy of a block,
/// which was still under way at the repair; a ring that gave rows back once a transaction had seen
/// them; what a ring gave back on a device too worn to record it, which was there again; a deleted
/// row that a repair showed and took for certain, by an older tombstone that it had put again; a
/// ring whose one row a cut commit had written again, so that two states were alike; many keys of
/// one code in a cell, which a repair did not put together. The last one stands for that of the
/// Bloom filter, in which the engine goes another way by now: it is not survived with that fault.
const WERE_NOT: [&str; 26] = [
    "405",
    "97",
    "2230",
    "30030/0:599-622,627-641,679-707,710-711,718-733,736-745,748-751,830-867,1026-1032,1115-1119",
    "30090/0:274,276,279,362-363,366-367,369-371",
    "14/10:2!/11:0-1!/13:2-4/14:!",
    "610003/0:0,2,5,7-8,11,40,43-44,48-52,54-56,67-69,71!",
    "30000281/0:0,2-3,5,8-9,13,15-17/2:1-2,6-10!/3:!",
    "6005555/0:912-961,969-1199,1207-1402,1431-1514,1543-1698/2:2-3!/4:0,2!/5:0-2,4-5,7,9,11!/11:!",
    "rot 75000063/2:8,11,16,18,21,25!/3:0-1,4,7-8!/4:0,7,14-16!/6:0!/7:0!/8:1",
    "97005040/0:2-4,9,12,16-21,24,26-30,32,34-37",
    "101005233/26:4-6,38,43,46,50-54,63-64!/28:2!",
    "100448047/0:!/1:1,3!/2:0,3-4!/3:0-2!/5:1!/7:!/8:6-7!/9:2,8-9!/13:0!/15:0-2,4-8,13,15-16,34,47-51,58,61,63-66,68,70-71,77-78,80,91-92,96-99",
    "112000477/7:3!",
    "rot 113000835/0:4-899",
    "116000023/2:3",
    "117000875/0:5-499",
    "125000059/0:2-14,18-20,27-29,42-44!/1:0!/10:2!/12:7!/13:0-1!/17:8/21:0!/22:4!",
    "130003780/0:0-61,64-65,68,70,81/1:/3:1-3!",
    "rot 140001765/0:0-388,413-420",
    "140003480/0:0-149",
    "170006705/0:1-1864/4:0-2,4-11!/6:0-2!/7:!",
    "rot 200001501/0:0-3!/2:0-5!/3:0!/4:2!/5:1,3!/6:2-4!/7:2!/8:0-1!/9:0-5!/10:0-4!/11:!/14:1-2,4-5!/16:0-2,4-6!/17:0,3-4,8,12-13,17,19-20,22,27!",
    "220001089/3:0-1!/4:0-1!/5:0-2!/6:0!/9:!/10:!/11:0!/12:0-5/14:1-2!",
    "rot 265000191/1:0,2-20,22-26,28-34,36-44,46-50,52!/2:1-6!/8:0!/14:1!",
    "292000009",
];

#[test]
fn histories_that_were_not_survived_once_are() {
    for text in WERE_NOT {
        let history = History::parse(text).unwrap();
        let tally = try_history(&history).unwrap_or_else(|why| panic!("{}", report(history, &why)));
        assert!(tally.commits > 0, "{text} does something: {tally:?}");
    }
}
