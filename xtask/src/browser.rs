//! Check a report in a browser: it must be drawn, print nothing on the console, and request nothing
//! from the network.
//!
//! The browser makes requests of its own. Those of the page have an origin as initiator in its
//! network log (`null` for a file).

use crate::{Outcome, shell};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAMS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];
const SECONDS_MAX: &str = "120";

/// The first browser that is installed.
pub(crate) fn find() -> Option<&'static str> {
    PROGRAMS.iter().copied().find(|program| shell::is_installed(program))
}

/// Open `report` without a window. Files of the browser go to the folder `place`.
pub(crate) fn inspect(program: &str, report: &Path, place: &Path) -> Outcome {
    let name = report.file_name().unwrap_or_default().to_string_lossy();
    let screenshot = place.join("report.png");
    let network_log = place.join("network.json");
    let output = Command::new("timeout")
        .args([SECONDS_MAX, program, "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--no-first-run", "--window-size=1280,2000", "--virtual-time-budget=5000"])
        .args(["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"])
        .arg(format!("--user-data-dir={}", place.join("profile").display()))
        .arg(format!("--log-net-log={}", network_log.display()))
        .arg(format!("--screenshot={}", screenshot.display()))
        .arg(format!("file://{}", report.display()))
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(format!("{program} failed on {name}: {}", output.status).into());
    }
    let size = fs::metadata(&screenshot).map_err(|_| format!("{program} drew nothing"))?.len();
    let mut faults = console_messages(&String::from_utf8_lossy(&output.stderr));
    faults.extend(page_requests(&fs::read_to_string(&network_log)?));
    if faults.is_empty() {
        println!("{program}: drew {name} ({size} bytes), console silent, no request");
        Ok(())
    } else {
        Err(format!("{name} in {program}:\n  {}", faults.join("\n  ")).into())
    }
}

/// All messages of a page on the console. The log has the same severity for all of them, so a
/// report must print none.
fn console_messages(log: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| line.split_once(":CONSOLE"))
        .map(|(_, message)| format!("console {}", message.trim_start_matches([':', '('])))
        .collect()
}

/// The addresses that a page requested, from the network log, which has one event in each line.
fn page_requests(log: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.trim_end_matches([',', ']'])).ok())
        .filter_map(|event| {
            let request = &event["params"];
            let initiator = request["initiator"].as_str()?;
            let address = request["url"].as_str()?;
            (initiator != "not an origin").then(|| format!("request {address}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{console_messages, page_requests};

    #[test]
    fn a_console_message_is_a_fault() {
        let log = "[1:1:0:ERROR:dbus/bus.cc:405] Failed to connect\n\
                   [1:1:0:INFO:CONSOLE:7] \"Uncaught ReferenceError\", source: file:///a.html (7)\n";
        let expected = "console 7] \"Uncaught ReferenceError\", source: file:///a.html (7)";
        assert_eq!(console_messages(log), [expected]);
    }

    #[test]
    fn only_requests_of_the_page_are_faults() {
        let log = "{\"constants\":{},\n\"events\": [\n\
            {\"params\":{\"initiator\":\"not an origin\",\"url\":\"https://a.example/\"}},\n\
            {\"params\":{\"initiator\":\"null\",\"url\":\"https://b.example/\"}},\n\
            {\"params\":{\"initiator\":\"null\",\"url\":\"https://c.example/\"}}],\n";
        assert_eq!(
            page_requests(log),
            ["request https://b.example/", "request https://c.example/"]
        );
    }
}
