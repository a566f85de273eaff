//! The size of the database.

/// Number of districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: i64 = 10;
/// Number of items, and of stock rows of a warehouse (clause 1.2.1).
const ITEMS: u32 = 100_000;
/// Number of customers in a district, and of its orders at the start (clause 1.2.1).
const CUSTOMERS: u32 = 3_000;

/// Bytes that the table of items takes.
const ITEMS_BYTES: u64 = 9_000_000;

/// The numbers of rows in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scale {
    pub warehouses: u32,
    /// Divides the specification's numbers of items, customers and orders. 1 is full size.
    pub divisor: u32,
}

impl Scale {
    /// The largest divisor. A district then has 30 customers and orders, of which the last 9 are
    /// undelivered.
    pub const DIVISOR_MAX: u32 = 100;
    /// The most warehouses. The database is then larger than any part that the lab knows.
    pub const WAREHOUSES_MAX: u32 = 1_000;

    /// Size of the database in bytes, to within 5 %. Small pages leave more room unused.
    pub const fn bytes(self, page_size: u32) -> u64 {
        let per_warehouse = match page_size {
            ..1024 => 99_500_000,
            1024 => 88_800_000,
            2048 => 80_500_000,
            _ => 75_600_000,
        };
        (ITEMS_BYTES + self.warehouses as u64 * per_warehouse) / self.divisor as u64
    }

    /// Number of items, and of stock rows of a warehouse.
    pub const fn items(self) -> i64 {
        (ITEMS / self.divisor) as i64
    }

    /// Number of customers in a district, and of its orders at the start.
    pub const fn customers(self) -> i64 {
        (CUSTOMERS / self.divisor) as i64
    }

    /// The id of the first undelivered order of a district. At the start, the last 30 % are
    /// undelivered (clause 4.3.3.1).
    pub const fn first_undelivered(self) -> i64 {
        self.customers() * 7 / 10 + 1
    }

    /// Id of the last warehouse, which is the number of warehouses.
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
