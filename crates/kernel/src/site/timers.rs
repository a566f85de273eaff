//! The interval after which the kernel writes back by itself; put back when dropped.

use std::fs;
use std::io;

/// Hundredths of a second: of JFFS2's and UBIFS's write buffers, of the page cache's flusher.
const INTERVAL: &str = "/proc/sys/vm/dirty_writeback_centisecs";
/// Longer than any preparation.
const AN_HOUR: &str = "360000";

/// The kernel's timers, held or not.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// What the interval was before they were held.
    before: Option<String>,
}

impl Timers {
    /// Let no timer that is set from now on end, or let them again. One that was set meanwhile goes
    /// with the next sync of its file system.
    pub(super) fn hold(&mut self, held: bool) -> io::Result<()> {
        if held && self.before.is_none() {
            let before = fs::read_to_string(INTERVAL)?;
            fs::write(INTERVAL, AN_HOUR)?;
            self.before = Some(before);
        } else if !held && let Some(before) = self.before.take() {
            fs::write(INTERVAL, before)?;
        }
        Ok(())
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        // What refuses now cannot be helped, and the run's own outcome is what matters.
        self.hold(false).ok();
    }
}
