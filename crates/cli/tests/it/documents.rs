//! The commands of the documents do what the documents say.

use std::path::Path;
use std::process::Command;

/// Documents whose commands run in one folder each, from the first to the last.
const DOCUMENTS: [(&str, &str); 5] = [
    ("start.md", include_str!("../../../../docs/start.md")),
    ("choosing.md", include_str!("../../../../docs/choosing.md")),
    ("life.md", include_str!("../../../../docs/life.md")),
    ("your-chip.md", include_str!("../../../../docs/your-chip.md")),
    ("papers.md", include_str!("../../../../docs/papers.md")),
];

/// The parts of a document that stand between fences without a language.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, Vec<&str>)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => open = Some((language.is_empty(), Vec::new())),
            (Some(_), Some((is_plain, lines))) => blocks.extend(is_plain.then_some(lines)),
            (None, Some((is_plain, mut lines))) => {
                lines.push(line);
                open = Some((is_plain, lines));
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Run a command on a terminal of 100 columns.
fn run(folder: &Path, command: &str) -> String {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("flysch"), "{command}");
    let mut flysch = Command::new(env!("CARGO_BIN_EXE_flysch"));
    let output = flysch.current_dir(folder).args(words).env("COLUMNS", "100").output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_commands_of_the_documents_print_what_stands_below_them() {
    for (name, text) in DOCUMENTS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (mut shown, mut commands) = (String::new(), 0);
        for block in blocks(text) {
            if block[0].starts_with("flysch ") {
                shown = block.iter().map(|command| run(folder.path(), command)).collect();
                commands += block.len();
                continue;
            }
            for line in block {
                assert!(shown.lines().any(|it| it == line), "{name}: {line}\nin\n{shown}");
            }
        }
        assert!(commands > 0, "{name}");
        let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures/update.svg");
        if let Ok(drawn) = std::fs::read(folder.path().join("update.svg")) {
            assert!(std::fs::read(picture).expect("a picture") == drawn, "{name}: update.svg");
        }
    }
}
