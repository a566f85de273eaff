//! Catches signals such as Ctrl-C, which then only set a flag. So the program can clean up before
//! it ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether a signal has asked this process to end. The first signal has no other effect.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on, catch SIGINT, SIGTERM and SIGHUP. A second signal ends the process at once.
    ///
    /// # Errors
    /// Fails if the operating system refuses.
    pub fn on_signals() -> io::Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_shutdown(signal, 1, Arc::clone(&wanted))?;
            flag::register(signal, Arc::clone(&wanted))?;
        }
        Ok(Self(wanted))
    }

    /// Whether a signal has come.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
