//! Figures for display: headings in words, and values with a unit that suits their size.

use flysch_charts::number::{SPACE, duration, fixed, significant, thousands, years};
use serde_json::Value;

/// Headings that cannot be made from the name of the field.
const HEADINGS: [(&str, &str); 24] = [
    ("on", "stack"),
    ("time_ns", "time"),
    ("cpu_percent", "CPU"),
    ("flash_percent", "flash"),
    ("times_best", "x best"),
    ("latency_ns.p50", "median"),
    ("latency_ns.p99", "99 %"),
    ("latency_ns.max", "slowest"),
    ("begin_ns", "BEGIN"),
    ("end_ns", "END"),
    ("page_reads", "reads"),
    ("page_programs", "programs"),
    ("block_erases", "erases"),
    ("throughput_kb_s", "KB/s"),
    ("energy_mj", "energy"),
    ("life.years", "life"),
    ("life.years_by_programs", "by programs"),
    ("life.years_by_erases", "by erases"),
    ("wear.max_erase_count", "most erased"),
    ("wear.mean_erase_count", "mean erased"),
    ("wear.max_over_mean", "max/mean"),
    ("lifetime_mb", "MB in a life"),
    ("insert_uj", "uJ/insert"),
    ("figures.orders_per_minute", "orders/min"),
];

/// The heading of a field, such as `page size` for `parameters.page-size`.
pub(super) fn heading(name: &str) -> String {
    let known = HEADINGS.iter().find(|(field, _)| *field == name);
    known.map_or_else(|| in_words(name), |(_, words)| (*words).to_owned())
}

/// The name of a field in words, without its unit.
fn in_words(name: &str) -> String {
    let name = name.strip_prefix("parameters.").or(name.strip_prefix("figures.")).unwrap_or(name);
    let units = ["_ns", "_bytes", "_percent", "_mj", "_uj", "_kb_s", "_mb"];
    let bare = units.iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name);
    bare.replace(['_', '-', '.'], " ")
}

/// The value of a field for display. An unknown value is blank.
pub(super) fn human(name: &str, value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(is_on)) => if *is_on { "on" } else { "off" }.to_owned(),
        Some(Value::Number(number)) => number_of(name, number),
        Some(list @ (Value::Array(_) | Value::Object(_))) => list.to_string(),
    };
    text.replace(SPACE, " ")
}

fn number_of(name: &str, number: &serde_json::Number) -> String {
    let real = number.as_f64().unwrap_or(f64::NAN);
    if name == "throughput_kb_s" && real == 0.0 {
        return String::new();
    }
    let is = |unit: &str| name.ends_with(unit) || name.contains(&format!("{unit}."));
    if is("_ns") {
        return nanoseconds(real);
    }
    if is("_percent") {
        return format!("{real:.0}{SPACE}%");
    }
    if is("_mj") {
        return scaled(real, &[(1e6, "kJ"), (1e3, "J"), (1.0, "mJ")], "uJ");
    }
    if is("_bytes") || name == "record_size" || name == "key_size" || is("page-size") {
        return scaled(real, &[(1e9, "GB"), (1e6, "MB"), (1e4, "kB")], "B");
    }
    if name.contains("years") {
        return years(real);
    }
    match number.as_u64() {
        Some(count) if !name.starts_with("parameters.") && name != "seed" => thousands(count),
        Some(count) => count.to_string(),
        None if number.is_f64() && name == "times_best" => fixed(real, 2),
        None if number.is_f64() => significant(real),
        None => number.to_string(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are positive")]
fn nanoseconds(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { duration(ns.round() as u64) }
}

/// A value in the largest unit that it reaches. `scales` lists units with the value of one of them.
/// Smaller values are in the unit `least`, a thousandth of the last unit, or the value itself for
/// bytes.
fn scaled(value: f64, scales: &[(f64, &str)], least: &str) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    match scales.iter().find(|(scale, _)| value >= *scale) {
        Some((scale, unit)) if *unit == "kB" => {
            format!("{}{SPACE}{unit}", significant(value / scale * 10.0))
        }
        Some((scale, unit)) => format!("{}{SPACE}{unit}", significant(value / scale)),
        None if least == "B" => format!("{value:.0}{SPACE}{least}"),
        None => format!("{}{SPACE}{least}", significant(value * 1e3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_units_that_suit_their_size() {
        let cases = [
            ("time_ns", json!(11_676_470_204_u64), "11.7 s"),
            ("latency_ns.p50", json!(42_650_000), "42.6 ms"),
            ("begin_ns", json!(0), "0"),
            ("energy_mj", json!(1715.3), "1.72 J"),
            ("energy_mj", json!(0.5), "500 uJ"),
            ("cpu_percent", json!(87.4), "87 %"),
            ("record_size", json!(600), "600 B"),
            ("ram_bytes", json!(14_336), "14.3 kB"),
            ("lifetime_bytes", json!(1_200_000_000), "1.20 GB"),
            ("page_programs", json!(11_676), "11 676"),
            ("parameters.partition-blocks", json!(1024), "1024"),
            ("parameters.ubi-fastmap", json!(true), "on"),
            ("life.years", json!(16_214.0), "> 100 years"),
            ("life.years", json!(12.4), "12 years"),
            ("life.years", json!(3.25), "3.2 years"),
            ("life.years", json!(0.5), "183 days"),
            ("lifetime_mb", json!(null), ""),
        ];
        for (name, value, text) in cases {
            assert_eq!(human(name, Some(&value)), text, "{name}");
        }
        assert_eq!(human("life.years", None), "");
    }

    #[test]
    fn headings_are_words() {
        let cases =
            [("on", "stack"), ("parameters.page-size", "page size"), ("ir_pages", "ir pages")];
        for (name, words) in cases {
            assert_eq!(heading(name), words);
        }
    }
}
