//! The binary under development, and the examples.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Builds the whole workspace, so that nothing is compiled in two configurations, and
/// returns the path of `probity`. With PROBITY_BIN set, nothing is built and that is it.
pub(crate) fn build() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("PROBITY_BIN") {
        // Absolute, as it is started in other folders, too.
        return std::path::absolute(given).context("PROBITY_BIN is not a path");
    }
    executable(&[], "probity")
}

/// Runs a command of `probity verify --json`: the document, and how many seconds it took.
pub(crate) fn verdict(command: &mut Command) -> Result<(Value, f64)> {
    let started = Instant::now();
    let output = command.output().context("cannot start probity")?;
    let seconds = started.elapsed().as_secs_f64();
    let document = serde_json::from_slice(&output.stdout).with_context(|| {
        format!(
            "no verdict ({}): {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )
    })?;
    Ok((document, seconds))
}

/// Builds an example of the workspace and returns its path.
pub(crate) fn example(name: &str) -> Result<PathBuf> {
    executable(&["--example", name], name)
}

/// Builds the whole workspace, or what of it `args` choose, and returns the path of the
/// program called `name`.
fn executable(args: &[&str], name: &str) -> Result<PathBuf> {
    let output = Command::new("cargo")
        .args([
            "build",
            "--workspace",
            "--message-format=json-render-diagnostics",
        ])
        .args(args)
        .current_dir(crate::root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the build failed");
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message.pointer("/target/name").and_then(Value::as_str) == Some(name))
        .find_map(|message| {
            message
                .get("executable")
                .and_then(Value::as_str)
                .map(PathBuf::from)
        })
        .with_context(|| format!("cargo built no `{name}`"))
}
