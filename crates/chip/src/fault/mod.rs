//! Faults of a chip: power cuts, programs and erases that fail, bit errors, bad blocks.
//!
//! Invariants:
//! 1. Without a plan the injector changes nothing.
//! 2. A power cut changes nothing that returned `Ok` before. The operation under way may end in any
//!    [`Ending`].
//! 3. While power is off no cell changes and no time passes.
//! 4. A breach of the contract panics, whether the operation is going to fail or not.

mod plan;
mod unsteady;

use std::collections::BTreeMap;

use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

use crate::changes::{Change, Changes};
use crate::supply::{Power, Supply};
use crate::{Chip, Prng};
pub use plan::{Ending, FaultPlan};
use unsteady::Unsteady;

/// The denominator of the rates in a plan.
const MILLION: u64 = 1_000_000;

/// A chip with the faults of a [`FaultPlan`].
#[derive(Clone, Debug)]
pub struct FaultInjector {
    chip: Chip,
    supply: Supply,
    /// The faults of the plan. `None` if it has no fault other than a power cut.
    faults: Option<Box<Faults>>,
    ending: Option<Ending>,
    /// The list to which changes are added. None if they are not recorded.
    kept: Option<Changes>,
    /// Decides how the operation at a power cut ends.
    prng: Prng,
    unsteady: Unsteady,
    failures: BTreeMap<BlockAddr, u32>,
    reads: BTreeMap<BlockAddr, u32>,
    half_erased_programs: u64,
}

#[derive(Clone, Debug)]
struct Faults {
    plan: FaultPlan,
    prng: Prng,
}

impl FaultInjector {
    /// Connect `chip` to a power supply of its own, without a plan of faults.
    pub fn new(chip: Chip) -> Self {
        Self::on_supply(chip, Supply::new())
    }

    /// Connect `chip` to a power supply that it shares with other devices, without a plan of
    /// faults.
    pub fn on_supply(chip: Chip, supply: Supply) -> Self {
        Self {
            chip,
            supply,
            faults: None,
            ending: None,
            kept: None,
            prng: Prng::new(0),
            unsteady: Unsteady::default(),
            failures: BTreeMap::new(),
            reads: BTreeMap::new(),
            half_erased_programs: 0,
        }
    }

    /// Connect `chip` to a power supply. These blocks were marked bad by the maker.
    pub fn with_factory_bad_blocks(
        mut chip: Chip,
        blocks: impl IntoIterator<Item = BlockAddr>,
    ) -> Self {
        for block in blocks {
            chip.set_bad(block);
        }
        Self::new(chip)
    }

    /// Connect `chip` to a power supply. The maker marked random blocks as bad, at a rate of
    /// `rate_ppm` parts per million. The first block is good, as data sheets guarantee.
    pub fn with_factory_bad_rate(chip: Chip, rate_ppm: u32, seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let blocks = 1..chip.geometry().block_count;
        let bad = blocks.filter(|_| prng.below(MILLION) < u64::from(rate_ppm)).map(BlockAddr);
        let bad: Vec<BlockAddr> = bad.collect();
        Self::with_factory_bad_blocks(chip, bad)
    }

    pub const fn chip(&self) -> &Chip {
        &self.chip
    }

    /// The chip inside, for a test that changes it without the code under test.
    pub const fn chip_mut(&mut self) -> &mut Chip {
        &mut self.chip
    }

    pub fn into_chip(self) -> Chip {
        self.chip
    }

    /// The supply, to be shared with other devices.
    pub fn supply(&self) -> Supply {
        self.supply.clone()
    }

    /// Replace the plan. The operations and changes of the whole supply are counted from zero
    /// again.
    pub fn arm(&mut self, plan: FaultPlan) {
        self.supply.arm(plan.cut_at);
        self.ending = plan.ending;
        self.supply.arm_change(plan.cut_at_change);
        self.prng = Prng::new(plan.seed);
        let prng = Prng::new(self.prng.next());
        let cut_alone = FaultPlan {
            seed: plan.seed,
            cut_at: plan.cut_at,
            cut_at_change: plan.cut_at_change,
            ending: plan.ending,
            ..FaultPlan::default()
        };
        self.faults = (plan != cut_alone).then(|| Box::new(Faults { plan, prng }));
    }

    /// Record all changes from now on.
    pub fn keep_changes(&mut self, changes: Changes) {
        self.kept = Some(changes);
    }

