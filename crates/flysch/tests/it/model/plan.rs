//! How random histories are drawn: kinds of plans, each about some of the rules.

use super::device::PAGES;
use super::engine::{Config, RootRules};
use super::switches::Broken;

/// Which blocks may go bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failing {
    /// All but three of the root blocks.
    Most,
    /// One root block.
    OneRoot,
    /// One root block after the other, while a session goes on.
    RootsInTurn,
    All,
}

/// What a history is about besides cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Cuts,
    /// The session that formatted goes on; else the device is mounted first.
    NewDatabase,
    /// Reads fail now and then, once each.
    FailingReads,
}

/// How a history is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) seed: u64,
    pub(crate) lives: u32,
    pub(crate) key_count: u8,
    /// Operations of the device in a life, at most.
    pub(crate) life_len: u64,
    pub(crate) fail_one_in: u64,
    /// Blocks that may go bad.
    pub(crate) fails_left: u32,
    pub(crate) factory_bad: u32,
    /// Short lives, many closes, mounts that are nearly always cut again.
    pub(crate) is_storm: bool,
    /// Snapshots are let go a third as often.
    pub(crate) holds: bool,
    pub(crate) failing: Failing,
    pub(crate) about: About,
}

impl Plan {
    /// Whether transactions outgrow the log and merge their runs: in three of four histories.
    pub(crate) const fn has_large(&self) -> bool {
        self.seed % 4 != 1
    }

    /// A plan of many closes and cuts about the roots, on a device that never fails.
    pub(crate) fn roots(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::new(seed * 2, broken);
        plan.config.nvram_units = 0;
        plan.config.list_len = plan.config.list_len.max(2);
        plan.fail_one_in = 0;
        plan.factory_bad = 0;
        plan.lives = 60;
        plan.key_count = 2;
        plan.life_len = 10;
        plan
    }

    /// A plan about roots, of short lives, by the rules that are built, on a device that fails.
    pub(crate) fn built_roots(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::roots(seed, broken);
        plan.config.roots = RootRules::Built;
        plan.fail_one_in = 12;
        plan
    }

    /// A plan by the rules that are built, of a root block whose programs fail, and lists of one
    /// block, each of which takes a name page.
    pub(crate) fn doubtful_names(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::roots(seed, broken);
        plan.config.roots = RootRules::Built;
        plan.config.list_len = 1;
        plan.config.checkpoint_parts = if seed.is_multiple_of(4) { PAGES - 2 } else { 1 };
        plan.fail_one_in = 6;
        plan.failing = Failing::OneRoot;
        plan.life_len = 60;
        plan
    }

    /// A plan by the rules that are built, of root blocks that move at nearly every mount, on a
    /// device of which one block goes bad.
    pub(crate) fn moves(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::roots(seed, broken);
        plan.config.roots = RootRules::Built;
        plan.config.move_after = 1 + seed as u32 % 3;
        plan.config.block_count = 31;
        plan.config.list_len = 1 + (seed % 3) as u8;
        plan.fail_one_in = [0, 12, 40][(seed / 3 % 3) as usize];
        plan.fails_left = 1;
        plan.failing = Failing::All;
        plan.factory_bad = (seed / 2 % 3) as u32;
        plan.life_len = [6, 10, 30][(seed / 9 % 3) as usize];
        plan
    }

    /// A plan by the rules that are built, of long lives in which a root block fails, and another
    /// one when there was time to replace it.
    pub(crate) fn failing_roots(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::moves(seed, broken);
        plan.config.move_after = 1000;
        plan.config.block_count = 40;
        plan.config.list_len = 1;
        plan.fail_one_in = 8;
        plan.fails_left = 0;
        plan.failing = Failing::RootsInTurn;
        plan.factory_bad = 0;
        plan.lives = 8;
        plan.life_len = 1500;
        plan
    }

