//! How the index store keeps the indexes of a schema.
//!
//! The store takes a limited number of indexes. Up to that number each index of the schema is one
//! of the store. Beyond it, indexes of one kind share one: all unique hashes, all other hashes, all
//! unique orders over several columns, all other such orders. An ordered index over one column is
//! never shared. Fewer indexes of the store have fewer runs, so they take less RAM and a shorter
//! state in each record.
//!
//! 1. Codes of indexes that share differ as those of different keys do: a hash is mixed with the
//!    index's number, an ordered code has that number in front.
//! 2. The row decides: an entry of a shared index may lead to a row of another table.

use flysch_nand::Nand;

use super::{Db, DbError};
use crate::row::{Digest, HashKey, Index, IndexKind, RowView, SHARED_KINDS, Schema, key};
use crate::store::{INDEX_MAX, IndexPlan, Order, Rows as KeyRows};

/// Where indexes share, the bits of an ordered code that stand below the number of the index.
const TAG_SHIFT: u32 = 56;
const _: () = assert!(u64::BITS - TAG_SHIFT == u8::BITS, "the number of an index is a byte");
/// What the number of an index is multiplied by before it is mixed into a hash: an odd number whose
/// bits have no pattern.
const MIXER: u64 = 0x9E37_79B1;

/// How the store keeps an index of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Its number in the store.
    pub(super) number: u8,
    /// Its number in the schema where it shares the store's index with others; else None.
    tag: Option<u8>,
    kind: IndexKind,
    /// Bits of a hash that the store drops: the capacity does not need them.
    dropped: u32,
    /// Whether two different keys may have the same code.
    pub(super) may_meet: bool,
}

impl Kept {
    /// The code of a key in the store.
    pub(super) const fn code(self, digest: Digest) -> u64 {
        match (self.kind, self.tag) {
            (IndexKind::Hash, None) => digest.code >> self.dropped,
            (IndexKind::Hash, Some(tag)) => {
                let mixed = digest.code ^ (tag as u64 * MIXER) & (u32::MAX as u64);
                mixed >> self.dropped
            }
            (IndexKind::Ordered, None) => digest.code,
            (IndexKind::Ordered, Some(tag)) => (tag as u64) << TAG_SHIFT | digest.code >> 8,
        }
    }

    /// The greatest code of a hash.
    pub(super) const fn code_max(self) -> u64 {
        (1 << (key::HASH_BITS - self.dropped)) - 1
    }

    pub(super) const fn is_ordered(self) -> bool {
        matches!(self.kind, IndexKind::Ordered)
    }

    /// Whether rows of one code have an order, which their keys tell and the code does not.
    pub(super) const fn is_grouped(self) -> bool {
        self.may_meet && self.is_ordered()
    }

    /// Bytes of a key of several columns that its code holds.
    pub(super) const fn code_size(self) -> usize {
        if self.tag.is_some() { 7 } else { 8 }
    }

    /// Whether an entry of this code in the store's index may be a row's. It may where the row has
    /// the code in the wanted index, or in another one that shares the store's, of whichever table.
    pub(super) fn is_code_of(
        self,
        view: &RowView<'_, '_>,
        wanted: (u8, &Index<'_>),
        (schema, hash): (&Schema<'_>, &HashKey),
        code: u64,
    ) -> bool {
        let has_code = |kept: Self, index: &Index<'_>| {
            view.digest(index, hash).is_ok_and(|digest| kept.code(digest) == code)
        };
        if self.tag.is_none() {
            return view.head.table == wanted.0 && has_code(self, wanted.1);
        }
        let numbers = schema.first_index(view.head.table)..;
        numbers.zip(view.table.indexes_of(view.head.kind)).any(|(number, index)| {
            let is_kept_here = place(schema, number) == (self.number, true);
            is_kept_here && has_code(Self { tag: Some(number), ..self }, index)
        })
    }
}

/// The store's number of index `number` of the schema, and whether others share it.
const fn place(schema: &Schema<'_>, number: u8) -> (u8, bool) {
    if schema.index_count() <= INDEX_MAX {
        return (number, false);
    }
    let mut is_there = [false; SHARED_KINDS];
    let (mut alone, mut own) = (0, None);
    let (mut table, mut at) = (0, 0);
    while table < schema.tables.len() {
        let (indexes, mut index) = (schema.tables[table].indexes, 0);
        while index < indexes.len() {
            let kind = indexes[index].shared_kind();
            if at == number {
                own = Some((kind, alone));
            }
            match kind {
                Some(kind) => is_there[kind] = true,
                None => alone += 1,
            }
            (index, at) = (index + 1, at + 1);
        }
        table += 1;
    }
    match own {
        Some((Some(kind), _)) => (count_of(is_there.split_at(kind).0), true),
        Some((None, alone)) => (count_of(&is_there) + alone, false),
        None => panic!("the schema has the index"),
    }
}

const fn count_of(kinds: &[bool]) -> u8 {
    let (mut count, mut at) = (0, 0);
    while at < kinds.len() {
        count += kinds[at] as u8;
        at += 1;
    }
    count
}

/// The store's indexes for a schema, and how many they are; None where they are too many.
pub(super) const fn plans(
    schema: &Schema<'_>,
    capacity: u32,
) -> Option<([IndexPlan; INDEX_MAX], usize)> {
    let mut plans = [IndexPlan::NONE; INDEX_MAX];
    // A store has an index. Where the schema has none, nothing is put into it.
    let mut count = 1;
    let (mut table, mut number) = (0, 0);
    while table < schema.tables.len() {
        let (indexes, mut index) = (schema.tables[table].indexes, 0);
        while index < indexes.len() {
            let at = place(schema, number).0 as usize;
            if at >= INDEX_MAX {
                return None;
            }
            let order = match indexes[index].kind {
                IndexKind::Hash => Order::Hash,
                IndexKind::Ordered => Order::Key,
            };
            let rows = if indexes[index].is_unique { KeyRows::One } else { KeyRows::Many };
            let capacity = capacity.saturating_add(plans[at].capacity);
            plans[at] = IndexPlan { order, rows, capacity, ..IndexPlan::NONE };
            count = if at < count { count } else { at + 1 };
            (index, number) = (index + 1, number + 1);
        }
        table += 1;
    }
    // All indexes share the table of runs: with many indexes each has fewer levels.
    let levels = if count > 5 { 2 } else { 3 };
    let mut at = 0;
    while at < count {
        plans[at].levels = levels;
        at += 1;
    }
    Some((plans, count))
}

impl<N: Nand> Db<'_, '_, N> {
    /// How an index stands in the store.
    pub(super) fn kept(&self, table: u8, index: u8) -> Result<Kept, DbError> {
        let declared = self.index(table, index)?;
        let tag = self.schema.index_number(table, index);
        let (number, shares) = place(self.schema, tag);
        debug_assert!(number < self.store.config().index_count, "the store has the index");
        let bits = self.store.config().indexes[usize::from(number)].code_bits();
        let dropped = key::HASH_BITS.saturating_sub(u32::from(bits));
        let may_meet = shares || !key::is_exact(self.table(table)?, declared);
        let tag = shares.then_some(tag);
        Ok(Kept { number, tag, kind: declared.kind, dropped, may_meet })
    }
}
