//! The suite in the sandbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::compare::Run;
use super::subject::Subject;
use crate::diffs::tree::Tree;
use crate::probity;

/// The binary with the wheels of every subject installed.
pub(super) struct Guest {
    binary: PathBuf,
}

impl Guest {
    pub(super) fn prepare(binary: PathBuf, subjects: &[Subject]) -> Result<Self> {
        let mut add = Command::new(&binary);
        add.args(["runtime", "add", "python"]);
        for subject in subjects {
            add.arg("--lock").arg(&subject.lock);
        }
        super::subject::quietly(&mut add)?;
        Ok(Self { binary })
    }

    /// Runs the subject's suite on the tree.
    pub(super) fn run(&self, subject: &Subject, tree: &Tree) -> Result<Run> {
        let scratch = tempfile::tempdir()?;
        let repo = scratch.path().join("repo");
        tree.write(&repo)?;
        fs::copy(&subject.lock, scratch.path().join("requirements.lock"))?;
        let spec = json!({
            "version": 1,
            "check": [{
                "name": "tests",
                "kind": "suite",
                "runner": "pytest",
                "lock": "requirements.lock",
                "python-path": subject.python_path,
                "args": subject.args,
                "expect": "any",
                "budget": {"fuel": "20T", "test-fuel": "2T", "wall-time": "40 min", "results": "512 MiB"},
            }],
        });
        let spec_file = scratch.path().join("probity.json");
        fs::write(&spec_file, serde_json::to_vec(&spec)?)?;
        let mut command = Command::new(&self.binary);
        command
            .args(["verify", "--json", "--no-ignore", "--repo"])
            .arg(&repo)
            .arg("--spec")
            .arg(&spec_file);
        let (document, seconds) = probity::verdict(&mut command)?;
        let mut run = read(&document)?;
        run.seconds = seconds;
        Ok(run)
    }
}

fn read(document: &Value) -> Result<Run> {
    let Some(tests) = document.pointer("/checks/0/tests").filter(|t| !t.is_null()) else {
        bail!(
            "the suite did not run: {}",
            document.pointer("/checks/0/message").unwrap_or(document)
        );
    };
    let text = |value: &Value, name: &str| {
        let found = value.get(name).and_then(Value::as_str);
        found.unwrap_or("").to_owned()
    };
    let list = |name: &str| {
        tests
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    Ok(Run {
        outcomes: list("tests")
            .map(|test| {
                let said = (text(test, "outcome"), text(test, "message"));
                (text(test, "id"), said)
            })
            .collect(),
        not_collected: list("collect_errors")
            .map(|error| (text(error, "id"), text(error, "message")))
            .collect(),
        finished: Some(true),
        seconds: 0.0,
    })
}

/// Says which runtime it was.
pub(super) fn runtime(binary: &Path) -> Result<String> {
    let output = Command::new(binary).args(["runtime", "list"]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
