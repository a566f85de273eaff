//! What a frame consists of, by its headers (RFC 8878, section 3.1). The time that zstd takes
//! depends on it: data without matches are done quickly, and so are literals that are not coded.

use crate::deflate::symbols;

/// The magic number of a frame.
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// The types of blocks, in bits 1 and 2 of their headers: as they are, a byte repeated, compressed.
const RAW: u32 = 0;
const REPEATED: u32 = 1;
const COMPRESSED: u32 = 2;
/// Literals up to this number are not coded (`COMPRESS_LITERALS_SIZE_MIN` in
/// `zstd_compress_literals.c`).
const LITERALS_MIN: usize = 63;
/// The mode of a code of sequences whose table is in the frame.
const OWN_TABLE: u8 = 2;

/// Counts of what a frame consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Places at which the compressor looked for a match.
    pub positions: u64,
    /// Tables of codes: of literals, and of the three parts of sequences.
    pub tables: u64,
    /// Literals that are coded. Those that are copied or repeated are not counted.
    pub literals: u64,
    /// Sequences: literals to copy and a match.
    pub sequences: u64,
    /// Values of bytes for which tables of literals were made. Only making a frame counts them.
    pub symbols: u64,
}

impl Parts {
    /// The parts of a frame. What lies behind damage is not counted.
    pub(crate) fn of(frame: &[u8]) -> Self {
        let mut parts = Self::default();
        for (kind, block) in blocks(frame) {
            if kind == COMPRESSED {
                // A block that ends in its headers is damaged.
                let _: Option<()> = parts.add(block);
            }
        }
        parts
    }

    /// What making a frame of `data` took. Beside what the frame has, that is the search in blocks
    /// that are stored as they are, and codes of literals that were made and saved nothing.
    pub(crate) fn made(frame: &[u8], data: &[u8]) -> Self {
        let mut parts = Self::of(frame);
        for (kind, block) in blocks(frame) {
            if kind == RAW {
                parts.positions += positions(block.len() as u64, 0);
                parts.try_code(block);
            } else if let Some(literals) = Literals::of(block).filter(|_| kind == COMPRESSED) {
                if literals.kind == BY_OWN_TABLE {
                    parts.symbols += symbols(data);
                }
                parts.try_code(literals.raw(block));
            }
        }
        parts
    }

    /// Count the code that zstd makes of literals before it stores them as they are. It makes none
    /// for few, or where none is frequent (`HUF_compress_internal` in `huf_compress.c`).
    fn try_code(&mut self, literals: &[u8]) {
        let mut counts = [0; 256];
        for &literal in literals {
            counts[usize::from(literal)] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        if literals.len() > LITERALS_MIN && most > literals.len() / 128 + 4 {
            self.tables += 1;
            self.literals += literals.len() as u64;
            self.symbols += symbols(literals);
        }
    }

    /// Add the parts of a compressed block.
    fn add(&mut self, block: &[u8]) -> Option<()> {
        let literals = Literals::of(block)?;
        if literals.kind >= BY_OWN_TABLE {
            self.literals += literals.number;
        }
        self.tables += u64::from(literals.kind == BY_OWN_TABLE);
        let (sequences, modes) = sequences(block.get(literals.len..)?)?;
        self.sequences += sequences;
        self.positions += positions(literals.number, sequences);
        let modes = (1..=3).map(|part| modes >> (2 * part) & 3);
        self.tables += modes.filter(|mode| *mode == OWN_TABLE).map(|_| 1).sum::<u64>();
        Some(())
    }
}

/// The blocks of a frame with their types, up to the last one or to damage.
fn blocks(frame: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = frame.strip_prefix(&MAGIC).and_then(behind_header);
    std::iter::from_fn(move || {
        let (header, behind) = rest?.split_first_chunk::<3>()?;
        let header = little_endian(*header);
        let (kind, size) = (header >> 1 & 3, header >> 3);
        // A repeated byte is stored once.
        let stored = if kind == REPEATED { 1 } else { size as usize };
        let (block, next) = behind.split_at_checked(stored)?;
        let is_last = header & 1 == 1;
        rest = (!is_last).then_some(next);
        Some((kind, block))
    })
}

/// What lies behind the header of a frame.
fn behind_header(frame: &[u8]) -> Option<&[u8]> {
    let (&descriptor, rest) = frame.split_first()?;
    let is_single = descriptor & 0x20 != 0;
    let window = usize::from(!is_single);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
    rest.get(window + dictionary + content..)
}

/// The literals of a block, by their header.
struct Literals {
    number: u64,
    /// How they are stored, as their header says it.
    kind: u8,
    /// Bytes that they and their header take.
    len: usize,
}

/// Kinds of literals: as they are, coded by a table in the block. Beside these, one byte may be
/// repeated, or the codes may be those of an earlier block.
const AS_THEY_ARE: u8 = 0;
const BY_OWN_TABLE: u8 = 2;

impl Literals {
    fn of(block: &[u8]) -> Option<Self> {
        let (kind, format) = (block.first()? & 3, block.first()? >> 2 & 3);
        let is_coded = kind >= BY_OWN_TABLE;
        // How long the header is, and how many bits each of its sizes has.
        let (header, bits) = match (is_coded, format) {
            (false, 0 | 2) => (1, 5),
            (false, 1) => (2, 12),
            (false, _) => (3, 20),
            (true, 0 | 1) => (3, 10),
            (true, 2) => (4, 14),
            (true, _) => (5, 18),
        };
        let mut bytes = [0; 8];
        bytes[..header].copy_from_slice(block.get(..header)?);
        let sizes = u64::from_le_bytes(bytes) >> if bits == 5 { 3 } else { 4 };
        let number = sizes & ((1 << bits) - 1);
        let stored = match kind {
            0 => number,
            1 => 1,
            _ => sizes >> bits & ((1 << bits) - 1),
        };
        let len = header + usize::try_from(stored).ok()?;
        Some(Self { number, kind, len })
    }

