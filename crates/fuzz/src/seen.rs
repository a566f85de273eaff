//! What an input has shown: errors that came back, and what the flash did for which reason.
//!
//! A corpus is chosen by it: each of its inputs shows something that no other one does. This needs
//! no instrumented build, so that the choice is the same everywhere.
//!
//! Invariants:
//! 1. Digits and quoted words are left out, so that an error counts once and not for each address.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;

use flysch_chip::Trace;

/// An error is told apart from another one by so many characters.
const LEN_MAX: usize = 100;

thread_local! {
    static SEEN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// What the inputs of this thread have shown since the last call.
pub fn take() -> BTreeSet<String> {
    SEEN.take()
}

/// Note something that an input shows.
pub fn note(what: &str) {
    SEEN.with_borrow_mut(|seen| seen.insert(what.to_owned()));
}

/// Note how a call has ended.
pub fn outcome<T, E: Display>(call: &str, outcome: &Result<T, E>) {
    match outcome {
        Ok(_) => note(call),
        Err(error) => note(&format!("{call}: {}", kind_of(&error.to_string()))),
    }
}

/// The text of an error without what belongs to one place only. A parser shows the text that it
/// refuses and says why in the last line.
fn kind_of(error: &str) -> String {
    let line = error.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let words = line.split(['`', '"', '\'']).step_by(2);
    words.flat_map(str::chars).filter(|it| !it.is_ascii_digit()).take(LEN_MAX).collect()
}

/// Note which operations the flash did for which reason, and how often, by factors of four.
pub fn operations(trace: &Trace) {
    let mut counts = std::collections::BTreeMap::<_, u32>::new();
    for event in &trace.events {
        *counts.entry((event.cause, event.kind)).or_default() += 1;
    }
    for ((cause, kind), count) in counts {
        let label = trace.causes.label(cause);
        note(&format!("{label} {kind:?} {}", count.ilog2() / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_counts_once_wherever_it_is() {
        let failed = |text: &str| outcome::<(), String>("mount", &Err(text.to_owned()));
        failed("node of `a.db` at 17 is damaged");
        failed("12 | x = 1\n\nnode of `b` at 4096 is damaged\n");
        outcome::<_, String>("mount", &Ok(()));
        let wanted = ["mount", "mount: node of  at  is damaged"].map(str::to_owned);
        assert_eq!(take(), BTreeSet::from(wanted));
        assert_eq!(take(), BTreeSet::new());
    }
}
