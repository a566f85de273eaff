//! The random numbers and strings of the specification.

use flysch_chip::Prng;

/// The syllables of last names (clause 4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// The characters of an a-string (clause 4.3.2.2 asks at least for letters of both cases and
/// digits).
const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// The constants A of `NURand` for last names, customers and items (clause 2.1.6).
const A_LAST: i64 = 255;
const A_CUSTOMER: i64 = 1023;
const A_ITEM: i64 = 8191;
/// Number of different last names (clause 4.3.2.3): each has three of ten syllables.
const LAST_NAMES: i64 = 1000;

/// The constants C of `NURand`. One set is drawn for the load and another for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Constants {
    last: i64,
    customer: i64,
    item: i64,
}

/// A seeded source of the specification's random values.
#[derive(Clone, Debug)]
pub struct Random {
    prng: Prng,
    constants: Constants,
}

impl Random {
    /// The random source for loading the database.
    pub fn of_load(seed: u64) -> Self {
        let mut prng = Prng::new(seed ^ 0x10AD);
        let constants = Constants {
            last: below(&mut prng, A_LAST + 1),
            customer: below(&mut prng, A_CUSTOMER + 1),
            item: below(&mut prng, A_ITEM + 1),
        };
        Self { prng, constants }
    }

    /// The random source for a run on a database that was loaded with the same seed. Its constant C
    /// for last names differs from that of the load by as much as clause 2.1.6.1 requires.
    pub fn of_run(seed: u64) -> Self {
        let loaded = Self::of_load(seed).constants.last;
        let mut own = Self { prng: Prng::new(seed ^ 0x0219), ..Self::of_load(seed) };
        own.constants = loop {
            let drawn = Constants {
                last: own.number(0, A_LAST),
                customer: own.number(0, A_CUSTOMER),
                item: own.number(0, A_ITEM),
            };
            let delta = (drawn.last - loaded).abs();
            if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
                break drawn;
            }
        };
        own
    }

    /// A number in `min..=max`, uniformly distributed.
    pub fn number(&mut self, min: i64, max: i64) -> i64 {
        min + below(&mut self.prng, max - min + 1)
    }

    /// True in `percent` of 100 cases.
    pub fn happens(&mut self, percent: u32) -> bool {
        self.prng.below(100) < u64::from(percent)
    }

    /// A fraction greater than 0 and at most 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn fraction(&mut self) -> f64 {
        ((self.prng.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// `NURand` (clause 2.1.6): a number in `min..=max` that is not uniformly distributed.
    fn uneven(&mut self, a: i64, c: i64, min: i64, max: i64) -> i64 {
        let mixed = self.number(0, a) | self.number(min, max);
        (mixed + c) % (max - min + 1) + min
    }

    /// The id of a customer, not uniformly distributed.
    pub fn customer(&mut self, customers: i64) -> i64 {
        self.uneven(A_CUSTOMER, self.constants.customer, 1, customers)
    }

    /// The id of an item, not uniformly distributed.
    pub fn item(&mut self, items: i64) -> i64 {
        self.uneven(A_ITEM, self.constants.item, 1, items)
    }

    /// A last name that at least one of the `customers` of a district has.
    pub fn last_name(&mut self, customers: i64) -> String {
        let last = customers.min(LAST_NAMES) - 1;
        name_of(self.uneven(A_LAST, self.constants.last, 0, last))
    }

    /// The last name of customer `id` when a district is loaded. The first thousand customers get
    /// all different names.
    pub fn loaded_last_name(&mut self, id: i64, customers: i64) -> String {
        if id <= LAST_NAMES { name_of(id - 1) } else { self.last_name(customers) }
    }

    /// An a-string (letters and digits) of `min` to `max` characters.
    pub fn text(&mut self, min: i64, max: i64) -> String {
        self.characters(ALPHANUMERIC, min, max)
    }

    /// An n-string (digits only) of `len` characters.
    pub fn digits(&mut self, len: i64) -> String {
        self.characters(b"0123456789", len, len)
    }

    fn characters(&mut self, set: &[u8], min: i64, max: i64) -> String {
        let len = self.number(min, max);
        let one = |_| char::from(set[below_usize(&mut self.prng, set.len())]);
        (0..len).map(one).collect()
    }

    /// A zip code as clause 4.3.2.7 defines it.
    pub fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// A text of 26 to 50 characters. One in ten contains ORIGINAL (clause 4.3.3.1).
    pub fn brand(&mut self) -> String {
        let mut text = self.text(26, 50);
        if self.happens(10) {
            let start = below_usize(&mut self.prng, text.len() - ORIGINAL.len() + 1);
            text.replace_range(start..start + ORIGINAL.len(), ORIGINAL);
        }
        text
    }

    /// The numbers `1..=count` in random order.
    pub fn permutation(&mut self, count: i64) -> Vec<i64> {
        let mut numbers: Vec<i64> = (1..=count).collect();
        self.shuffle(&mut numbers);
        numbers
    }

    /// Put the elements into random order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        self.prng.shuffle(things);
    }
}

