//! The engine on the simulated chip.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use flysch::flash::Flash;
use flysch::index::IndexError;
use flysch::index::runs::{Runs, RunsConfig};
use flysch_chip::{Chip, Clock, Part};

#[test]
fn debug_runs() {
    let part = Part::named("gemalto-vfl").unwrap();
    let geometry = part.geometry;
    let chip = Chip::new(Arc::new(part), Clock::new(), 1);
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut flash = Flash::mount(chip, &mut table).unwrap();
    let config = RunsConfig::for_keys(100_000, 12_600, &geometry).unwrap();
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut runs = Runs::create(&mut flash, config, &mut ram).unwrap();
    for n in 0..100_000_u32 {
        runs.insert(&mut flash, &n.to_le_bytes(), n / 20).unwrap();
        if n % 3840 == 0 {
            println!("{n} {}", runs.debug());
        }
    }
    let _: Option<IndexError> = None;
}
