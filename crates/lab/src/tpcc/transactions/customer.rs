//! Finds the customer that a terminal identifies by id or by last name.

use super::super::error::TpccError;
use super::super::query::{Compiler, Query, values};
use super::super::request::{Customer, Who};

/// The queries that find a customer.
pub(super) struct Find<'d> {
    by_name: Query<'d>,
}

impl<'d> Find<'d> {
    pub(super) fn prepare(compiler: Compiler<'d>) -> Result<Self, TpccError> {
        let by_name = "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?
             ORDER BY c_first";
        Ok(Self { by_name: compiler.query(by_name)? })
    }

    /// The id of a customer. If several have the same last name, it is the middle one in the order
    /// of first names, rounded up (clause 2.5.2.2).
    pub(super) fn id(&mut self, customer: &Customer) -> Result<i64, TpccError> {
        let name = match &customer.who {
            Who::LastName(name) => name.as_str(),
            Who::Id(id) => return Ok(*id),
        };
        let rows = self.by_name.rows(values![customer.warehouse, customer.district, name])?;
        let middle = rows.len().div_ceil(2).saturating_sub(1);
        let statement = "SELECT c_id FROM customer";
        rows.get(middle).ok_or(TpccError::Unexpected { statement })?.integer(0)
    }
}
