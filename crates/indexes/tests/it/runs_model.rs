//! Runs against an ordered map.

use flysch_chip::Chip;
use flysch_indexes::flash::Flash;
use flysch_indexes::runs::{Output, Pace, Runs};

use crate::world::{apply, chip, compare, model, operations, small_config, small_geometry};

fn check(seed: u64, pace: Pace, output: Output, filter_bits: u8) {
    let config = small_config(pace, output, filter_bits);
    let geometry = small_geometry();
    let geometry = match output {
        Output::Page => geometry,
        Output::Sector => flysch_nand::Geometry { page_size: 4096, ..geometry },
    };
    let ops = operations(seed, 3000);
    let story = format!("seed {seed}, {pace:?}, {output:?}, filter {filter_bits}");
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut runs = Runs::create(&mut flash, config, &mut ram).unwrap();
    for (number, op) in ops.iter().enumerate() {
        apply(&mut runs, &mut flash, *op).unwrap();
        if number % 397 == 0 {
            let model = model(&ops[..=number]);
            let outcome = compare(&mut runs, &mut flash, &model, &format!("{story}, {number}"));
            assert_eq!(outcome, Ok(()), "{story}, {number}");
        }
    }
    let flushed = runs.flushed() as usize;
    let device = flash.into_nand();
    let mut flash = Flash::mount(device, &mut table).unwrap();
    let mut runs = Runs::mount(&mut flash, config, &mut ram).unwrap();
    assert_eq!(runs.flushed() as usize, flushed, "{story}");
    for op in &ops[flushed..] {
        apply(&mut runs, &mut flash, *op).unwrap();
    }
    let outcome = compare(&mut runs, &mut flash, &model(&ops), &format!("{story}, mounted"));
    assert_eq!(outcome, Ok(()), "{story}, mounted");
}

#[test]
fn every_variant_is_an_ordered_map() {
    for seed in 0..4 {
        for pace in [Pace::Synchronous, Pace::Spread] {
            for output in [Output::Page, Output::Sector] {
                check(seed, pace, output, 0);
                check(seed, pace, output, 6);
            }
        }
    }
}
