//! Pages of indexes that rot away in the middle of a life, and what a repair makes of it.

use flysch::db::{Db, DbError};
use flysch_chip::{FaultInjector, Prng};
use flysch_nand::{Nand, PageAddr};

use super::super::image::is_of_run;
use super::device::Tally;
use super::found;
use super::rows::State;
use super::world::World;

/// Pages that are looked at before nothing rots.
const TRIES: u64 = 60;

/// What has become of a device's indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rot {
    /// Pages of this device never rot.
    Never,
    /// All of them can be read, as far as is known.
    None,
    /// Some cannot, and were not repaired yet.
    Some,
    /// They were repaired in this session. A cut may bring back runs that merges had replaced, and
    /// that had rotten as well.
    Again,
    /// Rows are there again that were deleted long ago, or there is no room for a repair.
    Risen,
}

pub(super) type Open<'d> = Db<'d, 'static, &'d mut FaultInjector>;

/// Let a page of a run rot, and perhaps some behind it.
pub(super) fn begin(db: &mut Open<'_>, prng: &mut Prng, rot: &mut Rot) -> Result<(), DbError> {
    let geometry = db.nand().geometry();
    for _ in 0..TRIES {
        let page = prng.below(u64::from(geometry.page_count())) as u32;
        let most = if prng.below(3) == 0 { 8 } else { 1 };
        for page in page..geometry.page_count().min(page + most) {
            let mut first = [0];
            // A page that reads badly is none that was programmed whole.
            match db.nand_mut().read(PageAddr(page), 0, &mut first) {
                Err(flysch_nand::ReadError::PowerLost) => {
                    return Err(DbError::Media(flysch::media::MediaError::PowerLost));
                }
                Ok(_) if is_of_run(first[0]) => {}
                Ok(_) | Err(_) => break,
            }
            *rot = Rot::Some;
            db.nand_mut().chip_mut().rot(PageAddr(page), prng);
        }
        if *rot == Rot::Some {
            break;
        }
    }
    Ok(())
}

/// Repair what has rotten, if anything has. `after` is what may be said of the device then. A
/// repair of so many steps goes before, and is left.
pub(super) fn repair<'d, N: Nand + 'd>(
    db: &mut Db<'d, 'static, N>,
    (world, states): (&World, &[State]),
    (tally, rot): (&mut Tally, &mut Rot),
    (after, steps): (Rot, u64),
) -> Result<(), DbError> {
    if !matches!(rot, Rot::Some | Rot::Again) {
        return Ok(());
    }
    leave(db, steps)?;
    let repaired = db.repair()?;
    tally.lost_pages += u64::from(repaired.lost_pages);
    tally.put_again += u64::from(repaired.entries);
    // Where nothing was lost, nothing was written: the next mount may find another state, in which
    // a run has the page.
    *rot = if repaired.lost_pages > 0 { after } else { Rot::Again };
    // What a repair put again before it was cut or left, it counted then.
    let is_second = after == Rot::None || steps > 0;
    let doubtful = if is_second { u32::MAX } else { repaired.doubtful };
    if doubtful > 0 && found::has_risen(db, world, states, doubtful)? {
        tally.risen += 1;
        *rot = Rot::Risen;
    }
    Ok(())
}

/// Begin a repair, and leave it after some steps.
fn leave<N: Nand>(db: &mut Db<'_, 'static, N>, steps: u64) -> Result<(), DbError> {
    if steps == 0 {
        return Ok(());
    }
    let mut repair = db.begin_repair()?;
    for _ in 0..steps {
        if !repair.step()? {
            break;
        }
    }
    Ok(())
}
