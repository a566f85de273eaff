//! Texts and blobs in a recording: UTF-8 is written as text, and other bytes in hexadecimal.

use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are usually text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelled {
    Text(String),
    Hex { hex: String },
}

impl Bytes {
    /// The bytes as text. Bytes that are not UTF-8 are replaced by marks.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spelled = match str::from_utf8(&self.0) {
            Ok(text) => Spelled::Text(text.to_owned()),
            Err(_) => Spelled::Hex { hex: hex(&self.0) },
        };
        spelled.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Spelled::deserialize(deserializer)? {
            Spelled::Text(text) => Ok(Self(text.into_bytes())),
            Spelled::Hex { hex } => unhex(&hex)
                .map(Self)
                .ok_or_else(|| serde::de::Error::custom("bytes are not in hexadecimal")),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes what is written");
    }
    text
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|letter| letter.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_comes_back() {
        for bytes in [b"".to_vec(), b"caf\xc3\xa9".to_vec(), vec![0xFF, 0, 0x80]] {
            assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        }
        assert_eq!((unhex("0"), unhex("zz")), (None, None));
    }
}
