//! The parameters of one call of a check, read from one JSON object.
//!
//! **Invariant.** A [`Params`] that reaches a check holds only names that the check
//! declared and every name that it requires. Values are judged when they are read, and
//! each error names the parameter.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::nearest::nearest;
use crate::pack::CheckDef;

/// Why parameters were refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// The argument was not a JSON object.
    #[error("the parameters are not one JSON object: {reason}")]
    NotAnObject {
        /// What was wrong with it.
        reason: String,
    },
    /// A parameter that the check requires was not given.
    #[error("parameter `{name}` is missing")]
    Missing {
        /// Name of the parameter.
        name: String,
    },
    /// A parameter was given that the check does not know.
    #[error("parameter `{name}` is not known{}", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// Name of the parameter.
        name: String,
        /// The closest name that the check knows, if one is close.
        nearest: Option<String>,
    },
    /// The value does not fit the parameter.
    #[error("parameter `{name}` {reason}")]
    Invalid {
        /// Name of the parameter.
        name: String,
        /// What is wrong with the value, continuing "parameter `x` …".
        reason: String,
    },
}

impl ParamError {
    /// A value that does not fit; `reason` continues "parameter `x` …".
    pub fn invalid(name: &str, reason: impl Into<String>) -> Self {
        Self::Invalid {
            name: name.to_owned(),
            reason: reason.into(),
        }
    }
}

/// The parameters of one call, checked against the check's definition.
#[derive(Clone, Debug, Default)]
pub struct Params {
    values: Map<String, Value>,
}

impl Params {
    /// Parses `json` and checks its names against `def`.
    ///
    /// # Errors
    /// When `json` is not one object, a name is unknown or a required one is missing.
    pub fn parse(def: &CheckDef, json: &str) -> Result<Self, ParamError> {
        let value: Value = serde_json::from_str(json).map_err(|error| ParamError::NotAnObject {
            reason: error.to_string(),
        })?;
        let Value::Object(values) = value else {
            return Err(ParamError::NotAnObject {
                reason: format!("it is {}", kind_of(&value)),
            });
        };
        let known = || def.params().map(|(name, _)| name);
        if let Some(name) = values
            .keys()
            .find(|name| !known().any(|known| known == name.as_str()))
        {
            let nearest = nearest(name, known()).map(str::to_owned);
            return Err(ParamError::Unknown {
                name: name.clone(),
                nearest,
            });
        }
        let missing = def
            .params()
            .find(|(name, required)| *required && !values.contains_key(*name));
        match missing {
            Some((name, _)) => Err(ParamError::Missing {
                name: name.to_owned(),
            }),
            None => Ok(Self { values }),
        }
    }

    /// The value as it was given.
    pub fn json(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// A string that must be given and must not be empty.
    ///
    /// # Errors
    /// When it is missing, empty or not a string.
    pub fn text(&self, name: &str) -> Result<&str, ParamError> {
        self.optional_text(name)?
            .ok_or_else(|| ParamError::Missing {
                name: name.to_owned(),
            })
    }

    /// A string that may be left out but must not be empty.
    ///
    /// # Errors
    /// When it is empty or not a string.
    pub fn optional_text(&self, name: &str) -> Result<Option<&str>, ParamError> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => {
                Err(ParamError::invalid(name, "is empty"))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_kind(name, "a string", other)),
        }
    }

    /// A string or a list of strings; no string when it was left out.
    ///
    /// # Errors
    /// When it is of another kind, or an empty list, or holds an empty string.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>, ParamError> {
        let Some(Value::Array(items)) = self.values.get(name) else {
            return Ok(self.optional_text(name)?.into_iter().collect());
        };
        if items.is_empty() {
            return Err(ParamError::invalid(name, "is an empty list"));
        }
        items
            .iter()
            .map(|item| match item {
                Value::String(text) if text.is_empty() => {
                    Err(ParamError::invalid(name, "holds an empty string"))
                }
                Value::String(text) => Ok(text.as_str()),
                other => Err(wrong_kind(name, "a string or a list of strings", other)),
            })
            .collect()
    }

    /// `true` or `false`; false when it was left out.
    ///
    /// # Errors
    /// When it is of another kind.
    pub fn flag(&self, name: &str) -> Result<bool, ParamError> {
        match self.values.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(wrong_kind(name, "true or false", other)),
        }
    }

    /// A whole number from 0 that may be left out.
    ///
    /// # Errors
    /// When it is negative, has a fraction, passes 2^64 - 1 or is of another kind.
    pub fn count(&self, name: &str) -> Result<Option<u64>, ParamError> {
        match self.values.get(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(count) => Ok(Some(count)),
                None => Err(wrong_kind(name, "a whole number from 0", value)),
            },
        }
    }

    /// One of a few words, each with what it stands for; may be left out.
    ///
    /// # Errors
    /// When it is another word or of another kind.
    pub fn choice<T: Clone>(
        &self,
        name: &str,
        known: &[(&str, T)],
    ) -> Result<Option<T>, ParamError> {
        let Some(given) = self.optional_text(name)? else {
            return Ok(None);
        };
        if let Some((_, meaning)) = known.iter().find(|(word, _)| *word == given) {
            return Ok(Some(meaning.clone()));
        }
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        Err(ParamError::invalid(
            name,
            format!("is {given:?}, not one of {}", words.join(", ")),
        ))
    }
}

