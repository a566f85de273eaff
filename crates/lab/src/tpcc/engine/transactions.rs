//! The five transactions (clauses 2.4.2 to 2.8.2). Each engine call does the work of one statement
//! of the SQLite version.

use std::collections::BTreeSet;

use flysch::db::{Db, Direction, Durability, Transaction};
use flysch::row::Value;
use flysch_nand::Nand;
use flysch_sqlite::Value as Cell;

use super::super::error::TpccError;
use super::super::query::values;
use super::super::relation::Relation;
use super::super::request::{Customer, Line, Request, Who};
use super::super::scale::DISTRICTS;
use super::super::transactions::{
    DATA_MAX, LEVEL_ORDERS, Outcome, STOCK_MIN, STOCK_REFILL, paid_note,
};
use super::rows::{Row, between, each_of, failed, fetch, find, insert, matching, update};
use super::schema::{BY_CUSTOMER, BY_NAME, KEY};

/// A transaction under way.
type Open<'d, 'ram, 's, N> = Transaction<'d, 'ram, 's, N>;

/// The state of a program that sends transactions to the engine.
#[derive(Debug)]
pub struct Transactions {
    /// The number of the last row of the history, which is its key.
    paid: i64,
}

impl Transactions {
    /// Read the number of the last row of the history.
    ///
    /// # Errors
    /// Fails if the engine fails.
    pub fn prepare<N: Nand>(db: &mut Db<'_, '_, N>) -> Result<Self, TpccError> {
        let all = (&[][..], &[][..]);
        let last = between(db, (Relation::History, KEY), all, (Direction::Backward, 1))?;
        let paid = last.first().map_or(Ok(0), |row| row.integer(0))?;
        Ok(Self { paid })
    }

    /// Run the transaction of a request at `now_ms`, in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if the engine fails, or if a row is missing because the database is not the loaded
    /// one.
    pub fn run<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        request: &Request,
        now_ms: i64,
    ) -> Result<Outcome, TpccError> {
        let relation = Relation::Warehouse;
        let mut transaction = db.begin().map_err(failed(relation))?;
        let outcome = self.carry_out(&mut transaction, request, now_ms)?;
        match outcome {
            Outcome::Committed => transaction.commit(Durability::Durable),
            Outcome::RolledBack => transaction.roll_back(),
        }
        .map_err(failed(relation))?;
        Ok(outcome)
    }

    fn carry_out<N: Nand>(
        &mut self,
        open: &mut Open<'_, '_, '_, N>,
        request: &Request,
        now_ms: i64,
    ) -> Result<Outcome, TpccError> {
        match request {
            Request::NewOrder { warehouse, district, customer, lines } => {
                return new_order(open, [*warehouse, *district, *customer], lines, now_ms);
            }
            Request::Payment { warehouse, district, customer, amount } => {
                self.payment(open, [*warehouse, *district], customer, (*amount, now_ms))?;
            }
            Request::OrderStatus { customer } => order_status(open, customer)?,
            Request::Delivery { warehouse, carrier } => {
                for district in 1..=DISTRICTS {
                    deliver(open, [*warehouse, district], *carrier, now_ms)?;
                }
            }
            Request::StockLevel { warehouse, district, threshold } => {
                stock_level(open, [*warehouse, *district], *threshold)?;
            }
        }
        Ok(Outcome::Committed)
    }

    fn payment<N: Nand>(
        &mut self,
        open: &mut Open<'_, '_, '_, N>,
        [warehouse, district]: [i64; 2],
        customer: &Customer,
        (amount, now_ms): (i64, i64),
    ) -> Result<(), TpccError> {
        let mut row = fetch(open, Relation::Warehouse, &[warehouse])?;
        let warehouse_name = row.text(1)?;
        row.add(8, amount)?;
        update(open, &row)?;
        let mut row = fetch(open, Relation::District, &[warehouse, district])?;
        let district_name = row.text(2)?;
        row.add(9, amount)?;
        update(open, &row)?;
        let key = [customer.warehouse, customer.district, id_of(open, customer)?];
        let mut row = fetch(open, Relation::Customer, &key)?;
        row.add(16, -amount)?;
        row.add(17, amount)?;
        row.add(18, 1)?;
        if row.text(13)? == "BC" {
            let mut data = paid_note(key, [warehouse, district], amount);
            data.push_str(&row.text(20)?);
            data.truncate(DATA_MAX);
            row.cells[20] = Cell::from(data.as_str());
        }
        update(open, &row)?;
        let data = format!("{warehouse_name}    {district_name}");
        let [home, home_district, id] = key;
        self.paid += 1;
        let row = values![
            self.paid,
            id,
            home_district,
            home,
            district,
            warehouse,
            now_ms,
            amount,
            data.as_str(),
        ];
        insert(open, Relation::History, row)
    }
}

