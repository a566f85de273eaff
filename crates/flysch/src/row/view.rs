//! Reading a row, column by column, from bytes that hold it whole.
//!
//! 1. Bytes from flash may be anything: each call gives a value or an error for them.
//! 2. A row that passes [`RowView::check`] becomes the very same bytes when it is written again.

use super::encoder::Encoder;
use super::head::Prefix;
use super::{
    COLUMNS_MAX, Digest, HashKey, Index, KeyCode, RowError, RowHead, RowKind, Schema, Table, Value,
    ValueError, field,
};

/// A row in borrowed bytes. A column is decoded only when it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a, 's> {
    /// The table that the row belongs to.
    pub table: &'s Table<'s>,
    /// The row's head: table number, kind, and whether it is shared.
    pub head: RowHead,
    /// The number of the commit that made the row.
    pub commit: u64,
    /// Bytes of the row, length included: the next row begins behind them.
    pub row_len: usize,
    /// The bytes behind the head: null bits, then columns.
    content: &'a [u8],
}

impl<'a, 's> RowView<'a, 's> {
    /// Read the head of the row that `bytes` begin with and hold whole. `page_commit` is the
    /// commit number of the page in which the row begins. Cost: a few bytes are looked at.
    ///
    /// Errors: [`RowError::Incomplete`] where the row goes on behind the bytes
    /// ([`row_len`](super::row_len) tells how far), others where they are no row of this schema.
    pub fn parse(schema: &Schema<'s>, bytes: &'a [u8], page_commit: u64) -> Result<Self, RowError> {
        let (prefix, start, row_len) = Prefix::parse(bytes)?;
        Self::new(schema, prefix, &bytes[start..row_len], row_len, page_commit)
    }

    /// Read the head of a row that may be longer than `bytes`. Columns that lie behind them give
    /// [`RowError::Overrun`].
    pub fn parse_front(
        schema: &Schema<'s>,
        bytes: &'a [u8],
        page_commit: u64,
    ) -> Result<Self, RowError> {
        let (prefix, start, row_len) = Prefix::parse_front(bytes)?;
        Self::new(schema, prefix, &bytes[start..row_len.min(bytes.len())], row_len, page_commit)
    }

    fn new(
        schema: &Schema<'s>,
        Prefix { head, commit_delta }: Prefix,
        content: &'a [u8],
        row_len: usize,
        page_commit: u64,
    ) -> Result<Self, RowError> {
        let table = schema.tables.get(usize::from(head.table));
        let table = table.ok_or(RowError::UnknownTable(head.table))?;
        if head.kind == RowKind::Tombstone && table.primary_key().is_none() {
            return Err(RowError::Keyless(head.table));
        }
        let commit = page_commit.wrapping_add_signed(commit_delta);
        let view = Self { table, head, commit, row_len, content };
        view.check_nulls()?;
        debug_assert!(view.null_size() <= content.len(), "the null bits are there");
        Ok(view)
    }