/// The end of a message that suggests `nearest`, or nothing.
pub(crate) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

fn wrong_kind(name: &str, wanted: &str, value: &Value) -> ParamError {
    ParamError::invalid(name, format!("is {}, expected {wanted}", kind_of(value)))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "another kind of number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Params, ParamError> {
        let def = CheckDef::new("c", "a check")
            .required("path", "p")
            .optional("max-bytes", "m");
        Params::parse(&def, json)
    }

    fn message(json: &str) -> String {
        parse(json)
            .map(drop)
            .map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
    }

    #[test]
    fn names_are_checked_against_the_definition() {
        assert_eq!(message(r#"{"path": "a"}"#), "accepted");
        assert_eq!(
            message(r#"{"max-bytes": 1}"#),
            "parameter `path` is missing"
        );
        assert_eq!(
            message(r#"{"path": "a", "max_bytes": 1}"#),
            "parameter `max_bytes` is not known; did you mean `max-bytes`?"
        );
        assert_eq!(
            message(r#"{"path": "a", "zzzzzzz": 1}"#),
            "parameter `zzzzzzz` is not known"
        );
        assert_eq!(
            message("[1]"),
            "the parameters are not one JSON object: it is a list"
        );
        assert!(message("{").starts_with("the parameters are not one JSON object: EOF"));
    }

    fn value(json: &str) -> Params {
        parse(&format!(r#"{{"path": {json}}}"#)).expect("the names are right")
    }

    #[test]
    fn texts_take_a_string_or_a_list() {
        assert_eq!(value(r#""a""#).texts("path"), Ok(vec!["a"]));
        assert_eq!(value(r#"["a", "b"]"#).texts("path"), Ok(vec!["a", "b"]));
        assert_eq!(value(r#""a""#).texts("max-bytes"), Ok(vec![]));
        for bad in [r#"[]"#, r#"[""]"#, r#""""#, "[1]", "1", "null", "{}"] {
            assert!(value(bad).texts("path").is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_and_flags_are_not_guessed_from_other_kinds() {
        assert_eq!(
            value("18446744073709551615").count("path"),
            Ok(Some(u64::MAX))
        );
        for bad in ["-1", "1.5", "18446744073709551616", r#""1""#, "true"] {
            assert!(value(bad).count("path").is_err(), "{bad}");
        }
        assert_eq!(value("true").flag("path"), Ok(true));
        assert!(value("1").flag("path").is_err());
        assert_eq!(value("1").flag("max-bytes"), Ok(false));
    }

    #[test]
    fn a_wrong_choice_lists_the_right_ones() {
        let known = [("lf", 1), ("crlf", 2)];
        assert_eq!(value(r#""crlf""#).choice("path", &known), Ok(Some(2)));
        let error = value(r#""clrf""#)
            .choice("path", &known)
            .expect_err("not a choice");
        assert_eq!(
            error.to_string(),
            "parameter `path` is \"clrf\", not one of lf, crlf"
        );
    }
}
