//! A device through its lives: changes, cuts, mounts, and what must be there after each.

use std::collections::BTreeMap;
use std::rc::Rc;

use flysch::db::{Budget, Db, DbError, Direction, Durability, Snapshot};
use flysch::media::Cause;
use flysch_chip::{Ending, FaultInjector, FaultPlan, Prng};

use super::super::nvram::{Memory, lent};
use super::ask::{self, Slow, When};
use super::change::{End, Step, change, done, go_back};
use super::constraints::Rules;
use super::found;
use super::history::{History, Life};
use super::queries;
use super::rot::{self, Open, Rot};
use super::rows::State;
use super::walks::{self, Walk};
use super::world::{Asked, World};

/// What came about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) histories: u64,
    pub(super) cuts: u64,
    pub(super) mounts: u64,
    pub(super) commits: u64,
    pub(super) refused: u64,
    pub(super) moves: u64,
    pub(super) bad_blocks: u64,
    /// Snapshots that were asked for everything, and that were too old.
    pub(super) snapshots: u64,
    pub(super) stale: u64,
    /// Commits as of which everything was asked for; transactions taken back to a savepoint.
    pub(super) commits_asked: u64,
    pub(super) savepoints: u64,
    /// Changes that a constraint forbade.
    pub(super) forbidden: u64,
    /// Cursors that came to their ends among changes, and that had lost their places.
    pub(super) walked: u64,
    pub(super) lost: u64,
    /// Sorts that went to flash.
    pub(super) spilled: u64,
    /// Blocks that rings gave back in one life, at most; of all histories together.
    pub(super) given_back: u64,
    /// Pages of indexes that were lost, entries that were put again, and histories that ended
    /// because rows rose that had been deleted.
    pub(super) lost_pages: u64,
    pub(super) put_again: u64,
    pub(super) risen: u64,
}

impl Tally {
    pub(super) const fn add(&mut self, other: &Self) {
        self.histories += other.histories;
        self.cuts += other.cuts;
        self.mounts += other.mounts;
        self.commits += other.commits;
        self.refused += other.refused;
        self.moves += other.moves;
        self.bad_blocks += other.bad_blocks;
        self.snapshots += other.snapshots;
        self.stale += other.stale;
        self.commits_asked += other.commits_asked;
        self.savepoints += other.savepoints;
        self.forbidden += other.forbidden;
        self.walked += other.walked;
        self.lost += other.lost;
        self.spilled += other.spilled;
        self.given_back += other.given_back;
        self.lost_pages += other.lost_pages;
        self.put_again += other.put_again;
        self.risen += other.risen;
    }
}

struct Device {
    world: World,
    nand: FaultInjector,
    memory: Option<Memory>,
    /// Bytes of RAM of the present life: as many as in the one before, or more.
    ram: usize,
    /// What may be found: what was acknowledged last, then what came later.
    states: Vec<State>,
    /// Commits that are on flash, and what there was after each.
    past: Vec<(u32, State)>,
    /// When commits were made that are on flash, by their numbers.
    times: BTreeMap<u32, u64>,
    tally: Tally,
    rot: Rot,
}

/// Live through a history.
///
/// # Panics
/// Where the engine breaks its word.
pub(super) fn live_through(history: &History) -> Tally {
    let world = World::draw(history.seed);
    let mut nand = world.chip();
    let mut memory = world.nvram.map(|(size, rule)| Memory::new(size, rule));
    let mut ram = vec![0; world.ram];
    let made =
        Db::create_with_nvram(&mut nand, lent(&mut memory), world.schema, world.options, &mut ram);
    if made.map(drop) == Err(DbError::Full) {
        // Too few of the first blocks are good.
        return Tally::default();
    }
    let states = vec![vec![Rc::default(); world.schema.tables.len()]];
    let tally = Tally { histories: 1, ..Tally::default() };
    let rot = if history.rots { Rot::None } else { Rot::Never };
    let (ram, times) = (world.ram, BTreeMap::new());
    let mut device =
        Device { world, nand, memory, ram, states, past: Vec::new(), times, tally, rot };
    for life in &history.lives {
        device.live(history.seed, life);
        device.check(life);
        if device.rot == Rot::Risen {
            break;
        }
    }
    let bad = device.nand.chip().part().geometry.block_count;
    let bad = (0..bad).filter(|&block| device.is_marked(block)).count();
    device.tally.bad_blocks = bad as u64;
    device.tally
}

