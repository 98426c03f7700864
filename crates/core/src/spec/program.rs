//! Programs that must print, write and return what is expected.

use serde::Serialize;

use super::CaseName;
use super::cases;
use super::document::{Node, Value};
use super::error::Sink;
use super::expected::{ExpectedText, expected_of, text_of};
use super::fields::{Fields, Located};
use super::interpreter::{self, Interpreter};
use super::kinds::{Context, repo_path};
use crate::RepoPath;

/// Most files that a case gives or expects.
const MAX_FILES: usize = 1000;

/// A program of the repository does what is expected, run by run. Each run has an instance of
/// its own; what it printed and wrote is compared outside.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProgramCheck {
    /// What runs.
    pub program: Program,
    /// Whether reports keep inputs and expected values to themselves. Default `false`.
    pub hidden: bool,
    /// The runs; at least one.
    pub cases: Vec<ProgramCase>,
}

/// What a program check runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// Python, with a script or `-m` and a module as its first arguments.
    Python {
        /// The interpreter.
        #[serde(flatten)]
        interpreter: Interpreter,
        /// Its arguments, to which those of a case are added; at least one.
        argv: Vec<String>,
    },
    /// A WASI command that the repository holds.
    Module {
        /// The `.wasm` file.
        path: RepoPath,
        /// Its arguments without its name, to which those of a case are added.
        argv: Vec<String>,
    },
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProgramCase {
    /// Its name in reports; `None` for its number.
    pub name: CaseName,
    /// Arguments after those of the check.
    pub argv: Vec<String>,
    /// Standard input. Default empty.
    pub stdin: String,
    /// Files laid over the repository.
    pub files: Vec<(RepoPath, String)>,
    /// The exit code that it must end with. Default 0.
    pub exit_code: u8,
    /// What standard output must be; `None` for anything.
    pub stdout: Option<ExpectedText>,
    /// What standard error must be; `None` for anything.
    pub stderr: Option<ExpectedText>,
    /// What files must be afterwards.
    pub expect_files: Vec<(RepoPath, ExpectedText)>,
}

/// Reads the keys of `kind = "program"`.
pub(super) fn read(
    fields: &mut Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<ProgramCheck> {
    let program = program(fields, sink);
    let hidden = fields
        .flag(sink, "hidden")
        .is_some_and(|hidden| hidden.value);
    let cases = cases::read(fields, context, sink, &mut case);
    Some(ProgramCheck {
        program: program?,
        hidden,
        cases: cases?,
    })
}

fn program(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Program> {
    let argv = arguments(fields, sink);
    if let Some(text) = fields.text(sink, "module") {
        let path = repo_path(&text, sink)?;
        return Some(Program::Module { path, argv });
    }
    let interpreter = interpreter::read(fields, sink);
    let first = argv.first().map(String::as_str);
    let names_a_program = match first {
        None | Some("") => false,
        Some("-m") => argv.len() > 1,
        Some(first) => !first.starts_with('-'),
    };
    if !names_a_program {
        let hint = "write `[\"-m\", \"module\"]` or `[\"script.py\"]`, or name a WASI command as \
            `module`";
        let message = "`argv` must begin with what Python is to run";
        sink.report(
            fields.at(),
            fields.path_of("argv"),
            message,
            Some(hint.to_owned()),
        );
        return None;
    }
    Some(Program::Python {
        interpreter: interpreter?,
        argv,
    })
}

fn arguments(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Vec<String> {
    let texts = fields.texts(sink, "argv").unwrap_or_default();
    for text in texts.iter().filter(|text| text.value.contains('\0')) {
        let message = "an argument cannot hold NUL";
        sink.report(text.at, text.path.clone(), message, None);
    }
    texts.iter().map(|text| text.value.to_owned()).collect()
}

fn case(
    fields: &mut Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<ProgramCase> {
    let problems = sink.count();
    let name = CaseName::read(fields, sink);
    let argv = arguments(fields, sink);
    let stdin = match fields.node("stdin") {
        None => Some(String::new()),
        Some(node) => text_of(node, &fields.path_of("stdin"), context, sink),
    };
    let files = files_of(fields, "files", context, sink, text_of);
    let exit_code = exit_code(fields, sink);
    let mut stream = |key| {
        let node = fields.node(key)?;
        expected_of(node, &fields.path_of(key), context, sink)
    };
    let (stdout, stderr) = (stream("stdout"), stream("stderr"));
    let expect_files = files_of(fields, "expect-files", context, sink, expected_of);
    (sink.count() == problems).then_some(ProgramCase {
        name,
        argv,
        stdin: stdin?,
        files,
        exit_code: exit_code?,
        stdout,
        stderr,
        expect_files,
    })
}

fn exit_code(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<u8> {
    let Some(code) = fields.count(sink, "exit-code") else {
        return Some(0);
    };
    let found = u8::try_from(code.value).ok();
    if found.is_none() {
        sink.report(code.at, code.path, "`exit-code` must be 0 to 255", None);
    }
    found
}

/// Reads a table of files by their paths, what each holds by `read`.
fn files_of<T>(
    fields: &mut Fields<'_>,
    key: &'static str,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
    read: impl Fn(&Node, &str, &Context<'_>, &mut Sink<'_>) -> Option<T>,
) -> Vec<(RepoPath, T)> {
    let Some(node) = fields.node(key) else {
        return Vec::new();
    };
    let path = fields.path_of(key);
    let Value::Table(entries) = &node.value else {
        let message = format!(
            "`{key}` must be a table of paths, not {}",
            node.value.describe()
        );
        sink.report(node.at, path, message, None);
        return Vec::new();
    };
    if entries.len() > MAX_FILES {
        let message = format!("`{key}` names more than {MAX_FILES} files");
        sink.report(node.at, path, message, None);
        return Vec::new();
    }
    let mut files: Vec<(RepoPath, T)> = entries
        .iter()
        .filter_map(|entry| {
            let place = Located {
                value: entry.key.as_str(),
                at: entry.at,
                path: format!("{path}.{}", entry.key),
            };
            let name = repo_path(&place, sink)?;
            Some((name, read(&entry.node, &place.path, context, sink)?))
        })
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}
