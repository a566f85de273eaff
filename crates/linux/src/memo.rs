//! Memos: caches of a function's output, by a digest of its input.
//!
//! Many simulations compress the same data: the rows that fill a table, or a page that is read
//! again. A memo saves that work. It changes how long a simulation takes on the host, never its
//! result. The digest is XXH3's of 128 bits: that two inputs of all runs ever made have the same
//! one is far less likely than a fault of the host's memory. The input itself need not be kept,
//! and so a memo holds twice as much.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_128;

/// Bytes of outputs that a memo holds at most.
const LIMIT: usize = 64 << 20;
/// Bytes of a generation. When the young one would exceed this, it becomes the old one, and what
/// was not recalled since the last time is forgotten.
const GENERATION: usize = LIMIT / 2;

/// Outputs of one function by input, shared by all threads.
pub(crate) struct Memo(Mutex<Kept>);

/// Outputs by digest and length of the input and by the function's parameter.
struct Kept {
    young: Generation,
    old: Generation,
}

struct Generation {
    entries: BTreeMap<Key, Box<[u8]>>,
    bytes: usize,
}

type Key = (u128, usize, u64);

impl Memo {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Kept { young: Generation::new(), old: Generation::new() }))
    }

    /// The output of `compute`, taken from the memo if it holds this parameter and input. `compute`
    /// must depend on nothing else. A result of `None` is not kept.
    pub(crate) fn recall(
        &self,
        parameter: u64,
        input: &[u8],
        compute: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let key = (xxh3_128(input), input.len(), parameter);
        if let Some(known) = self.kept(|kept| kept.find(key)) {
            return Some(known);
        }
        let output = compute()?;
        self.kept(|kept| kept.keep(key, output.as_slice().into()));
        Some(output)
    }

    fn kept<T>(&self, with: impl FnOnce(&mut Kept) -> T) -> T {
        // A thread that panicked while it held the lock has left whole entries.
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn find(&mut self, key: Key) -> Option<Vec<u8>> {
        if let Some(output) = self.young.entries.get(&key) {
            return Some(output.to_vec());
        }
        let output = self.old.take(key)?;
        let found = output.to_vec();
        self.keep(key, output);
        Some(found)
    }

    fn keep(&mut self, key: Key, output: Box<[u8]>) {
        if self.young.bytes + output.len() > GENERATION {
            self.old = mem::replace(&mut self.young, Generation::new());
        }
        self.young.put(key, output);
    }
}

impl Generation {
    const fn new() -> Self {
        Self { entries: BTreeMap::new(), bytes: 0 }
    }

    fn put(&mut self, key: Key, output: Box<[u8]>) {
        self.bytes += output.len();
        if let Some(replaced) = self.entries.insert(key, output) {
            self.bytes -= replaced.len();
        }
    }

    fn take(&mut self, key: Key) -> Option<Box<[u8]>> {
        let output = self.entries.remove(&key)?;
        self.bytes -= output.len();
        Some(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_computed_and_what_differs_is() {
        let memo = Memo::new();
        let check = |parameter, input: &[u8], known: bool| {
            let mut computed = false;
            let output = memo.recall(parameter, input, || {
                computed = true;
                Some([input, &[u8::try_from(parameter).expect("small")]].concat())
            });
            let expected = [input, &[u8::try_from(parameter).expect("small")]].concat();
            assert_eq!((output, computed), (Some(expected), !known), "{parameter} {input:?}");
        };
        check(1, b"one", false);
        check(1, b"one", true);
        check(2, b"one", false);
        check(1, b"two", false);
        check(1, b"one", true);
        let refused = memo.recall(3, b"one", || None);
        assert_eq!(refused, None);
        check(3, b"one", false);
    }

    #[test]
    fn a_memo_does_not_grow_beyond_its_limit_and_keeps_what_is_recalled() {
        let memo = Memo::new();
        let output = || Some(vec![0; LIMIT / 20]);
        memo.recall(0, b"kept", output).expect("it is computed");
        for number in 0..100_u64 {
            memo.recall(number, &[0; 8], output).expect("it is computed");
            memo.recall(0, b"kept", || None).expect("it is known");
            assert!(memo.kept(|kept| kept.young.bytes + kept.old.bytes) <= LIMIT);
        }
    }
}
