//! The nine tables of TPC-C by name.

/// A table (clause 1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Relation {
    Warehouse,
    District,
    Customer,
    History,
    NewOrder,
    Orders,
    OrderLine,
    Item,
    Stock,
}

impl Relation {
    /// All tables, in the order of the variants.
    pub(super) const ALL: [Self; 9] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::NewOrder,
        Self::Orders,
        Self::OrderLine,
        Self::Item,
        Self::Stock,
    ];

    /// The SQL that inserts a row.
    pub(super) const fn insert(self) -> &'static str {
        match self {
            Self::Warehouse => "INSERT INTO warehouse VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            Self::District => "INSERT INTO district VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            Self::Customer => {
                "INSERT INTO customer VALUES
                 (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            }
            Self::History => "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            Self::NewOrder => "INSERT INTO new_order VALUES (?, ?, ?)",
            Self::Orders => "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            Self::OrderLine => "INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            Self::Item => "INSERT INTO item VALUES (?, ?, ?, ?, ?)",
            Self::Stock => {
                "INSERT INTO stock VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            }
        }
    }
}
