//! Numbers as text: digits in groups of three, and only as many as are significant.

#![expect(clippy::cast_precision_loss, reason = "what is drawn has three digits, not seventeen")]

/// A narrow no-break space. It separates groups of digits, and a number from its unit.
pub const SPACE: char = '\u{202f}';

/// The text for a number that does not exist, such as a division by zero.
pub const NONE: &str = "\u{2013}";

pub fn real(count: u64) -> f64 {
    count as f64
}

pub fn real_len(len: usize) -> f64 {
    len as f64
}

/// Write a count with its digits in groups of three.
pub fn thousands(count: u64) -> String {
    group(&count.to_string())
}

/// Write a number with this many decimals, or a dash if it is not finite.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let plain = format!("{value:.decimals$}");
    match plain.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", group(whole)),
        None => group(&plain),
    }
}

/// Write a number with three significant digits. Numbers of a thousand or more have no decimals.
pub fn significant(value: f64) -> String {
    let limits = [100.0, 10.0, 1.0, 0.1, 0.01, 0.001];
    let decimals = limits.iter().take_while(|limit| value.abs() < **limit).count();
    fixed(value, if value == 0.0 { 0 } else { decimals })
}

/// Write a time, given in nanoseconds, in a suitable unit.
pub fn duration(time_ns: u64) -> String {
    let (unit_ns, unit) = match time_ns {
        0..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "\u{b5}s"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        1_000_000_000.. => (1e9, "s"),
    };
    format!("{}{SPACE}{unit}", significant(real(time_ns) / unit_ns))
}

/// Longer lives are shown as "more than this many years", because larger numbers mean nothing to
/// the reader.
const YEARS_MAX: f64 = 100.0;

/// Write a life, given in years.
pub fn years(years: f64) -> String {
    match years {
        more if more > YEARS_MAX => format!("> {YEARS_MAX}{SPACE}years"),
        whole if whole >= 10.0 => format!("{whole:.0}{SPACE}years"),
        part if part >= 1.0 => format!("{part:.1}{SPACE}years"),
        less => format!("{:.0}{SPACE}days", less * 365.25),
    }
}

/// Write a share in percent, or a dash if the whole is zero.
pub fn percent(part: u64, whole: u64) -> String {
    let share = real(part) * 100.0 / real(whole);
    match (part, whole) {
        (_, 0) => NONE.to_owned(),
        (1.., _) if share < 0.1 => format!("<0.1{SPACE}%"),
        _ => format!("{}{SPACE}%", fixed(share, usize::from(share < 9.95))),
    }
}

fn group(digits: &str) -> String {
    let (sign, digits) = digits.split_at(usize::from(digits.starts_with('-')));
    let mut grouped = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(SPACE);
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1\u{202f}000");
        assert_eq!(fixed(-1_234_567.891, 2), "-1\u{202f}234\u{202f}567.89");
        assert_eq!(fixed(f64::NAN, 2), NONE);
        assert_eq!(fixed(f64::INFINITY, 0), NONE);
    }

    #[test]
    fn digits_mean_something() {
        let written = [0.0, 0.001_234, 0.5, 1.0, 12.34, 123.4, 1234.5].map(significant);
        let wanted = ["0", "0.00123", "0.500", "1.00", "12.3", "123", "1\u{202f}234"];
        assert_eq!(written, wanted);
        assert_eq!(duration(42_650_000), "42.6\u{202f}ms");
        assert_eq!(duration(999), "999\u{202f}ns");
        assert_eq!(percent(1, 0), NONE);
        assert_eq!(percent(1, 3), "33\u{202f}%");
        assert_eq!(percent(1, 100_000), "<0.1\u{202f}%");
    }
}
