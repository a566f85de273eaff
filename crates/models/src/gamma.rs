//! The logarithm of the gamma function, by Lanczos's approximation.
//!
//! The coefficients are those published with Boost.Math for 53 bits (13 terms). Yao's formula
//! subtracts values near 10^8, so only eight of their decimals remain. With `libm::lgamma`, one
//! value (BFTL1 at three million records) was two parts in a million away from the reference. With
//! this approximation, the difference is below one part in a million.

/// The constant g of Lanczos's approximation for these coefficients.
const G: f64 = 6.024_680_040_776_73;

/// Coefficients of the numerator and of the denominator, x^(-12) first.
const TERMS: [(f64, f64); 13] = [
    (23_531_376_880.410_76, 0.0),
    (42_919_803_642.649_1, 39_916_800.0),
    (35_711_959_237.355_67, 120_543_840.0),
    (17_921_034_426.037_21, 150_917_976.0),
    (6_039_542_586.352_028, 105_258_076.0),
    (1_439_720_407.311_721_6, 45_995_730.0),
    (248_874_557.862_054_17, 13_339_535.0),
    (31_426_415.585_400_194, 2_637_558.0),
    (2_876_370.628_935_372_5, 357_423.0),
    (186_056.265_395_223_48, 32_670.0),
    (8_071.672_002_365_816, 1_925.0),
    (210.824_277_751_579_35, 66.0),
    (2.506_628_274_631_000_2, 1.0),
];

/// The logarithm of Gamma(x), for x of 1 or greater.
pub(super) fn ln_gamma(x: f64) -> f64 {
    let mut sum = (0.0, 0.0);
    for (numerator, denominator) in TERMS {
        sum = (sum.0 / x + numerator, sum.1 / x + denominator);
    }
    let rest = (sum.0 / sum.1).ln() - G;
    rest + (x - 0.5) * ((x + G - 0.5).ln() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_come_out() {
        let mut factorial = 1.0_f64;
        for n in (1..=20).map(f64::from) {
            factorial *= n;
            let found = ln_gamma(n + 1.0);
            assert!((found - factorial.ln()).abs() < 1e-13 * found.max(1.0), "{n}: {found}");
        }
    }
}
