//! Every index while programs and erases fail, and while the power does.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use flysch_chip::{FaultInjector, FaultPlan, Prng};
use flysch_indexes::IndexError;
use flysch_indexes::bitmap::{Bases, BitmapConfig, BitmapIndex, Encoding};
use flysch_indexes::flash::Flash;
use flysch_indexes::pbfilter::{FlushUnit, PbConfig, PbFilter};
use flysch_indexes::runs::{Output, Pace, Runs, RunsConfig};
use flysch_indexes::zone::{ZoneConfig, ZoneMap};
use flysch_nand::{Geometry, Nand};

use crate::world::{LOST, chip, small_config, small_geometry};

/// The structures that rows are appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Zone,
    Bitmap,
    PbFilter(FlushUnit),
    Runs,
}

const VALUES: u32 = 50;

fn geometry() -> Geometry {
    Geometry { block_count: 160, ..small_geometry() }
}

fn value(row: u32) -> u32 {
    Prng::new(u64::from(row)).below(u64::from(VALUES)) as u32
}

impl Kind {
    const fn rows(self) -> u32 {
        match self {
            Self::Zone => 3_000,
            Self::Bitmap => 6_000,
            Self::PbFilter(_) => 12_000,
            Self::Runs => 2_500,
        }
    }

    fn ram_size(self) -> usize {
        match self {
            Self::Zone => ZONE.ram_size(geometry().page_size as usize),
            Self::Bitmap => bitmap().ram_size(geometry().page_size as usize),
            Self::PbFilter(flush) => pbfilter(flush).ram_size(&geometry()),
            Self::Runs => runs().ram_size(&geometry()),
        }
    }

    /// Make the structure empty.
    fn create<N: Nand>(self, flash: &mut Flash<'_, N>, ram: &mut [u8]) -> Result<(), IndexError> {
        match self {
            Self::Zone => ZoneMap::create(flash, ZONE, ram).map(drop),
            Self::Bitmap => BitmapIndex::create(flash, bitmap(), ram).map(drop),
            Self::PbFilter(unit) => PbFilter::create(flash, pbfilter(unit), ram).map(drop),
            Self::Runs => Runs::create(flash, runs(), ram).map(drop),
        }
    }

    /// Mount, append what is missing, and look everything up. `flushed` grows.
    fn go_on<N: Nand>(
        self,
        flash: &mut Flash<'_, N>,
        ram: &mut [u8],
        flushed: &mut u32,
        story: &str,
    ) -> Result<(), IndexError> {
        match self {
            Self::Zone => zone_goes_on(flash, ram, flushed, story),
            Self::Bitmap => bitmap_goes_on(flash, ram, flushed, story),
            Self::PbFilter(unit) => pbfilter_goes_on(flash, unit, ram, flushed, story),
            Self::Runs => runs_go_on(flash, ram, flushed, story),
        }
    }
}

const ZONE: ZoneConfig = ZoneConfig { first_area: 16, summaries: 20, blocks_max: 60 };

fn bitmap() -> BitmapConfig {
    let (bases, encoding) = (Bases::balanced(VALUES as u16), Encoding::Range);
    BitmapConfig { first_area: 17, bases, encoding, group_pages: 2, blocks_max: 60 }
}

fn pbfilter(flush: FlushUnit) -> PbConfig {
    PbConfig { blocks_max: 120, flush, ..PbConfig::published(4, 12_000, &geometry()) }
}

fn runs() -> RunsConfig {
    RunsConfig { blocks_max: 140, ..small_config(Pace::Spread, Output::Page, 0) }
}

fn zone_goes_on<N: Nand>(
    flash: &mut Flash<'_, N>,
    ram: &mut [u8],
    flushed: &mut u32,
    story: &str,
) -> Result<(), IndexError> {
    let mut map = ZoneMap::mount(flash, ZONE, ram)?;
    assert!(map.flushed() >= *flushed, "{} of {flushed} kept; {story}", map.flushed());
    for page in map.flushed()..Kind::Zone.rows() {
        *flushed = map.flushed();
        let first = u64::from(page) * 10;
        map.append(flash, first..=first + 9)?;
    }
    for key in (0..u64::from(Kind::Zone.rows()) * 10).step_by(611) {
        let mut found = Vec::new();
        map.lookup(flash, &(key..=key), |_, page| {
            found.push(page);
            Ok::<_, IndexError>(ControlFlow::Continue(()))
        })?;
        assert_eq!(found, [(key / 10) as u32], "key {key}; {story}");
    }
    Ok(())
}

