//! Compares the simulator with the real kernel in a guest.
//!
//! 1. If a guest cannot be made, the stage says that it was skipped, and why. If a guest was made
//!    and its counts differ, the stage fails.
//! 2. The guest's files are made anew, in a folder that is removed after the run.

mod images;

use crate::scratch::Scratch;
use crate::{Outcome, packages, shell};
use serde_json::Value;
use std::process::Command;

/// Operations whose numbers are known: `(command, kind, count)`.
const KNOWN: [(&str, &str, u64); 3] = [
    ("flash_erase --quiet /dev/mtd1 0 16", "erase", 16),
    ("nandwrite --quiet /dev/mtd1 /tmp/pages", "program", 64),
    ("nanddump --quiet --length=131072 --file=/dev/null /dev/mtd1", "read", 64),
];

/// Make a guest, check its tracer against nandsim, exchange flash images with it, and compare
/// twelve cells.
pub(crate) fn run() -> Outcome {
    packages::install();
    if let Some(reason) = obstacle() {
        println!("skipped: {reason}");
        return Ok(());
    }
    let binary = shell::release_binary()?;
    let place = Scratch::open()?;
    let store = place.path.join("store");
    let flysch = || {
        let mut command = Command::new(&binary);
        command.arg("vm").current_dir(&place.path);
        command
    };
    let set_up =
        |more: &[&str]| shell::run(flysch().arg("setup").args(more).arg("--store").arg(&store));
    let with_fastmap = set_up(&["--with-fastmap"]);
    if let Err(failure) = &with_fastmap {
        println!("skipped: fastmaps: {failure}");
        if let Err(failure) = set_up(&[]) {
            println!("skipped: {failure}");
            return Ok(());
        }
    }
    let mut trace = flysch();
    let script = known_operations();
    let text =
        shell::output(trace.args(["run", "--store"]).arg(&store).args(["sh", "-c", &script]))?;
    check_tracer(&text)?;
    images::run(flysch, &store, with_fastmap.is_ok())?;
    shell::run(flysch().args(["validate", "--quick", "--store"]).arg(&store))
}

fn obstacle() -> Option<&'static str> {
    if std::env::consts::ARCH != "x86_64" {
        return Some("the guest is an x86-64 machine");
    }
    (!shell::is_installed("qemu-system-x86_64")).then_some("there is no QEMU")
}

/// A script that runs every known operation under the tracer, at the level of the chip and at
/// nandsim's own.
fn known_operations() -> String {
    let runs = KNOWN.iter().flat_map(|(command, ..)| {
        ["nandsim", "chip"].map(|level| {
            let erase = "flash_erase --quiet /dev/mtd1 0 16";
            let before = if command.starts_with("nandwrite") { erase } else { "true" };
            format!(
                "{before}; flysch trace live --hook {level} --format json -- {command} || exit 1"
            )
        })
    });
    let prepare = "head -c 131072 /dev/urandom > /tmp/pages".to_owned();
    std::iter::once(prepare).chain(runs).collect::<Vec<_>>().join("; ")
}

/// Check that the tracer's counts are the known ones, and equal to nandsim's.
fn check_tracer(text: &str) -> Outcome {
    let summaries = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let summaries: Vec<Value> = summaries.collect::<Result<_, _>>()?;
    let wanted = KNOWN.iter().flat_map(|&(_, kind, count)| [(kind, count); 2]);
    let wanted: Vec<(&str, u64)> = wanted.collect();
    if summaries.len() != wanted.len() {
        return Err(format!("{} recordings of {}", summaries.len(), wanted.len()).into());
    }
    for (summary, (kind, count)) in summaries.iter().zip(wanted) {
        let rows = summary["kinds"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = rows.iter().find(|row| row["kind"] == kind);
        let found = found.and_then(|row| row["events"].as_u64()).unwrap_or(0);
        if found != count {
            return Err(format!("the tracer saw {found} of {count} {kind}s").into());
        }
    }
    println!("the tracer's counts are nandsim's: {} recordings", summaries.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, check_tracer};
    use serde_json::json;

    #[test]
    fn a_count_that_is_off_fails() {
        let text = |off: u64| {
            let one = |(at, kind, count): (usize, &str, u64)| {
                let events = count + if at == 4 { off } else { 0 };
                json!({"kinds": [{"kind": kind, "events": events}]}).to_string()
            };
            let all = KNOWN.iter().flat_map(|&(_, kind, count)| [(kind, count); 2]);
            all.enumerate().map(|(at, (kind, count))| one((at, kind, count))).collect::<String>()
        };
        check_tracer(&text(0)).expect("all counts are right");
        let failure = check_tracer(&text(1)).expect_err("one is off").to_string();
        assert_eq!(failure, "the tracer saw 65 of 64 reads");
        assert!(check_tracer("").is_err());
    }
}
