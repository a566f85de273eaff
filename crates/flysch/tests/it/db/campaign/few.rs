//! Histories of few keys on a sound chip, which are asked something at every step.
//!
//! The campaign cuts the power everywhere, and asks seldom. What takes three rare things at once,
//! as a cursor between two merges while a snapshot is open, it meets after tens of thousands of
//! histories. Here nothing fails, and what was done is asked for at once, so that such things come
//! about in seconds.

use std::rc::Rc;

use flysch::db::{Budget, Db, DbError, Durability, Snapshot};
use flysch_chip::Prng;

use super::ask::{self, When};
use super::change::{End, Step, change, done, go_back};
use super::device::Tally;
use super::found;
use super::rot::Open;
use super::rows::{Row, State};
use super::walks::{self, Walk};
use super::world::{World, one};
use crate::told;

/// Histories of a run that says nothing else, and the steps of each.
const HISTORIES: u64 = 16;
const STEPS: u64 = 500;
/// Page reads for each step after which a history ends as well: a scan reads all that is dead.
const READS_MAX: u32 = 300;
/// Rows of a table, about: more only change.
const ROWS_MAX: usize = 60;
/// States that are kept at a time.
const HELD_MAX: usize = 3;

/// A database that is open, what it holds, and what is under way.
struct Session<'d> {
    db: Open<'d>,
    world: &'d World,
    now: State,
    /// Blocks that the rings gave back, as far as the state knows.
    given: Option<u32>,
    held: Vec<Held>,
    walks: Vec<Walk>,
    tally: &'d mut Tally,
}

/// A state that is kept or remembered, and cursors over it.
struct Held {
    at: At,
    state: State,
    walks: Vec<Walk>,
}

enum At {
    Snapshot(Snapshot),
    /// As many commits.
    Commit(u32),
}

impl At {
    const fn when(&self) -> When {
        match self {
            Self::Snapshot(_) => When::Kept,
            Self::Commit(_) => When::AsOf,
        }
    }
}

/// Play so many steps of a history, over some sessions.
fn play(seed: u64, steps: u64) -> Tally {
    let world = World::of_few_keys(seed);
    let mut prng = Prng::new(seed);
    let (mut nand, mut ram) = (world.chip(), vec![0; world.ram]);
    Db::create(&mut nand, world.schema, world.options, &mut ram).map(drop).unwrap();
    let mut now: State = vec![Rc::default(); world.schema.tables.len()];
    let mut tally = Tally { histories: 1, ..Tally::default() };
    let (mut left, mut reads) = (steps, READS_MAX * steps as u32);
    while left > 0 && reads > 0 {
        let reach = one(&mut prng, &[30, 300, 3000]);
        let most = left.min(1 + prng.below(reach));
        let mut ram = vec![0; world.ram];
        nand.arm(world.faults(prng.next()));
        let mut db = Db::open(&mut nand, world.schema, world.options, &mut ram).unwrap();
        db.set_constraints(world.constraints).unwrap();
        db.set_verify(world.verify);
        let (given, held, walks, tally) = (None, Vec::new(), Vec::new(), &mut tally);
        let session = Session { db, world: &world, now, given, held, walks, tally };
        match session.live((most, &mut reads), &mut prng) {
            Ok(state) => now = state,
            // What was committed lazily need not be there: the history is over.
            Err(_) => break,
        }
        left -= most;
    }
    tally
}

