//! Checks the consistency conditions after a run on the engine, by a scan of each table.

use std::collections::BTreeMap;

use flysch::db::Db;
use flysch_nand::Nand;

use super::super::condition::{Condition, Violation};
use super::super::error::TpccError;
use super::super::relation::Relation;
use super::rows::each;

/// The numbers of a district that the conditions compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct District {
    earned: i64,
    next_order: i64,
    last_order: Option<i64>,
    undelivered: Option<(i64, i64)>,
    undelivered_count: i64,
    lines_promised: i64,
    lines: i64,
}

/// Check all conditions.
///
/// # Errors
/// Returns the first violation, or the error of the engine.
pub fn check<N: Nand>(db: &mut Db<'_, '_, N>) -> Result<(), TpccError> {
    let mut earned = BTreeMap::new();
    each(db, Relation::Warehouse, |row| {
        earned.insert(row.integer(0)?, row.integer(8)?);
        Ok(())
    })?;
    let districts = districts(db)?;
    for (&warehouse, &year) in &earned {
        let of = districts.iter().filter(|((of, _), _)| *of == warehouse);
        let sum: i64 = of.map(|(_, district)| district.earned).sum();
        require(sum == year, Condition::Earnings, (warehouse, 0), &[Some(year), Some(sum)])?;
    }
    for (&place, district) in &districts {
        let last = Some(district.next_order - 1);
        let undelivered = district.undelivered.map(|(_, last)| last);
        let is_next = district.last_order == last && (undelivered.is_none() || undelivered == last);
        let found = [last, district.last_order, undelivered];
        require(is_next, Condition::NextOrder, place, &found)?;
        let width = district.undelivered.map_or(0, |(first, last)| last - first + 1);
        let found = [Some(width), Some(district.undelivered_count)];
        let has_no_gap = width == district.undelivered_count;
        require(has_no_gap, Condition::Undelivered, place, &found)?;
        let found = [Some(district.lines_promised), Some(district.lines)];
        require(district.lines_promised == district.lines, Condition::Lines, place, &found)?;
    }
    Ok(())
}

fn districts<N: Nand>(db: &mut Db<'_, '_, N>) -> Result<BTreeMap<(i64, i64), District>, TpccError> {
    let mut all: BTreeMap<(i64, i64), District> = BTreeMap::new();
    each(db, Relation::District, |row| {
        let district = all.entry((row.integer(1)?, row.integer(0)?)).or_default();
        (district.earned, district.next_order) = (row.integer(9)?, row.integer(10)?);
        Ok(())
    })?;
    each(db, Relation::Orders, |row| {
        let district = all.entry((row.integer(2)?, row.integer(1)?)).or_default();
        district.last_order = district.last_order.max(Some(row.integer(0)?));
        district.lines_promised += row.integer(6)?;
        Ok(())
    })?;
    each(db, Relation::NewOrder, |row| {
        let district = all.entry((row.integer(2)?, row.integer(1)?)).or_default();
        let order = row.integer(0)?;
        let (first, last) = district.undelivered.unwrap_or((order, order));
        district.undelivered = Some((first.min(order), last.max(order)));
        district.undelivered_count += 1;
        Ok(())
    })?;
    each(db, Relation::OrderLine, |row| {
        all.entry((row.integer(2)?, row.integer(1)?)).or_default().lines += 1;
        Ok(())
    })?;
    Ok(all)
}

fn require(
    holds: bool,
    condition: Condition,
    (warehouse, district): (i64, i64),
    found: &[Option<i64>],
) -> Result<(), TpccError> {
    if holds {
        return Ok(());
    }
    let found = found.to_vec();
    Err(TpccError::Inconsistent(Violation { condition, warehouse, district, found }))
}
