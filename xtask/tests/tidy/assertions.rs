//! Rule: the engine asserts what must hold, where it is made and where it is used.

use std::collections::BTreeMap;

use crate::Finding;
use crate::source::{Kind, Source};
use crate::tree::Tree;

const ENGINE: &str = "crates/flysch/src/";
/// Assertions in a thousand lines of code of the engine, at the least. This number never falls.
const DENSITY_MIN: usize = 25;

/// Count the assertions of the engine by module, and print them.
#[expect(clippy::print_stdout, reason = "a test's output")]
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut modules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for source in tree.sources.iter().filter(|source| source.path.starts_with(ENGINE)) {
        let module = source.path[ENGINE.len()..].split('/').next().unwrap_or_default();
        let (lines, assertions) = count(source);
        let sums = modules.entry(module).or_default();
        *sums = (sums.0 + lines, sums.1 + assertions);
    }
    let all = modules.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    for (module, sums) in modules.iter().chain([(&"all", &all)]) {
        println!(
            "{module}: {} assertions in {} lines, {} in 1,000",
            sums.1,
            sums.0,
            density(*sums)
        );
    }
    if all.0 == 0 || density(all) >= DENSITY_MIN {
        return Vec::new();
    }
    let message = format!("{} assertions in 1,000 lines, {DENSITY_MIN} at least", density(all));
    vec![Finding::new(ENGINE, 1, message)]
}

/// Lines of code without tests, and assertions among them.
fn count(source: &Source) -> (usize, usize) {
    let is_code = |kind: Kind, is_test: bool| kind == Kind::Code && !is_test;
    let lines = source.lines.iter().filter(|line| is_code(line.kind, line.is_test));
    let asserts = |text: &str| {
        ["assert!(", "assert_eq!(", "assert_ne!("].map(|word| text.matches(word).count())
    };
    lines.fold((0, 0), |(count, found), line| {
        (count + 1, found + asserts(&line.code).iter().sum::<usize>())
    })
}

fn density((lines, assertions): (usize, usize)) -> usize {
    assertions * 1000 / lines.max(1)
}

#[test]
fn a_module_that_asserts_little_is_found() {
    let path = "crates/flysch/src/a.rs";
    let code = |assertions: usize| {
        let plain = "let x = 1;\n".repeat(1000 - assertions);
        format!("{}{plain}", "debug_assert!(x);\n".repeat(assertions))
    };
    let tested =
        format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", code(3), "assert!(x);\n".repeat(20));
    for (text, count) in [(code(DENSITY_MIN), 0), (code(DENSITY_MIN - 1), 1), (tested, 1)] {
        let tree = Tree::of(&[(path, &text)]);
        assert_eq!(check(&tree).len(), count);
    }
}
