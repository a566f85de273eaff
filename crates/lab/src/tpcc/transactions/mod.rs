//! The five transactions (clauses 2.4.2 to 2.8.2).

mod customer;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

use super::error::TpccError;
use super::query::{Compiler, Query};
use super::request::Request;

use delivery::Delivery;
use new_order::NewOrder;
use order_status::OrderStatus;
use payment::Payment;
use stock_level::StockLevel;

pub(super) use new_order::{STOCK_MIN, STOCK_REFILL};
pub(super) use payment::{DATA_MAX, paid_note};
pub(super) use stock_level::ORDERS as LEVEL_ORDERS;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its changes are durable.
    Committed,
    /// It found an item that does not exist, and changed nothing.
    RolledBack,
}

/// The compiled statements of all transactions.
pub struct Transactions<'d> {
    begin: Query<'d>,
    commit: Query<'d>,
    rollback: Query<'d>,
    new_order: NewOrder<'d>,
    payment: Payment<'d>,
    order_status: OrderStatus<'d>,
    delivery: Delivery<'d>,
    stock_level: StockLevel<'d>,
}

impl<'d> Transactions<'d> {
    /// Compile all statements.
    ///
    /// # Errors
    /// Fails if SQLite fails, for instance because a table is missing.
    pub fn prepare(compiler: Compiler<'d>) -> Result<Self, TpccError> {
        Ok(Self {
            begin: compiler.query("BEGIN")?,
            commit: compiler.query("COMMIT")?,
            rollback: compiler.query("ROLLBACK")?,
            new_order: NewOrder::prepare(compiler)?,
            payment: Payment::prepare(compiler)?,
            order_status: OrderStatus::prepare(compiler)?,
            delivery: Delivery::prepare(compiler)?,
            stock_level: StockLevel::prepare(compiler)?,
        })
    }

    /// Run the transaction of a request at `now_ms`, in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if SQLite fails, or if a row is missing because the database is not the loaded one.
    pub fn run(&mut self, request: &Request, now_ms: i64) -> Result<Outcome, TpccError> {
        self.begin.execute(&[])?;
        let outcome = self.carry_out(request, now_ms)?;
        match outcome {
            Outcome::Committed => self.commit.execute(&[])?,
            Outcome::RolledBack => self.rollback.execute(&[])?,
        }
        Ok(outcome)
    }

    fn carry_out(&mut self, request: &Request, now_ms: i64) -> Result<Outcome, TpccError> {
        match request {
            Request::NewOrder { warehouse, district, customer, lines } => {
                return self.new_order.run([*warehouse, *district, *customer], lines, now_ms);
            }
            Request::Payment { warehouse, district, customer, amount } => {
                self.payment.run([*warehouse, *district], customer, *amount, now_ms)?;
            }
            Request::OrderStatus { customer } => {
                self.order_status.run(customer)?;
            }
            Request::Delivery { warehouse, carrier } => {
                self.delivery.run(*warehouse, *carrier, now_ms)?;
            }
            Request::StockLevel { warehouse, district, threshold } => {
                self.stock_level.run([*warehouse, *district], *threshold)?;
            }
        }
        Ok(Outcome::Committed)
    }
}
