//! Terminals: who asks when. A terminal keys in a request, waits for the answer, thinks, and asks
//! again (clause 5.2.5); SQLite serves one after the other, so requests wait for their turn.

use std::collections::BTreeSet;

use super::deck::Kind;
use super::random::Random;
use super::request::{Request, Requests};

/// Whether terminals take the specification's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A terminal asks as soon as it is answered.
    None,
    /// Keying times and think times of clause 5.2.5.7.
    Specified,
}

/// A request that waits or is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who asks.
    pub terminal: u32,
    /// When it was sent, nanoseconds of the virtual clock.
    pub sent_ns: u64,
    /// What is asked.
    pub request: Request,
}

/// All terminals.
#[derive(Clone, Debug)]
pub struct Terminals {
    pace: Pace,
    requests: Requests,
    /// Of times: so that they do not change what is asked.
    random: Random,
    /// What each terminal has ready.
    ready: Vec<Request>,
    /// When they send it, first come first.
    queue: BTreeSet<(u64, u32)>,
}

impl Kind {
    /// Time to key in the request, milliseconds (clause 5.2.5.7).
    const fn keying_ms(self) -> u64 {
        match self {
            Self::NewOrder => 18_000,
            Self::Payment => 3_000,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2_000,
        }
    }

    /// Mean time to think about the answer, milliseconds (clause 5.2.5.7).
    const fn think_ms_mean(self) -> f64 {
        match self {
            Self::NewOrder | Self::Payment => 12_000.0,
            Self::OrderStatus => 10_000.0,
            Self::Delivery | Self::StockLevel => 5_000.0,
        }
    }
}

/// Most that a time to think may be of its mean (clause 5.2.5.4).
const THINK_MEANS_MAX: f64 = 10.0;

impl Terminals {
    /// `count` terminals that begin at `now_ns`.
    pub fn new(count: u32, pace: Pace, mut requests: Requests, seed: u64, now_ns: u64) -> Self {
        let ready: Vec<Request> = (0..count).map(|terminal| requests.draw(terminal)).collect();
        let keyed = |request: &Request| now_ns + pace.keying_ns(request.kind());
        let queue = ready.iter().map(keyed).zip(0..).collect();
        Self { pace, requests, random: Random::of_load(seed), ready, queue }
    }

    /// The request that was sent first of those not served.
    ///
    /// # Panics
    /// Where every terminal waits for its answer.
    pub fn turn(&mut self) -> Waiting {
        let (sent_ns, terminal) = self.queue.pop_first().expect("a terminal that is not waiting");
        Waiting { terminal, sent_ns, request: self.ready[terminal as usize].clone() }
    }

    /// Tell a terminal at `now_ns` that it was served.
    pub fn answered(&mut self, waiting: &Waiting, now_ns: u64) {
        let next = self.requests.draw(waiting.terminal);
        let think_ns = self.think_ns(waiting.request.kind());
        let sent_ns = now_ns + think_ns + self.pace.keying_ns(next.kind());
        self.ready[waiting.terminal as usize] = next;
        self.queue.insert((sent_ns, waiting.terminal));
    }

    /// Negative exponential, cut off, in whole milliseconds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time below two minutes"
    )]
    fn think_ns(&mut self, kind: Kind) -> u64 {
        match self.pace {
            Pace::None => 0,
            Pace::Specified => {
                let means = (-self.random.fraction().ln()).min(THINK_MEANS_MAX);
                (means * kind.think_ms_mean()) as u64 * 1_000_000
            }
        }
    }
}

impl Pace {
    const fn keying_ns(self, kind: Kind) -> u64 {
        match self {
            Self::None => 0,
            Self::Specified => kind.keying_ms() * 1_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scale::Scale;
    use super::*;

    fn terminals(count: u32, pace: Pace) -> Terminals {
        let scale = Scale { warehouses: 1, divisor: 100 };
        Terminals::new(count, pace, Requests::new(scale, 1, 1), 1, 0)
    }

    #[test]
    fn without_times_each_waits_for_all_others() {
        let mut terminals = terminals(3, Pace::None);
        let mut served = Vec::new();
        for now_ns in (10..100).step_by(10) {
            let waiting = terminals.turn();
            terminals.answered(&waiting, now_ns);
            served.push((waiting.terminal, now_ns - waiting.sent_ns));
        }
        assert_eq!(served[..4], [(0, 10), (1, 20), (2, 30), (0, 30)]);
        assert!(served[3..].iter().all(|(_, response_ns)| *response_ns == 30));
    }

    /// By clause 5.2.5.7 and the mix: (10 (18 + 12) + 10 (3 + 12) + 12 + 7 + 7) s / 23 = 20.7 s.
    #[test]
    fn the_times_are_those_of_the_specification() {
        let mut terminals = terminals(1, Pace::Specified);
        let mut sent_ns = 0;
        let count = 23 * 100;
        for _ in 0..count {
            let waiting = terminals.turn();
            sent_ns = waiting.sent_ns;
            terminals.answered(&waiting, sent_ns);
        }
        let mean_ms = sent_ns / 1_000_000 / count;
        assert!((20_000..21_400).contains(&mean_ms), "{mean_ms}");
    }
}