fn bitmap_goes_on<N: Nand>(
    flash: &mut Flash<'_, N>,
    ram: &mut [u8],
    flushed: &mut u32,
    story: &str,
) -> Result<(), IndexError> {
    let mut index = BitmapIndex::mount(flash, bitmap(), ram)?;
    assert!(index.flushed() >= *flushed, "{} of {flushed} kept; {story}", index.flushed());
    for row in index.flushed()..Kind::Bitmap.rows() {
        *flushed = index.flushed();
        index.append(flash, value(row))?;
    }
    for range in [3..=3, 0..=20, 17..=VALUES] {
        let mut found = Vec::new();
        index.lookup(flash, &range, &mut [], |_, row| {
            found.push(row);
            Ok::<_, IndexError>(ControlFlow::Continue(()))
        })?;
        let wanted = (0..Kind::Bitmap.rows()).filter(|&row| range.contains(&value(row)));
        assert!(found.into_iter().eq(wanted), "{range:?}; {story}");
    }
    Ok(())
}

fn pbfilter_goes_on<N: Nand>(
    flash: &mut Flash<'_, N>,
    unit: FlushUnit,
    ram: &mut [u8],
    flushed: &mut u32,
    story: &str,
) -> Result<(), IndexError> {
    let mut index = PbFilter::mount(flash, pbfilter(unit), ram)?;
    assert!(index.flushed() >= *flushed, "{} of {flushed} kept; {story}", index.flushed());
    for row in index.count()..Kind::PbFilter(unit).rows() {
        *flushed = index.flushed();
        index.insert(flash, &row.to_le_bytes(), row)?;
    }
    for row in (0..Kind::PbFilter(unit).rows()).step_by(147) {
        let mut found = Vec::new();
        index.lookup(flash, &row.to_le_bytes(), |_, pointer| {
            found.push(pointer);
            Ok::<_, IndexError>(ControlFlow::Continue(()))
        })?;
        assert_eq!(found, [row], "{story}");
    }
    Ok(())
}

fn runs_go_on<N: Nand>(
    flash: &mut Flash<'_, N>,
    ram: &mut [u8],
    flushed: &mut u32,
    story: &str,
) -> Result<(), IndexError> {
    let mut index = Runs::mount(flash, runs(), ram)?;
    assert!(index.flushed() >= *flushed, "{} of {flushed} kept; {story}", index.flushed());
    for row in index.flushed()..Kind::Runs.rows() {
        *flushed = index.flushed();
        index.insert(flash, &row.to_le_bytes(), row)?;
    }
    for row in (0..Kind::Runs.rows()).step_by(47) {
        let found: BTreeSet<u32> =
            crate::world::pointers(&mut index, flash, row)?.into_iter().collect();
        assert!(found.contains(&row), "{row} among {found:?}; {story}");
    }
    Ok(())
}

/// One history under a plan that is armed anew, with another seed, after each cut. Give the number
/// of cuts.
fn history(kind: Kind, seed: u64, plan: &FaultPlan, cuts_max: u32) -> u32 {
    let story = format!("{kind:?}, seed {seed}, {plan:?}");
    let mut table = vec![0; Flash::<FaultInjector>::ram_size(&geometry())];
    let mut ram = vec![0; kind.ram_size()];
    let mut flash = Flash::mount(FaultInjector::new(chip(geometry())), &mut table).unwrap();
    kind.create(&mut flash, &mut ram).unwrap();
    let mut device = flash.into_nand();
    let mut prng = Prng::new(seed);
    let (mut cuts, mut flushed) = (0, 0);
    loop {
        // The marks of all blocks are read first: no cut there changes anything.
        let marks = u64::from(geometry().block_count);
        let cut_at = (cuts < cuts_max).then(|| marks + prng.below(400));
        device.arm(FaultPlan { seed: prng.next(), cut_at, ..plan.clone() });
        let mut flash = Flash::mount(device, &mut table).expect("cuts come after the marks");
        let outcome = kind.go_on(&mut flash, &mut ram, &mut flushed, &story);
        device = flash.into_nand();
        match outcome {
            Ok(()) => return cuts,
            Err(error) => assert_eq!(error, LOST, "{story}"),
        }
        device.power_up();
        cuts += 1;
    }
}

const KINDS: [Kind; 5] = [
    Kind::Zone,
    Kind::Bitmap,
    Kind::PbFilter(FlushUnit::Sector),
    Kind::PbFilter(FlushUnit::Page),
    Kind::Runs,
];

#[test]
fn power_cuts_lose_nothing_that_is_flushed() {
    for kind in KINDS {
        let cuts: u32 = (0..60).map(|seed| history(kind, seed, &FaultPlan::default(), 12)).sum();
        assert!(cuts > 300, "{kind:?}: {cuts}");
    }
}

#[test]
fn programs_and_erases_that_fail_cost_a_block_and_no_row() {
    let plan = FaultPlan {
        program_failures_ppm: 6_000,
        erase_failures_ppm: 20_000,
        ..FaultPlan::default()
    };
    for kind in KINDS {
        for seed in 0..40 {
            history(kind, seed, &plan, 0);
        }
    }
}

#[test]
fn both_at_once() {
    let plan = FaultPlan { program_failures_ppm: 3_000, ..FaultPlan::default() };
    for kind in KINDS {
        let cuts: u32 = (0..40).map(|seed| history(kind, seed, &plan, 6)).sum();
        assert!(cuts > 100, "{kind:?}: {cuts}");
    }
}
