//! Rows there and back, their exact sizes, and bytes that are no rows.

extern crate std;

use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use flysch_chip::Prng;

use super::key::{codes, digest, digest_of_row, is_exact, order};
use super::*;

const fn head(table: u8, kind: RowKind) -> RowHead {
    RowHead { table, kind, is_shared: false }
}

const READING: Table<'static> = Table {
    name: "reading",
    columns: &[
        Column::required("at", ColumnType::Time),
        Column::required("sensor", ColumnType::Integer),
        Column::required("value", ColumnType::Real),
        Column::required("note", ColumnType::Text),
    ],
    indexes: &[
        Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
        Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
    ],
    zone: Some(0),
    keep: None,
};

const CONTACT: Table<'static> = Table {
    name: "contact",
    columns: &[
        Column::required("name", ColumnType::Text),
        Column::nullable("is_friend", ColumnType::Bool),
        Column::nullable("picture", ColumnType::Blob),
        Column::required("number", ColumnType::Integer),
        Column::nullable("weight", ColumnType::Real),
        Column::nullable("seen", ColumnType::Time),
    ],
    indexes: &[
        Index { columns: &[3, 0], kind: IndexKind::Hash, is_unique: true },
        Index { columns: &[5], kind: IndexKind::Ordered, is_unique: false },
    ],
    zone: Some(5),
    keep: None,
};

const KEYLESS: Table<'static> = Table {
    name: "event",
    columns: &[Column::required("code", ColumnType::Integer)],
    indexes: &[],
    zone: None,
    keep: None,
};

const SCHEMA: Schema<'static> = Schema { tables: &[READING, CONTACT, KEYLESS] };
const _: () = assert!(SCHEMA.check().is_ok());

const NOW: i64 = 1_760_000_000_000_000;

fn encode(head: RowHead, delta: i64, values: &[Value<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::new(&SCHEMA, head, delta, values).unwrap();
    let mut bytes = vec![0; encoder.remaining()];
    assert_eq!(encoder.fill(&mut bytes), bytes.len());
    assert_eq!((encoder.remaining(), encoder.fill(&mut [0; 9])), (0, 0));
    bytes
}

fn decode(bytes: &[u8], page_commit: u64) -> Result<Vec<Value<'_>>, RowError> {
    let view = RowView::parse(&SCHEMA, bytes, page_commit)?;
    view.check()?;
    view.values().collect()
}

fn contact<'a>(name: &'a str, picture: &'a [u8], nulls: u8) -> [Value<'a>; 6] {
    let or_null = |bit: u8, value| if nulls >> bit & 1 != 0 { Value::Null } else { value };
    [
        Value::Text(name),
        or_null(0, Value::Bool(true)),
        or_null(1, Value::Blob(picture)),
        Value::Integer(-1_234_567),
        or_null(2, Value::from(72.5)),
        or_null(3, Value::Time(NOW)),
    ]
}

/// The sizes that `docs/format.md` quotes.
#[test]
fn sample_rows_have_the_sizes_that_the_documents_say() {
    let text = "twenty-two characters.";
    let reading = |sensor, note| {
        [Value::Time(NOW), Value::Integer(sensor), Value::from(21.5), Value::Text(note)]
    };
    let row = |table| head(table, RowKind::Row);
    let key = head(0, RowKind::Tombstone);
    let cases = [
        (row(0), 0, &reading(7, text)[..], 3 + 8 + 1 + 8 + 1 + 22),
        (row(0), 0, &reading(4_000, text), 3 + 8 + 2 + 8 + 1 + 22),
        (row(0), -100, &reading(4_000, text), 4 + 8 + 2 + 8 + 1 + 22),
        (row(0), 0, &reading(4_000, ""), 3 + 8 + 2 + 8 + 1),
        (key, 0, &[Value::Time(NOW)], 3 + 8),
        (row(1), 0, &contact("Ada", &[1, 2], 0), 3 + 1 + 4 + 1 + 3 + 4 + 8 + 8),
        (row(1), 0, &contact("Ada", &[1, 2], 15), 3 + 1 + 4 + 4),
        (row(2), 0, &[Value::Integer(0)], 4),
    ];
    for (head, delta, values, expected) in cases {
        let bytes = encode(head, delta, values);
        assert_eq!(bytes.len(), expected, "{values:?}");
        assert_eq!(row_len(&bytes), Ok(expected));
        assert_eq!(decode(&bytes, 100).unwrap(), values);
    }
}

