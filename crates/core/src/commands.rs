//! Named templates that expand to a spec.
//!
//! A template is a `probity.toml` whose strings hold placeholders, `{{name}}`. It is parsed
//! first and filled in after, string by string, so that no parameter can add a key, close
//! a string or change what surrounds it. Where a string is a pattern (`pattern`,
//! `forbid-added`) or a glob (`allow`, `protect`) the parameter is escaped for it, so that
//! `module = "**"` means a file of that name; elsewhere, such as in the parameters of a
//! pack, `{{name|regex}}` and `{{name|glob}}` ask for that.
//!
//! Deliberately absent: conditions, loops, defaults, and a way to write a literal `{{`.

use std::collections::{BTreeMap, BTreeSet};

use crate::spec::{Node, Resolve, Source, Spec, SpecErrors, Value, nearest, parse_document};

/// Longest value of a parameter, in bytes.
pub const MAX_VALUE: usize = 4096;

/// A named template with the parameters that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name: lower-case letters, digits and hyphens, starting with a letter.
    pub name: String,
    /// What it is for, in one line.
    pub about: String,
    /// Its parameters, all required, in the order in which help lists them.
    pub params: Vec<Param>,
    /// The template, in TOML.
    pub template: String,
}

/// A parameter of a [`Command`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name: lower-case letters, digits and hyphens, starting with a letter.
    pub name: String,
    /// What it means, in one line.
    pub about: String,
}

/// A command was not expanded, or not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No command has this name.
    #[error("unknown command `{}`", name.escape_debug())]
    UnknownCommand {
        /// The name as given.
        name: String,
        /// The nearest name that there is.
        nearest: Option<String>,
    },
    /// Parameters are missing.
    #[error("`{command}` needs {}", names.join(", "))]
    MissingParameters {
        /// The command.
        command: String,
        /// Every missing parameter.
        names: Vec<String>,
    },
    /// The command has no such parameter.
    #[error("`{command}` has no parameter `{}`", name.escape_debug())]
    UnknownParameter {
        /// The command.
        command: String,
        /// The name as given.
        name: String,
        /// The nearest name that there is.
        nearest: Option<String>,
    },
    /// The value of a parameter cannot be used.
    #[error("`{name}` of `{command}` {reason}")]
    InvalidValue {
        /// The command.
        command: String,
        /// The parameter.
        name: String,
        /// What is wrong, continuing "`x` …".
        reason: &'static str,
    },
    /// The command itself is not well-formed.
    #[error("the command `{command}` is not well-formed: {reason}")]
    Malformed {
        /// The command.
        command: String,
        /// What is wrong.
        reason: String,
    },
    /// The filled-in template is not a valid spec; places are those of the template.
    #[error(transparent)]
    Spec(#[from] SpecErrors),
}

/// Commands by name.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    commands: BTreeMap<String, Command>,
}

impl Registry {
    /// A registry without commands.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry with the commands that come with Probity: `add-function`.
    #[must_use]
    pub fn built_in() -> Self {
        let command = add_function();
        Self {
            commands: BTreeMap::from([(command.name.clone(), command)]),
        }
    }

    /// Adds a command.
    ///
    /// # Errors
    /// When its name is taken or not a name, its template is not TOML, a placeholder names
    /// no parameter, or a parameter has no placeholder.
    pub fn add(&mut self, command: Command) -> Result<(), CommandError> {
        if self.commands.contains_key(&command.name) {
            return Err(command.malformed("its name is taken"));
        }
        command.check()?;
        self.commands.insert(command.name.clone(), command);
        Ok(())
    }

    /// Every command, sorted by name.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.values()
    }

    /// The command called `name`.
    ///
    /// # Errors
    /// When there is none; the error names the nearest.
    pub fn get(&self, name: &str) -> Result<&Command, CommandError> {
        self.commands
            .get(name)
            .ok_or_else(|| CommandError::UnknownCommand {
                name: name.to_owned(),
                nearest: nearest(name, self.commands.keys().map(String::as_str)).map(str::to_owned),
            })
    }

    /// Expands the command called `name` to a spec.
    ///
    /// # Errors
    /// When there is no such command, or as [`Command::expand`].
    pub fn expand(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        resolve: &Resolve<'_>,
    ) -> Result<Spec, CommandError> {
        self.get(name)?.expand(arguments, resolve)
    }
}

impl Command {
    /// Fills in the template and reads the spec. `resolve` fetches files that it names.
    ///
    /// # Errors
    /// When a parameter is missing, unknown, longer than [`MAX_VALUE`] or holds a control
    /// character, or the result is not a valid spec.
    pub fn expand(
        &self,
        arguments: &BTreeMap<String, String>,
        resolve: &Resolve<'_>,
    ) -> Result<Spec, CommandError> {
        self.check_arguments(arguments)?;
        let source = self.source();
        let mut document = parse_document(source)?;
        self.fill(&mut document, Escape::Plain, &mut |name| {
            arguments.get(name).map(String::as_str)
        })?;
        Ok(Spec::from_document(source, &document, resolve)?)
    }

