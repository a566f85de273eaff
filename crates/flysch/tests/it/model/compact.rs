//! Compaction: slices between transactions that move rows the key's index still names.

use super::device::{Done, Page, Stop};
use super::engine::Engine;
use super::rows::SUMMARY;
use super::state::{COLD, Place, RING_FIRST, Row, Slot};
use super::switches::Broken;

/// Rows of the victim that were looked up, and are to be moved: in RAM alone.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The page that is looked at next.
    upto: u8,
    rows: Vec<(Place, Row)>,
}

impl Engine {
    /// The rows that begin on a page and are whole; none on a page that is void.
    pub(crate) fn page_rows(&mut self, number: u8, page: u8) -> Done<Vec<(Place, Row)>> {
        let mut rows = Vec::new();
        let Some(content) = self.rows_page(number, page, true)? else { return Ok(rows) };
        if let Page::Rows(content) = &*content {
            for (unit, row) in &content.rows {
                let place = Place { number, page, unit: *unit };
                if self.is_whole(place, row, true)? {
                    rows.push((place, *row));
                }
            }
        }
        Ok(rows)
    }

    /// The numbers of the blocks that may be compacted: whole, and before the flush marks.
    fn candidates(&self) -> Vec<u8> {
        let numbers = self.table.iter().filter_map(|slot| match slot {
            Slot::Block(0, number) if *number < RING_FIRST => Some(*number),
            Slot::Block(..) | Slot::Free => None,
        });
        let is_busy = |number: u8| {
            let is_gone = self.gone == Some(number);
            let marks = self.state.marks.iter().any(|mark| mark.blocks.contains(&number));
            is_gone
                || (marks && !self.is(Broken::VictimBehindMark))
                || self.state.heads[..2].iter().any(|head| head.number == number)
                || (self.is_frozen(number) && !self.is(Broken::CompactUnderSnapshots))
        };
        numbers.filter(|number| !is_busy(*number)).collect()
    }

    fn choose_victim(&mut self) -> Done<Option<u8>> {
        let candidates = self.candidates();
        let mut best: Option<(usize, u8)> = None;
        let tries = if self.free_count() < 9 { candidates.len() } else { candidates.len().min(2) };
        for at in 0..tries {
            let number = if tries == candidates.len() {
                candidates[at]
            } else {
                candidates[self.device.below(candidates.len() as u64) as usize]
            };
            let mut live = 0;
            for page in 0..SUMMARY {
                for (place, row) in self.page_rows(number, page)? {
                    live += usize::from(self.is_current(place, &row, self.state.commit)?)
                        * usize::from(row.len);
                }
            }
            if best.is_none_or(|(least, _)| live < least) {
                best = Some((live, number));
            }
        }
        Ok(best.map(|(_, number)| number))
    }

    /// One slice: some pages of the victim, their rows looked up, and as often as not moved.
    pub(crate) fn compact_slice(&mut self) -> Done {
        let is_barred = self.open.is_some() && !self.is(Broken::CompactInTransaction);
        if is_barred || self.gone.is_some() {
            return Ok(());
        }
        let Some((number, from)) = self.state.victim else {
            self.state.victim = self.choose_victim()?.map(|number| (number, 0));
            return Ok(());
        };
        let looked_at = from.max(self.window.upto);
        let to = (looked_at + 1 + self.device.below(3) as u8).min(SUMMARY);
        let mut alive = Vec::new();
        for page in looked_at..to {
            for (place, row) in self.page_rows(number, page)? {
                if self.stays_alive(place, &row)? {
                    alive.push((place, row));
                }
            }
        }
        self.window.rows.append(&mut alive);
        self.window.upto = to;
        let waits = if self.config.lingers { self.device.below(2) == 0 } else { to % 2 == 1 };
        if to < SUMMARY && waits {
            return Ok(());
        }
        let window = std::mem::take(&mut self.window);
        let rows: Vec<Row> = window.rows.into_iter().map(|(_, row)| row).collect();
        self.move_rows(&rows)?;
        self.state.victim = Some((number, to));
        if to == SUMMARY {
            self.state.victim = None;
            self.gone = Some(number);
            if self.is(Broken::LetGoBeforeRecord)
                && let Some(block) = self.block_of(0, number)
            {
                self.free |= 1 << block;
            }
        }
        Ok(())
    }

    /// A row is replaced: a window that has it knows nothing any more.
    pub(crate) fn note_replaced(&mut self, place: Place) {
        let is_known = self.window.rows.iter().any(|(known, _)| *known == place);
        if is_known && !self.is(Broken::WindowMissesChanges) {
            self.window = Window::default();
        }
    }

    /// A merge dropped tombstones that a window may have: the key of such a one may come again
    /// without anybody meeting it.
    pub(crate) fn note_dropped(&mut self) {
        if !self.is(Broken::WindowOutlivesMerge) {
            self.window = Window::default();
        }
    }

    fn stays_alive(&mut self, place: Place, row: &Row) -> Done<bool> {
        if row.is_tombstone && self.is(Broken::TombstonesStay) {
            return Ok(false);
        }
        let is_open = self.open.is_some() && self.is(Broken::CompactInTransaction);
        let limit = self.state.commit + u32::from(is_open);
        let found = self.lookup(row.key, limit, is_open)?.row;
        let is_newest = found.is_some_and(|(at, found)| at == place && found.id == row.id);
        Ok(is_newest && (!row.is_tombstone || self.ends_any(place, row.key)?))
    }

    /// Whether any entry of the code leads to a row of a key outside of a tombstone's own block,
    /// which goes as a whole.
    fn ends_any(&mut self, tombstone: Place, key: u8) -> Done<bool> {
        for entry in self.committed_entries(key % self.config.code_count)? {
            let is_elsewhere = entry.at.number != tombstone.number;
            if is_elsewhere
                && self.cell_rows(entry.at, false)?.iter().any(|(_, row)| row.key == key)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Append rows to `cold` and program them; without a block for them nothing has happened.
    fn move_rows(&mut self, rows: &[Row]) -> Done {
        let flag = !self.is(Broken::MovesDropTheFlag);
        for row in rows {
            let moved = Row { is_shared: row.is_shared && flag, ..*row };
            if let Err(stop) = self.append(COLD, moved) {
                return self.give_up_slice(stop);
            }
        }
        match self.pad(COLD) {
            Ok(()) => Ok(()),
            Err(stop) => self.give_up_slice(stop),
        }
    }

    fn give_up_slice(&mut self, stop: Stop) -> Done {
        let tail = std::mem::take(&mut self.tails[COLD]);
        let carried = tail.carry.map(|carry| carry.row.id);
        let lost = |id| carried == Some(id) || tail.rows.iter().any(|(_, row)| row.id == id);
        self.mem.retain(|mem| !lost(mem.id));
        Err(stop)
    }

    /// Forget a block of rows: it is free when the record that follows says so.
    pub(crate) fn let_go(&mut self) {
        if let Some(number) = self.gone
            && let Some(block) = self.block_of(0, number)
        {
            self.gone = None;
            self.set_slot(block, Slot::Free);
            self.changes.push((block, Slot::Free));
            self.state.spans.retain(|span| span.number != number);
        }
    }
}