    /// A plan by the rules that are built, of mounts that are nearly always cut, on a device that
    /// fails.
    pub(crate) fn built(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::new(seed * 2, broken);
        plan.config.roots = RootRules::Built;
        plan.config.nvram_units = 0;
        plan.fail_one_in = 80;
        plan
    }

    /// A plan by the rules that are built, of commits to an `NvRam`.
    pub(crate) fn built_nvram(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::ahead(seed, broken);
        plan.config.nvram_units = 40;
        plan
    }

    /// A plan of long lives where all hashes are equal.
    pub(crate) fn hashes(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::calm(seed, broken);
        plan.config.code_count = 1;
        plan
    }

    /// A plan of snapshots that are held for long, on a device with space for what they hold.
    pub(crate) fn held(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::calm(seed, broken);
        plan.config.block_count = 30;
        plan.key_count = 6;
        plan.holds = true;
        plan
    }

    /// A plan of long lives on a device that never fails, and of windows that wait.
    pub(crate) fn calm(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::new(seed * 2 + 1_001, broken);
        plan.config.lingers = true;
        plan.fail_one_in = 0;
        plan.lives = 12;
        plan.key_count = 12;
        plan.life_len = 300;
        plan
    }

    /// A plan by the rules that are built, of lives that are long enough for several log blocks.
    pub(crate) fn ahead(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::new(seed * 2 + 1, broken);
        plan.config.roots = RootRules::Built;
        plan.config.nvram_units = 0;
        plan.config.table_parts = (seed % 3) as u8;
        if seed % 4 < 2 {
            plan.config.list_len = 1;
            plan.fail_one_in = 30;
        }
        if seed % 8 == 6 {
            // A root's checkpoint leaves no page for a name.
            plan.config.checkpoint_parts = PAGES - 1;
        }
        plan.lives = 20;
        plan.life_len = if seed.is_multiple_of(2) { 60 } else { 200 };
        plan
    }

    /// A plan by the rules that are built, of a new database that is written to at once.
    pub(crate) fn begun(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::ahead(seed, broken);
        plan.about = About::NewDatabase;
        plan
    }

    /// A plan of reads that fail, once each, in lives that are long enough for rollbacks.
    pub(crate) fn failing_reads(seed: u64, broken: Option<Broken>) -> Self {
        let mut plan = Self::new(seed * 2 + 1, broken);
        plan.about = About::FailingReads;
        plan.life_len = plan.life_len.max(60);
        plan
    }

    /// The plan of a seed: geometry, `NvRam`, failures and lengths vary.
    pub(crate) fn new(seed: u64, broken: Option<Broken>) -> Self {
        let mut prng = flysch_chip::Prng::new(seed ^ 0x5bd1_e995);
        let mut draw = |bound| prng.below(bound) as u8;
        let config = Config {
            block_count: 24 + draw(5),
            list_len: 1 + draw(3),
            checkpoint_parts: 1 + draw(3),
            table_parts: (seed % 3) as u8,
            nvram_units: if draw(3) == 0 { 40 } else { 0 },
            code_count: [1, 3, 4, 8][usize::from(draw(4))],
            root_count: 4,
            move_after: 0,
            roots: if broken.is_some() || seed % 8 < 4 {
                RootRules::Planned
            } else {
                RootRules::Built
            },
            has_ring: !seed.is_multiple_of(4),
            lingers: false,
            broken,
        };
        let fail_one_in = if draw(4) == 0 { 300 } else { 0 };
        let factory_bad = u32::from(draw(3));
        let key_count = 4 + draw(9);
        let is_storm = seed.is_multiple_of(2);
        let life_len = if is_storm { 16 } else { [20, 60, 200][usize::from(draw(3))] };
        let lives = if is_storm { 24 } else { 10 };
        let holds = false;
        let failing = Failing::Most;
        Self {
            config,
            seed,
            lives,
            key_count,
            life_len,
            fail_one_in,
            fails_left: 4,
            factory_bad,
            is_storm,
            holds,
            failing,
            about: About::Cuts,
        }
    }
}