impl Device {
    fn is_marked(&mut self, block: u32) -> bool {
        use flysch_nand::{BlockAddr, Nand};
        self.nand.is_bad(BlockAddr(block)).unwrap()
    }

    /// Arm the faults of a life.
    fn arm(&mut self, life: &Life, prng: &mut Prng) {
        let reach = [6, 12, 40, 40, 120, 400, 1500][prng.below(7) as usize];
        let (at, counts_changes) = (prng.below(reach), prng.below(3) > 0);
        let cut = |is_wanted: bool| (life.is_cut && is_wanted).then_some(at);
        let faults = self.world.faults(prng.next());
        self.nand.arm(FaultPlan {
            cut_at: cut(!counts_changes),
            cut_at_change: cut(counts_changes),
            ending: Some(Ending::EVERY[prng.below(Ending::EVERY.len() as u64) as usize]),
            program_failures_ppm: self.world.failures,
            erase_failures_ppm: self.world.failures,
            ..faults
        });
        let cut_in = prng.below(20_000) as usize;
        if let Some(memory) = &mut self.memory {
            memory.cut_in = (life.is_cut && prng.below(3) == 0).then_some(cut_in);
        }
    }

    fn live(&mut self, seed: u64, life: &Life) {
        let mut prng = life.prng(seed, None);
        self.arm(life, &mut prng);
        let Self { world, nand, memory, ram, states, past, times, tally, rot } = self;
        if world.asked >= Asked::Everything && prng.below(8) == 0 {
            *ram += [16, 300, 3000][prng.below(3) as usize];
        }
        let mut ram = vec![0; *ram];
        let opened = Db::open_with_nvram(nand, lent(memory), world.schema, world.options, &mut ram);
        let end = done(opened).and_then(|mut db| {
            tally.mounts += 1;
            let (held, walks, given) = (Vec::new(), Vec::new(), None);
            db.set_constraints(world.constraints).expect("the constraints fit the schema");
            db.set_verify(world.verify);
            let session =
                Session { db, world, states, past, times, tally, rot, held, walks, given };
            session.live((seed, life), &mut prng)
        });
        self.tally.cuts += u64::from(matches!(end, Err(End::Cut)));
        self.nand.power_up();
        self.nand.arm(FaultPlan::default());
        if let Some(memory) = &mut self.memory {
            memory.cut_in = None;
        }
    }

    /// Every mount succeeds, and finds one of the states that there may be.
    fn check(&mut self, life: &Life) {
        let Self { world, nand, memory, ram, states, past, times, tally, rot } = self;
        let mut ram = vec![0; *ram];
        let opened = Db::open_with_nvram(nand, lent(memory), world.schema, world.options, &mut ram);
        let mut db = opened.unwrap_or_else(|error| panic!("{error:?} at a mount"));
        tally.mounts += 1;
        match rot::repair(&mut db, (world, states), (tally, rot), (Rot::None, 0)) {
            Ok(()) => {}
            // A device without room cannot be repaired, until something is deleted.
            Err(DbError::Full) => *rot = Rot::Risen,
            Err(error) => panic!("{error:?} at a repair"),
        }
        if *rot == Rot::Risen {
            return;
        }
        let found = found::which(&mut db, world, states).unwrap();
        assert!(Rules::of(world).hold(&found), "rows obey their constraints");
        if life.number % 4 == 3 {
            queries::times(&mut db, world, times).unwrap();
            ask::everything(&mut db, world, &found, When::Now).unwrap();
            for (commits, state) in past {
                match db.as_of(*commits) {
                    Err(DbError::Stale) => {}
                    past => ask::everything(&mut past.unwrap(), world, state, When::AsOf).unwrap(),
                }
                tally.commits_asked += 1;
            }
        }
    }
}

/// A database that is open.
struct Session<'d> {
    db: Open<'d>,
    world: &'d World,
    states: &'d mut Vec<State>,
    past: &'d mut Vec<(u32, State)>,
    times: &'d mut BTreeMap<u32, u64>,
    tally: &'d mut Tally,
    rot: &'d mut Rot,
    held: Vec<Held>,
    walks: Vec<Walk>,
    /// Blocks that the rings gave back, as far as the newest state knows.
    given: Option<u32>,
}

