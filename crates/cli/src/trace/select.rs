//! The options that select the events of a trace.

use std::ops::RangeInclusive;

use flysch_chip::EventKind;
use flysch_lab::trace::{Filter, Geometry, parse_shape};

use crate::failure::Failure;
use crate::progress::tell;
use crate::words::one_of;

/// Options that every action has, which select events.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Which events")]
pub(super) struct Selection {
    /// Geometry of the chip, for inputs that do not contain it
    #[arg(long, global = true, value_name = "PAGE+OOBxPAGESxBLOCKS", value_parser = parse_shape)]
    pub(super) geometry: Option<Geometry>,
    /// Only events from this time on: nanoseconds, or with a unit ns, us, ms, s
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_time)]
    from: Option<u64>,
    /// Only events up to and including this time
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_time)]
    until: Option<u64>,
    /// Only events of these kinds
    #[arg(long, global = true, value_name = "KIND", value_delimiter = ',', value_parser = one_of(EventKind::ALL, EventKind::name))]
    events: Vec<EventKind>,
    /// Only events of this task
    #[arg(long, global = true, value_name = "NAME")]
    task: Option<String>,
    /// Only events whose cause contains this text
    #[arg(long, global = true, value_name = "TEXT")]
    cause: Option<String>,
    /// Only these blocks, such as 7 or 0-63; marks are kept
    #[arg(long, global = true, value_name = "RANGE", value_parser = parse_blocks)]
    blocks: Option<RangeInclusive<u32>>,
    /// Only the first N events
    #[arg(long, global = true, value_name = "N")]
    limit: Option<usize>,
}

impl Selection {
    /// Refuse a selection that can match nothing.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if let (Some(from), Some(until)) = (self.from, self.until)
            && from > until
        {
            return Err(Failure::Message("--from is after --until".to_owned()));
        }
        Ok(())
    }

    /// Tell the user if no event matches the selection.
    pub(super) fn tell_if_empty(&self, before: usize, after: usize) {
        if before > 0 && after == 0 && !self.filter().is_all() {
            tell(&format!("none of {before} events is selected"));
        }
    }

    pub(super) fn filter(&self) -> Filter {
        Filter {
            from_ns: self.from,
            until_ns: self.until,
            kinds: self.events.clone(),
            task: self.task.clone(),
            cause: self.cause.clone(),
            blocks: self.blocks.clone(),
            limit: self.limit,
        }
    }
}

fn parse_time(text: &str) -> Result<u64, &'static str> {
    let unit_at = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit_ns = match unit {
        "" | "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err("a time is a whole number of ns, us, ms or s"),
    };
    let number: u64 = number.parse().map_err(|_| "a time is a whole number with a unit")?;
    number.checked_mul(unit_ns).ok_or("the time is too large")
}

fn parse_blocks(text: &str) -> Result<RangeInclusive<u32>, &'static str> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("blocks are a number or a range FIRST-LAST"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [("7", 7), ("7ns", 7), ("7us", 7_000), ("12ms", 12_000_000)] {
            assert_eq!(parse_time(text), Ok(ns));
        }
        for text in ["", "ms", "1.5ms", "-1", "7 ms", "99999999999999s", "1h"] {
            parse_time(text).unwrap_err();
        }
    }

    #[test]
    fn blocks_are_ranges() {
        assert_eq!(parse_blocks("7"), Ok(7..=7));
        assert_eq!(parse_blocks("0-63"), Ok(0..=63));
        for text in ["", "-", "5-", "9-8", "-3", "1-2-3"] {
            parse_blocks(text).unwrap_err();
        }
    }
}
