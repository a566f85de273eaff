//! Checks pages in a browser: they must be drawn, be readable, print nothing on the console, and
//! request nothing from the network.
//!
//! All pages are opened at once, in frames as wide as a desktop and as a telephone, on a light and
//! on a dark background. `browser.js` is inserted into a copy of each page. It looks for
//! overlapping text, for text with little contrast, and for boxes that cannot be reached by
//! keyboard, and reports them on the console.
//!
//! The browser also makes requests of its own. In its network log, the requests of a page are those
//! with an origin as initiator (`null` for a file).

use crate::{Outcome, shell};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAMS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];
const SECONDS_MAX: &str = "240";

/// Widths at which pages are checked, pixels.
const WIDTHS: [u32; 2] = [1280, 390];
/// The backgrounds, each with the browser's number for it.
const GROUNDS: [(&str, u8); 2] = [("dark", 0), ("light", 1)];

const LOOK: &str = include_str!("browser.js");

/// The first browser that is installed.
pub(crate) fn find() -> Option<&'static str> {
    PROGRAMS.iter().copied().find(|program| shell::is_installed(program))
}

/// Open pages and drawings without a window, and report what is wrong. Files of the browser go to
/// the folder `place`.
pub(crate) fn inspect(program: &str, pages: &[PathBuf], place: &Path) -> Outcome {
    let mut frames = "<!DOCTYPE html><body>".to_owned();
    for (number, page) in pages.iter().enumerate() {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let copy = format!("looked-at-{number}-{name}.html");
        fs::write(place.join(&copy), with_script(&fs::read_to_string(page)?))?;
        for width in WIDTHS {
            writeln!(
                frames,
                "<iframe src=\"{copy}\" width=\"{width}\" height=\"900\" style=\"border:0\"></iframe>"
            )?;
        }
    }
    let wrapper = place.join("all.html");
    fs::write(&wrapper, frames)?;
    for (ground, scheme) in GROUNDS {
        look(program, &wrapper, ground, scheme)?;
        println!("{program}: {} pages are readable on a {ground} ground", pages.len());
    }
    Ok(())
}

/// A page with the script that checks it. A drawing is put into a page first.
fn with_script(page: &str) -> String {
    let script = format!("<script>\n{LOOK}</script></body>");
    if page.contains("</body>") {
        page.replacen("</body>", &script, 1)
    } else {
        let frame = "<div tabindex=\"0\" role=\"region\" aria-label=\"drawing\" \
                     style=\"overflow-x: auto\">";
        format!("<!DOCTYPE html><html><body>{frame}{page}</div>{script}</html>")
    }
}

fn look(program: &str, wrapper: &Path, ground: &str, scheme: u8) -> Outcome {
    let place = wrapper.parent().unwrap_or(wrapper);
    let screenshot = place.join(format!("{ground}.png"));
    let network_log = place.join(format!("{ground}-network.json"));
    let output = Command::new("timeout")
        .args([SECONDS_MAX, program, "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--no-first-run", "--window-size=1280,2000", "--virtual-time-budget=5000"])
        .args(["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--user-data-dir={}", place.join(ground).display()))
        .arg(format!("--log-net-log={}", network_log.display()))
        .arg(format!("--screenshot={}", screenshot.display()))
        .arg(format!("file://{}", wrapper.display()))
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(format!("{program} failed: {}", output.status).into());
    }
    fs::metadata(&screenshot).map_err(|_| format!("{program} drew nothing"))?;
    let mut faults = console_messages(&String::from_utf8_lossy(&output.stderr));
    faults.extend(page_requests(&fs::read_to_string(&network_log)?));
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("on a {ground} ground in {program}:\n  {}", faults.join("\n  ")).into())
}

/// All messages of a page on the console. The log has the same severity for all of them, so a
/// report must print none.
fn console_messages(log: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| line.split_once(":CONSOLE"))
        .map(|(_, message)| format!("console {}", message.trim_start_matches([':', '('])))
        .collect()
}

/// The addresses that pages requested, from the network log, which has one event in each line. The
/// pages themselves are left out.
fn page_requests(log: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.trim_end_matches([',', ']'])).ok())
        .filter_map(|event| {
            let request = &event["params"];
            let initiator = request["initiator"].as_str()?;
            let address = request["url"].as_str()?;
            let is_page = address.starts_with("file://") && address.contains("/looked-at-");
            (initiator != "not an origin" && !is_page).then(|| format!("request {address}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{console_messages, page_requests, with_script};

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
            {\"params\":{\"initiator\":\"null\",\"url\":\"file:///tmp/looked-at-0-a.html\"}},\n\
            {\"params\":{\"initiator\":\"null\",\"url\":\"https://c.example/\"}}],\n";
        assert_eq!(
            page_requests(log),
            ["request https://b.example/", "request https://c.example/"]
        );
    }

    #[test]
    fn the_script_comes_last_and_a_drawing_gets_a_page() {
        let page = with_script("<html><body><p>a</p></body></html>");
        assert!(page.starts_with("<html><body><p>a</p><script>"), "{page}");
        let page = with_script("<svg></svg>");
        assert!(page.contains("<svg></svg></div><script>") && page.ends_with("</html>"), "{page}");
    }
}
