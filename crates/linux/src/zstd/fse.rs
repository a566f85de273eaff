//! Finite state entropy (FSE): the table-driven entropy coder for sequences and Huffman weights.

use super::bits::{BitWriter, high_bit};

/// A coding table. For each state and symbol it gives the next state and the bits to write.
#[derive(Debug)]
pub(super) struct Table {
    log: u32,
    /// The next states, grouped by symbol.
    next: Vec<u32>,
    symbols: Vec<Transform>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Transform {
    /// Number of bits to write, in the high half. The state is added to it to decide between two
    /// numbers.
    bits: i64,
    /// Added to the shifted state, it gives the index of the next state.
    find: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct State(i64);

impl Table {
    /// The table of a distribution. The counts add up to `1 << log`; -1 stands for a count below
    /// one.
    pub(super) fn new(counts: &[i32], log: u32) -> Self {
        let size = 1_usize << log;
        let spread = spread(counts, size);
        let mut starts = Vec::with_capacity(counts.len());
        let mut sum = 0;
        for &count in counts {
            starts.push(sum);
            sum += usize::try_from(count.abs()).expect("not negative");
        }
        let mut next = vec![0; size];
        let mut places = starts.clone();
        for (state, &symbol) in (size..).zip(&spread) {
            next[places[symbol]] = u32::try_from(state).expect("a small table");
            places[symbol] += 1;
        }
        let transform = |(&count, &start): (&i32, &usize)| transform(count, start, log);
        Self { log, next, symbols: counts.iter().zip(&starts).map(transform).collect() }
    }

    /// The state to begin with for the last symbol, which then costs no bits.
    pub(super) fn begin(&self, symbol: usize) -> State {
        let Transform { bits, find } = self.symbols[symbol];
        let count = (bits + (1 << 15)) >> 16;
        let value = (count << 16) - bits;
        self.at((value >> count) + find)
    }

    /// Write a symbol. Symbols are written in reverse order.
    pub(super) fn encode(&self, state: &mut State, symbol: usize, out: &mut BitWriter) {
        let Transform { bits, find } = self.symbols[symbol];
        let count = (state.0 + bits) >> 16;
        let low = state.0 & ((1 << count) - 1);
        out.put(u32::try_from(low).expect("small"), u32::try_from(count).expect("small"));
        *state = self.at((state.0 >> count) + find);
    }

    /// Write the final state, with which the decoder begins.
    pub(super) fn end(&self, state: State, out: &mut BitWriter) {
        let low = state.0 & ((1 << self.log) - 1);
        out.put(u32::try_from(low).expect("a small table"), self.log);
    }

    fn at(&self, place: i64) -> State {
        State(i64::from(self.next[usize::try_from(place).expect("a place in the table")]))
    }
}

fn transform(count: i32, start: usize, log: u32) -> Transform {
    let (log64, start) = (i64::from(log), i64::try_from(start).expect("a small table"));
    match count {
        0 => Transform::default(),
        -1 | 1 => Transform { bits: (log64 << 16) - (1 << log), find: start - 1 },
        count => {
            let most = log - high_bit(count.cast_unsigned() - 1);
            let bits = (i64::from(most) << 16) - (i64::from(count) << most);
            Transform { bits, find: start - i64::from(count) }
        }
    }
}

/// The symbol that each state decodes to.
fn spread(counts: &[i32], size: usize) -> Vec<usize> {
    let mut states = vec![usize::MAX; size];
    let mut high = size;
    for (symbol, _) in counts.iter().enumerate().filter(|(_, count)| **count == -1) {
        high -= 1;
        states[high] = symbol;
    }
    let step = (size >> 1) + (size >> 3) + 3;
    let mut at = 0;
    for (symbol, &count) in counts.iter().enumerate() {
        for _ in 0..count.max(0) {
            states[at] = symbol;
            at = (at + step) % size;
            while at >= high && high > 0 {
                at = (at + step) % size;
            }
        }
    }
    states
}

/// Scale counts so that they add up to `1 << log`. A symbol that occurs keeps a count of at least
/// 1.
pub(super) fn normalize(counts: &[u32], log: u32) -> Vec<i32> {
    let total: u32 = counts.iter().sum();
    let size = 1_u32 << log;
    let share = |&count: &u32| if count == 0 { 0 } else { (count * size / total).max(1) };
    let mut shares: Vec<u32> = counts.iter().map(share).collect();
    loop {
        let sum: u32 = shares.iter().sum();
        if sum == size {
            break;
        }
        let largest = (0..shares.len()).max_by_key(|&symbol| shares[symbol]).expect("symbols");
        if sum < size {
            shares[largest] += size - sum;
        } else {
            shares[largest] -= 1;
        }
    }
    shares.into_iter().map(u32::cast_signed).collect()
}

/// The bytes that describe a distribution to the decoder.
pub(super) fn describe(counts: &[i32], log: u32) -> Vec<u8> {
    let mut out = BitWriter::default();
    out.put(log - 5, 4);
    let (mut width, mut threshold) = (log + 1, 1_i32 << log);
    let mut remaining = threshold + 1;
    let mut symbol = 0;
    let mut after_zero = false;
    while symbol < counts.len() && remaining > 1 {
        if after_zero {
            let zeros = counts[symbol..].iter().take_while(|count| **count == 0).count();
            skip(zeros, &mut out);
            symbol += zeros;
        }
        let count = counts[symbol];
        symbol += 1;
        let most = 2 * threshold - 1 - remaining;
        remaining -= count.abs();
        let mut value = count + 1;
        if value >= threshold {
            value += most;
        }
        out.put(value.cast_unsigned(), width - u32::from(value < most));
        after_zero = count == 0;
        while remaining < threshold {
            width -= 1;
            threshold >>= 1;
        }
    }
    out.finish()
}

/// Write how many further symbols do not occur.
fn skip(mut zeros: usize, out: &mut BitWriter) {
    while zeros >= 3 {
        out.put(3, 2);
        zeros -= 3;
    }
    out.put(u32::try_from(zeros).expect("below 3"), 2);
}
