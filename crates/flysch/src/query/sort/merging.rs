//! Merging runs: which of them has the next record.

use core::ops::Range;

use flysch_nand::Nand;

use super::Order;
use super::buffer::Record;
use super::pages::Run;
use super::window::Window;
use crate::db::{Db, DbError};

/// Greatest number of runs that are merged at once.
pub(super) const FAN_MAX: usize = 16;

/// Runs that are being merged, each with a window of equal size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Merging {
    windows: [Window; FAN_MAX],
    count: usize,
    /// Bytes of a window.
    size: usize,
}

impl Merging {
    /// Runs at their beginning, in so many bytes of memory.
    pub(super) fn new(runs: &[Run], memory: usize) -> Self {
        debug_assert!((1..=FAN_MAX).contains(&runs.len()), "each run has a window");
        let mut windows = [Window::default(); FAN_MAX];
        for (window, run) in windows.iter_mut().zip(runs) {
            *window = Window::new(*run);
        }
        Self { windows, count: runs.len(), size: memory / runs.len() }
    }

    /// The memory of a window.
    const fn span(&self, window: usize) -> Range<usize> {
        window * self.size..(window + 1) * self.size
    }

    /// The next record of a window.
    pub(super) fn record<'a>(&self, memory: &'a [u8], window: usize) -> Option<Record<'a>> {
        self.windows[window].record(&memory[self.span(window)])
    }

    /// Go on behind the next record of a window, which has so many bytes.
    pub(super) fn pass(&mut self, window: usize, len: usize) {
        self.windows[window].pass(len);
    }

    /// The window whose next record comes first; None where no window has any.
    pub(super) fn least<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        ticket: u32,
        (memory, order): (&mut [u8], Order),
    ) -> Result<Option<usize>, DbError> {
        for at in 0..self.count {
            let span = self.span(at);
            self.windows[at].fill(db, ticket, &mut memory[span])?;
        }
        let mut least: Option<(usize, Record<'_>)> = None;
        for at in 0..self.count {
            let Some(record) = self.record(memory, at) else { continue };
            if least.is_none_or(|(_, first)| order.compare(record.key, first.key).is_lt()) {
                least = Some((at, record));
            }
        }
        Ok(least.map(|(at, _)| at))
    }
}
