//! All tests, with everything that they need.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::{probity, root};

/// Builds, installs the runtimes that suite tests use, and runs the tests.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let binary = probity::build()?;
    for runtime in ["python", "python-3.12"] {
        crate::run(Command::new(&binary).args(["runtime", "add", runtime]))?;
    }
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut docs_pass = true;
    let mut command = Command::new("cargo");
    if nextest {
        // nextest leaves out the examples in the documentation; they go first, so that the
        // summary of the tests is the last thing said.
        docs_pass = Command::new("cargo")
            .args(["test", "--workspace", "--doc", "--quiet"])
            .current_dir(root())
            .status()?
            .success();
        command.args(["nextest", "run"]);
    } else {
        command.arg("test");
    }
    let status = command
        .args(["--workspace", "--no-fail-fast"])
        .args(args.iter().filter(|argument| *argument != "--"))
        .current_dir(root())
        .status()?;
    Ok(status.success() && docs_pass)
}
