//! What a record costs: one workload for every engine, its operations counted.

use flysch_chip::Prng;

use crate::engines::Engine;
use crate::flash::{Cost, new_device, spent};
use crate::store::{Failed, Store, VALUE_SIZE};

/// What is done, with each put in a transaction of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Keys that are put, in random order.
    pub keys: u32,
    /// Values that are put again, of random keys.
    pub updates: u32,
    /// Values that are got, of random keys.
    pub gets: u32,
}

/// The cost of the parts of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    pub puts: Cost,
    pub updates: Cost,
    pub gets: Cost,
    /// Opening again after the power was cut, and the first get.
    pub open: Cost,
}

/// The value of a key after so many puts of it.
pub fn value(key: u32, version: u32) -> [u8; VALUE_SIZE] {
    let mut value = [0; VALUE_SIZE];
    Prng::new(u64::from(key) << 32 | u64::from(version)).fill(&mut value);
    value[..4].copy_from_slice(&version.to_le_bytes());
    value
}

/// Carry a workload out.
///
/// # Errors
/// The engine failed, or a value is not the one that was put last.
pub fn costs(engine: Engine, workload: Workload, seed: u64) -> Result<Costs, Failed> {
    let (device, clock) = new_device(seed);
    let mut prng = Prng::new(seed);
    let mut order: Vec<u32> = (0..workload.keys).collect();
    prng.shuffle(&mut order);
    let mut versions = vec![0; workload.keys as usize];
    let mut costs = Costs::default();
    let mut pick = move || prng.below(workload.keys.into()) as u32;
    engine.session((&device, &clock), true, &mut |store| {
        let mut last = spent(&device, &clock);
        let mut step = || {
            let now = spent(&device, &clock);
            now.since(std::mem::replace(&mut last, now))
        };
        for &key in &order {
            store.put(key, &value(key, 0))?;
        }
        costs.puts = step();
        for _ in 0..workload.updates {
            let key = pick();
            versions[key as usize] += 1;
            store.put(key, &value(key, versions[key as usize]))?;
        }
        costs.updates = step();
        for _ in 0..workload.gets {
            let key = pick();
            check(store, key, versions[key as usize])?;
        }
        costs.gets = step();
        Ok(())
    })?;
    let closed = spent(&device, &clock);
    engine.session((&device, &clock), false, &mut |store| {
        check(store, 0, versions[0])?;
        costs.open = spent(&device, &clock).since(closed);
        Ok(())
    })?;
    Ok(costs)
}

fn check(store: &mut dyn Store, key: u32, version: u32) -> Result<(), Failed> {
    let found = store.get(key)?;
    let is_right = found == Some(value(key, version));
    if is_right { Ok(()) } else { Err(Failed(format!("key {key} has {found:?}"))) }
}
