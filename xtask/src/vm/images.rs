//! Exchanges flash images with the real kernel. The kernel mounts our images, clean and after a
//! power cut, reads the same files, and writes more, which we then read. We also read images that
//! the kernel made. If fastmaps are supported, each side attaches with those of the other.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, shell};

/// Number of blocks in the partition. They are few, so that a case takes seconds.
const BLOCKS: &str = "48";
/// The script that runs in the guest.
const SCRIPT: &str = include_str!("images.sh");
/// The cases: who made the flash, file system, compression, and the flash operation during which
/// the power is cut, or `clean`. An optional last word says whether UBI writes fastmaps.
const CASES: [&str; 16] = [
    "ours:ubifs:none:clean",
    "ours:ubifs:none:170",
    "ours:ubifs:lzo:clean",
    "ours:ubifs:lzo:35",
    "ours:ubifs:zlib:clean",
    "ours:ubifs:zlib:70",
    "ours:ubifs:zstd:clean",
    "ours:ubifs:zstd:50",
    "ours:jffs2:none:clean",
    "ours:jffs2:none:150",
    "ours:jffs2:zlib:40",
    "ours:jffs2:rtime:clean",
    "ours:jffs2:lzo:70",
    "theirs:ubifs:zlib:",
    "theirs:ubifs:zstd:",
    "theirs:jffs2:any:",
];

/// The cases with fastmaps. They need more than 64 blocks.
const FASTMAP_CASES: [&str; 6] = [
    "ours:ubifs:zstd:clean:fastmap",
    "ours:ubifs:none:165:fastmap",
    "ours:ubifs:zlib:60:fastmap",
    "ours:ubifs:lzo:clean:fastmap",
    "theirs:ubifs:zstd::fastmap",
    "theirs:ubifs:zlib::fastmap",
];
const FASTMAP_BLOCKS: &str = "200";

/// Exchange images with the guests that `vm` makes from `store`. The last argument says whether its
/// UBI supports fastmaps.
pub(super) fn run(vm: impl Fn() -> Command, store: &Path, with_fastmap: bool) -> Outcome {
    exchange(vm(), store, BLOCKS, &CASES)?;
    if with_fastmap { exchange(vm(), store, FASTMAP_BLOCKS, &FASTMAP_CASES) } else { Ok(()) }
}

fn exchange(mut vm: Command, store: &Path, blocks: &str, cases: &[&str]) -> Outcome {
    vm.args(["run", "--no-delays", "--blocks", blocks, "--store"]).arg(store);
    vm.args(["sh", "-c", SCRIPT, "images", blocks]).args(cases);
    check(cases, &shell::output(&mut vm)?)
}

/// Check that every case has its line and passed.
fn check(cases: &[&str], text: &str) -> Outcome {
    for &case in cases {
        if !text.lines().any(|line| line.strip_prefix("ok ").is_some_and(|it| it.starts_with(case)))
        {
            return Err(format!("{case}: the kernel and flysch disagree\n{text}").into());
        }
    }
    println!("the kernel and flysch read each other's flash: {} cases", cases.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CASES, check};

    #[test]
    fn a_case_that_is_not_well_fails() {
        let lines = CASES.map(|case| format!("ok {case}: 6 files, 90 flash operations\n"));
        check(&CASES, &lines.concat()).expect("all is well");
        for at in 0..CASES.len() {
            let failed = format!("FAILED {}: mount\n", CASES[at]);
            let text = lines[..at].concat() + &failed + &lines[at + 1..].concat();
            let failure = check(&CASES, &text).expect_err("one failed").to_string();
            assert!(failure.starts_with(CASES[at]), "{failure}");
        }
    }
}