    fn source(&self) -> Source<'_> {
        Source {
            file: &self.name,
            text: &self.template,
        }
    }

    fn malformed(&self, reason: impl Into<String>) -> CommandError {
        CommandError::Malformed {
            command: self.name.clone(),
            reason: reason.into(),
        }
    }

    fn check(&self) -> Result<(), CommandError> {
        let names = self.params.iter().map(|param| param.name.as_str());
        for name in names.chain([self.name.as_str()]) {
            if !is_name(name) {
                let reason = format!("`{}` is not a name", name.escape_debug());
                return Err(self.malformed(reason));
            }
        }
        let mut used = BTreeSet::new();
        let mut document = parse_document(self.source())?;
        self.fill(&mut document, Escape::Plain, &mut |name| {
            used.insert(name.to_owned());
            Some("")
        })?;
        let declared: BTreeSet<String> =
            self.params.iter().map(|param| param.name.clone()).collect();
        if declared.len() != self.params.len() {
            return Err(self.malformed("a parameter is declared twice"));
        }
        match used.symmetric_difference(&declared).next() {
            None => Ok(()),
            Some(name) if declared.contains(name) => {
                Err(self.malformed(format!("the template does not use `{name}`")))
            }
            Some(name) => Err(self.malformed(format!("`{name}` is no parameter of it"))),
        }
    }

    fn check_arguments(&self, arguments: &BTreeMap<String, String>) -> Result<(), CommandError> {
        let known = || self.params.iter().map(|param| param.name.as_str());
        for (name, value) in arguments {
            if !known().any(|known| known == name) {
                return Err(CommandError::UnknownParameter {
                    command: self.name.clone(),
                    name: name.clone(),
                    nearest: nearest(name, known()).map(str::to_owned),
                });
            }
            let reason = if value.is_empty() {
                "is empty"
            } else if value.len() > MAX_VALUE {
                "is longer than 4096 bytes"
            } else if value.chars().any(char::is_control) {
                "holds a control character"
            } else {
                continue;
            };
            return Err(CommandError::InvalidValue {
                command: self.name.clone(),
                name: name.clone(),
                reason,
            });
        }
        let names: Vec<String> = known()
            .filter(|name| !arguments.contains_key(*name))
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(CommandError::MissingParameters {
            command: self.name.clone(),
            names,
        })
    }

    /// Fills in every string at and below `node`.
    fn fill<'v>(
        &self,
        node: &mut Node,
        escape: Escape,
        value: &mut dyn FnMut(&str) -> Option<&'v str>,
    ) -> Result<(), CommandError> {
        match &mut node.value {
            Value::Text(text) => {
                *text = self.filled(text, escape, value)?;
            }
            Value::List(items) => {
                for item in items {
                    self.fill(item, escape, value)?;
                }
            }
            Value::Table(entries) => {
                for entry in entries {
                    if entry.key.contains("{{") {
                        return Err(self.malformed("a key holds a placeholder"));
                    }
                    self.fill(&mut entry.node, Escape::of_key(&entry.key), value)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Time(_) => {
            }
        }
        Ok(())
    }

    fn filled<'v>(
        &self,
        text: &str,
        escape: Escape,
        value: &mut dyn FnMut(&str) -> Option<&'v str>,
    ) -> Result<String, CommandError> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            out.push_str(before);
            let (inside, after) = after
                .split_once("}}")
                .ok_or_else(|| self.malformed("`{{` without `}}`"))?;
            let (name, escape) = match inside.split_once('|').map(|(n, f)| (n, f.trim())) {
                None => (inside, escape),
                Some((name, "regex")) => (name, Escape::Regex),
                Some((name, "glob")) => (name, Escape::Glob),
                Some((_, filter)) => {
                    let reason = format!("`{}` is no filter (regex, glob)", filter.escape_debug());
                    return Err(self.malformed(reason));
                }
            };
            let name = name.trim();
            let value = value(name).ok_or_else(|| {
                self.malformed(format!("`{}` is no parameter of it", name.escape_debug()))
            })?;
            out.push_str(&escape.apply(value));
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// What a filled-in value must not be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Plain,
    Regex,
    Glob,
}

impl Escape {
    fn of_key(key: &str) -> Self {
        match key {
            "pattern" | "forbid-added" => Self::Regex,
            "allow" | "protect" => Self::Glob,
            _ => Self::Plain,
        }
    }

    fn apply(self, value: &str) -> String {
        match self {
            Self::Plain => value.to_owned(),
            Self::Regex => regex::escape(value),
            Self::Glob => globset::escape(value),
        }
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn add_function() -> Command {
    let param = |name: &str, about: &str| Param {
        name: name.to_owned(),
        about: about.to_owned(),
    };
    Command {
        name: "add-function".to_owned(),
        about: "a file defines a function that returns an expression".to_owned(),
        params: vec![
            param(
                "module",
                "path of the file, the only one that a patch may touch",
            ),
            param("name", "name of the function"),
            param("returns", "the expression, as it stands after `return`"),
        ],
        template: include_str!("commands/add-function.toml").to_owned(),
    }
}
