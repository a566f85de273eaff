//! Escape text so that it is safe in HTML and SVG, both in elements and in quoted attributes.

/// Replace the five characters that have a meaning in mark-up, and replace control characters by
/// spaces, because HTML and XML do not allow them.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            control if control.is_control() => safe.push(' '),
            plain => safe.push(plain),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(escape("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
        assert_eq!(escape("one\0two"), "one two");
        assert_eq!(escape("sqlite/jffs2"), "sqlite/jffs2");
    }
}
