//! Values as digits in a mixed base, and digits as bitmaps.

/// The most digits that a value may have.
const DIGITS_MAX: usize = 8;

/// The bases of a value's digits, least significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bases {
    bases: [u16; DIGITS_MAX],
    len: u8,
}

/// How a digit is represented by bitmaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The row's bit is set in bitmap `j` if the digit is `j`. Best for queries of equality.
    Equality,
    /// The row's bit is set in bitmap `j` if the digit is at most `j`. The bitmap of the greatest
    /// digit would be all ones and is left out. Best for ranges.
    Range,
}

/// The index of a bitmap among those of a digit.
pub(super) type Slot = u16;

impl Bases {
    /// Bases of the digits, least significant first.
    ///
    /// # Panics
    /// If there are none or more than eight, or if one is below 2.
    pub fn new(bases: &[u16]) -> Self {
        assert!((1..=DIGITS_MAX).contains(&bases.len()), "one to {DIGITS_MAX} digits");
        assert!(bases.iter().all(|&base| base >= 2), "a digit has two values at least");
        let mut all = [0; DIGITS_MAX];
        all[..bases.len()].copy_from_slice(bases);
        Self { bases: all, len: bases.len() as u8 }
    }

    /// One digit: a query reads the fewest bitmaps, but the most are stored.
    pub fn time_optimal(values: u16) -> Self {
        Self::new(&[values])
    }

    /// Binary digits: the fewest bitmaps are stored, but a query reads the most.
    ///
    /// # Panics
    /// If there are more than 256 values.
    pub fn space_optimal(values: u16) -> Self {
        let digits = values.next_power_of_two().ilog2().max(1) as usize;
        Self::new(&[2; 64][..digits])
    }

    /// Two digits with about the same base, as a compromise.
    pub fn balanced(values: u16) -> Self {
        let root = values.isqrt();
        let root = if root * root < values { root + 1 } else { root };
        Self::new(&[root.max(2), values.div_ceil(root.max(2)).max(2)])
    }

    pub fn as_slice(&self) -> &[u16] {
        &self.bases[..usize::from(self.len)]
    }

    /// Number of bitmaps of all digits.
    pub fn bitmap_count(&self, encoding: Encoding) -> u32 {
        self.as_slice().iter().map(|&base| u32::from(slots(base, encoding))).sum()
    }

    /// For each digit of a value: its first bitmap, its base, and the digit.
    pub(super) fn digits(
        self,
        value: u32,
        encoding: Encoding,
    ) -> impl Iterator<Item = (u32, u16, Slot)> {
        let (mut rest, mut first) = (value, 0);
        (0..usize::from(self.len)).map(move |place| {
            let base = self.bases[place];
            let digit = (rest % u32::from(base)) as Slot;
            rest /= u32::from(base);
            let here = first;
            first += u32::from(slots(base, encoding));
            (here, base, digit)
        })
    }

    /// The greatest value that these digits can represent.
    pub(super) fn value_max(&self) -> u32 {
        let product = self.as_slice().iter().map(|&base| u64::from(base)).product::<u64>();
        u32::try_from(product - 1).unwrap_or(u32::MAX)
    }

    /// The bitmaps in which a value sets its row's bit.
    pub(super) fn bitmaps_of(self, value: u32, encoding: Encoding) -> impl Iterator<Item = u32> {
        assert!(value <= self.value_max(), "value {value} has more digits than the bases");
        self.digits(value, encoding).flat_map(move |(first, base, digit)| {
            let set = match encoding {
                Encoding::Equality => digit..digit + 1,
                Encoding::Range => digit..base - 1,
            };
            set.map(move |slot| first + u32::from(slot))
        })
    }
}

const fn slots(base: u16, encoding: Encoding) -> u16 {
    match encoding {
        Encoding::Equality => base,
        Encoding::Range => base - 1,
    }
}