impl Session<'_> {
    /// Live so many steps and page reads, then leave the database; what it holds.
    fn live(mut self, (steps, reads): (u64, &mut u32), prng: &mut Prng) -> Step<State> {
        self.ask_everything()?;
        for _ in 0..steps {
            if self.db.stats().counts.reads > *reads {
                break;
            }
            if self.world.schema.ring_count() > 0 {
                self.db.set_time(self.db.time() + prng.below(4));
            }
            match prng.below(40) {
                0 => {
                    done(self.db.maintain(Budget { operations: prng.below(300) as u32 }))?;
                }
                1 => done(self.db.sync())?,
                2 | 3 => self.hold(prng)?,
                4 if prng.below(6) == 0 => self.ask_everything()?,
                _ => self.transact(prng)?,
            }
            self.ask(prng)?;
            self.ask_held(prng)?;
        }
        *reads = reads.saturating_sub(self.db.stats().counts.reads);
        if prng.below(2) == 0 {
            done(self.db.close().map(drop))?;
        } else {
            done(self.db.sync())?;
        }
        Ok(self.now)
    }

    /// Forget what the rings gave back.
    fn learn(&mut self) -> Step {
        done(found::learn(&mut self.db, self.world, (&mut self.now, &mut self.given)))
    }

    fn ask_everything(&mut self) -> Step {
        self.learn()?;
        done(ask::everything(&mut self.db, self.world, &self.now, When::Now))
    }

    /// Ask for something, and let cursors go on.
    fn ask(&mut self, prng: &mut Prng) -> Step {
        self.learn()?;
        let walks = (&mut self.walks, &mut *self.tally);
        done(walks::go_on(walks, &mut self.db, (self.world, &self.now), prng))?;
        for _ in 0..prng.below(3) {
            done(ask::something(&mut self.db, (self.world, &self.now), When::Now, prng))?;
        }
        Ok(())
    }

    /// Keep what there is, or forget what was kept.
    fn hold(&mut self, prng: &mut Prng) -> Step {
        if self.held.len() < HELD_MAX && prng.below(2) == 0 {
            let at = if prng.below(4) > 0 {
                At::Snapshot(done(self.db.snapshot())?)
            } else {
                done(self.db.sync())?;
                At::Commit(self.db.stats().commits)
            };
            self.learn()?;
            self.held.push(Held { at, state: self.now.clone(), walks: Vec::new() });
        } else if !self.held.is_empty() && prng.below(3) == 0 {
            let at = prng.below(self.held.len() as u64) as usize;
            if let At::Snapshot(snapshot) = self.held.swap_remove(at).at {
                self.db.release(snapshot);
            }
        }
        Ok(())
    }

    /// Ask what is kept for something, and let cursors over it go on.
    fn ask_held(&mut self, prng: &mut Prng) -> Step {
        if self.held.is_empty() {
            return Ok(());
        }
        let which = prng.below(self.held.len() as u64) as usize;
        let Held { at, state, walks } = &mut self.held[which];
        let past = match at {
            At::Snapshot(snapshot) => self.db.at(snapshot),
            At::Commit(commits) => self.db.as_of(*commits),
        };
        let walks = (walks, &mut *self.tally);
        let asked = past.and_then(|mut past| {
            walks::go_on(walks, &mut past, (self.world, state), prng)?;
            if prng.below(3) > 0 {
                return Ok(());
            }
            ask::something(&mut past, (self.world, state), at.when(), prng)
        });
        match asked {
            Err(DbError::Stale) => self.tally.stale += 1,
            asked => {
                done(asked)?;
                self.tally.snapshots += 1;
            }
        }
        Ok(())
    }

    fn transact(&mut self, prng: &mut Prng) -> Step {
        let mut after = self.now.clone();
        let mut given = self.given;
        let mut tx = done(self.db.begin())?;
        done(found::learn(&mut tx, self.world, (&mut after, &mut given)))?;
        let mut marks = Vec::new();
        for _ in 0..=prng.below(self.world.batch_max) {
            if prng.below(8) == 0 {
                self.tally.savepoints += u64::from(go_back(&mut tx, prng, &mut marks, &mut after)?);
            }
            let mut of = of_a_full_table(&after, prng);
            if prng.below(6) == 0 {
                let walks = (&mut self.walks, &mut *self.tally);
                let met = done(walks::go_on(walks, &mut tx, (self.world, &after), prng))?;
                of = met.or(of);
            }
            match change(&mut tx, (prng, self.world), &mut after, of) {
                Err(End::Left) => {
                    self.tally.refused += 1;
                    return Ok(());
                }
                changed => self.tally.forbidden += u64::from(changed?.is_forbidden()),
            }
            if prng.below(4) == 0 {
                done(ask::something(&mut tx, (self.world, &after), When::Now, prng))?;
            }
        }
        match prng.below(12) {
            0 => done(tx.roll_back()),
            1 => Ok(()),
            whim => {
                let durability = if whim < 6 { Durability::Lazy } else { Durability::Durable };
                done(tx.commit(durability))?;
                self.tally.commits += 1;
                (self.now, self.given) = (after, given);
                Ok(())
            }
        }
    }
}

/// A row of a table that has enough of them.
fn of_a_full_table(state: &State, prng: &mut Prng) -> Option<(u8, Row)> {
    let mut full = (0..).zip(state).filter(|(_, rows)| rows.iter().count() > ROWS_MAX);
    full.next().map(|(number, rows)| {
        let rows: Vec<&Row> = rows.iter().collect();
        (number, one::<&Row>(prng, &rows).clone())
    })
}

/// `FLYSCH_HISTORIES` histories from seed `FLYSCH_SEED` on, of `FLYSCH_STEPS` steps each.
#[test]
fn rows_of_few_keys_are_told_at_every_step() {
    let first = told("FLYSCH_SEED").unwrap_or(1);
    let steps = told("FLYSCH_STEPS").unwrap_or(STEPS);
    let mut tally = Tally::default();
    for seed in first..first + told("FLYSCH_HISTORIES").unwrap_or(HISTORIES) {
        tally.add(&play(seed, steps));
    }
    println!("seeds from {first}: {tally:?}");
    assert!(tally.walked > 0 && tally.snapshots > 0, "cursors come to their ends: {tally:?}");
}
