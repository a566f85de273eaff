//! The index of hash-ordered runs (`flysch_indexes`) as an index method, in the RAM that the bench
//! gives it.
//!
//! If records never move, a pointer names a page of records. If they may move, it names a single
//! record, so that the same pair of key and pointer is never inserted twice.

use std::ops::ControlFlow;

use flysch_indexes::flash::Flash;
use flysch_indexes::runs::{Runs, RunsConfig};
use flysch_indexes::{ConfigError, IndexError};
use flysch_nand::Geometry;

use super::chip_setup::{ChipSetup, Device};
use super::error::MethodError;
use super::method::{IndexMethod, MethodName, MethodSpec, Ram};
use super::pbfilter::{BLOCKS_MAX, flash_ram};
use super::records::{Place, records_per_page};

/// Default RAM in bytes: the paper's seven pages of 2 KiB.
const RAM: usize = 14_336;
/// Extra bits of each hash with the existence filter, beyond those that make the keys distinct.
/// Fewer entries are then recent: each has 7 1/4 bits of the Bloom filter, so that the filter
/// seldom says yes to an absent key.
const FILTER_BITS: u8 = 7;
const QUARTER_BITS_PER_RECENT: usize = 29;

struct HashRunsMethod<'ram> {
    flash: Flash<'ram, Device>,
    runs: Runs<'ram>,
    /// How many records one pointer stands for: one, or all of a page.
    span: u32,
    geometry: Geometry,
}

/// How many records one pointer stands for: one, or all of a page.
fn span(spec: &MethodSpec, geometry: &Geometry) -> u32 {
    if spec.changes > 0 { 1 } else { records_per_page(geometry.page_size) }
}

fn config(spec: &MethodSpec, geometry: &Geometry) -> Result<RunsConfig, ConfigError> {
    let others = flash_ram(geometry).total() + size_of::<Runs<'_>>();
    let given = spec.ram.unwrap_or(RAM);
    let chosen = RunsConfig::for_keys(entries(spec), given.saturating_sub(others), geometry);
    let mut config = chosen.map_err(|error| match error {
        ConfigError::RamTooSmall { needed, .. } => {
            ConfigError::RamTooSmall { needed: needed + others, given }
        }
        other => other,
    })?;
    let pointers = (spec.keys + spec.changes) / span(spec, geometry);
    let bits = u8::try_from(u32::BITS - pointers.leading_zeros()).expect("at most 32");
    config.pointer_bits = config.pointer_bits.max(bits);
    config.pace = spec.tuning.pace;
    if spec.name == MethodName::RunsFilter {
        config.filter_bits = FILTER_BITS;
        let recents = config.bloom_size * 8 * 4 / QUARTER_BITS_PER_RECENT;
        let recents = u32::try_from(recents).unwrap_or(u32::MAX);
        config.recents_max = config.recents_max.min(recents);
    }
    Ok(config)
}

/// The most blocks that the runs need, on a chip that is large enough.
pub(super) fn block_count(spec: &MethodSpec, geometry: &Geometry) -> u32 {
    let roomy = Geometry { block_count: BLOCKS_MAX, ..*geometry };
    RunsConfig::blocks_for(entries(spec), &roomy).into()
}

/// The most entries in the index: an update adds one entry and one that revokes the old one.
const fn entries(spec: &MethodSpec) -> u32 {
    spec.keys.saturating_add(spec.changes.saturating_mul(2))
}

pub(super) fn with<T>(
    spec: &MethodSpec,
    setup: &ChipSetup,
    visit: impl FnOnce(&mut dyn IndexMethod) -> Result<T, MethodError>,
) -> Result<T, MethodError> {
    let geometry = setup.part.geometry;
    let config = config(spec, &geometry)?;
    let mut table = vec![0; Flash::<Device>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flash = Flash::mount(setup.device(), &mut table)?;
    let runs = Runs::create(&mut flash, config, &mut ram)?;
    visit(&mut HashRunsMethod { flash, runs, span: span(spec, &geometry), geometry })
}

impl IndexMethod for HashRunsMethod<'_> {
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        Ok(self.runs.insert(&mut self.flash, key, record / self.span)?)
    }

    fn update(&mut self, key: &[u8], old: u32, new: u32) -> Result<(), MethodError> {
        self.delete(key, old)?;
        self.insert(key, new)
    }

    fn delete(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        assert_eq!(self.span, 1, "changes were announced");
        Ok(self.runs.delete(&mut self.flash, key, record)?)
    }

    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError> {
        let mut is_found = false;
        let span = self.span;
        self.runs.lookup(&mut self.flash, key, |_, pointer| {
            let place = if span == 1 { Place::Record(pointer) } else { Place::Page(pointer) };
            is_found = is_there(place);
            let go_on = ControlFlow::Continue(());
            Ok::<_, IndexError>(if is_found { ControlFlow::Break(()) } else { go_on })
        })?;
        Ok(is_found)
    }

    fn valid_pages(&self) -> u32 {
        self.runs.page_count(&self.geometry)
    }

    fn ram(&self) -> Ram {
        let config = self.runs.config();
        let blocks = usize::from(config.blocks_max) * 2;
        let flash = flash_ram(&self.geometry);
        Ram {
            own: config.ram_size(&self.geometry) - blocks,
            tables: flash.tables + blocks,
            fields: flash.fields + size_of::<Runs<'_>>(),
        }
    }
}
