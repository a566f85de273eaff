//! Keys of several columns that are ordered, and more unique indexes: drawn for a schema.

use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table};
use flysch_chip::Prng;

use super::world::{leak, one, schema_of};

/// The seed from which on tables have such keys, texts may begin alike, and cursors go on among
/// changes. Histories of before stay as they were.
pub(super) const FROM: u64 = 261_000_000;

/// What all texts of a history begin with: more than an ordered index tells apart by itself.
pub(super) const ALIKE: &str = "texts so ";

const KINDS: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Ordered];

/// Give tables such keys and unique indexes.
pub(super) fn draw(schema: &'static Schema<'static>, seed: u64) -> &'static Schema<'static> {
    if seed < FROM {
        return schema;
    }
    let mut prng = Prng::new(seed ^ 0x5EED_0004);
    let mut tables = schema.tables.to_vec();
    for number in 0..tables.len() {
        for change in [with_longer_key, with_unique_index] {
            let before = tables[number];
            tables[number] = change(before, &mut prng);
            if (Schema { tables: &tables }).check().is_err() {
                tables[number] = before;
            }
        }
    }
    schema_of(tables)
}

const fn is_long(column: &Column<'_>) -> bool {
    matches!(column.kind, ColumnType::Text | ColumnType::Blob)
}

/// A primary key of two columns, in either order of them.
fn with_longer_key(table: Table<'static>, prng: &mut Prng) -> Table<'static> {
    let Some(primary) = table.primary_key().filter(|_| prng.below(3) > 0) else { return table };
    let first = primary.columns[0];
    let is_second = |column: &u8| {
        let [one, other] = [first, *column].map(|at| &table.columns[usize::from(at)]);
        *column != first && !other.is_nullable && !(is_long(one) && is_long(other))
    };
    // Deletes with constraints read keys from the first bytes of a row.
    let is_far = |column: &u8| {
        let before = (0..*column).filter(|at| !primary.columns.contains(at));
        before.map(|at| &table.columns[usize::from(at)]).any(is_long)
    };
    let columns = 0..table.columns.len() as u8;
    let seconds: Vec<u8> = columns.filter(|at| is_second(at) && !is_far(at)).collect();
    if seconds.is_empty() {
        return table;
    }
    let second = one(prng, &seconds);
    let columns = one(prng, &[[first, second], [second, first]]);
    let key = Index { columns: leak(columns.to_vec()), kind: one(prng, &KINDS), is_unique: true };
    Table { indexes: leak([&[key], &table.indexes[1..]].concat()), ..table }
}

/// One more unique index, of one column or two.
fn with_unique_index(table: Table<'static>, prng: &mut Prng) -> Table<'static> {
    if table.primary_key().is_none() || prng.below(3) == 0 {
        return table;
    }
    let mut columns = vec![prng.below(table.columns.len() as u64) as u8];
    let other = prng.below(table.columns.len() as u64) as u8;
    let has_long =
        |columns: &[u8]| columns.iter().any(|at| is_long(&table.columns[usize::from(*at)]));
    if prng.below(2) == 0 && other != columns[0] && !(has_long(&columns) && has_long(&[other])) {
        columns.push(other);
    }
    let index = Index { columns: leak(columns), kind: one(prng, &KINDS), is_unique: true };
    Table { indexes: leak([table.indexes, &[index]].concat()), ..table }
}
