//! Which key each inserted row has, and which rows are looked up.

use flysch_chip::Prng;
use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use super::keys::{KeyDistribution, permute};
use super::zipf::Zipf;

/// The key of each row, in the order of insertion.
#[derive(Clone, Copy, Debug)]
pub struct RowKeys {
    rows: u32,
    per_key: u32,
    seed: u64,
    /// The distribution that keys are drawn from. None if each key has the same number of rows.
    drawn: Option<Zipf>,
}

impl RowKeys {
    /// `rows` rows, `per_key` of each key. The rows of a key are scattered over the load. With Zipf
    /// keys, `per_key` is the mean number of rows.
    ///
    /// # Panics
    /// If either number is 0.
    pub fn new(distribution: KeyDistribution, rows: u32, per_key: u32, seed: u64) -> Self {
        assert!(rows > 0 && per_key > 0, "there is a row, and a key has one");
        let keys = rows.div_ceil(per_key);
        let is_drawn = per_key > 1 && distribution == KeyDistribution::Zipf;
        Self { rows, per_key, seed, drawn: is_drawn.then(|| Zipf::new(keys)) }
    }

    /// Number of keys. With a Zipf distribution, some of them may have no row.
    pub const fn key_count(&self) -> u32 {
        self.rows.div_ceil(self.per_key)
    }

    /// Mean number of rows of a key.
    pub const fn per_key(&self) -> u32 {
        self.per_key
    }

    /// The key of a row.
    pub fn key_of(&self, row: u32) -> u32 {
        debug_assert!(row < self.rows, "row {row} of {}", self.rows);
        match &self.drawn {
            Some(zipf) => zipf.draw(&mut Prng::new(self.seed ^ u64::from(row) << 1)),
            None if self.per_key == 1 => row,
            None => scatter(row, self.rows, self.seed) / self.per_key,
        }
    }
}

/// A permutation of the numbers below `count`.
fn scatter(number: u32, count: u32, seed: u64) -> u32 {
    let bits = u32::BITS - (count - 1).leading_zeros();
    if bits == 0 {
        return 0;
    }
    let mut number = u64::from(number);
    loop {
        number = permute(number, bits, seed);
        if number < u64::from(count) {
            return u32::try_from(number).expect("below a count of 32 bits");
        }
    }
}

/// How the rows that are looked up are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum LookupDistribution {
    /// Each row as often as any other.
    Uniform,
    /// Some rows far more often than others, independent of their order of insertion.
    Zipf,
    /// New rows far more often than old ones.
    Newest,
    /// Old rows far more often than new ones.
    Oldest,
}

named!(LookupDistribution, "lookup distribution");

/// Draws rows to look up. The number of rows may grow between draws.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    distribution: LookupDistribution,
    prng: Prng,
    zipf: Zipf,
    seed: u64,
}

impl Draws {
    pub(super) fn new(distribution: LookupDistribution, seed: u64) -> Self {
        Self { distribution, prng: Prng::new(seed), zipf: Zipf::new(1), seed }
    }

    /// A row of the first `count`, uniformly drawn.
    pub(super) fn any(&mut self, count: u32) -> u32 {
        u32::try_from(self.prng.below(u64::from(count))).expect("below 2^32")
    }

    /// A row of the first `count`, drawn from the distribution. `count` must not become smaller.
    pub(super) fn draw(&mut self, count: u32) -> u32 {
        if self.distribution == LookupDistribution::Uniform {
            return self.any(count);
        }
        self.zipf.grow(count);
        let rank = self.zipf.draw(&mut self.prng);
        match self.distribution {
            LookupDistribution::Newest => count - 1 - rank,
            LookupDistribution::Zipf => scatter(rank, count, self.seed),
            LookupDistribution::Uniform | LookupDistribution::Oldest => rank,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_rows() {
        let mut counts = [0_u32; 143];
        let rows = RowKeys::new(KeyDistribution::Random, 1000, 7, 3);
        (0..1000).for_each(|row| counts[rows.key_of(row) as usize] += 1);
        assert!(counts[..142].iter().all(|count| *count == 7), "{counts:?}");
        assert_eq!(counts[142], 6);
        let drawn = RowKeys::new(KeyDistribution::Zipf, 1000, 7, 3);
        let first = (0..1000).filter(|&row| drawn.key_of(row) == 0).count();
        assert!((130..230).contains(&first), "{first} rows of the first key");
    }

    #[test]
    fn draws_prefer_what_they_say() {
        let mean = |&distribution| {
            let mut draws = Draws::new(distribution, 5);
            (0..1000).map(|_| draws.draw(1000)).sum::<u32>() / 1000
        };
        let means: Vec<u32> = LookupDistribution::ALL.iter().map(mean).collect();
        assert!((470..530).contains(&means[0]), "{means:?}");
        assert!(means[2] > 800 && means[3] < 200, "{means:?}");
        let mut draws = Draws::new(LookupDistribution::Zipf, 5);
        let mut counts = [0_u32; 1000];
        (0..1000).for_each(|_| counts[draws.draw(1000) as usize] += 1);
        assert!(counts.iter().any(|count| *count > 80), "one row is asked for most");
    }
}
