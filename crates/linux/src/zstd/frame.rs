//! What a frame consists of, by its headers (RFC 8878, section 3.1). The time that zstd takes
//! depends on it: data without matches are done quickly, and so are literals that are not coded.

/// The magic number of a frame.
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// The type of a compressed block, in bits 1 and 2 of its header.
const COMPRESSED: u32 = 2;
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
}

impl Parts {
    /// The parts of data in which no match was found.
    pub(crate) fn unmatched(len: usize) -> Self {
        Self { positions: positions(len as u64, 0), ..Self::default() }
    }

    /// The parts of a frame. What lies behind damage is not counted.
    pub(crate) fn of(frame: &[u8]) -> Self {
        let mut parts = Self::default();
        let mut rest = frame.strip_prefix(&MAGIC).and_then(blocks).unwrap_or_default();
        while let Some((header, behind)) = rest.split_first_chunk::<3>() {
            let header = little_endian(*header);
            let size = header >> 3;
            let is_compressed = header >> 1 & 3 == COMPRESSED;
            // A repeated byte is stored once.
            let stored = if header >> 1 & 3 == 1 { 1 } else { size as usize };
            let Some((block, next)) = behind.split_at_checked(stored) else { break };
            if is_compressed {
                // A block that ends in its headers is damaged.
                let _: Option<()> = parts.add(block);
            }
            if header & 1 == 1 {
                break;
            }
            rest = next;
        }
        parts
    }

    /// Add the parts of a compressed block.
    fn add(&mut self, block: &[u8]) -> Option<()> {
        let literals = Literals::of(block)?;
        if literals.is_coded {
            self.literals += literals.number;
        }
        self.tables += u64::from(literals.has_table);
        let (sequences, modes) = sequences(block.get(literals.len..)?)?;
        self.sequences += sequences;
        self.positions += positions(literals.number, sequences);
        let modes = (1..=3).map(|part| modes >> (2 * part) & 3);
        self.tables += modes.filter(|mode| *mode == OWN_TABLE).map(|_| 1).sum::<u64>();
        Some(())
    }
}

/// What lies behind the header of a frame.
fn blocks(frame: &[u8]) -> Option<&[u8]> {
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
    /// Whether each has a code of its own.
    is_coded: bool,
    /// Whether the table of their codes is in the block.
    has_table: bool,
    /// Bytes that they and their header take.
    len: usize,
}

impl Literals {
    fn of(block: &[u8]) -> Option<Self> {
        let (kind, format) = (block.first()? & 3, block.first()? >> 2 & 3);
        let is_coded = kind >= 2;
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
        Some(Self { number, is_coded, has_table: kind == 2, len })
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
        assert_eq!(Parts::unmatched(700).positions, 256 + 128 + 188 / 3);
        let coded = of(&bytes(4096, 64));
        assert_eq!((coded.tables, coded.literals), (1, 4096), "one code of literals: {coded:?}");
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
                assert!(Parts::of(cut).tables <= 40, "byte {at}");
            }
        }
    }
}