/// The id of a customer. If several have the same last name, it is the middle one in the order of
/// first names, rounded up (clause 2.5.2.2).
fn id_of<N: Nand>(open: &mut Open<'_, '_, '_, N>, customer: &Customer) -> Result<i64, TpccError> {
    let name = match &customer.who {
        Who::LastName(name) => name.as_str(),
        Who::Id(id) => return Ok(*id),
    };
    let [warehouse, district] = [customer.warehouse, customer.district].map(Value::Integer);
    let key = [warehouse, district, Value::Text(name)];
    let rows = matching(open, (Relation::Customer, BY_NAME), &key)?;
    let named = rows.iter().map(|row| Ok((row.text(3)?, row.integer(0)?)));
    let mut named = named.collect::<Result<Vec<_>, TpccError>>()?;
    named.sort();
    let middle = named.len().div_ceil(2).saturating_sub(1);
    let statement = "customers by last name";
    named.get(middle).map(|(_, id)| *id).ok_or(TpccError::Unexpected { statement })
}

fn new_order<N: Nand>(
    open: &mut Open<'_, '_, '_, N>,
    [warehouse, district, customer]: [i64; 3],
    lines: &[Line],
    now_ms: i64,
) -> Result<Outcome, TpccError> {
    fetch(open, Relation::Warehouse, &[warehouse])?;
    let mut row = fetch(open, Relation::District, &[warehouse, district])?;
    let order = row.integer(10)?;
    row.set(10, order + 1);
    update(open, &row)?;
    fetch(open, Relation::Customer, &[warehouse, district, customer])?;
    let all_local = i64::from(lines.iter().all(|line| line.supplier == warehouse));
    let count = i64::try_from(lines.len()).expect("at most 15 lines");
    let ids = [order, district, warehouse, customer, now_ms].map(Cell::from);
    let rest = [Cell::Null, Cell::from(count), Cell::from(all_local)];
    insert(open, Relation::Orders, &[&ids[..], &rest].concat())?;
    insert(open, Relation::NewOrder, values![order, district, warehouse])?;
    for (number, line) in (1..).zip(lines) {
        let Some(item) = find(open, Relation::Item, &[line.item])? else {
            return Ok(Outcome::RolledBack);
        };
        enter(open, line, [order, district, warehouse, number], item.integer(3)?)?;
    }
    Ok(Outcome::Committed)
}

/// Subtract one line of an order from the stock, and insert the line.
fn enter<N: Nand>(
    open: &mut Open<'_, '_, '_, N>,
    line: &Line,
    [order, district, warehouse, number]: [i64; 4],
    price: i64,
) -> Result<(), TpccError> {
    let mut stock = fetch(open, Relation::Stock, &[line.supplier, line.item])?;
    let left = stock.integer(2)? - line.quantity;
    stock.set(2, if left < STOCK_MIN { left + STOCK_REFILL } else { left });
    stock.add(13, line.quantity)?;
    stock.add(14, 1)?;
    stock.add(15, i64::from(line.supplier != warehouse))?;
    update(open, &stock)?;
    let column = usize::try_from(2 + district).expect("districts count from 1");
    let (amount, label) = (line.quantity * price, stock.text(column)?);
    let ids = [order, district, warehouse, number, line.item, line.supplier].map(Cell::from);
    let rest =
        [Cell::Null, Cell::from(line.quantity), Cell::from(amount), Cell::from(label.as_str())];
    insert(open, Relation::OrderLine, &[&ids[..], &rest].concat())
}

