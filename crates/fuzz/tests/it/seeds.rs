//! Inputs that follow from seeds, what they cost, how one that fails is made small, and which of
//! them are the corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use flysch_fuzz::choices::drawn;
use flysch_fuzz::seen;

/// An input of a campaign takes no longer.
const TIME_MAX: Duration = Duration::from_secs(5);
/// A campaign takes no more memory, KiB.
const MEMORY_MAX_KIB: u64 = 1 << 20;
/// Longest input, bytes.
const LEN_MAX: usize = 400;
/// Inputs that are tried while one that fails is made small.
const TRIES: usize = 400;
/// The most inputs in the corpus of a target.
const CORPUS_MAX: usize = 16;

/// A target of this name: its corpus, then `count` inputs from seeds.
macro_rules! target {
    ($name:ident, $count:expr, $run:expr) => {
        #[test]
        fn $name() {
            bolero::check!().with_iterations(0).for_each(|input: &[u8]| $run(input));
            crate::seeds::run(module_path!(), stringify!($name), $count, $run);
        }
    };
}
pub(crate) use target;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Run a target with inputs from seeds, or with the one of `FLYSCH_REPLAY`. With `FLYSCH_INPUTS`
/// there are so many of them, which cost no more than is allowed.
#[expect(clippy::print_stdout, reason = "a campaign reads its figures")]
pub(crate) fn run(module: &str, name: &str, count: u64, target: impl Fn(&[u8])) {
    if let Ok(text) = std::env::var("FLYSCH_REPLAY") {
        return target(&bytes_of(&text));
    }
    let first = number("FLYSCH_SEED").unwrap_or(0);
    let wanted = number("FLYSCH_INPUTS");
    let count = wanted.unwrap_or(count * number("FLYSCH_SEEDS").unwrap_or(1));
    if std::env::var("FLYSCH_CORPUS").is_ok() {
        let module = module.split("::").last().unwrap_or_default();
        return store(&format!("{module}__{name}"), &chosen(first..first + count, target));
    }
    let mut longest = (Duration::ZERO, 0);
    for seed in first..first + count {
        let input = drawn(seed, LEN_MAX);
        let (took, outcome) = timed(&target, &input);
        if outcome.is_err() {
            let small = shrunk(input, |input| timed(&target, input).1.is_err());
            panic!("seed {seed}: FLYSCH_REPLAY={} is {name} again", text_of(&small));
        }
        longest = longest.max((took, seed));
    }
    let ((took, seed), peak) = (longest, peak_kib());
    println!("{name}: {count} inputs from {first}, longest {took:.1?} (seed {seed}), {peak} KiB");
    if wanted.is_some() {
        assert!(took < TIME_MAX, "{name}: seed {seed} takes {took:?}");
        assert!(peak < MEMORY_MAX_KIB, "{name}: {peak} KiB");
    }
}

/// Of the inputs of these seeds, the few that show the most between them.
fn chosen(seeds: impl Iterator<Item = u64>, target: impl Fn(&[u8])) -> Vec<Vec<u8>> {
    let mut shown: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for seed in seeds {
        seen::take();
        target(&drawn(seed, LEN_MAX));
        shown.insert(seed, seen::take());
    }
    let mut inputs = Vec::new();
    while inputs.len() < CORPUS_MAX {
        // Of several the first, so that the choice is the same each time.
        let best = shown.iter().rev().max_by_key(|(_, seen)| seen.len());
        let Some((&seed, new)) = best.filter(|(_, seen)| !seen.is_empty()) else { break };
        let new = new.clone();
        for seen in shown.values_mut() {
            seen.retain(|it| !new.contains(it));
        }
        inputs.push(drawn(seed, LEN_MAX));
    }
    inputs
}

/// Make these inputs the corpus of a target, in place of what was there.
fn store(target: &str, inputs: &[Vec<u8>]) {
    let folder = Path::new("tests/it/__fuzz__").join(target).join("corpus");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    for (number, input) in inputs.iter().enumerate() {
        std::fs::write(folder.join(format!("{number:02}")), input).unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
fn timed(target: impl Fn(&[u8]), input: &[u8]) -> (Duration, std::thread::Result<()>) {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    (start.elapsed(), outcome)
}

/// The most memory that this process ever had, KiB; 0 where the system does not say.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A shorter input that fails, too: pieces are left out, large ones first.
fn shrunk(mut input: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut len, mut tries) = (input.len() / 2, 0);
    while len > 0 && tries < TRIES {
        let mut at = 0;
        while at < input.len() && tries < TRIES {
            let end = input.len().min(at + len);
            let shorter = [&input[..at], &input[end..]].concat();
            tries += 1;
            if fails(&shorter) {
                input = shorter;
            } else {
                at = end;
            }
        }
        len /= 2;
    }
    input
}

fn text_of(input: &[u8]) -> String {
    input.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The input of a text in hexadecimal.
pub(crate) fn bytes_of(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(text.get(at..at + 2).unwrap_or(""), 16);
    (0..text.len()).step_by(2).map(|at| digit(at).expect("two digits")).collect()
}

#[test]
fn an_input_that_fails_is_made_small_and_read_back() {
    let fails = |input: &[u8]| input.contains(&7) && input.contains(&9);
    let small = shrunk((0..200).collect(), fails);
    assert_eq!(small, [7, 9]);
    assert_eq!(bytes_of(&text_of(&small)), small);
}

#[test]
fn a_corpus_shows_with_few_inputs_what_many_show() {
    let target = |input: &[u8]| input.iter().for_each(|byte| seen::note(&(byte % 64).to_string()));
    let inputs = chosen(0..200, target);
    assert!(inputs.len() < CORPUS_MAX, "{}", inputs.len());
    for input in &inputs {
        target(input);
    }
    assert_eq!(seen::take().len(), 64);
}
