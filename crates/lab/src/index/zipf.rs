//! Draws from a Zipf distribution whose number of places may grow.

use flysch_chip::Prng;

/// The exponent of YCSB's workloads. Of a million places, the first gets one draw in fifteen.
const EXPONENT: f64 = 0.99;

/// A Zipf distribution: place `r`, counted from 0, is drawn with a probability proportional to `1 /
/// (r + 1)^0.99`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    count: u32,
    /// The sum of the weights of all places.
    sum: f64,
    sum_of_two: f64,
}

impl Zipf {
    /// A distribution over `count` places, which must be at least one.
    pub(super) fn new(count: u32) -> Self {
        let mut zipf = Self { count: 0, sum: 0.0, sum_of_two: 1.0 + weight(2) };
        zipf.grow(count);
        zipf
    }

    /// Set the number of places. It must not become smaller.
    pub(super) fn grow(&mut self, count: u32) {
        assert!(count >= self.count.max(1), "places are never taken away");
        self.sum += (self.count + 1..=count).map(weight).sum::<f64>();
        self.count = count;
    }

    /// Draw a place by the approximation of Gray et al. (Quickly generating billion-record
    /// synthetic databases, SIGMOD 1994). Its error is far below what a bench could show.
    pub(super) fn draw(&self, prng: &mut Prng) -> u32 {
        let bits = u32::try_from(prng.next() >> 32).expect("32 bits are left");
        let uniform = f64::from(bits) / (f64::from(u32::MAX) + 1.0);
        let scaled = uniform * self.sum;
        if scaled < 1.0 || self.count == 1 {
            return 0;
        }
        if scaled < self.sum_of_two {
            return 1;
        }
        let count = f64::from(self.count);
        let rest = 1.0 - EXPONENT;
        let eta = (1.0 - (2.0 / count).powf(rest)) / (1.0 - self.sum_of_two / self.sum);
        let place = count * (eta * uniform - eta + 1.0).powf(1.0 / rest);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut off")]
        let place = place as u32;
        place.min(self.count - 1)
    }
}

fn weight(rank: u32) -> f64 {
    f64::from(rank).powf(-EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_places_get_the_share_that_is_theirs() {
        let zipf = Zipf::new(1000);
        let mut prng = Prng::new(3);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..200_000 {
            counts[zipf.draw(&mut prng) as usize] += 1;
        }
        for rank in [1, 2, 10, 100] {
            let about = (rank - rank / 4)..=(rank + rank / 4);
            let share = about.clone().map(weight).sum::<f64>() / zipf.sum * 200_000.0;
            let drawn: u32 = about.map(|rank| counts[rank as usize - 1]).sum();
            let ratio = f64::from(drawn) / share;
            assert!((0.85..1.15).contains(&ratio), "rank {rank}: {drawn} of {share}");
        }
    }

    #[test]
    fn growing_is_the_same_as_being_made_larger() {
        let mut grown = Zipf::new(10);
        grown.grow(500);
        let made = Zipf::new(500);
        let mut prngs = [Prng::new(1), Prng::new(1)];
        for _ in 0..1000 {
            assert_eq!(grown.draw(&mut prngs[0]), made.draw(&mut prngs[1]));
        }
    }
}
