//! A pack: its checks, and the command line by which a host enters it.
//!
//! **Invariants.** The exit code is 0, 1 or 2 (pass, fail, error); stdout holds nothing
//! but the listing or the findings; everything else goes to stderr. [`Pack::main`] is the
//! only place that reads the arguments and names the standard streams.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::finding::{Outcome, Report};
use crate::nearest::nearest;
use crate::params::{ParamError, Params, did_you_mean};
use crate::select;
use crate::tree::{Tree, TreeError};

/// What a check is made of: it looks at the tree, reads its parameters and reports.
pub type CheckFn = fn(&Tree, &Params, &mut Report) -> Result<(), CheckError>;

/// Why a check came to no outcome.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The parameters were refused.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The tree could not be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Something else kept the check from an outcome.
    #[error("{reason}")]
    Other {
        /// What it was.
        reason: String,
    },
}

/// The name, the purpose and the parameters of a check.
#[derive(Clone, Debug)]
pub struct CheckDef {
    name: &'static str,
    summary: &'static str,
    params: Vec<ParamDef>,
}

#[derive(Clone, Copy, Debug)]
struct ParamDef {
    name: &'static str,
    required: bool,
    about: &'static str,
}

impl CheckDef {
    /// Names a check (kebab-case) and says in one sentence when it passes.
    pub fn new(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            params: Vec::new(),
        }
    }

    /// Declares a parameter that every call must give.
    #[must_use]
    pub fn required(self, name: &'static str, about: &'static str) -> Self {
        self.param(name, true, about)
    }

    /// Declares a parameter that may be left out; `about` should say the default.
    #[must_use]
    pub fn optional(self, name: &'static str, about: &'static str) -> Self {
        self.param(name, false, about)
    }

    /// Declares `paths`, `exclude` and `allow-empty`, which [`Selection`] reads.
    ///
    /// [`Selection`]: crate::Selection
    #[must_use]
    pub fn selects_files(self) -> Self {
        select::PARAMS
            .iter()
            .fold(self, |def, (name, required, about)| {
                def.param(name, *required, about)
            })
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of the parameters in the order of their declaration, and whether each is required.
    pub fn params(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.params.iter().map(|param| (param.name, param.required))
    }

    fn param(mut self, name: &'static str, required: bool, about: &'static str) -> Self {
        self.params.push(ParamDef {
            name,
            required,
            about,
        });
        self
    }

    fn describe(&self) -> Value {
        let params: Map<String, Value> = self
            .params
            .iter()
            .map(|param| {
                (
                    param.name.to_owned(),
                    json!({"required": param.required, "about": param.about}),
                )
            })
            .collect();
        json!({"check": self.name, "summary": self.summary, "params": params})
    }
}

/// A set of checks under one name.
#[derive(Clone, Debug)]
pub struct Pack {
    name: &'static str,
    checks: Vec<(CheckDef, CheckFn)>,
}

impl Pack {
    /// The exit code of a check that passed.
    pub const PASS: u8 = 0;
    /// The exit code of a check that failed.
    pub const FAIL: u8 = 1;
    /// The exit code when there is no outcome.
    pub const ERROR: u8 = 2;

