//! Compares what came out of a guest with what was expected.
//!
//! Values are JSON and compared as data: nothing of what is compared is ever run or asked.
//! A message names the first place that differs.

use serde_json::{Number, Value};

use crate::spec::ExpectedText;

/// Longest piece of a value in a message, in characters.
const SHOWN: usize = 200;

/// Where and how a value differs from what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The place in the value, such as `[2].name`; empty for the whole value.
    pub place: String,
    /// What is wrong there, in one line. Quotes both values.
    pub message: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "at {}: {}", self.place, self.message)
        }
    }
}

/// The first difference of two JSON values, if there is one.
///
/// Numbers are equal if their values are, `3` and `3.0` too; with a `tolerance` t above 0
/// also if they are at most t × max(1, |expected|) apart. `true` is no number. Objects are
/// equal if their keys and values are, in any order.
#[must_use]
pub fn difference(expected: &Value, found: &Value, tolerance: f64) -> Option<Difference> {
    let mut place = String::new();
    let message = differs(expected, found, tolerance, &mut place)?;
    Some(Difference { place, message })
}

/// What differs; then `place` leads there.
fn differs(expected: &Value, found: &Value, tolerance: f64, place: &mut String) -> Option<String> {
    match (expected, found) {
        (Value::Number(a), Value::Number(b)) if are_near(a, b, tolerance) => None,
        (Value::Array(a), Value::Array(b)) => {
            let before = place.len();
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                place.push_str(&format!("[{index}]"));
                if let Some(message) = differs(a, b, tolerance, place) {
                    return Some(message);
                }
                place.truncate(before);
            }
            (a.len() != b.len()).then(|| format!("{} items, not {}", b.len(), a.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let before = place.len();
            for (key, a) in a {
                let Some(b) = b.get(key) else {
                    return Some(format!("the key {} is missing", shown_text(key)));
                };
                place.push_str(&format!(".{}", shown_text(key)));
                if let Some(message) = differs(a, b, tolerance, place) {
                    return Some(message);
                }
                place.truncate(before);
            }
            let more = b.keys().find(|key| !a.contains_key(*key))?;
            Some(format!("the key {} is too much", shown_text(more)))
        }
        (a, b) if a == b => None,
        (a, b) => Some(format!("{}, not {}", shown(b), shown(a))),
    }
}

/// Whether two numbers are equal, or near enough.
fn are_near(expected: &Number, found: &Number, tolerance: f64) -> bool {
    if let (Some(a), Some(b)) = (whole(expected), whole(found)) {
        if a == b {
            return true;
        }
        // Without a tolerance, and beyond the precision of floats, only this is equality.
        if tolerance == 0.0 {
            return false;
        }
    }
    match (expected.as_f64(), found.as_f64()) {
        (Some(a), Some(b)) => is_near(a, b, tolerance),
        _ => false,
    }
}

fn whole(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

fn is_near(expected: f64, found: f64, tolerance: f64) -> bool {
    expected == found || (expected - found).abs() <= tolerance * expected.abs().max(1.0)
}

/// How a text differs from what was expected, in one line, if it does.
#[must_use]
pub fn text_difference(expected: &ExpectedText, found: &[u8]) -> Option<String> {
    match expected {
        ExpectedText::Text(text) => {
            (text.as_bytes() != found).then(|| first_line_that_differs(text.as_bytes(), found))
        }
        ExpectedText::Pattern(pattern) => (!pattern.is_match(found)).then(|| {
            format!(
                "{} is not matched by `{}`",
                shown_bytes(found),
                pattern.as_str()
            )
        }),
        ExpectedText::Json { value, tolerance } => match serde_json::from_slice(found) {
            Ok(json) => difference(value, &json, *tolerance).map(|found| found.to_string()),
            Err(error) => Some(format!("{} is not JSON: {error}", shown_bytes(found))),
        },
        ExpectedText::Numbers { text, tolerance } => words_differ(text, found, *tolerance),
    }
}

/// Compares word by word: two words that are numbers may differ by the tolerance.
fn words_differ(expected: &str, found: &[u8], tolerance: f64) -> Option<String> {
    let Ok(found) = std::str::from_utf8(found) else {
        return Some("it is not UTF-8".to_owned());
    };
    let mut words = found.split_whitespace();
    for (index, wanted) in expected.split_whitespace().enumerate() {
        let number = index.saturating_add(1);
        let Some(word) = words.next() else {
            return Some(format!("word {number} is missing: {}", shown_text(wanted)));
        };
        let near = match (wanted.parse::<f64>(), word.parse::<f64>()) {
            (Ok(a), Ok(b)) => wanted == word || is_near(a, b, tolerance),
            _ => wanted == word,
        };
        if !near {
            return Some(format!(
                "word {number} is {}, not {}",
                shown_text(word),
                shown_text(wanted)
            ));
        }
    }
    words
        .next()
        .map(|word| format!("{} is too much", shown_text(word)))
}

fn first_line_that_differs(expected: &[u8], found: &[u8]) -> String {
    let split = |text| <[u8]>::split_inclusive(text, |byte: &u8| *byte == b'\n');
    let (mut a, mut b) = (split(expected), split(found));
    let mut number = 0_u64;
    loop {
        number = number.saturating_add(1);
        match (a.next(), b.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                return format!(
                    "line {number} is {}, not {}",
                    shown_bytes(b),
                    shown_bytes(a)
                );
            }
            (Some(a), None) => return format!("line {number} is missing: {}", shown_bytes(a)),
            (None, Some(b)) => return format!("line {number} is too much: {}", shown_bytes(b)),
            (None, None) => return "it differs".to_owned(),
        }
    }
}

/// A value for people, as compact JSON.
pub(super) fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

fn shown_bytes(bytes: &[u8]) -> String {
    shown_text(&String::from_utf8_lossy(bytes))
}

fn shown_text(text: &str) -> String {
    cut(&format!("{text:?}"))
}

/// The beginning of a text. Long ones are cut before they are looked at whole.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn differs(expected: Value, found: Value, tolerance: f64) -> Option<String> {
        difference(&expected, &found, tolerance).map(|found| found.to_string())
    }

    #[test]
    fn equal_values_have_no_difference() {
        for (a, b) in [
            (json!(null), json!(null)),
            (json!(3), json!(3.0)),
            (json!(0.0), json!(-0.0)),
            (
                json!({"a": [1, "x"], "b": true}),
                json!({"b": true, "a": [1, "x"]}),
            ),
            (json!(u64::MAX), json!(u64::MAX)),
        ] {
            assert_eq!(differs(a.clone(), b.clone(), 0.0), None, "{a} {b}");
        }
    }

    #[test]
    fn differences_name_their_place() {
        for (a, b, wanted) in [
            (json!(1), json!(true), "true, not 1"),
            (json!(1), json!("1"), "\"1\", not 1"),
            (json!([1, 2]), json!([1]), "1 items, not 2"),
            (
                json!({"a": [0, {"b": 1}]}),
                json!({"a": [0, {"b": 2}]}),
                "at .\"a\"[1].\"b\": 2, not 1",
            ),
            (json!({"a": 1}), json!({}), "the key \"a\" is missing"),
            (json!({}), json!({"a": 1}), "the key \"a\" is too much"),
            (
                json!(9_007_199_254_740_993_i64),
                json!(9_007_199_254_740_992_i64),
                "9007199254740992, not 9007199254740993",
            ),
        ] {
            assert_eq!(differs(a, b, 0.0).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn a_tolerance_is_absolute_below_one_and_relative_above() {
        assert_eq!(differs(json!(0.1), json!(0.100_000_1), 1e-6), None);
        assert!(differs(json!(0.1), json!(0.100_01), 1e-6).is_some());
        assert_eq!(differs(json!(1e9), json!(1_000_000_100), 1e-6), None);
        assert!(differs(json!(1e9), json!(1_000_010_000), 1e-6).is_some());
        assert_eq!(differs(json!(3), json!(4), 0.5), None);
    }

    #[test]
    fn texts_are_compared_as_they_are_asked_to_be() {
        let text = |text: &str| ExpectedText::Text(text.to_owned());
        assert_eq!(text_difference(&text("a\nb\n"), b"a\nb\n"), None);
        assert_eq!(
            text_difference(&text("a\nb\n"), b"a\nc\n").as_deref(),
            Some("line 2 is \"c\\n\", not \"b\\n\"")
        );
        assert_eq!(
            text_difference(&text("a\n"), b"a\nb").as_deref(),
            Some("line 2 is too much: \"b\"")
        );
        assert_eq!(
            text_difference(&text("a\nb"), b"a\n").as_deref(),
            Some("line 2 is missing: \"b\"")
        );
        let numbers = ExpectedText::Numbers {
            text: "mean 1.5 ok".to_owned(),
            tolerance: 0.01,
        };
        assert_eq!(text_difference(&numbers, b"mean  1.501\nok"), None);
        for wrong in ["mean 1.6 ok", "mean 1.5", "mean 1.5 ok ok", "Mean 1.5 ok"] {
            assert!(
                text_difference(&numbers, wrong.as_bytes()).is_some(),
                "{wrong}"
            );
        }
        let json = ExpectedText::Json {
            value: json!({"a": 1}),
            tolerance: 0.0,
        };
        assert_eq!(text_difference(&json, b" {\"a\": 1.0} "), None);
        assert!(text_difference(&json, b"{'a': 1}").is_some());
    }

    #[test]
    fn long_values_are_cut_in_messages() {
        let message = differs(json!("a".repeat(5000)), json!(1), 0.0).unwrap();
        assert!(message.len() < 300, "{}", message.len());
    }
}
