//! New-Order (clause 2.4.2): a customer orders several items.

use flysch_sqlite::Value;

use super::super::error::TpccError;
use super::super::query::{Compiler, Query, Row, values};
use super::super::request::Line;
use super::Outcome;

/// If an order leaves less stock than this, the stock is refilled (clause 2.4.2.2).
pub(in crate::tpcc) const STOCK_MIN: i64 = 10;
/// The number of pieces that a refill adds.
pub(in crate::tpcc) const STOCK_REFILL: i64 = 91;

/// A query for the stock of an item. It selects one of ten columns with district information;
/// `$district` is its number.
macro_rules! stock_for {
    ($district:literal) => {
        concat!(
            "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data, s_dist_",
            $district,
            " FROM stock WHERE s_w_id = ? AND s_i_id = ?"
        )
    };
}

const STOCK: [&str; 10] = [
    stock_for!("01"),
    stock_for!("02"),
    stock_for!("03"),
    stock_for!("04"),
    stock_for!("05"),
    stock_for!("06"),
    stock_for!("07"),
    stock_for!("08"),
    stock_for!("09"),
    stock_for!("10"),
];

pub(super) struct NewOrder<'d> {
    warehouse: Query<'d>,
    district: Query<'d>,
    next_order: Query<'d>,
    customer: Query<'d>,
    order: Query<'d>,
    undelivered: Query<'d>,
    item: Query<'d>,
    stock: Vec<Query<'d>>,
    take: Query<'d>,
    line: Query<'d>,
}

/// The primary key of the new order: order, district, warehouse.
type Key = [i64; 3];

impl<'d> NewOrder<'d> {
    pub(super) fn prepare(compiler: Compiler<'d>) -> Result<Self, TpccError> {
        let stock = STOCK.iter().map(|text| compiler.query(text));
        Ok(Self {
            warehouse: compiler.query("SELECT w_tax FROM warehouse WHERE w_id = ?")?,
            district: compiler
                .query("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?")?,
            next_order: compiler
                .query("UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?")?,
            customer: compiler.query(
                "SELECT c_discount, c_last, c_credit FROM customer
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            order: compiler.query("INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL, ?, ?)")?,
            undelivered: compiler.query("INSERT INTO new_order VALUES (?, ?, ?)")?,
            item: compiler.query("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?")?,
            stock: stock.collect::<Result<_, _>>()?,
            take: compiler.query(
                "UPDATE stock SET s_quantity = ?, s_ytd = ?, s_order_cnt = ?, s_remote_cnt = ?
                 WHERE s_w_id = ? AND s_i_id = ?",
            )?,
            line: compiler
                .query("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)")?,
        })
    }

    pub(super) fn run(
        &mut self,
        [warehouse, district, customer]: [i64; 3],
        lines: &[Line],
        now_ms: i64,
    ) -> Result<Outcome, TpccError> {
        self.warehouse.fetch(values![warehouse])?;
        let id = self.district.fetch(values![warehouse, district])?.integer(1)?;
        self.next_order.execute(values![id + 1, warehouse, district])?;
        self.customer.fetch(values![warehouse, district, customer])?;
        let all_local = i64::from(lines.iter().all(|line| line.supplier == warehouse));
        let count = i64::try_from(lines.len()).expect("at most 15 lines");
        self.order.execute(values![id, district, warehouse, customer, now_ms, count, all_local])?;
        self.undelivered.execute(values![id, district, warehouse])?;
        for (number, line) in (1..).zip(lines) {
            let Some(item) = self.item.find(values![line.item])? else {
                return Ok(Outcome::RolledBack);
            };
            let price = item.integer(0)?;
            self.enter(line, [id, district, warehouse], number, price)?;
        }
        Ok(Outcome::Committed)
    }

    /// Subtract one line of an order from the stock, and insert the line.
    fn enter(
        &mut self,
        line: &Line,
        [id, district, warehouse]: Key,
        number: i64,
        price: i64,
    ) -> Result<(), TpccError> {
        let column = usize::try_from(district - 1).expect("districts count from 1");
        let stock = self.stock[column].fetch(values![line.supplier, line.item])?;
        self.take.execute(&taken(&stock, line, warehouse)?)?;
        let (amount, label) = (line.quantity * price, stock.text(5)?);
        self.line.execute(values![
            id,
            district,
            warehouse,
            number,
            line.item,
            line.supplier,
            line.quantity,
            amount,
            label.as_str(),
        ])
    }
}

/// The stock row after the line was subtracted, followed by its key.
fn taken(stock: &Row, line: &Line, warehouse: i64) -> Result<[Value; 6], TpccError> {
    let left = stock.integer(0)? - line.quantity;
    let quantity = if left < STOCK_MIN { left + STOCK_REFILL } else { left };
    let is_remote = line.supplier != warehouse;
    Ok([
        quantity,
        stock.integer(1)? + line.quantity,
        stock.integer(2)? + 1,
        stock.integer(3)? + i64::from(is_remote),
        line.supplier,
        line.item,
    ]
    .map(Value::from))
}
