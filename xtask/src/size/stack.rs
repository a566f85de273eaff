//! Section: the stack on a microcontroller, with the largest frames and the deepest path of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::elf::Object;
use crate::Outcome;

/// Number of frames that are listed.
const LISTED: usize = 8;

/// Calls of the firmware that are listed.
const CALLED: usize = 16;

const CALLS: &str = "
### Stack

What the deepest calls of the firmware take, with all that they call. Calls that the compiler put
into the firmware's own function are not listed. A session holds the fields of the database, and
below them stands what the firmware does in it. A format holds them too.

| call | bytes |
|---|--:|
";

/// The functions of an object, by section.
struct Stack {
    frames: BTreeMap<usize, u32>,
    calls: BTreeMap<usize, Vec<usize>>,
    /// For each function, the depth of the deepest path that begins with it, and the next function
    /// on that path.
    depths: BTreeMap<usize, (u32, Option<usize>)>,
}

impl Stack {
    /// The bytes of stack on the deepest path from this function on. No function of the engine is
    /// recursive.
    fn depth(&mut self, function: usize) -> u32 {
        if let Some((depth, _)) = self.depths.get(&function) {
            return *depth;
        }
        let own = self.frames.get(&function).copied().unwrap_or(0);
        self.depths.insert(function, (own, None));
        let callees = self.calls.get(&function).cloned().unwrap_or_default();
        let deepest = callees.into_iter().map(|callee| (self.depth(callee), callee)).max();
        let depth = own + deepest.map_or(0, |(depth, _)| depth);
        self.depths.insert(function, (depth, deepest.map(|(_, callee)| callee)));
        depth
    }
}

/// What the functions of the firmware call, the deepest first.
fn functions_of(stack: &Stack, is_firmware: impl Fn(usize) -> bool) -> Vec<usize> {
    let calls = stack.calls.iter().filter(|(from, _)| is_firmware(**from));
    let called: BTreeSet<usize> = calls.flat_map(|(_, to)| to.iter().copied()).collect();
    let mut called: Vec<usize> = called.into_iter().collect();
    let depth = |function: &usize| stack.depths.get(function).map_or(0, |(depth, _)| *depth);
    called.sort_by_key(|function| core::cmp::Reverse(depth(function)));
    called
}

/// The section of the document.
pub(super) fn section(object: &Object) -> Outcome<String> {
    let frames: BTreeMap<usize, u32> = object.frames().into_iter().collect();
    let mut calls: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in object.calls()? {
        calls.entry(from).or_default().push(to);
    }
    let mut stack = Stack { frames, calls, depths: BTreeMap::new() };
    let functions: Vec<usize> = stack.frames.keys().copied().collect();
    let name = |section: usize| short(&object.section_name(section));
    let mut all: Vec<(u32, usize)> = Vec::new();
    for function in functions {
        all.push((stack.depth(function), function));
    }
    let is_firmware = |function: usize| name(function).starts_with("code_");
    let deepest = all.iter().filter(|(_, function)| !is_firmware(*function)).max();
    let (_, first) = deepest.ok_or("no function has a frame")?;
    let mut text = String::from(CALLS);
    let firmware = functions_of(&stack, is_firmware);
    for function in
        firmware.iter().filter(|function| stack.frames.contains_key(function)).take(CALLED)
    {
        let depth = stack.depths.get(function).map_or(0, |(depth, _)| *depth);
        writeln!(text, "| `{}` | {depth} |", name(*function))?;
    }
    text.push_str("\nThe deepest path:\n\n| function | its frame |\n|---|--:|\n");
    let mut at = Some(*first);
    while let Some(function) = at {
        if let Some(frame) = stack.frames.get(&function) {
            writeln!(text, "| `{}` | {frame} |", name(function))?;
        }
        at = stack.depths.get(&function).and_then(|(_, next)| *next);
    }
    text.push_str("\nThe largest frames, with what lies below them:\n\n");
    text.push_str("| function | frame | in all |\n|---|--:|--:|\n");
    let mut frames: Vec<_> = stack.frames.iter().map(|(at, size)| (*size, *at)).collect();
    frames.retain(|(_, at)| !is_firmware(*at));
    frames.sort_unstable_by(|one, other| other.cmp(one));
    for (size, function) in frames.into_iter().take(LISTED) {
        let depth = stack.depths.get(&function).map_or(0, |(depth, _)| *depth);
        writeln!(text, "| `{}` | {size} | {depth} |", name(function))?;
    }
    let pointed = object.pointed()?;
    let deepest = pointed.iter().filter_map(|function| stack.depths.get(function)).max();
    let deepest = deepest.map_or(0, |(depth, _)| *depth);
    write!(
        text,
        "\nCalls by a pointer (sources of entries, clock, memory beside the chip) come on top. The\n\
         deepest of the engine's own functions that are called so takes {deepest} bytes. A\n\
         database that is returned as a value, as `Db::open` does, takes its fields about three times.\n"
    )?;
    Ok(text)
}

/// The module and the name of a function of the engine, from its mangled name.
fn short(section: &str) -> String {
    let name = section.trim_start_matches(".text.");
    let Some((_, rest)) = name.split_once("6flysch") else { return name.to_owned() };
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Some(byte) = rest.as_bytes().get(at) {
        match byte {
            // An identifier, which follows its length.
            b'0'..=b'9' => {
                let digits = rest[at..].bytes().take_while(u8::is_ascii_digit).count();
                let len: usize = rest[at..at + digits].parse().unwrap_or(0);
                let from = at + digits;
                parts.extend(rest.get(from..from + len));
                at = from + len;
            }
            // A reference to an earlier part of the name.
            b'B' => at += rest[at..].find('_').map_or(1, |end| end + 1),
            // A type of another crate, namely the driver's. The function's name follows it.
            b'C' => at = rest.rfind('E').filter(|end| *end > at).unwrap_or(rest.len() - 1) + 1,
            _ => at += 1,
        }
    }
    parts.retain(|part| part.starts_with(|first: char| first.is_ascii_alphabetic()));
    parts[parts.len().saturating_sub(2)..].join("::")
}

#[test]
fn functions_are_told_by_module_and_name() {
    let names = [
        ("_RNvMNtNtCseb67EAMiREC_6flysch5store5stateNtB2_6Limits9parse_job", "Limits::parse_job"),
        (
            "_RNvMNtNtCseb67EAMiREC_6flysch2db5indexINtB4_2DbNtCs5lW_8firmware9RegistersE4workBL_",
            "Db::work",
        ),
        ("code_database", "code_database"),
    ];
    for (mangled, wanted) in names {
        assert_eq!(short(&format!(".text.{mangled}")), wanted);
    }
}
