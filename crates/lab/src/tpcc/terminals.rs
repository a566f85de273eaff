//! Terminals decide when requests are sent. A terminal enters a request (keying time), waits for
//! the answer, thinks, and enters the next one (clause 5.2.5). The database serves one request at a
//! time, so requests may have to wait.

use std::collections::BTreeSet;

use super::deck::Kind;
use super::random::Random;
use super::request::{Request, Requests};

/// Whether terminals pause as the specification requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// No pauses: a terminal sends the next request as soon as it has its answer.
    None,
    /// The keying times and think times of clause 5.2.5.7.
    Specified,
}

/// A request that waits or is being served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The number of the terminal that sent it.
    pub terminal: u32,
    /// When it was sent, in nanoseconds of the virtual clock.
    pub sent_ns: u64,
    pub request: Request,
}

/// All terminals and the requests they will send.
#[derive(Clone, Debug)]
pub struct Terminals {
    pace: Pace,
    requests: Requests,
    /// The random source of pauses. It is separate from that of the requests, so that pauses do not
    /// change the requests.
    random: Random,
    /// The next request of each terminal.
    ready: Vec<Request>,
    /// When each terminal sends its next request, nanoseconds, with the terminal's number.
    queue: BTreeSet<(u64, u32)>,
}

impl Kind {
    /// Time to key in the request in milliseconds (clause 5.2.5.7).
    const fn keying_ms(self) -> u64 {
        match self {
            Self::NewOrder => 18_000,
            Self::Payment => 3_000,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2_000,
        }
    }

    /// Mean time to think about the answer in milliseconds (clause 5.2.5.7).
    const fn think_ms_mean(self) -> f64 {
        match self {
            Self::NewOrder | Self::Payment => 12_000.0,
            Self::OrderStatus => 10_000.0,
            Self::Delivery | Self::StockLevel => 5_000.0,
        }
    }
}

/// The longest think time as a multiple of its mean (clause 5.2.5.4).
const THINK_MEANS_MAX: f64 = 10.0;

impl Terminals {
    /// `count` terminals that begin at `now_ns`.
    pub fn new(count: u32, pace: Pace, mut requests: Requests, seed: u64, now_ns: u64) -> Self {
        let ready: Vec<Request> = (0..count).map(|terminal| requests.draw(terminal)).collect();
        let keyed = |request: &Request| now_ns + pace.keying_ns(request.kind());
        let queue = ready.iter().map(keyed).zip(0..).collect();
        Self { pace, requests, random: Random::of_load(seed), ready, queue }
    }

    /// Take the request that was sent first among those not served yet.
    ///
    /// # Panics
    /// If every terminal waits for its answer.
    pub fn turn(&mut self) -> Waiting {
        let (sent_ns, terminal) = self.queue.pop_first().expect("a terminal that is not waiting");
        Waiting { terminal, sent_ns, request: self.ready[terminal as usize].clone() }
    }

    /// Tell a terminal that its request was answered at `now_ns`. It then plans its next request.
    pub fn answered(&mut self, waiting: &Waiting, now_ns: u64) {
        let next = self.requests.draw(waiting.terminal);
        let think_ns = self.think_ns(waiting.request.kind());
        let sent_ns = now_ns + think_ns + self.pace.keying_ns(next.kind());
        self.ready[waiting.terminal as usize] = next;
        self.queue.insert((sent_ns, waiting.terminal));
    }

    /// Draw a think time from a negative exponential distribution, with an upper limit.
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

    /// By clause 5.2.5.7 and the mix, the mean is (10 (18 + 12) + 10 (3 + 12) + 12 + 7 + 7) s / 23
    /// = 20.7 s.
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
