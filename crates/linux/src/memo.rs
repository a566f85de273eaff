//! Memos: caches of a function's output, by its input bytes.
//!
//! Many simulations compress the same data: the rows that fill a table, or a page that is read
//! again. A memo saves that work. It changes how long a simulation takes on the host, never its
//! result, since the whole input is compared.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Bytes of inputs and outputs that a memo holds at most.
const LIMIT: usize = 64 << 20;
/// Bytes of a generation. When the young one would exceed this, it becomes the old one, and what
/// was not recalled since the last time is forgotten.
const GENERATION: usize = LIMIT / 2;

/// Outputs of one function by input, shared by all threads.
pub(crate) struct Memo(Mutex<Kept>);

/// Entries by checksum and length of the input and by the function's parameter. If two inputs agree
/// in all three, the one computed last is kept.
struct Kept {
    young: Generation,
    old: Generation,
}

struct Generation {
    entries: BTreeMap<Key, Entry>,
    bytes: usize,
}

type Key = (u32, usize, u64);

struct Entry {
    input: Box<[u8]>,
    output: Box<[u8]>,
}

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
        let key = (crc32fast::hash(input), input.len(), parameter);
        if let Some(known) = self.kept(|kept| kept.find(key, input)) {
            return Some(known);
        }
        let output = compute()?;
        self.kept(|kept| kept.put(key, input, &output));
        Some(output)
    }

    fn kept<T>(&self, with: impl FnOnce(&mut Kept) -> T) -> T {
        // A thread that panicked while it held the lock has left whole entries.
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn find(&mut self, key: Key, input: &[u8]) -> Option<Vec<u8>> {
        if let Some(entry) = self.young.entries.get(&key).filter(|entry| *entry.input == *input) {
            return Some(entry.output.to_vec());
        }
        let is_old = self.old.entries.get(&key).is_some_and(|entry| *entry.input == *input);
        let entry = if is_old { self.old.take(key) } else { None }?;
        let output = entry.output.to_vec();
        self.keep(key, entry);
        Some(output)
    }

    fn put(&mut self, key: Key, input: &[u8], output: &[u8]) {
        self.keep(key, Entry { input: input.into(), output: output.into() });
    }

    fn keep(&mut self, key: Key, entry: Entry) {
        if self.young.bytes + entry.size() > GENERATION {
            self.old = mem::replace(&mut self.young, Generation::new());
        }
        self.young.put(key, entry);
    }
}

impl Generation {
    const fn new() -> Self {
        Self { entries: BTreeMap::new(), bytes: 0 }
    }

    fn put(&mut self, key: Key, entry: Entry) {
        self.bytes += entry.size();
        if let Some(replaced) = self.entries.insert(key, entry) {
            self.bytes -= replaced.size();
        }
    }

    fn take(&mut self, key: Key) -> Option<Entry> {
        let entry = self.entries.remove(&key)?;
        self.bytes -= entry.size();
        Some(entry)
    }
}

impl Entry {
    const fn size(&self) -> usize {
        self.input.len() + self.output.len()
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
    fn inputs_of_one_checksum_are_told_apart() {
        // CRC-32 is linear: any checksum can be reached by choosing the last four bytes.
        let (one, other) = ([0_u8; 8], {
            let mut bytes = [0_u8; 8];
            bytes[..5].copy_from_slice(&0x1_DB71_0641_u64.to_le_bytes()[..5]);
            bytes
        });
        assert_eq!(crc32fast::hash(&one), crc32fast::hash(&other));
        let memo = Memo::new();
        assert_eq!(memo.recall(0, &one, || Some(vec![1])), Some(vec![1]));
        assert_eq!(memo.recall(0, &other, || Some(vec![2])), Some(vec![2]));
        assert_eq!(memo.recall(0, &one, || Some(vec![1])), Some(vec![1]));
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
