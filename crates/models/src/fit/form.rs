//! Forms: the sums that a cost may be. What they add up is what the engine does for requests of a
//! size: so much in any case, for each request, for each byte, for each page, for each page beyond
//! its cache.

use serde::{Deserialize, Serialize};

/// Bytes of a page of the database that cells and their pointers share: the paper's default page
/// of 1024 bytes less its head of 8.
const PAGE_ROOM: f64 = 1016.0;
/// What a record takes beside its string: pointer, sizes, key, record head.
const CELL_OVERHEAD: f64 = 9.0;
/// Pages that the paper's SQLite keeps before it writes without being told to commit: nine tenths
/// of 2000.
const CACHE_PAGES: f64 = 1800.0;

/// A sum of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A constant and so much for each request.
    Requests,
    /// Besides, so much for each byte.
    Bytes,
    /// Besides, so much for each page of the database.
    Pages,
    /// Besides, so much for each page beyond the cache.
    Spill,
}

impl Form {
    /// Every form, the shortest first.
    pub const ALL: [Self; 4] = [Self::Requests, Self::Bytes, Self::Pages, Self::Spill];

    /// What the terms are, for so many requests of records of this size.
    pub fn terms(self, requests: f64, record_size: f64) -> Vec<f64> {
        let pages = requests * pages_of(record_size);
        let all = [1.0, requests, requests * record_size, pages, (pages - CACHE_PAGES).max(0.0)];
        all[..self.len()].to_vec()
    }

    /// Names of the terms.
    pub fn names(self) -> &'static [&'static str] {
        const ALL: [&str; 5] = ["constant", "requests", "bytes", "pages", "pages beyond the cache"];
        &ALL[..self.len()]
    }

    /// How many terms it has.
    const fn len(self) -> usize {
        match self {
            Self::Requests => 2,
            Self::Bytes => 3,
            Self::Pages => 4,
            Self::Spill => 5,
        }
    }
}

/// Pages that one record takes: a share of one, or several.
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
