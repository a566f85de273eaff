//! Text and binary files that an input has edited. They begin as good files; then bytes, numbers
//! and the order of lines are changed.

use crate::choices::Choices;

/// Edits do not make a file longer than this, bytes.
const LEN_MAX: usize = 1 << 16;

/// Numbers and words that are hard to parse.
const TOKENS: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "1e999",
    "-0.0",
    "nan",
    "inf",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "\"\"",
    "''",
    "\"",
    "[",
    "{",
    "}",
    "\n",
    ",",
    "null",
    "true",
    "\u{1F9ED}",
];

/// One of `files`, edited as an input says.
pub fn edited(files: &[&[u8]], input: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(input);
    let mut file = choices.one_of(files).unwrap_or_default().to_vec();
    while !choices.is_over() {
        edit(&mut file, &mut choices);
        file.truncate(LEN_MAX);
    }
    file
}

fn edit(file: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let way = choices.below(10);
    let at = choices.below(file.len() + 1);
    match way {
        0 => file.truncate(at),
        1 => file.insert(at, choices.byte()),
        2 => {
            if let Some(byte) = file.get_mut(at) {
                *byte ^= 1 << choices.below(8);
            }
        }
        3 => {
            if let Some(byte) = file.get_mut(at) {
                *byte = choices.byte();
            }
        }
        4 => {
            let end = file.len().min(at + 1 + choices.below(64));
            file.drain(at..end);
        }
        5 => {
            let end = file.len().min(at + 1 + choices.below(256));
            let to = choices.below(file.len() + 1);
            let piece = file[at..end].to_vec();
            file.splice(to..to, piece);
        }
        6 => replace_number(file, at, choices),
        7 => {
            let token = choices.one_of(&TOKENS).unwrap_or_default();
            file.splice(at..at, token.bytes());
        }
        8 => {
            let end = file.len().min(at + 4);
            let value = choices.word().to_le_bytes();
            file.splice(at..end, value);
        }
        _ => swap_lines(file, at, choices),
    }
}

/// Replace the first number after `at` by one that is hard to store.
fn replace_number(file: &mut Vec<u8>, at: usize, choices: &mut Choices<'_>) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = file[at..].iter().position(is_digit).map(|found| at + found) else { return };
    let len = file[start..].iter().position(|byte| !is_digit(byte)).unwrap_or(file.len() - start);
    let token = choices.one_of(&TOKENS).unwrap_or_default();
    file.splice(start..start + len, token.bytes());
}

/// Move the line after `at` to the end of the file, as often as the input says.
fn swap_lines(file: &mut Vec<u8>, at: usize, choices: &mut Choices<'_>) {
    let is_end = |byte: &u8| *byte == b'\n';
    let Some(start) = file[at..].iter().position(is_end).map(|found| at + found + 1) else {
        return;
    };
    let len = file[start..].iter().position(is_end).map_or(file.len() - start, |end| end + 1);
    let line: Vec<u8> = file.drain(start..start + len).collect();
    for _ in 0..choices.below(4) {
        file.extend(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::drawn;

    #[test]
    fn an_input_always_gives_the_same_file_and_most_give_another() {
        let files: [&[u8]; 2] = [b"a = 1\nb = 22\n", b"[x]\ny = \"z\"\n"];
        let all: Vec<Vec<u8>> = (0..200).map(|seed| edited(&files, &drawn(seed, 40))).collect();
        assert!(all.iter().zip(0..).all(|(file, seed)| *file == edited(&files, &drawn(seed, 40))));
        let changed = all.iter().filter(|file| !files.contains(&&file[..])).count();
        assert!(changed > 150, "{changed}");
        assert_eq!(edited(&files, &[]), files[0]);
    }
}
