//! The input of each transaction, which a terminal draws at random (clauses 2.4.1 to 2.8.1).

use super::deck::{Deck, Kind};
use super::random::Random;
use super::scale::{DISTRICTS, Scale};

/// A transaction with its input. Ids count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    NewOrder {
        /// Home warehouse of the terminal.
        warehouse: i64,
        district: i64,
        /// The customer of this district who orders.
        customer: i64,
        /// The lines of the order. If an item does not exist, the transaction rolls back.
        lines: Vec<Line>,
    },
    Payment {
        /// Home warehouse of the terminal.
        warehouse: i64,
        /// The district that receives the payment.
        district: i64,
        /// The customer who pays.
        customer: Customer,
        /// The amount that is paid, in cents.
        amount: i64,
    },
    OrderStatus {
        /// The customer who asks.
        customer: Customer,
    },
    Delivery {
        /// Home warehouse of the terminal.
        warehouse: i64,
        /// The carrier of the delivery.
        carrier: i64,
    },
    StockLevel {
        /// Home warehouse of the terminal.
        warehouse: i64,
        /// District of the terminal.
        district: i64,
        /// Stock below this number is low.
        threshold: i64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub item: i64,
    /// The warehouse that supplies the item.
    pub supplier: i64,
    /// Number of pieces that are ordered.
    pub quantity: i64,
}

/// A customer of a district, identified by id or by last name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customer {
    pub warehouse: i64,
    pub district: i64,
    /// How the customer is identified within the district.
    pub who: Who,
}

/// The identification of a customer within a district.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    Id(i64),
    LastName(String),
}

/// Draws requests one after the other.
#[derive(Clone, Debug)]
pub struct Requests {
    scale: Scale,
    /// Percentage of New-Order transactions that roll back.
    rollback_percent: u32,
    random: Random,
    deck: Deck,
}

impl Request {
    /// The kind of this transaction.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::NewOrder { .. } => Kind::NewOrder,
            Self::Payment { .. } => Kind::Payment,
            Self::OrderStatus { .. } => Kind::OrderStatus,
            Self::Delivery { .. } => Kind::Delivery,
            Self::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

impl Requests {
    /// Requests for a database that was loaded with this scale and seed.
    pub fn new(scale: Scale, rollback_percent: u32, seed: u64) -> Self {
        let random = Random::of_run(seed);
        Self { scale, rollback_percent, random, deck: Deck::default() }
    }

    /// The random source, for other random choices of a run.
    pub const fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Draw the next request of terminal `terminal`, counted from 0. A terminal has a fixed
    /// warehouse and, for Stock-Level, a fixed district (clauses 2.4.1.1 and 2.8.1.1).
    pub fn draw(&mut self, terminal: u32) -> Request {
        let terminal = i64::from(terminal);
        let warehouse = terminal / DISTRICTS % self.scale.last_warehouse() + 1;
        match self.deck.draw(&mut self.random) {
            Kind::NewOrder => self.new_order(warehouse),
            Kind::Payment => self.payment(warehouse),
            Kind::OrderStatus => {
                let district = self.district();
                Request::OrderStatus { customer: self.customer(warehouse, district) }
            }
            Kind::Delivery => Request::Delivery { warehouse, carrier: self.random.number(1, 10) },
            Kind::StockLevel => Request::StockLevel {
                warehouse,
                district: terminal % DISTRICTS + 1,
                threshold: self.random.number(10, 20),
            },
        }
    }

    fn district(&mut self) -> i64 {
        self.random.number(1, DISTRICTS)
    }

    /// Draw a customer. Six in ten are identified by last name, the others by id.
    fn customer(&mut self, warehouse: i64, district: i64) -> Customer {
        let customers = self.scale.customers();
        let who = if self.random.happens(60) {
            Who::LastName(self.random.last_name(customers))
        } else {
            Who::Id(self.random.customer(customers))
        };
        Customer { warehouse, district, who }
    }

    /// Draw a warehouse other than this one. If there is only one, it is returned.
    fn other_warehouse(&mut self, warehouse: i64) -> i64 {
        let last = self.scale.last_warehouse();
        if last == 1 {
            return warehouse;
        }
        let drawn = self.random.number(1, last - 1);
        if drawn < warehouse { drawn } else { drawn + 1 }
    }

    fn new_order(&mut self, warehouse: i64) -> Request {
        let district = self.district();
        let customer = self.random.customer(self.scale.customers());
        let count = self.random.number(5, 15);
        let mut lines: Vec<Line> = (0..count).map(|_| self.line(warehouse)).collect();
        if self.random.happens(self.rollback_percent) {
            lines.last_mut().expect("an order has lines").item = self.scale.items() + 1;
        }
        Request::NewOrder { warehouse, district, customer, lines }
    }

    /// Draw a line of an order. One line in a hundred is supplied by another warehouse.
    fn line(&mut self, warehouse: i64) -> Line {
        let item = self.random.item(self.scale.items());
        let is_remote = self.random.happens(1);
        let supplier = if is_remote { self.other_warehouse(warehouse) } else { warehouse };
        Line { item, supplier, quantity: self.random.number(1, 10) }
    }

    /// Draw a payment. Fifteen in a hundred customers pay at a warehouse other than their own.
    fn payment(&mut self, warehouse: i64) -> Request {
        let district = self.district();
        let customer = if self.random.happens(85) {
            self.customer(warehouse, district)
        } else {
            let (other, there) = (self.other_warehouse(warehouse), self.district());
            self.customer(other, there)
        };
        let amount = self.random.number(100, 500_000);
        Request::Payment { warehouse, district, customer, amount }
    }
}