    /// The value of a column. Cost: the columns before it are passed over, not decoded.
    ///
    /// Errors: [`RowError::Absent`] for a column that the table has not, or a tombstone's key has
    /// not; others where the bytes are damaged.
    pub fn column(&self, number: u8) -> Result<Value<'a>, RowError> {
        let mut columns = self.spans();
        while let Some(span) = columns.step()? {
            if span.column == number {
                return span.parse(self.table);
            }
        }
        Err(RowError::Absent(number))
    }

    /// The values in the order in which they lie: those of all columns, or of a tombstone's key.
    /// The iterator ends after an error. Cost: each column is decoded once.
    pub fn values(&self) -> impl Iterator<Item = Result<Value<'a>, RowError>> + use<'a, 's> {
        let (table, mut columns) = (self.table, self.spans());
        core::iter::from_fn(move || {
            let span = columns.step().transpose()?;
            let value = span.and_then(|span| span.parse(table));
            if value.is_err() {
                columns.count = 0;
            }
            Some(value)
        })
    }

    /// Decode every column, and see that they fill the row.
    pub fn check(&self) -> Result<(), RowError> {
        let mut columns = self.spans();
        while let Some(span) = columns.step()? {
            span.parse(self.table)?;
        }
        if columns.rest.is_empty() { Ok(()) } else { Err(RowError::Trailing) }
    }

    /// The row's key in an index of its table. Cost: as [`column`](Self::column) for each column of
    /// the key, and the hash.
    ///
    /// Errors: [`RowError::Absent`] for a tombstone and an index other than the primary key, others
    /// where the bytes are damaged.
    pub fn digest(&self, index: &Index<'_>, key: &HashKey) -> Result<Digest, RowError> {
        let mut code = KeyCode::start(index, key);
        for &column in index.columns {
            let kind = self.table.columns[usize::from(column)].kind;
            code.add(kind, &self.column(column)?);
        }
        Ok(code.finish())
    }

    /// The value of the table's zone column; None where the table has no such column, where the
    /// value is null, and for a tombstone.
    pub fn zone(&self) -> Result<Option<i64>, RowError> {
        let (Some(column), true) = (self.table.zone, self.head.kind != RowKind::Tombstone) else {
            return Ok(None);
        };
        match self.column(column)? {
            Value::Integer(number) | Value::Time(number) => Ok(Some(number)),
            Value::Null => Ok(None),
            Value::Bool(_) | Value::Real(_) | Value::Text(_) | Value::Blob(_) => {
                Err(RowError::Invalid(column))
            }
        }
    }

    /// Begin to write the row again, as compaction does: columns byte by byte, with another head
    /// and against the commit number of another page. Cost: nothing is decoded.
    ///
    /// # Panics
    /// Where a row would become a tombstone, or a tombstone a row.
    pub fn rewrite(&self, kind: RowKind, page_commit: u64) -> Result<Encoder<'a>, ValueError> {
        let is_key = |kind| kind == RowKind::Tombstone;
        assert!(is_key(kind) == is_key(self.head.kind), "a row does not become a tombstone");
        let delta = self.commit.wrapping_sub(page_commit).cast_signed();
        Encoder::verbatim(RowHead { kind, ..self.head }, delta, self.content)
    }

    fn null_size(&self) -> usize {
        if self.head.kind == RowKind::Tombstone { 0 } else { self.table.null_size() }
    }

    fn check_nulls(&self) -> Result<(), RowError> {
        let nulls = self.content.get(..self.null_size()).ok_or(RowError::Overrun(0))?;
        let nullable = self.table.columns.iter().filter(|column| column.is_nullable).count();
        let is_beyond = |last: &u8| !nullable.is_multiple_of(8) && last >> (nullable % 8) != 0;
        if nulls.last().is_some_and(is_beyond) { Err(RowError::NullBits) } else { Ok(()) }
    }

    fn spans(&self) -> Spans<'a, 's> {
        let (nulls, rest) = self.content.split_at(self.null_size());
        let key = match self.head.kind {
            RowKind::Row | RowKind::Moved => None,
            RowKind::Tombstone => self.table.primary_key().map(|key| key.columns),
        };
        let count = key.map_or(self.table.columns.len(), <[u8]>::len);
        debug_assert!(count <= COLUMNS_MAX, "the schema was checked");
        Spans { table: self.table, key, nulls, rest, count, place: 0, nullable: 0 }
    }
}

/// Walks over the columns of a row.
struct Spans<'a, 's> {
    table: &'s Table<'s>,
    /// The columns that a tombstone has, in the key's order; None for a row.
    key: Option<&'s [u8]>,
    nulls: &'a [u8],
    rest: &'a [u8],
    count: usize,
    place: usize,
    /// Number of nullable columns passed so far.
    nullable: usize,
}

/// The number of a column, and its bytes; None in their place where it is null.
struct Span<'a> {
    column: u8,
    bytes: Option<&'a [u8]>,
}

impl<'a> Span<'a> {
    fn parse(&self, table: &Table<'_>) -> Result<Value<'a>, RowError> {
        let column_type = table.columns[usize::from(self.column)].kind;
        match self.bytes {
            Some(bytes) => field::parse(column_type, self.column, bytes),
            None => Ok(Value::Null),
        }
    }
}

impl<'a> Spans<'a, '_> {
    /// The next column; None behind the last.
    fn step(&mut self) -> Result<Option<Span<'a>>, RowError> {
        if self.place >= self.count {
            return Ok(None);
        }
        let column = self.key.map_or(self.place as u8, |key| key[self.place]);
        self.place += 1;
        let declared = &self.table.columns[usize::from(column)];
        if declared.is_nullable && self.is_next_null() {
            return Ok(Some(Span { column, bytes: None }));
        }
        let size = field::size(declared.kind, column, self.rest)?;
        debug_assert!(size <= self.rest.len(), "what was measured is there");
        let (bytes, rest) = self.rest.split_at(size);
        self.rest = rest;
        Ok(Some(Span { column, bytes: Some(bytes) }))
    }

    fn is_next_null(&mut self) -> bool {
        debug_assert!(self.key.is_none(), "no column of a key takes null");
        debug_assert!(self.nullable / 8 < self.nulls.len(), "there is a bit for each");
        let is_null = self.nulls[self.nullable / 8] >> (self.nullable % 8) & 1 != 0;
        self.nullable += 1;
        is_null
    }
}
