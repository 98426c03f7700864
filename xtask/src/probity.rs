//! The binary under development, and the examples.

use std::path::PathBuf;
use std::process::Command;

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
