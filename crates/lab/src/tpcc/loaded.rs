//! Databases that were loaded before. Two loads of the same rows at different times differ in
//! nothing but the time in the rows, so after two of them any other is a copy with another time.
//!
//! Invariants:
//! 1. A byte that differs between the two loads is a byte of the time, and its two values tell
//!    which one. Where they do not, the rows are loaded again.
//! 2. The other bytes of the time are the same in all copies.
//! 3. Times take six bytes in a file of SQLite, and never more or fewer.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::files::{Files, Image};
use super::scale::Scale;

/// Bytes of images that are kept at most. Larger ones are loaded once or twice only.
const LIMIT: usize = 32 << 20;

/// Bytes of a time.
const TIME_SIZE: usize = 6;
/// Times that SQLite stores in six bytes.
const TIMES: Range<i64> = 1 << 31..1 << 47;

/// What the files depend on, in addition to the time in their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub files: Files,
    pub page_size: u32,
    pub scale: Scale,
    pub seed: u64,
}

/// Files of the same rows.
struct Loaded {
    rows: Rows,
    now_ms: i64,
    images: Vec<Image>,
    /// A second time at which the rows were loaded, and where the bytes of the time are.
    second: Option<(i64, Vec<Place>)>,
}

/// A byte that belongs to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    image: usize,
    at: usize,
    /// Which byte of the time it is.
    byte: usize,
}

static LOADED: Mutex<Vec<Loaded>> = Mutex::new(Vec::new());

/// The files of `rows` with the time `now_ms`, if they follow from what was loaded before.
pub(super) fn recall(rows: Rows, now_ms: i64) -> Option<Vec<Image>> {
    let all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().find(|known| known.rows == rows)?.at(now_ms)
}

/// Keep files that were loaded.
pub(super) fn keep(rows: Rows, now_ms: i64, images: &[Image]) {
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter_mut().find(|known| known.rows == rows) {
        known.compare(now_ms, images);
        return;
    }
    let size = |images: &[Image]| images.iter().map(|image| image.bytes.len()).sum::<usize>();
    let kept: usize = all.iter().map(|known| size(&known.images)).sum();
    if kept + size(images) <= LIMIT && TIMES.contains(&now_ms) {
        all.push(Loaded { rows, now_ms, images: images.to_vec(), second: None });
    }
}

impl Loaded {
    fn at(&self, now_ms: i64) -> Option<Vec<Image>> {
        if now_ms == self.now_ms {
            return Some(self.images.clone());
        }
        let (second_ms, places) = self.second.as_ref()?;
        let [first, second, wanted] = [self.now_ms, *second_ms, now_ms].map(stored);
        let follows = |byte: usize| first[byte] != second[byte] || wanted[byte] == first[byte];
        if !TIMES.contains(&now_ms) || !(0..TIME_SIZE).all(follows) {
            return None;
        }
        let mut images = self.images.clone();
        for place in places {
            images[place.image].bytes[place.at] = wanted[place.byte];
        }
        Some(images)
    }

    /// Find the bytes of the time by another load of the same rows.
    fn compare(&mut self, now_ms: i64, images: &[Image]) {
        if now_ms == self.now_ms || !TIMES.contains(&now_ms) {
            return;
        }
        let (first, second) = (stored(self.now_ms), stored(now_ms));
        let byte_of = |one: u8, other: u8| -> Option<usize> {
            let mut fitting = (0..TIME_SIZE).filter(|&it| (first[it], second[it]) == (one, other));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let mut places = Vec::new();
        for (image, (one, other)) in self.images.iter().zip(images).enumerate() {
            if one.bytes.len() != other.bytes.len() {
                return;
            }
            let pairs = one.bytes.iter().zip(&other.bytes).enumerate();
            for (at, (one, other)) in pairs.filter(|(_, (one, other))| one != other) {
                let Some(byte) = byte_of(*one, *other) else { return };
                places.push(Place { image, at, byte });
            }
        }
        self.second = Some((now_ms, places));
    }
}

/// A time as SQLite stores it, the highest byte first.
fn stored(now_ms: i64) -> [u8; TIME_SIZE] {
    let [lowest @ .., _, _] = now_ms.to_le_bytes();
    let mut bytes: [u8; TIME_SIZE] = lowest;
    bytes.reverse();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use flysch_sqlite::Database;
    use std::path::Path;

    /// Loads of the same rows at several times, of which all but two are copies.
    #[test]
    fn a_copy_is_what_a_load_would_be() {
        let scale = Scale { warehouses: 1, divisor: 100 };
        for files in [Files::One, Files::Two] {
            let rows = Rows { files, page_size: 1024, scale, seed: 7 };
            let load = |now_ms| {
                let memory = Database::open_file(Path::new(":memory:")).expect("it is in memory");
                rows.load(&memory, now_ms).expect("there is room")
            };
            let (first_ms, second_ms) = (1_293_840_000_013, 1_293_840_012_345);
            let images = load(first_ms);
            let mut loaded = Loaded { rows, now_ms: first_ms, images, second: None };
            assert_eq!(loaded.at(second_ms), None);
            loaded.compare(second_ms, &load(second_ms));
            for now_ms in [first_ms, second_ms, first_ms + 1, first_ms + 15_000] {
                assert!(loaded.at(now_ms) == Some(load(now_ms)), "{now_ms}");
            }
            let carried = [first_ms + 30_000, first_ms + (1 << 40)];
            assert_eq!(carried.map(|now_ms| loaded.at(now_ms)), [None, None], "another byte");
            assert_eq!(loaded.at(5), None, "a time of fewer bytes");
        }
    }
}
