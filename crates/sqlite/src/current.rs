//! Whose turn it is on this thread: the `Vfs` of the database call that is running.
//!
//! SQLite's pseudo-random generator asks the process's default VFS, which knows no connection; it finds the right
//! source here.

use std::cell::RefCell;
use std::rc::Rc;

use crate::vfs::Vfs;

thread_local! {
    /// A stack, since a `Vfs` may keep its own data in another database.
    static RUNNING: RefCell<Vec<Rc<dyn Vfs>>> = const { RefCell::new(Vec::new()) };
}

/// Marks a database call; dropping it ends the call.
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

/// Fill `bytes` from the running call's `Vfs`; false when no call of this crate is running.
pub(crate) fn fill_random(bytes: &mut [u8]) -> bool {
    let vfs = RUNNING.with_borrow(|running| running.last().map(Rc::clone));
    vfs.is_some_and(|vfs| {
        vfs.fill_random(bytes);
        true
    })
}