#[test]
fn a_row_has_these_very_bytes() {
    let values = contact("Ada", &[1, 2], 0b1010);
    let is_shared = RowHead { is_shared: true, ..head(1, RowKind::Moved) };
    let mut expected = vec![23, 0x61, 3, 0b1010];
    expected.extend(b"\x03Ada\x01\x8D\xDA\x96\x01");
    expected.extend(72.5_f64.to_le_bytes());
    expected[0] = expected.len() as u8 - 1;
    assert_eq!(encode(is_shared, -2, &values), expected);
}

#[test]
fn rows_cut_into_pieces_of_any_size_have_the_same_bytes() {
    let (text, picture) = ("x".repeat(300), [0xA5; 5_000]);
    for nulls in 0..16 {
        let values = contact(&text, &picture, nulls);
        let whole = encode(head(1, RowKind::Row), 70, &values);
        for piece in [1, 2, 3, 19, 507, 4_000] {
            let mut encoder = Encoder::new(&SCHEMA, head(1, RowKind::Row), 70, &values).unwrap();
            let mut bytes: Vec<u8> = Vec::new();
            while encoder.remaining() > 0 {
                let mut out = vec![0; piece];
                let count = encoder.fill(&mut out);
                assert_eq!(count, piece.min(whole.len() - bytes.len()));
                bytes.extend(&out[..count]);
            }
            assert_eq!(bytes, whole, "pieces of {piece}");
        }
        assert_eq!(decode(&whole, 0).unwrap(), values);
        let cut = RowView::parse(&SCHEMA, &whole[..whole.len() - 1], 0);
        assert_eq!(cut.err(), Some(RowError::Incomplete));
    }
}

#[test]
fn a_row_written_again_differs_in_its_head_alone() {
    let values = contact("Ada", b"picture", 4);
    let shared = RowHead { is_shared: true, ..head(1, RowKind::Row) };
    let bytes = encode(shared, 3, &values);
    let row = RowView::parse(&SCHEMA, &bytes, 1_000).unwrap();
    let mut encoder = row.rewrite(RowKind::Moved, 5_000_000).unwrap();
    let mut moved = vec![0; encoder.remaining()];
    encoder.fill(&mut moved);
    let again = RowView::parse(&SCHEMA, &moved, 5_000_000).unwrap();
    assert_eq!((again.commit, again.head.kind), (1_003, RowKind::Moved));
    assert!(again.head.is_shared);
    assert_eq!(again.values().collect::<Result<Vec<_>, _>>().unwrap(), values);
    assert_eq!(again.row_len, bytes.len() + 3, "the commit delta grew from 1 byte to 4");
}

#[test]
fn columns_are_found_alone_and_those_of_no_key_are_absent() {
    let values = contact("Ada", b"picture", 0b0101);
    let bytes = encode(head(1, RowKind::Row), 0, &values);
    let row = RowView::parse(&SCHEMA, &bytes, 9).unwrap();
    for (column, value) in (0..).zip(values) {
        assert_eq!(row.column(column), Ok(value));
    }
    assert_eq!(row.column(6), Err(RowError::Absent(6)));
    assert_eq!((row.zone(), row.commit), (Ok(Some(NOW)), 9));

    let key = [values[3], values[0]];
    let bytes = encode(head(1, RowKind::Tombstone), 0, &key);
    let tombstone = RowView::parse(&SCHEMA, &bytes, 9).unwrap();
    assert_eq!((tombstone.column(3), tombstone.column(0)), (Ok(key[0]), Ok(key[1])));
    assert_eq!(tombstone.column(1), Err(RowError::Absent(1)));
    assert_eq!(tombstone.zone(), Ok(None));

    let seed = HashKey::from_seed(7);
    let [primary, secondary] = CONTACT.indexes else { panic!("two indexes") };
    let expected = digest(&CONTACT, primary, &seed, &key);
    assert_eq!(tombstone.digest(primary, &seed), Ok(expected));
    assert_eq!(row.digest(primary, &seed), Ok(expected));
    assert_eq!(digest_of_row(&CONTACT, primary, &seed, &values), expected);
    assert_eq!(tombstone.digest(secondary, &seed), Err(RowError::Absent(5)));
}

