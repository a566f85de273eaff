//! Which data wear levelling moves, and where to. With a fastmap, data may only move to PEBs of its
//! pool.

use super::super::Ubi;
use super::super::wear::State;
use super::super::work::Job;
use super::format::ANCHORS_END;

impl Ubi {
    /// The job that keeps wear level, if there is one to do.
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

    /// The PEB to which data would be moved.
    pub(in crate::ubi) fn move_target(&self) -> Option<u32> {
        match &self.fastmap {
            Some(fastmap) => fastmap.pools[1].pebs.front().copied(),
            None => self.wear.choose_worn(self.threshold),
        }
    }

    /// The PEB whose data should move to `target`, if there is one.
    pub(in crate::ubi) fn move_source(&self, target: Option<u32>) -> Option<u32> {
        let is_in_the_way = self.fastmap.as_ref().is_some_and(|fastmap| fastmap.wants_anchor);
        let in_the_way = is_in_the_way.then(|| self.wear.used_below(ANCHORS_END)).flatten();
        in_the_way.or_else(|| self.wear.movable(target, self.threshold))
    }

    /// Use PEB `peb` as the target of a move.
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
