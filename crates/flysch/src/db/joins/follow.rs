//! Copies follow a value that was changed.

use flysch_nand::Nand;

use super::copies::hash_columns;
use crate::db::find::Find;
use crate::db::index::Wanted;
use crate::db::seek::Seat;
use crate::db::{Db, DbError};

/// Longest chain of rows each of which copies a value from the one before. A longer one is refused.
const DEPTH_MAX: usize = 4;

/// Rows that may have to follow a change of their parent.
struct Level {
    /// The parent.
    parent: Wanted,
    /// The foreign key by which rows are sought, by its place.
    key: u8,
    /// The rows that refer by it; None before they are sought.
    find: Option<Find>,
    /// A hash of the values that they ought to have.
    wanted: u64,
    /// Whether any row was changed since they were sought last.
    has_changed: bool,
}

impl Level {
    const fn of(parent: Wanted) -> Self {
        Self { parent, key: 0, find: None, wanted: 0, has_changed: false }
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Have the rows that refer to a parent, and those that refer to these, copy what changed.
    ///
    /// The search goes down to the rows of a changed row before it goes on to the next one. Rows of
    /// a parent are sought again until none had to be changed: a program that failed may have moved
    /// some while they were sought.
    #[inline(never)]
    pub(super) fn follow(&mut self, root: Wanted) -> Result<(), DbError> {
        let mut path: [Level; DEPTH_MAX] = core::array::from_fn(|_| Level::of(root));
        let mut depth = 0;
        loop {
            let level = &mut path[depth];
            match self.next_behind(level)? {
                Some(child) => {
                    level.has_changed = true;
                    let parent = Wanted { table: child.head.table, index: 0, digest: child.key };
                    // Rows that refer to each other in a circle may well have others that did not
                    // follow yet. Those are come to by way of what they copy.
                    let has_more = self.changes_copied(parent, |db| {
                        db.change_row(child, |db, values| db.replace_joined(child, values))
                    })?;
                    if has_more {
                        depth += 1;
                        *path.get_mut(depth).ok_or(DbError::Cascade)? = Level::of(parent);
                    }
                }
                None if level.has_changed => *level = Level::of(level.parent),
                None if depth == 0 => return Ok(()),
                None => depth -= 1,
            }
        }
    }

    /// The next row that refers to a level's parent and has not the values that it ought to have.
    fn next_behind(&mut self, level: &mut Level) -> Result<Option<Seat>, DbError> {
        let (constraints, hash) = (self.constraints, self.key);
        while let Some(&key) = constraints.foreign_keys.get(usize::from(level.key)) {
            let joins = || constraints.joins_of(level.key);
            if key.parent != level.parent.table || joins().next().is_none() {
                level.key += 1;
                continue;
            }
            if level.find.is_none() {
                level.wanted = self.hash_of(level.parent, joins().map(|join| join.of))?;
                let Some(seat) = self.seek(level.parent)?.row() else { return Ok(None) };
                level.find = Some(self.children_of(seat, key)?);
            }
            let Some(find) = &mut level.find else { unreachable!("rows are sought") };
            while let Some((pointer, place)) = find.next_place(self)? {
                let view = self.front_at(pointer, place)?;
                let columns = joins().map(|join| join.column);
                if hash_columns(&view, columns, &hash)? != level.wanted {
                    return self.seat_at(pointer, place).map(Some);
                }
            }
            (level.key, level.find) = (level.key + 1, None);
        }
        Ok(None)
    }
}
