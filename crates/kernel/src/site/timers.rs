//! The interval after which the kernel writes data back. The original value is restored on drop.

use std::fs;
use std::io;

/// The interval in hundredths of a second. The write buffers of JFFS2 and UBIFS and the flusher of
/// the page cache use it.
const INTERVAL: &str = "/proc/sys/vm/dirty_writeback_centisecs";
/// An interval that is longer than any preparation, in hundredths of a second.
const AN_HOUR: &str = "360000";

/// The kernel's write-back timers, which can be held.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// The interval before the timers were held. None if they are not held.
    before: Option<String>,
}

impl Timers {
    /// Hold the timers that are set from now on, so that they do not expire, or release them. A
    /// timer that was set while they were held ends with the next sync of its file system.
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
        // Errors are ignored here, because there is nothing left to do and the result of the run
        // matters more.
        self.hold(false).ok();
    }
}
