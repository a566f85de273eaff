//! The nine tables (clause 1.3) with their primary keys, and the two indexes that DBT-2 adds.

/// Tables that lie in the second file, if a database has two: those that make up orders. A
/// New-Order or a Delivery then changes both files in one transaction.
const ORDER_TABLES: [&str; 3] = ["new_order", "orders", "order_line"];

/// Names and columns of the tables.
const TABLES: [(&str, &str); 9] = [
    (
        "warehouse",
        "w_id INTEGER PRIMARY KEY, w_name TEXT, w_street_1 TEXT, w_street_2 TEXT, w_city TEXT,
         w_state TEXT, w_zip TEXT, w_tax INTEGER, w_ytd INTEGER",
    ),
    (
        "district",
        "d_id INTEGER, d_w_id INTEGER, d_name TEXT, d_street_1 TEXT, d_street_2 TEXT, d_city TEXT,
         d_state TEXT, d_zip TEXT, d_tax INTEGER, d_ytd INTEGER, d_next_o_id INTEGER,
         PRIMARY KEY (d_w_id, d_id)",
    ),
    (
        "customer",
        "c_id INTEGER, c_d_id INTEGER, c_w_id INTEGER, c_first TEXT, c_middle TEXT, c_last TEXT,
         c_street_1 TEXT, c_street_2 TEXT, c_city TEXT, c_state TEXT, c_zip TEXT, c_phone TEXT,
         c_since INTEGER, c_credit TEXT, c_credit_lim INTEGER, c_discount INTEGER,
         c_balance INTEGER, c_ytd_payment INTEGER, c_payment_cnt INTEGER, c_delivery_cnt INTEGER,
         c_data TEXT, PRIMARY KEY (c_w_id, c_d_id, c_id)",
    ),
    (
        "history",
        "h_c_id INTEGER, h_c_d_id INTEGER, h_c_w_id INTEGER, h_d_id INTEGER, h_w_id INTEGER,
         h_date INTEGER, h_amount INTEGER, h_data TEXT",
    ),
    (
        "new_order",
        "no_o_id INTEGER, no_d_id INTEGER, no_w_id INTEGER,
         PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    ),
    (
        "orders",
        "o_id INTEGER, o_d_id INTEGER, o_w_id INTEGER, o_c_id INTEGER, o_entry_d INTEGER,
         o_carrier_id INTEGER, o_ol_cnt INTEGER, o_all_local INTEGER,
         PRIMARY KEY (o_w_id, o_d_id, o_id)",
    ),
    (
        "order_line",
        "ol_o_id INTEGER, ol_d_id INTEGER, ol_w_id INTEGER, ol_number INTEGER, ol_i_id INTEGER,
         ol_supply_w_id INTEGER, ol_delivery_d INTEGER, ol_quantity INTEGER, ol_amount INTEGER,
         ol_dist_info TEXT, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
    (
        "item",
        "i_id INTEGER PRIMARY KEY, i_im_id INTEGER, i_name TEXT, i_price INTEGER, i_data TEXT",
    ),
    (
        "stock",
        "s_i_id INTEGER, s_w_id INTEGER, s_quantity INTEGER, s_dist_01 TEXT, s_dist_02 TEXT,
         s_dist_03 TEXT, s_dist_04 TEXT, s_dist_05 TEXT, s_dist_06 TEXT, s_dist_07 TEXT,
         s_dist_08 TEXT, s_dist_09 TEXT, s_dist_10 TEXT, s_ytd INTEGER, s_order_cnt INTEGER,
         s_remote_cnt INTEGER, s_data TEXT, PRIMARY KEY (s_w_id, s_i_id)",
    ),
];

/// Indexes in addition to the primary keys: table and columns.
const INDEXES: [(&str, &str); 2] = [
    ("customer", "c_w_id, c_d_id, c_last, c_first, c_id"),
    ("orders", "o_w_id, o_d_id, o_c_id, o_id"),
];

/// The SQL that makes all tables. The tables of orders go to `orders_schema`.
pub(super) fn tables(orders_schema: &str) -> String {
    let table = |(name, columns): &(&str, &str)| {
        format!("CREATE TABLE {}.{name} ({columns});\n", schema_of(name, orders_schema))
    };
    TABLES.iter().map(table).collect()
}

/// The SQL that makes the indexes in addition to the primary keys.
pub(super) fn indexes(orders_schema: &str) -> String {
    let index = |(table, columns): &(&str, &str)| {
        let schema = schema_of(table, orders_schema);
        format!("CREATE INDEX {schema}.i_{table} ON {table} ({columns});\n")
    };
    INDEXES.iter().map(index).collect()
}

fn schema_of<'s>(table: &str, orders_schema: &'s str) -> &'s str {
    if ORDER_TABLES.contains(&table) { orders_schema } else { "main" }
}