    fn keep(&self, change: impl FnOnce() -> Change) {
        if let Some(kept) = &self.kept {
            kept.push(change());
        }
    }

    /// Number of operations since the plan was armed. Tests use it to cut the power at each of them
    /// in turn.
    pub fn operations(&self) -> u64 {
        self.supply.operations()
    }

    /// Number of failed programs and erases of each block that had any.
    pub const fn failures(&self) -> &BTreeMap<BlockAddr, u32> {
        &self.failures
    }

    /// Number of programs to blocks whose last erase was interrupted and reached only some pages.
    pub const fn half_erased_programs(&self) -> u64 {
        self.half_erased_programs
    }

    pub fn is_on(&self) -> bool {
        self.supply.is_on()
    }

    /// Switch power on again after a cut. The other faults of the plan stay.
    pub fn power_up(&mut self) {
        self.supply.power_up();
    }

    fn ending(&mut self) -> Ending {
        let drawn = self.prng.below(Ending::ALL.len() as u64);
        self.ending.unwrap_or(Ending::ALL[usize::try_from(drawn).expect("below four")])
    }

    fn cut_program(&mut self, page: PageAddr, column: u32, data: &[u8], oob: &[u8]) {
        match self.ending() {
            Ending::NotBegun => {}
            Ending::Torn => self.chip.tear(page, column, data, oob, &mut self.prng),
            Ending::Complete => self.chip.complete(page, column, data, oob),
            Ending::Marginal => {
                self.chip.complete(page, column, data, oob);
                self.chip.weaken(page, column, data.len(), &mut self.prng);
            }
            Ending::Scattered => self.chip.scatter(page, column, data, oob, &mut self.prng),
            Ending::Noisy => self.chip.muddle(page, column, data, oob, &mut self.prng),
            Ending::Unseen => self.chip.spend(page, column, data),
            Ending::Unsteady => {
                self.unsteady.add(page, self.chip.content(page), self.prng.next());
                self.chip.complete(page, column, data, oob);
            }
            Ending::Fading => {
                self.unsteady.fade(page, self.prng.next());
                self.chip.complete(page, column, data, oob);
            }
        }
        self.cut_pair(page);
    }

    /// If the part has paired pages, perhaps damage the page that shares its cells with the one
    /// whose program was cut.
    fn cut_pair(&mut self, page: PageAddr) {
        let distance = self.faults.as_deref().and_then(|faults| faults.plan.paired_distance);
        let geometry = self.chip.geometry();
        let is_later = |&distance: &u32| geometry.page_in_block(page) >= distance;
        if let Some(distance) = distance.filter(is_later)
            && self.prng.below(2) == 0
        {
            let size = geometry.page_size as usize;
            self.chip.weaken(PageAddr(page.0 - distance), 0, size, &mut self.prng);
        }
    }

    fn cut_erase(&mut self, block: BlockAddr) {
        match self.ending() {
            Ending::NotBegun | Ending::Unseen => {}
            Ending::Scattered => self.chip.erase_some(block, &mut self.prng),
            Ending::Noisy => self.chip.erase_in_part(block, &mut self.prng),
            Ending::Unsteady => {
                for page in self.chip.pages_of(block) {
                    self.unsteady.add(page, self.chip.content(page), self.prng.next());
                }
                self.chip.blank(block);
            }
            Ending::Fading => {
                for page in self.chip.pages_of(block) {
                    if self.prng.below(2) == 0 {
                        self.unsteady.fade(page, self.prng.next());
                    }
                }
                self.chip.blank(block);
            }
            Ending::Torn => self.chip.half_erase(block, &mut self.prng),
            Ending::Complete => self.chip.blank(block),
            Ending::Marginal => self.chip.blank_weakly(block, &mut self.prng),
        }
    }

    fn program_fails(&mut self, page: PageAddr) -> bool {
        let block = self.chip.geometry().block_of(page);
        let operation = self.supply.operations() - 1;
        self.faults.as_deref_mut().is_some_and(|Faults { plan, prng }| {
            plan.is_grown_bad(block, operation)
                || plan.failing_pages.contains(&page)
                || prng.below(MILLION) < u64::from(plan.program_failures_ppm)
        })
    }

    fn erase_fails(&mut self, block: BlockAddr) -> bool {
        let operation = self.supply.operations() - 1;
        self.faults.as_deref_mut().is_some_and(|Faults { plan, prng }| {
            plan.is_grown_bad(block, operation)
                || prng.below(MILLION) < u64::from(plan.erase_failures_ppm)
        })
    }

