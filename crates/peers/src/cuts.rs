//! What is left after power cuts: values are put until the power goes, and looked for afterwards.

use std::panic::{self, AssertUnwindSafe};

use flysch_chip::{Clock, Ending, FaultPlan, Prng};

use crate::costs::value;
use crate::engines::Engine;
use crate::flash::{Device, new_device};
use crate::store::Failed;

/// Keys that are put.
const KEYS: u32 = 40;
/// Puts of a history that is not cut.
const PUTS: u32 = 160;

/// What was found after cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub cuts: u32,
    /// Cuts after which a value is missing, or an older one is there than was acknowledged.
    pub lost: u32,
    /// Cuts after which a value is none of those that were put.
    pub wrong: u32,
    /// Cuts after which the engine did not open, or a call failed.
    pub dead: u32,
    /// Cuts after which a rule of the chip was broken, or the engine panicked.
    pub broke: u32,
}

/// Cut histories of an engine, `count` times with each of these endings.
///
/// # Errors
/// The engine failed where nothing was cut.
pub fn cuts(engine: Engine, endings: &[Ending], count: u32, seed: u64) -> Result<Found, Failed> {
    let (device, clock) = new_device(seed);
    let mut versions = [0; KEYS as usize];
    engine.session((&device, &clock), true, &mut |_| Ok(()))?;
    device.borrow_mut().device.arm(FaultPlan::default());
    live(engine, (&device, &clock), &mut versions, seed)?;
    let operations = device.borrow().device.operations();
    let mut found = Found::default();
    let mut prng = Prng::new(seed);
    for &ending in endings {
        for _ in 0..count {
            let cut = FaultPlan {
                seed: prng.next(),
                cut_at: Some(prng.below(operations)),
                ending: Some(ending),
                ..FaultPlan::default()
            };
            found.cuts += 1;
            let after = panic::catch_unwind(AssertUnwindSafe(|| after_cut(engine, cut, seed)));
            match after {
                Err(_) => found.broke += 1,
                Ok(After::Dead) => found.dead += 1,
                Ok(After::Wrong) => found.wrong += 1,
                Ok(After::Lost) => found.lost += 1,
                Ok(After::Right) => {}
            }
        }
    }
    Ok(found)
}

/// What one cut left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum After {
    Right,
    Lost,
    Wrong,
    Dead,
}

/// Put values until the power goes. `versions` gets how often each key was put: the last put is not
/// counted if it failed.
fn live(
    engine: Engine,
    (device, clock): (&Device, &Clock),
    versions: &mut [u32; KEYS as usize],
    seed: u64,
) -> Result<(), Failed> {
    let mut prng = Prng::new(seed ^ 0xC075);
    engine.session((device, clock), false, &mut |store| {
        for _ in 0..PUTS {
            let key = prng.below(KEYS.into()) as u32;
            store.put(key, &value(key, versions[key as usize] + 1))?;
            versions[key as usize] += 1;
        }
        Ok(())
    })
}

/// Live through one cut, and see what is left.
fn after_cut(engine: Engine, cut: FaultPlan, seed: u64) -> After {
    let (device, clock) = new_device(seed);
    let mut versions = [0; KEYS as usize];
    if engine.session((&device, &clock), true, &mut |_| Ok(())).is_err() {
        return After::Dead;
    }
    device.borrow_mut().device.arm(cut);
    let lived = live(engine, (&device, &clock), &mut versions, seed);
    // Some engines write once more as they are closed, so a history may be whole before its cut.
    debug_assert!(
        lived.is_ok() || !device.borrow().device.is_on(),
        "only the cut ends a history: {lived:?}"
    );
    device.borrow_mut().device.power_up();
    device.borrow_mut().device.arm(FaultPlan::default());
    let mut worst = After::Right;
    let opened = engine.session((&device, &clock), false, &mut |store| {
        let mut is_ahead = false;
        for (key, &version) in (0..).zip(&versions) {
            let found = store.get(key)?;
            let state = match found {
                None if version == 0 => After::Right,
                Some(found) if version > 0 && found == value(key, version) => After::Right,
                // The put that was cut may be there, whole.
                Some(found) if !is_ahead && found == value(key, version + 1) => {
                    is_ahead = true;
                    After::Right
                }
                Some(found) if (1..version).any(|old| found == value(key, old)) => After::Lost,
                None => After::Lost,
                Some(_) => After::Wrong,
            };
            worst = worst.max(state);
        }
        store.put(0, &value(0, 1_000_000))?;
        let is_put = store.get(0)? == Some(value(0, 1_000_000));
        worst = worst.max(if is_put { After::Right } else { After::Lost });
        Ok(())
    });
    if opened.is_err() { After::Dead } else { worst }
}
