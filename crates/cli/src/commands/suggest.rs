//! Checks that make sense for the repository at hand.
//!
//! Every candidate is tried on the repository as it is. One that does not hold there would
//! blame each patch for what was there before, so it is written down as a comment with the
//! reason. Suites are not tried: they may take long.

use std::path::PathBuf;

use anyhow::anyhow;
use probity_core::spec::{Check, Spec};
use probity_core::verify::{Executor as _, Outcome, SpecSource, VerifyInput};
use probity_core::{Repo, RepoPath};
use probity_sandbox::runtime::Manifest;
use probity_sandbox::{Conditions, Sandbox, SpecExecutor};

use super::input::{self, SPEC_FILE, SpecInput};
use crate::cache::Cache;
use crate::failure::Failure;
use crate::report::escape;

const HEAD: &str = "\
# What must hold for a patch to this repository to be accepted: `probity verify --patch FILE`.
version = 1
description = \"\"

# What a patch may touch. Everything else is refused before anything runs.
[guard]
# allow = [\"src/**\", \"tests/**\"]   # default: everything that is not protected
# protect = [\"infra/**\"]           # besides CI, hooks and the verifier's own configuration
# max-files = 100
# max-changed-lines = 10000

# What each check may use; these are names of limits that reports use, too.
[budget]
# fuel = \"10G\"
# memory = \"512 MiB\"
# wall-time = \"60 s\"
";

/// One check, as text and, if it is tried, as it is run.
struct Candidate {
    /// What it is for.
    about: &'static str,
    /// The text of its `[[check]]` table.
    text: String,
    /// Whether it is cheap enough to be tried.
    tried: bool,
    /// Why it is written as a comment at once, if so.
    off: Option<String>,
}

/// The text of a spec for `repo`, and the same as a spec.
pub(crate) fn spec_for(
    repo: &Repo,
    sandbox: &Sandbox,
    cache: &Cache,
) -> Result<SpecInput, Failure> {
    let text = text_for(repo, sandbox, cache)?;
    let spec = parse(&text)?;
    Ok(SpecInput {
        spec,
        source: SpecSource::Default,
        files: input::spec_files(PathBuf::new()),
        folder: PathBuf::new(),
    })
}

fn parse(text: &str) -> Result<Spec, Failure> {
    Spec::parse(
        SPEC_FILE,
        text,
        &|_| Err("no file is named here".to_owned()),
    )
    .map_err(|errors| Failure::Host(anyhow!("{errors}")))
}

/// The text of a commented spec for `repo`.
pub(crate) fn text_for(repo: &Repo, sandbox: &Sandbox, cache: &Cache) -> Result<String, Failure> {
    let python_ready = Manifest::built_in()
        .unwrap_or_default()
        .iter()
        .any(|manifest| {
            manifest.name == "python" && cache.stores().runtimes.find(manifest).is_some()
        });
    let files = input::spec_files(PathBuf::new());
    let mut executor = SpecExecutor::new(
        sandbox.clone(),
        cache.stores(),
        files,
        Conditions::default(),
    );
    let mut out = HEAD.to_owned();
    for candidate in candidates(repo, python_ready) {
        let reason = match candidate.off {
            Some(reason) => Some(reason),
            None if candidate.tried => {
                let spec = parse(&format!("version = 1\n{}", candidate.text))?;
                spec.checks
                    .first()
                    .and_then(|check| objection(&mut executor, check, repo))
            }
            None => None,
        };
        out.push_str(&format!("\n# {}\n", candidate.about));
        match reason {
            None => out.push_str(&candidate.text),
            Some(reason) => {
                out.push_str(&format!("# Off: {reason}\n"));
                for line in candidate.text.lines() {
                    out.push_str(&format!("# {line}\n"));
                }
            }
        }
    }
    Ok(out)
}

