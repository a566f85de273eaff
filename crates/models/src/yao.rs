//! Yao's formula: the number of blocks that a random choice of records hits (CACM 20(4), 1977;
//! section 6.1.2).

use super::gamma::ln_gamma;

/// The expected number of blocks that contain at least one of `chosen` random records. The `blocks`
/// blocks together hold `records` records.
///
/// The paper uses the size of an average tree node for `chosen`, which is not a whole number. So
/// the product in the formula is computed with the gamma function, which costs precision: with
/// seven million records the result is right to 8 parts in a million, with one million to 2 in ten
/// million.
pub fn yao(records: f64, blocks: f64, chosen: f64) -> f64 {
    if blocks <= 1.0 {
        return 1.0;
    }
    let others = records * (1.0 - 1.0 / blocks);
    if chosen > others {
        return blocks;
    }
    let missed = ln_gamma(others + 1.0) - ln_gamma(others - chosen + 1.0) - ln_gamma(records + 1.0)
        + ln_gamma(records - chosen + 1.0);
    blocks * (1.0 - missed.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: (f64, f64, f64), wanted: f64) {
        let (records, blocks, chosen) = arguments;
        let found = yao(records, blocks, chosen);
        assert!((found - wanted).abs() < 1e-6 * wanted, "{arguments:?}: {found}, not {wanted}");
    }

    #[test]
    fn digits_are_lost_only_far_behind() {
        // Lists of BFTL without compaction at one and seven million records, computed to 50 digits.
        for (records, wanted, off_max) in
            [(1e6, 44.0 - 0.051_851_643_655, 2e-7), (7e6, 44.129_654_531_388, 8e-6)]
        {
            let found = yao(records, 2.0 * records / (64.0 * 7.0), 0.69 * 64.0);
            assert!((found - wanted).abs() < off_max * wanted, "{records}: {found}");
        }
    }

    #[test]
    fn blocks_are_hit() {
        check((10.0, 5.0, 1.0), 1.0);
        // Two of ten records, two in a block: the second hits the block of the first once in nine
        // times.
        check((10.0, 5.0, 2.0), 1.0 + 8.0 / 9.0);
        check((512.0, 512.0, 7.0), 7.0);
        check((10.0, 5.0, 9.0), 5.0);
        check((10.0, 0.3, 2.0), 1.0);
    }
}
