//! The `PBFilter` of `flysch_indexes` as an index method. It has a deletion area if keys will be
//! updated.

use std::ops::ControlFlow;

use flysch_indexes::flash::Flash;
use flysch_indexes::pbfilter::{Deletions, PbConfig, PbFilter};
use flysch_indexes::{ConfigError, IndexError};
use flysch_nand::Geometry;

use super::chip_setup::{ChipSetup, Device};
use super::error::MethodError;
use super::method::{IndexMethod, MethodName, MethodSpec, Ram, Tuning};
use super::records::Place;

struct PbFilterMethod<'ram> {
    flash: Flash<'ram, Device>,
    keys: PbFilter<'ram>,
    deletions: Option<Deletions<'ram>>,
    geometry: Geometry,
}

/// First area number of the deletion area. It is beyond the three areas of the keys.
const DELETIONS_AREA: u8 = 64;

fn config(spec: &MethodSpec, geometry: &Geometry) -> Result<PbConfig, ConfigError> {
    let given = u32::try_from(spec.key_size).unwrap_or(u32::MAX);
    let too_long = ConfigError::TooLarge { parameter: "key_size", max: u8::MAX.into(), given };
    let key_size = u8::try_from(spec.key_size).map_err(|_| too_long)?;
    let published = PbConfig::published(key_size, spec.keys, geometry);
    let partitions = match spec.name {
        MethodName::Pbfilter2 => 16,
        _ => published.partitions,
    };
    let Tuning { bits_per_key, hash_count, flush, .. } = spec.tuning;
    let config = PbConfig { bits_per_key, hash_count, flush, partitions, ..published };
    config.with_room_for(spec.keys.saturating_add(spec.changes), geometry)
}

fn deletions_config(
    keys: PbConfig,
    spec: &MethodSpec,
    geometry: &Geometry,
) -> Result<PbConfig, ConfigError> {
    let config = PbConfig { first_area: DELETIONS_AREA, ..Deletions::config(keys) };
    config.with_room_for(spec.changes, geometry)
}

/// The most blocks that keys and deletions need, on a chip that is large enough.
pub(super) fn block_count(spec: &MethodSpec, geometry: &Geometry) -> Result<u32, MethodError> {
    let roomy = Geometry { block_count: BLOCKS_MAX, ..*geometry };
    let keys = config(spec, &roomy)?;
    let gone = deletions_config(keys, spec, &roomy)?;
    let gone = if spec.changes > 0 { gone.blocks_max } else { 0 };
    Ok(u32::from(keys.blocks_max) + u32::from(gone))
}

/// The most blocks that the engine can number.
pub(super) const BLOCKS_MAX: u32 = 0xFFFE;

pub(super) fn with<T>(
    spec: &MethodSpec,
    setup: &ChipSetup,
    visit: impl FnOnce(&mut dyn IndexMethod) -> Result<T, MethodError>,
) -> Result<T, MethodError> {
    let geometry = setup.part.geometry;
    let keys = config(spec, &geometry)?;
    let gone = deletions_config(keys, spec, &geometry)?;
    let mut table = vec![0; Flash::<Device>::ram_size(&geometry)];
    let mut ram = vec![0; keys.ram_size(&geometry)];
    let mut gone_ram = vec![0; gone.ram_size(&geometry)];
    let mut flash = Flash::mount(setup.device(), &mut table)?;
    let keys = PbFilter::create(&mut flash, keys, &mut ram)?;
    let deletions = if spec.changes > 0 {
        Some(Deletions::new(PbFilter::create(&mut flash, gone, &mut gone_ram)?))
    } else {
        None
    };
    let mut method = PbFilterMethod { flash, keys, deletions, geometry };
    let needed = method.ram().own;
    spec.ram.map_or(Ok(()), |given| ConfigError::check_ram(needed, given))?;
    visit(&mut method)
}

impl IndexMethod for PbFilterMethod<'_> {
    fn insert(&mut self, key: &[u8], record: u32) -> Result<(), MethodError> {
        Ok(self.keys.insert(&mut self.flash, key, record)?)
    }

    fn update(&mut self, key: &[u8], old: u32, new: u32) -> Result<(), MethodError> {
        self.insert(key, new)?;
        self.delete(key, old)
    }

    fn delete(&mut self, _key: &[u8], record: u32) -> Result<(), MethodError> {
        let deletions = self.deletions.as_mut().expect("changes were announced");
        Ok(deletions.delete(&mut self.flash, record)?)
    }

    fn lookup(
        &mut self,
        key: &[u8],
        is_there: &mut dyn FnMut(Place) -> bool,
    ) -> Result<bool, MethodError> {
        let mut is_found = false;
        let deletions = &mut self.deletions;
        self.keys.lookup(&mut self.flash, key, |flash, record| {
            if let Some(deletions) = deletions
                && deletions.contains(flash, record)?
            {
                return Ok(ControlFlow::Continue(()));
            }
            is_found = is_there(Place::Record(record));
            let go_on = ControlFlow::Continue(());
            Ok::<_, IndexError>(if is_found { ControlFlow::Break(()) } else { go_on })
        })?;
        Ok(is_found)
    }

    fn valid_pages(&self) -> u32 {
        let gone = self.deletions.as_ref().map_or(0, |it| it.index().page_count());
        self.keys.page_count() + gone
    }

    fn ram(&self) -> Ram {
        let gone = self.deletions.as_ref().map(Deletions::index);
        let all = std::iter::once(&self.keys).chain(gone);
        all.fold(flash_ram(&self.geometry), |ram, index| {
            let config = index.config();
            let blocks = usize::from(config.blocks_max) * 2;
            Ram {
                own: ram.own + config.ram_size(&self.geometry) - blocks,
                tables: ram.tables + blocks,
                fields: ram.fields + size_of::<PbFilter<'_>>(),
            }
        })
    }
}

/// RAM of the engine's flash layer.
pub(super) fn flash_ram(geometry: &Geometry) -> Ram {
    let tables = Flash::<Device>::ram_size(geometry);
    Ram { own: 0, tables, fields: size_of::<Flash<'_, ()>>() }
}
