//! What is wrong with a TOML description: the place and field of an error, and all fields that it
//! lacks, not only the first one.

use toml::{Table, Value};

/// An error of TOML in one line: the line of the text, the field whose value it is about, and what
/// is wrong. A field that is unknown or missing is named by the error itself.
pub fn told(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or(text);
    let number = before.matches('\n').count() + 1;
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_part = |letter: char| letter.is_alphanumeric() || "_.-".contains(letter);
    let left = line.trim_end().strip_suffix('=').map(str::trim_end);
    let name = left.and_then(|left| left.rsplit(|letter| !is_part(letter)).next());
    let field = name.filter(|name| !name.is_empty()).map(|name| format!("{name}: "));
    let what = error.message().replace('\n', " ");
    format!("line {number}: {}{what}", field.unwrap_or_default())
}

/// The fields of `reference` that `text` does not have, such as `timing.erase_ns`. Empty if the
/// text is not valid TOML.
pub fn missing(text: &str, reference: &str) -> Vec<String> {
    let mut names = Vec::new();
    if let (Ok(given), Ok(wanted)) = (text.parse::<Table>(), reference.parse::<Table>()) {
        // Descriptions have at most two levels of tables.
        for (name, value) in &wanted {
            match (given.get(name), value) {
                (None, Value::Table(inner)) => {
                    names.extend(inner.keys().map(|field| format!("{name}.{field}")));
                }
                (None, _) => names.push(name.clone()),
                (Some(Value::Table(own)), Value::Table(inner)) => {
                    let lacking = inner.keys().filter(|field| !own.contains_key(*field));
                    names.extend(lacking.map(|field| format!("{name}.{field}")));
                }
                (Some(_), _) => {}
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Probe {
        a: Inner,
        b: u32,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Inner {
        b: u32,
    }

    #[test]
    fn an_error_is_told_with_its_line_and_field() {
        let told = |text: &str| told(text, &toml::from_str::<Probe>(text).unwrap_err());
        let wanted = "line 2: b: invalid value: integer `-1`, expected u32";
        assert_eq!(told("a = { b = 1 }\nb = -1\n"), wanted);
        assert!(told("a = { b = 1, c = true }\n").starts_with("line 1: unknown field `c`"));
        assert!(told("a = { b = 'x' }\nb = 1\n").starts_with("line 1: b: invalid type"));
        assert!(told("a = { b = 1 }\n").contains("missing field `b`"));
        assert!(!told("a = \n\n[").contains('\n'));
    }

    #[test]
    fn every_missing_field_is_named() {
        let reference = "a = 1\nb = 2\n[c]\nd = 3\ne = 4\n[f]\ng = 5\n";
        assert_eq!(missing("b = 0\n[c]\ne = 1\n", reference), ["a", "c.d", "f.g"]);
        assert_eq!(missing(reference, reference), [""; 0]);
        assert_eq!(missing("= no TOML", reference), [""; 0]);
    }
}
