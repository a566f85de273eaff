//! What wear levelling moves where: with fastmaps, to PEBs of their pool alone.

use super::super::Ubi;
use super::super::wear::State;
use super::super::work::Job;
use super::format::ANCHORS_END;

impl Ubi {
    /// What the thread has to do so that wear stays level.
    pub(in crate::ubi) fn levelling_job(&self) -> Option<Job> {
        let target = self.move_target();
        let is_pool_used_up =
            target.is_none() && self.fastmap.as_ref().is_some_and(|it| it.was_levelling_filled);
        if is_pool_used_up {
            let next = self.wear.choose_worn(self.threshold);
            return next.and_then(|_| self.move_source(next)).map(|_| Job::Fastmap);
        }
        self.move_source(target).map(|_| Job::Move)
    }

    /// Where data would be moved.
    pub(in crate::ubi) fn move_target(&self) -> Option<u32> {
        match &self.fastmap {
            Some(fastmap) => fastmap.pools[1].pebs.front().copied(),
            None => self.wear.choose_worn(self.threshold),
        }
    }

    /// What is to be moved to `target`, if anything is.
    pub(in crate::ubi) fn move_source(&self, target: Option<u32>) -> Option<u32> {
        let is_in_the_way = self.fastmap.as_ref().is_some_and(|fastmap| fastmap.wants_anchor);
        let in_the_way = is_in_the_way.then(|| self.wear.used_below(ANCHORS_END)).flatten();
        in_the_way.or_else(|| self.wear.movable(target, self.threshold))
    }

    /// Take the target of a move, `peb`.
    pub(in crate::ubi) fn take_target(&mut self, peb: u32) {
        match &mut self.fastmap {
            Some(fastmap) => {
                fastmap.wants_anchor = false;
                fastmap.pools[1].pebs.pop_front();
            }
            None => self.wear.set_state(peb, State::Away),
        }
    }
}
