//! The background tasks of the file system: they run when a call enters the VFS or a program
//! sleeps.

use super::Vfs;

impl Vfs {
    /// Let `ns` nanoseconds pass. Background tasks that fall due in this time run.
    pub fn sleep(&mut self, ns: u64) {
        let until_ns = self.cpu.clock().now_ns() + ns;
        self.cpu.set_idle(true);
        while let Some(wakeup_ns) = self.fs.next_wakeup_ns().filter(|&at_ns| at_ns <= until_ns) {
            self.wait_until(wakeup_ns);
            if !self.run_due_tasks() {
                break;
            }
        }
        self.wait_until(until_ns);
        self.cpu.set_idle(false);
    }

    /// Let each due task run once. Returns whether one ran and changed something: the time, or when
    /// the next task is due.
    pub(super) fn run_due_tasks(&mut self) -> bool {
        let now_ns = self.cpu.clock().now_ns();
        let wakeup_ns = self.fs.next_wakeup_ns();
        if wakeup_ns.is_none_or(|at_ns| at_ns > now_ns) {
            return false;
        }
        // No caller waits for a task's result. A failure shows in the next call that meets it.
        let _unseen = self.fs.run_background(&mut self.cache);
        self.fs.next_wakeup_ns() != wakeup_ns || self.cpu.clock().now_ns() > now_ns
    }

    fn wait_until(&self, at_ns: u64) {
        let clock = self.cpu.clock();
        clock.advance(at_ns.saturating_sub(clock.now_ns()));
    }
}
