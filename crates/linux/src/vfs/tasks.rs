//! Time passing: background tasks of the file system run when a call or a sleep lets them.

use super::Vfs;

impl Vfs {
    /// Let `ns` nanoseconds pass, with the background tasks that fall due meanwhile.
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

    /// Let the tasks that are due run, each once; tell whether there were any, and time or their
    /// next wake-up moved on.
    pub(super) fn run_due_tasks(&mut self) -> bool {
        let now_ns = self.cpu.clock().now_ns();
        let wakeup_ns = self.fs.next_wakeup_ns();
        if wakeup_ns.is_none_or(|at_ns| at_ns > now_ns) {
            return false;
        }
        // No caller waits for a task's result: a failure shows in the next call that meets it.
        let _unseen = self.fs.run_background(&mut self.cache);
        self.fs.next_wakeup_ns() != wakeup_ns || self.cpu.clock().now_ns() > now_ns
    }

    fn wait_until(&self, at_ns: u64) {
        let clock = self.cpu.clock();
        clock.advance(at_ns.saturating_sub(clock.now_ns()));
    }
}
