//! git, independent of the configuration and attributes of the machine that it runs on.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};

/// Attributes under which git takes every file byte for byte. They win over those of the
/// releases.
const ATTRIBUTES: &str = "* -text !eol !filter -ident !working-tree-encoding !whitespace\n";

/// A command that knows nothing but defaults.
fn command(repository: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .env("GIT_DIR", repository)
        .args(["-c", "core.autocrlf=false", "-c", "core.fileMode=true"]);
    command
}

/// A repository that is thrown away.
pub(super) struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Makes an empty one.
    pub(super) fn create(folder: PathBuf) -> Result<Self> {
        let repository = Self { folder };
        repository.run(&["init", "--quiet", "--initial-branch=main"])?;
        let info = repository.folder.join("info");
        fs::create_dir_all(&info)?;
        fs::write(info.join("attributes"), ATTRIBUTES)?;
        Ok(repository)
    }

    /// What a command says, provided that it succeeds.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        fs::create_dir_all(&self.folder)?;
        let output = command(&self.folder)
            .args(arguments)
            .current_dir(&self.folder)
            .output()
            .context("cannot start git")?;
        succeeded(arguments, &output)?;
        Ok(output.stdout)
    }

    /// Feeds a command.
    pub(super) fn feed(&self, arguments: &[&str], input: &[u8]) -> Result<()> {
        let mut child = command(&self.folder)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start git")?;
        let written = child
            .stdin
            .take()
            .context("git takes no input")?
            .write_all(input);
        succeeded(arguments, &child.wait_with_output()?)?;
        Ok(written?)
    }

    /// `git apply` with the folder as the work tree; the index is left out of it. `Ok(Err)`
    /// is git's refusal.
    pub(super) fn apply(
        &self,
        folder: &Path,
        patch: &Path,
        arguments: &[&str],
    ) -> Result<Result<(), String>> {
        let output = command(&self.folder)
            .env("GIT_WORK_TREE", folder)
            .args(["apply", "--whitespace=nowarn"])
            .args(arguments)
            .arg(patch)
            .current_dir(folder)
            .output()
            .context("cannot start git")?;
        Ok(if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
        })
    }
}

fn succeeded(arguments: &[&str], output: &Output) -> Result<()> {
    ensure!(
        output.status.success(),
        "git {} ended with {}: {}",
        arguments.first().unwrap_or(&""),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
