//! The simulated devices through their public interface: rules, times, faults, images, traces.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod breaches;
mod cuts;
mod faults;
mod images;
mod mirror;
mod nvram;
mod parts;
mod traces;

use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, Part};
use flysch_nand::{Geometry, Nand, PageAddr};

/// Bytes of data and of OOB in a page of [`small_part`].
const PAGE_SIZE: usize = 2048;
const OOB_SIZE: usize = 64;
const SECTOR_SIZE: usize = 512;

/// A part with eight blocks of eight pages. In other respects it is like nandsim.
fn small_part() -> Part {
    let part = Part::builtin("nandsim").expect("comes with the program");
    let geometry = Geometry { pages_per_block: 8, block_count: 8, ..part.geometry };
    Part { name: "small".to_owned(), geometry, ..part }
}

fn small_chip(clock: &Clock) -> Chip {
    Chip::new(Arc::new(small_part()), clock.clone(), 1)
}

fn small_injector() -> FaultInjector {
    FaultInjector::new(small_chip(&Clock::new()))
}

/// Bytes that differ from page to page. None of them is `0xFF`.
fn pattern(page: PageAddr, len: usize) -> Vec<u8> {
    (0..len).map(|place| u8::try_from((place + 7 * page.0 as usize) % 251).unwrap()).collect()
}

/// Every page with its OOB area. `None` for a page that could not be read.
fn content(device: &mut impl Nand) -> Vec<Option<Vec<u8>>> {
    let geometry = device.geometry();
    let pages = (0..geometry.page_count()).map(PageAddr);
    let mut read = |page| {
        let mut bytes = vec![0; (geometry.page_size + geometry.oob_size) as usize];
        device.read(page, 0, &mut bytes).ok().map(|_| bytes)
    };
    pages.map(&mut read).collect()
}
