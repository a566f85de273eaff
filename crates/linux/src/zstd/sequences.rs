//! The sequences section of a block: for each match the number of literals before it, its length
//! and its offset.

use super::Sequence;
use super::bits::{BitWriter, high_bit};
use super::fse::Table;

const LITERAL_LOG: u32 = 6;
const LITERAL_COUNTS: [i32; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
const MATCH_LOG: u32 = 6;
const MATCH_COUNTS: [i32; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
const OFFSET_LOG: u32 = 5;
const OFFSET_COUNTS: [i32; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];
/// First value and number of extra bits of each literal length code, from code 16 on.
const LITERAL_CODES: [(u32, u32); 19] = [
    (16, 1),
    (18, 1),
    (20, 1),
    (22, 1),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 4),
    (64, 6),
    (128, 7),
    (256, 8),
    (512, 9),
    (1024, 10),
    (2048, 11),
    (4096, 12),
    (8192, 13),
    (16_384, 14),
    (32_768, 15),
];
/// First value and number of extra bits of each match length code, from code 32 on.
const MATCH_CODES: [(u32, u32); 20] = [
    (35, 1),
    (37, 1),
    (39, 1),
    (41, 1),
    (43, 2),
    (47, 2),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 5),
    (131, 7),
    (259, 8),
    (515, 9),
    (1027, 10),
    (2051, 11),
    (4099, 12),
    (8195, 13),
    (16_387, 14),
    (32_771, 15),
];

#[derive(Clone, Copy)]
struct Code {
    symbol: usize,
    extra: u32,
    width: u32,
}

fn code_of(value: u32, direct: u32, first: u32, table: &[(u32, u32)]) -> Code {
    if value < first + direct {
        return Code { symbol: (value - first) as usize, extra: 0, width: 0 };
    }
    let place = table.partition_point(|&(base, _)| base <= value) - 1;
    let (base, width) = table[place];
    assert!(value - base < 1 << width, "blocks are of 64 KiB at most");
    Code { symbol: direct as usize + place, extra: value - base, width }
}

fn offset_code(value: u32) -> Code {
    let width = high_bit(value);
    Code { symbol: width as usize, extra: value - (1 << width), width }
}

pub(super) fn section(sequences: &[Sequence]) -> Vec<u8> {
    let count = u16::try_from(sequences.len()).expect("one block");
    let mut section = match count {
        0 => return vec![0],
        1..128 => vec![count.to_le_bytes()[0]],
        _ => {
            let [low, high] = count.to_le_bytes();
            vec![high + 128, low]
        }
    };
    // All three kinds of code use the predefined tables.
    section.push(0);
    section.extend(stream(sequences));
    section
}

fn stream(sequences: &[Sequence]) -> Vec<u8> {
    let tables = [
        Table::new(&LITERAL_COUNTS, LITERAL_LOG),
        Table::new(&OFFSET_COUNTS, OFFSET_LOG),
        Table::new(&MATCH_COUNTS, MATCH_LOG),
    ];
    let codes = |it: &Sequence| {
        [
            code_of(it.literals, 16, 0, &LITERAL_CODES),
            offset_code(it.offset_value),
            code_of(it.len, 32, 3, &MATCH_CODES),
        ]
    };
    let mut out = BitWriter::default();
    let put_extra = |out: &mut BitWriter, [literals, offset, len]: [Code; 3]| {
        out.put(literals.extra, literals.width);
        out.put(len.extra, len.width);
        out.put(offset.extra, offset.width);
    };
    let (last, rest) = sequences.split_last().expect("at least one");
    let first = codes(last);
    let mut states = [0, 1, 2].map(|part| tables[part].begin(first[part].symbol));
    put_extra(&mut out, first);
    for sequence in rest.iter().rev() {
        let codes = codes(sequence);
        for part in [1, 2, 0] {
            tables[part].encode(&mut states[part], codes[part].symbol, &mut out);
        }
        put_extra(&mut out, codes);
    }
    for part in [2, 1, 0] {
        tables[part].end(states[part], &mut out);
    }
    out.close()
}
