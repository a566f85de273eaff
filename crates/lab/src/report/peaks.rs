//! Finds peaks of response times: which requests are slow, and how far apart they are.

use flysch_charts::number::{duration, thousands};

use crate::bench::run::Run;

/// A request is a peak if it takes at least this many tenths of the median.
const TENTHS_OF_MEDIAN: u64 = 15;
/// The most peaks that are listed by number.
const NAMED: usize = 12;
/// If this many of the last distances between peaks agree, they count as a period.
const GAPS: usize = 3;

/// The numbers, from 0, of the requests that took much longer than the median and longer than their
/// neighbours.
pub fn peaks(request_ns: &[u64], median_ns: u64) -> Vec<usize> {
    let is_peak = |&index: &usize| {
        let own = request_ns[index];
        let before = index.checked_sub(1).map_or(0, |previous| request_ns[previous]);
        let after = request_ns.get(index + 1).copied().unwrap_or(0);
        own * 10 >= median_ns * TENTHS_OF_MEDIAN && own > before && own >= after && own > median_ns
    };
    (0..request_ns.len()).filter(is_peak).collect()
}

/// A sentence that says which requests of a run are peaks.
pub fn sentence(run: &Run, peaks: &[usize]) -> String {
    let Some(highest) = peaks.iter().map(|&index| run.request_ns[index]).max() else {
        return "No request took 1.5 times the median or more.".to_owned();
    };
    let numbers: Vec<String> =
        peaks.iter().take(NAMED).map(|&index| thousands(index as u64 + 1)).collect();
    let more = peaks.len() - numbers.len();
    let rest =
        if more == 0 { String::new() } else { format!(" and {} more", thousands(more as u64)) };
    let noun = if peaks.len() == 1 { "request" } else { "requests" };
    let highest = duration(highest);
    let period = period(peaks).unwrap_or_default();
    format!("Peaks at {noun} {}{rest}, up to {highest}{period}.", numbers.join(", "))
}

/// The distance between the last peaks as text. None unless they agree to within one request.
fn period(peaks: &[usize]) -> Option<String> {
    let gaps: Vec<usize> =
        peaks.windows(2).rev().take(GAPS.max(peaks.len() / 3)).map(|two| two[1] - two[0]).collect();
    let (least, greatest) = (*gaps.iter().min()?, *gaps.iter().max()?);
    if gaps.len() < GAPS || greatest > least + 1 || greatest < 2 {
        return None;
    }
    let every =
        if least == greatest { least.to_string() } else { format!("{least} or {greatest}") };
    Some(format!(", in the end one every {every} requests"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_ahead_is_seen() {
        let wanted = [2, 14, 46, 110, 236, 363, 490];
        let mut times = vec![1_000; 500];
        for index in wanted {
            times[index] = 42_000;
        }
        let found = peaks(&times, 1_000);
        assert_eq!(found, wanted);
        assert_eq!(period(&found).as_deref(), Some(", in the end one every 126 or 127 requests"));
        assert_eq!(peaks(&[5; 10], 5), [0_usize; 0]);
        assert_eq!(peaks(&[], 0), [0_usize; 0]);
        assert_eq!(peaks(&[0, 0], 0), [0_usize; 0]);
    }
}