fn order_status<N: Nand>(
    open: &mut Open<'_, '_, '_, N>,
    customer: &Customer,
) -> Result<(), TpccError> {
    let key = [customer.warehouse, customer.district, id_of(open, customer)?];
    fetch(open, Relation::Customer, &key)?;
    let values = key.map(Value::Integer);
    let orders = matching(open, (Relation::Orders, BY_CUSTOMER), &values)?;
    let orders = orders.iter().map(|row| row.integer(0)).collect::<Result<Vec<_>, _>>()?;
    let statement = "the last order of a customer";
    let order = orders.into_iter().max().ok_or(TpccError::Unexpected { statement })?;
    lines_of(open, [customer.warehouse, customer.district, order]).map(drop)
}

fn lines_of<N: Nand>(
    open: &mut Open<'_, '_, '_, N>,
    order: [i64; 3],
) -> Result<Vec<Row>, TpccError> {
    let all = (Direction::Forward, usize::MAX);
    between(open, (Relation::OrderLine, KEY), (&order, &order), all)
}

/// Deliver the oldest undelivered order of a district, if there is one.
fn deliver<N: Nand>(
    open: &mut Open<'_, '_, '_, N>,
    place: [i64; 2],
    carrier: i64,
    now_ms: i64,
) -> Result<(), TpccError> {
    let oldest = (Direction::Forward, 1);
    let oldest = between(open, (Relation::NewOrder, KEY), (&place, &place), oldest)?;
    let Some(oldest) = oldest.first() else { return Ok(()) };
    let [warehouse, district] = place;
    let key = [warehouse, district, oldest.integer(0)?];
    let deleted = open.delete(Relation::NewOrder as u8, &key.map(Value::Integer));
    deleted.map_err(failed(Relation::NewOrder))?;
    let mut order = fetch(open, Relation::Orders, &key)?;
    let customer = order.integer(3)?;
    order.set(5, carrier);
    update(open, &order)?;
    let mut amount = 0;
    for mut line in lines_of(open, key)? {
        amount += line.integer(8)?;
        line.set(6, now_ms);
        update(open, &line)?;
    }
    let mut row = fetch(open, Relation::Customer, &[warehouse, district, customer])?;
    row.add(16, amount)?;
    row.add(19, 1)?;
    update(open, &row)
}

/// Count the items of the district's recent orders whose stock is below `threshold`.
fn stock_level<N: Nand>(
    open: &mut Open<'_, '_, '_, N>,
    [warehouse, district]: [i64; 2],
    threshold: i64,
) -> Result<usize, TpccError> {
    let next = fetch(open, Relation::District, &[warehouse, district])?.integer(10)?;
    let ends = ([warehouse, district, next - LEVEL_ORDERS], [warehouse, district, next - 1]);
    let all = (Direction::Forward, usize::MAX);
    let lines = between(open, (Relation::OrderLine, KEY), (&ends.0, &ends.1), all)?;
    let items = lines.iter().map(|line| line.integer(4));
    let items = items.collect::<Result<BTreeSet<i64>, TpccError>>()?;
    let keys = items.iter().map(|&item| [warehouse, item]);
    let mut low = 0;
    each_of(open, Relation::Stock, keys, |stock| {
        low += usize::from(stock.integer(2)? < threshold);
        Ok(())
    })?;
    Ok(low)
}
