//! The wish to stop: Ctrl-C and its kin, noted instead of obeyed, so that there is time to clean up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Tells whether a signal asked this process to end. The signals do nothing else from then on.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Note SIGINT, SIGTERM and SIGHUP from now on. A second one ends the process at once.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn on_signals() -> io::Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_shutdown(signal, 1, Arc::clone(&wanted))?;
            flag::register(signal, Arc::clone(&wanted))?;
        }
        Ok(Self(wanted))
    }

    /// Whether one came.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
