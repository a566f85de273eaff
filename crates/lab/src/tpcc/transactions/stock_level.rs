//! Stock-Level (clause 2.8.2): how many items of recent orders have little stock.

use super::super::error::TpccError;
use super::super::query::{Compiler, Query, values};

/// How many of the district's last orders are examined (clause 2.8.2.2).
pub(in crate::tpcc) const ORDERS: i64 = 20;

pub(super) struct StockLevel<'d> {
    next_order: Query<'d>,
    low: Query<'d>,
}

impl<'d> StockLevel<'d> {
    pub(super) fn prepare(compiler: Compiler<'d>) -> Result<Self, TpccError> {
        Ok(Self {
            next_order: compiler
                .query("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?")?,
            // CROSS JOIN makes SQLite begin with the order lines. They are few and the stock is
            // large, but SQLite does not know that without statistics.
            low: compiler.query(
                "SELECT count(DISTINCT s_i_id) FROM order_line CROSS JOIN stock
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?
                     AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < ?",
            )?,
        })
    }

    pub(super) fn run(
        &mut self,
        [warehouse, district]: [i64; 2],
        threshold: i64,
    ) -> Result<(), TpccError> {
        let next = self.next_order.fetch(values![warehouse, district])?.integer(0)?;
        self.low.fetch(values![warehouse, district, next - ORDERS, next, threshold]).map(drop)
    }
}