#[test]
fn values_that_are_no_row_are_refused() {
    let row = head(2, RowKind::Row);
    let key = head(0, RowKind::Tombstone);
    let mut null_name = contact("Ada", &[], 0);
    null_name[0] = Value::Null;
    let cases: [(_, &[Value<'_>], _); 5] = [
        (row, &[], ValueError::Count { needed: 1, given: 0 }),
        (row, &[Value::Time(0)], ValueError::Type { column: 0 }),
        (row, &[Value::Null], ValueError::Null { column: 0 }),
        (key, &[Value::Integer(1)], ValueError::Type { column: 0 }),
        (head(1, RowKind::Row), &null_name, ValueError::Null { column: 0 }),
    ];
    for (head, values, expected) in cases {
        let refused = Encoder::new(&SCHEMA, head, 0, values).err();
        assert_eq!(refused, Some(expected), "{values:?}");
        assert!(!expected.to_string().is_empty());
    }
}

#[test]
fn damaged_rows_say_what_is_wrong() {
    let row = encode(head(1, RowKind::Row), 0, &contact("Ada", &[1, 2], 0));
    let changed = |place: usize, byte| {
        let mut bytes = row.clone();
        bytes[place] = byte;
        bytes
    };
    let cases = [
        (changed(0, 0), RowError::Empty),
        (changed(0, 0x70), RowError::Incomplete),
        (changed(0, 1), RowError::Number),
        (changed(0, 2), RowError::Overrun(0)),
        (changed(0, row.len() as u8 - 2), RowError::Overrun(5)),
        (changed(1, 0x81), RowError::ReservedBit),
        (changed(1, 0x31), RowError::ReservedKind),
        (changed(1, 3), RowError::UnknownTable(3)),
        (changed(1, 0x12), RowError::Keyless(2)),
        (changed(1, 2), RowError::Trailing),
        (changed(3, 0x10), RowError::NullBits),
        (changed(4, 0x60), RowError::Overrun(0)),
        (changed(5, 0xFF), RowError::Invalid(0)),
        (changed(8, 2), RowError::Invalid(1)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode(&bytes, 0).err(), Some(expected), "{bytes:x?}");
        assert!(!expected.to_string().is_empty());
    }
}

#[test]
fn values_end_with_the_first_error() {
    let mut bytes = encode(head(1, RowKind::Row), 0, &contact("Ada", &[1, 2], 0));
    bytes[8] = 2;
    let row = RowView::parse(&SCHEMA, &bytes, 0).unwrap();
    let values: Vec<_> = row.values().take(9).collect();
    assert_eq!(values, [Ok(Value::Text("Ada")), Err(RowError::Invalid(1))]);
    assert_eq!(row.column(3), Ok(Value::Integer(-1_234_567)), "others are found still");
}

/// Draws a row of random values for a table.
fn random_values<'a>(prng: &mut Prng, table: &Table<'_>, text: &'a str) -> Vec<Value<'a>> {
    let columns = table.columns.iter().map(|column| {
        let number = prng.next().cast_signed() >> prng.below(64);
        let part = &text[..prng.below(text.len() as u64 + 1) as usize];
        match column.kind {
            _ if column.is_nullable && prng.below(3) == 0 => Value::Null,
            ColumnType::Bool => Value::Bool(number & 1 != 0),
            ColumnType::Integer => Value::Integer(number),
            ColumnType::Real => Value::Real(Real { bits: prng.next() }),
            ColumnType::Text => Value::Text(part),
            ColumnType::Blob => Value::Blob(part.as_bytes()),
            ColumnType::Time => Value::Time(number),
        }
    });
    columns.collect()
}

#[test]
fn random_rows_come_back_and_mutated_ones_are_themselves_or_refused() {
    let mut prng = Prng::new(1);
    let text: String = "flysch ".repeat(12);
    let (mut sound, mut refused) = (0, 0);
    for round in 0..40_000 {
        let number = prng.below(SCHEMA.tables.len() as u64) as u8;
        let table = &SCHEMA.tables[usize::from(number)];
        let values = random_values(&mut prng, table, &text);
        let (delta, page_commit) = (prng.next().cast_signed() >> prng.below(64), prng.next());
        let mut bytes = encode(head(number, RowKind::Row), delta, &values);
        let view = RowView::parse(&SCHEMA, &bytes, page_commit).unwrap();
        assert_eq!(view.commit, page_commit.wrapping_add_signed(delta));
        assert_eq!(decode(&bytes, page_commit).unwrap(), values, "row {round}");
        for _ in 0..=prng.below(2) {
            let place = prng.below(bytes.len() as u64) as usize;
            bytes[place] ^= 1 << prng.below(8);
        }
        match read_everything(&bytes) {
            Ok(()) => sound += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(sound > 1_000, "{sound} changed rows are rows");
    assert!(refused > 1_000, "{refused} changed rows are none");
}

#[test]
fn random_bytes_are_rows_or_refused() {
    let mut prng = Prng::new(2);
    let mut sound = 0;
    for _ in 0..100_000 {
        let mut bytes = [0; 64];
        let len = prng.below(bytes.len() as u64 + 1) as usize;
        prng.fill(&mut bytes[..len]);
        bytes[0] &= 0x1F;
        bytes[1] &= 0x53;
        sound += u32::from(read_everything(&bytes[..len]) == Ok(()));
    }
    assert!(sound > 100, "{sound} of them are rows");
}

/// Reads all that a row has. If it is a row, it is written again to the same bytes.
fn read_everything(bytes: &[u8]) -> Result<(), RowError> {
    let view = RowView::parse(&SCHEMA, bytes, 0)?;
    let key = HashKey::from_seed(0);
    let found = (0..=u8::MAX).filter(|&column| view.column(column).is_ok()).count();
    assert!(found <= view.table.columns.len());
    let indexes = view.table.indexes.iter();
    assert!(indexes.filter(|index| view.digest(index, &key).is_ok()).count() <= found);
    let (_, checked) = (view.zone(), view.check());
    let values: Result<Vec<_>, _> = view.values().collect();
    checked?;
    let again = encode(view.head, view.commit.cast_signed(), &values?);
    assert_eq!(again, bytes[..view.row_len]);
    Ok(())
}

#[test]
fn schemas_beyond_the_limits_are_refused() {
    const INTEGER: Column<'_> = Column::required("a", ColumnType::Integer);
    const TABLE: Table<'_> =
        Table { name: "t", columns: &[INTEGER], indexes: &[], zone: None, keep: None };
    const NULLABLE: Column<'_> = Column::nullable("b", ColumnType::Text);
    const HASH: Index<'_> = Index { columns: &[0], kind: IndexKind::Hash, is_unique: false };
    const ORDERED: Index<'_> = Index { kind: IndexKind::Ordered, ..HASH };
    const WIDE: Index<'_> = Index { columns: &[1, 0], ..ORDERED };
    let pair = &[INTEGER, NULLABLE];
    let (table, index) = (0, 0);
    let indexed =
        |indexes| Schema { tables: vec![Table { columns: pair, indexes, ..TABLE }].leak() };
    let cases = [
        (Schema { tables: &[] }, SchemaError::NoTable),
        (Schema { tables: &[TABLE; 17] }, SchemaError::TooManyTables { given: 17 }),
        (Schema { tables: &[TABLE; 2] }, SchemaError::TableName { table: 1 }),
        (Schema { tables: &[Table { columns: &[], ..TABLE }] }, SchemaError::NoColumn { table }),
        (
            Schema { tables: &[Table { columns: &[INTEGER; 33], ..TABLE }] },
            SchemaError::TooManyColumns { table, given: 33 },
        ),
        (
            Schema { tables: &[Table { columns: &[INTEGER; 2], ..TABLE }] },
            SchemaError::ColumnName { table, column: 1 },
        ),
        (
            Schema { tables: &[Table { columns: &[NULLABLE], zone: Some(0), ..TABLE }] },
            SchemaError::Zone { table, column: 0 },
        ),
        (
            Schema { tables: &[Table { zone: Some(1), ..TABLE }] },
            SchemaError::Zone { table, column: 1 },
        ),
        (indexed(&[HASH; 33]), SchemaError::TooManyIndexes { given: 33 }),
        (
            indexed([[ORDERED; 8].as_slice(), &[HASH]].concat().leak()),
            SchemaError::TooManyOrdered { given: 8, most: 7 },
        ),
        (
            indexed([[ORDERED; 7].as_slice(), &[HASH, WIDE]].concat().leak()),
            SchemaError::TooManyOrdered { given: 7, most: 6 },
        ),
        (indexed(&[Index { columns: &[], ..HASH }]), SchemaError::EmptyIndex { table, index }),
        (
            indexed(&[Index { columns: &[2], ..HASH }]),
            SchemaError::IndexColumn { table, index, column: 2 },
        ),
        (
            indexed(&[Index { columns: &[1, 0, 1], ..HASH }]),
            SchemaError::IndexColumn { table, index, column: 1 },
        ),
        (
            indexed(&[Index { columns: &[0, 1], is_unique: true, ..HASH }]),
            SchemaError::NullableKey { table, column: 1 },
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(schema.check(), Err(expected));
        assert!(!expected.to_string().is_empty());
    }
    let most = [[ORDERED; 6].as_slice(), &[HASH; 25], &[WIDE]].concat();
    for indexes in [&[][..], &[HASH; 32], &[ORDERED; 8], &most] {
        assert_eq!(indexed(indexes.to_vec().leak()).check(), Ok(()));
    }
}

#[test]
fn every_part_of_a_schema_is_in_its_fingerprint() {
    const TABLE: Table<'_> = READING;
    let renamed = Table { name: "readings", ..TABLE };
    let unzoned = Table { zone: None, ..TABLE };
    let zoned = Table { zone: Some(1), ..TABLE };
    let unindexed = Table { indexes: &TABLE.indexes[..1], ..TABLE };
    let swapped = Table { indexes: &[TABLE.indexes[1], TABLE.indexes[0]], ..TABLE };
    let unique = [TABLE.indexes[0], Index { is_unique: true, ..TABLE.indexes[1] }];
    let ordered = [TABLE.indexes[0], Index { kind: IndexKind::Ordered, ..TABLE.indexes[1] }];
    let columns = |column| [TABLE.columns[0], TABLE.columns[1], TABLE.columns[2], column];
    let blob = columns(Column { kind: ColumnType::Blob, ..TABLE.columns[3] });
    let nullable = columns(Column { is_nullable: true, ..TABLE.columns[3] });
    let tables = [
        TABLE,
        renamed,
        unzoned,
        zoned,
        unindexed,
        swapped,
        Table { indexes: &unique, ..TABLE },
        Table { indexes: &ordered, ..TABLE },
        Table { columns: &blob, ..TABLE },
        Table { columns: &nullable, ..TABLE },
    ];
    let mut prints: Vec<u32> =
        tables.iter().map(|table| Schema { tables: &[*table] }.fingerprint()).collect();
    prints.push(Schema { tables: &[TABLE, CONTACT] }.fingerprint());
    prints.push(Schema { tables: &[CONTACT, TABLE] }.fingerprint());
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), tables.len() + 2);
    assert_eq!(SCHEMA.fingerprint(), 2_723_934_268, "it is on flash: it never changes");
    assert_eq!(
        [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(t, i)| SCHEMA.index_number(t, i)),
        [0, 1, 2, 3]
    );
}

#[test]
fn ordered_codes_order_as_values_do() {
    let ascending: [&[Value<'_>]; 5] = [
        &[Value::Bool(false), Value::Bool(true)],
        &[Value::Integer(i64::MIN + 1), Value::Integer(-1), Value::Integer(0), Value::Integer(9)],
        &[Value::Time(0), Value::Time(NOW), Value::Time(i64::MAX)],
        &[Value::Real(Real { bits: 0xFFF << 52 }), Value::from(-1.0), Value::from(0.0)],
        &[Value::Text("a"), Value::Text("aa"), Value::Text("b"), Value::Text("b12345678")],
    ];
    for values in ascending {
        assert!(order(&Value::Null) < order(&values[0]), "{values:?}");
        for pair in values.windows(2) {
            assert!(order(&pair[0]) < order(&pair[1]), "{pair:?}");
        }
    }
    // Each of the first eight bytes tells, and no other one.
    for place in 0..8 {
        let (least, mut more) = (*b"same text", *b"same text");
        more[place] += 1;
        assert!(order(&Value::Blob(&least)) < order(&Value::Blob(&more)), "byte {place}");
    }
    assert_eq!(order(&Value::Text("12345678")), order(&Value::Text("123456789")));
    assert_eq!(order(&Value::Text("")), order(&Value::Blob(&[0])));
    assert_eq!(order(&Value::Integer(i64::MIN)), order(&Value::Null));
}

#[test]
fn codes_say_whether_two_keys_may_have_one() {
    let ordered = |columns| Index { columns, kind: IndexKind::Ordered, is_unique: false };
    let cases = [
        (&READING, READING.indexes[0], true),
        (&READING, READING.indexes[1], false),
        (&CONTACT, ordered(&[0]), false),
        (&CONTACT, ordered(&[3]), true),
        (&CONTACT, ordered(&[5]), false),
        (&READING, ordered(&[0, 1]), false),
    ];
    for (table, index, expected) in cases {
        assert_eq!(is_exact(table, &index), expected, "{} {index:?}", table.name);
    }
}

#[test]
fn keys_of_several_columns_order_as_their_values_do_and_their_codes_never_against_them() {
    let index = Index { columns: &[1, 0], kind: IndexKind::Ordered, is_unique: true };
    let times = [-5, 0, 1, 127, 128, 20_000, NOW];
    let sensors = [i64::MIN, -70_000, -1, 0, 3, 127, 128, 12_415, 12_416, 1 << 40];
    let key = HashKey::from_seed(0);
    let mut before = None;
    for (sensor, time) in sensors.iter().flat_map(|one| times.map(|other| (*one, other))) {
        let values = [Value::Integer(sensor), Value::Time(time)];
        let digest = digest(&READING, &index, &key, &values);
        let (least, greatest) = codes(&READING, &index, &values[..1]);
        assert!((least..=greatest).contains(&digest.code), "{values:?}");
        if let Some(Digest { code, identity }) = before {
            assert!(code <= digest.code, "{values:?}");
            assert_ne!(identity, digest.identity, "{values:?}");
            let is_short = sensor.unsigned_abs() < 536_704 && time != NOW;
            assert!(!is_short || code < digest.code, "{values:?}: 8 bytes tell");
        }
        before = Some(digest);
    }
}

#[test]
fn keys_that_differ_in_value_type_or_cut_have_hashes_that_differ() {
    let columns = [0, 1];
    let index = Index { columns: &columns, kind: IndexKind::Hash, is_unique: true };
    let keys = [
        [Value::Text("ab"), Value::Text("c")],
        [Value::Text("a"), Value::Text("bc")],
        [Value::Blob(b"ab"), Value::Text("c")],
        [Value::Text("a\u{4}b"), Value::Text("c")],
        [Value::Text("a"), Value::Text("b\u{4}c")],
        [Value::Text("abc"), Value::Null],
        [Value::Null, Value::Text("abc")],
        [Value::Integer(1), Value::Time(1)],
        [Value::Time(1), Value::Integer(1)],
        [Value::Bool(true), Value::Null],
        [Value::from(1.0), Value::Null],
    ];
    let mut codes = Vec::new();
    for seed in [0, 1] {
        codes.extend(
            keys.map(|values| digest(&CONTACT, &index, &HashKey::from_seed(seed), &values).code),
        );
    }
    assert!(codes.iter().all(|code| *code < 1 << key::HASH_BITS));
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 2 * keys.len());
    let on_flash = digest(&CONTACT, &index, &HashKey::from_seed(1), &keys[0]).code;
    assert_eq!(on_flash, 4_194_784_213, "it is on flash: it never changes");
    let zeros = [0.0, -0.0].map(|zero| [Value::from(zero), Value::Null]);
    let [one, other] =
        zeros.map(|values| digest(&CONTACT, &index, &HashKey::from_seed(3), &values).code);
    assert_eq!(one, other, "equal reals have one hash");
}
