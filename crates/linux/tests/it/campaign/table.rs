//! The table stack × mode of docs/TESTING.md, by playing scripts of one mode alone.

use flysch_chip::Ending;

use super::life::Tally;
use super::losses::loses;
use super::script::{MODES, Mode, Script};
use super::{name_of, number, verdict};
use crate::machine::{FASTMAP, KINDS, Kind, LZO};

const COLUMNS: [Kind; 6] = [Kind::Jffs2, Kind::Yaffs2, LZO, FASTMAP, KINDS[5], KINDS[7]];

const fn what(mode: Mode) -> &'static str {
    match mode {
        Mode::Ends(Ending::NotBegun) => "not begun",
        Mode::Ends(Ending::Torn) => "a prefix",
        Mode::Ends(Ending::Complete) => "complete",
        Mode::Ends(Ending::Marginal) => "marginal",
        Mode::Ends(Ending::Scattered) => "some sectors whole and others missing",
        Mode::Ends(Ending::Noisy) => "noise that ECC accepts",
        Mode::Ends(Ending::Unseen) => "nothing to be seen",
        Mode::Ends(Ending::Unsteady) => "otherwise at each read",
        Mode::Ends(Ending::Fading) => "fading",
        Mode::Paired => "paired pages",
        Mode::Disturbed => "read disturb of a bit in a sector",
        Mode::Failing => "some programs and erases fail",
        Mode::Worn => "most programs and erases fail",
    }
}

/// What scripts of one mode did to a stack: a cell of the table, and what nobody knows of.
fn cell(kind: Kind, mode: Mode, count: u64, first: u64) -> (String, Vec<String>) {
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for seed in first..first + count {
        let script = Script::draw(kind, seed, Some(mode));
        let why = verdict(&script, &mut tally).err();
        failures.extend(why.map(|why| format!("{}:{script}: {why}", name_of(kind))));
    }
    if loses(kind, mode).is_none() {
        return (format!("{} cuts", tally.cuts), failures);
    }
    let unseen = format!("{} loses nothing: {mode:?}", name_of(kind));
    let unknown = if failures.is_empty() { vec![unseen] } else { Vec::new() };
    (format!("loses {} of {count}", failures.len()), unknown)
}

/// What `losses` says of each stack and mode, by trying all of them: each mode that a stack is said
/// to lose is seen to lose, and no other does. By hand, with `cargo xtask campaign --table`.
#[test]
fn losses_are_those_of_linux() {
    let Some(count) = number("FLYSCH_TABLE") else { return };
    let first = number("FLYSCH_SEED").unwrap_or(0);
    let names: Vec<&str> = COLUMNS.into_iter().map(name_of).collect();
    println!("| how a cut ends, or what else the chip does | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(COLUMNS.len()));
    let mut unknown = Vec::new();
    for mode in MODES {
        let mut cells = Vec::new();
        for kind in COLUMNS {
            let (cell, others) = cell(kind, mode, count, first);
            cells.push(cell);
            unknown.extend(others);
        }
        println!("| {} | {} |", what(mode), cells.join(" | "));
    }
    let reasons = COLUMNS.into_iter().flat_map(|kind| {
        MODES.into_iter().filter_map(move |mode| {
            Some(format!("{}, {}: {}", name_of(kind), what(mode), loses(kind, mode)?))
        })
    });
    for reason in reasons {
        println!("{reason}");
    }
    for unknown in &unknown {
        println!("unknown: {unknown}");
    }
    assert!(unknown.is_empty(), "{unknown:?}");
}
