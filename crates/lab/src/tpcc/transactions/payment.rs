//! Payment (clause 2.5.2): a customer pays an amount.

use flysch_sqlite::Value;

use super::super::error::TpccError;
use super::super::query::{Compiler, Query, Row, values};
use super::super::request::Customer;
use super::customer::Find;

/// The most characters that the data of a customer may have.
pub(in crate::tpcc) const DATA_MAX: usize = 500;

pub(super) struct Payment<'d> {
    find: Find<'d>,
    to_warehouse: Query<'d>,
    warehouse: Query<'d>,
    to_district: Query<'d>,
    district: Query<'d>,
    customer: Query<'d>,
    pay: Query<'d>,
    pay_with_data: Query<'d>,
    history: Query<'d>,
}

impl<'d> Payment<'d> {
    pub(super) fn prepare(compiler: Compiler<'d>) -> Result<Self, TpccError> {
        Ok(Self {
            find: Find::prepare(compiler)?,
            to_warehouse: compiler
                .query("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?")?,
            warehouse: compiler.query(
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse
                 WHERE w_id = ?",
            )?,
            to_district: compiler
                .query("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?")?,
            district: compiler.query(
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district
                 WHERE d_w_id = ? AND d_id = ?",
            )?,
            customer: compiler.query(
                "SELECT c_balance, c_ytd_payment, c_payment_cnt, c_credit, c_data, c_first,
                     c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
                     c_since, c_credit_lim, c_discount
                 FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            pay: compiler.query(
                "UPDATE customer SET c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ?
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            pay_with_data: compiler.query(
                "UPDATE customer SET c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ?, c_data = ?
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            history: compiler.query("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?,
        })
    }

    pub(super) fn run(
        &mut self,
        [warehouse, district]: [i64; 2],
        customer: &Customer,
        amount: i64,
        now_ms: i64,
    ) -> Result<(), TpccError> {
        self.to_warehouse.execute(values![amount, warehouse])?;
        let warehouse_name = self.warehouse.fetch(values![warehouse])?.text(0)?;
        self.to_district.execute(values![amount, warehouse, district])?;
        let district_name = self.district.fetch(values![warehouse, district])?.text(0)?;
        let key = [customer.warehouse, customer.district, self.find.id(customer)?];
        let row = self.customer.fetch(&key.map(Value::from))?;
        self.book(&row, key, [warehouse, district], amount)?;
        let data = format!("{warehouse_name}    {district_name}");
        let [home, home_district, id] = key;
        self.history.execute(values![
            id,
            home_district,
            home,
            district,
            warehouse,
            now_ms,
            amount,
            data.as_str(),
        ])
    }

    /// Record the payment. If the customer has bad credit, it is also noted at the start of their
    /// data.
    fn book(
        &mut self,
        row: &Row,
        key: [i64; 3],
        [warehouse, district]: [i64; 2],
        amount: i64,
    ) -> Result<(), TpccError> {
        let (balance, paid) = (row.integer(0)? - amount, row.integer(1)? + amount);
        let mut row_values = values![balance, paid, row.integer(2)? + 1].to_vec();
        let has_bad_credit = row.text(3)? == "BC";
        if has_bad_credit {
            let mut data = paid_note(key, [warehouse, district], amount);
            data.push_str(&row.text(4)?);
            data.truncate(DATA_MAX);
            row_values.push(Value::from(data.as_str()));
        }
        row_values.extend(key.map(Value::from));
        if has_bad_credit { &mut self.pay_with_data } else { &mut self.pay }.execute(&row_values)
    }
}

/// The text that a payment puts in front of the data of a customer with bad credit.
pub(in crate::tpcc) fn paid_note(
    [home, home_district, id]: [i64; 3],
    [warehouse, district]: [i64; 2],
    amount: i64,
) -> String {
    format!("{id} {home_district} {home} {district} {warehouse} {amount} ")
}
