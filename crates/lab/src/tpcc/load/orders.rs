//! The rows of orders, of their lines, and of the list of undelivered orders (NEW-ORDER).

use flysch_sqlite::Value;

use super::super::error::TpccError;
use super::super::query::values;
use super::super::random::Random;
use super::super::relation::Relation;
use super::super::scale::{DISTRICTS, Scale};
use super::Sink;

/// The quantity in every line that is loaded.
const QUANTITY: i64 = 5;

/// An order that is being loaded.
struct Order {
    key: [i64; 3],
    customer: i64,
    entered_ms: i64,
    is_delivered: bool,
}

/// Load the orders of a warehouse: in each district one for each customer, in random order.
pub(super) fn orders(
    sink: &mut dyn Sink,
    random: &mut Random,
    (warehouse, now_ms): (i64, i64),
    scale: Scale,
) -> Result<(), TpccError> {
    for district in 1..=DISTRICTS {
        for (id, customer) in (1..).zip(random.permutation(scale.customers())) {
            let order = Order {
                key: [id, district, warehouse],
                customer,
                entered_ms: now_ms,
                is_delivered: id < scale.first_undelivered(),
            };
            insert(sink, random, &order, scale)?;
        }
    }
    Ok(())
}

fn insert(
    sink: &mut dyn Sink,
    random: &mut Random,
    order: &Order,
    scale: Scale,
) -> Result<(), TpccError> {
    let [id, district, warehouse] = order.key;
    let carrier = if order.is_delivered { Value::from(random.number(1, 10)) } else { Value::Null };
    let line_count = random.number(5, 15);
    let row = [
        Value::from(id),
        Value::from(district),
        Value::from(warehouse),
        Value::from(order.customer),
        Value::from(order.entered_ms),
        carrier,
        Value::from(line_count),
        Value::from(1),
    ];
    sink.insert(Relation::Orders, &row)?;
    for number in 1..=line_count {
        sink.insert(Relation::OrderLine, &line(random, order, number, scale))?;
    }
    if order.is_delivered {
        return Ok(());
    }
    sink.insert(Relation::NewOrder, values![id, district, warehouse])
}

fn line(random: &mut Random, order: &Order, number: i64, scale: Scale) -> [Value; 10] {
    let [id, district, warehouse] = order.key;
    let (delivered, amount) = if order.is_delivered {
        (Value::from(order.entered_ms), 0)
    } else {
        (Value::Null, random.number(1, 999_999))
    };
    [
        Value::from(id),
        Value::from(district),
        Value::from(warehouse),
        Value::from(number),
        Value::from(random.number(1, scale.items())),
        Value::from(warehouse),
        delivered,
        Value::from(QUANTITY),
        Value::from(amount),
        Value::from(random.text(24, 24).as_str()),
    ]
}
