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
#[derive(Clone, Copy)]
struct Level {
    /// The parent.
    parent: Wanted,
    /// The foreign key by which rows are sought, by its place.
    key: u8,
    /// A hash of the values that the rows which refer by it ought to have.
    wanted: u64,
    /// The pointer and the place of the row that was changed last; None before the first.
    changed: Option<(u32, u32)>,
    /// Whether any row was changed since they were sought last.
    has_changed: bool,
}

impl Level {
    const fn of(parent: Wanted) -> Self {
        Self { parent, key: 0, wanted: 0, changed: None, has_changed: false }
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Have the rows that refer to a parent, and those that refer to these, copy what changed.
    ///
    /// The search goes down to the rows of a changed row before it goes on to the next one. Only
    /// the deepest level has a cursor, and the others go on where they were. Rows of a parent are
    /// sought again until none had to be changed: a program that failed may have moved some while
    /// they were sought.
    #[inline(never)]
    pub(super) fn follow(&mut self, root: Wanted) -> Result<(), DbError> {
        let mut path = [Level::of(root); DEPTH_MAX];
        let (mut depth, mut find) = (0, None);
        loop {
            let level = &mut path[depth];
            match self.next_behind(level, &mut find)? {
                Some(child) => {
                    level.has_changed = true;
                    level.changed = Some((child.pointer, child.place));
                    let parent = Wanted { table: child.head.table, index: 0, digest: child.key };
                    // Rows that refer to each other in a circle may well have others that did not
                    // follow yet. Those are come to by way of what they copy.
                    let has_more = self.changes_copied(parent, |db| {
                        db.change_row(child, |db, values| db.replace_joined(child, values))
                    })?;
                    if has_more {
                        (depth, find) = (depth + 1, None);
                        *path.get_mut(depth).ok_or(DbError::Cascade)? = Level::of(parent);
                    }
                }
                None if level.has_changed => *level = Level::of(level.parent),
                None if depth == 0 => return Ok(()),
                None => (depth, find) = (depth - 1, None),
            }
        }
    }

    /// The next row that refers to a level's parent and has not the values that it ought to have.
    /// The cursor over these rows is None where it has to be made.
    fn next_behind(
        &mut self,
        level: &mut Level,
        find: &mut Option<Find>,
    ) -> Result<Option<Seat>, DbError> {
        let (constraints, hash) = (self.constraints, self.key);
        while let Some(&key) = constraints.foreign_keys.get(usize::from(level.key)) {
            let joins = || constraints.joins_of(level.key);
            if key.parent != level.parent.table || joins().next().is_none() {
                level.key += 1;
                continue;
            }
            if find.is_none() {
                level.wanted = self.hash_of(level.parent, joins().map(|join| join.of))?;
                let Some(seat) = self.seek(level.parent)?.row() else { return Ok(None) };
                let mut children = self.children_of(seat, key)?;
                level.changed.inspect(|&row| children.go_on_at(row));
                *find = Some(children);
            }
            let Some(children) = find else { unreachable!("rows are sought") };
            while let Some((pointer, place)) = children.next_place(self)? {
                let view = self.front_at(pointer, place)?;
                let columns = joins().map(|join| join.column);
                if hash_columns(&view, columns, &hash)? != level.wanted {
                    return self.seat_at(pointer, place).map(Some);
                }
            }
            (level.key, level.changed, *find) = (level.key + 1, None, None);
        }
        Ok(None)
    }
}