/// Why a check does not hold on the repository as it is.
fn objection(executor: &mut SpecExecutor, check: &Check, repo: &Repo) -> Option<String> {
    let input = VerifyInput { repo, base: None };
    let report = executor.execute(check, input, &mut |_| {});
    match report.outcome {
        Outcome::Pass | Outcome::Skipped => None,
        Outcome::Fail | Outcome::Error => {
            let place = report
                .findings
                .iter()
                .find_map(|finding| finding.path.clone())
                .unwrap_or_default();
            let message: String = format!("{} {place}", report.message)
                .chars()
                .filter(|c| !c.is_control())
                .take(160)
                .collect();
            let message = escape::line(message.trim());
            Some(format!("it does not hold now ({message})"))
        }
    }
}

fn has_extension(repo: &Repo, extensions: &[&str]) -> bool {
    repo.files().iter().any(|(path, _)| {
        path.name()
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extensions.contains(&extension))
    })
}

fn candidates(repo: &Repo, python_ready: bool) -> Vec<Candidate> {
    let pack = |about, name: &str, pack: &str, check: &str, params: &str| Candidate {
        about,
        text: format!(
            "[[check]]\nname = \"{name}\"\nkind = \"pack\"\npack = \"{pack}\"\ncheck = \"{check}\"\nparams = {{ {params} }}\n"
        ),
        tried: true,
        off: None,
    };
    let mut out = vec![pack(
        "No file holds the markers of an unfinished merge.",
        "no-merge-markers",
        "hygiene",
        "merge-conflict-markers",
        "paths = [\"**\"]",
    )];
    for (language, extensions, globs) in [
        ("python", &["py"][..], "\"**/*.py\""),
        ("rust", &["rs"][..], "\"**/*.rs\""),
        (
            "javascript",
            &["js", "mjs", "cjs", "jsx", "ts", "tsx"][..],
            "\"**/*.js\", \"**/*.mjs\", \"**/*.cjs\", \"**/*.jsx\", \"**/*.ts\", \"**/*.tsx\"",
        ),
    ] {
        if has_extension(repo, extensions) {
            out.push(pack(
                "Every source file parses.",
                &format!("{language}-parses"),
                "source",
                "parses",
                &format!("paths = [{globs}]"),
            ));
        }
    }
    out.push(pack(
        "Text files end in a newline.",
        "final-newline",
        "text",
        "final-newline",
        "paths = [\"**\"]",
    ));
    out.extend(suite(repo, python_ready));
    out
}

/// The repository's own pytest suite, if it has one.
fn suite(repo: &Repo, python_ready: bool) -> Option<Candidate> {
    let is_test = |path: &RepoPath| {
        let name = path.name();
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    };
    let files = repo.files();
    let tests: Vec<&RepoPath> = files
        .iter()
        .map(|(path, _)| path)
        .filter(|path| is_test(path))
        .collect();
    if tests.is_empty() {
        return None;
    }
    let folder = ["tests", "test"]
        .into_iter()
        .find(|folder| tests.iter().any(|path| path.parts().next() == Some(folder)));
    let args = folder.map_or(String::new(), |folder| format!("args = [\"{folder}\"]\n"));
    let src = files
        .iter()
        .any(|(path, _)| path.as_str().starts_with("src/") && path.as_str().ends_with(".py"));
    let python_path = if src { "\"src\", \".\"" } else { "\".\"" };
    Some(Candidate {
        about: "The repository's own tests, in a WebAssembly guest. Name the expected tests with\n# `expect-from = [\"ids.txt\"]`, and packages that they need with `lock = \"requirements.lock\"`. Tests that\n# a patch changes or deletes are put back first, unless `tests-from = \"patched\"`.",
        text: format!(
            "[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\npython-path = [{python_path}]\n{args}expect = \"any\"\n"
        ),
        tried: false,
        off: (!python_ready)
            .then(|| "the runtime is not installed: `probity runtime add python`".to_owned()),
    })
}
