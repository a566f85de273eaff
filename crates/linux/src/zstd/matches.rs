//! Finding matches: by a table of 8-byte strings, by one of 5-byte strings, and at the last offset.

/// Number of bits of a hash.
const HASH_LOG: u32 = 13;
const SHORT_LEN: usize = 5;
const LONG_LEN: usize = 8;
/// A match at the last offset is used if it has at least this length.
const REPEAT_LEN_MIN: usize = 4;

/// Some literals and the match behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    pub literals: u32,
    pub len: u32,
    /// 1 to 3 for one of the last offsets; otherwise the offset plus 3.
    pub offset_value: u32,
}

struct Repeats([usize; 3]);

impl Repeats {
    /// The value for an offset that follows `literals` literals. The offset becomes the last one.
    fn value(&mut self, offset: usize, literals: usize) -> usize {
        let [first, second, third] = self.0;
        let known = if literals > 0 {
            [first, second, third]
        } else {
            // Without literals the last offset would only extend the last match, so the values mean
            // other offsets.
            [second, third, first - 1]
        };
        let place = known.iter().position(|&other| other == offset && other > 0);
        let repeats_third = literals == 0 && place == Some(2);
        self.0 = match offset {
            _ if repeats_third => [offset, first, second],
            _ if offset == first => [first, second, third],
            _ if offset == second => [second, first, third],
            _ => [offset, first, second],
        };
        place.map_or(offset + 3, |place| place + 1)
    }
}

/// Cut `data` into sequences. The literals of all sequences come in order, then those behind the
/// last match.
pub(super) fn find(data: &[u8]) -> (Vec<Sequence>, Vec<u8>) {
    let mut sequences = Vec::new();
    let mut literals = Vec::new();
    let mut tables = [vec![0_usize; 1 << HASH_LOG], vec![0_usize; 1 << HASH_LOG]];
    let mut repeats = Repeats([1, 4, 8]);
    let (mut anchor, mut at) = (0, 0);
    while at + LONG_LEN < data.len() {
        let Some((mut start, mut from)) = candidate(data, at, &mut tables, &repeats) else {
            at += ((at - anchor) >> 8) + 1;
            continue;
        };
        let mut len = common(&data[from..], &data[start..]);
        while start > anchor && from > 0 && data[start - 1] == data[from - 1] {
            (start, from, len) = (start - 1, from - 1, len + 1);
        }
        literals.extend(&data[anchor..start]);
        let offset_value = repeats.value(start - from, start - anchor);
        sequences.push(Sequence {
            literals: small(start - anchor),
            len: small(len),
            offset_value: small(offset_value),
        });
        anchor = start + len;
        for place in [at + 2, anchor - 2] {
            note(data, place, &mut tables);
        }
        at = anchor;
    }
    literals.extend(&data[anchor..]);
    (sequences, literals)
}

fn small(value: usize) -> u32 {
    u32::try_from(value).expect("one block")
}

/// Where a match near `at` begins, and where its bytes stood before.
fn candidate(
    data: &[u8],
    at: usize,
    tables: &mut [Vec<usize>; 2],
    repeats: &Repeats,
) -> Option<(usize, usize)> {
    let [long, short] = note(data, at, tables)?;
    let last = repeats.0[0];
    let next = at + 1;
    if last <= next && common(&data[next - last..], &data[next..]) >= REPEAT_LEN_MIN {
        return Some((next, next - last));
    }
    let is_match = |from: usize, len| from < at && common(&data[from..], &data[at..]) >= len;
    if let Some(from) = long.filter(|&from| is_match(from, LONG_LEN)) {
        return Some((at, from));
    }
    short.filter(|&from| is_match(from, SHORT_LEN)).map(|from| (at, from))
}

/// Enter the strings at `place` into both tables. Returns the places that were there before.
fn note(data: &[u8], place: usize, tables: &mut [Vec<usize>; 2]) -> Option<[Option<usize>; 2]> {
    let bytes = data.get(place..place + LONG_LEN)?;
    let value = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut found = [None; 2];
    for (which, value) in [value, value << 24].into_iter().enumerate() {
        let hash = value.wrapping_mul(0x9E37_79B1_85EB_CA87) >> (64 - HASH_LOG);
        let slot = &mut tables[which][usize::try_from(hash).expect("13 bits")];
        // Places are stored plus one: 0 is an empty slot.
        found[which] = slot.checked_sub(1);
        *slot = place + 1;
    }
    Some(found)
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
