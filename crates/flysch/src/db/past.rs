//! From a time to a commit.
//!
//! Each page of rows that has twelve bytes to spare holds the commit that was under way when its
//! first row came, and the time of the commit before: those before the first one were done by that
//! time. So no program is spent on times, and the clock is asked once a commit. What is found is
//! exact to a page: nothing that was committed later is shown, and what was committed since the
//! page's first row may be missing.

use flysch_nand::Nand;

use super::{At, Db, DbError};
use crate::media::{Header, Kind, MediaError, Page, Space};
use crate::record::{MOMENT_SIZE, Moment, is_void, moment_place};

/// Pages that are looked at for one that tells its time.
const LOOKED_AT: u32 = 8;

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Read as it was at a time of the database's clock, see [`Db::as_of`]: what is shown was
    /// committed by then, and all of it up to about a page of rows before. The pages that are
    /// asked are those of `table`, whose rows are to be read. [`DbError::Stale`] where nothing is
    /// left that tells. Cost: some 18 reads, at most eight times as many.
    pub fn as_of_time(&mut self, table: u8, time: u64) -> Result<At<'_, 'ram, 's, N>, DbError> {
        let commits = self.commits_at(table, time)?.ok_or(DbError::Stale)?;
        self.as_of(commits)
    }

    /// How many commits were done by a time, as far as the pages of a table tell; none where none
    /// of them is so old. Cost: see [`Db::as_of_time`].
    pub fn commits_at(&mut self, table: u8, time: u64) -> Result<Option<u32>, DbError> {
        self.table(table)?;
        self.roll_back_open()?;
        if time >= self.time {
            return Ok(Some(self.commit - 1));
        }
        let space = self.records.tail.space_of(table);
        if let Some(start) = self.records.tail.start(space).filter(|start| start.time <= time) {
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

    /// The first of some pages that tells its time. They are counted from the first one there is.
    fn first_told(
        &mut self,
        (space, first): (Space, u32),
        places: core::ops::Range<u32>,
    ) -> Result<Option<(u32, Moment)>, DbError> {
        let numbers = self.media.numbers();
        for place in places.take(LOOKED_AT as usize) {
            let page = Page { space, number: numbers.advance(first, place) };
            if let Some(moment) = self.told(page)? {
                return Ok(Some((place, moment)));
            }
        }
        Ok(None)
    }

    /// The commit and the time of a page; none where it tells none. Cost: one read.
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
