//! Which commit was the last one at a given time.
//!
//! A page of rows with twelve bytes to spare holds a time: the number of the commit that was under
//! way when its first row came, and the time of the commit before. All commits before that number
//! were done by that time. So times cost no program, and the clock is asked once a commit. The
//! answer is exact to a page: it has nothing that was committed later, but may miss what was
//! committed since the page's first row.

use flysch_nand::Nand;

use super::{At, Db, DbError};
use crate::media::{Header, Kind, MediaError, Page, Space};
use crate::record::{MOMENT_SIZE, Moment, is_void, moment_place};

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Read the database as it was at a time of its clock, in microseconds, see [`Db::as_of`].
    /// Everything shown was committed by then; up to about a page of the newest rows may be
    /// missing. The time is looked for on pages of `table`, whose rows are to be read.
    /// [`DbError::Stale`] where no page tells any more. Cost: some 18 reads, and one for each page
    /// without a time among those that are looked at, as where rows fill their pages.
    pub fn as_of_time(&mut self, table: u8, time: u64) -> Result<At<'_, 'ram, 's, N>, DbError> {
        let commits = self.commits_at(table, time)?.ok_or(DbError::Stale)?;
        self.as_of(commits)
    }

    /// How many commits were done by a time, in microseconds, as far as pages of a table tell; None
    /// where none of the pages is that old. Cost: see [`Db::as_of_time`].
    pub fn commits_at(&mut self, table: u8, time: u64) -> Result<Option<u32>, DbError> {
        self.table(table)?;
        self.roll_back_open()?;
        if time >= self.time {
            return Ok(Some(self.commit - 1));
        }
        let space = self.records.tail.space_of(table);
        if let Some(start) = self.records.tail.start(space).filter(|start| start.time <= time) {
            debug_assert!(start.commit <= self.commit, "the tail's rows are of commits that were");
            return Ok(Some(start.commit - 1));
        }
        let numbers = self.media.numbers();
        let first = self.records.stream(space).first;
        let (mut low, mut high) = (0, numbers.distance(first, self.media.head(space)));
        let mut found = None;
        while low < high {
            let middle = low.midpoint(high);
            let told = self.first_told((space, first), middle..high)?;
            match told.filter(|(_, told)| told.time <= time) {
                Some((place, told)) => (found, low) = (Some(told.commit - 1), place + 1),
                None => high = middle,
            }
        }
        Ok(found)
    }

    /// The first page of a range that holds a time. Pages are counted from the first one of the
    /// space.
    fn first_told(
        &mut self,
        (space, first): (Space, u32),
        places: core::ops::Range<u32>,
    ) -> Result<Option<(u32, Moment)>, DbError> {
        let numbers = self.media.numbers();
        for place in places {
            let page = Page { space, number: numbers.advance(first, place) };
            if let Some(moment) = self.told(page)? {
                return Ok(Some((place, moment)));
            }
        }
        Ok(None)
    }

    /// The commit and the time that a page holds; None where it holds none. Cost: one read.
    fn told(&mut self, page: Page) -> Result<Option<Moment>, DbError> {
        self.forget_frame();
        if is_void(&mut self.media, page, None) {
            return Ok(None);
        }
        match self.media.read(page, 0, self.frame) {
            Ok(()) => {}
            Err(MediaError::Corrupt(_) | MediaError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let Ok(Header { kind: Kind::Rows, used, .. }) = Header::parse(self.frame) else {
            return Ok(None);
        };
        let layout = self.media.layout();
        let Some(place) = moment_place(layout, usize::from(used)) else { return Ok(None) };
        let mut bytes = [0; MOMENT_SIZE];
        layout.take(self.frame, place, &mut bytes);
        Ok(Moment::parse(&bytes))
    }
}
