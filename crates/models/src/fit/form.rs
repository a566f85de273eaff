//! Forms: sums of terms that may describe a cost. The terms correspond to the work of the engine: a
//! constant, and costs for each request, each byte, each page, and each page beyond the engine's
//! cache.

use serde::{Deserialize, Serialize};

/// Bytes of a database page that cells and their pointers share: the paper's default page of 1024
/// bytes without its header of 8.
const PAGE_ROOM: f64 = 1016.0;
/// Bytes that a record takes in addition to its string: pointer, sizes, key, record header.
const CELL_OVERHEAD: f64 = 9.0;
/// Pages that SQLite caches before it writes to the database within a transaction: nine tenths of
/// the 2000 of the paper's version.
const CACHE_PAGES: f64 = 1800.0;

/// A sum of terms that describes a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A constant, and a term for the requests.
    Requests,
    /// In addition, a term for the bytes.
    Bytes,
    /// In addition, a term for the pages of the database.
    Pages,
    /// In addition, a term for the pages beyond the cache.
    Spill,
}

impl Form {
    /// All forms, the shortest first.
    pub const ALL: [Self; 4] = [Self::Requests, Self::Bytes, Self::Pages, Self::Spill];

    /// The value of each term for a number of requests with this record size.
    pub fn terms(self, requests: f64, record_size: f64) -> Vec<f64> {
        let pages = requests * pages_of(record_size);
        let all = [1.0, requests, requests * record_size, pages, (pages - CACHE_PAGES).max(0.0)];
        all[..self.len()].to_vec()
    }

    /// The names of the terms.
    pub fn names(self) -> &'static [&'static str] {
        const ALL: [&str; 5] = ["constant", "requests", "bytes", "pages", "pages beyond the cache"];
        &ALL[..self.len()]
    }

    /// How many terms the form has.
    const fn len(self) -> usize {
        match self {
            Self::Requests => 2,
            Self::Bytes => 3,
            Self::Pages => 4,
            Self::Spill => 5,
        }
    }
}

/// Pages that one record takes: a fraction of a page, or several pages.
fn pages_of(record_size: f64) -> f64 {
    let cell = record_size + CELL_OVERHEAD;
    if cell <= PAGE_ROOM { 1.0 / (PAGE_ROOM / cell).floor() } else { (cell / PAGE_ROOM).ceil() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_share_pages_as_in_the_database() {
        let close = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} {other}");
        for (size, records) in
            [(150.0, 6.0), (300.0, 3.0), (450.0, 2.0), (600.0, 1.0), (1500.0, 0.5)]
        {
            close(1.0 / pages_of(size), records);
        }
        let terms = [1.0, 2000.0, 1_200_000.0, 2000.0, 200.0];
        Form::Spill
            .terms(2000.0, 600.0)
            .into_iter()
            .zip(terms)
            .for_each(|(one, other)| close(one, other));
        for form in Form::ALL {
            assert_eq!(form.terms(1.0, 1.0).len(), form.names().len());
        }
    }
}