    /// The literals that are stored as they are in this block. Empty if they are not.
    fn raw<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        let from = self.len.saturating_sub(usize::try_from(self.number).unwrap_or(self.len));
        block.get(from..self.len).filter(|_| self.kind == AS_THEY_ARE).unwrap_or_default()
    }
}

/// The number of sequences, and the byte with the modes of their codes.
fn sequences(section: &[u8]) -> Option<(u64, u8)> {
    match *section {
        [0, ..] => Some((0, 0)),
        [low @ 1..128, modes, ..] => Some((low.into(), modes)),
        [high @ 128..255, low, modes, ..] => {
            Some((u64::from(high - 128) << 8 | u64::from(low), modes))
        }
        [255, low, high, modes, ..] => {
            Some((u64::from(u16::from_le_bytes([low, high])) + 0x7F00, modes))
        }
        [] | [_] | [128..=255, ..] => None,
    }
}

/// The places at which the compressor looked for a match, in a block of so many literals and
/// sequences. In a run without a match it looks at each place first, behind 256 bytes at every
/// second, behind 512 at every third, and so on (`kSearchStrength` in `zstd_double_fast.c`). How
/// long each run was is not told without decoding the block, so all are taken to be equally long.
fn positions(literals: u64, sequences: u64) -> u64 {
    const STRETCH: u64 = 256;
    let runs = sequences + 1;
    let run = literals / runs;
    let (stretches, rest) = (run / STRETCH, run % STRETCH);
    let whole: u64 = (1..=stretches).map(|step| STRETCH / step).sum();
    runs * (whole + rest / (stretches + 1)) + sequences
}

fn little_endian(bytes: [u8; 3]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zstd::compress;
    use flysch_chip::Prng;

    /// `len` bytes of so many values.
    fn bytes(len: usize, values: u64) -> Vec<u8> {
        let mut prng = Prng::new(len as u64 ^ values);
        (0..len).map(|_| prng.below(values).to_le_bytes()[0]).collect()
    }

    #[test]
    fn a_frame_tells_what_it_consists_of() {
        let of = |data: &[u8]| Parts::of(&compress(data));
        assert_eq!(of(&bytes(4096, 256)), Parts::default(), "nothing shrinks");
        assert_eq!(of(&[]), Parts::default());
        let made = |data: &[u8]| Parts::made(&compress(data), data);
        let random = bytes(700, 256);
        let searched = Parts { positions: 256 + 128 + 188 / 3, ..Parts::default() };
        assert_eq!(made(&random), searched, "no byte is frequent: {:?}", made(&random));
        let coded = of(&bytes(4096, 64));
        assert_eq!((coded.tables, coded.literals), (1, 4096), "one code of literals: {coded:?}");
        assert_eq!(made(&bytes(4096, 64)), Parts { symbols: 64, ..coded });
        // A tenth of zeros is frequent enough to make a code, and too little to save anything.
        let rows: Vec<u8> =
            bytes(900, 256).chunks(9).flat_map(|row| [row, &[0]].concat()).collect();
        let tried = made(&rows);
        assert_eq!((tried.tables, tried.literals), (1, 1000), "{tried:?}");
        let words = bytes(500, 16);
        let text: Vec<u8> = words.iter().flat_map(|&word| [b' ', b'a', word].repeat(3)).collect();
        let matched = of(&text);
        assert!(matched.sequences > 50 && matched.tables >= 2, "{matched:?}");
        let half = of(&[bytes(600, 256), vec![0; 600]].concat());
        assert_eq!((half.sequences, half.literals), (1, 0), "{half:?}");
        let large = of(&bytes(300_000, 64));
        assert_eq!((large.tables, large.literals), (1, 300_000), "three blocks: {large:?}");
    }

    #[test]
    fn a_damaged_frame_has_fewer_parts_and_no_panic() {
        let data = bytes(3000, 40);
        let frame = compress(&data);
        for at in 0..frame.len() {
            for cut in [&frame[..at], &[&frame[..at], &[!frame[at]], &frame[at + 1..]].concat()] {
                assert!(Parts::made(cut, &data).tables <= 80, "byte {at}");
            }
        }
    }
}
