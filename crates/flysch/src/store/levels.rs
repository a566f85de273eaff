//! Into which level a merge goes.

/// The level, by its place in `sizes`, into which `fresh` entries are merged together with all
/// levels above it. It is the first one whose limit has room for all of them.
///
/// With `k` levels level `i` holds up to `fresh * (all / fresh)^((i + 1) / k)` entries, so that
/// every level is the same factor larger than the one above. `all` counts the entries of the
/// largest level and the fresh ones. Entries that were replaced count where they still are.
pub(crate) fn target_level(fresh: u32, sizes: &[u32]) -> usize {
    debug_assert!(!sizes.is_empty(), "an index has a level");
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let fresh = fresh.max(1);
    let growth = log2(largest.saturating_add(fresh)).saturating_sub(log2(fresh));
    // A level is at least four times as large as the one above; otherwise fewer levels are used.
    let levels = (growth as usize).div_ceil(2 << 16).clamp(1, sizes.len());
    let deepest = sizes.iter().rposition(|size| *size > 0).unwrap_or(0).max(levels - 1);
    let mut total = fresh;
    for (level, size) in sizes.iter().enumerate().take(deepest) {
        total = total.saturating_add(*size);
        let share = u64::from(growth) * (level as u64 + 1) / levels as u64;
        if u64::from(log2(total)) <= u64::from(log2(fresh)) + share {
            return level;
        }
    }
    deepest
}

/// The binary logarithm in 1/65536ths. Each squaring gives a bit of the fraction.
pub fn log2(value: u32) -> u32 {
    let whole = value.ilog2();
    let mut mantissa = (u64::from(value) << 31) >> whole;
    let mut log = whole << 16;
    for bit in (0..16).rev() {
        mantissa = (mantissa * mantissa) >> 31;
        if mantissa >= 1 << 32 {
            mantissa >>= 1;
            log |= 1 << bit;
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_exact_to_their_last_bit() {
        assert_eq!(log2(1), 0);
        assert_eq!(log2(1 << 20), 20 << 16);
        // 19.931568569... of them.
        assert_eq!(log2(1_000_000), 1_306_235);
    }

    #[test]
    fn levels_grow_by_the_same_factor() {
        assert_eq!(target_level(1000, &[0, 0, 0]), 0);
        assert_eq!(target_level(1000, &[3000, 0, 0]), 0);
        assert_eq!(target_level(1000, &[0, 0, 64_000]), 0);
        assert_eq!(target_level(1000, &[3500, 0, 64_000]), 1);
        assert_eq!(target_level(1000, &[3500, 14_000, 64_000]), 2);
        assert_eq!(target_level(1000, &[64_000]), 0);
        assert_eq!(target_level(0, &[0, 0]), 0);
    }
}
