//! Finds all fields that a TOML description lacks, and not only the first one.

use toml::{Table, Value};

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

    #[test]
    fn every_missing_field_is_named() {
        let reference = "a = 1\nb = 2\n[c]\nd = 3\ne = 4\n[f]\ng = 5\n";
        assert_eq!(missing("b = 0\n[c]\ne = 1\n", reference), ["a", "c.d", "f.g"]);
        assert_eq!(missing(reference, reference), [""; 0]);
        assert_eq!(missing("= no TOML", reference), [""; 0]);
    }
}
