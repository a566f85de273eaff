//! The eras of read-ahead, by kernel version.

use std::fmt;
use std::str::FromStr;

/// The read-ahead rules of a range of kernel versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadAheadProfile {
    /// 2.6.23 to 2.6.30: a read that does not continue the last one fetches only what it asks for.
    A,
    /// 2.6.31 to 3.11: one cached page right before the missed one is enough to assume a scan.
    B,
    /// 3.12 to 4.19: a scan is assumed if more pages are cached right before the missed one than
    /// the read asks for.
    C,
    /// 4.20 to 5.10, and 6.6 to today: a mark of another scan also opens a window if all pages
    /// behind it are cached, as far as the largest window reaches. The search for a hole ends at
    /// the last of them (`page_cache_next_miss`, since page caches are `XArray`s).
    D,
    /// 5.11 to 6.5: the rules of `D`, but where a read has come to is noted as it goes on. So a
    /// read that finds its first pages cached and misses a later one is taken for a scan.
    E,
}

/// The text is neither a profile's letter nor a kernel version that has a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProfile;

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a read-ahead profile (A, B, C, D, E) nor a kernel version from 2.6.23 on")
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for ReadAheadProfile {
    type Err = UnknownProfile;

    /// Parse `A`, `B`, `C`, `D` or a kernel version such as `2.6.29` or `6.1`.
    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        match text {
            "A" => Ok(Self::A),
            "B" => Ok(Self::B),
            "C" => Ok(Self::C),
            "D" => Ok(Self::D),
            "E" => Ok(Self::E),
            version => Self::of_kernel(version),
        }
    }
}

impl ReadAheadProfile {
    fn of_kernel(version: &str) -> Result<Self, UnknownProfile> {
        let mut numbers = version.split('.').map(str::parse::<u32>);
        let mut next = || numbers.next().unwrap_or(Ok(0)).map_err(|_| UnknownProfile);
        match (next()?, next()?, next()?) {
            (2, 6, 23..=30) => Ok(Self::A),
            (2, 6, 31..=39) | (3, 0..=11, _) => Ok(Self::B),
            (3, 12..=19, _) | (4, 0..=19, _) => Ok(Self::C),
            (5, 11.., _) | (6, 0..=5, _) => Ok(Self::E),
            (4.., _, _) => Ok(Self::D),
            _older => Err(UnknownProfile),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_belong_to_their_era() {
        for (text, profile) in [
            ("A", Ok(ReadAheadProfile::A)),
            ("2.6.23", Ok(ReadAheadProfile::A)),
            ("2.6.29.6", Ok(ReadAheadProfile::A)),
            ("2.6.37", Ok(ReadAheadProfile::B)),
            ("3.11", Ok(ReadAheadProfile::B)),
            ("3.12", Ok(ReadAheadProfile::C)),
            ("4.19", Ok(ReadAheadProfile::C)),
            ("4.20", Ok(ReadAheadProfile::D)),
            ("5.10", Ok(ReadAheadProfile::D)),
            ("5.11", Ok(ReadAheadProfile::E)),
            ("6.1", Ok(ReadAheadProfile::E)),
            ("6.5.13", Ok(ReadAheadProfile::E)),
            ("6.6", Ok(ReadAheadProfile::D)),
            ("7.0", Ok(ReadAheadProfile::D)),
            ("2.6.19", Err(UnknownProfile)),
            ("2.4", Err(UnknownProfile)),
            ("six", Err(UnknownProfile)),
            ("", Err(UnknownProfile)),
        ] {
            assert_eq!(text.parse(), profile, "{text:?}");
        }
    }
}
