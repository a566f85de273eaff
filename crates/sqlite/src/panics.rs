//! A panic of a `Vfs` must not unwind through SQLite's C frames. It is caught there, and resumed
//! once SQLite has returned.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static CAUGHT: RefCell<Option<Box<dyn Any + Send>>> = const { RefCell::new(None) };
}

/// Run a callback of SQLite. If the callback panics, the panic is kept and `otherwise` is returned.
pub(crate) fn catch<T>(otherwise: T, callback: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or_else(|payload| {
        CAUGHT.with_borrow_mut(|caught| _ = caught.get_or_insert(payload));
        otherwise
    })
}

/// Resume the panic that was caught, if there is one. If this thread is already panicking, the
/// caught panic is dropped, because two at once would abort the process.
pub(crate) fn resume() {
    if let Some(payload) = CAUGHT.with_borrow_mut(Option::take)
        && !std::thread::panicking()
    {
        resume_unwind(payload);
    }
}
