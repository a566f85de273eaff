//! The [`Vfs`] of the database call that is running on this thread.
//!
//! SQLite's random generator asks the process's default VFS for its seed. The default VFS knows no
//! connection, so it looks up here which `Vfs` to ask.

use std::cell::RefCell;
use std::rc::Rc;

use crate::vfs::Vfs;

thread_local! {
    /// The `Vfs` of each running call, the innermost last: a `Vfs` may keep its own data in another
    /// database and call that.
    static RUNNING: RefCell<Vec<Rc<dyn Vfs>>> = const { RefCell::new(Vec::new()) };
}

/// Marks that a database call is running. Dropping it ends the call.
pub(crate) struct Running(());

impl Running {
    pub(crate) fn begin(vfs: &Rc<dyn Vfs>) -> Self {
        RUNNING.with_borrow_mut(|running| running.push(Rc::clone(vfs)));
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let ended = RUNNING.with_borrow_mut(Vec::pop);
        assert!(ended.is_some(), "a database call ends once");
    }
}

/// Fill `bytes` from the `Vfs` of the running call. Returns false when this thread runs no call of
/// this crate.
pub(crate) fn fill_random(bytes: &mut [u8]) -> bool {
    let vfs = RUNNING.with_borrow(|running| running.last().map(Rc::clone));
    vfs.is_some_and(|vfs| {
        vfs.fill_random(bytes);
        true
    })
}
