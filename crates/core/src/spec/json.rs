//! JSON with the place of every key and value (RFC 8259).
//!
//! The structure is read here, strings and numbers by `serde_json` token by token. Stricter
//! than `serde_json`: a key that is there twice is an error. At most [`MAX_DEPTH`] levels.

use super::document::{Entry, Node, Value};

/// Deepest nesting; the TOML reader has the same bound.
const MAX_DEPTH: usize = 80;

/// The text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonError {
    pub(super) at: usize,
    pub(super) message: String,
}

/// Reads one JSON document.
pub(super) fn parse(text: &str) -> Result<Node, JsonError> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.value(0)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.fail("the document ends here, but more follows")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.advance(rest.len().saturating_sub(trimmed.len()));
    }

    fn fail(&self, message: &str) -> JsonError {
        JsonError {
            at: self.at,
            message: format!("not valid JSON: {message}"),
        }
    }

    /// Skips white space and takes `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsonError> {
        if depth > MAX_DEPTH {
            return Err(self.fail("nested too deeply"));
        }
        self.skip_space();
        let at = self.at;
        let value = match self.peek() {
            Some(b'{') => self.table(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) | None => self.word()?,
        };
        Ok(Node { at, value })
    }

    fn table(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.advance(1);
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        if self.take(b'}') {
            return Ok(Value::Table(entries));
        }
        loop {
            self.skip_space();
            let at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.fail("expected a key in double quotes"));
            }
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                return Err(JsonError {
                    at,
                    message: format!("key `{}` is there twice", key.escape_debug()),
                });
            }
            if !self.take(b':') {
                return Err(self.fail("expected `:` after the key"));
            }
            let node = self.value(depth.saturating_add(1))?;
            entries.push(Entry { key, at, node });
            if self.take(b'}') {
                return Ok(Value::Table(entries));
            }
            if !self.take(b',') {
                return Err(self.fail("expected `,` or `}`"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.advance(1);
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth.saturating_add(1))?);
            if self.take(b']') {
                return Ok(Value::List(items));
            }
            if !self.take(b',') {
                return Err(self.fail("expected `,` or `]`"));
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().enumerate().skip(1).find_map(|(index, byte)| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends.then_some(index)
        });
        let token = end
            .and_then(|end| rest.get(..=end))
            .ok_or_else(|| self.fail("the string does not end"))?;
        let value = serde_json::from_str(token)
            .map_err(|_| self.fail("the string holds a bad escape or a bare control character"))?;
        self.advance(token.len());
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let token = rest.get(..end).unwrap_or_default();
        let number: serde_json::Number = serde_json::from_str(token)
            .map_err(|_| self.fail(&format!("`{token}` is not a number")))?;
        // Minus zero is a float: no integer stands for it.
        let value = if token == "-0" || token.contains(['.', 'e', 'E']) {
            number.as_f64().map(Value::Float)
        } else {
            number.as_i64().map(Value::Integer)
        };
        let value = value.ok_or_else(|| self.fail("the number does not fit into 64 bits"))?;
        self.advance(token.len());
        Ok(value)
    }

    fn word(&mut self) -> Result<Value, JsonError> {
        let words = [
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("null", Value::Null),
        ];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                self.advance(word.len());
                return Ok(value);
            }
        }
        Err(self.fail("expected a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<serde_json::Value> {
        parse(text).ok()?.value.to_json().ok()
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{a: 1}",
            "[1,]",
            "{\"a\":1,}",
            "[1 2]",
            "\"a",
            "\"\\x\"",
            "\"a\nb\"",
            "01",
            "-",
            "1.",
            "+1",
            ".5",
            "tru",
            "nul",
            "1 1",
            "{} x",
            "\"\\ud800\"",
            "[\"\\\"]",
            "'a'",
            "99999999999999999999",
            "1e999",
            "{\"a\":1,\"a\":1}",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse(&format!("{}{}", "[".repeat(90), "]".repeat(90))).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(80), "]".repeat(80))).is_ok());
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            any::<f64>().prop_map(serde_json::Value::from),
            any::<String>().prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let reference: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read(&text), Some(reference));
        }

        #[test]
        fn never_accepts_what_serde_json_refuses(text in "[\\[\\]{}\",:0-9eE+.\\-a-z\\\\ ]{0,24}") {
            if read(&text).is_some() {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
            }
        }
    }
}
