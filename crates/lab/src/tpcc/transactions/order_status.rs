//! Order-Status (clause 2.6.2): a customer asks for their last order.

use flysch_sqlite::Value;

use super::super::error::TpccError;
use super::super::query::{Compiler, Query, values};
use super::super::request::Customer;
use super::customer::Find;

pub(super) struct OrderStatus<'d> {
    find: Find<'d>,
    customer: Query<'d>,
    last_order: Query<'d>,
    lines: Query<'d>,
}

impl<'d> OrderStatus<'d> {
    pub(super) fn prepare(compiler: Compiler<'d>) -> Result<Self, TpccError> {
        Ok(Self {
            find: Find::prepare(compiler)?,
            customer: compiler.query(
                "SELECT c_balance, c_first, c_middle, c_last FROM customer
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            last_order: compiler.query(
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders
                 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
            )?,
            lines: compiler.query(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
                 FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
        })
    }

    pub(super) fn run(&mut self, customer: &Customer) -> Result<(), TpccError> {
        let key = [customer.warehouse, customer.district, self.find.id(customer)?];
        self.customer.fetch(&key.map(Value::from))?;
        let order = self.last_order.fetch(&key.map(Value::from))?.integer(0)?;
        self.lines.fetch(values![customer.warehouse, customer.district, order]).map(drop)
    }
}