/// The text that marks a tenth of the items and of the stock.
const ORIGINAL: &str = "ORIGINAL";

fn name_of(number: i64) -> String {
    let syllable = |place: i64| SYLLABLES[usize::try_from(number / place % 10).expect("a digit")];
    [syllable(100), syllable(10), syllable(1)].concat()
}

fn below(prng: &mut Prng, bound: i64) -> i64 {
    let bound = u64::try_from(bound).expect("ranges are not empty");
    i64::try_from(prng.below(bound)).expect("below an i64")
}

fn below_usize(prng: &mut Prng, bound: usize) -> usize {
    usize::try_from(prng.below(bound as u64)).expect("below a length")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the example of clause 4.3.2.3.
    #[test]
    fn a_last_name_is_three_syllables() {
        assert_eq!(name_of(371), "PRICALLYOUGHT");
        assert_eq!(name_of(0), "BARBARBAR");
    }

    #[test]
    fn the_constants_of_load_and_run_differ_as_the_specification_wants() {
        for seed in 0..50 {
            let (load, run) = (Random::of_load(seed), Random::of_run(seed));
            let delta = (load.constants.last - run.constants.last).abs();
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{seed}: {delta}");
        }
    }

    /// The bitwise OR of two random numbers has more bits set than either. So the upper half of a
    /// range of 2^n numbers is drawn in three of four cases.
    #[test]
    fn uneven_numbers_stay_in_range_and_are_uneven() {
        let mut random = Random::of_run(1);
        random.constants.customer = 0;
        let drawn: Vec<i64> = (0..4000).map(|_| random.uneven(A_CUSTOMER, 0, 0, 1023)).collect();
        assert!(drawn.iter().all(|number| (0..=1023).contains(number)));
        let upper = drawn.iter().filter(|&&number| number >= 512).count();
        assert!((2900..3100).contains(&upper), "{upper}");
        let mut items: Vec<i64> = (0..4000).map(|_| random.item(1000)).collect();
        items.sort_unstable();
        assert!(items[0] >= 1 && items[3999] <= 1000);
    }

    #[test]
    fn strings_have_their_lengths() {
        let mut random = Random::of_load(3);
        for _ in 0..200 {
            let brand = random.brand();
            assert!((26..=50).contains(&brand.len()), "{brand}");
            assert!((8..=16).contains(&random.text(8, 16).len()));
        }
        assert_eq!(random.zip().len(), 9);
        assert!((0..200).any(|_| random.brand().contains(ORIGINAL)));
        let mut order = random.permutation(100);
        assert_ne!(order, (1..=100).collect::<Vec<i64>>());
        order.sort_unstable();
        assert_eq!(order, (1..=100).collect::<Vec<i64>>());
    }
}
