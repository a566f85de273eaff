//! The nine tables in the engine, with the columns, keys and indexes that they have in SQLite. In
//! addition, the history has its row number as a key, which SQLite adds implicitly.

use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table};

const fn integer(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Integer)
}

const fn text(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Text)
}

const fn hash(columns: &[u8], is_unique: bool) -> Index<'_> {
    Index { columns, kind: IndexKind::Hash, is_unique }
}

const fn ordered(columns: &[u8]) -> Index<'_> {
    Index { columns, kind: IndexKind::Ordered, is_unique: true }
}

/// The number of the primary key among each table's indexes.
pub(super) const KEY: u8 = 0;
/// The numbers of two secondary indexes: customers by last name, and orders by customer.
pub(super) const BY_NAME: u8 = 1;
pub(super) const BY_CUSTOMER: u8 = 1;

/// The tables, in the order of `Relation`.
pub const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "warehouse",
            columns: &[
                integer("w_id"),
                text("w_name"),
                text("w_street_1"),
                text("w_street_2"),
                text("w_city"),
                text("w_state"),
                text("w_zip"),
                integer("w_tax"),
                integer("w_ytd"),
            ],
            indexes: &[hash(&[0], true)],
            zone: None,
            keep: None,
        },
        Table {
            name: "district",
            columns: &[
                integer("d_id"),
                integer("d_w_id"),
                text("d_name"),
                text("d_street_1"),
                text("d_street_2"),
                text("d_city"),
                text("d_state"),
                text("d_zip"),
                integer("d_tax"),
                integer("d_ytd"),
                integer("d_next_o_id"),
            ],
            indexes: &[hash(&[1, 0], true)],
            zone: None,
            keep: None,
        },
        CUSTOMER,
        Table {
            name: "history",
            columns: &[
                integer("h_id"),
                integer("h_c_id"),
                integer("h_c_d_id"),
                integer("h_c_w_id"),
                integer("h_d_id"),
                integer("h_w_id"),
                integer("h_date"),
                integer("h_amount"),
                text("h_data"),
            ],
            indexes: &[ordered(&[0])],
            zone: None,
            keep: None,
        },
        Table {
            name: "new_order",
            columns: &[integer("no_o_id"), integer("no_d_id"), integer("no_w_id")],
            indexes: &[ordered(&[2, 1, 0])],
            zone: None,
            keep: None,
        },
        Table {
            name: "orders",
            columns: &[
                integer("o_id"),
                integer("o_d_id"),
                integer("o_w_id"),
                integer("o_c_id"),
                integer("o_entry_d"),
                Column::nullable("o_carrier_id", ColumnType::Integer),
                integer("o_ol_cnt"),
                integer("o_all_local"),
            ],
            indexes: &[hash(&[2, 1, 0], true), hash(&[2, 1, 3], false)],
            zone: None,
            keep: None,
        },
        Table {
            name: "order_line",
            columns: &[
                integer("ol_o_id"),
                integer("ol_d_id"),
                integer("ol_w_id"),
                integer("ol_number"),
                integer("ol_i_id"),
                integer("ol_supply_w_id"),
                Column::nullable("ol_delivery_d", ColumnType::Integer),
                integer("ol_quantity"),
                integer("ol_amount"),
                text("ol_dist_info"),
            ],
            indexes: &[ordered(&[2, 1, 0, 3])],
            zone: None,
            keep: None,
        },
        Table {
            name: "item",
            columns: &[
                integer("i_id"),
                integer("i_im_id"),
                text("i_name"),
                integer("i_price"),
                text("i_data"),
            ],
            indexes: &[hash(&[0], true)],
            zone: None,
            keep: None,
        },
        STOCK,
    ],
};
const _: () = assert!(SCHEMA.check().is_ok(), "the engine takes the schema");

const CUSTOMER: Table<'static> = Table {
    name: "customer",
    columns: &[
        integer("c_id"),
        integer("c_d_id"),
        integer("c_w_id"),
        text("c_first"),
        text("c_middle"),
        text("c_last"),
        text("c_street_1"),
        text("c_street_2"),
        text("c_city"),
        text("c_state"),
        text("c_zip"),
        text("c_phone"),
        integer("c_since"),
        text("c_credit"),
        integer("c_credit_lim"),
        integer("c_discount"),
        integer("c_balance"),
        integer("c_ytd_payment"),
        integer("c_payment_cnt"),
        integer("c_delivery_cnt"),
        text("c_data"),
    ],
    indexes: &[hash(&[2, 1, 0], true), hash(&[2, 1, 5], false)],
    zone: None,
    keep: None,
};

const STOCK: Table<'static> = Table {
    name: "stock",
    columns: &[
        integer("s_i_id"),
        integer("s_w_id"),
        integer("s_quantity"),
        text("s_dist_01"),
        text("s_dist_02"),
        text("s_dist_03"),
        text("s_dist_04"),
        text("s_dist_05"),
        text("s_dist_06"),
        text("s_dist_07"),
        text("s_dist_08"),
        text("s_dist_09"),
        text("s_dist_10"),
        integer("s_ytd"),
        integer("s_order_cnt"),
        integer("s_remote_cnt"),
        text("s_data"),
    ],
    indexes: &[hash(&[1, 0], true)],
    zone: None,
    keep: None,
};
