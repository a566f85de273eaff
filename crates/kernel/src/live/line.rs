//! A line that a probe prints to the trace: `task-pid [cpu] flags time: event: (function) fields`.

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The task that made the call.
    pub(super) task: &'a str,
    /// Time on the trace's clock in nanoseconds. The line has it in microseconds.
    pub(super) time_ns: u64,
    /// Name of the trace event.
    pub(super) event: &'a str,
    fields: &'a str,
}

/// If this line reports lost events: how many were overwritten before they were read.
pub(super) fn lost(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("[LOST ")?;
    rest.strip_suffix(" EVENTS]")?.parse().ok()
}

impl<'a> Line<'a> {
    /// Parse a line. None if it is not the line of an event.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (head, rest) = line.split_once(": ")?;
        let (event, rest) = rest.split_once(": (")?;
        let (_, fields) = rest.split_once(") ")?;
        // The name of a task may contain spaces, so the head is read from its end.
        let mut words = head.rsplitn(4, char::is_whitespace);
        let time_ns = nanoseconds(words.next()?)?;
        let (_flags, _cpu, task) = (words.next()?, words.next()?, words.next()?);
        let (task, _pid) = task.trim().rsplit_once('-')?;
        Some(Self { task, time_ns, event, fields })
    }

    /// The number in a field.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let pairs = self.fields.split_whitespace().filter_map(|field| field.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name)?.1.parse().ok()
    }
}

fn nanoseconds(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok().filter(|&digits| digits <= 9)?;
    let ns = fraction.parse::<u64>().ok()? * 10_u64.pow(9 - digits);
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_task_is_called() {
        let check = |line: &str, wanted: Option<(&str, u64, &str)>| {
            let found = Line::parse(line);
            let found = found.map(|line| (line.task, line.time_ns, line.event));
            assert_eq!(found, wanted, "{line}");
        };
        let plain = "          flysch-93      [000] d..3.    12.345678: page_read: \
                     (nand_read_page_op+0x0/0xb0 [nand]) page=70 off=2048 len=64";
        check(plain, Some(("flysch", 12_345_678_000, "page_read")));
        let line = Line::parse(plain).unwrap();
        assert_eq!(line.number("page"), Some(70));
        assert_eq!((line.number("len"), line.number("pag")), (Some(64), None));
        let odd = " jffs2_gcd [1]-mtd0-7 [001] .... 1.000001: block_erase: (nand_erase_op+0x0/0x1) block=3";
        check(odd, Some(("jffs2_gcd [1]-mtd0", 1_000_001_000, "block_erase")));
        check("# tracer: nop", None);
        check("CPU:0 [LOST 12 EVENTS]", None);
        assert_eq!(lost("CPU:0 [LOST 12 EVENTS]"), Some(12));
        assert_eq!(lost(plain), None);
    }
}