/// A snapshot that is open, what it shows, and a scan of it that goes on among writes.
struct Held {
    snapshot: Snapshot,
    state: State,
    slow: Option<Slow>,
}

impl Session<'_> {
    fn live(mut self, (seed, life): (u64, &Life), prng: &mut Prng) -> Step {
        self.repair(Rot::None, prng)?;
        let before = done(found::which(&mut self.db, self.world, self.states))?;
        if prng.below(8) == 0 {
            // Nothing is written: what was doubtful stays so.
            return Ok(());
        }
        let mut now = before.clone();
        done(self.db.begin().map(drop))?;
        done(found::learn(&mut self.db, self.world, (&mut now, &mut self.given)))?;
        // A worn-out device may have no block for the record of what a ring gave back.
        *self.states = vec![before, now];
        for &step in &life.steps {
            let mut prng = life.prng(seed, Some(step));
            if self.world.schema.ring_count() > 0 {
                self.db.set_time(self.db.time() + prng.below(4));
            }
            if self.world.asked >= Asked::AmongChanges && prng.below(3) == 0 {
                let state = self.states.last().expect("there is a state");
                let (walks, asked) = ((&mut self.walks, &mut *self.tally), (self.world, state));
                done(walks::go_on(walks, &mut self.db, asked, &mut prng))?;
            }
            match prng.below(24) {
                0 => {
                    let budget = Budget { operations: prng.below(300) as u32 };
                    match done(self.db.maintain(budget)) {
                        Ok(_) | Err(End::Left) => {}
                        Err(End::Cut) => return Err(End::Cut),
                    }
                }
                1 => {
                    done(self.db.sync())?;
                    self.forget_older();
                }
                2 if prng.below(3) == 0 => {
                    let state = self.now().clone();
                    done(ask::everything(&mut self.db, self.world, &state, When::Now))?;
                }
                4 => self.hold(&mut prng)?,
                6 if *self.rot != Rot::Never => {
                    self.walks.clear();
                    done(rot::begin(&mut self.db, &mut prng, self.rot))?;
                    self.repair(Rot::Again, &mut prng)?;
                }
                5 if prng.below(2) == 0 => self.sort(&mut prng)?,
                3 if prng.below(3) == 0 && life.steps.len() < 150 => return self.close(),
                _ => self.transact(&mut prng)?,
            }
            self.tally.moves = self.tally.moves.max(u64::from(self.db.moved_pages()));
            let stats = self.db.stats();
            let given_back = stats.returned_blocks + stats.pressed_blocks;
            self.tally.given_back = self.tally.given_back.max(u64::from(given_back));
        }
        if prng.below(3) == 0 { self.close() } else { Ok(()) }
    }

    /// Repair what has rotten. Where rows rose, the history is over.
    fn repair(&mut self, after: Rot, prng: &mut Prng) -> Step {
        let steps =
            if self.world.asked >= Asked::Everything { prng.below(3) * prng.below(30) } else { 0 };
        let states = (self.world, self.states.as_slice());
        done(rot::repair(&mut self.db, states, (self.tally, self.rot), (after, steps)))?;
        if *self.rot == Rot::Risen { Err(End::Left) } else { Ok(()) }
    }

    /// Sort a table, by way of flash where it is large, and perhaps leave the sort in the middle.
    fn sort(&mut self, prng: &mut Prng) -> Step {
        let state = self.now().clone();
        let spilled = |db: &Open<'_>| db.stats().counts.programs_for(Cause::Sort);
        let before = spilled(&self.db);
        let sorted = done(queries::in_order(&mut self.db, self.world, &state, prng));
        self.tally.spilled += u64::from(spilled(&self.db) > before);
        match sorted {
            Err(End::Left) => Ok(()),
            sorted => sorted,
        }
    }

    /// Open a snapshot, or look through one that is open.
    fn hold(&mut self, prng: &mut Prng) -> Step {
        if self.held.len() < 3 && prng.below(3) > 0 {
            let snapshot = done(self.db.snapshot())?;
            let mut state = self.now().clone();
            done(found::learn(&mut self.db, self.world, (&mut state, &mut None)))?;
            let slow = if self.world.goes_back { Some(self.slow(&snapshot, prng)?) } else { None };
            self.held.push(Held { snapshot, state, slow });
            return Ok(());
        }
        if self.world.goes_back {
            self.go_on(prng)?;
        }
        if self.held.is_empty() || prng.below(4) > 0 {
            return Ok(());
        }
        let held = self.held.remove(prng.below(self.held.len() as u64) as usize);
        let asked = self
            .db
            .at(&held.snapshot)
            .and_then(|mut past| ask::everything(&mut past, self.world, &held.state, When::Kept));
        match asked {
            Err(DbError::Stale) => self.tally.stale += 1,
            asked => {
                done(asked)?;
                self.tally.snapshots += 1;
            }
        }
        if prng.below(2) == 0 {
            self.db.release(held.snapshot);
        } else {
            self.held.push(held);
        }
        Ok(())
    }

    fn slow(&mut self, snapshot: &Snapshot, prng: &mut Prng) -> Step<Slow> {
        let table = prng.below(self.world.schema.tables.len() as u64) as u8;
        let direction = if prng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        done(Slow::begin(&mut self.db, snapshot, table, direction))
    }

    /// Go on with the scans of snapshots.
    fn go_on(&mut self, prng: &mut Prng) -> Step {
        for held in &mut self.held {
            let Some(slow) = &mut held.slow else { continue };
            match slow.pull(&mut self.db, (&held.snapshot, &held.state), prng.below(9)) {
                Ok(false) => {}
                Ok(true) | Err(DbError::Stale) => held.slow = None,
                Err(error) => return done(Err(error)),
            }
        }
        Ok(())
    }

    fn close(self) -> Step {
        done(self.db.close().map(drop))?;
        let last = self.states.len() - 1;
        self.states.drain(..last);
        Ok(())
    }

    fn now(&self) -> &State {
        self.states.last().expect("there is a state")
    }

    /// What is newest is on flash.
    fn forget_older(&mut self) {
        let last = self.states.len() - 1;
        self.states.drain(..last);
    }

    fn transact(&mut self, prng: &mut Prng) -> Step {
        let mut after = self.now().clone();
        let mut given = self.given;
        let mut tx = done(self.db.begin())?;
        done(found::learn(&mut tx, self.world, (&mut after, &mut given)))?;
        let mut marks = Vec::new();
        let is_large = self.world.large_max > 0 && prng.below(6) == 0;
        let most = if is_large { self.world.large_max } else { self.world.batch_max };
        for _ in 0..=prng.below(most) {
            if self.world.goes_back && prng.below(self.world.goes_back_in) == 0 {
                self.tally.savepoints += u64::from(go_back(&mut tx, prng, &mut marks, &mut after)?);
            }
            let mut of = None;
            if self.world.asked >= Asked::AmongChanges && prng.below(6) == 0 {
                let walks = (&mut self.walks, &mut *self.tally);
                of = done(walks::go_on(walks, &mut tx, (self.world, &after), prng))?;
            }
            match change(&mut tx, (prng, self.world), &mut after, of) {
                Err(End::Left) => {
                    self.tally.refused += 1;
                    return if prng.below(4) == 0 { done(tx.roll_back()) } else { Ok(()) };
                }
                changed => self.tally.forbidden += u64::from(changed?.is_forbidden()),
            }
        }
        if self.world.asked >= Asked::Everything && prng.below(30) == 0 {
            done(ask::everything(&mut tx, self.world, &after, When::Now))?;
        }
        match prng.below(10) {
            0 => return done(tx.roll_back()),
            1 => return Ok(()),
            whim => {
                self.states.push(after);
                self.given = given;
                let is_lazy = whim < 4;
                let durability = if is_lazy { Durability::Lazy } else { Durability::Durable };
                done(tx.commit(durability))?;
                self.tally.commits += 1;
                if !is_lazy {
                    self.times.insert(self.db.stats().commits, self.db.time());
                    self.forget_older();
                    self.note_past(prng);
                }
            }
        }
        Ok(())
    }

    /// Remember some commits of all.
    fn note_past(&mut self, prng: &mut Prng) {
        if self.world.goes_back && prng.below(12) == 0 {
            let commit = (self.db.stats().commits, self.now().clone());
            if self.past.len() < 4 {
                self.past.push(commit);
            } else {
                self.past[prng.below(4) as usize] = commit;
            }
        }
    }
}
