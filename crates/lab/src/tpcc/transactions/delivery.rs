//! Delivery (clause 2.7.4). As in DBT-2, one database transaction serves all ten districts.

use super::super::error::TpccError;
use super::super::query::{Compiler, Query, values};
use super::super::scale::DISTRICTS;

pub(super) struct Delivery<'d> {
    oldest: Query<'d>,
    remove: Query<'d>,
    customer: Query<'d>,
    carry: Query<'d>,
    deliver: Query<'d>,
    amount: Query<'d>,
    credit: Query<'d>,
}

impl<'d> Delivery<'d> {
    pub(super) fn prepare(compiler: Compiler<'d>) -> Result<Self, TpccError> {
        Ok(Self {
            oldest: compiler
                .query("SELECT min(no_o_id) FROM new_order WHERE no_w_id = ? AND no_d_id = ?")?,
            remove: compiler
                .query("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?")?,
            customer: compiler
                .query("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?")?,
            carry: compiler.query(
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            )?,
            deliver: compiler.query(
                "UPDATE order_line SET ol_delivery_d = ?
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
            amount: compiler.query(
                "SELECT sum(ol_amount) FROM order_line
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
            credit: compiler.query(
                "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
        })
    }

    pub(super) fn run(
        &mut self,
        warehouse: i64,
        carrier: i64,
        now_ms: i64,
    ) -> Result<(), TpccError> {
        for district in 1..=DISTRICTS {
            // A district without undelivered orders is skipped.
            if let Some(order) = self.oldest.fetch(values![warehouse, district])?.optional(0)? {
                self.one([warehouse, district, order], carrier, now_ms)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, key: [i64; 3], carrier: i64, now_ms: i64) -> Result<(), TpccError> {
        let [warehouse, district, order] = key;
        self.remove.execute(values![warehouse, district, order])?;
        let customer = self.customer.fetch(values![warehouse, district, order])?.integer(0)?;
        self.carry.execute(values![carrier, warehouse, district, order])?;
        self.deliver.execute(values![now_ms, warehouse, district, order])?;
        let amount = self.amount.fetch(values![warehouse, district, order])?.integer(0)?;
        self.credit.execute(values![amount, warehouse, district, customer])
    }
}