    /// Makes a pack without checks; `name` appears in messages on stderr.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            checks: Vec::new(),
        }
    }

    /// Adds a check. Of two checks with one name the first is run.
    #[must_use]
    pub fn check(mut self, def: CheckDef, run: CheckFn) -> Self {
        self.checks.push((def, run));
        self
    }

    /// The definitions of the checks in the order in which they were added.
    pub fn checks(&self) -> impl Iterator<Item = &CheckDef> {
        self.checks.iter().map(|(def, _)| def)
    }

    /// Serves the process's own command line on the tree at [`Tree::MOUNT`].
    pub fn main(&self) -> ExitCode {
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let tree = Tree::new(Tree::MOUNT);
        let mut stdout = io::BufWriter::new(io::stdout().lock());
        ExitCode::from(self.serve(&arguments, &tree, &mut stdout, &mut io::stderr().lock()))
    }

    /// Serves one command line, given without the program's name, and returns the exit code.
    pub fn serve(
        &self,
        arguments: &[OsString],
        tree: &Tree,
        stdout: &mut dyn Write,
        stderr: &mut dyn Write,
    ) -> u8 {
        let arguments: Option<Vec<&str>> =
            arguments.iter().map(|argument| argument.to_str()).collect();
        let result = match arguments.as_deref() {
            Some(["list"]) => self.list(stdout),
            Some(["run", check, params]) => self.run_and_print(check, params, tree, stdout),
            Some(_) => Err(format!(
                "usage: {0} list | {0} run CHECK PARAMS_JSON",
                self.name
            )),
            None => Err("an argument is not UTF-8".to_owned()),
        };
        result.unwrap_or_else(|message| {
            // Without a stderr the exit code alone has to tell.
            let _ = writeln!(stderr, "{}: {message}", self.name);
            Self::ERROR
        })
    }

    /// Runs one check and returns its report. The way in for tests of a pack.
    ///
    /// # Errors
    /// When the check is not known, its parameters are refused or it came to no outcome.
    pub fn run(&self, check: &str, params: &str, tree: &Tree) -> Result<Report, CheckError> {
        let Some((def, run)) = self.checks.iter().find(|(def, _)| def.name == check) else {
            let hint = did_you_mean(nearest(check, self.checks().map(CheckDef::name)));
            return Err(CheckError::Other {
                reason: format!("check `{check}` is not known{hint}"),
            });
        };
        let mut report = Report::new();
        run(tree, &Params::parse(def, params)?, &mut report)?;
        Ok(report)
    }

    fn list(&self, stdout: &mut dyn Write) -> Result<u8, String> {
        self.checks()
            .try_for_each(|def| writeln!(stdout, "{}", def.describe()))
            .and_then(|()| stdout.flush())
            .map_err(|error| format!("cannot write the listing: {error}"))?;
        Ok(Self::PASS)
    }

    fn run_and_print(
        &self,
        check: &str,
        params: &str,
        tree: &Tree,
        stdout: &mut dyn Write,
    ) -> Result<u8, String> {
        let report = self.run(check, params, tree).map_err(|error| {
            let mut message = format!("{check}: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                message = format!("{message}: {cause}");
                source = cause.source();
            }
            message
        })?;
        report
            .write(stdout)
            .map_err(|error| format!("{check}: cannot write the findings: {error}"))?;
        Ok(match report.outcome() {
            Outcome::Pass => Self::PASS,
            Outcome::Fail => Self::FAIL,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;

    fn has_file(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
        let path = params.text("path")?;
        match tree.kind(path)? {
            Some(_) => report.note(Place::file(path), "is there"),
            None => report.error(Place::file(path), "is not there"),
        }
        Ok(())
    }

    /// Serves a command line on a tree that holds one file, `here`.
    fn served(arguments: &[&str]) -> (u8, String, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("here"), "").expect("a file");
        let pack = Pack::new("demo").check(
            CheckDef::new("has-file", "the file exists").required("path", "its path"),
            has_file,
        );
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = pack.serve(&arguments, &Tree::new(folder.path()), &mut out, &mut err);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (code, text(out), text(err))
    }

    #[test]
    fn list_prints_one_json_line_per_check() {
        let line = r#"{"check":"has-file","params":{"path":{"about":"its path","required":true}},"summary":"the file exists"}"#;
        let (code, out, err) = served(&["list"]);
        assert_eq!((code, err.as_str()), (0, ""));
        let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        assert_eq!(parsed(&out), parsed(line));
        assert_eq!(out.lines().count(), 1);
    }

    #[test]
    fn the_exit_code_is_the_outcome() {
        let (code, out, err) = served(&["run", "has-file", r#"{"path": "here"}"#]);
        assert_eq!((code, err.as_str()), (Pack::PASS, ""));
        assert_eq!(
            out,
            "{\"level\":\"note\",\"path\":\"here\",\"message\":\"is there\"}\n"
        );

        let (code, out, err) = served(&["run", "has-file", r#"{"path": "gone"}"#]);
        assert_eq!((code, err.as_str()), (Pack::FAIL, ""));
        assert_eq!(
            out,
            "{\"level\":\"error\",\"path\":\"gone\",\"message\":\"is not there\"}\n"
        );
    }

    #[test]
    fn errors_leave_stdout_empty_and_say_why() {
        let cases: &[(&[&str], &str)] = &[
            (&[], "demo: usage: demo list | demo run CHECK PARAMS_JSON\n"),
            (
                &["list", "more"],
                "demo: usage: demo list | demo run CHECK PARAMS_JSON\n",
            ),
            (
                &["run", "hasfile", "{}"],
                "demo: hasfile: check `hasfile` is not known; did you mean `has-file`?\n",
            ),
            (
                &["run", "has-file", "{}"],
                "demo: has-file: parameter `path` is missing\n",
            ),
            (
                &["run", "has-file", r#"{"path": "here", "pth": 1}"#],
                "demo: has-file: parameter `pth` is not known; did you mean `path`?\n",
            ),
            (
                &["run", "has-file", r#"{"path": "../here"}"#],
                "demo: has-file: the path \"../here\" holds an empty part, `.` or `..`\n",
            ),
        ];
        for (arguments, expected) in cases {
            let (code, out, err) = served(arguments);
            assert_eq!(
                (code, out.as_str(), err.as_str()),
                (Pack::ERROR, "", *expected),
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn a_stream_that_takes_nothing_is_an_error_not_a_pass() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let pack =
            Pack::new("demo").check(CheckDef::new("noisy", "says something"), |_, _, report| {
                report.note(Place::Whole, "something");
                Ok(())
            });
        let arguments = ["run", "noisy", "{}"].map(OsString::from);
        let code = pack.serve(&arguments, &Tree::new("."), &mut Full, &mut Full);
        assert_eq!(code, Pack::ERROR);
    }
}
