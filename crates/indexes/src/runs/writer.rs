//! Writes a run: ascending entries into units, and units into pages.
//!
//! A step fills one page, or one sector if sectors are programmed alone. Between steps, the only
//! state is the number of units: an entry that did not fit is returned by the source again.

use super::entry::is_anti;
use super::run::Run;
use super::unit::UnitWriter;
use crate::flash::FlashError;

/// A source of ascending entries.
pub(super) trait Source {
    /// The next entry, without taking it. None at the end.
    fn peek(&mut self) -> Result<Option<u64>, FlashError>;
    /// Take the entry that `peek` returned.
    fn pop(&mut self) -> Result<(), FlashError>;
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    /// The buffer is full and more entries may come.
    Full,
    /// No entry is left. The rest of the buffer is filled with erased bytes.
    Last,
}

/// Fill `out` with the next units of `run`, which counts its units.
pub(super) fn fill(
    run: &mut Run,
    pointer_bits: u8,
    unit_size: usize,
    source: &mut impl Source,
    out: &mut [u8],
) -> Result<Stroke, FlashError> {
    let shape = run.shape(pointer_bits);
    let mut last_hash = 0;
    let mut units = out.chunks_exact_mut(unit_size);
    let Some(mut unit) = units.next() else { unreachable!("a buffer holds a unit") };
    unit.fill(0);
    let mut writer = UnitWriter::new();
    loop {
        let entry = source.peek()?;
        if let Some(entry) = entry {
            let is_due = shape.target(shape.hash(entry), run.units) <= run.used;
            if is_due && writer.push(unit, shape, entry) {
                last_hash = shape.hash(entry);
                run.count += 1;
                debug_assert!(shape.has_antis || !is_anti(entry), "anti-entries were announced");
                source.pop()?;
                continue;
            }
            writer.close(unit, is_due, last_hash.max(floor_hash(run)));
        } else {
            writer.close(unit, false, last_hash.max(floor_hash(run)));
        }
        run.used += 1;
        let Some(next) = units.next() else {
            return Ok(if entry.is_some() { Stroke::Full } else { Stroke::Last });
        };
        if entry.is_none() {
            next.fill(0xFF);
            units.for_each(|unit| unit.fill(0xFF));
            return Ok(Stroke::Last);
        }
        unit = next;
        unit.fill(0);
        writer = UnitWriter::new();
    }
}

/// A lower limit for the hashes of entries after the current unit. An empty unit has it as its
/// first hash.
fn floor_hash(run: &Run) -> u32 {
    let floor = (u64::from(run.used) << run.hash_bits) / u64::from(run.units);
    u32::try_from(floor.min((1 << run.hash_bits) - 1)).unwrap_or(u32::MAX)
}
