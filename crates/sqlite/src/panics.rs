//! Panics of a `Vfs` must not unwind through SQLite's C frames: caught there, resumed once SQLite has returned.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static CAUGHT: RefCell<Option<Box<dyn Any + Send>>> = const { RefCell::new(None) };
}

/// Run a callback of SQLite; if it panics, keep the panic and answer `otherwise`.
pub(crate) fn catch<T>(otherwise: T, callback: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or_else(|payload| {
        CAUGHT.with_borrow_mut(|caught| _ = caught.get_or_insert(payload));
        otherwise
    })
}

/// Go on with a panic that was caught, if any. While another unwinds the caught one is dropped: two would abort.
pub(crate) fn resume() {
    if let Some(payload) = CAUGHT.with_borrow_mut(Option::take)
        && !std::thread::panicking()
    {
        resume_unwind(payload);
    }
}