    /// Count a read of a block. After a number of reads, another page of the block may get a bit
    /// error.
    fn disturb_neighbour(&mut self, page: PageAddr) {
        let Some(Faults { plan, prng }) = self.faults.as_deref_mut() else { return };
        let Some(limit) = plan.read_disturb else { return };
        let geometry = self.chip.geometry();
        let block = geometry.block_of(page);
        let reads = self.reads.entry(block).or_default();
        *reads += 1;
        if reads.is_multiple_of(limit) {
            let below = |bound: u32, prng: &mut Prng| {
                u32::try_from(prng.below(bound.into())).expect("below a number of 32 bits")
            };
            let neighbour = below(geometry.pages_per_block, prng);
            let sector = below(geometry.sectors_per_page, prng);
            if neighbour != geometry.page_in_block(page) {
                self.chip.block_mut(block).flaw(neighbour, sector, 1);
            }
        }
    }

    /// Number of bit errors that the plan adds to a read of `page`.
    fn read_errors(&mut self, page: PageAddr) -> u16 {
        let Some(Faults { plan, prng }) = self.faults.as_deref_mut() else { return 0 };
        let flaw = plan.flawed_pages.get(&page).copied().unwrap_or(0);
        if prng.below(MILLION) >= u64::from(plan.read_errors_ppm) {
            return flaw;
        }
        let drawn = prng.below(u64::from(plan.read_error_bits_max.max(1))) + 1;
        flaw.saturating_add(u16::try_from(drawn).expect("at most read_error_bits_max"))
    }
}

impl FaultPlan {
    fn is_grown_bad(&self, block: BlockAddr, operation: u64) -> bool {
        self.grown_bad_blocks.get(&block).is_some_and(|&since| since <= operation)
    }
}

impl Nand for FaultInjector {
    fn geometry(&self) -> Geometry {
        self.chip.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        if self.supply.draw() != Power::On {
            return Err(ReadError::PowerLost);
        }
        let errors = self.read_errors(page);
        self.disturb_neighbour(page);
        let read = self.chip.read_with_errors(page, column, bytes, errors);
        self.unsteady.disturb(page, column, bytes).map_or(read, |disturbed| disturbed)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        let block = self.chip.geometry().block_of(page);
        self.half_erased_programs += u64::from(self.chip.block(block).is_half_erased());
        match self.supply.draw_change() {
            Power::Off => Err(ProgramError::PowerLost),
            Power::Failing => {
                self.chip.check_program(page, column, data, oob);
                self.cut_program(page, column, data, oob);
                Err(ProgramError::PowerLost)
            }
            Power::On if self.program_fails(page) => {
                self.chip.check_program(page, column, data, oob);
                self.chip.fail_program(page, column, data, oob, &mut self.prng);
                *self.failures.entry(self.chip.geometry().block_of(page)).or_default() += 1;
                Err(ProgramError::Failed(page))
            }
            Power::On => {
                self.unsteady.overwrite(page);
                self.keep(|| {
                    let (data, oob) = (data.to_vec(), oob.to_vec());
                    Change::Program { page, column, data, oob }
                });
                self.chip.program(page, column, data, oob)
            }
        }
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        match self.supply.draw_change() {
            Power::Off => Err(EraseError::PowerLost),
            Power::Failing => {
                self.chip.check_erase(block);
                self.cut_erase(block);
                Err(EraseError::PowerLost)
            }
            Power::On if self.erase_fails(block) => {
                self.chip.check_erase(block);
                self.chip.half_erase(block, &mut self.prng);
                *self.failures.entry(block).or_default() += 1;
                Err(EraseError::Failed(block))
            }
            Power::On => {
                self.unsteady.forget(self.chip.pages_of(block));
                self.keep(|| Change::Erase(block));
                self.chip.erase(block)
            }
        }
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        match self.supply.draw() {
            Power::On => self.chip.is_bad(block),
            Power::Failing | Power::Off => Err(PowerLost),
        }
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        let power = self.supply.draw_change();
        if power == Power::Off || power == Power::Failing && self.ending() == Ending::NotBegun {
            return Err(PowerLost);
        }
        if power == Power::On {
            self.keep(|| Change::MarkBad(block));
        }
        self.chip.mark_bad(block)?;
        if power == Power::On { Ok(()) } else { Err(PowerLost) }
    }
}
