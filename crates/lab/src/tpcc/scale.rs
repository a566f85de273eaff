//! How large the database is.

/// Districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: i64 = 10;
/// Items, and stock rows of a warehouse (clause 1.2.1).
const ITEMS: u32 = 100_000;
/// Customers of a district, and its orders at first (clause 1.2.1).
const CUSTOMERS: u32 = 3_000;

/// Bytes of all items.
const ITEMS_BYTES: u64 = 9_000_000;

/// Cardinalities of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: u32,
    /// What the specification's items, customers and orders are divided by; 1 is its own size.
    pub divisor: u32,
}

impl Scale {
    /// Largest divisor: 30 customers and orders of a district, of which the last 9 are undelivered.
    pub const DIVISOR_MAX: u32 = 100;
    /// Most warehouses: more than any part of the laboratory holds.
    pub const WAREHOUSES_MAX: u32 = 1_000;

    /// Bytes of the database with pages of `page_size`, within 5 %: small pages leave more unused.
    pub const fn bytes(self, page_size: u32) -> u64 {
        let per_warehouse = match page_size {
            ..1024 => 99_500_000,
            1024 => 88_800_000,
            2048 => 80_500_000,
            _ => 75_600_000,
        };
        (ITEMS_BYTES + self.warehouses as u64 * per_warehouse) / self.divisor as u64
    }

    /// Items, and stock rows of a warehouse.
    pub const fn items(self) -> i64 {
        (ITEMS / self.divisor) as i64
    }

    /// Customers of a district; as many orders it has at first.
    pub const fn customers(self) -> i64 {
        (CUSTOMERS / self.divisor) as i64
    }

    /// The first order of a district that is undelivered at first: its last 30 % are (clause 4.3.3.1).
    pub const fn first_undelivered(self) -> i64 {
        self.customers() * 7 / 10 + 1
    }

    /// Warehouses as an id: the last one's.
    pub const fn last_warehouse(self) -> i64 {
        self.warehouses as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undivided_sizes_are_those_of_the_specification() {
        let scale = Scale { warehouses: 1, divisor: 1 };
        let found = (scale.items(), scale.customers(), scale.first_undelivered());
        assert_eq!(found, (100_000, 3_000, 2_101));
    }
}
