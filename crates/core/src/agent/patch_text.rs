//! A patch as it comes from an agent: untrusted text in a named format.

use serde::{Deserialize, Serialize};

use crate::patch::Format;

/// A patch that is not parsed yet.
///
/// As JSON: `{"format": …, "text": …}`, or `"hex"` in place of `"text"` where the bytes are
/// not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PatchText {
    /// The format that it is meant to be in.
    pub format: Format,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl PatchText {
    /// A text in `format`.
    pub fn new(format: Format, text: impl Into<Vec<u8>>) -> Self {
        Self {
            format,
            bytes: text.into(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Written {
    format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

impl From<PatchText> for Written {
    fn from(patch: PatchText) -> Self {
        let format = patch.format.to_string();
        match String::from_utf8(patch.bytes) {
            Ok(text) => Self {
                format,
                text: Some(text),
                hex: None,
            },
            Err(error) => Self {
                format,
                text: None,
                hex: Some(hex::encode(error.as_bytes())),
            },
        }
    }
}

impl TryFrom<Written> for PatchText {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let format = written.format.parse().map_err(|error| format!("{error}"))?;
        let bytes = match (written.text, written.hex) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(digits)) => {
                hex::decode(digits).map_err(|error| format!("`hex` is not hexadecimal: {error}"))?
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err("a patch has either `text` or `hex`".to_owned());
            }
        };
        Ok(Self { format, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_round_trip() {
        for (bytes, json) in [
            (&b"a\n"[..], r#"{"format":"unified-diff","text":"a\n"}"#),
            (&b"\xff"[..], r#"{"format":"unified-diff","hex":"ff"}"#),
        ] {
            let patch = PatchText::new(Format::UnifiedDiff, bytes);
            assert_eq!(serde_json::to_string(&patch).unwrap(), json);
            assert_eq!(serde_json::from_str::<PatchText>(json).unwrap(), patch);
        }
        for bad in [
            r#"{"format":"unified-diff"}"#,
            r#"{"format":"fuzzy","text":""}"#,
            r#"{"format":"unified-diff","hex":"f"}"#,
            r#"{"format":"unified-diff","hex":"","text":""}"#,
        ] {
            assert!(serde_json::from_str::<PatchText>(bad).is_err(), "{bad}");
        }
    }
}
